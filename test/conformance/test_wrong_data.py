"""The artifacts of wrong-data.txt are wrong: their expected results fail their own check.

Each is read by jaxlib (not by us), its function is computed from its inputs in extended precision by numpy, rounded
once, and compared with the expected results by the rule of the check that the artifact calls. An entry of the list is
justified if some expected element is further from the exact result than the check allows.
"""

import os
import pathlib
import re

import numpy as np
import pytest
from jax._src.interpreters import mlir
from jaxlib.mlir.dialects import stablehlo

FOLDER = pathlib.Path(os.environ.get("TILEWRIGHT_CONFORMANCE_DIR", "")) / "stablehlo"
LIST = pathlib.Path(__file__).parent / "wrong-data.txt"

needs_data = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no conformance data in '{FOLDER}'")


def listed():
    lines = LIST.read_text().splitlines()
    return [line.split(":")[0] for line in lines if line and not line.startswith("#")]


DTYPES = {"f32": np.float32, "f64": np.float64, "complex<f32>": np.complex64, "complex<f64>": np.complex128}


def values(constant):
    """The elements of a constant, parsed from its text: the bindings do not return complex ones."""
    text = constant.get_asm()
    literal, dims, element = re.search(r"dense<(.*)> : tensor<([0-9x]*)x([a-z].*)>", text).groups()
    dtype = np.dtype(DTYPES[element])
    if literal.startswith('"0x'):
        flat = np.frombuffer(bytes.fromhex(literal[3:-1]), dtype)
    else:
        component = np.float32 if "f32" in element else np.float64
        flat = np.array(re.findall(r"[-+.0-9eE]+", literal), dtype=component).view(dtype)
    return flat.reshape([int(size) for size in dims.split("x")])


def constants(name):
    """The constants of @inputs and of @expected."""
    context = mlir.make_ir_context()
    data = (FOLDER / f"{name}.mlirbc").read_bytes()
    found = {"inputs": [], "expected": []}
    with context:
        module = stablehlo.deserialize_portable_artifact(context, data)
        for function in module.body.operations:
            if function.name.value in found:
                for op in function.regions[0].blocks[0].operations:
                    if op.operation.name == "stablehlo.constant":
                        found[function.name.value].append(values(op.operation))
    return found["inputs"], found["expected"][0]


def wide(array):
    return array.astype(np.clongdouble if np.iscomplexobj(array) else np.longdouble)


def dft_matrix(rows, columns, size, sign):
    angle = 2 * np.longdouble("3.14159265358979323846264338327950288") / size
    steps = np.outer(np.arange(rows), np.arange(columns)) % size
    return np.cos(angle * steps) + sign * 1j * np.sin(angle * steps)


def along(matrix, array, axis):
    return np.moveaxis(np.tensordot(array, matrix, axes=(axis, 1)), -1, axis)


def rfft(array):
    size = array.shape[-1]
    return along(dft_matrix(size // 2 + 1, size, size, -1), wide(array), -1)


def irfft(array, lengths):
    array = wide(array)
    for axis, size in zip(range(-len(lengths), -1), lengths[:-1]):
        array = along(dft_matrix(size, size, size, 1), array, axis) / size
    size = lengths[-1]
    # Each frequency except the first and the middle one stands for two.
    weight = np.full(array.shape[-1], 2, dtype=np.longdouble)
    weight[0] = 1
    if size % 2 == 0:
        weight[-1] = 1
    return (along(dft_matrix(size, array.shape[-1], size, 1), array * weight, -1) / size).real


def triangular_solve(a, b):
    """Solves x a = b for x, where only a's upper triangle is used."""
    a, b = wide(a), wide(b)
    x = np.zeros_like(b)
    for i in range(a.shape[-1]):
        x[..., i] = (b[..., i] - np.einsum("...rk,...k->...r", x[..., :i], a[..., :i, i])) / a[..., i, i][..., None]
    return x


EXACT = {
    "cumprod_complex64_8_9": lambda x: np.cumprod(wide(x), axis=0),
    "fft_complex128_14_15_16_17": lambda x: irfft(x, [33]),
    "fft_complex64_14_15_16_17": lambda x: irfft(x, [15, 16, 32]),
    "fft_float32_14_15_16_17": rfft,
    "fft_float64_14_15_16_17": rfft,
    "pow_complex64_20_30_complex64_20_30": lambda x, y: np.exp(wide(y) * np.log(wide(x))),
    "sin_complex64_20_20": lambda x: np.sin(wide(x)),
    "triangular_solve_float32_2_8_8_float32_2_10_8": triangular_solve,
}
# The tolerance of check.expect_almost_eq; check.expect_close allows ULPS values of the type.
TOLERANCE, ULPS = 0.001, 3
ALMOST = {"cumprod_complex64_8_9", "pow_complex64_20_30_complex64_20_30", "sin_complex64_20_20"}


def parts(array):
    return np.stack([array.real, array.imag]) if np.iscomplexobj(array) else array


def ulps_apart(a, b):
    integer = np.int32 if a.dtype == np.float32 else np.int64

    def steps(x):
        bits = np.abs(x).view(integer).astype(np.int64)
        return np.where(np.signbit(x), -bits, bits)

    return np.abs(steps(a) - steps(b))


def test_every_entry_has_a_proof():
    assert sorted(listed()) == sorted(EXACT)


@needs_data
@pytest.mark.parametrize("name", sorted(EXACT))
def test_expected_results_fail_their_own_check(name):
    inputs, expected = constants(name)
    exact = parts(EXACT[name](*inputs))
    expected = parts(expected)
    # The formula is correct: nearly all exact results are close to the expected ones.
    scale = np.max(np.abs(exact))
    assert np.max(np.abs(expected - exact)) < 1e-3 * scale
    if name in ALMOST:
        wrong = np.abs(expected - exact) > TOLERANCE
    else:
        wrong = ulps_apart(exact.astype(expected.dtype), expected) > ULPS
        # Extended precision cannot distinguish a zero from its own rounding error.
        wrong &= np.abs(exact) > 1e-12 * scale
    print(f"{name}: {np.count_nonzero(wrong)} of {wrong.size} expected values are wrong")
    assert np.any(wrong)
