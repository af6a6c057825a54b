"""Failures as the judge gets them, and exceptions of a kernel as the text that `lab` shows at its line."""

import errno
import sys
import traceback

from .private import BUILTINS as __builtins__

# Longest text of a failure. The traceback of an endless recursion or a huge message is cut.
TEXT_LIMIT = 32 << 10

_TracebackException, _executable, _modules = traceback.TracebackException, sys.executable, sys.modules
_exact, _traceback_of = str.__str__, vars(BaseException)["__traceback__"].__get__
_number_of, _FULL = vars(OSError)["errno"].__get__, (errno.ENOSPC, errno.EDQUOT)
_name_of, _module_of = (vars(type)[name].__get__ for name in ("__qualname__", "__module__"))


class Failure(Exception):
    """An answer that is an error. `kind` is the variant of the judge's Stop."""

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


def blame(kind, error, path, is_cpu):
    """The failure of this kind for an exception that code of the file at `path` raised; of the machine where a disk is full, as when a
    compiler writes into its cache."""
    text = explain(error, path, is_cpu)
    if type(error) is OSError and _number_of(error) in _FULL:
        return Lab(f"the disk is full: make room on it, then judge again\n{text}")
    return kind(text)


def explain(error, path, is_cpu):
    """Returns the text of an exception that code of the file at `path` raised. `is_cpu` says which device this is.

    The first line names the deepest line of this file that was being executed. The traceback follows, from the first
    frame of the file on. Returns text for every exception, also for one whose own text cannot be made.
    """
    name = path.rpartition("/")[2]
    frames = _frames(error)
    lines = [line for file, line in frames if file == path]
    where = f"{name}:{lines[-1]}" if lines else name
    try:
        if isinstance(error, SyntaxError) and error.filename == path and error.lineno:
            where = f"{name}:{error.lineno}" + (f":{error.offset}" if error.offset and error.offset > 0 else "")
        summary = _summary(error) + _advice(error, [file for file, _ in frames], is_cpu)
    except BaseException as broken:  # noqa: B902: the exception's own methods run here
        summary = f"{type_name(type(error))}, whose text cannot be made ({type_name(type(broken))})"
    try:
        traceback_text = _traceback(error, path)
    except BaseException:  # noqa: B902: as above
        traceback_text = "".join(f"  File \"{file}\", line {line}\n" for file, line in frames)
    text = f"{where}: error: {summary}\n{traceback_text}".replace(path, name)
    if len(text) > TEXT_LIMIT:
        half = TEXT_LIMIT // 2
        text = f"{text[:half]}\n[…]\n{text[-half:]}"
    return text.rstrip()


def explain_briefly(error):
    """The text of an exception; that of its type if its own cannot be made."""
    try:
        return _exact(str(error)) or type_name(type(error))
    except BaseException:  # noqa: B902: the exception's own methods run here
        return type_name(type(error))


def type_name(kind):
    """The name of a type with its module, without a call of code of the type's own type."""
    name, module = _exact(_name_of(kind)), _module_of(kind)
    return f"{module}.{name}" if type(module) is str else name


def is_in(error, path):
    """Whether code of the file at `path` was being executed when the exception was raised."""
    return any(file == path for file, _ in _frames(error))


def _frames(error):
    """File and line of each frame of an exception's traceback."""
    found, step = [], _traceback_of(error)
    while step is not None:
        found.append((step.tb_frame.f_code.co_filename, step.tb_lineno))
        step = step.tb_next
    return found


def _summary(error):
    """The exception's type and the first line of its text; for exceptions that end a program, what they mean here."""
    if isinstance(error, SystemExit):
        return f"SystemExit: {error.code!r}: a kernel must not end its process. Raise an exception instead."
    name = type_name(type(error))
    for plain in ("builtins.", "__main__."):
        name = name[len(plain):] if name.startswith(plain) else name
    own = error.msg if isinstance(error, SyntaxError) and error.msg else str(error)
    first = own.strip().splitlines()
    return f"{name}: {first[0]}" if first else name


def _advice(error, files, is_cpu):
    """What to do about an exception, as further sentences; nothing where its own text is enough."""
    if isinstance(error, ModuleNotFoundError):
        return f". {_missing_module(error.name)}"
    if is_cpu and not isinstance(error, SyntaxError) and any("/triton/" in file for file in files):
        if any(file.endswith("/triton/runtime/interpreter.py") for file in files):
            return _of_interpreter(error)
        return (" A Triton kernel needs a GPU, and this is the cpu device: set device = \"cuda\" in lab.toml, or compute with "
                "NumPy here.")
    return ""


def _of_interpreter(error):
    """The advice for an exception of a kernel that Triton's interpreter ran: NumPy 2.4 makes no number of an array with one cell, and
    Triton 3.6 asks it to, as in `range(0, n)`."""
    version = getattr(_modules.get("numpy"), "__version__", None)
    if type(error) is TypeError and type(version) is str and [int(part) for part in version.split(".")[:2]] >= [2, 4]:
        return (f". Triton's interpreter may not work with NumPy {version} yet: `{_executable} -m pip install 'numpy<2.4'` installs an "
                "older one")
    return ""


def _missing_module(name):
    if not isinstance(name, str):
        return f"{_executable} has no such module"
    package, _, rest = name.partition(".")
    if rest and package in _modules:
        return f"{_executable} has {package} without it: another version of {package} may have it"
    return (f"{_executable} has no such module. If it is a package, install it: `{_executable} -m pip install {package}`. If it is a "
            "file of the repository, name it in an import statement or in `extra` under [watch] of lab.toml: the run judges a copy "
            "with these files only")


def _traceback(error, path):
    shown = _TracebackException(type(error), error, error.__traceback__)
    stack = shown.stack
    first = next((i for i, frame in enumerate(stack) if frame.filename == path), len(stack))
    # What comes before is the worker's own.
    del stack[:first]
    return "".join(shown.format())
