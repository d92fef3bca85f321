"""What the Python package does with the frameworks' own memory of a GPU, as rows of the report that hardware.c begins.

Every framework that is installed and sees the GPU takes part. Exits with 1 where a check fails.
"""

import importlib
import os
import subprocess
import sys

import dlpark

FAKE = os.environ.get("DLPARK_CUDA_LIBRARY", "")


def make_torch(module):
    """Six numbers on the GPU, where they are, and how PyTorch takes a tensor."""
    if not module.cuda.is_available():
        return None
    array = module.arange(6, dtype=module.float32, device="cuda").reshape(2, 3)
    return array, array.data_ptr(), module.from_dlpack, lambda made: (made.data_ptr(), made.tolist())


def make_cupy(module):
    """The same of CuPy."""
    if module.cuda.runtime.getDeviceCount() == 0:
        return None
    array = module.arange(6, dtype=module.float32).reshape(2, 3)
    return array, array.data.ptr, module.from_dlpack, lambda made: (made.data.ptr, made.tolist())


def make_jax(module):
    """The same of JAX."""
    if module.default_backend() != "gpu":
        return None
    array = module.numpy.arange(6, dtype="float32").reshape(2, 3)
    take = module.dlpack.from_dlpack  # rows only: JAX copies what is not compact
    return array, array.unsafe_buffer_pointer(), take, lambda made: (made.unsafe_buffer_pointer(), made.tolist())


MAKERS = {"torch": make_torch, "cupy": make_cupy, "jax": make_jax}


def present():
    """The frameworks that see a GPU, by name; of the others the reason."""
    there, missing = {}, {}
    for name, make in MAKERS.items():
        try:
            module = importlib.import_module(name)
            made = make(module)
        except ImportError:
            missing[name] = "not installed"
        except Exception as error:  # noqa: BLE001 - what a framework without a driver raises is its own
            missing[name] = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
        else:
            if made is None:
                missing[name] = f"{module.__version__} sees no GPU"
            else:
                there[name] = (module, made)
    return there, missing


def pass_on(source, target, is_strided):
    """A framework's memory to another one by a dlpark.Tensor, transposed if strided: the same address and numbers."""
    array, address, _, _ = source
    _, _, take, look = target
    tensor = dlpark.from_dlpack(array)
    if tensor.device != "cuda:0":
        return f"dlpark says it is on {tensor.device}"
    expected = [[0, 3], [1, 4], [2, 5]] if is_strided else [[0, 1, 2], [3, 4, 5]]
    found, numbers = look(take(tensor.permute(1, 0) if is_strided else tensor))
    if found != address:
        return f"it lies at {found:#x}, not {address:#x}"
    return "" if numbers == expected else f"the numbers are {numbers}"


def refuse_stream(module):
    """The per-thread stream is one that PyTorch does not have; an integer that is none is refused by dlpark."""
    tensor = dlpark.from_dlpack(module.zeros(3, device="cuda"))
    for number in (0, -2):
        try:
            tensor.__dlpack__(stream=number)
        except (BufferError, ValueError):
            continue
        return f"stream={number} was taken"
    return ""


def end_late():
    """A tensor of PyTorch's memory that ends with the interpreter."""
    code = "import torch, dlpark; kept = dlpark.from_dlpack(torch.zeros(3, device='cuda'))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return "" if ended.returncode == 0 and not ended.stderr else f"{ended.returncode}: {ended.stderr[-200:]}"


def row(what, fault, seen):
    """Prints one row; whether it failed."""
    print(f"| {what} | {'**failed**' if fault else 'passed'} | {fault or seen} |", flush=True)
    return bool(fault)


def main():
    there, missing = ({}, dict.fromkeys(MAKERS, "not tried with the fake driver")) if FAKE else present()
    failed = 0
    for source, (module, made) in there.items():
        for target, (_, other) in there.items():
            failed += row(f"{source} to {target} by Python's dlpark", pass_on(made, other, target != "jax"),
                          f"{source} {module.__version__}; the same address and numbers")
    if "torch" in there:
        failed += row("streams that are none", refuse_stream(there["torch"][0]), "0 and -2 are refused")
        failed += row("the interpreter ends", end_late(), "with a tensor of PyTorch's memory alive")
    for name, reason in missing.items():
        print(f"| {name}, both ways | left out | {reason} |")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
