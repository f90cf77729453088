"""Arrays to and from the device: tests that need no compiler."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import tilewright

TYPES = [
    np.bool_, np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32, np.float16, np.float32,
    np.complex64, ml_dtypes.bfloat16, ml_dtypes.int2, ml_dtypes.int4, ml_dtypes.uint2, ml_dtypes.uint4,
    ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e3m4, ml_dtypes.float8_e4m3, ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e4m3b11fnuz, ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz,
    ml_dtypes.float8_e8m0fnu,
]  # fmt: skip


@pytest.fixture
def device():
    return jax.devices("tilewright")[0]


def test_devices_are_listed_and_are_the_default(device):
    assert jax.devices()[0] is device
    assert [d.id for d in jax.devices()] == [0, 1]
    assert device.platform == "cpu" and "tilewright" in device.client.platform_version
    assert jax.devices("cpu")[0].client is not device.client


def test_memories_have_the_names_that_jax_knows(device):
    assert [memory.kind for memory in device.addressable_memories()] == ["device", "pinned_host", "unpinned_host"]
    assert device.default_memory().kind == "device"


def test_memory_statistics_count_arrays(device):
    before = device.memory_stats()["bytes_in_use"]
    array = jax.device_put(np.ones(1 << 20, np.float32), device)
    array.block_until_ready()
    # Aligned NumPy memory is used without a copy; memory of a copy on the device is counted.
    copy = jax.device_put(jax.device_put(array, jax.devices()[1]), device)
    copy.block_until_ready()
    assert device.memory_stats()["bytes_in_use"] >= before + (1 << 22)
    assert device.memory_stats()["bytes_limit"] > 0


@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: np.dtype(dtype).name)
def test_every_type_goes_there_and_back(dtype, device):
    values = np.array([[0, 1], [1, 0], [1, 1]]).astype(dtype)  # 0 is a NaN of float8_e8m0fnu
    for given in (values, values.T, values[::-1], values[:, ::-1].T, values[:0], values[0, 0]):
        array = jax.device_put(given, device)
        assert array.dtype == np.dtype(dtype) and array.shape == np.shape(given)
        assert np.asarray(array).tobytes() == np.ascontiguousarray(given).tobytes()


@pytest.mark.parametrize("dtype", [ml_dtypes.int2, ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.float4_e2m1fn], ids=lambda dtype: np.dtype(dtype).name)
def test_elements_below_a_byte_are_packed(dtype, device):
    """All bit patterns in any layout; a copy has the bits, not a byte for each element."""
    bits = 2 if np.dtype(dtype).name == "int2" else 4
    patterns = np.arange(15 * 7) % 2**bits
    values = patterns.astype(np.uint8).view(dtype).reshape(15, 7)
    for given in (values, values.T, values[::-2, ::-1], values[3:3], values[1, 2]):
        array = jax.device_put(given, device)
        assert np.asarray(array).tobytes() == np.ascontiguousarray(given).tobytes()
        moved = jax.device_put(array, jax.devices()[1])
        assert np.asarray(moved).tobytes() == np.ascontiguousarray(given).tobytes()
    before = device.memory_stats()["bytes_in_use"]
    large = jax.device_put(np.tile(values.reshape(-1), 8192), device).block_until_ready()
    assert device.memory_stats()["bytes_in_use"] - before <= 1.1 * large.size * bits / 8


def test_64_bits_go_there_and_back(device):
    with jax.enable_x64(True):
        for dtype in (np.int64, np.uint64, np.float64, np.complex128):
            values = np.array([1, 2, 3], dtype)
            np.testing.assert_array_equal(np.asarray(jax.device_put(values, device)), values)


def test_a_copy_on_the_host_is_not_touched_by_the_original(device):
    values = np.arange(1000, dtype=np.float32)
    array = jax.device_put(values.copy(), device)
    values[:] = 0
    np.testing.assert_array_equal(np.asarray(array), np.arange(1000))


def test_arrays_move_between_devices_and_memories(device):
    values = np.arange(12, dtype=np.int32).reshape(3, 4)
    array = jax.device_put(values, device)
    other = jax.device_put(array, jax.devices()[1])
    assert other.devices() == {jax.devices()[1]}
    np.testing.assert_array_equal(np.asarray(other), values)
    pinned = jax.device_put(array, jax.sharding.SingleDeviceSharding(device, memory_kind="pinned_host"))
    assert pinned.sharding.memory_kind == "pinned_host"
    unpinned = jax.device_put(pinned, jax.sharding.SingleDeviceSharding(device, memory_kind="unpinned_host"))
    assert unpinned.sharding.memory_kind == "unpinned_host"
    np.testing.assert_array_equal(np.asarray(unpinned), values)
    np.testing.assert_array_equal(np.asarray(pinned), values)
    there = jax.device_put(array, jax.devices("cpu")[0])
    np.testing.assert_array_equal(np.asarray(there), values)
    np.testing.assert_array_equal(np.asarray(jax.device_put(there, device)), values)


def test_an_array_is_spread_over_devices():
    mesh = jax.sharding.Mesh(np.array(jax.devices()), "x")
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    array = jax.device_put(np.arange(8), sharding)
    assert [shard.data.tolist() for shard in array.addressable_shards] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    np.testing.assert_array_equal(np.asarray(array), np.arange(8))


def test_a_deleted_array_says_so(device):
    array = jax.device_put(np.ones(3, np.float32), device)
    array.delete()
    assert array.is_deleted()
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(array)


def test_numpy_reads_in_place(device):
    array = jax.device_put(jax.device_put(np.arange(1024, dtype=np.float32), jax.devices()[1]), device)
    first, second = np.asarray(array), np.from_dlpack(array)
    assert first.ctypes.data == second.ctypes.data == array.unsafe_buffer_pointer()


def test_dlpack_comes_in(script):
    out = script(
        "import numpy as np, jax, jax.numpy as jnp\n"
        "x = jnp.from_dlpack(np.arange(5, dtype=np.float32))\n"
        "print(x.devices() == {jax.devices('tilewright')[0]}, np.asarray(x).tolist())"
    )
    assert out.split(maxsplit=1) == ["True", "[0.0, 1.0, 2.0, 3.0, 4.0]\n"]


def test_memory_of_the_host_is_not_that_of_a_gpu(script):
    """On a GPU, DLPack copies arrays of NumPy in. Memory of the GPU is not passed off as memory of the host."""
    out = script(
        "import numpy as np, jax, jax.numpy as jnp\n"
        "raw = np.zeros(1 << 12, np.float32)\n"
        "for first in (-raw.ctypes.data % 64 // 4, -raw.ctypes.data % 64 // 4 + 1):\n"
        "    given = raw[first : first + 1000]\n"
        "    given[:] = 3\n"
        "    x = jnp.from_dlpack(given)\n"
        "    given[:] = 9\n"
        "    y = jax.jit(lambda x: x + 1)(x)\n"
        "    view = np.asarray(y)\n"
        "    print(set(np.asarray(x).tolist()), set(view.tolist()), view.ctypes.data == y.unsafe_buffer_pointer())\n"
        "try:\n"
        "    np.from_dlpack(y)\n"
        "except Exception as error:\n"
        "    print(error)\n"
        "host = jax.device_put(y, jax.sharding.SingleDeviceSharding(jax.devices()[0], memory_kind='pinned_host'))\n"
        "print(np.asarray(host).ctypes.data == host.unsafe_buffer_pointer(), np.asarray(host)[7])\n",
        TILEWRIGHT_TARGET="vgpu:sm_90a",
    )
    lines = out.splitlines()
    assert lines[:2] == ["{3.0} {4.0} False"] * 2
    assert "other libraries cannot use an array in memory 'cuda:0 device'" in lines[2]
    assert lines[-1] == "True 4.0"


def test_an_option_that_does_not_exist_is_named(script):
    out = script(
        "import jax\ntry:\n  jax.devices()\nexcept RuntimeError as error:\n  print(error)",
        JAX_PJRT_CLIENT_CREATE_OPTIONS="runtime.device:2",
    )
    assert "E0001" in out and "runtime.devices" in out


def test_options_with_types(script):
    out = script("import tilewright, jax\ntilewright.configure(devices=3, threads=1)\nprint(len(jax.devices()))")
    assert out == "3\n"


def test_every_option_is_a_keyword(script):
    out = script("import tilewright, jax\ntilewright.configure(runtime_devices=2, import_max_rank=8)\nprint(len(jax.devices()))")
    assert out == "2\n"
    options = tilewright.Options(devices=2, runtime_devices=2)
    assert options.as_create_options() == {"runtime.devices": 2}
    with pytest.raises(ValueError, match="devices is 2, but another field sets runtime.devices to 3"):
        tilewright.Options(devices=2, runtime_devices=3).as_create_options()


@pytest.mark.parametrize(
    "variables",
    [{"JAX_NUM_CPU_DEVICES": "4"}, {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}],
    ids=["config", "flag"],
)
def test_scripts_that_ask_jax_for_cpu_devices_get_them(script, variables):
    assert script("import jax\nprint(len(jax.devices()), len(jax.devices('cpu')))", **variables) == "4 4\n"


@pytest.mark.parametrize(
    "platforms, default, cpu",
    [("", "ours", "ours"), ("tilewright", "ours", "ours"), ("tilewright,cpu", "ours", "theirs"),
     ("cpu,tilewright", "theirs", "theirs"), ("cpu", "theirs", "theirs")],
)  # fmt: skip
def test_who_answers_to_which_name(script, platforms, default, cpu):
    """The table of docs/design/platform-name.md."""
    out = script(
        "import jax\n"
        "whose = lambda device: 'ours' if 'tilewright' in device.client.platform_version else 'theirs'\n"
        "print(whose(jax.devices()[0]), whose(jax.devices('cpu')[0]))",
        JAX_PLATFORMS=platforms,
    )
    assert out.split() == [default, cpu]
