"""Hand-written programs for GPUs: products, softmax, norms and their gradients, reductions, transposes, elementwise functions, windows,
random bits and Fourier transforms.

Each is a function of arrays, with the class of its tolerance (test/jax/agreement.py) or a bound of its own. Products in
tf32 round their factors, so the tolerance follows from the sum of the absolute products. For products with an epilogue of
functions and sums, and for norms, the tolerance follows from all terms of all sums (bounds.py).
"""

import collections.abc
import dataclasses
import functools
import itertools

import jax
import ml_dtypes
import numpy as np
from jax import lax
from jax import numpy as jnp

F16, BF16, F32 = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16), np.dtype(np.float32)
E4M3, E5M2, I8 = np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2), np.dtype(np.int8)
I4, U4, E2M1 = np.dtype(ml_dtypes.int4), np.dtype(ml_dtypes.uint4), np.dtype(ml_dtypes.float4_e2m1fn)


@dataclasses.dataclass(frozen=True)
class GpuCase:
    name: str
    function: callable
    arguments: tuple
    op_class: str = "elementary"
    # For products and sums: the allowed error of an element, in units of 2^-24 of the sum of absolute terms. A function computes
    # these sums, since a run compares few of the cases.
    product_units: float = 0.0
    absolute: collections.abc.Callable[[], np.ndarray] | None = None
    # Results are also compared with bounds that follow from every sum of the program.
    bounded: bool = False
    # The exact result, for sums whose evaluation in f32 is as far from it as a kernel may be.
    exact: np.ndarray | None = None
    # The platform for which JAX lowers the program.
    platform: str = "cpu"

    def allowing(self, change):
        """The case with other sums: what `change` returns for these."""
        return dataclasses.replace(self, absolute=lambda: change(self.absolute()))


_random = np.random.default_rng(7)


def numbers(shape, dtype=F32, low=-1.0, high=1.0):
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return _random.integers(0, 2, shape).astype(bool)
    if dtype in (I4, U4):
        return _random.integers(0 if dtype == U4 else -8, 16 if dtype == U4 else 8, shape).astype(dtype)
    if dtype.kind in "iu":
        return _random.integers(max(low, 0) if dtype.kind == "u" else -20, 21, shape).astype(dtype)
    if dtype.kind == "c":
        return (_random.uniform(low, high, shape) + 1j * _random.uniform(low, high, shape)).astype(dtype)
    return _random.uniform(low, high, shape).astype(np.float32).astype(dtype)


def _result(dtype):
    return np.int32 if dtype.kind == "i" else F32


def product(name, lhs, rhs, contract, batch=((), ()), after=None, before=None, more=(), result=None, units=None, precision=None):
    """lhs · rhs with the prologue `before` and the epilogue `after`."""
    result = np.dtype(result or _result(lhs.dtype))

    def function(a, b, *rest):
        if before:
            a, b = before(a, b)
        d = lax.dot_general(a, b, (contract, batch), precision=precision, preferred_element_type=result)
        return after(d, *rest) if after else d

    if units is None:
        units = 2.0**15 if lhs.dtype == F32 else 64.0

    def absolute():
        magnitudes = [jnp.asarray(np.abs(x.astype(np.float64)), jnp.float32) for x in (lhs, rhs)]
        return np.asarray(lax.dot_general(*magnitudes, (contract, batch)), np.float64)

    return GpuCase(name, function, (lhs, rhs, *more), "contraction", units, absolute)


TYPES = {"f16": (F16, F16), "bf16": (BF16, BF16), "tf32": (F32, F32), "e4m3": (E4M3, E4M3), "e5m2": (E5M2, E5M2),
         "e4m3e5m2": (E4M3, E5M2), "s8": (I8, I8)}  # fmt: skip
RAGGED = [(1, 1, 1), (1, 1000, 64), (1000, 1, 33), (17, 33, 65), (64, 64, 64), (100, 200, 300), (127, 129, 999),
          (128, 256, 64), (3, 5, 1000), (250, 31, 128)]  # fmt: skip


def operands(types, transposes, m, n, k, batch=()):
    """The operands of a product, each as it is or transposed ("nt"), and their contracted dimensions."""
    shapes = [(m, k) if transposes[0] == "n" else (k, m), (k, n) if transposes[1] == "n" else (n, k)]
    contract = tuple((len(batch) + (side == order),) for side, order in zip("nt", transposes))
    return *(numbers((*batch, *shape), dtype) for shape, dtype in zip(shapes, types)), contract


