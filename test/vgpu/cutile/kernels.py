"""Compiles kernels written in cuTile with NVIDIA's own tile compiler, runs them on the virtual GPU and compares with NumPy.

    tilewright vgpu run --chip=sm_100a --check=all -- python kernels.py PTXAS FOLDER CHIP NAME

The tile compiler (tileiras) writes PTX and starts the ptxas beside it. PTXAS is the one of the virtual GPU, which keeps the PTX;
FOLDER gets a copy of the compiler with it. CHIP is sm_100 or sm_120.

Arrays are declared without divisible strides: for others the compiler adds hidden parameters, tensor maps that only NVIDIA's
driver fills in.
"""

import ctypes
import io
import os
import pathlib
import sys

import cuda.bindings.driver as cuda
import cuda.tile as ct
import ml_dtypes
import numpy as np
import nvidia.cu13
from cuda.tile.compilation import ArrayConstraint, CallingConvention, KernelSignature, export_kernel

ptxas, folder, chip, name = sys.argv[1:]
random = np.random.default_rng(0)
os.environ["CUDA_TILE_CACHE_DIR"] = "0"
ELEMENTS = {
    np.dtype(np.float32): ct.float32, np.dtype(np.float16): ct.float16, np.dtype(np.int32): ct.int32,
    np.dtype(ml_dtypes.bfloat16): ct.bfloat16,
}  # fmt: skip


def with_virtual_ptxas():
    """Makes a copy of the tile compiler's folder in which ptxas is the virtual GPU's."""
    theirs, ours = pathlib.Path(nvidia.cu13.__path__[0]), pathlib.Path(folder, "cu13")
    (ours / "bin").mkdir(parents=True)
    for one in theirs.iterdir():
        if one.name != "bin":
            (ours / one.name).symlink_to(one)
    # The compiler looks for ptxas beside the file that it is, so a symbolic link would not do.
    (ours / "bin/tileiras").write_bytes((theirs / "bin/tileiras").read_bytes())
    (ours / "bin/tileiras").chmod(0o755)
    (ours / "bin/ptxas").symlink_to(ptxas)
    nvidia.cu13.__path__ = [str(ours)]


def needed(result):
    assert int(result[0]) == 0, result
    return result[1] if len(result) > 1 else None


