"""Hand-written programs for GPUs: products, softmax, norms and their gradients, reductions, transposes, elementwise functions.

Each is a function of arrays, with the class of its tolerance (test/jax/agreement.py) or a bound of its own. Products in
tf32 round their factors, so the tolerance follows from the sum of the absolute products. For products with an epilogue of
functions and sums, and for norms, the tolerance follows from all terms of all sums (bounds.py).
"""

import dataclasses
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
    # For products and sums: the allowed error of an element, in units of 2^-24 of the sum of absolute terms.
    product_units: float = 0.0
    absolute: np.ndarray | None = None
    # Results are also compared with bounds that follow from every sum of the program.
    bounded: bool = False


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


def product(name, lhs, rhs, contract, batch=((), ()), after=None, before=None, more=(), result=None, units=None):
    """lhs · rhs with the prologue `before` and the epilogue `after`."""
    result = np.dtype(result or _result(lhs.dtype))

    def function(a, b, *rest):
        if before:
            a, b = before(a, b)
        d = lax.dot_general(a, b, (contract, batch), preferred_element_type=result)
        return after(d, *rest) if after else d

    if units is None:
        units = 2.0**15 if lhs.dtype == F32 else 64.0
    magnitudes = [np.abs(x.astype(np.float64)) for x in (lhs, rhs)]
    absolute = np.asarray(
        lax.dot_general(*[jnp.asarray(m, jnp.float32) for m in magnitudes], (contract, batch)), np.float64
    )
    return GpuCase(name, function, (lhs, rhs, *more), "contraction", units, absolute)


TYPES = {"f16": (F16, F16), "bf16": (BF16, BF16), "tf32": (F32, F32), "e4m3": (E4M3, E4M3), "e5m2": (E5M2, E5M2),
         "e4m3e5m2": (E4M3, E5M2), "s8": (I8, I8)}  # fmt: skip
RAGGED = [(1, 1, 1), (1, 1000, 64), (1000, 1, 33), (17, 33, 65), (64, 64, 64), (100, 200, 300), (127, 129, 999),
          (128, 256, 64), (3, 5, 1000), (250, 31, 128)]  # fmt: skip


