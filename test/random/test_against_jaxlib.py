"""Programs of random-programs, run by jaxlib's CPU client and compared with the evaluator's results within its bounds.

    pytest test/random/test_against_jaxlib.py --programs 2000

The bounds allow what XLA may do and we do not: contract a product and a sum, flush subnormal numbers to zero, approximate
functions. Programs that jaxlib itself rejects match REFUSED below, which has the reasons, and are counted.
"""

import collections
import os
import pathlib
import subprocess
import sys

import jax
import ml_dtypes
import numpy as np
from jax._src import xla_bridge
from jax._src.interpreters import mlir as jax_mlir
from jaxlib import _jax
from jaxlib.mlir.dialects import stablehlo

TOOL = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD_DIR", "build/dev")) / "test/random/random-programs"

# Part of jaxlib's message, and why the rejection is not our bug.
REFUSED = {
    "jaxlib dies: signal 8": "XLA divides the least integer by -1 while it folds constants",
    "jaxlib dies: signal 6": "a check inside XLA fails: of constants without elements, of the absolute value of complex numbers",
    "Invalid XLA PrimitiveType": "XLA lacks the type",
    "unsupported operand type": "XLA lacks products of the type",
    "failed to legalize operation": "XLA's own code generation, of narrow floats",
    "Failed to translate module to LLVM IR": "XLA's own code generation, of narrow floats",
    "Inputs must have the same shape": "XLA's own check of layouts, for a convolution by batch groups whose result is converted to a narrow float",
    "reduce_decomposer": "XLA's own check of layouts, for a reduction of tensors of 4 bits and of more",
}

DTYPES = {
    "i1": np.bool_, "f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "complex<f32>": np.complex64, "complex<f64>": np.complex128,
    "i2": ml_dtypes.int2, "i4": ml_dtypes.int4, "ui2": ml_dtypes.uint2, "ui4": ml_dtypes.uint4,
    **{f"i{n}": np.dtype(f"int{n}") for n in (8, 16, 32, 64)},
    **{f"ui{n}": np.dtype(f"uint{n}") for n in (8, 16, 32, 64)},
    "f4E2M1FN": ml_dtypes.float4_e2m1fn, "f6E2M3FN": ml_dtypes.float6_e2m3fn, "f6E3M2FN": ml_dtypes.float6_e3m2fn,
    "f8E3M4": ml_dtypes.float8_e3m4, "f8E4M3": ml_dtypes.float8_e4m3, "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz, "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "f8E5M2": ml_dtypes.float8_e5m2, "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz, "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
}  # fmt: skip


def load(file, dtype):
    array = np.load(file)
    dtype = np.dtype(dtype)
    if array.dtype == dtype:
        return array
    return array.view(dtype) if array.dtype.itemsize == dtype.itemsize else array.astype(dtype)


def element_types(text_types):
    return [DTYPES[str(t).removeprefix("tensor<").removesuffix(">").split("x")[-1]] if "complex" not in str(t)
            else DTYPES["complex<f64>" if "f64" in str(t) else "complex<f32>"] for t in text_types]  # fmt: skip


