"""Conversions: every value of the small formats, random and boundary values of the large ones.

References: ml_dtypes and numpy wherever they round once, the exact model of formats.py everywhere, jaxlib for what
StableHLO leaves undefined (a real beyond the range of an integer).
"""
import numpy as np
import pytest

from formats import BY_NAME, F32, F64, INTEGERS, LISTED_REALS, REALS, SMALL_INTEGERS, SMALL_REALS, Real

CHUNK = 1 << 20


def by_name(types):
    return pytest.mark.parametrize("type", types, ids=lambda t: t.name)


def assert_same(target, ours, expected, source, label):
    """Equal bits; a NaN may have another payload, but not another sign."""
    wrong = ours != expected
    if isinstance(target, Real):
        both_nan = target.is_nan(ours) & target.is_nan(expected)
        wrong &= ~(both_nan & ((ours ^ expected) & (target.sign_bit << target.padding) == 0))
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        pytest.fail(f"{label} to {target.name}: {wrong.sum()} of {wrong.size} differ; the first is "
                    f"{source[at]!r}: got {int(ours[at]):#x}, expected {int(expected[at]):#x}")


def assert_rounds(numerics, source, values, target, expected):
    bits = values.view(source.bits_dtype)
    assert_same(target, numerics.convert(source, bits, target), expected.view(target.bits_dtype), values, source.name)


def cast(values, target):
    """numpy's or ml_dtypes' own conversion; through f32 for pairs of small types that they do not have."""
    with np.errstate(all="ignore"):
        try:
            return values.astype(target.dtype).view(target.bits_dtype)
        except TypeError:
            return values.astype(np.float32).astype(target.dtype).view(target.bits_dtype)


def widened(values):
    with np.errstate(all="ignore"):
        return values.astype(np.float32).astype(np.float64)


def without_known_differences(target, bits, values):
    """ml_dtypes' answers, corrected where it is known not to round to nearest.

    ml_dtypes 0.6 sends every f32 between 2^-127 and 2^-126, all subnormal, up to 2^-126 in f8E8M0FNU. Below halfway
    the nearest value is 2^-127, code 0. test_known_difference_small_scales shows it.
    """
    if target.name != "f8E8M0FNU":
        return bits
    wide = widened(values)
    return np.where((wide > 2.0**-127) & (wide < 1.5 * 2.0**-127), 0, bits).astype(bits.dtype)


def reference(values, target):
    """The correct result for values that f32 represents: ml_dtypes' where it has the type, else the model's."""
    if target.dtype is None:
        return target.encode(widened(values))
    return without_known_differences(target, cast(values, target), values)


def specials(dtype):
    info = np.finfo(dtype)
    positive = [0, 1, info.max, info.tiny, info.smallest_subnormal, np.inf, np.nan, 0.5, 2, 448, 464, 480, 6, 65520]
    return np.concatenate([np.array(positive, dtype), -np.array(positive, dtype)])


def neighbourhoods(target, dtype):
    """Every value of the target and every midpoint, each with two steps of `dtype` around it; both signs."""
    centres = np.concatenate([target.values, target.midpoints]).astype(dtype)
    bits = centres.view(np.dtype(f"i{dtype().itemsize}"))
    around = np.concatenate([bits + step for step in range(-2, 3)])
    around = around[around >= 0].view(dtype)
    return np.concatenate([around, -around, specials(dtype)])


