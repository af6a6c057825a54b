"""Says which tensors a published problem in Python has: `python -c THIS REQUEST`, with the request as JSON.

It prints a line of JSON behind `lab-describes: `. With "run" in the request it executes the published code, on PyTorch's meta
device, whose tensors have shapes and no cells. Without, it reads the source and executes nothing of it.
"""

import ast
import json
import math
import operator
import os
import shutil
import sys
import tempfile

# What the type of a tensor is in problem.toml.
KINDS = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2",
    "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8", "uint64": "u64", "uint32": "u32", "uint16": "u16", "uint8": "u8",
    "bool": "bool", "double": "f64", "float": "f32", "half": "f16", "long": "i64", "int": "i32", "short": "i16",
}


class Unfit(Exception):
    """What of the published code no problem can say."""


def literal(value):
    """The value as Python writes it, or None if it is no literal."""
    try:
        return repr(value) if ast.literal_eval(repr(value)) == value else None
    except (SyntaxError, ValueError):
        return None


class Leaves:
    """The tensors and numbers in what a function gets, and the expression that puts them together."""

    def __init__(self):
        self.found = []

    def of(self, value, name):
        """The expression for a value, with {0}, {1}, … for its leaves."""
        if is_tensor(value):
            self.found.append((name, value))
            shape = "" if len(value.shape) else ".reshape(())"
            return f"{{{len(self.found) - 1}}}{shape}"
        if isinstance(value, dict):
            inner = (f"{key!r}: {self.of(of, f'{name}_{key}' if name else str(key))}" for key, of in value.items())
            return "{{" + ", ".join(inner) + "}}"
        if isinstance(value, (tuple, list)):
            names = name if isinstance(name, list) else [f"{name}_{at}" for at in range(len(value))]
            inner = [self.of(of, names[at] if at < len(names) else f"data_{at}") for at, of in enumerate(value)]
            if isinstance(value, list):
                return "[" + ", ".join(inner) + "]"
            return "(" + ", ".join(inner) + ("," if len(inner) == 1 else "") + ")"
        if isinstance(value, int) and not isinstance(value, bool):
            self.found.append((name, value))
            return f"{{{len(self.found) - 1}}}"
        text = literal(value)
        if text is None:
            raise Unfit(f"{name} is a {type(value).__name__}, and a kernel of lab gets tensors, numbers, and lists and dicts of them")
        return text.replace("{", "{{").replace("}", "}}")


def is_tensor(value):
    return hasattr(value, "dtype") and hasattr(value, "shape")


def kind(value):
    name = str(value.dtype).removeprefix("torch.")
    if name not in KINDS:
        raise Unfit(f"a tensor has the type {name}, which problem.toml does not have")
    return KINDS[name]


def observed(dims, expression, leaves, outputs, values):
    """One observation: the inputs of a call and what it returns. `values` says how a tensor was drawn."""
    inputs, returned = [], []
    for name, value in leaves:
        if not is_tensor(value):
            inputs.append({"name": name, "number": value})
            continue
        inputs.append({"name": name, "kind": kind(value), "shape": list(value.shape), "values": values(value), "role": "in"})
    for name, value in outputs:
        same = [at for at, (_, leaf) in enumerate(leaves) if leaf is value]
        # A buffer that the caller made for the result.
        free = [at for at, (_, leaf) in enumerate(leaves) if is_tensor(leaf) and at not in returned and leaf.shape == value.shape
                and leaf.dtype == value.dtype and inputs[at]["values"] == {"empty": True}]
        if same or free:
            at = (same or free)[0]
            inputs[at]["role"] = "out" if inputs[at]["values"] == {"empty": True} else "inout"
            returned.append(at)
            continue
        returned.append(len(inputs))
        inputs.append({"name": name, "kind": kind(value), "shape": list(value.shape), "values": None, "role": "out"})
    return {"dims": dims, "call": expression, "leaves": inputs, "returned": returned}


