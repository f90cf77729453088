"""Compares block scaling with a model in rational numbers, which rounds only where the rules say so."""
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from formats import BY_NAME, Real

E8M0, E4M3, F32 = BY_NAME["f8E8M0FNU"], BY_NAME["f8E4M3FN"], BY_NAME["f32"]


@dataclass(frozen=True)
class Format:
    name: str
    element: Real
    scale: Real
    block: int

    def blocks(self, count):
        return -(-count // self.block)


MX = [Format("mxfp8-e4m3", BY_NAME["f8E4M3FN"], E8M0, 32), Format("mxfp8-e5m2", BY_NAME["f8E5M2"], E8M0, 32),
      Format("mxfp6-e2m3", BY_NAME["f6E2M3FN"], E8M0, 32), Format("mxfp6-e3m2", BY_NAME["f6E3M2FN"], E8M0, 32),
      Format("mxfp4", BY_NAME["f4E2M1FN"], E8M0, 32)]
NVFP4 = Format("nvfp4", BY_NAME["f4E2M1FN"], E4M3, 16)
FORMATS = MX + [NVFP4]
every_format = pytest.mark.parametrize("format", FORMATS, ids=lambda f: f.name)

# --- the model


def value(type, code):
    """A finite code as a rational."""
    magnitude = code & ~type.sign_bit if type.signed else code
    return Fraction(type.values[magnitude]) * (-1 if code & type.sign_bit else 1)


def nearest(type, x):
    """The code of the value nearest to a rational; ties to the even code; values beyond the largest become the largest."""
    values = [Fraction(v) for v in type.values]
    distance = [abs(abs(x) - v) for v in values]
    best = min(distance)
    code = max((c for c, d in enumerate(distance) if d == best), key=lambda c: c % 2 == 0)
    return code | (type.sign_bit if x < 0 else 0)


def floor_log2(x):
    power = x.numerator.bit_length() - x.denominator.bit_length()
    return power if Fraction(2)**power <= x else power - 1


def model_quantise(format, values, global_scale):
    elements, scales = [], []
    top = Fraction(format.element.values[-1])
    for begin in range(0, len(values), format.block):
        block = [Fraction(float(v)) for v in values[begin:begin + format.block]]
        largest = max(map(abs, block))
        if format is NVFP4:
            scale = nearest(E4M3, largest / top / Fraction(float(global_scale)))
            step = value(E4M3, scale) * Fraction(float(global_scale))
        else:
            scale = max(0, min(254, floor_log2(largest) - floor_log2(top) + 127)) if largest else 0
            step = Fraction(2)**(scale - 127)
        scales.append(scale)
        elements += [nearest(format.element, v / step) if step else 0 for v in block]
    return elements, scales


def rounded(x, type):
    """The value of an IEEE-like type nearest to a rational, ties to even, as a Python float."""
    if x == 0:
        return 0.0
    quantum = Fraction(2)**max(floor_log2(abs(x)) - type.mantissa, 1 - type.bias - type.mantissa)
    result = round(x / quantum) * quantum  # Python rounds a Fraction half to even
    beyond = abs(result) >= Fraction(2)**(type.bias + 1)
    return float("inf" if result > 0 else "-inf") if beyond else float(result)


# --- our code


def quantise(numerics, format, values, global_scale):
    blocks = format.blocks(len(values))
    back = numerics.call(f"quantise {format.name} {float(global_scale).hex()} {len(values)}", values,
                         bytes_back=len(values) + blocks)
    return back[:len(values)], back[len(values):]


def dequantise(numerics, format, elements, scales, global_scale):
    return numerics.call(f"dequantise {format.name} {float(global_scale).hex()} {len(elements)}", elements, scales,
                         bytes_back=4 * len(elements)).view(np.float32)


def global_scale_for(numerics, format, values):
    if format is not NVFP4:
        return np.float32(1)
    return numerics.call(f"globalscale {len(values)}", values, bytes_back=4).view(np.float32)[0]


def finite_codes(random, type, count):
    codes = np.array([c for c in range(1 << type.width) if (c & ~type.sign_bit) < type.finite_count], np.uint8)
    return random.choice(codes, count)


def rows(random):
    """Rows of f32 of many kinds and lengths."""
    for length in (1, 15, 16, 17, 31, 32, 33, 96, 200):
        normal = random.standard_normal(length).astype(np.float32)
        yield normal
        yield np.ldexp(normal, random.integers(-30, 30, length)).astype(np.float32)
        yield np.ldexp(normal, -135).astype(np.float32)  # subnormal, and the smallest scale
        yield np.ldexp(normal, 125).astype(np.float32).clip(-3e38, 3e38)
        yield np.where(random.random(length) < 0.7, 0, normal).astype(np.float32)
        # Small integers divided by powers of two: many ties between elements.
        yield np.ldexp(random.integers(-64, 65, length), random.integers(-3, 3, length)).astype(np.float32)


# --- tests


@every_format
def test_quantise(numerics, random, format):
    for values in rows(random):
        scale = global_scale_for(numerics, format, values)
        for global_scale in {scale, np.float32(scale * np.float32(3.7))} if format is NVFP4 else {scale}:
            elements, scales = quantise(numerics, format, values, global_scale)
            expected_elements, expected_scales = model_quantise(format, values, global_scale)
            assert scales.tolist() == expected_scales, values
            # The model has no -0.
            sign = format.element.sign_bit
            assert [int(e) if e != sign else 0 for e in elements] == [e if e != sign else 0 for e in expected_elements], values


def test_global_scale(numerics, random):
    for values in rows(random):
        largest = max(abs(Fraction(float(v))) for v in values)
        expected = max(rounded(largest / (6 * 448), F32), 2.0**-126) if largest else 1
        assert global_scale_for(numerics, NVFP4, values) == expected, values


@every_format
def test_dequantise(numerics, random, format):
    for global_scale in (np.float32(1), np.float32(0.0123), np.float32(1e-38), np.float32(3e38)):
        elements = finite_codes(random, format.element, 256)
        scales = finite_codes(random, format.scale, format.blocks(256))
        values = dequantise(numerics, format, elements, scales, global_scale)
        factor = Fraction(float(global_scale)) if format is NVFP4 else 1
        expected = [rounded(value(format.element, int(e)) * value(format.scale, int(scales[i // format.block])) * factor, F32)
                    for i, e in enumerate(elements)]
        assert values.tolist() == expected


@every_format
@pytest.mark.parametrize("other", FORMATS, ids=lambda f: f.name)
def test_dot(numerics, random, format, other):
    for length in (1, 16, 33, 128):
        sides, words, total = [], [], Fraction(1)
        products = [Fraction(1)] * length
        for side in (format, other):
            elements = finite_codes(random, side.element, length)
            scales = finite_codes(random, side.scale, side.blocks(length))
            if random.random() < 0.5 and side is not NVFP4:
                scales = np.clip(scales, 117, 137)  # close enough that the sum has many significant bits
            global_scale = np.float32(random.standard_normal()) if side is NVFP4 else np.float32(1)
            sides += [elements, scales]
            words += [side.name, float(global_scale).hex()]
            total *= Fraction(float(global_scale))
            products = [p * value(side.element, int(e)) * value(side.scale, int(scales[i // side.block]))
                        for i, (p, e) in enumerate(zip(products, elements))]
        exact = sum(products) * total
        for type in (F32, BY_NAME["f64"], BY_NAME["bf16"], BY_NAME["f16"]):
            back = numerics.call(f"dot {' '.join(words)} {type.name} {length}", *sides, bytes_back=type.width // 8)
            assert float(back.view(type.dtype)[0]) == rounded(exact, type), type.name


@every_format
def test_requantising_changes_nothing(numerics, random, format):
    for values in rows(random):
        global_scale = global_scale_for(numerics, format, values)
        elements, scales = quantise(numerics, format, values, global_scale)
        again = quantise(numerics, format, dequantise(numerics, format, elements, scales, global_scale), global_scale)
        # A subnormal e4m3 scale is too coarse to be recomputed from the values it scaled.
        kept = np.ones(len(scales), bool) if format is not NVFP4 else scales >= 8
        assert (again[1] == scales)[kept].all(), values
        assert (again[0] == elements)[np.repeat(kept, format.block)[:len(elements)]].all(), values