def random_reals(random, dtype, count):
    """Half of them uniform over all bit patterns, half with exponents near those of the small formats."""
    width = np.dtype(dtype).itemsize
    patterns = np.frombuffer(random.bytes(width * (count // 2)), dtype)
    near = np.ldexp(random.standard_normal(count - count // 2), random.integers(-30, 20, count - count // 2))
    return np.concatenate([patterns, near.astype(dtype)])


def chunks(samples):
    while samples > 0:
        yield min(samples, CHUNK)
        samples -= CHUNK


# --- all values of the small types


@by_name(SMALL_REALS)
def test_every_value_of_a_small_real(numerics, type):
    bits = type.all_bits()
    values = bits.view(type.dtype)
    exact = widened(values)
    for target in REALS:
        expected = reference(values, target)
        assert_same(target, numerics.convert(type, bits, target), expected, values, type.name)
    for target in INTEGERS:
        assert_same(target, numerics.convert(type, bits, target), target.truncate(exact), values, type.name)


@by_name(SMALL_INTEGERS)
def test_every_value_of_a_small_integer(numerics, type):
    bits = type.all_bits()
    values = bits.view(type.dtype)
    for target in REALS:
        expected = reference(values, target)
        assert_same(target, numerics.convert(type, bits, target), expected, values, type.name)
    for target in INTEGERS:
        assert_same(target, numerics.convert(type, bits, target), cast(values.astype(np.int64), target), values, type.name)


@by_name(SMALL_REALS + SMALL_INTEGERS)
def test_the_model_lists_the_values_that_ml_dtypes_has(type):
    if isinstance(type, Real):
        codes = np.arange(len(type.values), dtype=type.bits_dtype)
        assert (codes.view(type.dtype).astype(np.float64) == type.values).all()


# --- reals of 32 and 64 bits


@by_name(LISTED_REALS)
def test_f32_around_every_value_and_midpoint(numerics, type):
    values = neighbourhoods(type, np.float32)
    expected = type.encode(widened(values))
    assert_same(type, reference(values, type), expected, values, "ml_dtypes instead of the model, f32")
    assert_rounds(numerics, F32, values, type, expected)


@by_name(LISTED_REALS)
def test_f64_around_every_value_and_midpoint(numerics, type):
    values = neighbourhoods(type, np.float64)
    assert_rounds(numerics, F64, values, type, type.encode(values))


@by_name(LISTED_REALS)
def test_random_f32(numerics, random, request, type):
    for count in chunks(request.config.option.samples):
        values = random_reals(random, np.float32, count)
        assert_rounds(numerics, F32, values, type, reference(values, type))


@by_name(LISTED_REALS)
def test_random_f64(numerics, random, request, type):
    for count in chunks(request.config.option.samples // 10):
        values = random_reals(random, np.float64, count)
        assert_rounds(numerics, F64, values, type, type.encode(values))


def test_between_f32_and_f64(numerics, random, request):
    for count in chunks(request.config.option.samples):
        values = random_reals(random, np.float64, count)
        singles = random_reals(random, np.float32, count)
        # Halfway between two f32, and one step of f64 to either side.
        halfway = (singles.view(np.uint32).astype(np.uint64) << 29 | 1 << 28).view(np.float64)
        around = np.concatenate([np.nextafter(halfway, -np.inf), halfway, np.nextafter(halfway, np.inf)])
        for wide in (values, around, specials(np.float64)):
            assert_rounds(numerics, F64, wide, F32, cast(wide, F32))
        assert_rounds(numerics, F32, singles, F64, cast(singles, F64))


@by_name(REALS[:-2])
def test_saturating(numerics, random, type):
    values = np.concatenate([neighbourhoods(type, np.float64), random_reals(random, np.float64, 100_000)])
    assert_same(type, numerics.saturate(values, type), type.encode(values, saturate=True), values, "saturating f64")


# --- where ml_dtypes differs, and which result is right


@by_name([t for t in SMALL_REALS if t.name != "f16"])
def test_known_difference_ml_dtypes_rounds_f64_twice(numerics, type):
    """ml_dtypes 0.6 casts float64 through float32, so a value within 2^-25 of a midpoint can be rounded the wrong way.

    IEEE 754 rounds once, as we do; jaxlib rounds once to the 8-bit types and twice to bf16.
    All differences are explained: ml_dtypes' result is the right one for the float32 next to the value. For
    f8E8M0FNU, where ties round up, only values below a midpoint differ.
    """
    values = np.concatenate([np.nextafter(type.midpoints, 0), np.nextafter(type.midpoints, np.inf)])
    theirs, once = cast(values, type), type.encode(values)
    twice = type.encode(values.astype(np.float32).astype(np.float64))
    assert_same(type, theirs, twice, values, "ml_dtypes through f32, f64")
    assert (theirs != once).any(), "ml_dtypes now rounds once: delete this test and compare with it directly"
    assert_rounds(numerics, F64, values, type, once)


def test_known_difference_small_scales(numerics):
    """ml_dtypes 0.6 rounds f32 subnormals up in f8E8M0FNU, whatever is nearest."""
    type = BY_NAME["f8E8M0FNU"]
    values = np.array([2.0**-127 * f for f in (1, 1.25, 1.5, 1.75)], np.float32)
    assert cast(values, type).tolist() == [0, 1, 1, 1], "ml_dtypes changed: without_known_differences can go"
    assert numerics.convert(F32, values, type).tolist() == [0, 0, 1, 1]


# --- integers


def awkward_integers(random, type, count):
    """Random magnitudes, and integers that an intermediate float or double would round to a tie."""
    spread = random.integers(-2**63, 2**63 - 1, count, np.int64, endpoint=True) >> random.integers(0, 63, count)
    middle = np.concatenate([t.midpoints for t in SMALL_REALS])
    middle = middle[(middle < 2.0**62) & (middle == np.floor(middle))].astype(np.int64)
    near = np.concatenate([m + step for m in (middle, -middle) for step in (-2, -1, 0, 1, 2)])
    ends = np.array([0, 1, -1, 2**63 - 1, -2**63, 2**53 + 1, 2**62 + 2**38 + 1], np.int64)
    return np.concatenate([spread, near, ends]).astype(type.dtype)


@by_name([t for t in INTEGERS if t.width >= 32])
def test_large_integers_round_once(numerics, random, type):
    values = awkward_integers(random, type, 200_000)
    assert np.finfo(np.longdouble).nmant >= 63, "needs a long double that holds every 64-bit integer"
    exact = values.astype(np.longdouble)
    for target in LISTED_REALS:
        assert_rounds(numerics, type, values, target, target.encode(exact))
    for target in (F32, F64):
        assert_rounds(numerics, type, values, target, cast(exact, target))
    for target in INTEGERS:
        assert_rounds(numerics, type, values, target, cast(values.astype(np.int64), target))


@pytest.mark.parametrize("source", (F32, F64), ids=lambda t: t.name)
def test_truncation(numerics, random, source):
    dtype = source.dtype.type
    ends = np.ldexp(1.0, np.arange(-2, 66)).astype(dtype)
    ends = np.concatenate([ends, np.nextafter(ends, dtype(0)), np.nextafter(ends, dtype(np.inf)), ends + dtype(0.5)])
    values = np.concatenate([ends, -ends, specials(dtype), random_reals(random, dtype, 20_000)])
    for target in INTEGERS:
        assert_rounds(numerics, source, values, target, target.truncate(values.astype(np.float64)))


def test_truncation_is_what_jaxlib_does(numerics):
    import jax
    jax.config.update("jax_enable_x64", True)
    ends = np.ldexp(1.0, np.arange(0, 66)).astype(np.float32)
    ends = np.concatenate([ends, np.nextafter(ends, np.float32(0)), ends + np.float32(0.5), [np.inf, np.nan]])
    values = np.concatenate([ends, -ends]).astype(np.float32)
    for target in INTEGERS:
        theirs = np.asarray(jax.jit(lambda x: jax.lax.convert_element_type(x, target.dtype))(values))
        mask = target.bits_dtype.type((1 << target.width) - 1)
        assert_rounds(numerics, F32, values, target, theirs.view(target.bits_dtype) & mask)


def test_pred(numerics, random):
    pred = BY_NAME["ui8"]
    for source in REALS[:-2]:
        if source.width > 16:
            continue
        bits = source.all_bits()
        back = numerics.call(f"convert {source.name} i1 {bits.size}", bits, bytes_back=bits.size)
        assert (back == (bits.view(source.dtype).astype(np.float32) != 0)).all(), source.name
    for target in REALS + INTEGERS:
        back = numerics.call(f"convert i1 {target.name} 3", np.array([0, 1, 255], np.uint8),
                             bytes_back=3 * target.bits_dtype.itemsize).view(target.bits_dtype)
        one = numerics.convert(pred, np.array([0, 1, 1], np.uint8), target)
        assert (back == one).all(), target.name


def test_complex(numerics, random):
    values = (random.standard_normal(1000) + 1j * random.standard_normal(1000)).astype(np.complex128)
    back = numerics.call("convert complex<f64> complex<f32> 1000", values, bytes_back=8000).view(np.complex64)
    assert (back == values.astype(np.complex64)).all()
    back = numerics.call("convert complex<f32> bf16 1000", back, bytes_back=2000).view(np.uint16)
    assert (back == cast(values.real.astype(np.float32), BY_NAME["bf16"])).all()
    back = numerics.call("convert i64 complex<f64> 3", np.array([-1, 0, 1]), bytes_back=48).view(np.complex128)
    assert (back == [-1, 0, 1]).all()
