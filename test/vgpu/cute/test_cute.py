"""GEMMs of FlashInfer and FlashAttention-4, written in NVIDIA's CuTe DSL and compiled by it for sm_100a, on the virtual GPU.

The kernels are unmodified; the result must be right, and the checks must report nothing. gemm.py and attention.py run one of
them in the environment of `tools/setup --cute`. With --all that environment is made; otherwise the test is skipped where it is
absent.
"""

import os
import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
SETUP = HERE.parents[2] / "tools/setup"
SAMPLE = [("nvf4", 2)]
ALL = [(name, blocks) for name in ("f16", "f8", "mxf8", "mxf4", "nvf4") for blocks in (1, 2)]
# What FlashAttention-4 chooses itself: two blocks multiply together only without a mask, and tiles are stolen only with one. With both, its
# scheduler numbers the tiles of blocks and its kernel those of pairs, so that half of the rows of each tile are not written.
ATTENTION = [("plain", 1), ("plain", 2), ("causal", 1), ("grouped", 1), ("stolen", 1)]
# Copies and products complete at once, as late as possible, and at random.
ORDERS = ["eager", "latest", "seed:1"]


def pytest_generate_tests(metafunc):
    everything = metafunc.config.getoption("--all")
    if metafunc.function is test_gemm:
        metafunc.parametrize("name,blocks", ALL if everything else SAMPLE)
    else:
        marks = [] if everything else [pytest.mark.skip(reason="ten seconds of CPU time for each: run with --all")]
        metafunc.parametrize("name,blocks", [pytest.param(*pair, marks=marks) for pair in ATTENTION])
    metafunc.parametrize("order", ORDERS if everything else ORDERS[-1:])


@pytest.fixture(scope="session")
def python(request):
    everything = request.config.getoption("--all")
    flag = "--cute" if everything else "--print-cute-python"
    made = subprocess.run([SETUP, flag], capture_output=True, text=True, timeout=1800)
    if made.returncode != 0 and not everything:
        pytest.skip("the CuTe DSL is not installed: run tools/setup --cute")
    assert made.returncode == 0, made.stderr
    return made.stdout.splitlines()[-1]


def execute(python, program, name, blocks, order, folder):
    flags = ["--chip=sm_100a", "--threads=1", "--check=all", f"--order={order}"]
    program = [python, HERE / program, os.environ["TILEWRIGHT_TEST_LIBRARY"], name, blocks]
    command = [os.environ["TILEWRIGHT_VGPU_TOOL"], "run", *flags, "--", *program]
    # The DSL writes the PTX to the working directory.
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600, cwd=folder)
    assert result.returncode == 0 and "equal" in result.stdout.split(), result.stdout[-3000:] + result.stderr[-5000:]


def test_gemm(python, name, blocks, order, tmp_path):
    execute(python, "gemm.py", name, blocks, order, tmp_path)


def test_attention(python, name, blocks, order, tmp_path):
    execute(python, "attention.py", name, blocks, order, tmp_path)
