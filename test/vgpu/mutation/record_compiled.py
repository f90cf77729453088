"""Records the launches of programs that our compiler compiled, so that MutationSuite can repeat them.

    TILEWRIGHT_BUILD_DIR=build/dev python record_compiled.py CHIP FOLDER PROGRAM…
"""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "jax"))
import artifacts  # noqa: E402
import compiled_programs  # noqa: E402
import evaluator  # noqa: E402
import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax import export  # noqa: E402


def record(chip, folder, name):
    function, arguments, options = compiled_programs.PROGRAMS[name]
    jax.config.update("jax_enable_x64", True)
    exported = export.export(jax.jit(function), platforms=["cuda"], disabled_checks=[export.DisabledSafetyCheck.platform()])(*arguments)
    like = [np.zeros(shape.shape, shape.dtype) for shape in jax.tree.leaves(jax.eval_shape(function, *arguments))]
    case = artifacts.Case(name, "", 1, exported.mlir_module_serialized, list(arguments), like)
    own = folder / name
    own.mkdir(parents=True)
    os.environ |= {"TILEWRIGHT_VGPU_CHECK": "record", "TILEWRIGHT_VGPU_COUNTS": str(own), "TILEWRIGHT_VGPU_THREADS": "1"}
    results = evaluator.evaluate([case], own, f"--target=vgpu:{chip}", *options)[name]
    assert not isinstance(results, str), f"{name}: {results}"
    for got, want in zip(results, jax.tree.leaves(jax.jit(function)(*arguments)), strict=True):
        np.testing.assert_allclose(got.astype(np.float64), np.asarray(want, np.float64), rtol=1e-4, err_msg=name)
    kernels = set()
    for launch in sorted(own.glob("*.launch"), key=lambda path: int(path.stem.partition("-")[0])):
        kernel = launch.stem.partition("-")[2]
        # The first launch of each kernel. Not those of one thread that sets a condition of the graph around it, which a
        # launch alone does not have.
        if kernel in kernels or kernel.startswith(("tilewright_set_", "tilewright_start")):
            continue
        kernels.add(kernel)
        for part in ("launch", "ptx", "memory"):
            (own / f"{launch.stem}.{part}").rename(folder / f"{name}.{launch.stem}.{part}")


if __name__ == "__main__":
    for name in sys.argv[3:] or compiled_programs.PROGRAMS:
        record(sys.argv[1], pathlib.Path(sys.argv[2]), name)