def named_outputs(result):
    """The tensors that a function returned: their names, or their keys in a dict."""
    if isinstance(result, dict):
        found = list(result.items())
    elif isinstance(result, (tuple, list)):
        found = [(f"output_{at}", value) for at, value in enumerate(result)]
    else:
        found = [("output", result)]
    if not found or not all(is_tensor(value) for _, value in found):
        raise Unfit("it returns something else than tensors, which lab cannot compare")
    return found


def defined(tree, name, kinds=(ast.FunctionDef,)):
    for node in tree.body:
        if isinstance(node, kinds) and node.name == name:
            return node
    return None


def parameter_names(function, after=0):
    return [argument.arg for argument in function.args.args][after:]


def unpacked(function):
    """The names that a function with one parameter gives to the parts of it, or the parameter's own."""
    parameter = (parameter_names(function) or ["data"])[0]
    for node in ast.walk(function):
        if (isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == parameter
                and isinstance(node.targets[0], ast.Tuple) and all(isinstance(of, ast.Name) for of in node.targets[0].elts)):
            return [of.id for of in node.targets[0].elts]
    return parameter


# Reading without executing.

OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
             ast.Div: operator.truediv, ast.Mod: operator.mod, ast.Pow: operator.pow}
DRAWN = {"rand": {"uniform": [0.0, 1.0]}, "randn": {"normal": [0.0, 1.0]}, "ones": {"constant": 1.0}, "zeros": {"constant": 0.0},
         "empty": {"empty": True}}
# Most bits of a number.
MOST_BITS = 64
CASTS = {"half": "float16", "float": "float32", "double": "float64", "bfloat16": "bfloat16"}
WITHOUT_WEIGHTS = {"ReLU", "ReLU6", "LeakyReLU", "ELU", "SELU", "GELU", "SiLU", "Mish", "Sigmoid", "Tanh", "Softmax", "LogSoftmax",
                   "Softplus", "Softsign", "Hardtanh", "Hardsigmoid", "Hardswish", "Dropout", "Identity", "Flatten", "MaxPool1d",
                   "MaxPool2d", "MaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d"}
SAME = {"contiguous", "cuda", "cpu", "clone", "to"}


class ReadTensor:
    """A tensor of which only the shape and the type are known."""

    def __init__(self, shape, dtype, values):
        self.shape, self.dtype, self.values = tuple(shape), dtype, values


