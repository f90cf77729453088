"""Programs whose semantics are easy to get wrong, on the plugin and on jaxlib in the same process."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

NAN = np.nan


def both(function, *arguments, x64=False, flat=True):
    """The results of the plugin and of jaxlib, as NumPy arrays. All cases of a test are one program, because compiling dominates."""
    with jax.enable_x64(x64):
        answers = []
        for platform in ("tilewright", "cpu"):
            results = jax.tree.map(np.asarray, jax.jit(function)(*jax.device_put(arguments, jax.devices(platform)[0])))
            answers.append(jax.tree.leaves(results) if flat else results)
        return answers


def expect_equal(function, *arguments, x64=False):
    ours, theirs = both(function, *arguments, x64=x64)
    assert len(ours) == len(theirs)
    for index, (mine, yours) in enumerate(zip(ours, theirs)):
        assert (mine.dtype, mine.shape) == (yours.dtype, yours.shape), index
        assert mine.tobytes() == yours.tobytes(), f"result {index}\nours:   {mine}\njaxlib: {yours}"


# --- argmax and argmin ----------------------------------------------------------------------------

SHAPES = [(4,), (3, 17), (5, 64), (1000,), (6, 1030), (1030, 6), (3, 70, 5), (40000,)]


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.float16, np.float64, ml_dtypes.float8_e5m2])
def test_the_first_of_several_nans_and_of_equal_numbers_wins(dtype):
    """Lanes, threads and rows of a reduction are combined in another order than that of the indices."""
    places = [(shape, axis) for shape in SHAPES for axis in range(len(shape))]
    find = jax.jit(lambda *all: [(jnp.argmax(x, axis), jnp.argmin(x, axis)) for x, (_, axis) in zip(all, places)])
    random = np.random.default_rng(0)
    for share in (0.0, 0.02, 0.5, 1.0):
        arrays = []
        for shape, _ in places:
            x = random.integers(-2, 3, size=shape).astype(np.float64)
            x[random.random(shape) < share] = NAN
            arrays.append(x.astype(dtype))
        with jax.enable_x64(dtype is np.float64):
            found = find(*arrays)
        for (shape, axis), x, (largest, smallest) in zip(places, arrays, found):
            wide = x.astype(np.float64)
            np.testing.assert_array_equal(largest, np.argmax(wide, axis), err_msg=f"{shape} {axis} {share}")
            np.testing.assert_array_equal(smallest, np.argmin(wide, axis), err_msg=f"{shape} {axis} {share}")


def test_argmax_of_what_is_computed_on_the_way():
    x = np.random.default_rng(0).standard_normal((30, 200)).astype(np.float32)
    x[::3, 50:60] = -1.0  # the square root of it is NaN
    x[5] = NAN
    expect_equal(lambda x: (jnp.argmax(jnp.sqrt(x), 1), jnp.argmin(jnp.log(x), 1), jnp.nanargmax(jnp.abs(x[:5]), 1)), x)


# --- scatter and gather ---------------------------------------------------------------------------


def test_a_window_partly_outside_is_dropped():
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=(1,), inserted_window_dims=(), scatter_dims_to_operand_dims=(0,)
    )
    at = np.array([[2], [-1], [0], [3], [2**31 - 1], [-(2**31)]], np.int32)
    updates = np.arange(18, dtype=np.float32).reshape(6, 3)
    kinds = (lax.scatter, lax.scatter_add, lax.scatter_max, lax.scatter_mul)
    expect_equal(
        lambda x, i, u: [scatter(x, i, u, numbers, mode="drop") for scatter in kinds], np.ones(4, np.float32), at, updates
    )


def test_random_windows_inside_and_outside():
    random = np.random.default_rng(3)
    cases, arguments = [], []
    for _ in range(6):
        sizes = random.integers(2, 7, 2)
        window = [int(random.integers(1, size + 1)) for size in sizes]
        cases.append(window)
        arguments.append((
            random.integers(-9, 9, sizes).astype(np.int32), random.integers(-3, 8, (9, 2)).astype(np.int32),
            random.integers(-9, 9, (9, *window)).astype(np.int32),
        ))  # fmt: skip
    into = lax.ScatterDimensionNumbers((1, 2), (), (0, 1))
    from_ = lax.GatherDimensionNumbers((1, 2), (), (0, 1))

    def one(window, x, at, u):
        def gathered(x):
            return lax.gather(x, at, from_, window, mode="fill", fill_value=0)

        return (
            lax.scatter_add(x, at, u, into, mode="drop"),
            lax.scatter_apply(x, at, lambda v: v * 2 + 1, into, update_shape=u.shape, mode="drop"),
            gathered(x),
            jax.vjp(gathered, x.astype(jnp.float32))[1](u.astype(jnp.float32))[0],
        )

    expect_equal(lambda all: [one(window, *each) for window, each in zip(cases, all)], arguments)


def test_nothing_comes_back_from_a_window_that_was_filled():
    """Infinite gradients of a window that the gather never read must not become NaN."""
    numbers = lax.GatherDimensionNumbers((1,), (), (0,))
    at = np.array([[-1], [0], [4], [9]], np.int32)

    def back(x, at):
        taken, pull = jax.vjp(lambda x: lax.gather(x, at, numbers, (3,), mode="fill", fill_value=0), x)
        return pull(jnp.where(taken == 0, jnp.inf, 1.0))[0]

    expect_equal(back, np.arange(1, 7, dtype=np.float32), at)


# --- Linear algebra of empty arrays ---------------------------------------------------------------

EMPTY = {
    "cholesky": (jnp.linalg.cholesky, [(0, 0), (3, 0, 0), (0, 2, 2)]),
    "eigh": (jnp.linalg.eigh, [(0, 0), (2, 0, 0), (0, 3, 3)]),
    "eigvals": (jnp.linalg.eigvals, [(0, 0), (2, 0, 0), (0, 3, 3)]),
    "qr": (lambda x: jnp.linalg.qr(x, mode="complete"), [(0, 0), (0, 4), (4, 0), (2, 0, 3), (0, 3, 2)]),
    "svd": (lambda x: jnp.linalg.svd(x, full_matrices=True), [(0, 0), (0, 4), (4, 0), (0, 3, 2)]),
    "singular_values": (lambda x: jnp.linalg.svd(x, compute_uv=False), [(0, 4), (4, 0), (0, 3, 2)]),
    "lu": (lax.linalg.lu, [(0, 0), (0, 4), (4, 0), (0, 3, 3)]),
    "inverse": (jnp.linalg.inv, [(0, 0), (2, 0, 0), (0, 3, 3)]),
    "determinant": (jnp.linalg.det, [(0, 0), (2, 0, 0), (0, 3, 3)]),
    "schur": (jax.scipy.linalg.schur, [(0, 0)]),
    "hessenberg": (jax.scipy.linalg.hessenberg, [(0, 0), (1, 1)]),
    "tridiagonal": (lax.linalg.tridiagonal, [(1, 1), (3, 1, 1), (0, 2, 2)]),
    "triangular_solve": (
        lambda x: lax.linalg.triangular_solve(x, jnp.ones((*x.shape[:-1], 2), x.dtype), left_side=True),
        [(0, 0), (2, 0, 0), (0, 3, 3)],
    ),
    "no_right_hand_sides": (lambda x: jnp.linalg.solve(x, jnp.ones((*x.shape[:-1], 0), x.dtype)), [(3, 3), (2, 3, 3)]),
}


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_matrices_without_rows_or_columns(dtype):
    names = [(name, shape) for name, (_, shapes) in EMPTY.items() for shape in shapes]
    matrices = [np.broadcast_to(np.eye(*shape[-2:], dtype=dtype) * 2, shape).copy() for _, shape in names]

    def program(matrices):
        return [jax.tree.leaves(EMPTY[name][0](x)) for (name, _), x in zip(names, matrices)]

    ours, theirs = both(program, matrices, x64=True, flat=False)
    for name, mine, yours in zip(names, ours, theirs, strict=True):
        for one, other in zip(mine, yours, strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape), name
            np.testing.assert_allclose(one, other, err_msg=str(name))


# --- Elements below a byte ------------------------------------------------------------------------

NARROW = [ml_dtypes.int2, ml_dtypes.uint2, ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.float4_e2m1fn]


WIDE = [np.uint8, np.int8, np.int16, np.uint32, np.float32, ml_dtypes.bfloat16]


@pytest.mark.parametrize("narrow", NARROW, ids=lambda dtype: np.dtype(dtype).name)
def test_bitcasts_between_bytes_and_less(narrow):
    """int4 weights are unpacked like this. jaxlib's CPU backend has none of these types, so NumPy is the reference."""
    bits = 2 if np.dtype(narrow).name.endswith("2") else 4
    bytes_ = [
        np.random.default_rng(1).integers(0, 256, (5, 3, np.dtype(wide).itemsize), dtype=np.uint8) for wide in WIDE
    ]
    arrays = [values.view(wide)[..., 0] for values, wide in zip(bytes_, WIDE)]
    # Separately, and both ways in one program: then they are elements of a fusion, not of an array.
    unpack = jax.jit(lambda *all: [lax.bitcast_convert_type(x, narrow) for x in all])
    pack = jax.jit(lambda *all: [lax.bitcast_convert_type(x, wide) for x, wide in zip(all, WIDE)])
    turn = jax.jit(lambda *all: pack(*(x[::-1] for x in unpack(*all))))
    unpacked = unpack(*arrays)
    for wide, values, x, taken, back, turned in zip(WIDE, bytes_, arrays, unpacked, pack(*unpacked), turn(*arrays)):
        parts = 8 * np.dtype(wide).itemsize // bits
        wordy = values.astype(np.uint64)
        words = sum(wordy[..., byte] << np.uint64(8 * byte) for byte in range(values.shape[-1]))
        expected = np.stack([(words >> np.uint64(bits * part)) & np.uint64(2**bits - 1) for part in range(parts)], -1)
        assert taken.dtype == np.dtype(narrow) and taken.shape == (5, 3, parts)
        np.testing.assert_array_equal(np.asarray(taken).view(np.uint8) & (2**bits - 1), expected.astype(np.uint8))
        assert np.asarray(back).tobytes() == x.tobytes()
        assert np.asarray(turned).tobytes() == np.ascontiguousarray(x[::-1]).tobytes()


