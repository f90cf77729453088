"""The programs that bench/cpu.py measures: name -> a function that makes (jax function, arguments).

The rows are what users of CPU backends usually complain about: matmuls of every aspect ratio, fusions larger and smaller
than a cache, data movement, sorting, scans, small models and calls that are all overhead.
"""
import functools

import jax
import jax.numpy as jnp
import numpy

from bench import models

PROGRAMS = {}
LARGE = (4096, 4096)  # 64 MiB of f32: larger than the caches, so memory-bound
SMALL = (1024, 1024)  # 4 MiB: fits the caches


def program(name, group):
    def add(make):
        PROGRAMS[name] = (group, make)
        return make
    return add


def normal(*shape, dtype=numpy.float32, seed=0):
    return jnp.asarray(numpy.random.default_rng(seed).standard_normal(shape, dtype=numpy.float32)).astype(dtype)


def integers(*shape, high, seed=0):
    return jnp.asarray(numpy.random.default_rng(seed).integers(0, high, shape, dtype=numpy.int32))


def _matmul(kind, m, k, n):
    def make():
        if kind == "s8":
            a, b = (integers(*s, high=127).astype(jnp.int8) for s in ((m, k), (k, n)))
            return (lambda a, b: jax.lax.dot(a, b, preferred_element_type=jnp.int32)), (a, b)
        dtype = {"f32": jnp.float32, "bf16": jnp.bfloat16}[kind]
        return (lambda a, b: a @ b), (normal(m, k, dtype=dtype), normal(k, n, dtype=dtype, seed=1))
    program(f"{kind}_{m}x{k}x{n}", "matmul")(make)


for size in (256, 512, 1024, 2048):
    for kind in ("f32", "bf16", "s8"):
        _matmul(kind, size, size, size)
for m in (1, 8, 128):
    for kind in ("f32", "bf16", "s8"):
        _matmul(kind, m, 4096, 4096)


