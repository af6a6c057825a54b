"""Runs a worker: `python -m lab_harness.worker`, whose stdin is the judge's socket."""

import sys

from .. import search_path

# Before any other import, which could find a module of the kernel's.
search_path.search(search_path.module_folders())

from . import domain, process


def main():
    """Takes the socket from stdin and serves until the judge closes the connection. Returns the exit code."""
    try:
        connection = process.take_socket()
    except OSError as error:
        print(f"lab_harness.worker is started by lab, not by hand: {error}", file=sys.stderr)
        return 2
    process.live_no_longer_than_the_parent()
    process.leave_the_start_folder()
    process.let_idle_threads_sleep()
    domain.enter()
    # After the socket is taken: NumPy, which the server imports, must not find the socket as its stdin.
    from . import server

    return server.serve(connection)


if __name__ == "__main__":
    sys.exit(main())
