"""An unmodified JAX script trains on the virtual GPU, with every check on, with the same result as on jaxlib's CPU."""

import functools
import json
import os
import pathlib
import re
import subprocess
import sys

import numpy
import pytest

ROOT = pathlib.Path(__file__).parents[2]
LIBRARY = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD_DIR", ROOT / "build/dev")) / "lib/libtilewright_pjrt.so"
# Does the work of the wheel's entry point, and prints the device that the script gets.
START = """
import runpy, sys
sys.path.insert(0, {python!r})
from tilewright import jax_plugin
jax_plugin.initialize()
import jax
print(jax.devices()[0].device_kind, jax.devices()[0].compute_capability)
sys.argv = [{script!r}, *sys.argv[1:]]
runpy.run_path({script!r})
"""


def run(platform, script="adam.py", options=(), **variables):
    """The output of a script without its last line, and the JSON of its last line."""
    script = str(ROOT / "test/jax/scripts" / script)
    arguments = [script] if platform == "cpu" else ["-c", START.format(python=str(ROOT / "python"), script=script)]
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "TILEWRIGHT_"))}
    ended = subprocess.run([sys.executable, *arguments, *options], capture_output=True, text=True, timeout=600,
                           env=kept | {"JAX_PLATFORMS": platform} | variables)  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-3000:]
    *before, last = ended.stdout.splitlines()
    said = json.loads(last)
    return before, said | {"loss": numpy.asarray(said["loss"])}


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a", "gfx942", "gfx950"])
def test_adam_on_the_virtual_gpu(chip, tmp_path):
    report = tmp_path / "report.txt"
    kind, ours = run("tilewright,cpu", TILEWRIGHT_LIBRARY=str(LIBRARY), TILEWRIGHT_TARGET=f"vgpu:{chip}",
                     TILEWRIGHT_VGPU_CHECK="all", TILEWRIGHT_VGPU_REPORT=str(report))  # fmt: skip
    _, theirs = run("cpu")
    ours, theirs = ours["loss"], theirs["loss"]
    assert kind == [{"sm_80": "tilewright cuda 8.0", "sm_90a": "tilewright cuda 9.0"}.get(chip, f"tilewright rocm {chip}")], kind
    assert len(ours) == len(theirs) == 20 and theirs[-1] < theirs[0] / 10
    apart = numpy.max(numpy.abs(ours - theirs) / numpy.abs(theirs))
    print(f"{chip}: losses at most {apart:.1e} apart, relatively")
    # f32 products with sums in another order, and Adam, which divides by small roots: 3e-7 was measured.
    assert apart <= 1e-5
    assert not report.exists() or "no findings" in report.read_text(), report.read_text()[:2000]


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
def test_convolutions_on_the_virtual_gpu(chip, tmp_path):
    report = tmp_path / "report.txt"
    _, ours = run("tilewright,cpu", "residual.py", TILEWRIGHT_LIBRARY=str(LIBRARY), TILEWRIGHT_TARGET=f"vgpu:{chip}",
                  TILEWRIGHT_VGPU_CHECK="all", TILEWRIGHT_VGPU_REPORT=str(report))  # fmt: skip
    _, theirs = run("cpu", "residual.py")
    ours, theirs = ours["loss"], theirs["loss"]
    assert len(ours) == len(theirs) == 6 and theirs[-1] < theirs[0] / 2
    apart = numpy.max(numpy.abs(ours - theirs) / numpy.abs(theirs))
    print(f"{chip}: losses at most {apart:.1e} apart, relatively")
    # Sums of f32 in another order, and divisions by small roots: 3e-7 was measured.
    assert apart <= 1e-5
    assert not report.exists() or "no findings" in report.read_text(), report.read_text()[:2000]


@functools.cache
def on_jaxlib(dtype):
    return run("cpu", "half_precision.py", (dtype,))[1]["loss"]


@pytest.mark.parametrize("chip, dtype, instruction", [("sm_80", "bfloat16", "mma_sync"), ("sm_90a", "bfloat16", "wgmma"), ("sm_90a", "float16", "wgmma")])
def test_half_precision_on_tensor_cores(chip, dtype, instruction, tmp_path):
    report = tmp_path / "report.txt"
    plugin = {"TILEWRIGHT_LIBRARY": str(LIBRARY), "TILEWRIGHT_TARGET": f"vgpu:{chip}"}
    _, ours = run("tilewright,cpu", "half_precision.py", (dtype,), **plugin, TILEWRIGHT_VGPU_CHECK="all", TILEWRIGHT_VGPU_REPORT=str(report),
                  TILEWRIGHT_COMPILE_DUMP_DIR=str(tmp_path / "dump"))  # fmt: skip
    theirs, exact = on_jaxlib(dtype), on_jaxlib("float32")
    assert len(ours["loss"]) == len(theirs) == 12 and theirs[-1] < theirs[0] / 4
    # The error of training in this type is the distance of jaxlib's own run from its run in f32. Ours rounds at the
    # same places, so its distance must not be larger than that by more than a factor of 2.
    scale = numpy.max(numpy.abs(theirs - exact) / exact)
    apart = numpy.max(numpy.abs(ours["loss"] - theirs) / exact)
    print(f"{chip}, {dtype}: losses {apart:.1e} from jaxlib's, which are {scale:.1e} from those of f32")
    assert scale > 1e-5, "the products were not rounded, so this would test nothing"
    assert apart <= 2 * scale
    assert not report.exists() or "no findings" in report.read_text(), report.read_text()[:2000]

    # Tensor cores compute all products, with the chip's best instructions.
    lowered = "".join(file.read_text() for file in (tmp_path / "dump").rglob("*-lower.mlir"))
    assert re.search(rf"sm\.mma {instruction}\b", lowered), sorted(set(re.findall(r"sm\.mma \w+", lowered)))
    _, counted = run("tilewright,cpu", "half_precision.py", (dtype, "1"), **plugin, TILEWRIGHT_VGPU_CHECK="count",
                     TILEWRIGHT_VGPU_COUNTS=str(tmp_path / "counts"))  # fmt: skip
    done = sum(sum(json.loads(file.read_text())["total"]["multiply_adds"].values()) for file in (tmp_path / "counts").glob("*.counts.json"))
    print(f"{chip}, {dtype}: {done} multiply-adds of tensor cores in a step of {counted['multiply_adds']}")
    # Tiles may be larger than the product. Fewer multiply-adds would mean that a product was computed elsewhere.
    assert done >= counted["multiply_adds"]