class Program:
    """One exported program, as jaxlib reads it."""

    def __init__(self, folder, seed):
        self.folder, self.seed = folder, seed
        self.artifact = (folder / f"{seed}.mlirbc").read_bytes()

    def run(self):
        backend = xla_bridge.get_backend("cpu")
        with jax_mlir.make_ir_context() as context:
            module = stablehlo.deserialize_portable_artifact(context, self.artifact)
            main = next(op for op in module.body.operations if op.name.value == "main")
            self.inputs = element_types(main.type.inputs)
            self.outputs = element_types(main.type.results)
            devices = _jax.DeviceList(tuple(backend.local_devices()[:1]))
            loaded = backend.compile_and_load(module, devices, _jax.CompileOptions())
        arguments = [load(self.folder / f"{self.seed}.in{i}.npy", dtype) for i, dtype in enumerate(self.inputs)]
        with jax.enable_x64(True):
            buffers = [jax.device_put(argument, backend.local_devices()[0]) for argument in arguments]
            return [np.asarray(result) for result in loaded.execute(buffers)]

    def disagreement(self, results, counts):
        """Describes where a result is further from ours than the bound; None if there is no such place."""
        for i, (result, dtype) in enumerate(zip(results, self.outputs)):
            ours = load(self.folder / f"{self.seed}.out{i}.npy", dtype)
            bound = np.load(self.folder / f"{self.seed}.bound{i}.npy")
            if result.shape != ours.shape or np.dtype(result.dtype) != np.dtype(dtype):
                return f"result {i} is {result.dtype}{result.shape}, ours {np.dtype(dtype)}{ours.shape}"
            if ours.size == 0:
                continue
            known = np.isfinite(bound)
            counts["unknown"] += int((~known).sum())
            counts["exact"] += int((bound == 0).sum())
            counts["bounded"] += int((known & (bound > 0)).sum())
            name = np.dtype(dtype).name
            with np.errstate(all="ignore"):
                if name.startswith(("int", "uint", "bool")):
                    wrong = ours.astype(object) != result.astype(object) if "4" in name or "2" in name else ours != result
                else:
                    wide = np.complex128 if "complex" in name else np.float64
                    a, b = ours.astype(wide), result.astype(wide)
                    # XLA flushes subnormal results to zero.
                    flushed = 0 if ours.dtype == np.float64 or "complex" in name else float(ml_dtypes.finfo(ours.dtype).tiny)
                    wrong = ~((np.isnan(a) & np.isnan(b)) | (a == b) | (np.abs(a - b) <= bound) | ((b == 0) & (np.abs(a) < flushed)))
            wrong = np.asarray(wrong, bool) & known
            if wrong.any():
                at = tuple(int(n[0]) for n in np.nonzero(wrong)) if wrong.ndim else ()
                return f"result {i} at {at} of {ours.dtype}{list(ours.shape)}: jaxlib {result[at]}, ours {ours[at]}, bound {bound[at]}"
        return None


def work(folder, first, last):
    """Runs programs and prints one line each: number, then nothing, `refused …` or `differs …`."""
    for seed in range(first, last):
        print(seed, "begins", flush=True)
        program, counts = Program(folder, seed), collections.Counter()
        try:
            results = program.run()
        except Exception as error:  # jaxlib's own exception types
            print(seed, "refused", str(error)[:300].replace("\n", " "), flush=True)
            continue
        problem = program.disagreement(results, counts)
        print(seed, "counts", counts["exact"], counts["bounded"], counts["unknown"], flush=True)
        if problem:
            print(seed, "differs", problem.replace("\n", " "), flush=True)


def lines_of(folder, first, last):
    """The lines of work(), from child processes that jaxlib may crash."""
    while first < last:
        done = subprocess.run([sys.executable, __file__, folder, str(first), str(last)], capture_output=True, text=True)
        lines = [line.split(" ", 2) for line in done.stdout.splitlines() if line[:1].isdigit()]
        yield from (line for line in lines if line[1] != "begins")
        if done.returncode == 0:
            return
        assert lines, done.stderr[-2000:]
        first = int(lines[-1][0])
        yield [str(first), "refused", f"jaxlib dies: signal {-done.returncode}"]
        first += 1


def test_jaxlib_computes_the_same(request, tmp_path):
    count, first = request.config.getoption("--programs"), request.config.getoption("--first")
    done = subprocess.run(
        [TOOL, "export", tmp_path, f"--first={first}", f"--count={count}"], capture_output=True, text=True, timeout=3600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{count} of {count} programs written" in done.stdout, done.stdout[-3000:]
    wrong, refused, compared = [], collections.Counter(), [0, 0, 0]
    for seed, what, words in lines_of(tmp_path, first, first + count):
        if what == "counts":
            compared = [a + int(b) for a, b in zip(compared, words.split())]
            continue
        reason = next((why for text, why in REFUSED.items() if text in words), None) if what == "refused" else None
        if reason:
            refused[reason] += 1
        else:
            wrong.append(f"program {seed} {what}: {words}")
            print(wrong[-1], flush=True)
    print(f"{count} programs; elements exact, bounded, unknown: {compared}; refused by jaxlib: {dict(refused)}")
    assert not wrong, f"{len(wrong)} of {count}:\n" + "\n".join(wrong[:40])
    assert compared[0] + compared[1] >= compared[2], compared


if __name__ == "__main__":
    work(pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
