# ---- The check of this file: `python3` with its name runs it ----

# An input or an output of a workload. A cell is right if |got - want| <= atol + rtol * |want|; the fraction `matched` of the cells
# must be right. The kernel gets the views in place of the tensor: name, offset, shape and strides, in cells.
_LabOf = collections.namedtuple("_LabOf", "dtype shape atol rtol matched values views")
_LabCase = collections.namedtuple("_LabCase", "label entry timed dims scalars tensors")


def _lab_dtype(word):
    names = {
        "f32": "float32", "f16": "float16", "bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
        "f64": "float64", "i8": "int8", "u8": "uint8", "i16": "int16", "u16": "uint16", "i32": "int32", "u32": "uint32",
        "i64": "int64", "u64": "uint64", "bool": "bool",
    }
    return getattr(torch, names[word])


def _lab_draw(of, generator):
    """Draws an input. The values are not those that lab draws."""
    dtype = _lab_dtype(of.dtype)
    kind, *numbers = of.values
    options = {"generator": generator, "device": "cuda"}
    if kind == "bytes":
        return torch.frombuffer(bytearray(numbers[0]), dtype=torch.uint8).cuda().view(dtype).reshape(of.shape)
    if kind == "packed":
        drawn = torch.zeros(of.shape, dtype=torch.uint8, device="cuda")
        for offset, word, shape, values in numbers:
            cells = _lab_draw(_LabOf(word, shape, 0, 0, 0, values, ()), generator).contiguous().view(torch.uint8)
            drawn[..., offset : offset + cells.shape[-1]] = cells
        return drawn
    if kind == "constant":
        whole = isinstance(numbers[0], int)
        number = (numbers[0] + 2**63) % 2**64 - 2**63 if whole else numbers[0]
        drawn = torch.full(of.shape, number, dtype=torch.int64 if whole else torch.float64, device="cuda")
        return _lab_cells(drawn, dtype)
    if kind in ("normal", "uniform"):
        wide = torch.float64 if of.dtype == "f64" else torch.float32
        if kind == "normal":
            drawn = numbers[0] + numbers[1] * torch.randn(of.shape, dtype=wide, **options)
        else:
            drawn = numbers[0] + (numbers[1] - numbers[0]) * torch.rand(of.shape, dtype=wide, **options)
        largest = torch.finfo(dtype).max
        return drawn.clamp(-largest, largest).to(dtype)
    if kind == "permutation":
        return torch.rand(of.shape, **options).argsort(-1).to(dtype)
    # Of a u64, numbers lower by 2**63 are drawn, which an int64 holds.
    lower = 2**63 if of.dtype == "u64" else 0
    low, high = numbers[0] - lower, numbers[1] - lower
    drawn = torch.randint(low, min(high + 1, 2**63 - 1), of.shape, dtype=torch.int64, **options)
    if kind == "ascending":
        drawn = drawn.sort(-1).values
        drawn[..., -1] = high
        drawn[..., 0] = low
    return _lab_cells(drawn ^ -lower, dtype)


def _lab_cells(drawn, dtype):
    """Numbers as cells of a type. An int64 has the bits of a uint64."""
    return drawn.view(dtype) if dtype == getattr(torch, "uint64", None) else drawn.to(dtype)


def _lab_compare(got, want, of):
    """Returns the largest error in units of the tolerance, and what is wrong, or None."""
    got, want = got.flatten(), want.flatten()
    worst, wrong, not_finite, first = 0.0, 0, 0, None
    # A u64 is compared as the int64 that is lower by 2**63.
    lower = 2**63 if of.dtype == "u64" else 0
    for begin in range(0, got.numel(), 1 << 24):
        a, b = got[begin : begin + (1 << 24)], want[begin : begin + (1 << 24)]
        if of.dtype.startswith(("f", "b")) and of.dtype != "bool":
            a, b = (cells.double() if of.dtype == "f64" else cells.float().double() for cells in (a, b))
            same = (a == b) | (a.isnan() & b.isnan())
            lost = ~a.isfinite() & b.isfinite()
        else:
            a, b = (cells.view(torch.int64) ^ -lower if lower else cells.long() for cells in (a, b))
            same, lost = a == b, torch.zeros_like(a, dtype=torch.bool)
        error = (a - b).abs().double() / (of.atol + of.rtol * (b.double() + lower).abs())
        error = torch.where(same, 0.0, error.nan_to_num(nan=math.inf, posinf=math.inf))
        worst = max(worst, error.max().item())
        off = error > 1
        if first is None and off.any():
            at = int(off.nonzero()[0])
            first = (begin + at, a[at].item() + lower, b[at].item() + lower)
        wrong += int(off.sum())
        not_finite += int((lost & off).sum())
    if not_finite == 0 and wrong / got.numel() <= round(1 - of.matched, 12):
        return worst, None
    place, rest = [], first[0]
    for extent in reversed(of.shape):
        place.append(rest % extent)
        rest //= extent
    return worst, (
        f"{place[::-1]} is {first[1]}, expected {first[2]} "
        f"({wrong} of {got.numel()} cells off, at worst {worst:.4g} times the tolerance)"
    )


