"""A kernel author's own tests: this file does not know about the virtual GPU.

    tilewright vgpu run -- pytest kernels/
"""

import ctypes

import numpy as np
import pytest
import triton
import triton.language as tl


class Tensor(np.ndarray):
    """A NumPy array with the method by which Triton recognises a tensor."""

    def data_ptr(self):
        return self.ctypes.data


cuda = ctypes.CDLL("libcuda.so.1")


def tensor(values, dtype=np.float32):
    """A copy in managed memory, which host and GPU share."""
    values = np.asarray(values, dtype=dtype)
    address = ctypes.c_uint64()
    triton.runtime.driver.active.get_current_device()  # creates a context
    assert cuda.cuMemAllocManaged(ctypes.byref(address), ctypes.c_size_t(values.nbytes), 1) == 0
    memory = (ctypes.c_uint8 * values.nbytes).from_address(address.value)
    copy = np.frombuffer(memory, dtype=dtype).reshape(values.shape).view(Tensor)
    copy[...] = values
    return copy


@triton.jit
def scale_and_shift(x, out, n, scale, shift, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * scale + shift, mask=i < n)


@pytest.mark.parametrize("n", [1, 128, 1000, 4097])
def test_scale_and_shift(n):
    rng = np.random.default_rng(n)
    x, out = tensor(rng.standard_normal(n)), tensor(np.zeros(n + 8))
    scale_and_shift[(triton.cdiv(n, 256),)](x, out, n, 1.5, -0.25, BLOCK=256)
    np.testing.assert_allclose(out[:n], np.asarray(x) * 1.5 - 0.25, rtol=2e-7, atol=1e-7)
    assert not out[n:].any(), "wrote behind the end"


@triton.jit
def normalize_rows(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + c, mask=c < columns, other=0.0)
    tl.store(out + row * columns + c, v / tl.sqrt(tl.sum(v * v, axis=0)), mask=c < columns)


@pytest.mark.parametrize("shape", [(3, 17), (20, 200), (5, 1024)], ids=str)
def test_normalize_rows(shape):
    x, out = tensor(np.random.default_rng(1).standard_normal(shape)), tensor(np.zeros(shape))
    normalize_rows[(shape[0],)](x, out, shape[1], BLOCK=triton.next_power_of_2(shape[1]))
    v = np.asarray(x, dtype=np.float64)
    np.testing.assert_allclose(out, v / np.linalg.norm(v, axis=1, keepdims=True), rtol=1e-6)


CONFIGS = [triton.Config({"BM": 32, "BN": 32}, num_warps=2), triton.Config({"BM": 64, "BN": 32}, num_warps=4)]


@triton.jit
def multiply(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows, columns = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        ks = start + tl.arange(0, BK)
        x = tl.load(a + rows[:, None] * k + ks[None, :], mask=(rows < m)[:, None] & (ks < k)[None, :], other=0.0)
        y = tl.load(b + ks[:, None] * n + columns[None, :], mask=(ks < k)[:, None] & (columns < n)[None, :], other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c + rows[:, None] * n + columns[None, :], acc, mask=(rows < m)[:, None] & (columns < n)[None, :])


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_multiply(config):
    m, n, k = 70, 45, 100
    rng = np.random.default_rng(2)
    a, b = tensor(rng.standard_normal((m, k)), np.float16), tensor(rng.standard_normal((k, n)), np.float16)
    c = tensor(np.zeros((m, n)))
    grid = (triton.cdiv(m, config.kwargs["BM"]), triton.cdiv(n, config.kwargs["BN"]))
    multiply[grid](a, b, c, m, n, k, **config.kwargs, BK=32, num_warps=config.num_warps)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-6, atol=1e-5)