def test_int4_weights_are_unpacked_and_used():
    random = np.random.default_rng(2)
    packed = random.integers(0, 256, (64, 16), dtype=np.uint8)
    x = random.standard_normal((8, 64)).astype(np.float32)

    def apply(x, packed):
        weights = packed.view(jnp.int4)
        return x @ weights.astype(jnp.float32)

    low, high = (packed & 15).astype(np.int8), (packed >> 4).astype(np.int8)
    weights = np.stack([low, high], -1).reshape(64, 32)
    weights = np.where(weights > 7, weights - 16, weights).astype(np.float32)
    np.testing.assert_allclose(jax.jit(apply)(x, packed), x @ weights, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("narrow", NARROW, ids=lambda dtype: np.dtype(dtype).name)
def test_arrays_below_a_byte_take_their_bits(narrow):
    """Weights, a cache that is updated in place, a loop, a result: all are packed in memory."""
    bits = 2 if np.dtype(narrow).name.endswith("2") else 4
    random = np.random.default_rng(5)

    def draw(*shape):
        return random.integers(0, 2**bits, shape, dtype=np.uint8).view(narrow)

    cache, rows, weights, x = draw(16, 32), draw(4, 1, 32), draw(32, 24), random.integers(-3, 4, (8, 32)).astype(np.float32)

    def step(cache, rows, weights, x):
        def write(i, cache):
            return lax.dynamic_update_slice(cache, rows[i], (3 * i + 1, 0))

        cache = lax.fori_loop(0, 4, write, cache)
        column = lax.dynamic_update_slice(cache, rows[0, 0, :16][:, None], (0, 5))  # parts of bytes
        return cache, x @ weights.astype(jnp.float32), cache[3:, 1:6].T, column

    compiled = jax.jit(step, donate_argnums=0).lower(cache, rows, weights, x).compile()
    sizes = [a.size * bits // 8 for a in (cache, rows, weights)]
    assert compiled.memory_analysis().argument_size_in_bytes == sum(sizes) + x.nbytes
    given = jax.device_put(cache)
    results = [np.asarray(r) for r in compiled(given, rows, weights, x)]
    assert given.is_deleted()
    expected = cache.copy()
    for i in range(4):
        expected[3 * i + 1] = rows[i, 0]
    column = expected.copy()
    column[:, 5] = rows[0, 0, :16]
    for result, wanted in zip(results, (expected, x @ weights.astype(np.float32), expected[3:, 1:6].T, column)):
        assert result.dtype == wanted.dtype and result.tobytes() == np.ascontiguousarray(wanted).tobytes()


@pytest.mark.parametrize("narrow", NARROW, ids=lambda dtype: np.dtype(dtype).name)
def test_rows_below_a_byte_are_gathered_and_exchanged(narrow):
    """Rows of whole bytes move as bytes, others one element in each byte; the results are the same."""
    bits = 2 if np.dtype(narrow).name.endswith("2") else 4
    random = np.random.default_rng(6)
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:2]), "i")
    spec = jax.sharding.PartitionSpec("i")

    def exchange(x):
        return (lax.all_gather(x, "i", tiled=True), lax.all_gather(x, "i", axis=1, tiled=True), lax.ppermute(x, "i", [(0, 1), (1, 0)]),
                lax.all_to_all(x, "i", 1, 0, tiled=True), lax.all_to_all(x, "i", 0, 1, tiled=True))  # fmt: skip

    exchange = jax.jit(jax.shard_map(exchange, mesh=mesh, in_specs=spec, out_specs=(spec,) * 5, check_vma=False))
    for shape in ((4, 16), (4, 6)):
        x = random.integers(0, 2**bits, shape, dtype=np.uint8).view(narrow)
        a, b = x[:2], x[2:]
        side = np.concatenate([a, b], 1)
        half = shape[1] // 2
        expected = (np.concatenate([x, x]), np.concatenate([side, side]), np.concatenate([b, a]),
                    np.concatenate([a[:, :half], b[:, :half], a[:, half:], b[:, half:]]),
                    np.concatenate([np.concatenate([a[:1], b[:1]], 1), np.concatenate([a[1:], b[1:]], 1)]))  # fmt: skip
        for result, wanted in zip(exchange(x), expected):
            assert result.shape == wanted.shape and np.asarray(result).tobytes() == np.ascontiguousarray(wanted).tobytes()
        table = random.integers(0, 2**bits, (9, 3, shape[1]), dtype=np.uint8).view(narrow)
        rows = np.array([8, 0, 3, 3, 7])
        taken = jax.jit(lambda t, i: (t[i], t[i, 1], t[:, 2][:, i[:2]]))(table, rows)
        for result, wanted in zip(taken, (table[rows], table[rows, 1], table[:, 2][:, np.minimum(rows[:2], shape[1] - 1)])):
            assert np.asarray(result).tobytes() == np.ascontiguousarray(wanted).tobytes()