class Reader:
    """Evaluates numbers and `torch.randn(…)` of a source, and nothing else."""

    def __init__(self, given):
        # What names are, whatever the source says.
        self.given = given
        self.names = dict(given)

    def unread(self, node):
        raise Unfit(f"line {node.lineno}: `{ast.unparse(node)[:60]}` can only be known by executing it")

    def value(self, node):
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name) and node.id in self.names:
            return self.names[node.id]
        if isinstance(node, (ast.Tuple, ast.List)):
            items = []
            for of in node.elts:
                items.extend(self.value(of.value)) if isinstance(of, ast.Starred) else items.append(self.value(of))
            return tuple(items) if isinstance(node, ast.Tuple) else items
        if isinstance(node, ast.Dict) and all(node.keys):
            return {self.value(key): self.value(of) for key, of in zip(node.keys, node.values)}
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self.value(node.operand)
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            sides = self.value(node.left), self.value(node.right)
            if all(isinstance(side, (int, float)) for side in sides):
                return self.result(node, *sides)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return self.call(node)
        return self.unread(node)

    def result(self, node, left, right):
        """The result of an operation. A stranger's power could fill the memory."""
        is_power = isinstance(node.op, ast.Pow)
        if is_power and isinstance(left, int) and left.bit_length() * abs(right) > MOST_BITS:
            return self.unread(node)
        try:
            result = OPERATORS[type(node.op)](left, right)
        except ArithmeticError:
            return self.unread(node)
        return self.unread(node) if isinstance(result, int) and result.bit_length() > MOST_BITS else result

    def dtype(self, node, usual):
        text = ast.unparse(node) if node is not None else f"torch.{usual}"
        return text.removeprefix("torch.") if text.startswith("torch.") else self.unread(node)

    def call(self, node):
        function = node.func.attr
        keywords = {of.arg: of.value for of in node.keywords}
        if isinstance(node.func.value, ast.Name) and node.func.value.id == "torch":
            return self.drawn(node, function, keywords)
        of = self.value(node.func.value)
        if not isinstance(of, ReadTensor):
            return self.unread(node)
        if function in CASTS:
            return ReadTensor(of.shape, CASTS[function], of.values)
        if function in {"uniform_", "normal_"} and of.values == {"empty": True}:
            ends = [self.value(argument) for argument in node.args] or ([0.0, 1.0])
            of.values = {function[:-1]: ends}
            return of
        if function in SAME:
            types = [argument for argument in [*node.args, keywords.get("dtype")]
                     if argument is not None and ast.unparse(argument).removeprefix("torch.") in KINDS]
            return ReadTensor(of.shape, self.dtype(types[0], of.dtype) if types else of.dtype, of.values)
        return self.unread(node)

    def drawn(self, node, function, keywords):
        starred = ast.Tuple(elts=node.args, lineno=node.lineno)
        arguments = list(self.value(starred))
        if "size" in keywords:
            arguments.append(self.value(keywords["size"]))
        if function == "randint":
            ends = [end for end in arguments if isinstance(end, int)]
            shape = arguments[len(ends)]
            low, high = ends if len(ends) == 2 else (0, *ends)
            return ReadTensor(shape, self.dtype(keywords.get("dtype"), "int64"), {"integers": [low, high - 1]})
        if function not in DRAWN:
            return self.unread(node)
        shape = arguments[0] if arguments and isinstance(arguments[0], (tuple, list)) else arguments
        return ReadTensor(shape, self.dtype(keywords.get("dtype"), "float32"), DRAWN[function])

    def body(self, function):
        """What a function returns."""
        for node in function.body:
            if isinstance(node, ast.Return):
                return self.value(node.value)
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                if "torch.Generator" not in ast.unparse(node.value):
                    self.names[node.targets[0].id] = self.value(node.value)
            elif isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant):
                if "manual_seed" not in ast.unparse(node.value):
                    self.value(node.value)
        return self.unread(function)

    def module(self, tree):
        """Takes in what module-level names are, as far as it can be read."""
        for node in tree.body:
            if isinstance(node, ast.Assign):
                try:
                    value = self.value(node.value)
                except Unfit:
                    continue
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        self.names[target.id] = self.given.get(target.id, value)
                    elif isinstance(target, ast.Tuple) and isinstance(value, (tuple, list)):
                        self.names.update({of.id: part for of, part in zip(target.elts, value) if isinstance(of, ast.Name)})
        return self


def read_outputs(leaves):
    """The outputs, as a guess: the buffers that are there for them, else one like the first tensor."""
    tensors = [(name, value) for name, value in leaves if is_tensor(value)]
    if not tensors:
        raise Unfit("it gets no tensor")
    free = [(name, value) for name, value in tensors if value.values == {"empty": True}]
    first = tensors[0][1]
    return (free, False) if free else ([("output", ReadTensor(first.shape, first.dtype, None))], True)


def read_observed(dims, expression, leaves):
    outputs, is_guessed = read_outputs(leaves)
    return {**observed(dims, expression, leaves, outputs, lambda value: value.values), "is_guessed": is_guessed}


