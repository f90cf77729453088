"""Triton programs as users write them with torch: tensors on `cuda`, autograd, autotuning. No program here knows of the virtual GPU.

    tilewright vgpu run --check=all -- pytest test/vgpu/torch/test_programs.py

Tolerances: f32 sums differ from torch's by the order of n terms, by at most n * 2^-24 of the sum of their magnitudes; results
in f16 by one more rounding (2^-11).
"""

import pytest
import torch
import triton
import triton.language as tl

DEVICE = torch.device("cuda")


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


# ---- vector addition


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int32])
def test_vector_add(dtype):
    n = 1037
    if dtype.is_floating_point:
        x, y = torch.randn(n, device=DEVICE, dtype=dtype), torch.randn(n, device=DEVICE, dtype=dtype)
    else:
        x, y = (torch.randint(-99, 99, (n,), device=DEVICE, dtype=dtype) for _ in range(2))
    out = torch.empty_like(x)
    add_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n, BLOCK=256)
    assert torch.equal(out, x + y)


# ---- fused softmax, one program for several rows


@triton.jit
def softmax_kernel(out, x, x_stride, out_stride, rows, columns, BLOCK: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        i = tl.arange(0, BLOCK)
        values = tl.load(x + row * x_stride + i, mask=i < columns, other=-float("inf"))
        e = tl.exp(values - tl.max(values, axis=0))
        tl.store(out + row * out_stride + i, e / tl.sum(e, axis=0), mask=i < columns)


def test_fused_softmax():
    x = torch.randn(37, 301, device=DEVICE)
    out = torch.empty_like(x)
    programs = min(torch.cuda.get_device_properties(x.device).multi_processor_count, 8)
    softmax_kernel[(programs,)](out, x, x.stride(0), out.stride(0), *x.shape, BLOCK=512)
    torch.testing.assert_close(out, torch.softmax(x, dim=1), rtol=1e-5, atol=1e-7)


# ---- a product with autotuning


@triton.autotune(
    configs=[
        triton.Config({"M": 32, "N": 32, "K": 32}, num_warps=2, num_stages=2),
        triton.Config({"M": 64, "N": 32, "K": 32}, num_warps=4, num_stages=3),
    ],
    key=["m", "n", "k"],
)
@triton.jit
def matmul_kernel(a, b, c, m, n, k, am, ak, bk, bn, cm, cn, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    accumulator = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        left = tl.load(a + rows[:, None] * am + (start + inner)[None, :] * ak,
                       mask=(rows[:, None] < m) & (start + inner < k)[None, :], other=0.0)
        right = tl.load(b + (start + inner)[:, None] * bk + columns[None, :] * bn,
                        mask=(start + inner < k)[:, None] & (columns[None, :] < n), other=0.0)
        accumulator = tl.dot(left, right, accumulator)
    tl.store(c + rows[:, None] * cm + columns[None, :] * cn, accumulator.to(c.dtype.element_ty),
             mask=(rows[:, None] < m) & (columns[None, :] < n))


def test_matmul_with_autotuning():
    a = torch.randn(70, 96, device=DEVICE, dtype=torch.float16)
    b = torch.randn(50, 96, device=DEVICE, dtype=torch.float16).T  # strides of a transposed tensor
    c = torch.empty(70, 50, device=DEVICE, dtype=torch.float16)
    matmul_kernel[lambda meta: (triton.cdiv(70, meta["M"]), triton.cdiv(50, meta["N"]))](
        a, b, c, 70, 50, 96, *a.stride(), *b.stride(), *c.stride())
    torch.testing.assert_close(c, a @ b, rtol=2**-10, atol=2**-10)
    assert matmul_kernel.best_config in matmul_kernel.configs


# ---- dropout from a seed


@triton.jit
def dropout_kernel(x, out, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    kept = tl.rand(seed, i) > p
    tl.store(out + i, tl.where(kept, tl.load(x + i, mask=i < n) / (1 - p), 0.0), mask=i < n)


def test_dropout_depends_on_its_seed():
    x = torch.ones(1000, device=DEVICE)

    def dropout(number):
        out = torch.empty_like(x)
        dropout_kernel[(4,)](x, out, x.numel(), 0.5, number, BLOCK=256)
        return out

    first = dropout(123)
    assert torch.equal(first, dropout(123)) and not torch.equal(first, dropout(124))
    assert set(first.unique().tolist()) == {0.0, 2.0}
    assert 400 < (first == 0).sum().item() < 600


# ---- layer norm, forward and backward, as an autograd function


@triton.jit
def norm_forward(x, y, w, b, mean, rstd, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    values = tl.load(x + row * n + i, mask=i < n, other=0.0)
    m = tl.sum(values, axis=0) / n
    centred = tl.where(i < n, values - m, 0.0)
    r = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / n + eps)
    tl.store(mean + row, m)
    tl.store(rstd + row, r)
    weights, bias = tl.load(w + i, mask=i < n), tl.load(b + i, mask=i < n)
    tl.store(y + row * n + i, centred * r * weights + bias, mask=i < n)


@triton.jit
def norm_backward(dx, dy, dw, db, x, w, mean, rstd, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    mask = i < n
    values = tl.load(x + row * n + i, mask=mask, other=0.0)
    gradient = tl.load(dy + row * n + i, mask=mask, other=0.0)
    r = tl.load(rstd + row)
    hat = tl.where(mask, (values - tl.load(mean + row)) * r, 0.0)
    weighted = gradient * tl.load(w + i, mask=mask, other=0.0)
    c1, c2 = tl.sum(hat * weighted, axis=0) / n, tl.sum(weighted, axis=0) / n
    tl.store(dx + row * n + i, (weighted - (hat * c1 + c2)) * r, mask=mask)
    tl.atomic_add(dw + i, gradient * hat, mask=mask)
    tl.atomic_add(db + i, gradient, mask=mask)


class LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, b, eps):
        y = torch.empty_like(x)
        rows, n = x.shape
        mean, rstd = (torch.empty(rows, device=x.device) for _ in range(2))
        norm_forward[(rows,)](x, y, w, b, mean, rstd, n, eps, BLOCK=triton.next_power_of_2(n))
        ctx.save_for_backward(x, w, mean, rstd)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, w, mean, rstd = ctx.saved_tensors
        dx = torch.empty_like(x)
        dw, db = torch.zeros_like(w), torch.zeros_like(w)
        rows, n = x.shape
        norm_backward[(rows,)](dx, dy.contiguous(), dw, db, x, w, mean, rstd, n, BLOCK=triton.next_power_of_2(n))
        return dx, dw, db, None


def test_layer_norm_trains_as_torch_does():
    x = torch.randn(9, 100, device=DEVICE, requires_grad=True)
    w = torch.rand(100, device=DEVICE, requires_grad=True)
    b = torch.rand(100, device=DEVICE, requires_grad=True)
    dy = 0.1 * torch.randn_like(x)
    LayerNorm.apply(x, w, b, 1e-5).backward(dy)
    got = [t.grad.clone() for t in (x, w, b)]
    for tensor in (x, w, b):
        assert tensor.grad.is_cuda
        tensor.grad = None
    torch.nn.functional.layer_norm(x, (100,), w, b, 1e-5).backward(dy)
    for ours, theirs in zip(got, (x.grad, w.grad, b.grad)):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


# ---- attention without the matrix of scores


@triton.jit
def attention_kernel(q, k, v, o, length, scale, CAUSAL: tl.constexpr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    head = tl.program_id(1) * length * D
    rows, inner = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D)
    query = tl.load(q + head + rows[:, None] * D + inner[None, :], mask=rows[:, None] < length, other=0.0)
    top, total = tl.full((M,), -float("inf"), tl.float32), tl.zeros((M,), tl.float32)
    accumulator = tl.zeros((M, D), tl.float32)
    for start in range(0, length, N):
        columns = start + tl.arange(0, N)
        keys = tl.load(k + head + columns[None, :] * D + inner[:, None], mask=columns[None, :] < length, other=0.0)
        scores = tl.dot(query, keys) * scale
        seen = columns[None, :] < length
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -1.0e6)
        new_top = tl.maximum(top, tl.max(scores, axis=1))
        p = tl.exp(scores - new_top[:, None])
        correction = tl.exp(top - new_top)
        total = total * correction + tl.sum(p, axis=1)
        values = tl.load(v + head + columns[:, None] * D + inner[None, :], mask=columns[:, None] < length, other=0.0)
        accumulator = tl.dot(p.to(values.dtype), values, accumulator * correction[:, None])
        top = new_top
    tl.store(o + head + rows[:, None] * D + inner[None, :], (accumulator / total[:, None]).to(o.dtype.element_ty),
             mask=rows[:, None] < length)


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal):
    batch, heads, length, d = 1, 2, 70, 32
    q, k, v = (torch.randn(batch, heads, length, d, device=DEVICE, dtype=torch.float16) for _ in range(3))
    o = torch.empty_like(q)
    attention_kernel[(triton.cdiv(length, 32), batch * heads)](q, k, v, o, length, d**-0.5, causal, M=32, N=32, D=d, num_warps=2)
    scores = (q @ k.transpose(-1, -2)).float() * d**-0.5
    if causal:
        scores = scores.masked_fill(torch.ones(length, length, device=DEVICE).triu(1).bool(), float("-inf"))
    want = (torch.softmax(scores, dim=-1) @ v.float()).half()
    torch.testing.assert_close(o, want, rtol=2**-8, atol=2**-8)  # p is rounded to f16 before the second product


# ---- several products in one launch, their addresses in a tensor


@triton.jit
def grouped_kernel(pointers, sizes, GROUPS: tl.constexpr, TILE: tl.constexpr, K: tl.constexpr):
    tile, done = tl.program_id(0), 0
    for group in range(GROUPS):
        m, n = tl.load(sizes + 2 * group), tl.load(sizes + 2 * group + 1)
        tiles = tl.cdiv(m, TILE) * tl.cdiv(n, TILE)
        while (tile >= done) & (tile < done + tiles):
            a = tl.load(pointers + 3 * group).to(tl.pointer_type(tl.float16))
            b = tl.load(pointers + 3 * group + 1).to(tl.pointer_type(tl.float16))
            c = tl.load(pointers + 3 * group + 2).to(tl.pointer_type(tl.float16))
            local = tile - done
            rows = local // tl.cdiv(n, TILE) * TILE + tl.arange(0, TILE)
            columns = local % tl.cdiv(n, TILE) * TILE + tl.arange(0, TILE)
            inner = tl.arange(0, K)
            left = tl.load(a + rows[:, None] * K + inner[None, :], mask=rows[:, None] < m, other=0.0)
            right = tl.load(b + inner[:, None] * n + columns[None, :], mask=columns[None, :] < n, other=0.0)
            tl.store(c + rows[:, None] * n + columns[None, :], tl.dot(left, right).to(tl.float16),
                     mask=(rows[:, None] < m) & (columns[None, :] < n))
            tile += tl.num_programs(0)
        done += tiles


def test_grouped_gemm():
    shapes, k = [(40, 24), (16, 70), (33, 33)], 32
    a = [torch.randn(m, k, device=DEVICE, dtype=torch.float16) for m, _ in shapes]
    b = [torch.randn(k, n, device=DEVICE, dtype=torch.float16) for _, n in shapes]
    c = [torch.empty(m, n, device=DEVICE, dtype=torch.float16) for m, n in shapes]
    pointers = torch.tensor([t.data_ptr() for abc in zip(a, b, c) for t in abc], device=DEVICE)
    sizes = torch.tensor([size for shape in shapes for size in shape], dtype=torch.int32, device=DEVICE)
    grouped_kernel[(3,)](pointers, sizes, len(shapes), TILE=32, K=k, num_warps=2)
    for left, right, product in zip(a, b, c):
        torch.testing.assert_close(product, left @ right, rtol=2**-10, atol=2**-10)


# ---- as many programs as fit, with tensor descriptors


@triton.jit
def persistent_kernel(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    left = tl.make_tensor_descriptor(a, shape=[m, k], strides=[k, 1], block_shape=[M, K])
    right = tl.make_tensor_descriptor(b, shape=[n, k], strides=[k, 1], block_shape=[N, K])
    out = tl.make_tensor_descriptor(c, shape=[m, n], strides=[n, 1], block_shape=[M, N])
    columns = tl.cdiv(n, N)
    for tile in tl.range(tl.program_id(0), tl.cdiv(m, M) * columns, tl.num_programs(0)):
        row, column = tile // columns * M, tile % columns * N
        accumulator = tl.zeros((M, N), dtype=tl.float32)
        for start in range(0, k, K):
            accumulator = tl.dot(left.load([row, start]), right.load([column, start]).T, accumulator)
        out.store([row, column], accumulator.to(tl.float16))


def test_persistent_matmul_with_descriptors():
    if torch.cuda.get_device_capability()[0] < 9:
        pytest.skip("tensor descriptors in hardware came with sm_90")
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, device=DEVICE, dtype=torch.int8))
    a = torch.randn(130, 64, device=DEVICE, dtype=torch.float16)
    b = torch.randn(72, 64, device=DEVICE, dtype=torch.float16)
    c = torch.empty(130, 72, device=DEVICE, dtype=torch.float16)
    persistent_kernel[(2,)](a, b, c, 130, 72, 64, M=64, N=32, K=32, num_warps=4)
    torch.testing.assert_close(c, a @ b.T, rtol=2**-10, atol=2**-10)
