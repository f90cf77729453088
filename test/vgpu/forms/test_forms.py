"""Every row of the instruction table is executed: as PTX text and, if nvcc is installed, as CUDA C++ compiled by it."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

BUILD = pathlib.Path(os.environ["TILEWRIGHT_BUILD_DIR"]) / "test/vgpu/forms"
NVCC = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
PER_ROW = ["--per-row", "12"]

# Rows whose kernels need module-level variables or functions, which a function's body cannot contain. They run as text
# here, and as CUDA C++ in test/vgpu/cuda.
TEXT_ONLY = 2


def run(*command, timeout=300):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout)
    assert result.returncode == 0, (result.stdout + result.stderr)[-4000:]
    return result.stdout


def test_every_row_is_executed():
    output = run(BUILD / "VgpuForms", *PER_ROW)
    covered, rows = map(int, re.search(r"rows executed: (\d+) of (\d+)", output).groups())
    assert covered == rows, output
    print(output)


@pytest.mark.skipif(not NVCC, reason="nvcc is not on this machine")
def test_every_row_is_executed_as_nvcc_compiles_it(tmp_path):
    run(BUILD / "VgpuForms", *PER_ROW, "--write-cuda", tmp_path / "forms.cu")
    run(NVCC, "-std=c++17", "-arch=compute_90a", "-ptx", tmp_path / "forms.cu", "-o", tmp_path / "forms.ptx")
    output = run(BUILD / "VgpuForms", *PER_ROW, "--read-cuda", tmp_path / "forms.ptx")
    by_nvcc, executable = map(int, re.search(r"nvcc compiled them: (\d+) of (\d+)", output).groups())
    assert by_nvcc >= executable - TEXT_ONLY, output
    print(output)
