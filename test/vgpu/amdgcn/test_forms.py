"""What single instructions compute, against NumPy: the vector and scalar instructions that Triton's kernels use, and their modifiers.

A program has all of them. Each one reads a, b and c (pairs of registers), writes d, which had the value z, and d is stored.
"""

import numpy as np
import pytest
from test_amdgcn import CHIPS
from test_execute import F32, assemble, launch

U32, I32, U64, I64, F64, F16 = np.uint32, np.int32, np.uint64, np.int64, np.float64, np.float16
SETS = 24
ALL = U64(0xFFFFFFFFFFFFFFFF)


class Values:
    """An operand of 64 bits in all lanes; the properties read its lower bits as a type."""

    def __init__(self, bits):
        self.U = bits

    u = property(lambda self: (self.U & U64(0xFFFFFFFF)).astype(U32))
    w = property(lambda self: self.u & U32(0xFFFF))
    i = property(lambda self: self.u.view(I32))
    f = property(lambda self: self.u.view(F32))
    I = property(lambda self: self.U.view(I64))  # noqa: E741
    F = property(lambda self: self.U.view(F64))
    h = property(lambda self: self.w.astype(np.uint16).view(F16))
    x = property(lambda self: self.f.astype(F64))  # an f32 in f64


def make_inputs(shape, seed):
    """Bits of which many are special floats, small integers or numbers near 1."""
    generator = np.random.default_rng(seed)
    special = np.array([0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 1, 0x807FFFFF, 0x7F7FFFFF, 0x3F800000, 0xFFFFFFFF, 31], U32)

    def dwords():
        choice = generator.integers(0, 6, shape)
        near = (generator.standard_normal(shape) * 10).astype(F32).view(U32)
        small = generator.integers(-70, 70, shape).astype(I32).view(U32)
        anything = generator.integers(0, 2**32, shape, dtype=U64).astype(U32)
        value = np.select([choice == 0, choice <= 2, choice == 3], [generator.choice(special, shape), near, small], anything)
        signalling = (value & U32(0x7F800000)) == U32(0x7F800000)
        return np.where(signalling & ((value & U32(0x7FFFFF)) != 0), value | U32(0x400000), value)

    return dwords().astype(U64) | dwords().astype(U64) << U64(32)


# -- Meanings


def wide(array):
    return array.astype(U64)


def fused(a, b, c):
    """One rounding, by way of long doubles; they are exact for the product of two f32."""
    product = a.astype(np.longdouble) * b.astype(np.longdouble)
    total = product + c.astype(np.longdouble)
    return total.astype(F32)


def minimum(a, b):
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, np.where((a == b) & np.signbit(a), a, np.where(a < b, a, b))))


def maximum(a, b):
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, np.where((a == b) & np.signbit(b), a, np.where(a > b, a, b))))


def with_nan(choose):
    """A minimum or maximum in which a NaN wins."""
    return lambda a, b: np.where(np.isnan(a) | np.isnan(b), a + b, choose(a, b))


def least(a, b, c):
    return with_nan(minimum)(with_nan(minimum)(a, b), c)


def largest(a, b, c):
    return with_nan(maximum)(with_nan(maximum)(a, b), c)


def to_integer(values, low, high, kind):
    whole = np.trunc(np.nan_to_num(values, nan=0.0, posinf=np.inf, neginf=-np.inf))
    return np.clip(whole, low, high).astype(I64).astype(kind)


def permuted(a, b, selector):
    data = wide(a) << U64(32) | wide(b)
    result = np.zeros_like(a)
    for i in range(4):
        code = selector >> U32(8 * i) & U32(255)
        byte = (data >> wide(np.minimum(code, 7) * 8) & U64(255)).astype(U32)
        sign = (data >> wide(np.clip(code.astype(I32) - 8, 0, 3) * 16 + 15) & U64(1)).astype(U32) * U32(255)
        chosen = np.select([code <= 7, code <= 11, code == 12], [byte, sign, np.zeros_like(byte)], 255).astype(U32)
        result |= chosen << U32(8 * i)
    return result


def field(value, low, width):
    """Bits from `low` on, in Python's integers."""
    parts = [int(v) >> int(o) & ((1 << int(w)) - 1) for v, o, w in zip(value.ravel(), low.ravel(), width.ravel())]
    return np.array(parts, U64).reshape(value.shape)


def signed_field(value, low, width):
    def one(v, o, w):
        part = int(v) >> o & ((1 << w) - 1)
        return (part - (1 << w) if w and part >> (w - 1) else part) & 0xFFFFFFFF

    parts = [one(v, int(o), int(w)) for v, o, w in zip(value.ravel(), low.ravel(), width.ravel())]
    return np.array(parts, U64).reshape(value.shape).astype(U32)


