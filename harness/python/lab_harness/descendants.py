"""The processes below a process, and how all of them are ended: also those that left its process group or session."""

import os
import signal

# Rounds in which processes that go on forking are stopped and killed. Each round stops all that the one before made.
_ROUNDS = 200


def _children():
    """The processes that have not ended, by their parent."""
    children = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                text = file.read()
        except OSError:
            # It ended while the list was read.
            continue
        # The program's name is in brackets, and may hold any character.
        state, parent = text[text.rindex(b")") + 2:].split()[:2]
        if state not in (b"Z", b"X"):
            children.setdefault(int(parent), []).append(int(name))
    return children


def below(root, spared=()):
    """The processes below `root` that have not ended, parents before their children. Leaves out `spared` and the processes below it."""
    children = _children()
    found = [process for process in children.get(root, []) if process not in spared]
    for process in found:
        found.extend(child for child in children.get(process, []) if child not in spared)
    return found


def kill_tree(root):
    """Kills a child of this process with everything below it. The child is not reaped here."""
    # Stopped first: it can start nothing more, and adopts what its children leave.
    _send(root, signal.SIGSTOP)
    kill_below(root)
    _send(root, signal.SIGKILL)


def kill_below(root, spared=()):
    """Kills everything below `root`, except these children of `root` and the processes below them."""
    empty = 0
    for _ in range(_ROUNDS):
        found = below(root, spared)
        # The list is not read at one instant, so a process that was being started can be missing once.
        empty = 0 if found else empty + 1
        if empty == 2:
            return
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for process in found:
                _send(process, number)


def _send(process, number):
    try:
        os.kill(process, number)
    except ProcessLookupError:
        pass
