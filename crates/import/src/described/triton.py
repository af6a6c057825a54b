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
    """The first launch `kernel[grid](…)` of each kernel with the function around it, by the kernel's name."""
    found, prepared = [], {}
    for node in ast.walk(tree):
        # `kernel = softmax_kernel.warmup(…)`, which is launched later.
        made = node.value.func if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) else None
        if isinstance(made, ast.Attribute) and made.attr == "warmup" and isinstance(made.value, ast.Name):
            prepared.update({of.id: made.value.id for of in node.targets if isinstance(of, ast.Name)})
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript) and isinstance(node.func.value, ast.Name):
                found.append((node.lineno, function.lineno, node, function))
    found.sort(key=lambda of: of[:2])
    first = {}
    for _, _, node, function in found:
        first.setdefault(prepared.get(node.func.value.id, node.func.value.id), (node, function))
    return first


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


# A longer expression is none that a launch needs, and names in it may stand for long ones in turn.
LONGEST = 1000

# Options of a launch that are no parameters of the kernel.
OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")

# Calls that give a tensor of the same shape.
ALIKE = ("empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like")
SAME = ("contiguous", "clone", "to", "detach", "float", "half", "bfloat16")


def size_of(node):
    """Whether this is an extent of a tensor: `x.shape[0]`, `x.size(0)`, `x.numel()`."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("size", "numel")


class Sizes(ast.NodeTransformer):
    """Writes `x.size(0)` as `x.shape[0]`."""

    def visit_Call(self, node):
        node = self.generic_visit(node)
        if size_of(node) and node.func.attr == "size" and len(node.args) == 1:
            return ast.Subscript(ast.Attribute(node.func.value, "shape", ast.Load()), node.args[0], ast.Load())
        return node


def copied(node):
    return Sizes().visit(ast.parse(ast.unparse(node), mode="eval").body)


class Host:
    """What the host code says in the kernel's words, up to its launch."""

    def __init__(self, tree, call, function, parameters):
        defaults = function.args.defaults if function else []
        arguments = function.args.args if function else []
        named = arguments[len(arguments) - len(defaults):]
        self.values = {of.arg: value for of, value in zip(named, defaults)}
        self.arguments = [of.arg for of in arguments if of.arg not in self.values]
        # The names of the extents of a tensor.
        self.shapes = {}
        self.end = call.lineno if call else 0
        self.run(function.body if function else [], self.values)
        passed = list(zip(parameters, call.args)) + [(of.arg, of.value) for of in call.keywords] if call else []
        self.passed = {name: value for name, value in passed if name}
        self.by_text = {}
        for name, value in self.passed.items():
            is_plain = isinstance(value, (ast.Constant, ast.Starred))
            for text in [value, self.values.get(getattr(value, "id", None))]:
                if name in parameters and text is not None and not is_plain and not isinstance(text, ast.Constant):
                    self.by_text.setdefault(ast.unparse(copied(text)), name)
        self.parameters = parameters
        self.grid = call.func.slice if call else None
        self.of_file = {"min", "max", "int", "len", "abs"} | defined(tree)
        # Extents that no parameter of the kernel is: the name of each by its expression.
        self.sizes = {}

    def run(self, body, values):
        """Follows the assignments of some statements. False if they end the function."""
        for node in body:
            if node.lineno > self.end:
                return True
            if isinstance(node, (ast.Return, ast.Raise)):
                return node.lineno <= self.end <= node.end_lineno
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self.assign(target, node.value, values)
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                self.assign(node.target, node.value, values)
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                self.assign(node.target, ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value), values)
            elif isinstance(node, ast.FunctionDef):
                last = node.body[-1]
                if isinstance(last, ast.Return) and last.value is not None:
                    values[node.name] = ast.Lambda(node.args, last.value)
            elif isinstance(node, ast.If):
                self.branch(node, values)
            else:
                for part in (getattr(node, "body", None), getattr(node, "finalbody", None)):
                    if isinstance(part, list):
                        self.run(part, values)
        return True

    def branch(self, node, values):
        """A name that one branch sets has a value that depends on the condition."""
        for part in (node.body, node.orelse):
            if part and part[0].lineno <= self.end <= part[-1].end_lineno:
                self.run(part, values)
                return
        yes, no = dict(values), dict(values)
        goes_on = [self.run(node.body, yes), self.run(node.orelse, no)]
        if goes_on != [True, True]:
            values.update(yes if goes_on[0] else no)
            return
        for name in {**yes, **no}:
            then, other = yes.get(name), no.get(name)
            is_same = then is other or then is None or other is None
            self.put(name, (then or other) if is_same else ast.IfExp(node.test, then, other), values)

    def assign(self, target, value, values):
        if isinstance(target, ast.Name):
            old = values.get(target.id)

            class Before(ast.NodeTransformer):
                def visit_Name(self, name):
                    return old if name.id == target.id and old is not None else name

            self.put(target.id, Before().visit(copied(value)), values)
        elif isinstance(target, (ast.Tuple, ast.List)):
            names = [getattr(of, "id", None) for of in target.elts]
            if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(names):
                for of, part in zip(target.elts, value.elts):
                    self.assign(of, part, values)
                return
            of = None
            if isinstance(value, ast.Attribute) and value.attr == "shape":
                of = value.value
            elif isinstance(value, ast.Call) and getattr(value.func, "attr", None) == "size" and not value.args:
                of = value.func.value
            if of is not None and None not in names:
                self.shapes[ast.unparse(of)] = names
                for at, name in enumerate(names):
                    values[name] = ast.parse(f"{ast.unparse(of)}.shape[{at}]", mode="eval").body
            else:
                for name in names:
                    values.pop(name, None)

    def put(self, name, value, values):
        if len(ast.unparse(value)) <= LONGEST:
            values[name] = value
        else:
            values.pop(name, None)

    def text(self, node, known, takes_arguments=False):
        """The expression with the kernel's names, or None if other names are in it. Its extents
        that the kernel does not get become names of their own. The second value says whether a
        condition was left out, because nothing says how it ends."""
        host = self

        class Named(ast.NodeTransformer):
            left, own, guessed = 100, set(), False

            def visit(self, node):
                if isinstance(node, ast.expr):
                    name = host.by_text.get(ast.unparse(node))
                    if name in known:
                        return ast.Name(name, ast.Load())
                    if size_of(node):
                        return ast.Name(host.size(node), ast.Load())
                return super().visit(node)

            def visit_Lambda(self, node):
                self.own = self.own | {of.arg for of in node.args.args}
                return self.generic_visit(node)

            def visit_Call(self, node):
                is_bytes = isinstance(node.func, ast.Attribute) and node.func.attr == "element_size"
                return ast.parse(f"{host.tensor}.element_size()", mode="eval").body if is_bytes else self.generic_visit(node)

            def visit_IfExp(self, node):
                node = self.generic_visit(node)
                if words(node.test) <= self.known():
                    return node
                self.guessed = True
                return node.orelse if words(node.orelse) <= self.known() else node.body

            def visit_Name(self, name):
                value = host.values.get(name.id)
                if name.id in self.own or (name.id in known and name.id not in host.passed):
                    return name
                if value is None:
                    takes = takes_arguments and name.id in host.arguments
                    return ast.Name(host.size(name), name.ctx) if takes else name
                if self.left == 0:
                    return name
                self.left -= 1
                if size_of(value):
                    return ast.Name(host.size(value, name.id), name.ctx)
                return self.visit(ast.parse(ast.unparse(value), mode="eval").body)

            def known(self):
                return set(known) | self.own | host.of_file | set(host.sizes.values()) | {host.tensor}

        sizes = dict(self.sizes)
        named = Named()
        node = named.visit(copied(node))
        text = ast.unparse(node)
        if words(node) <= named.known() and len(text) <= LONGEST:
            return text, named.guessed
        self.sizes = sizes
        return None, False

    def size(self, node, wanted=None):
        """The name of an extent that the kernel does not get."""
        text = ast.unparse(node)
        if text not in self.sizes:
            names = [name for name, value in self.values.items() if ast.unparse(value) == text]
            made = "_".join("".join(c if c.isalnum() else " " for c in text).replace(" shape", "").replace(" size", "").split())
            name = wanted or (names + [made])[0]
            while name in self.parameters or name in self.sizes.values():
                name += "_"
            self.sizes[text] = name
        return self.sizes[text]

    def shape(self, node, dims, depth=8):
        """The extents of a tensor as expressions over dimensions, or None."""
        names = self.shapes.get(ast.unparse(node))
        if names is not None:
            return self.extents([ast.Name(name, ast.Load()) for name in names], dims)
        if depth == 0:
            return None
        if isinstance(node, ast.Name):
            value = self.values.get(node.id)
            return None if value is None else self.shape(value, dims, depth - 1)
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            return None
        made = node.func.attr
        if made in ("empty", "zeros", "ones", "full", "rand", "randn") and node.args:
            first = node.args[0]
            if isinstance(first, (ast.Tuple, ast.List)):
                return self.extents(first.elts, dims)
            if isinstance(first, ast.Attribute) and first.attr == "shape":
                return self.shape(first.value, dims, depth - 1)
            return self.extents(node.args, dims) if made != "full" else None
        if made in ALIKE and node.args:
            return self.shape(node.args[0], dims, depth - 1)
        return self.shape(node.func.value, dims, depth - 1) if made in SAME else None

    def extents(self, nodes, dims):
        before, found = dict(self.sizes), []
        for node in nodes:
            text, _ = self.text(node, dims)
            plain = text is not None and all(
                isinstance(of, (ast.Name, ast.BinOp, ast.Mult, ast.Load, ast.Expression)) or isinstance(of, ast.Constant) and isinstance(of.value, int)
                for of in ast.walk(ast.parse(text, mode="eval")))
            if not plain or not words(ast.parse(text)) <= set(dims):
                self.sizes = before
                return None
            found.append(text)
        return found or None

    def stride(self, name, tensors):
        """The stride that the host code passes, of a tensor that it passes too."""
        node = self.passed.get(name)
        if isinstance(node, ast.Name):
            node = self.values.get(node.id)
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "stride" and node.args):
            return None
        tensor = self.by_text.get(ast.unparse(node.func.value))
        return f"{tensor}.stride({ast.unparse(node.args[0])})" if tensor in tensors and isinstance(node.args[0], (ast.Constant, ast.UnaryOp)) else None


