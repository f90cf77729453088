"""Products with block scales, which chips with tensor memory have instructions for: MXFP8, MXFP4, NVFP4 and mixed."""

import numpy as np
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from .harness import BLACKWELL, array, empty, float8_e4m3, float8_e5m2, integers, normal, program, uniform, within
from .matmul import SUMMED_F32

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
DEPTH = 256
DEEP = 768  # more tiles than stages, so that each buffer is used again


@triton.jit
def scaled_kernel(
    a, a_scales, b, b_scales, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, BK: tl.constexpr,
    A: tl.constexpr, B: tl.constexpr, A_PACKED: tl.constexpr, B_PACKED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """c = a b, both with rows of k and a scale for each BLOCK elements of k."""
    r, s = tl.arange(0, M), tl.arange(0, N)
    i, j, g = tl.arange(0, BK // A_PACKED), tl.arange(0, BK // B_PACKED), tl.arange(0, BK // BLOCK)
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, K // BK):
        x = tl.load(a + r[:, None] * (K // A_PACKED) + k * (BK // A_PACKED) + i[None, :])
        y = tl.load(b + s[None, :] * (K // B_PACKED) + k * (BK // B_PACKED) + j[:, None])
        sx = tl.load(a_scales + r[:, None] * (K // BLOCK) + k * (BK // BLOCK) + g[None, :])
        sy = tl.load(b_scales + s[:, None] * (K // BLOCK) + k * (BK // BLOCK) + g[None, :])
        acc = tl.dot_scaled(x, sx, A, y, sy, B, acc)
    tl.store(c + r[:, None] * N + s[None, :], acc)


def factor(kind, rows, depth=DEPTH):
    """Elements as the kernel reads them, their values, and how many a byte has."""
    if kind == "e2m1":
        codes = integers(0, 16, rows, depth, dtype=np.uint8)
        return array(codes[:, 0::2] | codes[:, 1::2] << 4), E2M1[codes], 2
    values = normal(rows, depth, dtype=float8_e4m3 if kind == "e4m3" else float8_e5m2)
    return array(values.view(np.uint8)), values.astype(np.float64), 1


def scales(rows, block, depth=DEPTH):
    """Powers of two for each 32 elements, e4m3 for each 16."""
    if block == 32:
        codes = integers(120, 134, rows, depth // block, dtype=np.uint8)
        return codes, 2.0 ** (codes.astype(np.float64) - 127)
    codes = uniform(rows, depth // block, low=0.5, high=4.0, dtype=float8_e4m3)
    return codes, codes.astype(np.float64)


def scaled(a_kind, b_kind, block):
    m = n = 128
    (a, a_values, a_packed), (b, b_values, b_packed) = factor(a_kind, m), factor(b_kind, n)
    (a_scales, a_factors), (b_scales, b_factors) = scales(m, block), scales(n, block)
    out = empty((m, n))
    scaled_kernel[(1,)](a, a_scales, b, b_scales, out, M=m, N=n, K=DEPTH, BK=128, A=a_kind, B=b_kind, A_PACKED=a_packed,
                        B_PACKED=b_packed, BLOCK=block)  # fmt: skip
    want = (a_values * np.repeat(a_factors, block, 1)) @ (b_values * np.repeat(b_factors, block, 1)).T
    return out, want


CASES = {
    "mxf8": ("e4m3", "e4m3", 32), "mxf8_mixed": ("e5m2", "e4m3", 32), "mxf4": ("e2m1", "e2m1", 32), "nvf4": ("e2m1", "e2m1", 16),
    "mxf8_by_mxf4": ("e4m3", "e2m1", 32),
}  # fmt: skip
for name, case in CASES.items():
    program(
        within(1e-6, 0.5, because=SUMMED_F32 % ("scaled elements up to 2^15", DEPTH)),
        needs=BLACKWELL, name=f"matmul_scaled_{name}",
    )(lambda case=case: scaled(*case))  # fmt: skip


# ---- tiles by descriptors; scales in the order in which the unit reads them, so that tcgen05.cp copies them


@triton.jit
def described_kernel(
    a, a_scales, b, b_scales, c, k_tiles, A: tl.constexpr, B: tl.constexpr, A_PACKED: tl.constexpr, B_PACKED: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BLOCK: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """One tile of c = a b^T for each block. Scales lie in groups of 128 rows by 4."""
    row, column = tl.program_id(0), tl.program_id(1)
    groups: tl.constexpr = BK // BLOCK // 4
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, k_tiles, num_stages=STAGES):
        x = a.load([row * BM, k * (BK // A_PACKED)])
        y = b.load([column * BN, k * (BK // B_PACKED)])
        sx = a_scales.load([0, row * (BM // 128), k * groups, 0, 0])
        sy = b_scales.load([0, column * (BN // 128), k * groups, 0, 0])
        sx = sx.reshape(BM // 128, groups, 32, 4, 4).trans(0, 3, 2, 1, 4).reshape(BM, BK // BLOCK)
        sy = sy.reshape(BN // 128, groups, 32, 4, 4).trans(0, 3, 2, 1, 4).reshape(BN, BK // BLOCK)
        acc = tl.dot_scaled(x, sx, A, y.T, sy, B, acc)
    c.store([row * BM, column * BN], acc)


def described(a_kind, b_kind, block, tile, stages=2, **options):
    bm, bn, bk = tile
    m, n, depth = 256, 256, DEEP
    (a, a_values, a_packed), (b, b_values, b_packed) = factor(a_kind, m, depth), factor(b_kind, n, depth)
    (a_codes, a_factors), (b_codes, b_factors) = scales(m, block, depth), scales(n, block, depth)
    out = empty((m, n))

    def ordered(codes):
        grouped = codes.view(np.uint8).reshape(codes.shape[0] // 128, 4, 32, -1, 4).transpose(0, 3, 2, 1, 4)
        grouped = array(grouped.reshape(1, codes.shape[0] // 128, -1, 2, 256))
        return grouped if block == 32 else array(grouped.view(codes.dtype))

    def scale_descriptor(codes, rows):
        return TensorDescriptor.from_tensor(ordered(codes), [1, rows // 128, bk // block // 4, 2, 256])

    def typed(values, kind):
        """Triton takes the element type of e4m3 and e5m2 from the array."""
        return values if kind == "e2m1" else array(values.view(float8_e4m3 if kind == "e4m3" else float8_e5m2))

    described_kernel[(m // bm, n // bn)](
        TensorDescriptor.from_tensor(typed(a, a_kind), [bm, bk // a_packed]), scale_descriptor(a_codes, bm),
        TensorDescriptor.from_tensor(typed(b, b_kind), [bn, bk // b_packed]), scale_descriptor(b_codes, bn),
        TensorDescriptor.from_tensor(out, [bm, bn]), depth // bk, A=a_kind, B=b_kind, A_PACKED=a_packed, B_PACKED=b_packed,
        BM=bm, BN=bn, BK=bk, BLOCK=block, STAGES=stages, **options,
    )  # fmt: skip
    return out, (a_values * np.repeat(a_factors, block, 1)) @ (b_values * np.repeat(b_factors, block, 1)).T


DESCRIBED = {
    "mxf8": (*CASES["mxf8"], (128, 128, 128)), "mxf8_wide": (*CASES["mxf8"], (128, 256, 128)), "mxf8_mixed": (*CASES["mxf8_mixed"], (128, 128, 128)),
    "mxf4": (*CASES["mxf4"], (128, 128, 256)), "nvf4": (*CASES["nvf4"], (128, 128, 128)), "nvf4_wide": (*CASES["nvf4"], (128, 256, 256)),
    "mxf8_by_mxf4": (*CASES["mxf8_by_mxf4"], (128, 128, 128)), "mxf8_unstaged": (*CASES["mxf8"], (128, 128, 128), 1),
}  # fmt: skip
for name, case in DESCRIBED.items():
    program(
        within(1e-6, 0.5, because=SUMMED_F32 % ("scaled elements up to 2^15", DEEP)),
        # Wide tiles take more shared memory than a block of sm_120 has.
        needs=BLACKWELL, below=120 if "wide" in name else 1000, name=f"matmul_scaled_described_{name}",
    )(lambda case=case: described(*case))  # fmt: skip
