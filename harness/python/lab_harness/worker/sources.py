"""Facts about a source, found without executing it."""

import ast

from .private import BUILTINS as __builtins__

_ONLY_A_TREE = ast.PyCF_ONLY_AST
_Definition = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_Name, _Alias, _Store, _Import, _ImportFrom = ast.Name, ast.alias, ast.Store, ast.Import, ast.ImportFrom


def line_of_name(text, name):
    """The line of a source that binds a global name last; 0 if none does, or the source is no Python."""
    found = 0
    for node in _nodes(text, into=lambda node: not isinstance(node, _Definition)):
        if isinstance(node, _Definition):
            bound = node.name
        elif isinstance(node, _Name) and isinstance(node.ctx, _Store):
            bound = node.id
        elif isinstance(node, _Alias):
            bound = node.asname or node.name
        else:
            continue
        if bound == name:
            found = max(found, getattr(node, "lineno", 0))
    return found


def imported_packages(text):
    """The packages that the import statements of a source name, without what comes after the first dot."""
    found = set()
    for node in _nodes(text, into=lambda node: True):
        if isinstance(node, _Import):
            found.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, _ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def _nodes(text, into):
    """Yields the nodes of a source, and those below the nodes of which `into` returns true."""
    try:
        # Not ast.parse, whose `compile` a kernel can replace.
        nodes = list(compile(text, "<source>", "exec", _ONLY_A_TREE, dont_inherit=True).body)
    except (SyntaxError, ValueError, RecursionError):
        return
    while nodes:
        node = nodes.pop()
        yield node
        if into(node):
            for field in node._fields:
                value = getattr(node, field, None)
                values = value if type(value) is list else [value]
                nodes += [child for child in values if hasattr(child, "_fields")]