def products():
    for name, (left, right) in TYPES.items():
        for (m, n, k), (i, transposes) in itertools.product(RAGGED, enumerate(("nn", "nt", "tn", "tt"))):
            # Every size for f16; for the others each size with one of the transpositions, and all at one size.
            if name != "f16" and (RAGGED.index((m, n, k)) % 4 != i and (m, n, k) != (100, 200, 300)):
                continue
            a = numbers((m, k) if transposes[0] == "n" else (k, m), left)
            b = numbers((k, n) if transposes[1] == "n" else (n, k), right)
            contract = ((1 if transposes[0] == "n" else 0,), (0 if transposes[1] == "n" else 1,))
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
                case = dataclasses.replace(case, absolute=case.absolute.sum(axis=1))
            elif epilogue == "bias_relu_half":
                # The epilogue rounds to f16, where two correct sums may be on different sides of a tie. That is an ulp,
                # 2^-10 of at most the absolute sum and the bias, in the units of the product.
                ulp = 2.0**-10 * (case.absolute + 2) / (case.product_units * 2.0**-24)
                case = dataclasses.replace(case, absolute=case.absolute + ulp)
            else:
                case = dataclasses.replace(case, absolute=case.absolute + 2)
            yield case
    # Several tiles, ragged, with rows that TMA accepts; with --processors 2 there are more tiles than run at once.
    for name, transposes in [("f16", "nn"), ("f16", "nt"), ("f16", "tn"), ("f16", "tt"), ("bf16", "nt"), ("tf32", "nt"), ("tf32", "nn"), ("e4m3", "nt"), ("s8", "nt")]:
        left, right = TYPES[name]
        m, n, k = 264, 200, 144
        a = numbers((m, k) if transposes[0] == "n" else (k, m), left)
        b = numbers((k, n) if transposes[1] == "n" else (n, k), right)
        contract = ((1 if transposes[0] == "n" else 0,), (0 if transposes[1] == "n" else 1,))
        yield product(f"gemm_tiles_{name}_{transposes}", a, b, contract)
        if left in (F16, BF16):
            # The result is rounded to 11 bits, or to 8.
            yield product(f"gemm_tiles_{name}_{transposes}_narrow", a, b, contract, result=left, units=2.0 ** (13 if left == F16 else 16))
    a, b, bias = numbers((3, 200, 80), F16), numbers((3, 80, 136), F16), numbers((136,))
    yield product("gemm_tiles_batched", a, b, ((2,), (1,)), ((0,), (0,)))
    case = product("gemm_tiles_batched_bias", a, b, ((2,), (1,)), ((0,), (0,)), after=lambda d, c: jnp.maximum(d + c, 0).astype(jnp.float16),
                   more=(bias,), units=2.0**13)  # fmt: skip
    yield dataclasses.replace(case, absolute=case.absolute + 2)
    # Few tiles and a long contraction: the product is split along K, and a second kernel sums the parts and has the epilogue.
    for name, transposes, (m, n, k) in [("bf16", "nt", (33, 40, 8192)), ("f16", "nn", (65, 24, 8192)), ("f16", "tn", (24, 40, 8192)), ("f16", "nt", (1, 40, 9216)),
                                        ("tf32", "nt", (17, 72, 8192)), ("tf32", "nn", (17, 72, 8192)), ("e4m3", "nt", (24, 56, 16384)), ("s8", "nt", (40, 40, 16384))]:  # fmt: skip
        left, right = TYPES[name]
        a = numbers((m, k) if transposes[0] == "n" else (k, m), left)
        b = numbers((k, n) if transposes[1] == "n" else (n, k), right)
        contract = ((1 if transposes[0] == "n" else 0,), (0 if transposes[1] == "n" else 1,))
        yield product(f"gemm_split_{name}_{transposes}_{m}x{n}x{k}", a, b, contract)
    a, b, bias = numbers((40, 8192), BF16), numbers((48, 8192), BF16), numbers((48,))
    case = product("gemm_split_bias", a, b, ((1,), (1,)), after=lambda d, c: jnp.maximum(d + c, 0), more=(bias,))
    yield dataclasses.replace(case, absolute=case.absolute + 2)
    yield product("gemm_split_narrow", a, b, ((1,), (1,)), result=BF16, units=2.0**16)
    a, b = numbers((2, 24, 8192), F16), numbers((8192, 2, 32), F16)
    yield product("gemm_split_batched", a, b, ((2,), (0,)), ((0,), (1,)))
    a, b = numbers((24, 8192), BF16), numbers((8192, 64), I8)
    yield product("gemm_split_prologue", a, b, plain, before=lambda x, y: (x, y.astype(jnp.bfloat16)))
    # The kernel of the product also reduces its rows and continues with the result.
    a, b = numbers((264, 144), F16), numbers((144, 200), F16)
    rows = {"sum": lambda x: x.sum(axis=1), "max": lambda x: x.max(axis=1)}
    for name, absolute in rows.items():
        case = product(f"gemm_rows_{name}", a, b, plain, after=lambda d, f=getattr(jnp, name): f(d, axis=1))
        yield dataclasses.replace(case, absolute=absolute(case.absolute))
    # The entries are small, so the tolerance must follow from them and not from the size of the product.
    for name, after in {"softmax": lambda d: jax.nn.softmax(d, axis=1), "softmax_half": lambda d: jax.nn.softmax(d, axis=1).astype(jnp.float16)}.items():
        case = product(f"gemm_rows_{name}", a, b, plain, after=after)
        yield dataclasses.replace(case, op_class="bounded", product_units=0.0, absolute=None, bounded=True)
    case = product("gemm_rows_softmax_tf32", numbers((136, 80)), numbers((120, 80)), ((1,), (1,)), after=lambda d: jax.nn.softmax(d, axis=1))
    yield dataclasses.replace(case, op_class="bounded", product_units=0.0, absolute=None, bounded=True)
    a, b = numbers((3, 72, 80), BF16), numbers((3, 256, 80), BF16)
    case = product("gemm_rows_batched", a, b, ((2,), (2,)), ((0,), (0,)), after=lambda d: jnp.sum(jnp.maximum(d, 0), axis=2))
    yield dataclasses.replace(case, absolute=case.absolute.sum(axis=2))
    # Weights are stored in a small type and widened in the prologue.
    x = numbers((96, 128), BF16)
    for name, dtype in {"e4m3": E4M3, "e5m2": E5M2, "s8": I8}.items():
        w, scale = numbers((128, 64), dtype), numbers((64,), BF16, 0.5, 1.0)
        yield product(f"gemm_dequantised_{name}", x, w, plain, before=lambda a, b: (a, b.astype(jnp.bfloat16)), result=F32)
        case = product(f"gemm_dequantised_scaled_{name}", x, w, plain, before=lambda a, b: (a, b.astype(jnp.bfloat16)),
                       after=lambda d, s: d * s.astype(jnp.float32), more=(scale,), result=F32)  # fmt: skip
        yield case
    yield from dequantised()


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
        yield dataclasses.replace(case, absolute=case.absolute + 2)
    transposed = np.ascontiguousarray(w.astype(np.float32).T).astype(E4M3)
    yield product("gemm_mixed_half_rows", x, transposed, orders["nt"], before=wide(BF16, "rhs"), result=BF16, units=2.0**17)
    half = product("gemm_mixed_half", x, w, orders["nn"], before=wide(BF16, "rhs"), after=lambda d: d.astype(jnp.bfloat16), result=F32)
    yield dataclasses.replace(half, absolute=half.absolute * 2.0**10)  # the result is rounded to 8 bits
    # Scales of rows or columns, of groups of the contraction, and zero points. The scaled weight is rounded to bf16, as
    # in the evaluator; the tolerance follows from its size.
    for name, dtype in {"i4": I4, "u4": U4, "e2m1": E2M1, "s8": I8}.items():
        for order, group in (("nn", 64), ("nt", 128), ("nn", 128), ("nt", 64)):
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

            largest = np.abs(w.astype(np.float64)).max() + 8
            absolute = np.abs(x.astype(np.float64)).sum(axis=1, keepdims=True) * largest * np.ones((1, n))
            yield GpuCase(f"gemm_group_{name}_{order}_{group}", function, (x, w, scale), "contraction", 64.0, absolute)
    x, w, scale = numbers((200, 320), BF16), numbers((320, 64), I8), numbers((64,), BF16, 0.1, 1.0)
    yield GpuCase("gemm_scaled_columns", lambda x, w, s: jnp.dot(x, w.astype(jnp.bfloat16) * s, preferred_element_type=jnp.float32),
                  (x, w, scale), "contraction", 64.0, np.full((200, 64), 320 * 20.0))  # fmt: skip
    yield GpuCase("gemm_two_computed_sides", lambda x, w, s: jnp.dot(x * jnp.bfloat16(0.5), w.astype(jnp.bfloat16) * s,
                  preferred_element_type=jnp.float32), (x, w, scale), "contraction", 64.0, np.full((200, 64), 320 * 20.0))  # fmt: skip
    yield GpuCase("gemm_scaled_rows", lambda x, w, s: jnp.dot(x * s[:, None], w, preferred_element_type=jnp.float32),
                  (x, numbers((320, 64), BF16), numbers((200,), BF16)), "contraction", 64.0, np.full((200, 64), 320.0))  # fmt: skip


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
        allowed = (1.0, np.abs(x).sum(axes)) if name == "sum" else ()
        yield GpuCase(f"{name}_{shape_name}", lambda x, f=function, a=axes: f(x, axis=a), (x,), "exact", *allowed)
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


def all_cases():
    global _random
    _random = np.random.default_rng(7)  # the same inputs, however often a process calls this
    return [*products(), *norms(), *reductions(), *movements(), *elementwise()]
