"""Says what problem a Triton kernel is: `python -c THIS REQUEST`, with the request as JSON: the "path" of the file, "entry" or null.

It prints a line of JSON behind `lab-describes: `. It reads the source and executes nothing of it.
"""

import ast
import json
import sys

# Names of numbers that are no sizes.
SCALARS = ("eps", "scale", "alpha", "beta", "slope", "prob", "rate")


class Unfit(Exception):
    """What no problem can say."""


def words(node):
    return {of.id for of in ast.walk(node) if isinstance(of, ast.Name)}


def is_jit(node):
    return isinstance(node, ast.FunctionDef) and any(ast.unparse(of).startswith(("triton.jit", "jit")) for of in node.decorator_list)


def launches(tree):
    """The launches `kernel[grid](…)` with the functions around them, by the kernel's name."""
    found = {}
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript) and isinstance(node.func.value, ast.Name):
                found.setdefault(node.func.value.id, (node, function))
    return found


def chosen(tree, named):
    kernels = {node.name: node for node in tree.body if is_jit(node)}
    launched = launches(tree)
    names = [name for name in kernels if name in launched] or list(kernels)
    if named is None and len(names) > 1:
        raise Unfit(f"it has several kernels: {', '.join(names)}. Name one with --entry")
    name = named or (names or [None])[0]
    if name not in kernels:
        raise Unfit(f"it has no function {name + ' ' if name else ''}with @triton.jit; it has {', '.join(kernels) or 'none'}")
    return kernels[name], *launched.get(name, (None, None))


class Body:
    """Which parameters are pointers, what is done through them, and the strides beside them."""

    def __init__(self, kernel, parameters):
        self.of, self.parameters = {}, parameters
        self.read, self.written, self.beside = set(), set(), {}
        for node in ast.walk(kernel):
            # `x += row * stride` moves a pointer.
            target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
            if isinstance(node, (ast.Assign, ast.AugAssign)) and isinstance(target, ast.Name):
                pointer = self.pointer(node.value if isinstance(node, ast.Assign) else target)
                if pointer:
                    self.of.setdefault(target.id, pointer)
                    self.beside.setdefault(pointer, set()).update(words(node.value))
        for node in ast.walk(kernel):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            word, base = node.func.attr, node.func.value
            is_of_tl = isinstance(base, ast.Name) and base.id in ("tl", "language")
            at = (node.args or [None])[0] if is_of_tl else base
            pointer = at is not None and self.pointer(at)
            if not pointer:
                continue
            if not is_of_tl and pointer == getattr(at, "id", None) and word in ("load", "store"):
                raise Unfit(f"{pointer} is a tensor descriptor, which its host code makes")
            self.beside.setdefault(pointer, set()).update(words(at))
            if word == "load" or word.startswith("atomic"):
                self.read.add(pointer)
            if word == "store" or word.startswith("atomic"):
                self.written.add(pointer)

    def pointer(self, node):
        """The parameter that an address begins with."""
        if isinstance(node, ast.Name):
            return node.id if node.id in self.parameters else self.of.get(node.id)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self.pointer(node.left) or self.pointer(node.right)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            keyed = [of.value for of in node.keywords if of.arg == "base"]
            is_made = node.func.attr in ("make_block_ptr", "make_tensor_descriptor", "advance")
            return self.pointer((keyed + node.args)[0]) if is_made and keyed + node.args else None
        return None


class Host:
    """What the host code says in the kernel's words."""

    def __init__(self, kernel, call, function, parameters):
        defaults = function.args.defaults if function else []
        named = function.args.args[len(function.args.args) - len(defaults):] if function else []
        self.values = {of.arg: value for of, value in zip(named, defaults)}
        for node in ast.walk(function) if function else ():
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self.values[node.targets[0].id] = node.value
        passed = list(zip(parameters, call.args)) + [(of.arg, of.value) for of in call.keywords] if call else []
        self.passed = dict(passed)
        self.names = {value.id: name for name, value in passed if isinstance(value, ast.Name)}
        self.grid = call.func.slice if call else None

    def text(self, node, known):
        """The expression with the kernel's names, or None if other names are in it."""
        host = self

        class Named(ast.NodeTransformer):
            depth = 3

            def visit_Name(self, name):
                new = host.names.get(name.id, name.id)
                if new in known or name.id not in host.values or not self.depth:
                    return ast.Name(new, name.ctx)
                self.depth -= 1
                return self.visit(ast.parse(ast.unparse(host.values[name.id]), mode="eval").body)

        node = Named().visit(ast.parse(ast.unparse(node), mode="eval").body)
        own = {of.arg for sub in ast.walk(node) if isinstance(sub, ast.Lambda) for of in sub.args.args}
        is_known = words(node) <= set(known) | own | {"triton", "min", "max"}
        return ast.unparse(node) if is_known else None


