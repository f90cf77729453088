"""Tests the distance itself: one that measured nothing would accept everything."""

import agreement
import ml_dtypes
import numpy as np
import pytest

NAN, INF = np.nan, np.inf


def f32(*values):
    return np.array(values, np.float32)


def test_neighbours_are_one_ulp_apart():
    x = f32(1.0, 3.0, -1e10)
    assert agreement.distance(np.nextafter(x, f32(INF)), x) == 1.0
    assert agreement.distance(x, x) == 0.0


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn"])
def test_narrow_types_have_wide_ulps(dtype):
    dtype = np.dtype(getattr(ml_dtypes, dtype))
    one, next_one = np.array([1.0]).astype(dtype), np.array([1.0 + float(ml_dtypes.finfo(dtype).eps)]).astype(dtype)
    assert agreement.distance(next_one, one) == 1.0


def test_cancellation_is_measured_against_the_tensor():
    expected, actual = f32(1000.0, 1e-3), f32(1000.0, 1e-3 + 1e-5)
    assert agreement.distance(actual, expected, "element") > 1e4
    assert agreement.distance(actual, expected, "tensor") < 1


@pytest.mark.parametrize("actual, expected", [
    (f32(NAN), f32(1.0)), (f32(1.0), f32(NAN)), (f32(INF), f32(-INF)), (f32(INF), f32(3e38)),
    (f32(1.0), np.float64([1.0])), (f32(1.0, 2.0), f32(1.0)),
    (np.int32([1]), np.int32([2])), (np.array([True]), np.array([False])),
    (np.array([3], ml_dtypes.int4), np.array([4], ml_dtypes.int4)),
])  # fmt: skip
def test_what_differs_in_kind_is_never_close(actual, expected):
    assert agreement.distance(actual, expected, "tensor") == INF


def test_nan_answers_nan_and_infinity_the_same_infinity():
    assert agreement.distance(f32(NAN, INF, -INF, 1.0), f32(NAN, INF, -INF, 1.0)) == 0.0


def test_subnormals_count_as_zero_where_xla_flushes_them():
    assert agreement.distance(f32(1e-40), f32(0.0)) == 0.0
    small = np.array([6e-8], np.float16)
    assert agreement.distance(small, np.zeros(1, np.float16)) == 1.0


def test_complex_numbers_are_measured_by_their_modulus():
    expected = np.array([1000 + 1e-4j], np.complex64)
    assert agreement.distance(expected + np.complex64(1e-5j), expected) < 1
    assert agreement.distance(np.array([np.nan + 1j], np.complex64), expected) == INF
