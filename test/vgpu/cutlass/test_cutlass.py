"""GEMMs of CUTLASS for Hopper, compiled by nvcc from the headers of PyPI's nvidia-cutlass, on the virtual GPU.

Each is compiled once into the build tree, which takes minutes, and again only if its sources or tools change. The
runner compares with a host reference: bitwise for integers, within the error of f32 sums for other numbers.
With all checks on, nothing may be reported. Skipped where nvcc or the headers are absent.
"""

import hashlib
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ["TILEWRIGHT_BUILD_DIR"]) / "test/vgpu/cutlass"
NVCC = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
SPEC = importlib.util.find_spec("cutlass_library")
CUTLASS = pathlib.Path(SPEC.origin).parent / "source" if SPEC and SPEC.origin else None

pytestmark = [
    pytest.mark.skipif(not NVCC, reason="nvcc is not on this machine"),
    pytest.mark.skipif(not CUTLASS, reason="the python of the tests has no nvidia-cutlass"),
]

FLAGS = ["-std=c++17", "-O2", "-gencode", "arch=compute_90a,code=compute_90a", "--expt-relaxed-constexpr"]
FLAGS += ["-DCUTLASS_ENABLE_DIRECT_CUDA_DRIVER_CALL=1", "-DNDEBUG", "-shared", "-Xcompiler", "-fPIC", "-cudart", "none"]

# M,N,K[,MULTIPROCESSORS[,SPLITS]]: whole tiles, ragged in every dimension, one row, several tiles to a block, long K.
# Operands of COOPERATIVE are contiguous along M and N, and TMA requires multiples of 16 bytes.
SHAPES = {
    "PINGPONG": ["256,256,128", "200,136,80", "1,16,16", "64,520,272,3", "127,144,48,2", "384,384,1024,8"],
    "COOPERATIVE": ["256,256,128", "200,136,80", "8,16,16", "64,520,272,4", "128,144,47,2", "384,384,1024,8"],
    "FP8": ["256,256,128", "200,144,80", "1,16,16", "64,528,272,4", "127,144,48,2", "384,384,1024,8"],
    "STREAMK": ["256,256,128", "200,136,80", "1,16,16", "64,520,272,3", "384,384,1024,8,4", "128,64,1024,8,8"],
}
# The modifiers that each kernel's PTX must contain for what its name says.
EXPECTED = {
    "PINGPONG": ["wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16", "cp.async.bulk.tensor.3d.shared::cluster.global"],
    "COOPERATIVE": [".multicast::cluster", "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16", "barrier.cluster"],
    "FP8": [".multicast::cluster", "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e5m2"],
    "STREAMK": ["wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16", "cp.async.bulk.tensor"],
}


def compiled(name):
    """The directory that holds gemm.so and gemm.ptx of a configuration."""
    version = subprocess.run([NVCC, "--version"], capture_output=True, text=True, check=True).stdout
    parts = [version, str(CUTLASS), (CUTLASS / "include/cutlass/version.h").read_text(), *FLAGS]
    parts += [(HERE / file).read_text() for file in ("gemm.cu", "GemmLibrary.h")]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]
    folder = BUILD / f"{name.lower()}-{key}"
    if (folder / "gemm.ptx").exists():
        return folder
    working = folder.with_suffix(".working")
    shutil.rmtree(working, ignore_errors=True)
    working.mkdir(parents=True)
    includes = [f"-I{CUTLASS / 'include'}", f"-I{CUTLASS / 'tools/util/include'}", f"-I{HERE}"]
    command = [NVCC, *FLAGS, f"-DGEMM_{name}", *includes, "--keep", str(HERE / "gemm.cu"), "-o", "gemm.so"]
    result = subprocess.run(command, cwd=working, capture_output=True, text=True, timeout=1500)
    assert result.returncode == 0, result.stderr[:3000]
    for path in working.iterdir():  # what --keep leaves beside them is large
        if path.name not in ("gemm.so", "gemm.ptx"):
            path.unlink()
    working.rename(folder)
    return folder


@pytest.mark.parametrize("name", list(SHAPES))
def test_gemm(name):
    folder = compiled(name)
    text = (folder / "gemm.ptx").read_text()
    for words in EXPECTED[name]:
        assert words in text, words
    shapes = SHAPES[name]
    # Copies and products complete as late as possible; then at random, with warps in a random order too.
    orders = [["--completion", "1", "--seed", "0"]] + [["--completion", "2", "--seed", seed] for seed in "123"]
    command = [*shapes, "--threads", "2", shapes[0], "--hopper", shapes[1]]
    for order in orders:
        command += [*order, shapes[1]]
    run(folder, command, 2 * (len(shapes) + 2 + len(orders)))


# The runner fails if the checks report anything. From the fourth shape on, pipelines wrap around.
@pytest.mark.parametrize(
    "order",
    [["--completion", "0"], ["--completion", "1"], ["--completion", "2", "--seed", "1"], ["--completion", "2", "--seed", "2"]],
    ids=["eager", "latest", "seed1", "seed2"],
)
@pytest.mark.parametrize("name", list(SHAPES))
def test_checks_report_nothing(name, order):
    run(compiled(name), ["--check", "all,strict", *order, *SHAPES[name]], 2 * len(SHAPES[name]))


def run(folder, words, lines_expected):
    command = [BUILD / "GemmRunner", folder / "gemm.so", folder / "gemm.ptx", *words]
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, (result.stdout + result.stderr)[:10000]
    lines = result.stdout.splitlines()
    assert len(lines) == lines_expected
    assert all(re.search(r": 0 wrong of [1-9]", line) for line in lines), result.stdout
    print(result.stdout)