def _scaled_matmul(name, element, scale, block, size=1024):
    """Both operands with their scales, as lax.scaled_dot takes them; jaxlib computes its decomposition."""
    def make():
        def scales(seed):
            numbers = normal(size, size // block, seed=seed)
            return (jnp.exp2(jnp.round(numbers)) if scale is jnp.float8_e8m0fnu else jnp.abs(numbers) + 0.1).astype(scale)

        def product(a, b, lhs_scale, rhs_scale):
            return jax.lax.scaled_dot(a, b, lhs_scale=lhs_scale, rhs_scale=rhs_scale, dimension_numbers=(((1,), (1,)), ((), ())), preferred_element_type=jnp.float32)

        return product, (normal(size, size, dtype=element), normal(size, size, dtype=element, seed=1), scales(2), scales(3))
    program(f"{name}_{size}x{size}x{size}", "matmul")(make)


_scaled_matmul("mxfp8", jnp.float8_e4m3fn, jnp.float8_e8m0fnu, 32)
_scaled_matmul("nvfp4", jnp.float4_e2m1fn, jnp.float8_e4m3fn, 16)


def fusion(name, function, *arguments):
    program(name, "fusion")(lambda: (function, tuple(a() for a in arguments)))


def softmax(x):
    return jax.nn.softmax(x, axis=-1)


def layernorm(x, scale, bias):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * scale + bias


def gelu_affine(x, scale, bias):
    return jax.nn.gelu(x * scale + bias)


def chain_cheap(x):
    for factor in (1.1, 0.9, 1.2, 0.8):
        x = jnp.maximum(x * factor + 0.5, 0.1) - 0.25
    return x


def swiglu(x, y):
    return jax.nn.silu(x) * y


def _row(dtype):
    return lambda: normal(4096, dtype=dtype)


for suffix, shape, dtype in (("", LARGE, jnp.float32), ("_4MiB", SMALL, jnp.float32), ("_bf16", LARGE, jnp.bfloat16)):
    x = functools.partial(normal, *shape, dtype=dtype)
    row = functools.partial(normal, shape[1], dtype=dtype)
    fusion("softmax" + suffix, softmax, x)
    fusion("layernorm" + suffix, layernorm, x, row, row)
    fusion("gelu_affine" + suffix, gelu_affine, x, row, row)
    if suffix != "_4MiB":
        fusion("swiglu" + suffix, swiglu, x, x)
large = functools.partial(normal, *LARGE)
positive = lambda: jnp.abs(large()) + 0.1
fusion("chain_cheap", chain_cheap, large)
for name in ("exp", "tanh", "sin"):
    fusion(name, getattr(jnp, name), large)
fusion("erf", jax.scipy.special.erf, large)
fusion("log", jnp.log, positive)
fusion("pow", jnp.power, positive, large)
fusion("sum_all", jnp.sum, large)
fusion("sum_rows", lambda x: x.sum(1), large)
fusion("sum_cols", lambda x: x.sum(0), large)
fusion("argmax_rows", lambda x: x.argmax(1), large)
fusion("mean_var_rows", lambda x: (x.mean(1), x.var(1)), large)
fusion("logsumexp_rows", lambda x: jax.nn.logsumexp(x, axis=1), large)
fusion("cast_f32_bf16", lambda x: x.astype(jnp.bfloat16), large)
fusion("cast_f32_e4m3", lambda x: x.astype(jnp.float8_e4m3fn), large)
fusion("quant_s8", lambda x: jnp.clip(jnp.round(x * 32), -127, 127).astype(jnp.int8), large)
fusion("one_hot", lambda i: jax.nn.one_hot(i, 4096), lambda: integers(4096, high=4096))


def movement(name, function, *arguments):
    program(name, "movement")(lambda: (function, tuple(a() for a in arguments)))


movement("transpose", lambda x: x.T + 0, large)
movement("permute0213", lambda x: x.transpose(0, 2, 1, 3) + 0, lambda: normal(8, 16, 512, 64))
movement("concat_last", lambda x, y: jnp.concatenate([x, y], -1), lambda: normal(4096, 2048), lambda: normal(4096, 2048))
movement("pad_slice", lambda x: jnp.pad(x, ((1, 1), (1, 1)))[:-2, :-2], large)
movement("sort_1m", jnp.sort, lambda: normal(1 << 20))
movement("sort_rows_1kx1k", lambda x: jnp.sort(x, -1), lambda: normal(1024, 1024))
movement("argsort_1m", jnp.argsort, lambda: normal(1 << 20))
movement("topk50_64xV", lambda x: jax.lax.top_k(x, 50), lambda: normal(64, 32000))
movement("topk8_4096x128", lambda x: jax.lax.top_k(x, 8), lambda: normal(4096, 128))
movement("embed_gather", lambda t, i: t[i], lambda: normal(32000, 1024), lambda: integers(4096, high=32000))
movement("embed_scatter_add", lambda t, i, u: t.at[i].add(u), lambda: normal(32000, 512),
         lambda: integers(4096, high=32000), lambda: normal(4096, 512))
movement("gather_elems_4m", lambda x, i: x[i], lambda: normal(1 << 22), lambda: integers(1 << 22, high=1 << 22))
movement("segment_sum_1m", lambda x, i: jax.ops.segment_sum(x, i, 1024), lambda: normal(1 << 20),
         lambda: integers(1 << 20, high=1024))
movement("cumsum_rows", lambda x: jnp.cumsum(x, 1), large)
movement("cumsum_1d_4m", jnp.cumsum, lambda: normal(1 << 22))
movement("cummax_rows", lambda x: jax.lax.cummax(x, axis=1), large)
movement("linear_scan_assoc", lambda a, x: jax.lax.associative_scan(
    lambda l, r: (l[0] * r[0], r[0] * l[1] + r[1]), (a, x), axis=1)[1],
    lambda: normal(64, 1024, 32) * 0.5, lambda: normal(64, 1024, 32))
movement("random_bits_16m", lambda k: jax.random.bits(k, (1 << 24,)), lambda: jax.random.key_data(jax.random.key(0)))
movement("random_normal_16m", lambda k: jax.random.normal(k, (1 << 24,)), lambda: jax.random.key_data(jax.random.key(0)))
movement("maxpool2d", lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
         lambda: normal(16, 128, 128, 64))


def while_1000(x):
    return jax.lax.while_loop(lambda s: s[0] < 1000, lambda s: (s[0] + 1, s[1] * 1.0001 + 0.1), (0, x))[1]


program("while_1000", "dispatch")(lambda: (while_1000, (jnp.float32(1),)))


def attention(q, k, v, causal=False):
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / 8
    if causal:
        n = scores.shape[-1]
        scores = jnp.where(jnp.tril(jnp.ones((n, n), bool)), scores, -1e9)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, -1), v)


