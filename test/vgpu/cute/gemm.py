"""Runs a GEMM of FlashInfer, written in the CuTe DSL, on the virtual GPU and compares it with NumPy. All values are exact.

    tilewright vgpu run --chip=sm_100a --check=all -- python gemm.py RUNTIME FORMAT BLOCKS

RUNTIME is the library made of Runtime.cpp, FORMAT f16, f8, mxf8, mxf4 or nvf4, BLOCKS 1 or 2 (cta_group::2).
"""

import sys

from host import F4, STREAM, execute, on_device, read_back, start, without_init

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import ml_dtypes
import numpy as np

_, name, blocks = sys.argv[1:]
without_init("flashinfer", "flashinfer.gemm", "flashinfer.gemm.kernels")
random = np.random.default_rng(0)
M, N, K = 256, 256, 256
MAX_CLUSTERS = 4  # fewer than tiles for one block, so that some blocks compute several
F8 = ml_dtypes.float8_e4m3fn
ELEMENTS = {
    "f16": (np.float16, cutlass.Float16), "f8": (F8, cutlass.Float8E4M3FN), "mxf8": (F8, cutlass.Float8E4M3FN),
    "mxf4": (F4, cutlass.Float4E2M1FN), "nvf4": (F4, cutlass.Float4E2M1FN),
}  # fmt: skip


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
    start()
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
        execute(dense, (pa, pb, pc, one, kernel, STREAM), (pa, pb, pc, one, STREAM), blocks)
    else:
        from flashinfer.gemm.kernels.dense_blockscaled_gemm_sm100 import Sm100BlockScaledPersistentDenseGemmKernel

        block, scale_type = (16, cutlass.Float8E4M3FN) if name == "nvf4" else (32, cutlass.Float8E8M0FNU)
        (plain_a, ordered_a), (plain_b, ordered_b) = scales(M, block), scales(N, block)
        pointers = (pa, pb, on_device(ordered_a, scale_type)[0], on_device(ordered_b, scale_type)[0], pc, one)
        kernel = Sm100BlockScaledPersistentDenseGemmKernel(block, tile, cluster)
        execute(scaled, (*pointers, kernel, block, STREAM), (*pointers, STREAM), blocks)
        left *= np.repeat(plain_a.astype(np.float64), block, 1)
        right *= np.repeat(plain_b.astype(np.float64), block, 1)
    read_back(result, address)
    np.testing.assert_array_equal(result, left @ right.T)
    print("equal")


main()