def defined(tree):
    """The names that the kept part of a module defines."""
    return set().union(*(names_of(node) or set() for node in tree.body))


def is_literal(node):
    return isinstance(node, ast.Assign) and isinstance(node.value, (ast.Constant, ast.Tuple))


class Indices:
    """Which dimensions the addresses and the masks of a kernel's loads and stores name."""

    def __init__(self, kernel, body, grid, dims):
        self.values, self.grid, self.dims = {}, grid, dims
        self.of = {}
        for node in ast.walk(kernel):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self.values.setdefault(node.targets[0].id, []).append(node.value)
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                self.values.setdefault(node.target.id, []).append(node.value)
        for node in ast.walk(kernel):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", None) in ("load", "store") and node.args:
                pointer = body.pointer(node.args[0])
                if pointer:
                    parts = [node.args[0]] + [of.value for of in node.keywords if of.arg == "mask"]
                    parts += node.args[1:2] if node.func.attr == "load" else node.args[2:3]
                    for part in parts:
                        self.of.setdefault(pointer, set()).update(self.named(part, set()))

    def named(self, node, seen):
        """The dimensions that an expression depends on, but not through a load."""
        if isinstance(node, ast.Call) and getattr(node.func, "attr", None) == "program_id":
            at = (node.args + [of.value for of in node.keywords] or [None])[0]
            at = at.value if isinstance(at, ast.Constant) and isinstance(at.value, int) else len(self.grid)
            return {of for of in self.grid[at:at + 1] if of in self.dims}
        if isinstance(node, ast.Call) and getattr(node.func, "attr", None) == "load":
            return set()
        if isinstance(node, ast.Name):
            if node.id in self.dims:
                return {node.id}
            if node.id in seen:
                return set()
            seen.add(node.id)
            return set().union(*(self.named(value, seen) for value in self.values.get(node.id, [])))
        return set().union(*(self.named(of, seen) for of in ast.iter_child_nodes(node)))

    def shape(self, tensor):
        return [dim for dim in self.dims if dim in self.of.get(tensor, ())]