def counted(function):
    return lambda value: np.array([function(int(v)) for v in value.ravel()], I64).reshape(value.shape).astype(U32)


leading = counted(lambda v: 32 - v.bit_length() if v else -1)
turned = counted(lambda v: int(f"{v:032b}"[::-1], 2))


def lane_mask_below(a, b, high):
    lanes = np.arange(64)
    own = lanes - 32 if high else np.minimum(lanes, 32)
    counts = [[(int(v) & ((1 << max(int(k), 0)) - 1)).bit_count() for v, k in zip(row, own)] for row in a]
    return np.array(counts, U32) + b


def compared(test, kind):
    return lambda a, b, c, z: test(getattr(a, kind), getattr(b, kind)).astype(U32)


MASK = "; v_cndmask_b32_e64 d, 0, 1, vcc"

# The text, with letters for registers: lower case 32 bits, upper case 64; and the meaning. A text with ~ is within 1 ulp.
VECTOR = {
    "v_mov_b32 d, a": lambda a, b, c, z: a.u,
    "v_mov_b64 D, A": lambda a, b, c, z: a.U,
    "v_not_b32 d, a": lambda a, b, c, z: ~a.u,
    "v_bfrev_b32 d, a": lambda a, b, c, z: turned(a.u),
    "v_ffbh_u32 d, a": lambda a, b, c, z: leading(a.u),
    "v_and_b32 d, a, b": lambda a, b, c, z: a.u & b.u,
    "v_or_b32 d, a, b": lambda a, b, c, z: a.u | b.u,
    "v_xor_b32 d, a, b": lambda a, b, c, z: a.u ^ b.u,
    "v_or3_b32 d, a, b, c": lambda a, b, c, z: a.u | b.u | c.u,
    "v_and_or_b32 d, a, b, c": lambda a, b, c, z: a.u & b.u | c.u,
    "v_bfi_b32 d, a, b, c": lambda a, b, c, z: (a.u & b.u) | (~a.u & c.u),
    "v_bfe_u32 d, a, b, c": lambda a, b, c, z: field(a.u, b.u & U32(31), c.u & U32(31)).astype(U32),
    "v_bfe_i32 d, a, b, c": lambda a, b, c, z: signed_field(a.i, b.u & U32(31), c.u & U32(31)),
    "v_perm_b32 d, a, b, c": lambda a, b, c, z: permuted(a.u, b.u, c.u),
    "v_alignbit_b32 d, a, b, c": lambda a, b, c, z: ((wide(a.u) << U64(32) | wide(b.u)) >> wide(c.u & U32(31))).astype(U32),
    "v_lshlrev_b32 d, a, b": lambda a, b, c, z: b.u << (a.u & U32(31)),
    "v_lshrrev_b32 d, a, b": lambda a, b, c, z: b.u >> (a.u & U32(31)),
    "v_ashrrev_i32 d, a, b": lambda a, b, c, z: b.i >> (a.i & I32(31)),
    "v_lshlrev_b64 D, a, B": lambda a, b, c, z: b.U << wide(a.u & U32(63)),
    "v_lshrrev_b64 D, a, B": lambda a, b, c, z: b.U >> wide(a.u & U32(63)),
    "v_lshlrev_b16 d, a, b": lambda a, b, c, z: (b.w << (a.u & U32(15))) & U32(0xFFFF),
    "v_lshrrev_b16 d, a, b": lambda a, b, c, z: b.w >> (a.u & U32(15)),
    "v_lshl_add_u32 d, a, b, c": lambda a, b, c, z: (a.u << (b.u & U32(31))) + c.u,
    "v_lshl_add_u64 D, A, 3, C": lambda a, b, c, z: (a.U << U64(3)) + c.U,
    "v_add_lshl_u32 d, a, b, c": lambda a, b, c, z: (a.u + b.u) << (c.u & U32(31)),
    "v_lshl_or_b32 d, a, b, c": lambda a, b, c, z: a.u << (b.u & U32(31)) | c.u,
    "v_add_u32 d, a, b": lambda a, b, c, z: a.u + b.u,
    "v_sub_u32 d, a, b": lambda a, b, c, z: a.u - b.u,
    "v_subrev_u32 d, a, b": lambda a, b, c, z: b.u - a.u,
    "v_add3_u32 d, a, b, c": lambda a, b, c, z: a.u + b.u + c.u,
    "v_xad_u32 d, a, b, c": lambda a, b, c, z: (a.u ^ b.u) + c.u,
    "v_mul_lo_u32 d, a, b": lambda a, b, c, z: a.u * b.u,
    "v_mul_hi_u32 d, a, b": lambda a, b, c, z: (wide(a.u) * wide(b.u) >> U64(32)).astype(U32),
    "v_mul_hi_i32 d, a, b": lambda a, b, c, z: (a.i.astype(I64) * b.i >> 32).astype(I32),
    "v_mul_u32_u24 d, a, b": lambda a, b, c, z: (wide(a.u & U32(0xFFFFFF)) * wide(b.u & U32(0xFFFFFF))).astype(U32),
    "v_mad_u64_u32 D, vcc, a, b, C": lambda a, b, c, z: wide(a.u) * wide(b.u) + c.U,
    "v_mad_i64_i32 D, vcc, a, b, C": lambda a, b, c, z: a.i.astype(I64) * b.i + c.I,
    "v_min_u32 d, a, b": lambda a, b, c, z: np.minimum(a.u, b.u),
    "v_max_i32 d, a, b": lambda a, b, c, z: np.maximum(a.i, b.i),
    "v_max_u16 d, a, b": lambda a, b, c, z: np.maximum(a.w, b.w),
    "v_sub_co_u32 d, vcc, a, b": lambda a, b, c, z: a.u - b.u,
    "v_sub_co_u32 d, vcc, a, b" + MASK: lambda a, b, c, z: (a.u < b.u).astype(U32),
    "v_cmp_lt_u32 vcc, a, b; v_subbrev_co_u32 d, vcc, a, c, vcc": lambda a, b, c, z: c.u - a.u - (a.u < b.u).astype(U32),
    "v_mbcnt_lo_u32_b32 d, a, b": lambda a, b, c, z: lane_mask_below(a.u, b.u, False),
    "v_mbcnt_hi_u32_b32 d, a, b": lambda a, b, c, z: lane_mask_below(a.u, b.u, True),
    "v_add_f32 d, a, b": lambda a, b, c, z: a.f + b.f,
    "v_sub_f32 d, a, b": lambda a, b, c, z: a.f - b.f,
    "v_mul_f32 d, a, b": lambda a, b, c, z: a.f * b.f,
    "v_fma_f32 d, a, b, c": lambda a, b, c, z: fused(a.f, b.f, c.f),
    "v_fmac_f32 d, a, b": lambda a, b, c, z: fused(a.f, b.f, z.f),
    "v_fmaak_f32 d, a, b, 0x40490fdb": lambda a, b, c, z: fused(a.f, b.f, np.full_like(a.f, U32(0x40490FDB).view(F32))),
    "v_fmamk_f32 d, a, 0x40490fdb, b": lambda a, b, c, z: fused(a.f, np.full_like(a.f, U32(0x40490FDB).view(F32)), b.f),
    "v_max_f32 d, a, b": lambda a, b, c, z: maximum(a.f, b.f),
    "v_max3_f32 d, a, b, c": lambda a, b, c, z: maximum(maximum(a.f, b.f), c.f),
    "v_ceil_f32 d, a": lambda a, b, c, z: np.ceil(a.f),
    "v_floor_f32 d, a": lambda a, b, c, z: np.floor(a.f),
    "v_rndne_f32 d, a": lambda a, b, c, z: np.rint(a.f),
    "v_ldexp_f32 d, a, b": lambda a, b, c, z: np.ldexp(a.x, np.clip(b.i, -400, 400)).astype(F32),
    "~v_exp_f32 d, a": lambda a, b, c, z: np.exp2(a.x).astype(F32),
    "~v_log_f32 d, a": lambda a, b, c, z: np.log2(a.x).astype(F32),
    "~v_rcp_f32 d, a": lambda a, b, c, z: (1 / a.x).astype(F32),
    "~v_rsq_f32 d, a": lambda a, b, c, z: (1 / np.sqrt(a.x)).astype(F32),
    "~v_sqrt_f32 d, a": lambda a, b, c, z: np.sqrt(a.x).astype(F32),
    "v_cvt_f32_i32 d, a": lambda a, b, c, z: a.i.astype(F32),
    "v_cvt_f32_u32 d, a": lambda a, b, c, z: a.u.astype(F32),
    "v_cvt_i32_f32 d, a": lambda a, b, c, z: to_integer(a.x, -(2**31), 2**31 - 1, I32),
    "v_cvt_u32_f32 d, a": lambda a, b, c, z: to_integer(a.x, 0, 2**32 - 1, U32),
    "v_cvt_f32_f16 d, a": lambda a, b, c, z: a.h.astype(F32),
    "v_cvt_f16_f32 d, a": lambda a, b, c, z: a.f.astype(F16).view(np.uint16).astype(U32),
    "v_pack_b32_f16 d, a, b": lambda a, b, c, z: a.w | b.w << U32(16),
    "v_pk_add_f32 D, A, B": lambda a, b, c, z: pairs(np.add, a, b),
    "v_pk_mul_f32 D, A, B": lambda a, b, c, z: pairs(np.multiply, a, b),
    "v_pk_mov_b32 D, A, B op_sel:[1,0]": lambda a, b, c, z: a.U >> U64(32) | b.U << U64(32),
    "v_pk_lshlrev_b16 d, 3, a op_sel_hi:[0,1]": lambda a, b, c, z: (a.w << U32(3) & U32(0xFFFF)) | (a.u >> U32(16) << U32(19)),
    # The upper half of an integer constant is 0.
    "v_pk_lshlrev_b16 d, 3, a": lambda a, b, c, z: (a.w << U32(3) & U32(0xFFFF)) | (a.u & U32(0xFFFF0000)),
    "v_pk_max_u16 d, a, b": lambda a, b, c, z: np.maximum(a.w, b.w) | np.maximum(a.u >> U32(16), b.u >> U32(16)) << U32(16),
    "v_readfirstlane_b32 s20, a; v_mov_b32 d, s20": lambda a, b, c, z: np.broadcast_to(a.u[:, :1], a.u.shape),
    "v_readlane_b32 s20, a, 37; v_mov_b32 d, s20": lambda a, b, c, z: np.broadcast_to(a.u[:, 37:38], a.u.shape),
    "v_accvgpr_write_b32 a0, a; v_accvgpr_read_b32 d, a0": lambda a, b, c, z: a.u,
    "v_accvgpr_write_b32 a0, a; v_accvgpr_mov_b32 a1, a0; v_accvgpr_read_b32 d, a1": lambda a, b, c, z: a.u,
    "v_pk_fma_f32 D, A, B, C": lambda a, b, c, z: pairs(fused, a, b, c),
    # EXEC: the lanes that are not chosen keep their value
    "v_cmp_lt_u32 vcc, a, b; s_and_saveexec_b64 s[20:21], vcc; v_mov_b32 d, c; s_mov_b64 exec, s[20:21]": lambda a, b, c, z: (
        np.where(a.u < b.u, c.u, z.u)
    ),
    "v_cmp_lt_u32 vcc, a, b; s_andn2_saveexec_b64 s[20:21], vcc; v_mov_b32 d, c; s_mov_b64 exec, s[20:21]": lambda a, b, c, z: z.u,
    # Comparisons
    **{
        f"v_cmp_{name}_{kind}32 vcc, a, b" + MASK: compared(test, kind)
        for kind in "uif"
        for name, test in dict(lt=np.less, gt=np.greater, eq=np.equal, le=np.less_equal, ge=np.greater_equal).items()
    },
    "v_cmp_ne_u32 vcc, a, b" + MASK: lambda a, b, c, z: (a.u != b.u).astype(U32),
    "v_cmp_eq_u16 vcc, a, b" + MASK: lambda a, b, c, z: (a.w == b.w).astype(U32),
    "v_cmp_gt_i64 vcc, A, B" + MASK: lambda a, b, c, z: (a.I > b.I).astype(U32),
    "v_cmp_lt_i64 vcc, A, B" + MASK: lambda a, b, c, z: (a.I < b.I).astype(U32),
    "v_cmp_nlt_f32 vcc, a, b" + MASK: lambda a, b, c, z: (~(a.f < b.f)).astype(U32),
    "v_cmp_ngt_f32 vcc, a, b" + MASK: lambda a, b, c, z: (~(a.f > b.f)).astype(U32),
    "v_cmp_o_f32 vcc, a, b" + MASK: lambda a, b, c, z: (~np.isnan(a.f) & ~np.isnan(b.f)).astype(U32),
    "v_cmp_class_f32 vcc, a, 0x3c" + MASK: lambda a, b, c, z: (np.signbit(a.f) & ~np.isnan(a.f)).astype(U32),
    # Modifiers
    "v_add_f32 d, -a, |b|": lambda a, b, c, z: -a.f + np.abs(b.f),
    "v_mul_f32 d, a, b clamp": lambda a, b, c, z: np.nan_to_num(np.clip(a.f * b.f, 0, 1)) + F32(0),  # -0 becomes 0
    "v_add_u32 d, a, b clamp": lambda a, b, c, z: np.minimum(wide(a.u) + wide(b.u), U64(0xFFFFFFFF)).astype(U32),
    "v_add_u32_sdwa d, a, b dst_sel:DWORD src0_sel:WORD_1 src1_sel:BYTE_3": lambda a, b, c, z: (a.u >> U32(16)) + (b.u >> U32(24)),
    "v_add_u32_sdwa d, sext(a), b dst_sel:DWORD src0_sel:BYTE_1 src1_sel:WORD_0": lambda a, b, c, z: (
        (a.u >> U32(8)).astype(np.int8).astype(I32) + b.w.view(I32)
    ),
    "v_mov_b32_sdwa d, a dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE src0_sel:DWORD": lambda a, b, c, z: (
        (z.u & U32(0xFF00FFFF)) | (a.u & U32(255)) << U32(16)
    ),
    "v_mov_b32_sdwa d, a dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_0": lambda a, b, c, z: a.w << U32(16),
    # DPP: the lane that is read; without one, d keeps its value, or reads 0 with bound_ctrl
    **{
        f"v_mov_b32_dpp d, a {text}": (lambda source: lambda a, b, c, z: moved(a, z, source))(source)
        for text, source in {
            "quad_perm:[3,0,2,1] row_mask:0xf bank_mask:0xf": lambda lane: lane - lane % 4 + (3, 0, 2, 1)[lane % 4],
            "row_shl:3 row_mask:0xf bank_mask:0xf": lambda lane: lane + 3 if lane % 16 < 13 else None,
            "row_shr:5 row_mask:0xf bank_mask:0xf": lambda lane: lane - 5 if lane % 16 >= 5 else None,
            "row_ror:4 row_mask:0xf bank_mask:0xf": lambda lane: lane - lane % 16 + (lane - 4) % 16,
            "row_mirror row_mask:0xf bank_mask:0xf": lambda lane: lane - lane % 16 + 15 - lane % 16,
            "row_half_mirror row_mask:0xf bank_mask:0xf": lambda lane: lane - lane % 8 + 7 - lane % 8,
            "row_bcast:15 row_mask:0xf bank_mask:0xf": lambda lane: lane - lane % 16 - 1 if lane >= 16 else None,
            "row_bcast:31 row_mask:0xf bank_mask:0xf": lambda lane: 31 if lane >= 32 else None,
            "row_newbcast:7 row_mask:0xf bank_mask:0xf": lambda lane: lane - lane % 16 + 7,
            "row_mirror row_mask:0x5 bank_mask:0xc": lambda lane: (
                lane - lane % 16 + 15 - lane % 16 if lane // 16 % 2 == 0 and lane % 16 >= 8 else None
            ),
        }.items()
    },
    "v_mov_b32_dpp d, a row_shr:5 row_mask:0xf bank_mask:0xf bound_ctrl:0": lambda a, b, c, z: moved(
        a, Values(np.zeros_like(z.U)), lambda lane: lane - 5 if lane % 16 >= 5 else None
    ),
}
GFX950 = {
    "v_minimum3_f32 d, a, b, c": lambda a, b, c, z: least(a.f, b.f, c.f),
    "v_maximum3_f32 d, a, b, c": lambda a, b, c, z: largest(a.f, b.f, c.f),
    "v_pk_minimum3_f16 d, a, b, c": lambda a, b, c, z: half_pairs(least, a, b, c),
    "v_pk_maximum3_f16 d, a, b, c": lambda a, b, c, z: half_pairs(largest, a, b, c),
    "v_pk_minimum3_f16 d, a, b, c op_sel:[1,0,1] op_sel_hi:[0,1,1] neg_lo:[0,1,0] neg_hi:[1,0,1]": lambda a, b, c, z: (
        halves(least(upper(a).h, -b.h, upper(c).h)) | halves(least(-a.h, upper(b).h, -upper(c).h)) << U32(16)
    ),
    "v_pk_maximum3_f16 d, a, b, c op_sel:[0,1,0] op_sel_hi:[1,1,0] neg_lo:[1,0,0] neg_hi:[0,0,1]": lambda a, b, c, z: (
        halves(largest(-a.h, upper(b).h, c.h)) | halves(largest(upper(a).h, upper(b).h, -c.h)) << U32(16)
    ),
    "v_pk_maximum3_f16 d, a, b, c clamp": lambda a, b, c, z: half_pairs(lambda *x: np.nan_to_num(np.clip(largest(*x), 0, 1)) + F16(0), a, b, c),
    "v_bitop3_b32 d, a, b, c bitop3:0x96": lambda a, b, c, z: a.u ^ b.u ^ c.u,
    "v_bitop3_b32 d, a, b, c bitop3:0xca": lambda a, b, c, z: (a.u & b.u) | (~a.u & c.u),
    "v_cvt_pk_f16_f32 d, a, b": lambda a, b, c, z: halves(a.f) | halves(b.f) << U32(16),
    "v_cvt_pk_bf16_f32 d, a, b": lambda a, b, c, z: bfloats(a) | bfloats(b) << U32(16),
    "v_permlane32_swap_b32 d, a": lambda a, b, c, z: np.concatenate([z.u[:, :32], a.u[:, :32]], axis=1),
    "v_permlane16_swap_b32 d, a": lambda a, b, c, z: np.concatenate([z.u[:, :16], a.u[:, :16], z.u[:, 32:48], a.u[:, 32:48]], axis=1),
}