def _lab_launch(function, case, inputs, poison, launches):
    """Launches so often in a row on copies of the inputs. Before each launch the outputs are filled with a pattern."""
    tensors = {
        name: inputs[name].clone() if name in inputs else torch.empty(of.shape, dtype=_lab_dtype(of.dtype), device="cuda")
        for name, of in case.tensors.items()
    }
    for _ in range(launches):
        for name, tensor in tensors.items():
            if _LAB_ROLES[name] == "out":
                tensor.view(torch.uint8).fill_(poison)
        function(case, tensors)
    torch.cuda.synchronize()
    return tensors


def _lab_verify(kernel, reference, case, inputs, launches):
    """Compares two launches, before which the outputs hold two different patterns. Returns the error, and what is wrong, or None."""
    want = _lab_launch(reference, case, inputs, 0, launches)
    worst = 0.0
    for poison in (0xFF, 0x7F):
        got = _lab_launch(kernel, case, inputs, poison, launches)
        for name, of in case.tensors.items():
            if _LAB_ROLES[name] == "in":
                if not torch.equal(got[name].view(torch.uint8), inputs[name].view(torch.uint8)):
                    return worst, f"the kernel changed its input {name}"
                continue
            if name not in _LAB_COMPARED:
                continue
            error, what = _lab_compare(got[name], want[name], of)
            worst = max(worst, error)
            if what:
                return worst, name + what
    return worst, None


def _lab_microseconds(work):
    """Microseconds of one launch: the median of several measurements with CUDA events. Warm: launches follow one another, in a CUDA
    graph if the problem says so. Cold: before each launch the L2 cache is filled with other data."""

    def timed(what):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        what()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1000

    for _ in range(3):
        first = timed(work)
    if _LAB_COLD:
        other = torch.empty(max(2 * torch.cuda.get_device_properties(0).L2_cache_size, 1 << 20), dtype=torch.uint8, device="cuda")
        times = []
        for i in range(int(min(100, max(5, 1e6 / max(first, 1))))):
            other.fill_(i)
            times.append(timed(work))
        return statistics.median(times)
    in_a_row = int(min(20, max(1, 5000 / max(first, 1))))

    def row():
        for _ in range(in_a_row):
            work()

    run = row
    if _LAB_GRAPH:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            row()
        run = graph.replay
    timed(run)
    count = int(min(50, max(3, 1e6 / max(first * in_a_row, 1))))
    return statistics.median(timed(run) / in_a_row for _ in range(count))


def _lab_by_name(function, case, tensors):
    """Calls a Python function with the parameters that it names."""
    values = {**case.scalars, **case.dims}
    for name, tensor in tensors.items():
        views = case.tensors[name].views
        values.update({view: tensor.as_strided(shape, strides, offset) for view, offset, shape, strides in views} or {name: tensor})
    parameters = inspect.signature(function).parameters.values()
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        values = {parameter.name: values[parameter.name] for parameter in parameters if parameter.name in values}
    function(**values)


def _lab_check(kernel, reference):
    """Verifies and times each workload. Returns 0 if every workload is right, otherwise 1."""
    if not torch.cuda.is_available():
        print("there is no CUDA device, so nothing was checked", file=sys.stderr)
        return 1
    seed = int(sys.argv[1], 0) if len(sys.argv) > 1 else 1
    print(f"{_LAB_NAME} on {torch.cuda.get_device_name()}, inputs of the seed {seed}", flush=True)
    wrong = 0
    for number, case in enumerate(_LAB_CASES):
        generator = torch.Generator("cuda").manual_seed(seed + 1000 * number)
        inputs = {name: _lab_draw(of, generator) for name, of in case.tensors.items() if of.values}
        error, what = _lab_verify(kernel, reference, case, inputs, 1)
        if not what and _LAB_STEPS > 1:
            error, what = _lab_verify(kernel, reference, case, inputs, _LAB_STEPS)
        if what:
            wrong += 1
            print(f"WRONG  {case.label}: {what}", flush=True)
            continue
        time = "not timed"
        if case.timed:
            tensors = _lab_launch(kernel, case, inputs, 0, 1)
            time = f"{_lab_microseconds(lambda: kernel(case, tensors)):.3f} us"
        print(f"ok     {case.label}  {time}  error {error:.3g} of 1", flush=True)
    print(f"{wrong} of {len(_LAB_CASES)} workloads are wrong" if wrong else f"all {len(_LAB_CASES)} workloads are right")
    return 1 if wrong else 0
