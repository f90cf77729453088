"""Ops that move rows along sharded dimensions, windows, and ops over batches, sharded at random and compared with one device.

    pytest test/jax/test_shifted_split.py --programs 500 --seed 7

Each program has one op, with random sizes, strides, paddings and dilations. Values are small integers, so that sums are exact in any order and results must be equal.
"""

import random

import dividing
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export, lax

KINDS = {}


def kind(function):
    KINDS[function.__name__] = function
    return function


def small(rng, shape, dtype=np.float32):
    return np.random.default_rng(rng.randrange(2**31)).integers(-4, 5, shape).astype(dtype)


def sizes(rng, rank, factors=(8, 16, 24, 32)):
    """A dimension that is probably sharded, and small others."""
    shape = [rng.choice((1, 2, 3, 4)) for _ in range(rank)]
    shape[rng.randrange(rank)] = rng.choice(factors)
    if rng.random() < 0.3:
        shape[rng.randrange(rank)] = rng.choice(factors)
    return shape


@kind
def slices(rng):
    """Rows of the result are divisible by 8 where possible."""
    x = small(rng, sizes(rng, 2, (16, 24, 32, 64, 96)), rng.choice((np.float32, np.int8, np.complex64, np.bool_)))
    starts, limits, strides = [], [], []
    for size in x.shape:
        stride = rng.choice((1, 1, 2, 3, 4)) if size >= 16 else 1
        rows = rng.choice([r for r in (1, 2, 4, 8, 16, 24, 32, size) if (r - 1) * stride < size])
        start = rng.randint(0, size - (rows - 1) * stride - 1)
        starts.append(start), limits.append(start + (rows - 1) * stride + 1), strides.append(stride)
    return lambda x: lax.slice(x, starts, limits, strides), [x]


@kind
def pads(rng):
    x = small(rng, sizes(rng, 2))
    config = []
    for size in x.shape:
        interior = rng.choice((0, 0, 1, 2))
        inner = size + (size - 1) * interior
        low = rng.choice((0, 1, 3, 8, 40, -1, -3))
        # Most results are divisible by 8.
        high = -(inner + low) % 8 + rng.choice((0, 0, 8, -8, 40)) if size >= 8 else rng.choice((0, 1))
        if inner + low + high < 0 or inner + high < 0 or inner + low < 0:
            low, high = 1, 7
        config.append((low, high, interior))
    value = np.float32(rng.choice((0, 0, -0.0, 5)))
    return lambda x: lax.pad(x, value, config), [x]


@kind
def reverses(rng):
    x = small(rng, sizes(rng, 3))
    dims = rng.sample(range(3), rng.randint(1, 3))
    return lambda x: lax.rev(x, dims), [x]


@kind
def concatenations(rng):
    shape = sizes(rng, 2)
    dim = int(np.argmax(shape))
    arrays = []
    for _ in range(rng.randint(2, 4)):
        shape[dim] = rng.choice((8, 16, 24))
        arrays.append(small(rng, shape))
    return lambda *a: lax.concatenate(a, dim), arrays


@kind
def rolls(rng):
    x = small(rng, sizes(rng, 2))
    dim, shift = int(np.argmax(x.shape)), rng.randint(-40, 40)
    return lambda x: jnp.roll(x, shift, dim), [x]


def window(rng, size):
    return dict(
        taps=rng.choice((1, 2, 3, 5)),
        stride=rng.choice((1, 1, 2, 3)),
        low=rng.choice((0, 0, 1, 2, 9)),
        base=rng.choice((1, 1, 1, 2, 3)),
        dilation=rng.choice((1, 1, 2)),
    )


def fitted(rng, size, w, windows=(8, 16, 24, 32)):
    """High padding that gives a divisible number of windows."""
    reach = (w["taps"] - 1) * w["dilation"] + 1
    dilated = (size - 1) * w["base"] + 1 + w["low"]
    return (rng.choice(windows) - 1) * w["stride"] + reach - dilated


@kind
def pools(rng):
    x = small(rng, sizes(rng, 2))
    ws = [window(rng, size) for size in x.shape]
    highs = [fitted(rng, size, w) for size, w in zip(x.shape, ws)]
    for w, high in zip(ws, highs):
        if high < 0:
            w["low"] = max(0, w["low"])
    highs = [max(high, 0) if size + w["low"] >= 8 else rng.choice((4, 6)) for size, w, high in zip(x.shape, ws, highs)]
    highs = [max(h, w["taps"] * w["dilation"]) if h < 0 else h for h, w in zip(highs, ws)]
    init, body = rng.choice(((-np.inf, lax.max), (0, lax.add), (np.inf, lax.min), (0, lax.max)))

    def pooled(x):
        return lax.reduce_window(
            x, np.float32(init), body, [w["taps"] for w in ws], [w["stride"] for w in ws],
            [(w["low"], h) for w, h in zip(ws, highs)], [w["base"] for w in ws], [w["dilation"] for w in ws],
        )  # fmt: skip

    return pooled, [x]


@kind
def pool_gradients(rng):
    x = small(rng, [rng.choice((1, 2)), rng.choice((16, 32, 48)), rng.choice((4, 8))])
    taps, stride = rng.choice(((2, 2), (1, 2), (4, 4), (3, 1), (3, 2), (1, 4)))
    windows = x.shape[1] // stride
    x = x[:, : (windows - 1) * stride + taps] if (windows - 1) * stride + taps <= x.shape[1] else x
    windows = (x.shape[1] - taps) // stride + 1
    y = small(rng, [x.shape[0], windows, x.shape[2]])

    def gradient(x, y):
        pool = lambda x: lax.reduce_window(x, -np.inf, lax.max, (1, taps, 1), (1, stride, 1), "VALID")
        return jax.vjp(pool, x)[1](y)[0]

    return gradient, [x, y]


