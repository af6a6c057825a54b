"""Triton kernels of a module: what they use of the device, and what they have compiled.

Works on the attributes of Triton's objects, without an import of Triton. Triton 3.1 to 3.6 have them; where another
version lacks them, a module shows no resources and compiles again after a reload.
"""

from ..private import BUILTINS as __builtins__

# Local memory that Triton counts as one spill, in bytes.
_SPILL_BYTES = 4
_name_of, _module_of = (vars(type)[name].__get__ for name in ("__name__", "__module__"))


def _is_of_triton(value, *names):
    module = _module_of(type(value))
    return type(module) is str and module.startswith("triton.") and _name_of(type(value)) in names


def is_kernel(value):
    """Whether this is a Triton kernel, which no Python function calls without a grid."""
    return _is_of_triton(value, "JITFunction", "InterpretedFunction", "Autotuner", "Heuristics")


def kernels(namespace):
    """The Triton kernels among these globals, by their names: (the function, the autotuners around it)."""
    found = {}
    for name, value in list(namespace.items()):
        tuners, depth = [], 0
        while _is_of_triton(value, "Autotuner", "Heuristics") and depth < 8:
            tuners.append(value)
            value, depth = getattr(value, "fn", None), depth + 1
        if _is_of_triton(value, "JITFunction"):
            found[name] = (value, tuners)
    return found


def tune_nothing(namespace):
    """Leaves each autotuner among these globals its first configuration: the interpreter's times say nothing."""
    for value in list(namespace.values()):
        depth = 0
        while _is_of_triton(value, "Autotuner", "Heuristics") and depth < 8:
            if _is_of_triton(value, "Autotuner"):
                value.configs = value.configs[:1]
            value, depth = getattr(value, "fn", None), depth + 1


def _compiled(function):
    """The compiled kernels of a Triton function, on all devices."""
    for entry in list(getattr(function, "device_caches", {}).values()):
        kernels = entry[0] if isinstance(entry, tuple) else entry
        yield from kernels.values()


def resources(namespace):
    """What each Triton kernel uses that has been launched: registers, spilled bytes of a thread, shared memory."""
    found = []
    try:
        for function, _ in kernels(namespace).values():
            for kernel in _compiled(function):
                registers = getattr(kernel, "n_regs", None)
                if registers is None:
                    continue
                found.append({"name": str(kernel.metadata.name), "registers": int(registers),
                              "spill_bytes": _SPILL_BYTES * int(kernel.n_spills),
                              "shared_bytes": int(kernel.metadata.shared)})
    except Exception:  # noqa: B902: the attributes are not Triton's documented interface
        return []
    unique = {tuple(item.items()): item for item in found}
    return list(unique.values())[:32]


def use_compiled(old, namespace):
    """Gives the Triton kernels among these globals what the same kernels have compiled and tuned before.

    A compiled kernel holds no state. Without this each reload would read it from Triton's folder, and tune it again.
    """
    for name, (fresh, tuners) in kernels(namespace).items():
        if name not in old:
            continue
        known, known_tuners = old[name]
        try:
            if fresh.cache_key != known.cache_key:
                continue
            # Sets what a later compilation needs, beside the caches.
            fresh.create_binder()
            fresh.device_caches = known.device_caches
            for tuner, known_tuner in zip(tuners, known_tuners):
                if hasattr(tuner, "cache") and [str(c) for c in tuner.configs] == [str(c) for c in known_tuner.configs]:
                    tuner.cache.update(known_tuner.cache)
        except Exception:  # noqa: B902: the attributes are not Triton's documented interface
            continue
