"""Failures as the judge gets them, and exceptions of a kernel as the text that `lab` shows at its line."""

import os
import sys
import traceback

# Longest text of a failure. The traceback of an endless recursion or a huge message is cut.
TEXT_LIMIT = 32 << 10

_TracebackException, _walk_tb = traceback.TracebackException, traceback.walk_tb
_basename = os.path.basename


class Failure(Exception):
    """An answer that is an error. `kind` is the variant of the judge's WorkerFailure."""

    kind = "Lab"

    def answer(self):
        """The failure as JSON."""
        return {"Err": {self.kind: str(self)}}


class Build(Failure):
    """The source is wrong: a syntax error, an exception while it is loaded, a missing function."""

    kind = "Build"


class Crash(Failure):
    """A launch failed."""

    kind = "Crash"


class Lab(Failure):
    """Neither the kernel nor its source is to blame: no device, no memory."""

    kind = "Lab"


def at_line(name, line, text):
    """A message as a compiler writes one. Line 0 is unknown."""
    return f"{name}:{line}: error: {text}" if line else f"{name}: error: {text}"


def explain(error, path, is_cpu):
    """Returns the text of an exception that code of the file at `path` raised. `is_cpu` says which device this is.

    The first line names the deepest line of this file that was being executed. The traceback follows, from the first
    frame of the file on. Returns text for every exception, also for one whose own text cannot be made.
    """
    name = _basename(path)
    try:
        frames = [(frame.f_code.co_filename, line) for frame, line in _walk_tb(error.__traceback__)]
        lines = [line for file, line in frames if file == path]
        where = f"{name}:{lines[-1]}" if lines else name
        if isinstance(error, SyntaxError) and error.filename == path and error.lineno:
            where = f"{name}:{error.lineno}" + (f":{error.offset}" if error.offset and error.offset > 0 else "")
        summary = _summary(error) + _advice(error, [file for file, _ in frames], is_cpu)
        text = f"{where}: error: {summary}\n{_traceback(error, path)}".replace(path, name)
    except BaseException as broken:  # noqa: B902: the exception's own methods run here
        text = f"{name}: error: {type(error).__name__}, which cannot be described ({type(broken).__name__})"
    if len(text) > TEXT_LIMIT:
        half = TEXT_LIMIT // 2
        text = f"{text[:half]}\n[…]\n{text[-half:]}"
    return text.rstrip()


def _summary(error):
    """The exception's type and the first line of its text; for exceptions that end a program, what they mean here."""
    if isinstance(error, SystemExit):
        return f"SystemExit: {error.code!r}: a kernel must not end its process. Raise an exception instead."
    kind = type(error)
    module = getattr(kind, "__module__", "")
    name = kind.__qualname__ if module in ("builtins", "__main__", "", None) else f"{module}.{kind.__qualname__}"
    own = error.msg if isinstance(error, SyntaxError) and error.msg else str(error)
    first = own.strip().splitlines()
    return f"{name}: {first[0]}" if first else name


def _advice(error, files, is_cpu):
    """What to do about an exception, as further sentences; nothing where its own text is enough."""
    if isinstance(error, ModuleNotFoundError):
        return f". {sys.executable} has no such module"
    if is_cpu and not isinstance(error, SyntaxError) and any("/triton/" in file for file in files):
        return (" A Triton kernel needs a GPU, and this is the cpu device: set device = \"cuda\" in lab.toml, or compute with "
                "NumPy here.")
    return ""


def _traceback(error, path):
    shown = _TracebackException(type(error), error, error.__traceback__)
    stack = shown.stack
    first = next((i for i, frame in enumerate(stack) if frame.filename == path), len(stack))
    # What comes before is the worker's own.
    del stack[:first]
    return "".join(shown.format())
