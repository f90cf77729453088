"""Kernels written in cuTile and compiled by NVIDIA's tile compiler, on the virtual GPU: right, and without a report.

kernels.py runs one of them in the environment of `tools/setup --cute`, which this test makes.
"""

import os
import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = ["add", "softmax", "matmul_bf16", "matmul_f16", "transpose", "count"]


@pytest.fixture(scope="session")
def python():
    made = subprocess.run([HERE.parents[2] / "tools/setup", "--cute"], capture_output=True, text=True, timeout=1800)
    assert made.returncode == 0, made.stderr
    return made.stdout.splitlines()[-1]


@pytest.mark.parametrize("order", ["eager", "latest", "seed:1"])
@pytest.mark.parametrize("chip", ["sm_100", "sm_120"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_cutile(python, name, chip, order, tmp_path):
    flags = [f"--chip={chip}a", "--threads=1", "--check=all", f"--order={order}", "--ptxas=0"]
    program = [python, HERE / "kernels.py", os.environ["TILEWRIGHT_TEST_PTXAS"], tmp_path, chip, name]
    command = [os.environ["TILEWRIGHT_VGPU_TOOL"], "run", *flags, "--", *program]
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert result.returncode == 0 and "equal" in result.stdout.split(), result.stdout[-3000:] + result.stderr[-5000:]