# --- Products in other number types ---------------------------------------------------------------

KINDS = [
    ("int8", "float32"), ("uint8", "float32"), ("int8", "bfloat16"), ("int16", "float16"), ("int16", "bfloat16"),
    ("bool", "float32"), ("bool", "int8"), ("int32", "float32"), ("uint8", "int8"), ("int8", "int32"), ("int8", "uint8"),
    ("float32", "int32"), ("bfloat16", "int32"), ("float32", "bool"), ("int8", "complex64"), ("float32", "complex64"),
    ("complex64", "float32"), ("float16", "bfloat16"), ("float32", "bfloat16"),
]  # fmt: skip


def test_products_in_the_preferred_type():
    random = np.random.default_rng(4)
    cases, arguments = [], []
    for given, wanted in KINDS:
        low, high = (0, 2) if given == "bool" else (0, 200) if given == "uint8" else (-9, 9)
        # Exact in every type, so that the order of a sum changes nothing.
        for rows, summed, columns in [(3, 4, 5), (1, 6, 1), (16, 33, 8), (2, 0, 3)]:
            x = random.integers(low, high, (rows, summed)).astype(given)
            y = random.integers(low, 2 if given in ("uint8", "bool") else high, (summed, columns)).astype(given)
            cases.append(wanted)
            arguments.append((x, y))
    numbers = (((1,), (0,)), ((), ()))
    expect_equal(
        lambda all: [lax.dot_general(*xy, numbers, preferred_element_type=wanted) for wanted, xy in zip(cases, all)],
        arguments,
    )