def dim_of(stride, dims):
    """The dimension whose stride this is, by its name: M of stride_am, n_rows of x_row_stride."""
    parts = [part for part in stride.lower().split("_") if part not in ("stride", "")]
    for dim in dims:
        name = dim.lower()
        if any(part.endswith(name) or len(part) > 2 and part in name for part in parts):
            return dim
    return None


def shape(strides, dims):
    found = [dim_of(stride, dims) for stride in strides]
    free = [dim for dim in dims if dim not in found]
    found = [dim or (free.pop(0) if free else dims[-1]) for dim in found]
    # The numbers of a row lie side by side, and have no stride of their own.
    return found + (free[:1] or dims[-1:] if len(strides) == 1 else []) if strides else dims


def kept(text, tree):
    """The text without what a module does when it is imported."""
    lines, out = text.splitlines(), []
    for node in tree.body:
        is_literal = isinstance(node, ast.Assign) and isinstance(node.value, (ast.Constant, ast.Tuple))
        if is_literal or isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)):
            first = min([node.lineno] + [of.lineno for of in getattr(node, "decorator_list", [])])
            gap = "" if isinstance(node, (ast.Import, ast.ImportFrom, ast.Assign)) else "\n\n"
            out.append(gap + "\n".join(lines[first - 1:node.end_lineno]))
    return "\n".join(out)


def described(text, named):
    tree = ast.parse(text)
    kernel, call, function = chosen(tree, named)
    arguments = kernel.args.args
    parameters = [of.arg for of in arguments]
    constants = [of.arg for of in arguments if of.annotation and "constexpr" in ast.unparse(of.annotation)]
    strides = [name for name in parameters if "stride" in name.lower() and name not in constants]
    plain = [name for name in parameters if name not in constants and name not in strides]
    body = Body(kernel, plain)
    tensors = [name for name in plain if name in body.read | body.written]
    if not body.written:
        raise Unfit(f"{kernel.name} writes through no pointer of its own")
    numbers = [name for name in plain if name not in tensors]
    scalars = [name for name in numbers if any(part in name.lower() for part in SCALARS)]
    dims = [name for name in numbers if name not in scalars] or ["n"]
    host = Host(kernel, call, function, parameters)
    strides_of = {tensor: [of for of in strides if of in body.beside.get(tensor, ())] for tensor in tensors}
    given = {name: f"{tensor}.stride({at})" for tensor, own in strides_of.items() for at, name in enumerate(own)}
    lost = [name for name in strides if name not in given]
    if lost:
        raise Unfit(f"no pointer goes with {', '.join(lost)}")
    has_default = parameters[len(parameters) - len(kernel.args.defaults):]
    # The names for which an autotuner has values, as in {"BLOCK": 128}.
    is_tuned = any("autotune" in ast.unparse(of) for of in kernel.decorator_list)
    keys = {key.value for node in ast.walk(tree) if isinstance(node, ast.Dict) for key in node.keys if isinstance(key, ast.Constant)}
    guesses, fixed = [], {}
    for name in constants:
        value = host.text(host.passed[name], dims) if name in host.passed else None
        if value is None and (is_tuned and name in keys or name in has_default):
            continue
        if value is None and not any(part in name.lower() for part in ("block", "size", "tile")):
            raise Unfit(f"nothing says what {name} is")
        guesses += [name] if value is None else []
        fixed[name] = value or "128"
    grid = host.text(host.grid, dims + list(fixed)) if host.grid is not None else None
    if grid is None:
        guesses.append("the grid")
        block = next(iter(fixed), None)
        grid = f"(triton.cdiv({dims[0]}, {block}),)" if block else f"({dims[0]},)"
    passed = [given.get(name, name) for name in parameters if name not in constants]
    more = [f"{of.arg}={of.value.value!r}" for of in (call.keywords if call else [])
            if of.arg in ("num_warps", "num_stages") and isinstance(of.value, ast.Constant)]
    lines = [f"{name} = {value}" for name, value in fixed.items()] + [f"grid = {grid}"]
    lines.append(f"{kernel.name}[grid]({', '.join(passed + [f'{name}={name}' for name in fixed] + more)})")
    role = {name: ("inout" if name in body.read else "out") if name in body.written else "in" for name in tensors}
    return {
        "kernel": kernel.name, "code": kept(text, tree), "body": lines, "dims": dims, "scalars": scalars, "guesses": guesses,
        "tensors": [{"name": name, "role": role[name], "shape": shape(strides_of[name], dims)} for name in tensors],
    }


def main():
    request = json.loads(sys.argv[1])
    try:
        with open(request["path"], encoding="utf-8", errors="replace") as file:
            answer = described(file.read(), request["entry"])
    except (Unfit, OSError, SyntaxError) as why:
        answer = {"error": str(why)}
    print("lab-describes: " + json.dumps(answer))


main()