def read_kernelbench(tree, dims):
    reader = Reader(dims).module(tree)
    model = defined(tree, "Model", (ast.ClassDef,))
    layers = [node for node in ast.walk(model) if isinstance(node, ast.Call) and ast.unparse(node.func).startswith(("nn.", "torch.nn."))]
    weights = [node for node in layers if not ast.unparse(node.func).startswith(("nn.functional.", "torch.nn.functional."))
               and node.func.attr not in WITHOUT_WEIGHTS]
    if weights:
        raise Unfit(f"line {weights[0].lineno}: the weights of `{ast.unparse(weights[0])[:60]}` can only be known by executing it")
    leaves = Leaves()
    forward = defined(model, "forward")
    expression = leaves.of(tuple(reader.body(defined(tree, "get_inputs"))), parameter_names(forward, 1))
    seen = read_observed(dims, expression, leaves.found)
    return {**seen, "init": literal(reader.body(defined(tree, "get_init_inputs"))), "weights": {}}


def read_task(tree, case):
    reader = Reader({}).module(tree)
    reader.names.update(case)
    function = defined(tree, "generate_input")
    leaves = Leaves()
    expression = leaves.of(reader.body(function), unpacked(defined(tree, "ref_kernel")))
    return read_observed(case, expression, leaves.found)


# Executing, on PyTorch's meta device.


