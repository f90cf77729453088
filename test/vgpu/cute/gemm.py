"""Runs a GEMM of FlashInfer, written in the CuTe DSL, on the virtual GPU and compares it with NumPy. All values are exact.

    tilewright vgpu run --chip=sm_100a --check=all -- python gemm.py RUNTIME FORMAT BLOCKS

RUNTIME is the library made of Runtime.cpp, FORMAT f16, f8, mxf8, mxf4 or nvf4, BLOCKS 1 or 2 (cta_group::2).
"""

import ctypes
import os
import pathlib
import sys
import sysconfig
import types
import warnings

runtime, name, blocks = sys.argv[1:]
warnings.filterwarnings("ignore")
os.environ.update(CUTE_DSL_ARCH="sm_100a", CUTE_DSL_NO_CACHE="1", CUTE_DSL_LIBS=runtime)

import cuda.bindings.driver as cuda  # noqa: E402
import cuda.bindings.runtime as cudart  # noqa: E402
import cutlass  # noqa: E402
import cutlass.cute as cute  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
from cutlass.cute.runtime import make_ptr  # noqa: E402

# The kernels need nothing but the DSL, but FlashInfer's packages import torch: load the modules without these packages.
for package in ("flashinfer", "flashinfer.gemm", "flashinfer.gemm.kernels"):
    sys.modules[package] = types.ModuleType(package)
    sys.modules[package].__path__ = [str(pathlib.Path(sysconfig.get_path("purelib"), *package.split(".")))]

cudart.cudaGetDeviceCount = lambda: (cudart.cudaError_t.cudaSuccess, 1)
random = np.random.default_rng(0)
M, N, K = 256, 256, 256
MAX_CLUSTERS = 4  # fewer than tiles for one block, so that some blocks compute several
STREAM = cuda.CUstream(0)
F4, F8 = ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e4m3fn
ELEMENTS = {
    "f16": (np.float16, cutlass.Float16), "f8": (F8, cutlass.Float8E4M3FN), "mxf8": (F8, cutlass.Float8E4M3FN),
    "mxf4": (F4, cutlass.Float4E2M1FN), "nvf4": (F4, cutlass.Float4E2M1FN),
}  # fmt: skip


def needed(result):
    assert int(result[0]) == 0, result
    return result[1] if len(result) > 1 else None


def on_device(array, element):
    """A pointer to a copy, and its address. Elements of 4 bits are packed, the first in the lower half of its byte."""
    if array.dtype == F4:
        bits = array.view(np.uint8)
        array = bits[..., 0::2] | bits[..., 1::2] << 4
    array = np.ascontiguousarray(array)
    address = int(needed(cuda.cuMemAlloc(array.nbytes)))
    needed(cuda.cuMemcpyHtoD(address, array.ctypes.data, array.nbytes))
    return make_ptr(element, address, cute.AddressSpace.gmem, assumed_align=32), address


def execute(function, constant, arguments):
    """Compiles for the kernel's PTX and for its host code, and calls the latter."""
    text = cute.compile(function, *constant, options="--keep-ptx").artifacts.PTX
    text = (text if isinstance(text, bytes) else text.encode()).rstrip(b"\0")
    assert b"tcgen05.mma" in text and (b"cta_group::2" in text) == (blocks == "2")
    ctypes.CDLL(runtime).useText(text)
    cute.compile(function, *constant)(*arguments)
    needed(cuda.cuCtxSynchronize())


@cute.jit
def operands(a: cute.Pointer, b: cute.Pointer, c: cute.Pointer):
    return (
        cute.make_tensor(a, cute.make_layout((M, K, 1), stride=(K, 1, M * K))),
        cute.make_tensor(b, cute.make_layout((N, K, 1), stride=(K, 1, N * K))),
        cute.make_tensor(c, cute.make_layout((M, N, 1), stride=(N, 1, M * N))),
    )


