"""The built-in functions as they are before a kernel is loaded.

Each module of the worker imports them as `__builtins__`. Its functions then call these, whatever a kernel sets in `builtins`.
"""

import builtins

BUILTINS = dict(vars(builtins))