def bfloats(x):
    """To the nearest, ties to even; a NaN keeps its upper bits."""
    rounded = (x.u + U32(0x7FFF) + (x.u >> U32(16) & U32(1))) >> U32(16)
    return np.where(np.isnan(x.f), x.u >> U32(16) | U32(0x40), rounded)


def halves(values):
    return values.astype(F16).view(np.uint16).astype(U32)


def upper(x):
    return Values(x.U >> U64(16))


def half_pairs(function, *operands):
    low, high = function(*(x.h for x in operands)), function(*(upper(x).h for x in operands))
    return halves(low) | halves(high) << U32(16)


def pairs(function, *operands):
    low = function(*(x.f for x in operands)).view(U32)
    high = function(*((x.U >> U64(32)).astype(U32).view(F32) for x in operands)).view(U32)
    return wide(low) | wide(high) << U64(32)


def moved(a, z, source):
    lanes = [source(lane) for lane in range(64)]
    return np.stack([z.u[:, lane] if from_ is None else a.u[:, from_] for lane, from_ in enumerate(lanes)], axis=1)


def integers(function, bits=32):
    """A meaning on Python's integers: the results are D and SCC."""
    ones = (1 << bits) - 1

    def both(a, b):
        result = [function(int(x) & ones, int(y) & ones) for x, y in zip(a, b)]
        return np.array([value & ones for value, _ in result], U64), np.array([bool(flag) for _, flag in result])

    return both