def products():
    for name, (left, right) in TYPES.items():
        for (m, n, k), (i, transposes) in itertools.product(RAGGED, enumerate(("nn", "nt", "tn", "tt"))):
            # Every size for f16; for the others each size with one of the transpositions, and all at one size.
            if name != "f16" and (RAGGED.index((m, n, k)) % 4 != i and (m, n, k) != (100, 200, 300)):
                continue
            a, b, contract = operands((left, right), transposes, m, n, k)
            yield product(f"gemm_{name}_{transposes}_{m}x{n}x{k}", a, b, contract)
    # Rows so short that an index beyond their end is an address in the next rows.
    for name in ("f16", "tf32", "s8"):
        left, right = TYPES[name]
        for m, n, k in ((2, 3, 16), (2, 1, 6), (4, 8, 40)):
            yield product(f"gemm_{name}_short_rows_{m}x{n}x{k}", numbers((k, m), left), numbers((k, n), right), ((0,), (0,)))
    plain = ((1,), (0,))
    for name in ("f16", "bf16", "tf32", "e4m3", "s8"):
        left, right = TYPES[name]
        a, b = numbers((4, 70, 96), left), numbers((4, 96, 40), right)
        yield product(f"gemm_batched_{name}", a, b, ((2,), (1,)), ((0,), (0,)))
        a, b = numbers((3, 2, 48, 64), left), numbers((3, 80, 2, 64), right)
        yield product(f"gemm_batched_inner_{name}", a, b, ((3,), (3,)), ((0, 1), (0, 2)))
        a, b = numbers((5, 6, 7, 8), left), numbers((6, 8, 33), right)
        yield product(f"gemm_two_contractions_{name}", a, b, ((1, 3), (0, 1)))
    for name in ("f16", "bf16", "tf32"):
        left, right = TYPES[name]
        a, b = numbers((130, 200), left), numbers((200, 72), right)
        bias, residual = numbers((72,)), numbers((130, 72))
        epilogues = {
            "bias": (lambda d, c: d + c, (bias,)),
            "gelu": (lambda d: jax.nn.gelu(d), ()),
            "residual": (lambda d, r: d + r, (residual,)),
            "scale": (lambda d, s: d * s, (np.float32(0.37),)),
            "row_scale": (lambda d, s: d * s[:, None], (numbers((130,)),)),
            "row_sum": (lambda d: jnp.sum(d, axis=1), ()),
            "bias_relu_half": (lambda d, c: jnp.maximum(d + c, 0).astype(jnp.float16).astype(jnp.float32), (bias,)),
        }
        for epilogue, (after, more) in epilogues.items():
            case = product(f"gemm_{epilogue}_{name}", a, b, plain, after=after, more=more)
            if epilogue == "row_sum":
                case = case.allowing(lambda sums: sums.sum(axis=1))
            elif epilogue == "bias_relu_half":
                # The epilogue rounds to f16, where two correct sums may be on different sides of a tie. That is an ulp,
                # 2^-10 of at most the absolute sum and the bias, in the units of the product.
                case = case.allowing(lambda sums, units=case.product_units: sums + 2.0**-10 * (sums + 2) / (units * 2.0**-24))
            else:
                case = case.allowing(lambda sums: sums + 2)
            yield case
    # Several tiles, ragged, with rows that TMA accepts; with --processors 2 there are more tiles than run at once.
    for name, transposes in [("f16", "nn"), ("f16", "nt"), ("f16", "tn"), ("f16", "tt"), ("bf16", "nt"), ("tf32", "nt"), ("tf32", "nn"), ("e4m3", "nt"), ("s8", "nt")]:
        a, b, contract = operands(TYPES[name], transposes, 264, 200, 144)
        yield product(f"gemm_tiles_{name}_{transposes}", a, b, contract)
        if a.dtype in (F16, BF16):
            # The result is rounded to 11 bits, or to 8.
            yield product(f"gemm_tiles_{name}_{transposes}_narrow", a, b, contract, result=a.dtype, units=2.0 ** (13 if a.dtype == F16 else 16))
    # A depth of one line of 128 bytes, or of a part of one: a loop of one iteration, and several tiles.
    for name, transposes, k in [("f16", "nt", 64), ("bf16", "nn", 64), ("f16", "tn", 64), ("bf16", "tt", 32), ("f16", "nt", 16), ("bf16", "nt", 24), ("tf32", "nt", 32),
                                ("tf32", "nn", 16), ("e4m3", "nt", 128), ("e4m3", "nt", 64), ("s8", "nt", 128), ("s8", "nt", 32)]:  # fmt: skip
        a, b, contract = operands(TYPES[name], transposes, 264, 200, k, batch=(3,))
        yield product(f"gemm_line_{name}_{transposes}_{k}", a, b, contract, ((0,), (0,)))
    # Attention's scores, whose rows the copy engine does not store, with computed operands, and with an epilogue.
    a, b = numbers((2, 250, 3, 64), BF16), numbers((2, 250, 3, 64), BF16)
    scores = ((3,), (3,)), ((0, 2), (0, 2))
    yield product("gemm_line_scores", a, b, *scores)
    yield product("gemm_line_computed_lhs", a.astype(E4M3), b, *scores, before=lambda a, b: (a.astype(jnp.bfloat16) * jnp.bfloat16(0.5), b), result=F32)
    yield product("gemm_line_computed_rhs", a, b.astype(E4M3), *scores, before=lambda a, b: (a, b.astype(jnp.bfloat16) * jnp.bfloat16(0.5)), result=F32)
    yield product("gemm_line_epilogue", a, b, *scores, after=lambda d: jnp.maximum(d, 0) * 0.125)
    # Tiles that pairs of CTAs multiply on chips with tensor memory, with --processors 2.
    for name, transposes, narrow in [("f16", "nt", True), ("bf16", "nn", False), ("f16", "tt", False), ("e4m3", "nt", False), ("tf32", "nt", False), ("s8", "nt", False)]:
        left, right = TYPES[name]
        m, n, k = 504, 512, 208
        a, b, contract = operands((left, right), transposes, m, n, k)
        more = {"result": left, "units": 2.0**13} if narrow else {}
        yield product(f"gemm_pairs_{name}_{transposes}", a, b, contract, **more)
    # More tiles than a chip runs at once. On chips with tensor memory, running CTAs (or pairs) take those of CTAs that have not started.
    for name, dtype, (batch, m, n, k) in [("f16", F16, (200, 64, 16, 128)), ("ragged_bf16", BF16, (156, 40, 24, 144)), ("pairs_f16", F16, (76, 256, 64, 136))]:
        a, b = numbers((batch, m, k), dtype), numbers((batch, n, k), dtype)
        yield product(f"gemm_stolen_{name}", a, b, ((2,), (2,)), ((0,), (0,)))
    # The same with a computed operand, which four warps write to tensor memory; a pair writes that of both CTAs.
    for name, (batch, m, n, k) in [("computed", (200, 64, 16, 128)), ("computed_pairs", (76, 256, 64, 144))]:
        a, b = numbers((batch, m, k), E4M3), numbers((batch, n, k), BF16)
        yield product(f"gemm_stolen_{name}", a, b, ((2,), (2,)), ((0,), (0,)), before=lambda a, b: (a.astype(jnp.bfloat16) * jnp.bfloat16(0.5), b), result=F32)
    a, b, bias = numbers((3, 200, 80), F16), numbers((3, 80, 136), F16), numbers((136,))
    yield product("gemm_tiles_batched", a, b, ((2,), (1,)), ((0,), (0,)))
    case = product("gemm_tiles_batched_bias", a, b, ((2,), (1,)), ((0,), (0,)), after=lambda d, c: jnp.maximum(d + c, 0).astype(jnp.float16),
                   more=(bias,), units=2.0**13)  # fmt: skip
    yield case.allowing(lambda sums: sums + 2)
    # Few tiles and a long contraction: the product is split along K, and a second kernel sums the parts and has the epilogue.
    for name, transposes, (m, n, k) in [("bf16", "nt", (33, 40, 8192)), ("f16", "nn", (65, 24, 8192)), ("f16", "tn", (24, 40, 8192)), ("f16", "nt", (1, 40, 9216)),
                                        ("tf32", "nt", (17, 72, 8192)), ("tf32", "nn", (17, 72, 8192)), ("e4m3", "nt", (24, 56, 16384)), ("s8", "nt", (40, 40, 16384))]:  # fmt: skip
        left, right = TYPES[name]
        a, b, contract = operands((left, right), transposes, m, n, k)
        yield product(f"gemm_split_{name}_{transposes}_{m}x{n}x{k}", a, b, contract)
    a, b, bias = numbers((40, 8192), BF16), numbers((48, 8192), BF16), numbers((48,))
    case = product("gemm_split_bias", a, b, ((1,), (1,)), after=lambda d, c: jnp.maximum(d + c, 0), more=(bias,))
    yield case.allowing(lambda sums: sums + 2)
    yield product("gemm_split_narrow", a, b, ((1,), (1,)), result=BF16, units=2.0**16)
    a, b = numbers((2, 24, 8192), F16), numbers((8192, 2, 32), F16)
    yield product("gemm_split_batched", a, b, ((2,), (0,)), ((0,), (1,)))
    a, b = numbers((24, 8192), BF16), numbers((8192, 64), I8)
    yield product("gemm_split_prologue", a, b, plain, before=lambda x, y: (x, y.astype(jnp.bfloat16)))
    # The kernel of the product also reduces its rows and continues with the result.
    a, b = numbers((264, 144), F16), numbers((144, 200), F16)
    rows = {"sum": lambda x: x.sum(axis=1), "max": lambda x: x.max(axis=1)}
    for name, change in rows.items():
        case = product(f"gemm_rows_{name}", a, b, plain, after=lambda d, f=getattr(jnp, name): f(d, axis=1))
        yield case.allowing(change)
    # The entries are small, so the tolerance must follow from them and not from the size of the product.
    for name, after in {"softmax": lambda d: jax.nn.softmax(d, axis=1), "softmax_half": lambda d: jax.nn.softmax(d, axis=1).astype(jnp.float16)}.items():
        case = product(f"gemm_rows_{name}", a, b, plain, after=after)
        yield dataclasses.replace(case, op_class="bounded", product_units=0.0, absolute=None, bounded=True)
    case = product("gemm_rows_softmax_tf32", numbers((136, 80)), numbers((120, 80)), ((1,), (1,)), after=lambda d: jax.nn.softmax(d, axis=1))
    yield dataclasses.replace(case, op_class="bounded", product_units=0.0, absolute=None, bounded=True)
    a, b = numbers((3, 72, 80), BF16), numbers((3, 256, 80), BF16)
    case = product("gemm_rows_batched", a, b, ((2,), (2,)), ((0,), (0,)), after=lambda d: jnp.sum(jnp.maximum(d, 0), axis=2))
    yield case.allowing(lambda sums: sums.sum(axis=2))
    # Weights are stored in a small type and widened in the prologue.
    x = numbers((96, 128), BF16)
    for name, dtype in {"e4m3": E4M3, "e5m2": E5M2, "s8": I8}.items():
        w, scale = numbers((128, 64), dtype), numbers((64,), BF16, 0.5, 1.0)
        yield product(f"gemm_dequantised_{name}", x, w, plain, before=lambda a, b: (a, b.astype(jnp.bfloat16)), result=F32)
        case = product(f"gemm_dequantised_scaled_{name}", x, w, plain, before=lambda a, b: (a, b.astype(jnp.bfloat16)),
                       after=lambda d, s: d * s.astype(jnp.float32), more=(scale,), result=F32)  # fmt: skip
        yield case
    yield from dequantised()