def test_convolutions_in_the_preferred_type():
    random = np.random.default_rng(5)
    kinds = [("int8", "float32"), ("int8", "bfloat16"), ("uint8", "float16"), ("int8", "int32")]
    pairs = [
        (random.integers(0, 9, (2, 3, 8, 9)).astype(given), random.integers(0, 4, (4, 3, 3, 2)).astype(given))
        for given, _ in kinds
    ]
    expect_equal(
        lambda all: [
            lax.conv_general_dilated(x, kernel, (1, 2), "SAME", preferred_element_type=wanted)
            for (x, kernel), (_, wanted) in zip(all, kinds)
        ],
        pairs,
    )


# --- NumPy's memory -------------------------------------------------------------------------------


def numbers_at(offset, count):
    """Ones that begin `offset` bytes after a multiple of 64."""
    memory = np.empty(4 * count + 128, np.uint8)
    start = -memory.ctypes.data % 64 + offset
    array = memory[start : start + 4 * count].view(np.float32)
    array[:] = 1
    return array


WAYS = {
    "asarray": jnp.asarray,
    "array": jnp.array,
    "device_put": jax.device_put,
    "device_put to the device": lambda a: jax.device_put(a, jax.config.jax_default_device),
    "device_put without alias": lambda a: jax.device_put(a, may_alias=False),
    "jit": jax.jit(lambda a: a + 0),
    "a slice": lambda a: jax.device_put(a[::2]),
}