def signed(value, bits=32):
    return value - (1 << bits) if value >> (bits - 1) else value


def nonzero(value):
    return value, value != 0


def least_bit(value):
    return (value & -value).bit_length() - 1 if value else 0xFFFFFFFF


W = (1 << 64) - 1
M = (1 << 32) - 1
# Scalar instructions: d or D, a or A, b or B. The meaning gives the result and SCC, which was 1.
SCALAR = {
    "s_mov_b32 d, a": integers(lambda a, b: (a, 1)),
    "s_mov_b64 D, A": integers(lambda a, b: (a, 1), 64),
    "s_mov_b64 D, 0xffffffcf": integers(lambda a, b: (0xFFFFFFCF, 1), 64),  # a mask has no sign
    "s_movk_i32 d, 0x8001": integers(lambda a, b: (0xFFFF8001, 1)),
    "s_add_i32 d, a, b": integers(lambda a, b: (a + b, not -(2**31) <= signed(a) + signed(b) < 2**31)),
    "s_sub_i32 d, a, b": integers(lambda a, b: (a - b, not -(2**31) <= signed(a) - signed(b) < 2**31)),
    "s_add_u32 d, a, b": integers(lambda a, b: (a + b, a + b > M)),
    "s_addc_u32 d, a, b": integers(lambda a, b: (a + b + 1, a + b + 1 > M)),
    "s_mul_i32 d, a, b": integers(lambda a, b: (a * b, 1)),
    "s_addk_i32 d, 0x8001": integers(lambda a, b: (0xFFFF8001, 0)),  # d was 0
    "s_mulk_i32 d, 0x7": integers(lambda a, b: (0, 1)),
    "s_mov_b32 d, a ; s_mulk_i32 d, 0xfff9": integers(lambda a, b: (a * -7, 1)),
    "s_mul_hi_u32 d, a, b": integers(lambda a, b: (a * b >> 32, 1)),
    "s_and_b32 d, a, b": integers(lambda a, b: nonzero(a & b)),
    "s_or_b32 d, a, b": integers(lambda a, b: nonzero(a | b)),
    "s_xor_b32 d, a, b": integers(lambda a, b: nonzero(a ^ b)),
    "s_and_b64 D, A, B": integers(lambda a, b: nonzero(a & b), 64),
    "s_or_b64 D, A, B": integers(lambda a, b: nonzero(a | b), 64),
    "s_xor_b64 D, A, B": integers(lambda a, b: nonzero(a ^ b), 64),
    "s_andn2_b64 D, A, B": integers(lambda a, b: nonzero(a & ~b & W), 64),
    "s_lshl_b32 d, a, b": integers(lambda a, b: nonzero(a << (b & 31) & M)),
    "s_lshl_b64 D, A, b": integers(lambda a, b: nonzero(a << (b & 63) & W), 64),
    "s_lshr_b32 d, a, b": integers(lambda a, b: nonzero(a >> (b & 31))),
    "s_ashr_i32 d, a, b": integers(lambda a, b: nonzero(signed(a) >> (b & 31) & M)),
    "s_lshl1_add_u32 d, a, b": integers(lambda a, b: ((a << 1) + b, (a << 1) + b > M)),
    "s_lshl2_add_u32 d, a, b": integers(lambda a, b: ((a << 2) + b, (a << 2) + b > M)),
    "s_lshl3_add_u32 d, a, b": integers(lambda a, b: ((a << 3) + b, (a << 3) + b > M)),
    "s_max_i32 d, a, b": integers(lambda a, b: (max(signed(a), signed(b)), signed(a) >= signed(b))),
    "s_min_i32 d, a, b": integers(lambda a, b: (min(signed(a), signed(b)), signed(a) < signed(b))),
    "s_min_u32 d, a, b": integers(lambda a, b: (min(a, b), a < b)),
    "s_abs_i32 d, a": integers(lambda a, b: nonzero(abs(signed(a)))),
    "s_brev_b32 d, a": integers(lambda a, b: (int(f"{a:032b}"[::-1], 2), 1)),
    "s_ff1_i32_b64 d, A": integers(lambda a, b: (least_bit(a), 1), 64),
    "s_bfe_u32 d, a, 0x50007": integers(lambda a, b: nonzero(a >> 7 & 31)),
    "s_bfe_i32 d, a, 0x50007": integers(lambda a, b: nonzero(signed(a >> 7 & 31, 5) & M)),
    "s_cselect_b32 d, a, b": integers(lambda a, b: (a, 1)),
    "s_cselect_b64 D, A, B": integers(lambda a, b: (a, 1), 64),
    **{
        f"s_cmp_{name}_{kind}32 a, b": integers(test)
        for name, kind, test in [
            ("eq", "u", lambda a, b: (0, a == b)), ("lg", "u", lambda a, b: (0, a != b)), ("ge", "u", lambda a, b: (0, a >= b)),
            ("lt", "u", lambda a, b: (0, a < b)), ("gt", "i", lambda a, b: (0, signed(a) > signed(b))),
            ("lt", "i", lambda a, b: (0, signed(a) < signed(b))),
        ]
    },
    "s_cmpk_gt_i32 a, 0x21": integers(lambda a, b: (0, signed(a) > 33)),
    "s_cmpk_lt_i32 a, 0xfff0": integers(lambda a, b: (0, signed(a) < -16)),
    "s_bitcmp1_b32 a, b": integers(lambda a, b: (0, a >> (b & 31) & 1)),
}  # fmt: skip