def modes(place):
    """The modes of PyTorch under which published code runs: all tensors are on `place`, and `values` knows how each was drawn."""
    import torch
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    class Placed(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            kwargs = {key: value for key, value in (kwargs or {}).items() if key not in {"generator", "pin_memory"}}
            if "device" in kwargs:
                kwargs["device"] = place
            if function in {torch.Tensor.cuda, torch.Tensor.cpu}:
                return args[0]
            if function is torch.Tensor.to:
                # To another type, and to no other device.
                given = [of for of in (*args[1:], *kwargs.values()) if isinstance(of, (torch.dtype, torch.Tensor))]
                return function(args[0], getattr(given[0], "dtype", given[0])) if given else args[0]
            return function(*args, **kwargs)

    class Drawn(TorchDispatchMode):
        """Remembers how the cells of each storage were drawn. None: in another way."""

        def __init__(self):
            super().__init__()
            # The tensors stay alive, so that no storage gets the address of another one.
            self.known, self.kept = {}, []

        def key(self, tensor):
            return tensor.untyped_storage()._cdata

        def values(self, tensor):
            return self.known.get(self.key(tensor))

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            name = function._schema.name.removeprefix("aten::")
            for of in result if isinstance(result, (tuple, list)) else [result]:
                if isinstance(of, torch.Tensor):
                    self.kept.append(of)
                    is_view = any(isinstance(arg, torch.Tensor) and self.key(arg) == self.key(of) for arg in args)
                    if not is_view or name.endswith("_"):
                        self.known[self.key(of)] = self.drawn(name, args)
            return result

        def drawn(self, name, args):
            numbers = [arg for arg in args if isinstance(arg, (int, float)) and not isinstance(arg, bool)]
            if name in {"rand", "rand_like", "randn", "randn_like"}:
                return {"normal": [0.0, 1.0]} if "randn" in name else {"uniform": [0.0, 1.0]}
            if name in {"uniform_", "normal_"}:
                ends = [float(of) for of in numbers]
                return {name[:-1]: ends + [0.0, 1.0][len(ends):]}
            if name in {"randint", "random_"} and numbers:
                return {"integers": [numbers[0] if len(numbers) > 1 else 0, numbers[-1] - 1]}
            if name.startswith(("empty", "new_empty")):
                return {"empty": True}
            if name.startswith(("ones", "new_ones")):
                return {"constant": 1.0}
            if name.startswith(("zero", "new_zeros")):
                return {"constant": 0.0}
            if name in {"full", "full_like", "fill_", "new_full"} and numbers:
                return {"constant": float(numbers[-1])}
            of = self.values(args[0]) if args and isinstance(args[0], torch.Tensor) else None
            if name in {"clone", "_to_copy", "lift_fresh", "contiguous"}:
                return of
            return self.moved(name, of, numbers)

        def moved(self, name, of, numbers):
            """The values after arithmetic with one number."""
            steps = {"mul": (1, 0), "mul_": (1, 0), "div": (-1, 0), "div_": (-1, 0), "add": (0, 1), "add_": (0, 1), "sub": (0, -1),
                     "sub_": (0, -1)}
            if name not in steps or not of or len(numbers) != 1 or not (of.keys() & {"uniform", "normal"}):
                return None
            [(word, (first, second))] = of.items()
            power, sign = steps[name]
            if power == -1 and numbers[0] == 0:
                return None
            scale = numbers[0] ** power if power else 1
            shift = sign * numbers[0]
            if word == "normal":
                return {word: [first * scale + shift, second * abs(scale)]}
            return {word: sorted([first * scale + shift, second * scale + shift])}

    return torch, Placed(), Drawn()


class Generator:
    """Takes the place of torch.Generator, which would need the device that it is for."""

    def __init__(self, device=None):
        self.device = device

    def manual_seed(self, seed):
        return self

    def __getattr__(self, name):
        return lambda *args, **kwargs: 0


def measured(torch, tensor, values):
    """How a tensor was drawn; of one with cells that were drawn in another way, its range or its moments."""
    if values is not None or tensor.is_meta or not tensor.numel():
        return values
    if not tensor.is_floating_point():
        return {"integers": [int(tensor.min()), int(tensor.max())]}
    wide = tensor.double()
    mean, deviation = float(wide.mean()), float(wide.std()) if tensor.numel() > 1 else 1.0
    return {"normal": [mean, deviation]} if math.isfinite(mean) and math.isfinite(deviation) else None


def executed(place, dims, prepared, called):
    """An observation under the modes: `prepared(torch)` makes the expression and the leaves, `called()` gives what is returned."""
    torch, placed, drawn = modes(place)
    torch.Generator = Generator
    with torch.device(place), placed, drawn, torch.no_grad():
        expression, leaves = prepared(torch)
        # Before the call, which may write into its buffers.
        values = {id(value): measured(torch, value, drawn.values(value)) for _, value in leaves if is_tensor(value)}
        outputs = named_outputs(called())
    return observed(dims, expression, leaves, outputs, lambda value: values.get(id(value)))


def run_kernelbench(tree, dims):
    namespace = {"__name__": "published"}
    for node in tree.body:
        exec(compile(ast.Module([node], []), "published", "exec"), namespace)
        namespace.update({name: value for name, value in dims.items() if name in namespace})

    known = {}

    def prepared(torch):
        known["init"] = literal(namespace["get_init_inputs"]())
        model = known["model"] = namespace["Model"](*namespace["get_init_inputs"]())
        inputs = known["inputs"] = namespace["get_inputs"]()
        leaves = Leaves()
        names = parameter_names(defined(defined(tree, "Model", (ast.ClassDef,)), "forward"), 1)
        expression = leaves.of(tuple(inputs), names)
        known["weights"] = {name: leaves.of(weight.data, name) for name, weight in model.named_parameters()}
        return expression, leaves.found

    seen = executed("meta", dims, prepared, lambda: known["model"](*known["inputs"]))
    return {**seen, "init": known["init"], "weights": known["weights"], "is_wide": is_wide(known["model"], known["inputs"])}


def is_wide(model, inputs):
    """Whether the model computes in f64 too, as a reference does best."""
    import torch

    def wide(value):
        return value.double() if is_tensor(value) and value.is_floating_point() else value

    try:
        with torch.device("meta"), torch.no_grad():
            outputs = named_outputs(model.double()(*map(wide, inputs)))
    except Exception:
        return False
    return all(not value.is_floating_point() or value.dtype == torch.float64 for _, value in outputs)


def imported(modules):
    """The module reference, with the modules of the task beside it."""
    folder = tempfile.mkdtemp()
    try:
        for name, path in modules.items():
            shutil.copy(path, os.path.join(folder, name))
        sys.path.insert(0, folder)
        import reference
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return reference


def run_task(tree, reference, case):
    names = unpacked(defined(tree, "ref_kernel"))

    known = {}

    def prepared(torch):
        data = known["data"] = reference.generate_input(**case)
        leaves = Leaves()
        return leaves.of(data, names), leaves.found

    def called():
        return reference.ref_kernel(known["data"])

    try:
        return executed("meta", case, prepared, called)
    except Unfit:
        raise
    except Exception as error:
        # Something asks for the value of a cell. A small case has cells.
        size = 1
        for value in case.values():
            size *= value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 65536 else 1
        if size > 1 << 20:
            raise error
        return executed("cpu", case, prepared, called)


# What `lab init` asks.


def kernelbench(request):
    with open(request["path"], encoding="utf-8") as file:
        tree = ast.parse(file.read(), request["path"])
    for name, kinds in {"Model": (ast.ClassDef,), "get_inputs": (ast.FunctionDef,), "get_init_inputs": (ast.FunctionDef,)}.items():
        if defined(tree, name, kinds) is None:
            raise Unfit(f"it defines no {name}, which a problem of KernelBench does")
    describe = run_kernelbench if request["run"] else read_kernelbench
    reader = Reader({}).module(tree)
    names = [name for name, value in reader.names.items() if type(value) is int]
    sizes = {name: reader.names[name] for name in names}
    first = describe(tree, sizes)

    def init(dims):
        return Reader(dims).module(tree).body(defined(tree, "get_init_inputs"))

    # A size that may differ, while the model stays the same.
    observations, free = [], []
    for name in names:
        other = {**sizes, name: 2 * sizes[name]}
        try:
            if init(other) == init(sizes):
                observations.append(describe(tree, other))
                free.append(name)
        except Exception:
            continue
    return {"free": free, "observations": [first, *observations]}


def task(request):
    with open(request["modules"]["reference.py"], encoding="utf-8") as file:
        tree = ast.parse(file.read(), "reference.py")
    for name in ("generate_input", "ref_kernel"):
        if defined(tree, name) is None:
            raise Unfit(f"reference.py defines no {name}")
    reference = imported(request["modules"]) if request["run"] else None
    describe = (lambda case: run_task(tree, reference, case)) if request["run"] else (lambda case: read_task(tree, case))
    names = parameter_names(defined(tree, "generate_input"))
    cases = [{name: case[name] for name in names if name in case} for case in request["cases"]]
    smallest = min(cases, key=lambda case: sum(value for value in case.values() if isinstance(value, int)))
    # Each size alone, so that what follows from which size can be told.
    apart = [{**smallest, name: 2 * value} for name, value in smallest.items() if type(value) is int and name != "seed"]
    observations, failure = [], None
    for at, case in enumerate([*cases, *apart]):
        try:
            observations.append({**describe(case), "case": at if at < len(cases) else None})
        except Unfit:
            raise
        except Exception as error:
            failure = failure or error
    if not observations:
        raise failure
    return {"free": [], "observations": observations, **tolerance(tree)}


def tolerance(tree):
    """The tolerances that check_implementation states."""
    for node in ast.walk(tree):
        name = ast.unparse(node.func).split(".")[-1] if isinstance(node, ast.Call) else ""
        if name == "verbose_allequal":
            return {"exact": True}
        if name in {"make_match_reference", "match_reference", "verbose_allclose"}:
            given = {of.arg: of.value for of in node.keywords}
            numbers = {key: getattr(given.get(key), "value", None) for key in ("rtol", "atol")}
            is_known = all(key not in given or isinstance(numbers[key], (int, float)) for key in numbers)
            defaults = {"rtol": 1e-5, "atol": 1e-8}
            return {"tolerance": {key: numbers[key] or defaults[key] for key in numbers}, "is_guess": not is_known}
    return {"is_guess": True}


def main():
    request = json.loads(sys.argv[1])
    try:
        answer = {"kernelbench": kernelbench, "task": task}[request["form"]](request)
    except Unfit as error:
        answer = {"error": str(error)}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print("lab-describes: " + json.dumps(answer))


main()
