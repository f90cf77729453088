"""Prints the layouts of tensor memory that CuTe has, for CuteLayoutsTest. Needs nvidia-cutlass-dsl 4.8.1, but no GPU.

    python cute_layouts.py > cute_layouts.tsv

Each line: what, its parameters, the layout. Addresses of D are lane << 16 | column; those of scales are in bytes, lane << 18 | column << 2 | byte;
those of ld are the index of an element of a tile, column by column in each lane.
"""

import os
import warnings

warnings.filterwarnings("ignore")
os.environ.setdefault("CUTE_DSL_ARCH", "sm_100a")
os.environ["CUTE_DSL_NO_CACHE"] = "1"
import cutlass.cute as cute  # noqa: E402
import cutlass.utils.blackwell_helpers as sm100  # noqa: E402
import cutlass.utils.blockscaled_layout as scales  # noqa: E402
from cutlass import BFloat16, Float4E2M1FN, Float8E4M3FN, Float8E8M0FNU, Float32  # noqa: E402
from cutlass.cute.nvgpu import tcgen05  # noqa: E402

K = tcgen05.OperandMajorMode.K
GROUPS = {1: tcgen05.CtaGroup.ONE, 2: tcgen05.CtaGroup.TWO}


def show(*parts):
    print(*parts, sep="\t")


@cute.jit
def accumulators():
    for group, m, ns in ((1, 64, (8, 24, 64, 128, 256)), (1, 128, (8, 40, 64, 128, 256)), (2, 128, (32, 64, 128, 256)), (2, 256, (32, 96, 128, 256))):
        for n in ns:
            mma = sm100.make_trivial_tiled_mma(BFloat16, K, K, Float32, GROUPS[group], (m, n))
            show("D", group, m, n, mma.make_fragment_C(mma.partition_shape_C((m, n))).layout)


@cute.jit
def block_scales():
    for name, ab, scale, block in (("mxf8", Float8E4M3FN, Float8E8M0FNU, 32), ("mxf4", Float4E2M1FN, Float8E8M0FNU, 32), ("nvf4", Float4E2M1FN, Float8E4M3FN, 16)):
        for group, m, n in ((1, 128, 64), (1, 128, 128), (1, 128, 192), (1, 128, 256), (2, 256, 128), (2, 256, 256), (2, 128, 128)):
            mma = sm100.make_blockscaled_trivial_tiled_mma(ab, K, K, scale, block, GROUPS[group], (m, n))
            depth = cute.size(mma.shape_mnk, mode=[2])
            tile = (m, n, 4 * depth)
            a, b = scales.make_smem_layout_sfa(mma, tile, block, 1), scales.make_smem_layout_sfb(mma, tile, block, 1)
            show("SFA", name, group, m, n, scales.make_tmem_layout_sfa(mma, tile, block, cute.slice_(a, (None, None, None, 0))))
            show("SFB", name, group, m, n, scales.make_tmem_layout_sfb(mma, tile, block, cute.slice_(b, (None, None, None, 0))))


@cute.jit
def loads():
    shapes = (("32x32b", tcgen05.Ld32x32bOp), ("16x64b", tcgen05.Ld16x64bOp), ("16x128b", tcgen05.Ld16x128bOp), ("16x256b", tcgen05.Ld16x256bOp), ("16x32bx2", tcgen05.Ld16x32bx2Op))
    for name, op in shapes:
        for count in (1, 2, 4, 8, 16, 32):
            show("ld", name, count, cute.make_copy_atom(op(tcgen05.Repetition(count)), Float32).layout_dst_tv)


for function in (accumulators, block_scales, loads):
    cute.compile(function)