def test_memory_of_numpy_is_used_in_place_only_where_jaxlib_does():
    seen = {}
    for platform in ("tilewright", "cpu"):
        with jax.default_device(jax.devices(platform)[0]):
            for way, make in WAYS.items():
                for offset in (0, 4, 16):
                    for count in (8, 5000):
                        array = numbers_at(offset, count)
                        made = make(array)
                        made.block_until_ready()
                        array[:] = 7
                        seen[platform, way, offset, count] = bool(np.asarray(made)[0] != 1)
    ours = [place for (platform, *place), in_place in seen.items() if platform == "tilewright" and in_place]
    assert all(seen["cpu", *place] for place in ours), ours
    assert not any(way in ("asarray", "array", "jit", "a slice") or offset for way, offset, _ in ours), ours


# --- Features that call back from within XLA ------------------------------------------------------


def test_the_stream_of_a_buffer_callback_is_refused():
    from jax.experimental import buffer_callback

    refused = []

    def ask(context, out, argument):
        try:
            context.stream
        except Exception as error:
            refused.append(str(error))
        np.asarray(out)[...] = np.asarray(argument)

    call = buffer_callback.buffer_callback(ask, jax.ShapeDtypeStruct((3,), np.float32))
    result = jax.jit(call)(np.arange(3, dtype=np.float32))
    assert np.asarray(result).tolist() == [0, 1, 2]
    assert refused and "UNIMPLEMENTED" in refused[0]