def precisions():
    """Products whose precision or algorithm the program names. The evaluator computes algorithms of several products as they
    are defined, and everything else exactly.

    In units of 2^-24 of the terms: the sum takes 64, as elsewhere. The second part of an operand is at most 2^-8 of it for bf16 and
    2^-11 for tf32, the third 2^-16. Products of 3 parts omit three products of that size squared, of 6 parts two of 2^-24. Products
    with few rows, columns or terms are not split, and exact.
    """
    algorithms = lax.DotAlgorithmPreset
    named = {
        "high": (lax.Precision.HIGH, F32, 64 + 3 * 2.0**8), "highest": (lax.Precision.HIGHEST, F32, 64 + 2.0),
        "bf16_x3": (algorithms.BF16_BF16_F32_X3, F32, 64 + 3 * 2.0**8), "bf16_x6": (algorithms.BF16_BF16_F32_X6, F32, 64 + 2.0),
        "bf16_x9": (algorithms.BF16_BF16_F32_X9, F32, 64.0), "tf32_x3": (algorithms.TF32_TF32_F32_X3, F32, 64 + 3 * 2.0**2),
        "f32": (algorithms.F32_F32_F32, F32, 64.0), "tf32": (algorithms.TF32_TF32_F32, F32, 2.0**15),
        "bf16": (algorithms.BF16_BF16_F32, BF16, 64.0), "bf16_of_f32": (algorithms.BF16_BF16_F32, F32, 64.0),
        "f16": (algorithms.F16_F16_F32, F16, 64.0), "f64": (algorithms.F64_F64_F64, np.dtype(np.float64), 64.0),
        "any_f8": (algorithms.ANY_F8_ANY_F8_F32, E4M3, 64.0), "any_f8_fast": (algorithms.ANY_F8_ANY_F8_F32_FAST_ACCUM, E5M2, 64.0),
    }  # fmt: skip
    sizes = {"nn": (64, 80, 64), "nt": (100, 72, 200), "tn": (33, 65, 97), "tt": (16, 16, 16), "nn_short": (40, 8, 300), "nt_flat": (64, 64, 7)}
    for name, (precision, dtype, units) in named.items():
        for transposes, (m, n, k) in sizes.items():
            a, b, contract = operands((dtype, dtype), transposes, m, n, k)
            result = np.float64 if dtype == np.float64 else F32
            case = product(f"precision_{name}_{transposes}", a, b, contract, result=result, units=units, precision=precision)
            yield dataclasses.replace(case, platform="cuda")
    # Exponents far apart, batches, two contracted dimensions, and an epilogue.
    for name in ("high", "highest", "bf16_x9"):
        precision, _, units = named[name]
        scale = np.exp2(_random.integers(-30, 31, (64, 96))).astype(F32)
        a, b = numbers((64, 96)) * scale, numbers((96, 40)) * np.float32(2.0**-20)
        yield dataclasses.replace(product(f"precision_{name}_range", a, b, ((1,), (0,)), units=units, precision=precision), platform="cuda")
        a, b = numbers((3, 40, 64)), numbers((3, 64, 24))
        case = product(f"precision_{name}_batched", a, b, ((2,), (1,)), ((0,), (0,)), units=units, precision=precision)
        yield dataclasses.replace(case, platform="cuda")
        a, b = numbers((6, 20, 7)), numbers((7, 6, 33))
        yield dataclasses.replace(product(f"precision_{name}_two", a, b, ((0, 2), (1, 0)), units=units, precision=precision), platform="cuda")
        bias = numbers((33,))
        case = product(f"precision_{name}_bias", numbers((130, 70)), numbers((70, 33)), ((1,), (0,)), after=lambda d, c: jnp.maximum(d + c, 0),
                       more=(bias,), units=units, precision=precision)  # fmt: skip
        yield dataclasses.replace(case.allowing(lambda sums: sums + 2), platform="cuda")
    # JAX names the algorithm bf16_bf16_f32 here.
    q, k, v = (numbers((2, 32, 2, 16), BF16) for _ in range(3))

    def attention(q, k, v):
        return jax.nn.dot_product_attention(q, k, v, is_causal=True)

    yield GpuCase("precision_attention", attention, (q, k, v), "bounded", bounded=True, platform="cuda")
    yield GpuCase("precision_attention_gradient", lambda c, *a: jax.vjp(attention, *a)[1](c), (numbers(q.shape, BF16), q, k, v), "bounded",
                  bounded=True, platform="cuda")  # fmt: skip


