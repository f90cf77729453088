"""Triton's kernels for AMD's chips, executed on the virtual GPU in three shapes each and compared with NumPy."""

import json
import re

import ml_dtypes
import numpy as np
import pytest
import triton_objects as source
from test_amdgcn import CHIPS, disassembly, llvm, run
from test_execute import F32, RUN, launch

I32 = np.int32
TYPES = {
    "fp16": np.float16, "fp32": F32, "fp64": np.float64, "bf16": ml_dtypes.bfloat16,
    "i8": np.int8, "i32": I32, "u8": np.uint8,
    "fp8e4nv": ml_dtypes.float8_e4m3fn, "fp8e4b8": ml_dtypes.float8_e4m3fnuz,
    "fp8e5": ml_dtypes.float8_e5m2, "fp8e5b16": ml_dtypes.float8_e5m2fnuz,
}  # fmt: skip
FORMATS = {"e4m3": ml_dtypes.float8_e4m3fn, "e2m1": ml_dtypes.float4_e2m1fn}


def blocks(size, block):
    return -(-size // block)


def close(result, exact, magnitude, depth):
    """The error of a sum of `depth` products whose magnitudes sum to `magnitude`, and of the result's type."""
    epsilon = float(ml_dtypes.finfo(result.dtype).eps)
    bound = depth * 2.0**-23 * magnitude + epsilon * np.abs(exact) + 1e-6
    error = np.abs(result.astype(np.float64) - exact)
    assert (error <= bound).all(), f"error {error.max()} at {np.unravel_index(error.argmax(), error.shape)}"


class Kernel:
    """A compiled form of a chip, with the constants that it was compiled for."""

    def __init__(self, folder, index, chip, completion):
        self.chip, self.completion = chip, completion
        self.name, signature, self.constants, self.warps, _ = source.FORMS[index]
        for word, kind in source.CHIPS[chip].items():
            signature = signature.replace(word, kind)
        self.types = [TYPES[word.removeprefix("*")] for word in signature.split()]
        self.path = folder / f"{index:02}-{self.name}-{chip}.hsaco"
        self.lds = json.loads(self.path.with_suffix(".json").read_text())["shared"]
        self.generator = np.random.default_rng(index)

    def __getattr__(self, name):
        return self.constants[name]

    def random(self, number, *shape):
        """Values of the type of argument `number`."""
        kind = self.types[number]
        if np.issubdtype(kind, np.integer):
            return self.generator.integers(-100, 100, shape).astype(kind)
        return self.generator.standard_normal(shape).astype(F32).astype(kind)

    def run(self, folder, grid, *arguments):
        """The arrays among the arguments, as they are afterwards."""
        arrays = [argument for argument in arguments if isinstance(argument, np.ndarray)]
        bits = [a.view(f"u{a.itemsize}") if isinstance(a, np.ndarray) else a for a in arguments]
        result = launch(folder, self.path, self.name, grid, [64 * self.warps], *bits, lds=self.lds, completion=self.completion)
        return [changed.view(array.dtype) for array, changed in zip(arrays, result)]


def vector_add(kernel, folder, shape):
    n = (16, 2 * kernel.BLOCK, 3 * kernel.BLOCK + 16)[shape]
    x, y, z = (kernel.random(i, n) for i in range(3))
    *_, result = kernel.run(folder, [blocks(n, kernel.BLOCK)], x, y, z, I32(n))
    np.testing.assert_array_equal(result, x + y)


def softmax(kernel, folder, shape):
    rows, columns = ((1, kernel.BLOCK), (3, kernel.BLOCK // 2 + 16), (2, 16))[shape]
    x = kernel.random(1, rows, columns)
    result, _ = kernel.run(folder, [rows], np.zeros_like(x), x, I32(columns))
    e = np.exp(x.astype(np.float64) - x.astype(np.float64).max(axis=1, keepdims=True))
    exact = e / e.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(result.astype(np.float64), exact, rtol=2e-6 + float(ml_dtypes.finfo(x.dtype).eps) / 2)


def layer_norm(kernel, folder, shape):
    rows, columns = ((1, kernel.BLOCK), (3, kernel.BLOCK // 2 + 48), (2, 16))[shape]
    x, w, b = kernel.random(0, rows, columns), kernel.random(1, columns), kernel.random(2, columns)
    *_, result = kernel.run(folder, [rows], x, w, b, np.zeros_like(x), I32(columns), F32(1e-5))
    v = x.astype(np.float64)
    d = v - v.mean(axis=1, keepdims=True)
    exact = d / np.sqrt((d * d).mean(axis=1, keepdims=True) + 1e-5) * w.astype(np.float64) + b.astype(np.float64)
    np.testing.assert_allclose(result.astype(np.float64), exact, rtol=1e-5 + float(ml_dtypes.finfo(x.dtype).eps), atol=1e-5)


def elementwise(kernel, folder, shape):
    n = kernel.BLOCK * (1, 2, 5)[shape]
    v = kernel.generator.uniform(-0.9, 4, n).astype(F32)
    w = kernel.generator.integers(-(2**31), 2**31, n).astype(I32)
    *_, result = kernel.run(folder, [n // kernel.BLOCK], v, w, np.zeros(n, F32))
    x, wide = v.astype(np.float64), w.astype(np.int64)
    t = np.exp(x) + np.log(np.abs(x) + 1) + np.sqrt(np.abs(x)) + np.cos(x) + np.floor(x) / np.ceil(x + 2)
    triple = (wide * 3).astype(I32).astype(np.int64)  # wraps; division and remainder are towards zero
    quotient = np.sign(triple) * (np.abs(triple) // 7)
    remainder = np.sign(wide) * (np.abs(wide) % 5)
    high = (w.astype(np.uint32).astype(np.uint64) ** 2 >> np.uint64(32)).astype(np.uint32).astype(I32)
    bits = ((quotient + remainder - (wide >> 2)) ^ (wide & 0xFF)).astype(I32) | high
    exact = np.where(bits > 0, t, v.astype(np.float16).astype(np.float64)) + bits.astype(F32)
    np.testing.assert_allclose(result, exact, rtol=1e-6, atol=1e-5)


def transpose(kernel, folder, shape):
    rows, columns = ((kernel.BM, kernel.BN), (kernel.BM + 16, 2 * kernel.BN - 32), (16, 48))[shape]
    x = kernel.random(0, rows, columns)
    grid = [blocks(rows, kernel.BM), blocks(columns, kernel.BN)]
    *_, result = kernel.run(folder, grid, x, np.zeros((columns, rows), x.dtype), I32(rows), I32(columns))
    np.testing.assert_array_equal(result, x.T)


def histogram_and_scan(kernel, folder, shape):
    x = kernel.generator.integers(0, (kernel.BINS, 1, 3)[shape], kernel.BLOCK).astype(I32)
    _, counts, scans = kernel.run(folder, [1], x, np.zeros(kernel.BINS, I32), np.zeros(2 * kernel.BLOCK, I32))
    np.testing.assert_array_equal(counts, np.bincount(x, minlength=kernel.BINS))
    np.testing.assert_array_equal(scans, np.concatenate([np.cumsum(x), np.sort(x)]))


def philox(seed, counters):
    """The first output of Philox 4x32-10 with the counter in the first word."""
    words = [counters.astype(np.uint64)] + [np.zeros_like(counters, dtype=np.uint64)] * 3
    key, low = [seed & 0xFFFFFFFF, seed >> 32], np.uint64(0xFFFFFFFF)
    for _ in range(10):
        left, right = words[0] * np.uint64(0xD2511F53), words[2] * np.uint64(0xCD9E8D57)
        words = [
            (right >> np.uint64(32)) ^ words[1] ^ np.uint64(key[0]), right & low,
            (left >> np.uint64(32)) ^ words[3] ^ np.uint64(key[1]), left & low,
        ]  # fmt: skip
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return words[0].astype(np.uint32)


def dropout(kernel, folder, shape):
    n, seed = ((kernel.BLOCK, 16), (3 * kernel.BLOCK + 16, 4096), (16, 32))[shape]
    x, p = kernel.random(0, n), F32(0.25)
    _, result = kernel.run(folder, [blocks(n, kernel.BLOCK)], x, np.zeros_like(x), I32(n), p, I32(seed))
    drawn = philox(seed, np.arange(n)).astype(I32)
    uniform = np.where(drawn < 0, -drawn - 1, drawn).astype(F32) * F32(4.6566127342e-10)
    np.testing.assert_allclose(result, np.where(uniform > p, x / (F32(1) - p), 0), rtol=2e-7)


def multiplied(kernel, a, b):
    """The exact product and the sum of the magnitudes."""
    left, right = a.astype(np.float64), b.astype(np.float64)
    if kernel.types[0] == F32 and kernel.chip == "gfx942":  # xf32: the upper 19 bits
        left, right = ((x.view(np.uint32) & 0xFFFFE000).view(F32).astype(np.float64) for x in (a, b))
    return left @ right, np.abs(left) @ np.abs(right)


def matmul(kernel, folder, shape):
    bm, bn, bk = kernel.BM, kernel.BN, kernel.BK
    m, n, k = ((bm, bn, bk), (bm - 16, bn, 2 * bk + 16), (16, 2 * bn, 16))[shape]
    rows = blocks(m, bm) * bm  # the kernel reads whole tiles and masks only the result
    a, b = kernel.random(0, rows, k), kernel.random(1, k, n)
    c = np.zeros((m, n), kernel.types[2])
    *_, result = kernel.run(folder, [rows // bm, n // bn], a, b, c, I32(m), I32(n), I32(k))
    exact, magnitude = multiplied(kernel, a[:m], b)
    close(result, exact, magnitude, k)


def matmul_int8(kernel, folder, shape):
    bm, bn, bk = kernel.BM, kernel.BN, kernel.BK
    m, n, k = ((bm, bn, bk), (bm, bn, 3 * bk), (bm, 2 * bn, bk))[shape]
    a, b = kernel.random(0, m, k), kernel.random(1, n, k)
    *_, result = kernel.run(folder, [m // bm, n // bn], a, b, np.zeros((m, n), I32), I32(n), I32(k))
    np.testing.assert_array_equal(result, a.astype(I32) @ b.astype(I32).T)


def matmul_device_tma(kernel, folder, shape):
    bm, bn, bk = kernel.BM, kernel.BN, kernel.BK
    m, n, k = ((bm, bn, bk), (bm - 32, bn + 16, 2 * bk + 16), (16, 32, 48))[shape]
    a, b = kernel.random(0, m, k), kernel.random(1, n, k)
    c = np.zeros((m, n), np.float16)
    *_, result = kernel.run(folder, [blocks(m, bm), blocks(n, bn)], a, b, c, I32(m), I32(n), I32(k))
    exact, magnitude = multiplied(kernel, a, np.ascontiguousarray(b.T))
    close(result, exact, magnitude, k)


def attention(kernel, folder, shape):
    n, heads = ((128, 1), (256, 2), (384, 1))[shape]
    q, k, v = (kernel.random(i, heads, n, kernel.D) for i in range(3))
    scale = F32(1.4426950408889634 / kernel.D**0.5)
    *_, result = kernel.run(folder, [n // kernel.BM, heads], q, k, v, np.zeros_like(q), I32(n), scale)
    x, y, z = (array.astype(np.float64) for array in (q, k, v))
    s = np.where(np.tri(n, dtype=bool), x @ y.transpose(0, 2, 1) * float(scale), -np.inf)
    p = np.exp2(s - s.max(axis=2, keepdims=True))
    exact = p @ z / p.sum(axis=2, keepdims=True)
    # P is rounded to the type of V.
    close(result, exact, (p @ np.abs(z) / p.sum(axis=2, keepdims=True)), 2.0**23 * float(ml_dtypes.finfo(q.dtype).eps))


def matmul_scaled(kernel, folder, shape):
    bm, bn, bk = kernel.BM, kernel.BN, kernel.BK
    m, n, k = ((bm, bn, bk), (2 * bm, bn, 3 * bk), (bm, 2 * bn, 2 * bk))[shape]

    def operand(rows, name, pack):
        """Random bytes, their values, and the scales."""
        if pack == 2:
            data = kernel.generator.integers(0, 256, (rows, k // 2)).astype(np.uint8)
            nibbles = np.stack([data & 15, data >> 4], axis=-1).reshape(rows, k)
            values = nibbles.view(FORMATS[name])
        else:
            data = values = kernel.generator.standard_normal((rows, k)).astype(F32).astype(FORMATS[name])
        scales = kernel.generator.integers(124, 131, (rows, k // 32)).astype(np.uint8)
        return data, values.astype(np.float64) * np.repeat(2.0 ** (scales - 127.0), 32, axis=1), scales

    a, left, scales_a = operand(m, kernel.A, kernel.PACK_A)
    b, right, scales_b = operand(n, kernel.B, kernel.PACK_B)
    c = np.zeros((m, n), ml_dtypes.bfloat16)
    *_, result = kernel.run(folder, [m // bm, n // bn], a, scales_a, b, scales_b, c, I32(n), I32(k))
    close(result, left @ right.T, np.abs(left) @ np.abs(right).T, k)


def pytest_generate_tests(metafunc):
    if "shape" in metafunc.fixturenames:
        count = len(source.FORMS) if metafunc.config.getoption("--all") else source.SAMPLE
        cases = [
            pytest.param(index, chip, shape, id=f"{index:02}-{source.FORMS[index][0]}-{chip}-{shape}")
            for index in range(count)
            for chip in CHIPS
            for shape in range(3)
        ]
        metafunc.parametrize("index, chip, shape", cases)
        seeds = (1, 2, 3) if metafunc.config.getoption("--all") else (1,)
        orders = [[], ["--latest"], *([f"--seed={seed}"] for seed in seeds)]
        metafunc.parametrize("completion", [[], *([*order, "--check"] for order in orders)], ids=str)


def test_a_kernel_computes_what_numpy_does(index, chip, shape, completion, triton_objects, tmp_path):
    kernel = Kernel(triton_objects, index, chip, completion)
    globals()[kernel.name](kernel, tmp_path, shape)


def test_all_objects_load(triton_objects):
    paths = sorted(triton_objects.glob("*.hsaco"))
    assert run(RUN, "--load", *paths).stdout == f"{len(paths)} kernels loaded, 0 refused\n"


def waits_of(path):
    """The offsets of s_waitcnt in the file, with their addresses."""
    sections = run(llvm("llvm-readelf"), "-S", path).stdout
    address, offset = (int(word, 16) for word in re.search(r"\.text\s+PROGBITS\s+(\w+)\s+(\w+)", sections).groups())
    found = re.findall(r"s_waitcnt .*// ([0-9A-F]+):", disassembly(path))
    return [(int(word, 16) - address + offset, word) for word in found]


@pytest.mark.parametrize("chip", CHIPS)
def test_a_deleted_wait_is_noticed(chip, triton_objects, tmp_path, pytestconfig):
    """By name if the value is in registers, else by a wrong value. One wait of the product on gfx950 has no effect."""
    named = wrong = 0
    for index in [0, 1, 4] if pytestconfig.getoption("--all") else [0]:
        original = Kernel(triton_objects, index, chip, [])
        for offset, address in waits_of(original.path):
            bits = bytearray(original.path.read_bytes())
            bits[offset : offset + 4] = bytes.fromhex("000080bf")  # s_nop 0
            mutant = Kernel(triton_objects, index, chip, ["--latest"])
            mutant.path = tmp_path / "mutant.hsaco"
            mutant.path.write_bytes(bits)
            try:
                globals()[mutant.name](mutant, tmp_path, 1)
            except AssertionError as error:
                named += "is in flight" in str(error)
                wrong += "is in flight" not in str(error)
            else:
                assert (index, chip, address[-4:]) == (1, "gfx950", "1B08"), f"form {index}: no effect of the wait at {address}"
    print(f"{chip}: {named} deleted waits named, {wrong} give wrong values")
    assert named >= 2