def test_a_buffer_callback_works_in_the_memory_of_its_aliased_input():
    from jax.experimental import buffer_callback

    def change_one(context, out, argument):
        # Writes a part: the rest of the result keeps the values of the input.
        np.asarray(out)[1] = 7

    call = buffer_callback.buffer_callback(change_one, jax.ShapeDtypeStruct((3,), np.float32), input_output_aliases={0: 0})
    given = jnp.arange(3, dtype=jnp.float32)
    assert np.asarray(jax.jit(call)(given)).tolist() == [0, 7, 2]
    assert np.asarray(given).tolist() == [0, 1, 2]
    # The input is read again after the call, and the call runs in a loop.
    changed, kept = jax.jit(lambda x: (call(x * 2), x * 2))(given)
    assert np.asarray(changed).tolist() == [0, 7, 4] and np.asarray(kept).tolist() == [0, 2, 4]
    assert np.asarray(jax.jit(lambda x: jax.lax.fori_loop(0, 3, lambda _, y: call(y) + 1, x))(given)).tolist() == [3, 8, 5]


def test_requests_for_an_order_change_no_values():
    from jax.experimental.control_deps import control_dep, schedule

    def program(x):
        a, b = jnp.sin(x @ x), jnp.cos(x @ x)
        schedule([b, a])
        control_dep(x, a)
        return a + b

    x = np.eye(5, dtype=np.float32)
    ours, theirs = both(program, x)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-6)


def test_a_request_about_a_collective_that_runs():
    from jax._src.lax import parallel
    from jax.experimental.control_deps import schedule

    def body(x):
        future = parallel.all_gather_start(x, "i", tiled=True)
        whole = future.done()
        schedule([future.x, whole])
        return whole * 2

    for count in (1, 2):
        devices = np.array(jax.devices()[:count])
        mesh = jax.sharding.Mesh(devices, ("i",), axis_types=(jax.sharding.AxisType.Explicit,))
        with jax.set_mesh(mesh):
            x = jax.device_put(np.ones((4, 4), np.float32), jax.P("i"))
            y = jax.jit(jax.shard_map(body, out_specs=jax.P("i"), check_vma=False))(x)
        np.testing.assert_array_equal(y, np.full((4 * count, 4), 2.0))


def test_hlo_transformations_are_announced_as_not_run():
    from jax.extend import xla

    name = "sin_to_cos_meaning"
    with pytest.warns(UserWarning, match=f"HLO pass '{name}' is not run"):
        xla.register_hlo_module_transformation(lambda module: None, name=name)
        jax.devices("tilewright")
    xla.clear_hlo_module_transformation(name)


def sharded(*spec):
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:2]), ("x",))
    return jax.sharding.NamedSharding(mesh, jax.P(*spec))


def test_custom_partitioning_gives_the_function():
    from jax.experimental.custom_partitioning import custom_partitioning

    @custom_partitioning
    def twice(x):
        return x * 2

    twice.def_partition(
        partition=lambda mesh, arguments, result: (
            mesh, lambda x: x * 2, jax.tree.map(lambda s: s.sharding, result), jax.tree.map(lambda s: s.sharding, arguments)
        ),
        sharding_rule="i j -> i j",
    )  # fmt: skip
    x = np.arange(32, dtype=np.float32).reshape(8, 4)
    for spec in (("x",), (None, "x"), ()):
        y = jax.jit(lambda x: twice(x) + 1)(jax.device_put(x, sharded(*spec)))
        np.testing.assert_array_equal(y, x * 2 + 1)
        assert y.sharding.is_equivalent_to(sharded(*spec), 2), y.sharding
    np.testing.assert_array_equal(jax.jit(twice)(x), x * 2)


