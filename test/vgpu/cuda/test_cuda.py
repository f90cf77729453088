"""The kernels of this directory give the same results when the installed nvcc compiles them again."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
TEST = pathlib.Path(os.environ["TILEWRIGHT_BUILD_DIR"]) / "test/vgpu/cuda/VgpuCudaTest"
NVCC = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")


def command_of(source):
    """The arguments in the comment at the top of the file: nvcc … -ptx name.cu."""
    return re.search(r"//\s+nvcc (.* -ptx) ", source.read_text(encoding="utf-8"))[1].split()


@pytest.mark.skipif(not NVCC, reason="nvcc is not on this machine")
def test_what_nvcc_makes_now(tmp_path):
    sources = sorted(HERE.glob("*.cu"))
    assert sources
    for source in sources:
        command = [NVCC, *command_of(source), source.name, "-o", tmp_path / f"{source.stem}.ptx"]
        result = subprocess.run([str(word) for word in command], cwd=HERE, capture_output=True, text=True, timeout=200)
        assert result.returncode == 0, result.stderr[:2000]
    environment = dict(os.environ, TILEWRIGHT_CUDA_PTX=str(tmp_path))
    result = subprocess.run([str(TEST)], capture_output=True, text=True, timeout=100, env=environment)
    assert result.returncode == 0, (result.stdout + result.stderr)[-3000:]


def test_stored_ptx_is_there():
    for source in HERE.glob("*.cu"):
        assert (HERE / f"{source.stem}.ptx").read_text(encoding="utf-8").count(".entry") >= 2, source