@cute.jit
def dense(
    a: cute.Pointer, b: cute.Pointer, c: cute.Pointer, one: cute.Pointer, kernel: cutlass.Constexpr, stream: cuda.CUstream
):
    ta, tb, tc = operands(a, b, c)
    factor = cute.make_tensor(one, cute.make_layout((1,)))
    kernel(ta, tb, tc, MAX_CLUSTERS, stream, factor, factor)


@cute.jit
def scaled(
    a: cute.Pointer, b: cute.Pointer, sa: cute.Pointer, sb: cute.Pointer, c: cute.Pointer, one: cute.Pointer,
    kernel: cutlass.Constexpr, block: cutlass.Constexpr, stream: cuda.CUstream,
):  # fmt: skip
    ta, tb, tc = operands(a, b, c)
    order = (2, 1, 4, 0, 3, 5)
    tsa = cute.make_tensor(sa, cute.make_ordered_layout((32, 4, M // 128, 4, K // block // 4, 1), order=order))
    tsb = cute.make_tensor(sb, cute.make_ordered_layout((32, 4, N // 128, 4, K // block // 4, 1), order=order))
    kernel(ta, tb, tsa, tsb, tc, cute.make_tensor(one, cute.make_layout((1,))), MAX_CLUSTERS, stream)


def scales(rows, block):
    """Scales by rows, and in the order in which the unit reads them: 128 rows × 4."""
    shape = (rows, K // block)
    if name == "nvf4":
        plain = random.integers(1, 5, shape).astype(F8)
    else:
        plain = np.exp2(random.integers(-2, 3, shape).astype(np.float32)).astype(ml_dtypes.float8_e8m0fnu)
    return plain, plain.reshape(rows // 128, 4, 32, -1, 4).transpose(0, 3, 2, 1, 4)


def main():
    needed(cuda.cuInit(0))
    needed(cuda.cuCtxSetCurrent(needed(cuda.cuDevicePrimaryCtxRetain(needed(cuda.cuDeviceGet(0))))))
    numpy_type, cute_type = ELEMENTS[name]
    a, b = (random.integers(-3, 4, (rows, K)).astype(numpy_type) for rows in (M, N))
    result = np.full((M, N), np.nan, np.float32)
    (pa, _), (pb, _), (pc, address) = on_device(a, cute_type), on_device(b, cute_type), on_device(result, cutlass.Float32)
    one, _ = on_device(np.ones(1, np.float32), cutlass.Float32)
    tile, cluster = ((256, 128), (2, 1)) if blocks == "2" else ((128, 128), (1, 1))
    left, right = a.astype(np.float64), b.astype(np.float64)
    if name in ("f16", "f8"):
        from flashinfer.gemm.kernels.bmm_fp8_blackwell import PersistentDenseGemmKernel

        kernel = PersistentDenseGemmKernel(cutlass.Float32, blocks == "2", tile, cluster, True)
        execute(dense, (pa, pb, pc, one, kernel, STREAM), (pa, pb, pc, one, STREAM))
    else:
        from flashinfer.gemm.kernels.dense_blockscaled_gemm_sm100 import Sm100BlockScaledPersistentDenseGemmKernel

        block, scale_type = (16, cutlass.Float8E4M3FN) if name == "nvf4" else (32, cutlass.Float8E8M0FNU)
        (plain_a, ordered_a), (plain_b, ordered_b) = scales(M, block), scales(N, block)
        pointers = (pa, pb, on_device(ordered_a, scale_type)[0], on_device(ordered_b, scale_type)[0], pc, one)
        kernel = Sm100BlockScaledPersistentDenseGemmKernel(block, tile, cluster)
        execute(scaled, (*pointers, kernel, block, STREAM), (*pointers, STREAM))
        left *= np.repeat(plain_a.astype(np.float64), block, 1)
        right *= np.repeat(plain_b.astype(np.float64), block, 1)
    needed(cuda.cuMemcpyDtoH(result.ctypes.data, address, result.nbytes))
    np.testing.assert_array_equal(result, left @ right.T)
    print("equal")


main()
