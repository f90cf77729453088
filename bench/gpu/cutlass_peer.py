"""CUTLASS C++: the GEMMs that the virtual GPU is tested with, compiled by nvcc from the headers of PyPI's nvidia-cutlass."""

import importlib.util
import os
import pathlib
import shutil
import subprocess

SOURCES = pathlib.Path(__file__).parents[2] / "test/vgpu/cutlass"
KERNELS = {"gemm f16": {"PINGPONG": "64x128 pingpong", "COOPERATIVE": "128x128 cooperative, cluster 2"},
           "gemm e4m3": {"FP8": "128x128 cooperative, cluster 2"}}  # fmt: skip


def configurations(name, folder):
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    headers = importlib.util.find_spec("cutlass_library")
    if headers is None:
        raise ImportError("No module named 'cutlass_library'")
    headers = pathlib.Path(headers.origin).parent / "source"
    for which, what in KERNELS.get(name, {}).items():
        cubin, began = folder / f"{which}.cubin", os.times()
        flags = ["-std=c++17", "-O2", "-arch=sm_90a", "-cubin", "--expt-relaxed-constexpr", "-DNDEBUG", f"-DGEMM_{which}"]
        includes = [f"-I{headers}/include", f"-I{headers}/tools/util/include", f"-I{SOURCES}"]
        subprocess.run([nvcc, *flags, *includes, SOURCES / "gemm.cu", "-o", cubin], check=True, capture_output=True)
        ended = os.times()
        yield what, cubin.read_bytes(), sum(ended[2:4]) - sum(began[2:4])