def extents_of(grid):
    """The names that are extents of the grid, each in its place."""
    node = ast.parse(grid, mode="eval").body
    node = node.body if isinstance(node, ast.Lambda) else node
    return [ast.unparse(of) for of in (node.elts if isinstance(node, ast.Tuple) else [node])]


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


def names_of(node):
    """The names that a statement of a module defines; None for one that is not kept."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {of.asname or of.name.split(".")[0] for of in node.names}
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name}
    if is_literal(node):
        return {of.id for target in node.targets for of in ast.walk(target) if isinstance(of, ast.Name)}
    return None


def kept(text, tree, needed):
    """The statements that define what is needed, and what they need in turn: without the rest of the
    module, and what it does when it is imported."""
    lines, out, found = text.splitlines(), [], []
    needed, known = needed | {"*"}, -1
    while known != len(found):
        known = len(found)
        found = [node for node in tree.body if (names_of(node) or set()) & needed or getattr(node, "module", None) == "__future__"]
        needed = needed.union(*map(words, found))
    for node in tree.body:
        if node in found:
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
    host = Host(tree, call, function, parameters)
    host.tensor = tensors[0]
    given_floats = {name: value for name in numbers if isinstance(value := given_number(kernel, host, name), float)}
    scalars = [name for name in numbers if name in given_floats or any(part in name.lower() for part in SCALARS)]
    own = [name for name in numbers if name not in scalars]
    strides_of = {tensor: [of for of in strides if of in body.beside.get(tensor, ())] for tensor in tensors}
    given = {name: f"{tensor}.stride({at})" for tensor, own in strides_of.items() for at, name in enumerate(own)}
    given.update({name: of for name in strides if (of := host.stride(name, tensors))})
    lost = [name for name in strides if name not in given]
    if lost:
        raise Unfit(f"no pointer goes with {', '.join(lost)}")
    fixed, guesses = constants_of(tree, kernel, constants, host, own)
    grid, is_guess = host.text(host.grid, own + list(fixed), True) if host.grid is not None else (None, False)
    if grid is None or is_guess:
        guesses.append("the grid")
    # The extents that only the host code knows come first: they count the kernel's rows.
    dims = list(host.sizes.values()) + own or ["n"]
    if grid is None:
        block = next(iter(fixed), None)
        grid = f"(triton.cdiv({dims[0]}, {block}),)" if block else f"({dims[0]},)"
    more = []
    for of in (call.keywords if call else []):
        if of.arg in OPTIONS and of.arg not in parameters:
            value, is_guess = host.text(of.value, dims + list(fixed))
            guesses += [of.arg] if value is None or is_guess else []
            more += [f"{of.arg}={value}"] if value is not None else []
    # What an option alone names is a dimension too.
    dims = [name for name in host.sizes.values() if name not in dims] + dims
    first = min([parameters.index(name) for name in constants], default=len(parameters))
    passed = [(given.get(name, name), name) for name in parameters if name not in constants]
    passed = [text if parameters.index(name) < first else f"{name}={text}" for text, name in passed]
    # A constant of the module needs no line: the name is there. What the launch makes of one, as in
    # `BLOCK=2 * BLOCK`, gets another name: Python has no two of one name in a function.
    local = {name: f"{name}_" if value != name and name in made_by(tree) else name for name, value in fixed.items()}
    lines = [f"{local[name]} = {value}" for name, value in fixed.items() if value != name] + [f"grid = {grid}"]
    lines.append(f"{kernel.name}[grid]({', '.join(passed + [f'{name}={local[name]}' for name in fixed] + more)})")
    role = {name: ("inout" if name in body.read else "out") if name in body.written else "in" for name in tensors}
    indices = Indices(kernel, body, extents_of(grid), dims)

    def shape_of(tensor):
        said = host.shape(host.passed[tensor], dims) if tensor in host.passed else None
        return said or shape(strides_of[tensor], dims) if said or strides_of[tensor] else indices.shape(tensor) or dims

    return {
        "kernel": kernel.name, "code": kept(text, tree, {kernel.name} | words(ast.parse("\n".join(lines)))), "body": lines, "dims": dims, "guesses": guesses,
        "scalars": [{"name": name, "value": repr(given_floats[name]) if name in given_floats else None} for name in scalars],
        "tensors": [{"name": name, "role": role[name], "shape": shape_of(name)} for name in tensors],
    }


def made_by(tree):
    """The names that the module itself sets."""
    return {of.id for node in tree.body if isinstance(node, ast.Assign) for of in node.targets if isinstance(of, ast.Name)}


def given_number(kernel, host, name):
    """The number that the host code gives a parameter, or the parameter's default."""
    defaults = kernel.args.defaults
    by_name = {of.arg: value for of, value in zip(kernel.args.args[len(kernel.args.args) - len(defaults):], defaults)}
    node = host.passed.get(name, by_name.get(name))
    if isinstance(node, ast.Name):
        node = host.values.get(node.id)
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError):
        return None
    return value if isinstance(value, (int, float)) and abs(value) < 1e300 else None