def test_custom_partitioning_follows_its_sharding_rule():
    """Nothing else says how the rows of the result belong to those of the argument, which the body permutes."""
    from jax.experimental.custom_partitioning import custom_partitioning

    x = np.arange(32, dtype=np.float32).reshape(8, 4)

    def permuted(x):
        return jnp.take(x, jnp.arange(8) * 3 % 8, axis=0)

    def result_sharding(rule, body=lambda x: permuted(x) * 2):
        function = custom_partitioning(body)
        function.def_partition(partition=lambda *_: None, sharding_rule=rule)
        y = jax.jit(function)(jax.device_put(x, sharded("x")))
        np.testing.assert_array_equal(y, body(x))
        return y.sharding

    assert result_sharding("i j -> i j").is_equivalent_to(sharded("x"), 2)
    assert result_sharding("i j -> j i", lambda x: permuted(x).T).is_equivalent_to(sharded(None, "x"), 2)
    assert result_sharding("i j -> k j").is_equivalent_to(sharded(), 2)
    assert result_sharding(lambda mesh, values, results: "i j -> i j").is_equivalent_to(sharded("x"), 2)
    assert result_sharding("i j -> j", lambda x: permuted(x).sum(0)).is_equivalent_to(sharded(), 1)
    assert result_sharding("... j -> ... j", permuted).is_equivalent_to(sharded("x"), 2)


def test_ragged_dot_is_lowered_to_its_op():
    """JAX's lowering for `cpu` multiplies every row by every group; its ops can be sharded, so several devices keep it."""
    x, w, sizes = np.arange(24, dtype=np.float32).reshape(6, 4), np.arange(36, dtype=np.float32).reshape(3, 4, 3), np.array([1, 0, 4], np.int32)
    product = jax.jit(lax.ragged_dot)
    assert "chlo.ragged_dot" in product.lower(x, w, sizes).as_text()
    assert "chlo.ragged_dot" not in product.lower(*jax.device_put((x, w, sizes), jax.devices("cpu")[0])).as_text()
    assert "chlo.ragged_dot" not in product.lower(jax.device_put(x, sharded("x")), w, sizes).as_text()
    expected = np.concatenate([x[:1] @ w[0], x[1:5] @ w[2], np.zeros((1, 3), np.float32)])
    np.testing.assert_array_equal(product(x, w, sizes), expected)
    np.testing.assert_array_equal(product(jax.device_put(x, sharded("x")), w, sizes), expected)
    weights = jax.jit(jax.grad(lambda w: lax.ragged_dot(x, w, sizes).sum()))(w)
    np.testing.assert_array_equal(weights, [np.outer(rows.sum(0), np.ones(3)) for rows in (x[:1], x[:0], x[1:5])])


def test_a_program_with_an_inspection_runs():
    def program(x):
        jax.debug.inspect_array_sharding(x, callback=lambda sharding: None)
        return x + 1

    with pytest.warns(UserWarning, match="inspect_array_sharding is skipped"):
        y = jax.jit(program)(jax.device_put(np.zeros(8, np.float32), sharded("x")))
    np.testing.assert_array_equal(y, np.ones(8))


def test_shard_alike_divides_the_other_like_the_one():
    from jax.experimental.shard_alike import shard_alike

    x = np.arange(32, dtype=np.float32).reshape(8, 4)

    def program(x):
        first, second = shard_alike(x * 2, jnp.ones(x.shape))
        return first, second

    first, second = jax.jit(program)(x)
    np.testing.assert_array_equal(first, x * 2)
    for spec in (("x",), (None, "x")):
        first, second = jax.jit(program)(jax.device_put(x, sharded(*spec)))
        np.testing.assert_array_equal(first, x * 2)
        np.testing.assert_array_equal(second, np.ones((8, 4)))
        assert first.sharding.is_equivalent_to(sharded(*spec), 2)
        assert second.sharding.is_equivalent_to(sharded(*spec), 2)


def test_the_text_of_a_program_for_several_devices_shows_what_one_runs():
    x = jax.device_put(np.ones((8, 4), np.float32), sharded("x"))
    compiled = jax.jit(lambda x: jnp.sin(x).sum()).lower(x).compile()
    text = compiled.as_text()
    assert "all-reduce" in text and "f32[4,4]" in text


# --- Numbers --------------------------------------------------------------------------------------


def test_denormal_numbers_are_kept():
    tiny = jax.jit(lambda x: x * np.float32(1e-40))(np.float32(1.5))
    assert float(tiny) == float(np.float32(1.5) * np.float32(1e-40)) > 0
