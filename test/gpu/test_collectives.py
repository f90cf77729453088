"""Programs with collectives on several virtual GPUs, from JAX: in one process, and in several through jax.distributed.

    pytest test/gpu/test_collectives.py -k "8 or processes"

The results are compared with those of as many CPU devices of jaxlib, number for number but for products.
"""

import json
import os
import pathlib
import socket
import subprocess
import sys

import numpy
import pytest

ROOT = pathlib.Path(__file__).parents[2]
BUILD = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD_DIR", ROOT / "build/dev"))
SCRIPT = ROOT / "test/gpu/collectives.py"
# Does the work of the wheel's entry point.
START = """
import runpy, sys
sys.path.insert(0, {python!r})
from tilewright import jax_plugin
jax_plugin.initialize()
runpy.run_path({script!r}, run_name="__main__")
"""
INEXACT = {"sharded_products": 5e-3, "gradients": 5e-3}  # products of f32 have the precision of tf32


def start(platform, devices, *arguments, script=SCRIPT, **variables):
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "TILEWRIGHT_"))}
    kept |= {"JAX_PLATFORMS": platform}
    if platform == "cpu":
        kept |= {"JAX_NUM_CPU_DEVICES": str(devices)}
        command = [sys.executable, str(script)]
    else:
        kept |= {"TILEWRIGHT_LIBRARY": str(BUILD / "lib/libtilewright_pjrt.so"), "TILEWRIGHT_TARGET": "vgpu:sm_90a",
                 "TILEWRIGHT_VGPU_DEVICES": str(devices), "TILEWRIGHT_VGPU_MEMORY": "1G"}  # fmt: skip
        command = [sys.executable, "-c", START.format(python=str(ROOT / "python"), script=str(script))]
    return subprocess.Popen([*command, *map(str, arguments)], env=kept | variables, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def results_of(process, seconds=600):
    out, error = process.communicate(timeout=seconds)
    assert process.returncode == 0, error[-4000:]
    return {each["name"]: each["results"] for each in map(json.loads, out.splitlines())}


def assert_same(ours, theirs):
    assert ours.keys() == theirs.keys()
    for name, results in theirs.items():
        assert len(ours[name]) == len(results), name
        for mine, other in zip(ours[name], results):
            assert mine["shape"] == other["shape"], name
            near = INEXACT.get(name, 0)
            numpy.testing.assert_allclose(mine["values"], other["values"], rtol=near, atol=near, err_msg=name)


@pytest.mark.parametrize("count", [2, 8])
def test_one_process_agrees_with_jaxlib(count):
    ours, theirs = start("tilewright", count), start("cpu", count)
    assert_same(results_of(ours), results_of(theirs))