# -- The program


def vector_lines(text):
    registers = {"a": "v2", "b": "v4", "c": "v6", "d": "v10", "A": "v[2:3]", "B": "v[4:5]", "C": "v[6:7]", "D": "v[10:11]"}
    for line in text.lstrip("~").split(";"):
        name, _, operands = line.strip().partition(" ")
        replaced = [with_registers(place, registers) for place in operands.split(" ")]
        if name.startswith("v_permlane"):
            yield "v_mov_b32 v12, v2"  # both registers are written
            replaced[1] = "v12"
        yield f"{name} {' '.join(replaced)}"


def with_registers(place, registers):
    core = place.rstrip(",")
    for opening, closing in (("-", ""), ("|", "|"), ("sext(", ")")):
        inner = core.removeprefix(opening).removesuffix(closing)
        if inner in registers:
            return place.replace(core, core.replace(inner, registers[inner]) if inner != core else registers[core])
    return place


def program(vector, scalar):
    lines = ["s_load_dwordx4 s[4:7], s[0:1], 0x0", "s_load_dwordx2 s[8:9], s[0:1], 0x10", "s_lshl_b32 s3, s2, 11"]
    lines += ["v_lshlrev_b32 v0, 5, v0", "v_add_u32 v0, s3, v0", "s_waitcnt lgkmcnt(0)"]  # four operands of 8 bytes a lane
    lines += [f"global_load_dwordx2 v[{first}:{first + 1}], v0, s[4:5] offset:{8 * i}" for i, first in enumerate((2, 4, 6, 8))]
    lines += ["s_lshl_b32 s3, s2, 4", "s_add_u32 s6, s6, s3", "s_addc_u32 s7, s7, 0", "s_load_dwordx4 s[12:15], s[6:7], 0x0"]
    records = len(vector) + 2 * len(scalar)
    lines += [f"s_mul_i32 s3, s2, {512 * records}", "v_lshrrev_b32 v1, 2, v0", "v_and_b32 v1, 0x1ff, v1", "v_add_u32 v1, s3, v1"]
    lines += ["s_waitcnt vmcnt(0) lgkmcnt(0)"]
    store = ["global_store_dwordx2 v1, v[10:11], s[8:9]", "v_add_u32 v1, 0x200, v1"]
    for text in vector:
        lines += ["v_mov_b32 v10, v8", "v_mov_b32 v11, v9", "s_nop 4", *vector_lines(text), "s_nop 4", *store]
    letters = {"a": "s12", "b": "s14", "d": "s18", "A": "s[12:13]", "B": "s[14:15]", "D": "s[18:19]"}
    for text in scalar:
        words = text.replace(";", "\n").split(" ")
        replaced = " ".join(with_registers(word, letters) for word in words)
        lines += ["s_mov_b64 s[18:19], 0", "s_cmp_eq_u32 s0, s0", replaced, "s_cselect_b32 s17, 1, 0"]
        lines += ["v_mov_b32 v10, s18", "v_mov_b32 v11, s19", *store, "v_mov_b32 v10, s17", "v_mov_b32 v11, 0", *store]
    return "\n".join([*lines, "s_endpgm"]), records


