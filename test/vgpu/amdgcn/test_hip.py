"""The kernels of hip/*.hip in three shapes each and in several orders of memory operations, compared with NumPy."""

import ml_dtypes
import numpy as np
import pytest
from test_amdgcn import CHIPS, HERE, compile_hip, run
from test_execute import F32, RUN, launch, launch_in_all_orders

F16, F64, I32, I64 = np.float16, np.float64, np.int32, np.int64
SHAPES = [([1], [64]), ([2], [256]), ([3], [192])]


@pytest.fixture(scope="session", params=CHIPS)
def objects(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    for source in sorted((HERE / "hip").glob("*.hip")):
        compile_hip(source, [request.param], folder / f"{source.stem}.co", "--no-gpu-bundle-output")
    return folder


@pytest.fixture(params=SHAPES, ids=str)
def machine(request, objects, tmp_path):
    return Machine(objects, tmp_path, *request.param)


class Machine:
    """Launches kernels of a shape. Work-item `lane` of workgroup `group` has the index 256 · group + lane."""

    def __init__(self, objects, folder, grid, block):
        self.objects, self.folder, self.grid, self.block = objects, folder, grid, block
        self.size = 256 * grid[0] + 8
        self.index = (256 * np.arange(grid[0])[:, None] + np.arange(block[0])).ravel()
        self.lane = self.index % 256
        self.generator = np.random.default_rng(block[0])

    def whole_groups(self):
        return Machine(self.objects, self.folder, self.grid, [256])

    def run(self, file, kernel, *arguments, ordered=True):
        function = launch_in_all_orders if ordered else launch
        return function(self.folder, self.objects / f"{file}.co", kernel, self.grid, self.block, *arguments)

    def integers(self, kind, low=None, high=None, size=None):
        limits = np.iinfo(kind)
        low, high = limits.min if low is None else low, limits.max if high is None else high
        return self.generator.integers(low, high, size or self.size, dtype=kind, endpoint=True)

    def normal(self, kind=F32, size=None):
        return self.generator.standard_normal(size or self.size).astype(kind)

    def expect(self, result, before, expected, **tolerance):
        """`expected` where a work-item is, else the value before."""
        full = before.copy()
        full[self.index] = expected.astype(before.dtype)
        compare(result, full, **tolerance)


def compare(result, expected, **tolerance):
    if tolerance:
        np.testing.assert_allclose(result.astype(F64), expected.astype(F64), **tolerance)
    else:
        np.testing.assert_array_equal(result, expected)


def test_all_objects_load(objects):
    assert "0 refused" in run(RUN, "--load", *sorted(objects.glob("*.co"))).stdout


# -- arithmetic


def towards_zero(a, b):
    return np.where((a < 0) != (b < 0), -(np.abs(a) // np.abs(b)), np.abs(a) // np.abs(b))


def test_divide(machine):
    a, b = machine.integers(I64, -(2**62), 2**62), machine.integers(I64, 1, 2**40)
    b *= machine.generator.choice([-1, 1], machine.size)
    zero = np.zeros_like(a)
    *_, quotient, rest = machine.run("arithmetic", "divide", a, b, zero, zero)
    i = machine.index
    expected = towards_zero(a, b)
    machine.expect(quotient, zero, expected[i])
    machine.expect(rest, zero, (a - expected * b)[i])


def test_divide32(machine):
    a, b = machine.integers(I32, -(2**31) + 1), machine.integers(I32, 1, 2**20)
    b *= machine.generator.choice([-1, 1], machine.size).astype(I32)
    *_, c = machine.run("arithmetic", "divide32", a, b, np.zeros(machine.size, np.uint32))
    quotient = towards_zero(a.astype(I64), b.astype(I64)).astype(np.uint32)
    expected = quotient + a.astype(np.uint32) % b.astype(np.uint32)
    machine.expect(c, np.zeros_like(c), expected[machine.index])


def test_bits(machine):
    a, b = machine.integers(np.uint32), machine.integers(np.uint64)
    *_, c = machine.run("arithmetic", "bits", a, b, np.zeros_like(a))

    def expected(x, y):
        x, y = int(x), int(y)
        low = x | 2
        parts = [
            x.bit_count(), 32 - (x | 1).bit_length(), (low & -low).bit_length() - 1, int(f"{x:032b}"[::-1], 2),
            y.bit_count(), x << 7 | x >> 25, x >> 5 & 0x3F, int.from_bytes(x.to_bytes(4, "little"), "big"),
        ]  # fmt: skip
        return sum(parts) & 0xFFFFFFFF

    machine.expect(c, np.zeros_like(c), np.array([expected(x, y) for x, y in zip(a, b)])[machine.index])


def test_bytes(machine):
    a, b = machine.integers(np.int8), machine.integers(np.uint16)
    c, d = np.zeros(machine.size, I32), np.zeros(machine.size, np.int16)
    *_, wide, narrow = machine.run("arithmetic", "bytes", a, b, c, d)
    x, y = a.astype(I32)[machine.index], b.astype(I32)[machine.index]
    machine.expect(wide, c, x * 3 + y)
    machine.expect(narrow, d, ((x << 4) ^ y).astype(np.int16))


def test_saturate(machine):
    a, b = machine.integers(I32), machine.integers(I32)
    *_, c = machine.run("arithmetic", "saturate", a, b, np.zeros_like(a))
    x, y = a.astype(I64)[machine.index], b.astype(I64)[machine.index]
    added = np.clip(x + y, -(2**31), 2**31 - 1)
    subtracted = np.maximum((x & 0xFFFFFFFF) - (y & 0xFFFFFFFF), 0)
    difference = sum(np.abs((x >> s & 255) - (y >> s & 255)) for s in (0, 8, 16, 24)) + 5
    machine.expect(c, np.zeros_like(a), (added + subtracted + difference + y).astype(I32))  # perm chooses b's bytes


# -- atomics


def test_counters(machine):
    a, b, c, d = np.zeros(1, I32), np.zeros(machine.size, np.uint64), np.zeros(1, F32), np.zeros(1, F64)
    count = len(machine.index)
    a, _, c, d = machine.run("atomics", "counters", a, b, c, d, ordered=False)
    assert (a[0], c[0], d[0]) == (count, 1.5 * count, 2.5 * count)


def test_orders(machine):
    a, out = np.array([5, 1, 2, 3, 4], np.uint32), np.full(machine.size, 5, np.uint32)
    after, _ = machine.run("atomics", "orders", a, out, ordered=False)
    assert list(after[:4]) == [7, 9, machine.lane.max(), 3] and after[4] in (5, 7)


def test_shared_bins(machine):
    machine = machine.whole_groups()  # each lane clears a bin
    values = machine.integers(np.uint32)
    _, out = machine.run("atomics", "shared", values, np.zeros(machine.size, np.uint32), ordered=False)
    for group in range(machine.grid[0]):
        part = slice(256 * group, 256 * (group + 1))
        bins = np.bincount(values[part] & 255, minlength=256)
        first = out[part][1:] - bins[1:]  # the bin 0 before or after its minimum with 3
        assert ((first == bins[0]) | (first == min(bins[0], 3))).all()


# -- calls


def test_function_pointers(machine):
    which, x = machine.integers(I32, 0, 1, size=machine.grid[0]), machine.normal()
    _, result = machine.run("calls", "pointers", which, x)
    v = x[machine.index]
    cubed = which[machine.index // 256] & 1
    machine.expect(result, x, np.where(cubed, v * (v * v), v * v))


def test_recursion(machine):
    x = machine.integers(np.uint32)
    (result,) = machine.run("calls", "recursive", x)
    machine.expect(result, x, np.array([0, 1, 1, 2, 3, 5, 8, 13])[x[machine.index] & 7])


def test_a_switch(machine):
    which, x = machine.integers(I32, -1, 9), machine.integers(np.uint32)
    _, result = machine.run("calls", "choose", which, x)
    v, w = x[machine.index], which[machine.index]
    turned = np.array([int(f"{int(value):032b}"[::-1], 2) for value in v], np.uint32)
    cases = {0: v + np.uint32(3), 1: v * np.uint32(5), 2: v ^ np.uint32(0xFF00FF), 3: turned, 7: v >> np.uint32(4)}
    machine.expect(result, x, np.select([w == key for key in cases], cases.values(), 0))


# -- doubles


def test_polynomial(machine):
    x = machine.normal(F64)
    _, result = machine.run("doubles", "polynomial", x, np.zeros_like(x))
    v = x[machine.index]
    machine.expect(result, np.zeros_like(x), ((v * 0.5 - 1.25) * v + 3.0e-7) / (v * v + 1.0), rtol=1e-14, atol=1e-15)


def test_roots(machine):
    x = np.abs(machine.normal(F64)) * 100
    *_, y, z, n = machine.run("doubles", "roots", x, np.zeros_like(x), np.zeros(machine.size, F32), np.zeros(machine.size, I32))
    v = x[machine.index]
    machine.expect(y, np.zeros_like(x), np.sqrt(v) + np.floor(v) - np.trunc(v) + np.minimum(v, 2.0), rtol=1e-15)
    machine.expect(z, np.zeros(machine.size, F32), v.astype(F32))
    machine.expect(n, np.zeros(machine.size, I32), v.astype(I32))


def test_a_product_of_doubles(objects, tmp_path):
    a, b, c = (np.random.default_rng(i).integers(-9, 9, (64, size)).astype(F64) for i, size in enumerate((1, 1, 4)))
    *_, result = launch_in_all_orders(tmp_path, objects / "doubles.co", "product", [1], [64], a, b, c)
    left, right = a.reshape(4, 16).T, b.reshape(4, 16)
    expected = (left @ right).reshape(4, 4, 16).transpose(1, 2, 0).reshape(64, 4)
    np.testing.assert_array_equal(result, c + expected)


# -- flat


@pytest.mark.parametrize("which", [0, 1, 2])
def test_generic_pointers(objects, tmp_path, which):
    x = np.arange(100, 180, dtype=I32)
    _, result = launch_in_all_orders(tmp_path, objects / "flat.co", "generic", [1], [64], x, np.zeros(64, I32), I32(which))
    first = which if which == 2 else 0  # the stack has a copy from `which` on
    np.testing.assert_array_equal(result, x[first : first + 16].sum() + (which == 1))


def test_a_copy_of_structures(machine):
    x = machine.integers(I32, size=24 * machine.size).reshape(-1, 24)
    zero = np.zeros_like(x)
    _, result = machine.run("flat", "copy", x, zero)
    machine.expect(result, zero, x[machine.index])


def test_volatile_accesses(objects, tmp_path):
    x, y = np.arange(64, dtype=I32), np.arange(65, dtype=np.uint8)
    x, y = launch_in_all_orders(tmp_path, objects / "flat.co", "volatileAccess", [1], [64], x, y)
    np.testing.assert_array_equal(x, np.arange(1, 65))
    np.testing.assert_array_equal(y, [*range(1, 65), 64])


def test_nontemporal_accesses(machine):
    x = machine.normal(size=4 * machine.size).reshape(-1, 4)
    _, result = machine.run("flat", "nontemporal", x, np.zeros_like(x))
    machine.expect(result, np.zeros_like(x), 2 * x[machine.index])


# -- halves


def test_packed_halves(machine):
    a, b = (machine.normal(F16, 2 * machine.size).reshape(-1, 2) for _ in range(2))
    *_, result = machine.run("halves", "packed", a, b, np.zeros_like(a))
    x, y = a[machine.index], b[machine.index]
    fused = (x.astype(F64) * y + x).astype(F16)
    machine.expect(result, np.zeros_like(a), np.maximum(fused, y) - y[:, ::-1])


def test_mixed_precision(machine):
    a, b, c, d = machine.normal(F16), machine.normal(), machine.normal(), machine.normal(F16)
    *_, wide, narrow = machine.run("halves", "mixed", a, b, c, d)
    i = machine.index
    product = a[i].astype(F64) * b[i]
    machine.expect(wide, c, (product + c[i]).astype(F32))
    machine.expect(narrow, d, (product + d[i]).astype(F32).astype(F16), rtol=2.0**-10, atol=1e-6)


def test_scalar_halves(machine):
    a, b, c = machine.normal(F16), machine.normal(F16), np.zeros(machine.size, np.int16)
    _, result, compared = machine.run("halves", "scalar", a, b, c)
    x, y = a[machine.index], b[machine.index]
    third = (x / F16(3)).astype(F16)
    exact = (np.abs(x).astype(F64) * y - third).astype(F16)
    machine.expect(result, b, exact)
    machine.expect(compared, c, x.astype(np.int16) + (x < exact))


def test_packed_shorts(machine):
    a, b = (machine.integers(np.int16, size=2 * machine.size).reshape(-1, 2) for _ in range(2))
    *_, result = machine.run("halves", "shorts", a, b, np.zeros_like(a))
    x, y = a[machine.index], b[machine.index]
    machine.expect(result, np.zeros_like(a), np.minimum(x * y + x, y >> np.array([3, 2], np.int16)))


# -- lanes


def waves_of(machine, values):
    return values[machine.index].reshape(-1, 64)


def dpp(values, source, missing):
    """Each lane reads the lane `source(lane)`, or gets `missing` if there is none."""
    return np.stack([values[:, source(lane)] if source(lane) is not None else missing[:, lane] for lane in range(64)], axis=1)


def test_reduction_by_dpp(machine):
    x = machine.integers(I32, -1000, 1000)
    _, result = machine.run("lanes", "reduce", x, np.zeros_like(x))
    v = waves_of(machine, x)
    zero = np.zeros_like(v)
    v = v + dpp(v, lambda lane: lane - 1 if lane % 16 >= 1 else None, zero)
    v = v + dpp(v, lambda lane: lane - 2 if lane % 16 >= 2 else None, zero)
    turned = dpp(v, lambda lane: lane ^ 2 if lane % 16 >= 4 else None, v)  # quad_perm [2,3,0,1], not in bank 0
    v = np.maximum(v, turned)
    v = v + dpp(v, lambda lane: lane - lane % 16 + 15 - lane % 16, zero)
    machine.expect(result, np.zeros_like(x), (v + v[:, 63:] + v[:, :1]).ravel())


def test_permutations(machine):
    x = machine.integers(I32, -1000, 1000)
    _, result = machine.run("lanes", "permute", x, np.zeros_like(x))
    v, lane = waves_of(machine, x), np.arange(64)
    swizzled = v[:, lane ^ 1]  # and 31, xor 1
    machine.expect(result, np.zeros_like(x), (v[:, lane ^ 5] + v + swizzled).ravel())


def test_votes(machine):
    x = machine.integers(I32, -1000, 1000)
    _, result = machine.run("lanes", "vote", x, np.zeros(machine.size, np.uint64))
    expected = []
    for wave in waves_of(machine, x):
        mask = sum(1 << lane for lane in range(64) if wave[lane] > 0)
        first = (mask | 1) & -(mask | 1)
        expected += [mask + (mask & ((1 << lane) - 1)).bit_count() + first.bit_length() - 1 for lane in range(64)]
    machine.expect(result, np.zeros(machine.size, np.uint64), np.array([v % 2**64 for v in expected], np.uint64))


def test_divergence(machine):
    x = machine.integers(I32, -5, 50)
    _, result = machine.run("lanes", "diverge", x, np.full_like(x, 77))
    i = machine.index
    machine.expect(result, np.full_like(x, 77), np.where((x[i] >= 1) & (machine.lane % 3 == 0), 1, 77))


# -- matrices


def test_a_product_of_bytes(objects, tmp_path):
    generator = np.random.default_rng(5)
    fp8, bf8 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
    if "gfx942" in objects.name:
        fp8, bf8 = ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz
    left, right = (generator.integers(-4, 5, (16, 32)).astype(F32).astype(kind) for kind in (fp8, bf8))  # sums are exact
    c = generator.integers(-8, 9, (64, 4)).astype(F32)
    stored = [x.view(np.uint8).reshape(16, 4, 8).transpose(1, 0, 2).copy().view(I64) for x in (left, right)]
    *_, result = launch_in_all_orders(tmp_path, objects / "matrices.co", "bytes", [1], [64], *stored, c)
    product = left.astype(F32) @ right.astype(F32).T
    np.testing.assert_array_equal(result, c + product.reshape(4, 4, 16).transpose(0, 2, 1).reshape(64, 4))


def test_a_product_of_blocks_with_broadcasts(objects, tmp_path):
    a, b, c = (np.random.default_rng(i).integers(-9, 9, (64, size)).astype(F32) for i, size in enumerate((1, 1, 4)))
    *_, result = launch_in_all_orders(tmp_path, objects / "matrices.co", "broadcast", [1], [64], a, b, c)
    lane = np.arange(64)
    # cbsz:4 abid:3: all blocks use A of block 3; blgp:2: the upper half of the lanes of B for both halves
    left, right = a[12:16, 0], b[lane % 32 + 32, 0]
    np.testing.assert_array_equal(result, c + left[None, :] * right[:, None])


def test_dot_products(machine):
    a, b, c = (machine.integers(I32) for _ in range(3))
    x, y = machine.normal(F16, 2 * machine.size + 2).reshape(-1, 2), machine.normal()
    *_, sums, _, products = machine.run("matrices", "dots", a, b, c, x, y)
    i = machine.index

    def dot(bits):
        shifts = np.arange(0, 32, bits)
        parts = [(v[i, None].astype(I64) << (64 - bits - shifts) >> (64 - bits)) for v in (a, b)]
        return (parts[0] * parts[1]).sum(axis=1)

    four = np.clip(dot(8) + c[i], -(2**31), 2**31 - 1)
    machine.expect(sums, c, (four + dot(4) + 1).astype(I32))
    exact = (x[i].astype(F64) * x[i + 1].astype(F64)).sum(axis=1) + y[i]
    machine.expect(products, y, exact, rtol=1e-6, atol=1e-6)


def test_tiles(machine):
    machine = machine.whole_groups()  # the tile has the values of 256 lanes
    a = machine.generator.integers(-9, 9, (1024, 4)).astype(F32)
    _, result = machine.run("matrices", "tile", a, np.zeros((machine.size, 4), F32))
    lane = np.arange(256)
    places = (lane[:, None] * 8 + np.arange(8)) & 255
    total = sum(a[256 * k : 256 * (k + 1)][places].sum(axis=1) for k in range(4))
    machine.expect(result, np.zeros((machine.size, 4), F32), np.tile(total, (machine.grid[0], 1)))


# -- memory


@pytest.mark.parametrize("size", [1024, 1000, 20])
def test_buffers_end_where_their_records_do(objects, tmp_path, size):
    data = np.random.default_rng(size).integers(0, 2**32, 2048, dtype=np.uint32)
    (result,) = launch_in_all_orders(tmp_path, objects / "memory.co", "buffers", [1], [64], data, I32(size), I32(64))
    expected = data.copy()
    # y is beyond the end, so that x is stored where it was loaded.
    for lane in range(64):
        if lane * 16 + 1 < size:
            low = int(data[lane * 4]) & 255 if lane * 16 + 2 <= size else 0
            expected.view(np.uint8)[lane * 16 + 1] = low
    np.testing.assert_array_equal(result, expected)


def test_loads_directly_into_lds(objects, tmp_path):
    x = np.arange(64, dtype=I32)
    _, result = launch_in_all_orders(tmp_path, objects / "memory.co", "direct", [1], [64], x, np.zeros_like(x))
    np.testing.assert_array_equal(result, x[::-1])


@pytest.mark.parametrize("n", [0, 7, 100])
def test_arrays_in_scratch(objects, tmp_path, n):
    x = np.random.default_rng(n).integers(-100, 100, 40).astype(I32)
    _, result = launch_in_all_orders(tmp_path, objects / "memory.co", "spilled", [1], [64], x, np.zeros(64, I32), I32(n))
    for lane in range(64):
        array = [int(v) * n for v in x]
        for i in range(n):
            array[(array[i % 40] & 31) + (lane & 7)] += i
        assert result[lane] == array[lane % 40]


def test_widths(machine):
    a, b, c = machine.integers(np.int8), machine.integers(np.int16), machine.integers(np.uint64)
    zero = np.zeros((machine.size, 4), F32)
    *_, result = machine.run("memory", "widths", a, b, c, zero)
    i = machine.index
    machine.expect(result, zero, np.stack([v.astype(F32) for v in (a[i], b[i], c[i], c[i + 1] >> np.uint64(32))], axis=1))


# -- transcendental


def test_functions(machine):
    x = np.abs(machine.normal()) + F32(0.01)
    _, result = machine.run("transcendental", "functions", x, np.zeros_like(x))
    v = x[machine.index].astype(F64)
    expected = np.exp2(v) + np.log2(v) / np.sqrt(v) + np.sin(2 * np.pi * v) + 1 / v + (v - np.floor(v)) + np.sqrt(v) + 1 / v
    machine.expect(result, np.zeros_like(x), expected, rtol=1e-5, atol=1e-5)


def test_modifiers(machine):
    x = machine.normal()
    _, result = machine.run("transcendental", "modifiers", x, np.zeros_like(x))
    v, w = x[machine.index].astype(F64), x[machine.index + 1].astype(F64)
    a, b = np.abs(v) * -w, -v * np.abs(w) + 2
    machine.expect(result, np.zeros_like(x), np.clip(a + b, 0, 1) + np.minimum(np.maximum(a, b), -w) * 4, rtol=1e-5, atol=1e-5)


def test_rounding(machine):
    x, n = np.abs(machine.normal()) * F32(10), machine.integers(I32, -3, 3)
    zero = np.zeros(machine.size, np.uint8)
    # y reads what another work-item writes, so that it is not compared.
    _, counts, _, c = machine.run("transcendental", "rounding", x, n, np.zeros_like(x), zero, ordered=False)
    v = x[machine.index]
    machine.expect(counts, n, np.rint(v).astype(I32) + np.frexp(v)[1])
    machine.expect(c, zero, np.trunc(v))


def test_pairs(machine):
    x, y = (machine.normal(size=2 * machine.size).reshape(-1, 2) for _ in range(2))
    _, result = machine.run("transcendental", "pairs", x, y)
    a, b = x[machine.index], y[machine.index]
    machine.expect(result, y, (a.astype(F64) * b + b[:, ::-1]).astype(F32))
