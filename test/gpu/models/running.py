"""Runs a model in a process of its own: on jaxlib's CPU, or with the plugin on the virtual GPU."""

import functools
import json
import os
import pathlib
import subprocess
import sys

import numpy as np

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[2]
LIBRARY = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD_DIR", ROOT / "build/dev")) / "lib/libtilewright_pjrt.so"
SCRIPT = str(HERE / "run_model.py")
# Does the work of the wheel's entry point.
START = f"""
import runpy, sys
sys.path[:0] = [{str(ROOT / "python")!r}, {str(HERE)!r}]
from tilewright import jax_plugin
jax_plugin.initialize()
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


class Failed(Exception):
    """The end of what a process printed before it failed."""


def run(arguments, platform, timeout=3600, script=SCRIPT, **variables):
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "TILEWRIGHT_", "XLA_"))}
    # jaxlib rounds each op to its type, as this compiler does.
    kept |= {"JAX_PLATFORMS": platform, "XLA_FLAGS": "--xla_allow_excess_precision=false"} | variables
    start = [script] if platform == "cpu" else ["-c", START, script]
    ended = subprocess.run([sys.executable, *start, *map(str, arguments)], capture_output=True, text=True, timeout=timeout, env=kept)
    if ended.returncode:
        raise Failed(ended.stderr[-4000:])
    result = json.loads(ended.stdout.splitlines()[-1])
    return result | {"values": np.asarray(result["values"])}


@functools.cache
def on_jaxlib(name, dtype, steps, *seed):
    return run([name, dtype, steps, *seed], "cpu")


def spread(name, dtype, steps, kind):
    """How far runs of jaxlib are from each other when their weights differ by a few roundings.

    A step that is right in every digit can still lead away from jaxlib's: a unit of a ReLU that is within a rounding of 0 is on in one
    run and off in the other, and in bf16 every weight is rounded again after each step.
    """
    exact = on_jaxlib(name, dtype, steps)["values"]
    return max(difference(on_jaxlib(name, dtype, steps, seed)["values"], exact, kind) for seed in range(1, 9))


def on_gpu(name, dtype, steps, chip, **variables):
    """Steps on the virtual GPU; `variables` are those of the virtual driver, such as CHECK and ORDER."""
    settings = {f"TILEWRIGHT_VGPU_{key.upper()}": str(value) for key, value in variables.items()}
    return run([name, dtype, steps], "tilewright,cpu", TILEWRIGHT_LIBRARY=str(LIBRARY), TILEWRIGHT_TARGET=f"vgpu:{chip}", **settings)


def difference(ours, theirs, kind):
    """The largest difference: of tokens their number, else relative to the value, or to the largest of an array."""
    if kind == "tokens":
        return int(np.sum(ours != theirs))
    scale = np.abs(theirs) if kind == "loss" else np.max(np.abs(theirs))
    return float(np.max(np.abs(ours - theirs) / scale))
