"""How far our result may be from jaxlib's, by op class.

Distances are in ulps of the output's own type. Where a rounding error is in
proportion to the element (arithmetic, functions), the ulp is the element's;
where it is in proportion to the terms of a sum, which may cancel, it is that of
the largest element of the output tensor. Our evaluator rounds each op once; most
of what is allowed here is what XLA's own approximations and its fused
multiply-adds need.

Integers, booleans and bits are equal or wrong in every class. NaN answers NaN,
an infinity the same infinity. XLA's CPU code flushes subnormals of f32, f64 and
bf16 to zero, so those count as zero on both sides.
"""

import dataclasses

import ml_dtypes
import numpy as np


@dataclasses.dataclass(frozen=True)
class OpClass:
    ulps: float
    of: str  # relative to the "element" or the "tensor"
    what: str


CLASSES = {
    "exact": OpClass(0, "element", "data movement, comparison, selection, integers, random bits"),
    "arithmetic": OpClass(2, "element", "+ - * / sqrt, alone or in short chains"),
    "elementary": OpClass(8, "element", "exp, log, sin, tanh, pow … of one number"),
    "complex": OpClass(8, "element", "complex arithmetic and functions, ulps of the modulus"),
    "special": OpClass(16, "tensor", "erf, gamma, bessel … as the polynomials and series that JAX writes"),
    "reduction": OpClass(8, "tensor", "sums and products in another order"),
    "contraction": OpClass(8, "tensor", "dot and convolution"),
    "fourier": OpClass(8, "tensor", "fft"),
    "factorisation": OpClass(8, "tensor", "cholesky, triangular solve, iterations of linear algebra"),
    "network": OpClass(64, "tensor", "layers, forward and backward"),
    "training": OpClass(16, "tensor", "steps of an optimiser"),
}

# Types whose subnormals XLA's CPU code treats as zero.
FLUSHED = {np.dtype(np.float32), np.dtype(np.float64), np.dtype(ml_dtypes.bfloat16)}


def distance(actual, expected, of="element"):
    """The largest distance of two arrays of the same type and shape, in ulps; inf if one is NaN or infinite and the other is not."""
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return np.inf
    if expected.size == 0:
        return 0.0
    if is_exact(expected.dtype):
        return 0.0 if np.array_equal(actual, expected) else np.inf
    a, e = _wide(actual), _wide(expected)
    finite = np.isfinite(e)
    same_kind = np.isnan(a) == np.isnan(e) if np.iscomplexobj(e) else (np.isnan(a) & np.isnan(e)) | (a == e)
    if not np.all(np.isfinite(a) == finite) or not np.all(same_kind[~finite]):
        return np.inf
    a, e = a[finite], e[finite]
    if e.size == 0:
        return 0.0
    size = np.abs(e)
    if of == "tensor":
        size = np.full_like(size, size.max())
    return float(np.max(np.abs(a - e) / _ulp(size, _component(expected.dtype))))


def is_exact(dtype):
    """Whether the type has no rounding: booleans and integers, also narrow ones."""
    return dtype.kind in "biu" or dtype in {np.dtype(getattr(ml_dtypes, t)) for t in ("int2", "uint2", "int4", "uint4")}


def finite_count(array):
    return array.size if is_exact(array.dtype) else int(np.isfinite(_wide(array)).sum())


def _component(dtype):
    return {"complex64": np.dtype("float32"), "complex128": np.dtype("float64")}.get(dtype.name, dtype)


def _wide(array):
    """The values in double precision, with subnormals flushed where XLA does so."""
    if array.dtype.kind == "c":
        wide = array.astype(np.complex128)
        return _flush(wide.real, array.dtype) + 1j * _flush(wide.imag, array.dtype)
    return _flush(array.astype(np.float64), array.dtype)


def _flush(values, dtype):
    component = _component(dtype)
    if component not in FLUSHED:
        return values
    return np.where(np.abs(values) < float(ml_dtypes.finfo(component).smallest_normal), 0.0, values)


def _ulp(size, dtype):
    """The spacing of `dtype` at `size`; that of the smallest normal number below it."""
    info = ml_dtypes.finfo(dtype)
    smallest = float(info.smallest_normal)
    _, exponent = np.frexp(np.maximum(size, smallest))
    return np.ldexp(1.0, exponent - 1 - info.nmant)