def difference(text, result, expected, before):
    """A description of the first wrong result; empty if all are right."""
    is_wide = expected.dtype.itemsize == 8
    bits = np.ascontiguousarray(expected).view(U64 if is_wide else U32).astype(U64)
    if not is_wide:
        bits |= before & (ALL << U64(32))
    wrong = result != bits
    if expected.dtype == F32:
        value = (result & U64(0xFFFFFFFF)).astype(U32)
        near = np.abs(value.view(I32).astype(I64) - expected.view(I32)) <= 1 if text.startswith("~") else False
        wrong &= ~((np.isnan(value.view(F32)) & np.isnan(expected)) | near)
    if text.startswith("v_pk_") and is_wide and "mov" not in text:
        wrong = np.zeros_like(wrong)
        for shift in (0, 32):
            ours, theirs = ((x >> U64(shift)).astype(U32) for x in (result, bits))
            wrong |= (ours != theirs) & ~(np.isnan(ours.view(F32)) & np.isnan(theirs.view(F32)))
    if text.startswith("v_pk_") and "_f16" in text:
        wrong = np.zeros_like(wrong)
        for shift in (0, 16):
            ours, theirs = ((x >> U64(shift)).astype(np.uint16) for x in (result, bits))
            wrong |= (ours != theirs) & ~(np.isnan(ours.view(F16)) & np.isnan(theirs.view(F16)))
        wrong |= result >> U64(32) != bits >> U64(32)
    places = np.argwhere(wrong)
    if not len(places):
        return ""
    place = tuple(places[0])
    return f"{text}: {len(places)} wrong; set {place[0]} lane {place[1]}: {result[place]:#x}, expected {bits[place]:#x}"