def constants_of(tree, kernel, constants, host, dims):
    """The values of the constants that no autotuner sets, and the names of those that are guesses."""
    parameters = [of.arg for of in kernel.args.args]
    has_default = parameters[len(parameters) - len(kernel.args.defaults):]
    # The names for which an autotuner or a heuristic has values, as in {"BLOCK": 128}.
    is_tuned = any(part in ast.unparse(of) for of in kernel.decorator_list for part in ("autotune", "heuristics"))
    keys = {key.value for node in ast.walk(tree) if isinstance(node, ast.Dict) for key in node.keys if isinstance(key, ast.Constant)}
    guesses, fixed = [], {}
    for name in constants:
        value, is_guess = host.text(host.passed[name], dims + list(fixed)) if name in host.passed else (None, False)
        if value is None and (is_tuned and name in keys or name in has_default):
            continue
        if value is None and not any(part in name.lower() for part in ("block", "size", "tile")):
            raise Unfit(f"nothing says what {name} is")
        guesses += [name] if value is None or is_guess else []
        fixed[name] = value or "128"
    return fixed, guesses


def main():
    request = json.loads(sys.argv[1])
    # An expression may be as deep as it is long.
    sys.setrecursionlimit(20 * LONGEST)
    try:
        with open(request["path"], encoding="utf-8", errors="replace") as file:
            answer = described(file.read(), request["entry"])
    except (Unfit, OSError, SyntaxError, RecursionError, ValueError) as why:
        answer = {"error": str(why)}
    print("lab-describes: " + json.dumps(answer))


main()
