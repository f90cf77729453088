"""Runs FlashAttention-4's forward kernel, written in the CuTe DSL, on the virtual GPU and compares it with NumPy.

    tilewright vgpu run --chip=sm_100a --check=all -- python attention.py RUNTIME VARIANT BLOCKS

RUNTIME is the library made of Runtime.cpp, VARIANT plain, causal, grouped (two heads of queries for
one of keys) or stolen (causal; blocks cancel others and take their tiles), BLOCKS 1 or 2 (cta_group::2).
"""

import math
import sys
import types

from host import STREAM, execute, on_device, read_back, start, without_init

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import ml_dtypes
import numpy as np


class Absent(types.ModuleType):
    """A module whose names all stand for empty classes: the kernel's modules name torch's types, and never call them."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return sys.modules.get(f"{self.__name__}.{name}") or type(name, (), {})


for module in ("torch", "torch.nn", "torch.cuda", "torch._subclasses", "torch._subclasses.fake_tensor"):
    sys.modules[module] = Absent(module)
without_init("flash_attn", "flash_attn.cute", "quack", "quack.dsl")
import quack.dsl.cute_tensor  # noqa: E402
import quack.dsl.cute_tensor_indexing  # noqa: E402
import quack.dsl.mixed_constexpr_if  # noqa: E402, F401
from flash_attn.cute.flash_fwd_sm100 import FlashAttentionForwardSm100  # noqa: E402

_, variant, blocks = sys.argv[1:]
CAUSAL = variant in ("causal", "stolen")
# Odd lengths: the last tile of queries and of keys is incomplete. Each pair of blocks has 512 queries.
QUERIES, KEYS = (300, 427) if CAUSAL else (601, 300)
HEADS, KEY_HEADS, WIDTH = 2, 1 if variant == "grouped" else 2, 128
SCALE = 1 / math.sqrt(WIDTH)
random = np.random.default_rng(0)


@cute.jit
def attention(
    q: cute.Pointer, k: cute.Pointer, v: cute.Pointer, o: cute.Pointer, lse: cute.Pointer,
    queries: cutlass.Int32, keys: cutlass.Int32, kernel: cutlass.Constexpr, stream: cuda.CUstream,
):  # fmt: skip
    def rows(pointer, length, heads):
        return cute.make_tensor(pointer, cute.make_ordered_layout((1, length, heads, WIDTH), order=(3, 2, 1, 0)))

    kernel(
        rows(q, queries, HEADS), rows(k, keys, KEY_HEADS), rows(v, keys, KEY_HEADS), rows(o, queries, HEADS),
        cute.make_tensor(lse, cute.make_ordered_layout((1, HEADS, queries), order=(2, 1, 0))),
        cutlass.Float32(SCALE), stream=stream,
    )  # fmt: skip


def expected(q, k, v):
    """Attention and the logarithms of the sums, in float64."""
    q, k, v = (array.astype(np.float64).transpose(1, 0, 2) for array in (q, k, v))
    k, v = (np.repeat(array, HEADS // KEY_HEADS, 0) for array in (k, v))
    scores = q @ k.transpose(0, 2, 1) * SCALE
    if CAUSAL:  # the last query sees the last key
        scores[:, np.triu(np.ones((QUERIES, KEYS), bool), KEYS - QUERIES + 1)] = -np.inf
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(-1, keepdims=True)
    return (weights / total @ v).transpose(1, 0, 2), (top + np.log(total))[..., 0]


def main():
    start()
    BF16 = ml_dtypes.bfloat16
    q = random.standard_normal((QUERIES, HEADS, WIDTH)).astype(BF16)
    k, v = (random.standard_normal((KEYS, KEY_HEADS, WIDTH)).astype(BF16) for _ in "kv")
    o, lse = np.full(q.shape, np.nan, BF16), np.full((HEADS, QUERIES), np.nan, np.float32)
    (po, o_address), (pl, lse_address) = on_device(o, cutlass.BFloat16), on_device(lse, cutlass.Float32)
    arguments = (*(on_device(array, cutlass.BFloat16)[0] for array in (q, k, v)), po, pl, QUERIES, KEYS)
    kernel = FlashAttentionForwardSm100(
        WIDTH, WIDTH, HEADS // KEY_HEADS, is_causal=CAUSAL, pack_gqa=variant == "grouped",
        use_2cta_instrs=blocks == "2", is_static_persistent=not CAUSAL, use_clc_scheduler=variant == "stolen",
    )  # fmt: skip
    execute(attention, (*arguments, kernel, STREAM), (*arguments, STREAM), blocks)
    read_back(o, o_address)
    read_back(lse, lse_address)
    wanted, wanted_lse = expected(q, k, v)
    error = np.abs(o.astype(np.float64) - wanted).max(), np.abs(lse - wanted_lse).max()
    print("errors", *error)
    # The weights and the result are rounded to bf16; the weights of a row sum to 1.
    assert error[0] <= 2**-8 * np.abs(v.astype(np.float64)).max() and error[1] <= 2**-13, error
    print("equal")


main()