def launch(function, grid, arrays, *constants, expects=b""):
    """Runs a cuTile function on copies of the arrays, and copies them back. Its PTX must contain `expects`."""
    constraints = [
        ArrayConstraint(ELEMENTS[array.dtype], array.ndim, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(),
                        may_alias_internally=False) for array in arrays
    ]  # fmt: skip
    image = io.BytesIO()
    signature = KernelSignature([*constraints, *constants], CallingConvention.cutile_python_v1())
    export_kernel(ct.kernel(function), [signature], image, gpu_code=chip, output_format="cubin")
    text = image.getvalue()
    assert b".hidden" not in text and b".target " + chip.encode() in text and expects in text, text[:500]
    module = needed(cuda.cuModuleLoadData(text + b"\0"))
    entry = text.split(b".visible .entry ")[1].split(b"(")[0]
    threads = int(text.split(b".reqntid ")[1].split()[0])
    kernel = needed(cuda.cuModuleGetFunction(module, entry))
    values, types, addresses = [], [], []
    for array in arrays:
        address = needed(cuda.cuMemAlloc(array.nbytes))
        needed(cuda.cuMemcpyHtoD(address, array.ctypes.data, array.nbytes))
        addresses.append(address)
        strides = [stride // array.itemsize for stride in array.strides]
        values += [int(address), *array.shape, *strides]
        types += [ctypes.c_uint64, *[ctypes.c_int32] * (2 * array.ndim)]
    needed(cuda.cuLaunchKernel(kernel, *grid, threads, 1, 1, 0, 0, (tuple(values), tuple(types)), 0))
    needed(cuda.cuCtxSynchronize())
    for array, address in zip(arrays, addresses, strict=True):
        needed(cuda.cuMemcpyDtoH(array.ctypes.data, address, array.nbytes))


def add_kernel(x, y, z, N: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(z, index=(i,), tile=ct.load(x, index=(i,), shape=(N,)) + ct.load(y, index=(i,), shape=(N,)))


def softmax_kernel(y, x, N: ct.Constant[int]):
    row = ct.bid(0)
    value = ct.load(x, index=(row, 0), shape=(1, N))
    power = ct.exp(value - ct.max(value, axis=1, keepdims=True))
    ct.store(y, index=(row, 0), tile=power / ct.sum(power, axis=1, keepdims=True))


def matmul_kernel(a, b, c, BM: ct.Constant[int], BN: ct.Constant[int], BK: ct.Constant[int]):
    m, n = ct.bid(0), ct.bid(1)
    total = ct.full((BM, BN), 0.0, ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(BM, BK))):
        x = ct.load(a, index=(m, k), shape=(BM, BK), padding_mode=ct.PaddingMode.ZERO)
        y = ct.load(b, index=(n, k), shape=(BN, BK), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(x, ct.transpose(y), total)
    ct.store(c, index=(m, n), tile=ct.astype(total, c.dtype))


def transpose_kernel(x, y, N: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(y, index=(j, i), tile=ct.transpose(ct.load(x, index=(i, j), shape=(N, N))))


def count_kernel(x, bins, N: ct.Constant[int]):
    which = ct.load(x, index=(ct.bid(0),), shape=(N,))
    ct.atomic_add(bins, (which,), 1)


def add():
    x, y = random.standard_normal((2, 1000)).astype(np.float32)
    z = np.full(1000, np.nan, np.float32)
    launch(add_kernel, (4, 1, 1), [x, y, z], 256)
    np.testing.assert_array_equal(z, x + y)


def softmax():
    x = random.standard_normal((5, 1024)).astype(np.float32)
    y = np.full(x.shape, np.nan, np.float32)
    launch(softmax_kernel, (5, 1, 1), [y, x], 1024)
    power = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(y, power / power.sum(1, keepdims=True), rtol=1e-5)


def product(element, tile):
    # Small integers: the sums are exact.
    a, b = (random.integers(-3, 4, (rows, 200)).astype(element) for rows in (150, 130))
    c = np.full((150, 130), np.nan, np.float32)
    unit = b"tcgen05.mma" if chip == "sm_100" else b"mma.sync"
    launch(matmul_kernel, (-(-150 // tile), -(-130 // tile), 1), [a, b, c], tile, tile, 64, expects=unit)
    np.testing.assert_array_equal(c, a.astype(np.float64) @ b.astype(np.float64).T)


def transpose():
    x = random.standard_normal((70, 100)).astype(np.float32)
    y = np.full((100, 70), np.nan, np.float32)
    launch(transpose_kernel, (2, 2, 1), [x, y], 64)
    np.testing.assert_array_equal(y, x.T)


def count():
    x, bins = random.integers(0, 7, 512).astype(np.int32), np.zeros(7, np.int32)
    launch(count_kernel, (2, 1, 1), [x, bins], 256)
    np.testing.assert_array_equal(bins, np.bincount(x, minlength=7))


PROGRAMS = {
    "add": add, "softmax": softmax, "matmul_bf16": lambda: product(ml_dtypes.bfloat16, 128),
    "matmul_f16": lambda: product(np.float16, 64), "transpose": transpose, "count": count,
}  # fmt: skip
if name not in PROGRAMS:
    sys.exit(f"unknown program '{name}'; expected one of {', '.join(PROGRAMS)}")
with_virtual_ptxas()
needed(cuda.cuInit(0))
needed(cuda.cuCtxSetCurrent(needed(cuda.cuDevicePrimaryCtxRetain(needed(cuda.cuDeviceGet(0))))))
PROGRAMS[name]()
print("equal")
