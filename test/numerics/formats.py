"""The element types in Python: ml_dtypes where it has them, and an exact model.

The model knows a format only as the list of its values. It finds the nearest one by searching that list, so it
has nothing in common with the code under test, which shifts bits.
"""
from dataclasses import dataclass
from functools import cached_property

import ml_dtypes
import numpy as np

BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


@dataclass(frozen=True)
class Real:
    name: str  # as StableHLO spells it
    dtype: np.dtype | None  # None where neither numpy nor ml_dtypes has it
    width: int
    exponent: int
    mantissa: int
    bias: int
    infinity: bool
    nan: str  # ieee, ones, negative zero, none
    signed: bool = True

    @property
    def bits_dtype(self):
        return np.dtype(BITS[max(1, self.width // 8)])

    @cached_property
    def values(self):
        """The finite values that are not negative, in the order of their codes (exact in float64)."""
        codes = np.arange(1 << (self.exponent + self.mantissa), dtype=np.int64)
        field, fraction = codes >> self.mantissa, codes & ((1 << self.mantissa) - 1)
        subnormal = (field == 0) & self.signed
        significand = np.where(subnormal, fraction, fraction + (1 << self.mantissa)).astype(np.float64)
        power = np.where(subnormal, 1, field) - self.bias - self.mantissa
        return np.ldexp(significand, power)[:self.finite_count]

    @property
    def finite_count(self):
        """How many codes are finite and not negative; the rest are infinity and NaN."""
        return (1 << (self.exponent + self.mantissa)) - {"ieee": 1 << self.mantissa, "ones": 1}.get(self.nan, 0)

    @cached_property
    def midpoints(self):
        """Midpoints between each value and the next; beyond the last midpoint, values round out of the format's range."""
        last = self.values[-1]
        step = np.ldexp(1.0, int(np.frexp(last)[1]) - 1 - self.mantissa)
        return np.append((self.values[:-1] + self.values[1:]) / 2, last + step / 2)

    @property
    def sign_bit(self):
        return 1 << (self.exponent + self.mantissa) if self.signed else 0

    @property
    def padding(self):
        return 13 if self.name == "tf32" else 0

    def nan_code(self):
        full = (1 << (self.exponent + self.mantissa)) - 1
        return {"ieee": full ^ ((1 << self.mantissa) - 1) | (1 << self.mantissa >> 1),
                "ones": full, "negative zero": self.sign_bit, "none": self.sign_bit}[self.nan]

    def overflow_code(self, saturate):
        if saturate or (not self.infinity and self.nan == "none"):
            return self.finite_count - 1
        return self.finite_count if self.infinity else self.nan_code()

    def encode(self, x, saturate=False):
        """The nearest code for each float64 or longdouble, ties to even, by search."""
        magnitude = np.abs(x)
        midpoints = self.midpoints.astype(x.dtype)
        code = np.searchsorted(midpoints, magnitude, side="left")
        on_midpoint = magnitude == midpoints[np.minimum(code, len(midpoints) - 1)]
        # With one significant bit the upper neighbour has the even significand: f8E8M0FNU rounds ties up.
        code += on_midpoint & ((code % 2 == 1) if self.mantissa else True)
        code = np.where(code >= self.finite_count, self.overflow_code(saturate), code)
        if not self.signed:
            bad = np.isnan(x) | (x <= 0) | (np.isinf(x) & (not saturate))
            return np.where(bad, self.nan_code(), code).astype(self.bits_dtype)
        negative = np.signbit(x)
        if self.nan == "negative zero":
            negative &= (code != 0) & (code != self.nan_code())
        code = np.where(negative, code ^ self.sign_bit, code)
        nan = np.where(np.signbit(x) & (self.nan != "negative zero"), self.nan_code() ^ self.sign_bit, self.nan_code())
        code = np.where(np.isnan(x), nan, code)
        return (code << self.padding).astype(self.bits_dtype)

    def is_nan(self, bits):
        code = bits.astype(np.int64) >> self.padding
        magnitude = code & ((1 << (self.exponent + self.mantissa)) - 1)
        if self.nan == "ieee":
            return magnitude > self.finite_count
        if self.nan == "ones":
            return magnitude == self.finite_count
        return (code == self.sign_bit) & (self.nan != "none")

    def all_bits(self):
        return np.arange(1 << self.width, dtype=self.bits_dtype)


@dataclass(frozen=True)
class Integer:
    name: str
    dtype: np.dtype
    width: int
    signed: bool

    @property
    def bits_dtype(self):
        return np.dtype(BITS[max(1, self.width // 8)])

    def all_bits(self):
        return np.arange(1 << self.width, dtype=self.bits_dtype)

    def truncate(self, x):
        """Rounds float64 toward zero and clamps to the range; NaN becomes 0."""
        low = -(2 ** (self.width - 1)) if self.signed else 0
        high = 2 ** (self.width - 1) - 1 if self.signed else 2**self.width - 1
        whole = [0 if v != v else high if v >= high + 1 else low if v <= low else int(v) for v in x.tolist()]
        return np.array([v & (2**self.width - 1) for v in whole], self.bits_dtype)


def _real(name, dtype, width, *facts):
    return Real(name, np.dtype(dtype) if dtype else None, width, *facts)


REALS = [
    _real("f4E2M1FN", ml_dtypes.float4_e2m1fn, 4, 2, 1, 1, False, "none"),
    _real("f6E2M3FN", ml_dtypes.float6_e2m3fn, 6, 2, 3, 1, False, "none"),
    _real("f6E3M2FN", ml_dtypes.float6_e3m2fn, 6, 3, 2, 3, False, "none"),
    _real("f8E3M4", ml_dtypes.float8_e3m4, 8, 3, 4, 3, True, "ieee"),
    _real("f8E4M3", ml_dtypes.float8_e4m3, 8, 4, 3, 7, True, "ieee"),
    _real("f8E4M3FN", ml_dtypes.float8_e4m3fn, 8, 4, 3, 7, False, "ones"),
    _real("f8E4M3FNUZ", ml_dtypes.float8_e4m3fnuz, 8, 4, 3, 8, False, "negative zero"),
    _real("f8E4M3B11FNUZ", ml_dtypes.float8_e4m3b11fnuz, 8, 4, 3, 11, False, "negative zero"),
    _real("f8E5M2", ml_dtypes.float8_e5m2, 8, 5, 2, 15, True, "ieee"),
    _real("f8E5M2FNUZ", ml_dtypes.float8_e5m2fnuz, 8, 5, 2, 16, False, "negative zero"),
    _real("f8E8M0FNU", ml_dtypes.float8_e8m0fnu, 8, 8, 0, 127, False, "ones", False),
    _real("bf16", ml_dtypes.bfloat16, 16, 8, 7, 127, True, "ieee"),
    _real("f16", np.float16, 16, 5, 10, 15, True, "ieee"),
    _real("tf32", None, 32, 8, 10, 127, True, "ieee"),
    _real("f32", np.float32, 32, 8, 23, 127, True, "ieee"),
    _real("f64", np.float64, 64, 11, 52, 1023, True, "ieee"),
]
INTEGERS = [
    Integer("i2", np.dtype(ml_dtypes.int2), 2, True),
    Integer("i4", np.dtype(ml_dtypes.int4), 4, True),
    Integer("i8", np.dtype(np.int8), 8, True),
    Integer("i16", np.dtype(np.int16), 16, True),
    Integer("i32", np.dtype(np.int32), 32, True),
    Integer("i64", np.dtype(np.int64), 64, True),
    Integer("ui2", np.dtype(ml_dtypes.uint2), 2, False),
    Integer("ui4", np.dtype(ml_dtypes.uint4), 4, False),
    Integer("ui8", np.dtype(np.uint8), 8, False),
    Integer("ui16", np.dtype(np.uint16), 16, False),
    Integer("ui32", np.dtype(np.uint32), 32, False),
    Integer("ui64", np.dtype(np.uint64), 64, False),
]
BY_NAME = {t.name: t for t in REALS + INTEGERS}
F32, F64 = BY_NAME["f32"], BY_NAME["f64"]
SMALL_REALS = [t for t in REALS if t.width <= 16]
# The types for which `encode` above has a list of values to search.
LISTED_REALS = SMALL_REALS + [BY_NAME["tf32"]]
SMALL_INTEGERS = [t for t in INTEGERS if t.width <= 16]