def convolution(rng, groups=(1, 1, 2, 8), batch_groups=False):
    g = rng.choice(groups)
    size = rng.choice((16, 24, 32))
    w = window(rng, size)
    high = fitted(rng, size, w, (8, 16, 24))
    channels = g * rng.choice((1, 2))
    outputs = g * rng.choice((1, 2))
    batch = rng.choice((1, 2, 8))
    numbers = rng.choice((("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW")))
    shape = {"N": batch, "H": size, "W": 4, "C": channels}
    kernel = {"H": w["taps"], "W": 3, "I": channels // g, "O": outputs}
    x = small(rng, [shape[d] for d in numbers[0]])
    k = small(rng, [kernel[d] for d in numbers[1]])

    def convolve(x, k):
        return lax.conv_general_dilated(
            x, k, (w["stride"], 1), ((w["low"], high), (1, 1)), (w["base"], 1), (w["dilation"], 1), numbers,
            feature_group_count=g,
        )  # fmt: skip

    return convolve, x, k


@kind
def convolutions(rng):
    convolve, x, k = convolution(rng)
    return convolve, [x, k]


@kind
def convolution_gradients(rng):
    convolve, x, k = convolution(rng)
    y = small(rng, jax.eval_shape(convolve, x, k).shape)
    return lambda x, k, y: jax.vjp(convolve, x, k)[1](y), [x, k, y]


@kind
def last_rows(rng):
    """One row of a sharded array, as in a decoder's last position."""
    x = small(rng, sizes(rng, 3), rng.choice((np.float32, np.int32, np.bool_)))
    dim = int(np.argmax(x.shape))
    return lambda x: lax.index_in_dim(x, rng.choice((-1, 0, 5)), dim, keepdims=False), [x]


@kind
def transforms(rng):
    x = small(rng, [rng.choice((8, 16)), rng.choice((4, 8)), 8])
    return rng.choice((jnp.fft.rfft, jnp.fft.fft, lambda x: jnp.fft.irfft(x + 0j))), [x]


@kind
def random_bits(rng):
    """Bits of generators with counters; results are sharded, so that each device makes its own."""
    shape = rng.choice(((16, 3), (8, 8), (32,), (1, 16, 2), (64,), (16, 5)))
    dtype = rng.choice((jnp.uint32, jnp.uint8))
    algorithm = rng.choice((lax.RandomAlgorithm.RNG_PHILOX, lax.RandomAlgorithm.RNG_THREE_FRY, lax.RandomAlgorithm.RNG_DEFAULT))
    words = 2 if algorithm == lax.RandomAlgorithm.RNG_THREE_FRY else rng.choice((2, 3))
    state = np.array([[7, 9], [2**32 - 2, 2**32 - 1], [5, 6]], np.uint32)[:words].reshape(-1)
    if words == 3:
        words, state = 2, state[:4]
    return lambda s, x: [*lax.rng_bit_generator(s, shape, dtype, algorithm), x], [state, small(rng, [8])]


@kind
def factors(rng):
    """Of products of triangles of small integers: roots and quotients are exact."""
    n, batch = rng.choice((2, 4)), sizes(rng, 2, (8, 16))
    triangle = np.tril(small(rng, [*batch, n, n])) * (1 - np.eye(n, dtype=np.float32)) + 2 * np.eye(n, dtype=np.float32)
    return lax.linalg.cholesky, [triangle @ np.swapaxes(triangle, -1, -2)]


@kind
def solutions(rng):
    n, batch, lower = rng.choice((2, 4)), sizes(rng, 2, (8, 16)), rng.random() < 0.5
    a, b = small(rng, [*batch, n, n]), small(rng, [*batch, n, rng.choice((1, 3, 8))])
    transposed = rng.random() < 0.5
    return lambda a, b: lax.linalg.triangular_solve(
        a, b, left_side=True, lower=lower, transpose_a=transposed, unit_diagonal=True
    ), [a, b]


@pytest.mark.parametrize("name", KINDS)
def test_sharded_like_one_device(name, tmp_path, pytestconfig):
    seed = pytestconfig.getoption("--seed")
    count = max(pytestconfig.getoption("--programs") // len(KINDS), 3)
    cases = []
    for i in range(count):
        rng = random.Random(f"{seed}/{name}/{i}")
        function, arguments = KINDS[name](rng)
        # For TPUs, JAX keeps the ops that it replaces by calls of LAPACK on CPUs.
        platform = "tpu" if name in ("factors", "solutions") else "cpu"
        exported = export.export(jax.jit(function, keep_unused=True), platforms=[platform])(*arguments)
        outputs = [(aval.shape, np.dtype(aval.dtype)) for aval in exported.out_avals]
        case = dividing.Case(f"{name}{i}", exported.mlir_module_serialized, arguments, outputs, tmp_path, rng)
        cases.append(case)

    def judge(case, device, got, wanted):
        for index, (actual, expected) in enumerate(zip(got, wanted)):
            if name == "transforms":
                same = np.allclose(actual, expected, rtol=1e-5, atol=1e-4)
            else:
                same = np.array_equal(actual, expected)
            if not same:
                where = np.argwhere(actual != expected)
                return f"output {index} of device {device} differs from {where[:1]} on, in {len(where)} elements"
        return None

    wrong, _, _, runs = dividing.compare(cases, tmp_path, judge)
    if wrong:
        pytest.fail(f"{len(wrong)} of {runs} disagree, the shortest is\n{min(wrong, key=len)}")