@pytest.mark.parametrize("chip", CHIPS)
def test_instructions_compute_what_numpy_does(chip, tmp_path):
    vector = VECTOR | (GFX950 if chip == "gfx950" else {})
    text, records = program(vector, SCALAR)
    directives = ".amdhsa_float_denorm_mode_32 3\n"
    path = assemble(tmp_path, chip, text, registers=16, argument_bytes=24, directives=directives, accumulators=4)
    lanes, scalars = make_inputs((SETS, 64, 4), 1), make_inputs((SETS, 2), 2)
    *_, out = launch(tmp_path, path, "k", [SETS], [64], lanes, scalars, np.zeros((SETS, records, 64), U64))
    a, b, c, z = (Values(lanes[:, :, i].copy()) for i in range(4))
    problems = []
    with np.errstate(all="ignore"):
        for number, (text, meaning) in enumerate(vector.items()):
            problems.append(difference(text, out[:, number], np.asarray(meaning(a, b, c, z)), z.U))
    for number, (text, meaning) in enumerate(SCALAR.items()):
        result, scc = meaning(scalars[:, 0], scalars[:, 1])
        at = len(vector) + 2 * number
        for part, expected in ((0, result), (1, scc.astype(U64))):
            if (out[:, at + part] != expected[:, None]).any():
                place = np.argwhere(out[:, at + part, 0] != expected)[0, 0]
                got, name = out[place, at + part, 0], "SCC" if part else "D"
                problems.append(f"{text}: {name} of {scalars[place]} is {got:#x}, expected {expected[place]:#x}")
    problems = [problem for problem in problems if problem]
    assert not problems, "\n".join(problems)