def dequantised():
    """Products with a computed operand: converted from another type, or scaled by rows, columns or groups of the contraction."""
    orders = {"nn": ((1,), (0,)), "nt": ((1,), (1,)), "tn": ((0,), (0,)), "tt": ((0,), (1,))}

    def shapes(order, m, n, k):
        return (m, k) if order[0] == "n" else (k, m), (k, n) if order[1] == "n" else (n, k)

    def wide(dtype, side):
        return lambda a, b: (a.astype(dtype), b) if side == "lhs" else (a, b.astype(dtype))

    pairs = {"bf16_e4m3": (BF16, E4M3), "bf16_e5m2": (BF16, E5M2), "f16_s8": (F16, I8), "bf16_i4": (BF16, I4), "bf16_u4": (BF16, U4),
             "bf16_e2m1": (BF16, E2M1), "f16_e4m3": (F16, E4M3), "bf16_f32": (BF16, F32), "f16_bf16": (F16, BF16)}  # fmt: skip
    for at, (name, (kept, small)) in enumerate(pairs.items()):
        # The first pair with both sides in all orders, each of the others with two.
        for number, (order, side) in enumerate(itertools.product(orders, ("lhs", "rhs"))):
            if at != 0 and number % 4 != at % 4:
                continue
            # Rows of 72, 136 or 200 bytes do not suit TMA: such products use ordinary kernels.
            m, n, k = ((160, 192, 320), (144, 80, 208), (64, 256, 1008), (136, 72, 200))[(at + number // 2) % 4]
            left, right = shapes(order, m, n, k)
            a = numbers(left, small if side == "lhs" else kept)
            b = numbers(right, small if side == "rhs" else kept)
            yield product(f"gemm_mixed_{name}_{side}_{order}_{m}x{n}x{k}", a, b, orders[order], before=wide(kept, side), result=F32, units=64.0)
    a, w = numbers((4, 80, 192), BF16), numbers((4, 192, 64), E4M3)
    batch = ((0,), (0,))
    yield product("gemm_mixed_batched", a, w, ((2,), (1,)), batch, before=wide(BF16, "rhs"), result=F32)
    yield product("gemm_mixed_batched_lhs", a.astype(E4M3), w.astype(BF16), ((2,), (1,)), batch, before=wide(BF16, "lhs"), result=F32)
    x, w, bias = numbers((130, 256), BF16), numbers((256, 96), E4M3), numbers((96,))
    for name, after in {"bias": lambda d, c: d + c, "gelu": lambda d, c: jax.nn.gelu(d + c)}.items():
        case = product(f"gemm_mixed_{name}", x, w, orders["nn"], before=wide(BF16, "rhs"), after=after, more=(bias,), result=F32)
        yield case.allowing(lambda sums: sums + 2)
    transposed = np.ascontiguousarray(w.astype(np.float32).T).astype(E4M3)
    yield product("gemm_mixed_half_rows", x, transposed, orders["nt"], before=wide(BF16, "rhs"), result=BF16, units=2.0**17)
    half = product("gemm_mixed_half", x, w, orders["nn"], before=wide(BF16, "rhs"), after=lambda d: d.astype(jnp.bfloat16), result=F32)
    yield half.allowing(lambda sums: sums * 2.0**10)  # the result is rounded to 8 bits
    # Scales of rows or columns, of groups of the contraction, and zero points. The scaled weight is rounded to bf16, as
    # in the evaluator; the tolerance follows from its size.
    for name, dtype in {"i4": I4, "u4": U4, "e2m1": E2M1, "s8": I8}.items():
        for order, group in (("nn", 64), ("nt", 128), ("nn", 128), ("nt", 64), ("nn", 32), ("nt", 16)):
            m, n, k = 96, 160, 512
            x = numbers((m, k), BF16)
            w = numbers((k, n) if order == "nn" else (n, k), dtype)
            scale = numbers((k // group, n) if order == "nn" else (n, k // group), BF16, 0.1, 1.0)

            def function(x, w, s, order=order, group=group, zero=8 if name == "u4" else 0, k=k, n=n):
                wide = w.astype(jnp.bfloat16) - jnp.bfloat16(zero)
                if order == "nn":
                    wide = (wide.reshape(k // group, group, n) * s[:, None, :]).reshape(k, n)
                else:
                    wide = (wide.reshape(n, k // group, group) * s[:, :, None]).reshape(n, k)
                return lax.dot_general(x, wide, (orders[order], ((), ())), preferred_element_type=jnp.float32)

            def absolute(x=x, w=w, n=n):
                largest = np.abs(w.astype(np.float64)).max() + 8
                return np.abs(x.astype(np.float64)).sum(axis=1, keepdims=True) * largest * np.ones((1, n))

            yield GpuCase(f"gemm_group_{name}_{order}_{group}", function, (x, w, scale), "contraction", 64.0, absolute)
    # Both sides: converted, in all orders of both, and block-scaled, with tiles that the sizes fill and do not fill.
    sides = {"e4m3_e4m3": (BF16, E4M3, E4M3), "e5m2_e2m1": (BF16, E5M2, E2M1), "s8_s8": (F16, I8, I8), "e2m1_i4": (BF16, E2M1, I4), "f32_e4m3": (BF16, F32, E4M3)}
    for at, (name, (dtype, small, other)) in enumerate(sides.items()):
        for number, order in enumerate(orders):
            if at != 0 and number % 2 != at % 2:
                continue
            m, n, k = ((160, 192, 320), (144, 96, 224), (64, 256, 1008), (400, 208, 192))[(at + number) % 4]
            left, right = shapes(order, m, n, k)
            both = lambda a, b, dtype=dtype: (a.astype(dtype), b.astype(dtype))
            yield product(f"gemm_both_{name}_{order}_{m}x{n}x{k}", numbers(left, small), numbers(right, other), orders[order], before=both, result=F32, units=64.0)
    for name, (small, other, block) in {"e4m3": (E4M3, E4M3, 32), "e2m1": (E2M1, E2M1, 16), "e5m2_e2m1": (E5M2, E2M1, 32), "s8": (I8, I8, 32)}.items():
        for order, m, n, k in (("nt", 200, 144, 352), ("nn", 130, 192, 256)):
            x, w = numbers((m, k), small), numbers(shapes(order, m, n, k)[1], other)
            scales = numbers((m, k // block), BF16, 0.1, 1.0), numbers((n, k // block) if order == "nt" else (k // block, n), BF16, 0.1, 1.0)

            def function(x, w, s, t, order=order, block=block, m=m, n=n, k=k):
                left = (x.astype(jnp.bfloat16).reshape(m, k // block, block) * s[:, :, None]).reshape(m, k)
                right = w.astype(jnp.bfloat16)
                if order == "nn":
                    right = (right.reshape(k // block, block, n) * t[:, None, :]).reshape(k, n)
                else:
                    right = (right.reshape(n, k // block, block) * t[:, :, None]).reshape(n, k)
                return lax.dot_general(left, right, (orders[order], ((), ())), preferred_element_type=jnp.float32)

            def absolute(x=x, w=w, n=n):
                return np.abs(x.astype(np.float64)).sum(axis=1, keepdims=True) * np.abs(w.astype(np.float64)).max() * np.ones((1, n))

            yield GpuCase(f"gemm_blocks_{name}_{order}", function, (x, w, *scales), "contraction", 64.0, absolute)
    x, w, scale = numbers((200, 320), BF16), numbers((320, 64), I8), numbers((64,), BF16, 0.1, 1.0)
    yield GpuCase("gemm_scaled_columns", lambda x, w, s: jnp.dot(x, w.astype(jnp.bfloat16) * s, preferred_element_type=jnp.float32),
                  (x, w, scale), "contraction", 64.0, lambda: np.full((200, 64), 320 * 20.0))  # fmt: skip
    yield GpuCase("gemm_two_computed_sides", lambda x, w, s: jnp.dot(x * jnp.bfloat16(0.5), w.astype(jnp.bfloat16) * s,
                  preferred_element_type=jnp.float32), (x, w, scale), "contraction", 64.0, lambda: np.full((200, 64), 320 * 20.0))  # fmt: skip
    yield GpuCase("gemm_scaled_rows", lambda x, w, s: jnp.dot(x * s[:, None], w, preferred_element_type=jnp.float32),
                  (x, numbers((320, 64), BF16), numbers((200,), BF16)), "contraction", 64.0, lambda: np.full((200, 64), 320.0))  # fmt: skip


NHWC, NCHW = ("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW")


def convolution(name, lhs, rhs, after=None, more=(), result=None, units=None, gradients=False, stride=(1, 1), pad=((1, 1), (1, 1)),
                inner=None, outer=None, groups=1, batch_groups=1, layout=NHWC):  # fmt: skip
    """The convolution, or with `gradients` those of its input and of its weights, with an epilogue."""
    result = np.dtype(result or _result(lhs.dtype))

    def convolve(a, b, dtype=result):
        return lax.conv_general_dilated(a, b, stride, pad, lhs_dilation=inner, rhs_dilation=outer, dimension_numbers=layout,
                                        feature_group_count=groups, batch_group_count=batch_groups, preferred_element_type=dtype)  # fmt: skip

    if units is None:
        units = 2.0**15 if lhs.dtype == F32 else 64.0

    def magnitudes(*arrays):
        return [jnp.asarray(np.abs(x.astype(np.float64)), jnp.float32) for x in arrays]

    if not gradients:
        return GpuCase(name, lambda a, b, *rest: after(convolve(a, b), *rest) if after else convolve(a, b),
                       (lhs, rhs, *more), "contraction", units, lambda: np.asarray(convolve(*magnitudes(lhs, rhs), dtype=F32), np.float64))  # fmt: skip
    cotangent = numbers(jax.eval_shape(convolve, lhs, rhs).shape, lhs.dtype)
    plain = lambda a, b: convolve(a, b, None)  # noqa: E731

    def sums(index):
        return np.asarray(jax.vjp(plain, *magnitudes(lhs, rhs))[1](*magnitudes(cotangent))[index], np.float64)

    return [GpuCase(f"{name}_{of}", lambda c, a, b, i=i: jax.vjp(plain, a, b)[1](c)[i], (cotangent, lhs, rhs), "contraction",
                    units if lhs.dtype == F32 else 2.0 ** (13 if lhs.dtype == F16 else 16), lambda i=i: sums(i))
            for i, of in enumerate(("input", "weights"))]  # fmt: skip


def residual_block(x, first, second, shortcut, scale, shift):
    """The loss of a block of ResNet that halves the image, and all its gradients."""

    def convolve(a, b, stride):
        return lax.conv_general_dilated(a, b, (stride, stride), "SAME", dimension_numbers=NHWC, precision=lax.Precision.HIGHEST)

    def norm(a):
        mean, variance = jnp.mean(a, (0, 1, 2)), jnp.var(a, (0, 1, 2))
        return (a - mean) * lax.rsqrt(variance + 1e-3) * scale + shift

    def loss(x, first, second, shortcut):
        inner = jax.nn.relu(norm(convolve(x, first, 2)))
        return jnp.mean(jax.nn.relu(norm(convolve(inner, second, 1)) + convolve(x, shortcut, 2)) ** 2)

    return jax.value_and_grad(loss, (0, 1, 2, 3))(x, first, second, shortcut)


def copied_convolutions():
    """Operands that copy engines load: rows of multiples of 16 bytes. The rows of a tile, or its depth, are pixels of several images."""
    x, w = numbers((2, 16, 16, 64), BF16), numbers((3, 3, 64, 64), BF16)
    relu = lambda d, c: jnp.maximum(d + c, 0)  # noqa: E731
    yield convolution("conv_copied_square", x, w)
    yield convolution("conv_copied_strided", x, w, stride=(2, 3))
    yield convolution("conv_copied_dilated", x, w, pad=((2, 1), (0, 3)), outer=(2, 3))
    yield convolution("conv_copied_groups", numbers((2, 8, 8, 128), F16), numbers((3, 3, 64, 128), F16), groups=2)
    yield convolution("conv_copied_half_line", numbers((2, 8, 8, 32), F16), numbers((3, 3, 32, 64), F16))
    yield convolution("conv_copied_partial_line", numbers((3, 9, 11, 72), BF16), numbers((3, 3, 72, 40), BF16))
    yield convolution("conv_copied_one_image", numbers((1, 4, 4, 64), BF16), w)
    yield convolution("conv_copied_line", numbers((3, 50, 64), BF16), numbers((5, 64, 16), BF16), stride=(2,), pad=((4, 0),), layout=("NWC", "WIO", "NWC"))
    yield convolution("conv_copied_volume", numbers((1, 5, 6, 7, 64), BF16), numbers((3, 2, 3, 64, 8), BF16), stride=(1, 2, 1),
                      pad=((1, 1), (0, 1), (2, 0)), layout=("NDHWC", "DHWIO", "NDHWC"))  # fmt: skip
    yield convolution("conv_copied_images_last", x, w, layout=("NHWC", "HWIO", "HWNC"))
    # The last epilogue stores a narrow result through shared memory, if there are more tiles than multiprocessors.
    yield convolution("conv_copied_bias_relu", numbers((8, 16, 16, 64), BF16), w, after=lambda d, c: relu(d, c).astype(BF16), more=(numbers((64,)),), units=2.0**16)
    yield from convolution("conv_copied_gradient", x, w, gradients=True)
    yield from convolution("conv_copied_gradient_strided", x, w, gradients=True, stride=(2, 2))
    yield from convolution("conv_copied_gradient_fourteen", numbers((8, 14, 14, 64), BF16), w, gradients=True)
    yield from convolution("conv_copied_gradient_seven", numbers((20, 7, 7, 64), F16), numbers((3, 3, 64, 64), F16), gradients=True)


def convolutions():
    for name, (left, right) in TYPES.items():
        if left == right:
            yield convolution(f"conv_{name}", numbers((2, 9, 11, 32), left), numbers((3, 3, 32, 24), right))
            yield convolution(f"conv_{name}_strided", numbers((1, 15, 13, 16), left), numbers((3, 3, 16, 40), right), stride=(2, 2))
    for name in ("f16", "tf32"):
        dtype = TYPES[name][0]
        x, w = numbers((2, 14, 14, 64), dtype), numbers((3, 3, 64, 64), dtype)
        yield convolution(f"conv_{name}_square", x, w)
        yield convolution(f"conv_{name}_wide", numbers((1, 5, 70, 64), dtype), numbers((3, 3, 64, 80), dtype))
        yield convolution(f"conv_{name}_one", x, numbers((1, 1, 64, 32), dtype), pad=((0, 0), (0, 0)))
        yield convolution(f"conv_{name}_stem", numbers((1, 20, 18, 3), dtype), numbers((7, 7, 3, 16), dtype), stride=(2, 2), pad=((3, 3), (3, 3)))
        yield convolution(f"conv_{name}_odd_channels", numbers((1, 7, 9, 13), dtype), numbers((3, 3, 13, 5), dtype))
        yield convolution(f"conv_{name}_one_channel", numbers((1, 9, 9, 1), dtype), numbers((3, 3, 1, 8), dtype))
        yield convolution(f"conv_{name}_one_output", numbers((2, 9, 9, 24), dtype), numbers((3, 3, 24, 1), dtype))
        yield convolution(f"conv_{name}_dilated", x, numbers((3, 3, 64, 16), dtype), pad=((2, 1), (0, 3)), outer=(2, 3))
        yield convolution(f"conv_{name}_transposed", numbers((1, 6, 5, 16), dtype), numbers((3, 4, 16, 24), dtype), pad=((1, 2), (2, 1)), inner=(2, 3))
        yield convolution(f"conv_{name}_cropped", x, numbers((3, 3, 64, 16), dtype), pad=((-2, 1), (3, -1)))
        yield convolution(f"conv_{name}_groups", x, numbers((3, 3, 16, 64), dtype), groups=4)
        yield convolution(f"conv_{name}_batch_groups", numbers((4, 9, 9, 16), dtype), numbers((3, 3, 16, 24), dtype), batch_groups=2)
        yield convolution(f"conv_{name}_depthwise", x, numbers((3, 3, 1, 64), dtype), groups=64)
        yield convolution(f"conv_{name}_depthwise_twice", x, numbers((3, 3, 1, 128), dtype), groups=64, stride=(2, 1))
        yield convolution(f"conv_{name}_nchw", numbers((2, 24, 10, 12), dtype), numbers((40, 24, 3, 3), dtype), layout=NCHW)
        case = convolution(f"conv_{name}_bias_relu", x, w, after=lambda d, c: jnp.maximum(d + c, 0), more=(numbers((64,)),))
        yield case.allowing(lambda sums: sums + 2)
        yield from convolution(f"conv_{name}_gradient", x, w, gradients=True)
        yield from convolution(f"conv_{name}_gradient_strided", x, w, gradients=True, stride=(2, 2))
        yield from convolution(f"conv_{name}_gradient_groups", numbers((2, 8, 8, 32), dtype), numbers((3, 3, 8, 64), dtype), groups=4, gradients=True)
        yield from convolution(f"conv_{name}_gradient_depthwise", numbers((2, 8, 8, 32), dtype), numbers((3, 3, 1, 32), dtype), groups=32,
                               gradients=True)  # fmt: skip
        yield convolution(f"conv_{name}_line", numbers((3, 50, 32), dtype), numbers((5, 32, 16), dtype), stride=(1,), pad=((4, 0),), layout=("NWC", "WIO", "NWC"))
        yield convolution(f"conv_{name}_volume", numbers((1, 5, 6, 7, 16), dtype), numbers((3, 2, 3, 16, 8), dtype), stride=(1, 2, 1),
                          pad=((1, 1), (0, 0), (2, 0)), layout=("NDHWC", "DHWIO", "NDHWC"))  # fmt: skip
    yield from copied_convolutions()
    yield GpuCase("conv_residual_block", residual_block, (numbers((2, 8, 8, 8)), numbers((3, 3, 8, 16)), numbers((3, 3, 16, 16)), numbers((1, 1, 8, 16)),
                  numbers((16,), low=0.5, high=1.5), numbers((16,))), "bounded", bounded=True)  # fmt: skip
    for dtype in (np.int32, np.float64, np.complex64):
        x, w = numbers((2, 6, 7, 5), dtype), numbers((3, 2, 5, 9), dtype)
        yield GpuCase(f"conv_{np.dtype(dtype).name}", lambda a, b: lax.conv_general_dilated(a, b, (1, 2), ((1, 0), (2, 1)), dimension_numbers=NHWC,
                      precision=lax.Precision.HIGHEST), (x, w), "contraction")  # fmt: skip


def norms():
    def softmax(x):
        return jax.nn.softmax(x, axis=-1)

    def layer_norm(x, g, b):
        mean = jnp.mean(x, -1, keepdims=True)
        variance = jnp.mean((x - mean) ** 2, -1, keepdims=True)
        return (x - mean) * lax.rsqrt(variance + 1e-5) * g + b

    def rms_norm(x, g):
        return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * g

    def gradient(function):
        def run(cotangent, *arguments):
            return jax.vjp(function, *arguments)[1](cotangent)

        return run

    for rows, columns in ((1, 1), (1, 17), (3, 128), (64, 1000), (7, 1024), (100, 33), (2, 5000), (4, 20000)):
        x = numbers((rows, columns), F32, -3, 3)
        g, b = numbers((columns,)), numbers((columns,))
        shape = f"{rows}x{columns}"
        yield GpuCase(f"softmax_{shape}", softmax, (x,), "network", bounded=True)
        yield GpuCase(f"softmax_gradient_{shape}", gradient(softmax), (numbers(x.shape), x), "network")
        yield GpuCase(f"log_softmax_{shape}", lambda x: jax.nn.log_softmax(x, axis=-1), (x,), "network")
        yield GpuCase(f"layer_norm_{shape}", layer_norm, (x, g, b), "network", bounded=True)
        yield GpuCase(f"rms_norm_{shape}", rms_norm, (x, g), "network", bounded=True)
        if columns > 1:
            yield GpuCase(f"layer_norm_gradient_{shape}", gradient(layer_norm), (numbers(x.shape), x, g, b), "network")
            yield GpuCase(f"rms_norm_gradient_{shape}", gradient(rms_norm), (numbers(x.shape), x, g), "network")
    for dtype in (F16, BF16):
        x = numbers((33, 257), dtype, -3, 3)
        yield GpuCase(f"softmax_{dtype.name}", softmax, (x,), "network", bounded=True)


def reductions():
    shapes = {
        "rows": ((50, 300), (1,)), "columns": ((300, 50), (0,)), "all": ((70, 90), (0, 1)), "one": ((4097,), (0,)),
        "middle": ((6, 130, 10), (1,)), "outer_inner": ((9, 20, 31), (0, 2)), "long_rows": ((2, 70000), (1,)),
        "long_columns": ((5000, 3), (0,)), "wide_columns": ((40, 3000), (0,)), "short_rows": ((1000, 3), (1,)),
        "single": ((1, 1), (1,)), "large": ((200000,), (0,)),
    }  # fmt: skip
    functions = {"sum": jnp.sum, "max": jnp.max, "min": jnp.min}
    for (shape_name, (shape, axes)), (name, function) in itertools.product(shapes.items(), functions.items()):
        x = numbers(shape)
        # Sums have another order. If terms cancel, few bits remain, so errors are compared with the terms.
        allowed = (1.0, lambda x=x, a=axes: np.abs(x).sum(a)) if name == "sum" else ()
        exact = x.astype(np.float64).sum(axes) if name == "sum" else None
        yield GpuCase(f"{name}_{shape_name}", lambda x, f=function, a=axes: f(x, axis=a), (x,), "exact", *allowed, exact=exact)
    for dtype in (F16, BF16, np.int8, np.int32, np.uint16, np.int64, np.float64):
        x = numbers((40, 130), dtype)
        yield GpuCase(f"sum_rows_{np.dtype(dtype).name}", lambda x: jnp.sum(x, axis=1), (x,), "reduction")
        yield GpuCase(f"max_columns_{np.dtype(dtype).name}", lambda x: jnp.max(x, axis=0), (x,), "exact")
    yield GpuCase("argmax_rows", lambda x: jnp.argmax(x, axis=1), (numbers((30, 500)),), "exact")
    yield GpuCase("argmin_columns", lambda x: jnp.argmin(x, axis=0), (numbers((500, 30)),), "exact")
    # Lanes and warps are combined in another order than that of the indices; the first NaN must be found.
    for name, shape, axis in [("rows", (30, 500), 1), ("columns", (500, 30), 0), ("all", (5000,), 0), ("few", (7, 4), 1)]:
        x = np.where(_random.random(shape) < 0.02, np.nan, _random.integers(-2, 3, shape)).astype(np.float32)
        x.flat[:: x.size // 3] = np.nan
        yield GpuCase(f"argmax_of_nans_{name}", lambda x, a=axis: jnp.argmax(x, axis=a), (x,), "exact")
        yield GpuCase(f"argmin_of_nans_{name}", lambda x, a=axis: jnp.argmin(x, axis=a), (x,), "exact")
    yield GpuCase("all_rows", lambda x: jnp.all(x, axis=1), (numbers((30, 5), np.bool_),), "exact")
    yield GpuCase("any_all", lambda x: jnp.any(x), (numbers((30, 50), np.bool_),), "exact")
    yield GpuCase("prod_rows", lambda x: jnp.prod(x, axis=1), (numbers((30, 20), F32, 0.5, 1.5),), "reduction")
    yield GpuCase("variance", lambda x: jnp.var(x, axis=0), (numbers((333, 77)),), "network")
    yield GpuCase("norm", lambda x: jnp.sqrt(jnp.sum(x * x)), (numbers((3000,)),), "reduction")


def movements():
    for permutation in itertools.permutations(range(3)):
        x = numbers((20, 33, 70))
        name = "".join(map(str, permutation))
        yield GpuCase(f"transpose_{name}", lambda x, p=permutation: jnp.transpose(x, p), (x,), "exact")
    for dtype in (np.int8, F16, np.float64, np.complex64, np.bool_):
        yield GpuCase(f"transpose_{np.dtype(dtype).name}", lambda x: x.T, (numbers((130, 200), dtype),), "exact")
    yield GpuCase("transpose_large", lambda x: x.T + 1, (numbers((1000, 515)),), "exact")
    x = numbers((30, 44))
    yield GpuCase("slice", lambda x: x[3:27:2, 5:40], (x,), "exact")
    yield GpuCase("reverse", lambda x: x[::-1, ::-1] * 2, (x,), "exact")
    yield GpuCase("pad", lambda x: lax.pad(x, np.float32(7), ((2, 3, 1), (-4, 5, 0))) + 1, (x,), "exact")
    yield GpuCase("concatenate", lambda x: jnp.concatenate([x, x * 2, x[:, :7]], axis=1), (x,), "exact")
    yield GpuCase("reshape", lambda x: (x * 2).reshape(33, 40) + 1, (x,), "exact")
    yield GpuCase("broadcast", lambda x: jnp.broadcast_to(x[:, None, :], (30, 9, 44)) * 3, (x,), "exact")
    yield GpuCase("iota", lambda x: x + lax.broadcasted_iota(jnp.float32, x.shape, 1), (x,), "exact")
    yield GpuCase("dynamic_slice", lambda x, i: lax.dynamic_slice(x, (i, np.int32(3)), (10, 20)) + 1, (x, np.int32(12)), "exact")
    yield GpuCase("rows", lambda x, i: lax.dynamic_slice(x, (i, np.int32(0)), (1, 44)), (x, np.int32(29)), "exact")
    yield GpuCase("roll", lambda x: jnp.roll(x, 5, axis=1), (x,), "exact")
    yield GpuCase("tile", lambda x: jnp.tile(x, (2, 3)), (x,), "exact")
    yield GpuCase("where", lambda x: jnp.where(x > 0, x, x.T.reshape(30, 44)), (x,), "exact")


def gathers():
    """Gathers of every form, concatenations of many tensors, and compositions of movements that no slice describes."""
    rows = np.array([[3, 0, 96], [41, -1, 97], [200, 5, 96]], np.int32)  # some are out of bounds
    for dtype in (np.int8, F16, BF16, F32, np.float64, np.complex64, np.bool_):
        table = numbers((97, 40), dtype)
        yield GpuCase(f"gather_rows_{np.dtype(dtype).name}", lambda t, i: jnp.take(t, i, axis=0, mode="clip"), (table, rows), "exact")
    table = numbers((50, 513), BF16)
    ids = _random.integers(0, 50, (300,))
    for dtype in (np.int8, np.uint16, np.int64, np.uint64):
        yield GpuCase(f"gather_embedding_{np.dtype(dtype).name}", lambda t, i: t[i].astype(jnp.float32) * 2, (table, ids.astype(dtype)), "exact")
    x = numbers((6, 33, 20))
    for axis in range(3):
        count = (4, 50, 37)[axis]
        shape = tuple(count if dim == axis else size for dim, size in enumerate(x.shape))
        at = _random.integers(-x.shape[axis], x.shape[axis], shape).astype(np.int32)
        yield GpuCase(f"take_along_axis_{axis}", lambda x, i, a=axis: jnp.take_along_axis(x, i, axis=a), (x, at), "exact")
        yield GpuCase(f"take_{axis}", lambda x, i, a=axis: jnp.take(x, i, axis=a, fill_value=7), (x, at[:3, :2, 0]), "exact")
    starts = _random.integers(-5, 40, (6, 2)).astype(np.int32)
    yield GpuCase("gather_windows", lambda x, s: jax.vmap(lambda y, i: lax.dynamic_slice(y, (i[0], i[1]), (9, 7)))(x, s), (x, starts), "exact")
    yield GpuCase("gather_points", lambda x, i, j: x[:, i, j], (x, rows[:, 0] % 33, rows[:, 1] % 20), "exact")
    yield GpuCase("gather_of_computed", lambda x, i: jnp.tanh(jnp.square(x) + 1)[i], (x, rows[0] % 6), "elementary")
    yield GpuCase("gather_computed_indices", lambda x, i: x[(i * 3 + 1) % 6] + 1, (x, ids.astype(np.int32)), "exact")
    yield GpuCase("resize_nearest", lambda x: jax.image.resize(x, (6, 66, 50), "nearest"), (x,), "exact")
    yield GpuCase("searched", lambda x, i: jnp.where(i[:, None] < 3, x[i % 6, 0], 0), (x, ids.astype(np.int32)), "exact")
    for count in (9, 16, 17, 40, 100):
        for axis in (0, 1):
            parts = [numbers((5 + i % 3, 8) if axis == 0 else (8, i % 5), F32) for i in range(count)]
            yield GpuCase(f"concatenate_{count}_along_{axis}", lambda *parts, a=axis: jnp.concatenate(parts, a), tuple(parts), "exact")
    parts = [numbers((40, 64), BF16) for _ in range(24)]
    yield GpuCase("stack_24", lambda *parts: jnp.stack(parts) * 2, tuple(parts), "exact")
    i, j = np.int8(4), np.int8(100)
    y = numbers((30, 44))

    def slices(y, i, j):
        once = lax.dynamic_slice(y, (i, j), (20, 30))
        return lax.dynamic_slice(once, (j, i), (11, 17))

    def padded(y, i):
        wide = lax.pad(y[::-1], np.float32(3), ((1, -2, 2), (-1, 4, 1)))
        return lax.pad(wide[::-1, ::-1], np.float32(5), ((-3, 1, 0), (2, 2, 3)))[3:, ::2]

    def across(y, i):
        flat = lax.pad(y, np.float32(3), ((1, 2, 0), (0, 1, 0))).reshape(-1)
        return jnp.concatenate([flat, flat[::-1], flat[:100]]).reshape(5, -1)[:, ::-1].T

    yield GpuCase("slice_of_slice", slices, (y, i, j), "exact")
    yield GpuCase("pad_of_reverse_of_pad", padded, (y, i), "exact")
    yield GpuCase("reshape_across_padding", across, (y, i), "exact")
    yield GpuCase("slice_of_reshape_of_slice", lambda y, i, j: lax.dynamic_slice(slices(y, i, j).reshape(17, 11), (i, i), (9, 5)), (y, i, j), "exact")
    yield GpuCase("pad_large_interior", lambda y, i: lax.pad(y[:3, :2], np.float32(0), ((0, 0, 300), (5, 5, 70))), (y, i), "exact")
    yield GpuCase("transpose_rank_9", lambda y: y.reshape(2, 3, 5, 2, 2, 11, 1, 1, 1).transpose(8, 3, 1, 5, 7, 0, 2, 6, 4)[::-1, ::-1], (y,), "exact")


UNARY = {
    "abs": lax.abs, "neg": lax.neg, "sign": lax.sign, "floor": lax.floor, "ceil": lax.ceil, "round": jnp.round, "exp": lax.exp,
    "expm1": lax.expm1, "exp2": lax.exp2, "tanh": lax.tanh, "logistic": lax.logistic, "sin": lax.sin, "cos": lax.cos,
    "tan": lax.tan, "atan": jnp.arctan, "erf": lax.erf, "cbrt": lax.cbrt, "sinh": jnp.sinh, "gelu": jax.nn.gelu, "silu": jax.nn.silu,
    "softplus": jax.nn.softplus, "is_finite": lax.is_finite,
}  # fmt: skip
POSITIVE = {"sqrt": lax.sqrt, "rsqrt": lax.rsqrt, "log": lax.log, "log1p": lax.log1p}
BINARY = {"add": lax.add, "sub": lax.sub, "mul": lax.mul, "max": lax.max, "min": lax.min}
REAL = {"div": lax.div, "pow": lambda a, b: lax.pow(jnp.abs(a) + 0.5, b), "atan2": lax.atan2, "rem": lax.rem}
WHOLE = {"and": lax.bitwise_and, "or": lax.bitwise_or, "xor": lax.bitwise_xor, "shift": lambda a, b: lax.shift_left(a, b & 7)}


def elementwise():
    for name, function in UNARY.items():
        # Activations are chains whose last sum cancels: errors count relative to the whole tensor, not to a small
        # element.
        op_class = "network" if name in ("gelu", "silu", "softplus") else "elementary"
        yield GpuCase(f"{name}_f32", function, (numbers((1003,), F32, -4, 4),), op_class)
        if name in ("exp", "tanh", "gelu", "neg", "floor"):
            for dtype in (F16, BF16):
                yield GpuCase(f"{name}_{dtype.name}", function, (numbers((33, 31), dtype, -4, 4),), op_class)
    for name, function in POSITIVE.items():
        yield GpuCase(f"{name}_f32", function, (numbers((1003,), F32, 0.01, 10),))
    for name, function in (BINARY | REAL).items():
        yield GpuCase(f"{name}_f32", function, (numbers((37, 29)), numbers((37, 29))))
    for name, dtype in itertools.product(BINARY, (F16, BF16, np.int8, np.uint8, np.int32, np.uint32, np.int64, np.float64)):
        shape = (129, 5)
        yield GpuCase(f"{name}_{np.dtype(dtype).name}", BINARY[name], (numbers(shape, dtype), numbers(shape, dtype)))
    for name, dtype in itertools.product(WHOLE, (np.int8, np.int32, np.uint64)):
        yield GpuCase(f"{name}_{np.dtype(dtype).name}", WHOLE[name], (numbers((77,), dtype), numbers((77,), dtype)))
    kinds = (np.bool_, np.int8, np.uint16, np.int32, np.int64, F16, BF16, F32, np.float64, E4M3, E5M2)
    for a, b in itertools.product(kinds, kinds):
        if a != b and (len({np.dtype(a), np.dtype(b)} & {np.dtype(F32), np.dtype(np.int32)}) or np.dtype(a).itemsize == 1):
            name = f"convert_{np.dtype(a).name}_{np.dtype(b).name}"
            yield GpuCase(name, lambda x, t=b: lax.convert_element_type(x, t), (numbers((263,), a),), "exact")
    x = numbers((65, 9), np.complex64)
    yield GpuCase("complex_mul", lambda x: x * x + 1, (x,), "complex")
    yield GpuCase("complex_parts", lambda x: lax.real(x) + lax.imag(x), (x,), "arithmetic")
    yield GpuCase("compare", lambda a, b: (a < b) | (a == b), (numbers((90,)), numbers((90,))), "exact")
    yield GpuCase("clamp", lambda x: lax.clamp(np.float32(-0.5), x, np.float32(0.5)), (numbers((90,)),), "exact")
    yield GpuCase("scalar", lambda x: x * 2 + 1, (np.float32(3),), "exact")
    yield GpuCase("popcount", lax.population_count, (numbers((90,), np.uint32, 0),), "exact")
    yield GpuCase("clz", lax.clz, (numbers((90,), np.int32),), "exact")


def expansions():
    """Ops that a library would compute, as kernels: pooling and its gradient, random bits, transforms."""
    def pool(x, combine, init, size, stride, padding="SAME"):
        return lax.reduce_window(x, np.asarray(init, x.dtype), combine, (1, size, size, 1), (1, stride, stride, 1), padding)

    image = numbers((2, 13, 13, 5))
    yield GpuCase("max_pool", lambda x: pool(x, lax.max, -np.inf, 3, 2), (image,), "exact")
    yield GpuCase("max_pool_bf16", lambda x: pool(x, lax.max, -np.inf, 2, 2), (numbers((2, 12, 12, 8), BF16),), "exact")
    yield GpuCase("sum_pool", lambda x: pool(x, lax.add, 0, 5, 3, "VALID"), (image,), "reduction")
    yield GpuCase("sum_pool_whole", lambda x: pool(x, lax.add, 0, 13, 1, "VALID"), (image,), "reduction")
    yield GpuCase("max_pool_long", lambda x: lax.reduce_window(x, np.float32(-np.inf), lax.max, (100,), (1,), "SAME"), (numbers((300,)),), "exact")
    yield GpuCase("window_dilated", lambda x: lax.reduce_window(x, np.int32(0), lax.add, (3, 2), (2, 1), ((2, 1), (0, 3)), (2, 3), (1, 2)), (numbers((9, 7), np.int32),), "exact")
    # Each element of the gradient is a sum of up to four numbers.
    yield GpuCase("max_pool_gradient", jax.grad(lambda x: (pool(x, lax.max, -np.inf, 3, 2) * 3).sum()), (image,), "exact")
    yield GpuCase("max_pool_gradient_overlapping", jax.grad(lambda x: jnp.sin(pool(x, lax.max, -np.inf, 3, 1)).sum()), (image,), "reduction")
    wide, narrow = np.array([3, 5], np.uint64), np.array([3, 5, 7, 11], np.uint32)
    for state, dtype in ((wide, np.uint64), (wide, np.uint32), (narrow, np.uint32), (narrow, np.uint8)):
        name = f"random_bits_{np.dtype(dtype).name}_state_{state.dtype.name}"
        yield GpuCase(name, lambda s, dtype=dtype: lax.rng_bit_generator(s, (5, 33), dtype), (state,), "exact")
    for length in (16, 60, 144, 263):
        yield GpuCase(f"fft_{length}", jnp.fft.fft, (numbers((3, length), np.complex64),), "fourier")
    yield GpuCase("rfft2", jnp.fft.rfft2, (numbers((2, 12, 20)),), "fourier")
    yield GpuCase("irfft", jnp.fft.irfft, (numbers((2, 33), np.complex64),), "fourier")
    yield GpuCase("fft_f64", jnp.fft.ifft, (numbers((2, 100), np.complex128),), "fourier")


def scatters():
    """Integers are combined by atomic instructions. Floats are sorted by row first; sums of small integers are exact in f32."""
    for dtype in (np.int32, np.uint32, np.int64, np.int8, F32, BF16):
        table, index = numbers((300, 70), np.int32).astype(dtype), _random.integers(-5, 305, 2000)
        updates = numbers((2000, 70), np.int32).astype(dtype)
        name = np.dtype(dtype).name
        # bf16 would round: in any other order than the evaluator's, too.
        combine = "max" if dtype == BF16 else "add"
        run = lambda t, i, u, c=combine: getattr(t.at[i], c)(u, mode="drop")
        yield GpuCase(f"scatter_{combine}_{name}", run, (table, index.astype(np.int32), updates), "exact")
    table, index = numbers((50_000,), np.int32), _random.integers(0, 50_000, 3000)
    for combine in ("min", "max", "multiply", "set"):
        run = lambda t, i, u, c=combine: getattr(t.at[i], c)(u)
        index = np.unique(index) if combine == "set" else index
        yield GpuCase(f"scatter_{combine}_elements", run, (table, index.astype(np.int32), numbers(index.shape, np.int32)), "exact")
    # Rows whose updates fill several chunks, and chunks of a single row.
    index = np.sort(np.concatenate([np.full(900, 7), np.full(333, 9), _random.integers(0, 10_000, 1000)])).astype(np.int32)
    for columns in (1, 65):
        arguments = numbers((10_000, columns), np.int32).astype(F32), index, numbers((len(index), columns), np.int32).astype(F32)
        yield GpuCase(f"scatter_long_segments_{columns}", lambda t, i, u: t.at[i].add(u, indices_are_sorted=True), arguments, "exact")


def sorts():
    """Sorts of rows that a block holds, and of longer ones; few different keys, so that many are equal."""
    for n in (1, 2, 3, 31, 1000, 8192, 8193, 30000, 100000):
        x = numbers((n,), np.int32)
        yield GpuCase(f"argsort_{n}", lambda x: jnp.argsort(x, stable=True), (x,), "exact")
    for dtype in (np.int8, np.uint8, np.int16, np.uint32, np.int64, np.uint64, F16, BF16, np.float64, np.bool_, np.complex64):
        x = numbers((5, 300), dtype)
        yield GpuCase(f"sort_rows_{np.dtype(dtype).name}", lambda x: jnp.sort(x, axis=1), (x,), "exact")
        yield GpuCase(f"sort_columns_{np.dtype(dtype).name}", lambda x: jnp.sort(x, axis=0), (x,), "exact")
    for shape, axis in (((7, 50, 9), 0), ((7, 50, 9), 1), ((7, 50, 9), 2), ((1500, 4), 0), ((2, 9000, 3), 1), ((300, 3), 1), ((3, 9000), 1)):
        x = numbers(shape, np.int32)
        name = "x".join(map(str, shape))
        yield GpuCase(f"argsort_{name}_axis_{axis}", lambda x, a=axis: jnp.argsort(x, axis=a, stable=True), (x,), "exact")
        yield GpuCase(f"sort_{name}_axis_{axis}", lambda x, a=axis: jnp.sort(x, axis=a, descending=True), (x,), "exact")
    special = np.array([np.nan, 0.0, -0.0, np.inf, -np.inf, 1.0, -1.0, 1e-40], np.float32)
    for n in (40, 9000):
        x = special[_random.integers(0, len(special), n)]
        yield GpuCase(f"sort_special_{n}", lambda x: (jnp.sort(x), jnp.argsort(x, stable=True)), (x,), "exact")
        yield GpuCase(f"sort_special_descending_{n}", lambda x: jnp.argsort(x, stable=True, descending=True), (x,), "exact")
        keys = numbers((2, n), np.int8), numbers((2, n), np.float64), numbers((2, n), BF16), numbers((2, n), np.complex64)
        yield GpuCase(f"sort_two_keys_{n}", lambda *k: lax.sort(k, dimension=1, num_keys=2), keys, "exact")
        yield GpuCase(f"sort_last_operand_alone_{n}", lambda *k: lax.sort(k, dimension=1, num_keys=1)[3], keys, "exact")
        yield GpuCase(f"sort_after_exp_{n}", lambda x: jnp.sort(jnp.abs(x) + 1) * 2, (numbers((n,)),), "exact")
    # Long enough for a radix sort.
    for dtype, n in ((np.uint32, 70_000), (F16, 20_000), (np.int16, 16_385)):
        yield GpuCase(f"sort_long_{np.dtype(dtype).name}", lambda x: jnp.sort(x), (numbers((n,), dtype),), "exact")
    x = special[_random.integers(0, len(special), 70_000)]
    yield GpuCase("sort_long_special", lambda x: (jnp.sort(x), jnp.argsort(x, stable=True, descending=True)), (x,), "exact")
    keys = numbers((2, 20_001), np.int8), numbers((2, 20_001), np.float64), numbers((2, 20_001), np.int16)
    yield GpuCase("sort_long_payloads", lambda *k: lax.sort(k, num_keys=1), keys, "exact")
    for (rows, n), k in (((4, 1000), 5), ((2, 50000), 40), ((1, 40000), 5000), ((5, 7), 7), ((3, 8192), 1)):
        for dtype in (np.float32, np.int32, BF16):
            x = numbers((rows, n), dtype)
            yield GpuCase(f"top_{k}_of_{rows}x{n}_{np.dtype(dtype).name}", lambda x, k=k: lax.top_k(x, k), (x,), "exact")


def scans():
    """Windows that reach back to the first element, or on to the last. Sums of small integers are exact in f32."""

    def prefix(function, init, axis, reverse):
        def run(x):
            n = x.shape[axis]
            window = [n if i == axis else 1 for i in range(x.ndim)]
            padding = [((0, n - 1) if reverse else (n - 1, 0)) if i == axis else (0, 0) for i in range(x.ndim)]
            return lax.reduce_window(x, np.asarray(init, x.dtype), function, window, [1] * x.ndim, padding)

        return run

    whole = lambda shape, dtype: numbers(shape, np.int32).astype(dtype)
    # The evaluator's time is quadratic in the length.
    shapes = [((1,), 0), ((2,), 0), ((100,), 0), ((4096,), 0), ((4097,), 0), ((2, 5000), 1), ((300, 33), 1), ((4200, 3), 0),
              ((2, 4100, 2), 1), ((7, 50, 9), 0), ((7, 50, 9), 1)]  # fmt: skip
    for shape, axis in shapes:
        name = "x".join(map(str, shape))
        for reverse in (False, True):
            case = f"{name}_axis_{axis}" + ("_reverse" if reverse else "")
            yield GpuCase(f"cumsum_{case}", prefix(lax.add, 0, axis, reverse), (whole(shape, F32),), "exact")
            if shape[axis] < 1000:
                yield GpuCase(f"cumsum_i8_{case}", prefix(lax.add, 0, axis, reverse), (numbers(shape, np.int8),), "exact")
                yield GpuCase(f"cummax_{case}", prefix(lax.max, -np.inf, axis, reverse), (numbers(shape, BF16),), "exact")
    signs = np.where(_random.integers(0, 2, (4500, 2)) == 1, 1.0, -1.0)
    yield GpuCase("cumprod_f64", prefix(lax.mul, 1, 0, False), (signs,), "exact")
    yield GpuCase("cumprod_complex", prefix(lax.mul, 1, 0, True), ((signs * 1j).astype(np.complex64),), "exact")
    yield GpuCase("cummin_special", prefix(lax.min, np.inf, 0, False), (np.array([3, -0.0, 0.0, np.nan, -1], F32),), "exact")


def grouped_heads():
    """Attention whose heads share keys: grids of more dimensions than a launch has, for one of the products with clusters."""
    for name in ("bf16", "tf32"):
        dtype = TYPES[name][0]
        keys, queries = numbers((2, 128, 2, 32), dtype), numbers((2, 128, 2, 2, 32), dtype)
        yield product(f"gemm_grouped_keys_{name}", queries, keys, ((4,), (3,)), ((0, 2), (0, 2)))
        yield product(f"gemm_grouped_values_{name}", keys, numbers((2, 2, 2, 128, 128), dtype), ((1,), (4,)), ((0, 2), (1, 2)))


@functools.cache
def all_cases():
    global _random
    _random = np.random.default_rng(7)  # the same inputs, whatever a process made before
    return [*products(), *convolutions(), *norms(), *reductions(), *movements(), *elementwise(), *expansions(), *gathers(), *precisions(), *scatters(), *sorts(), *scans(), *grouped_heads()]