def _attention(name, dtype, q_length, causal=False):
    q = lambda: normal(2, 8, q_length, 64, dtype=dtype)
    kv = lambda: normal(2, 8, 1024, 64, dtype=dtype)
    program(name, "fusion")(lambda: (functools.partial(attention, causal=causal), (q(), kv(), kv())))


_attention("attention_f32", jnp.float32, 1024)
_attention("attention_bf16", jnp.bfloat16, 1024)
_attention("attention_causal_f32", jnp.float32, 1024, causal=True)
_attention("attn_decode_f32", jnp.float32, 1)


def attention_grad(q, k, v):
    return jax.value_and_grad(lambda q, k, v: jnp.square(attention(q, k, v, causal=True).astype(jnp.float32)).mean(), (0, 1, 2))(q, k, v)


for kind, dtype in (("f32", jnp.float32), ("bf16", jnp.bfloat16)):
    program(f"attention_grad_{kind}", "fusion")(
        lambda dtype=dtype: (attention_grad, tuple(normal(2, 8, 1024, 64, dtype=dtype) for _ in range(3))))
for kind, dtype in (("f32", jnp.float32), ("bf16", jnp.bfloat16)):
    fusion(f"mm_gelu_{kind}", lambda x, w, b: jax.nn.gelu(x @ w + b), functools.partial(normal, 1024, 1024, dtype=dtype),
           functools.partial(normal, 1024, 4096, dtype=dtype), functools.partial(normal, 4096, dtype=dtype))
fusion("bmm_small_f32", lambda a, b: a @ b, lambda: normal(512, 64, 64), lambda: normal(512, 64, 64))

for name, make in models.MODELS.items():
    program(name, "model")(make)


def dispatch(name, make):
    program(name, "dispatch")(make)


dispatch("add_8", lambda: (lambda x, y: x + y, (normal(8), normal(8))))
dispatch("matmul_8x8", lambda: (lambda a, b: a @ b, (normal(8, 8), normal(8, 8))))
dispatch("matmul_64", lambda: (lambda a, b: a @ b, (normal(64, 64), normal(64, 64))))
dispatch("softmax_16x128", lambda: (softmax, (normal(16, 128),)))
dispatch("args_10", lambda: (lambda *xs: [x + 1 for x in xs], tuple(normal(8) for _ in range(10))))
dispatch("args_100", lambda: (lambda *xs: [x + 1 for x in xs], tuple(normal(8) for _ in range(100))))


def chain20(x):
    for _ in range(20):
        x = jnp.sin(x) * 1.01 + 0.1
    return x


dispatch("chain20_1024", lambda: (chain20, (normal(1024),)))
dispatch("mlp3_64", lambda: (lambda x, ws: functools.reduce(lambda h, w: jnp.tanh(h @ w), ws, x),
                             (normal(8, 64), [normal(64, 64) * 0.1 for _ in range(3)])))
dispatch("scan_100x64", lambda: (lambda w, x: jax.lax.scan(lambda h, v: (jnp.tanh(h * w + v), h.sum()), x[0], x),
                                 (normal(64), normal(100, 64))))
