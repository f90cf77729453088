"""Programs that JAX compiles and runs on the plugin: each feature of it once."""

import contextlib
import pathlib
import subprocess
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tilewright import callbacks


def test_jit_and_grad():
    x = jnp.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(jax.jit(lambda x: x @ x.T + 1)(x), np.asarray(x) @ np.asarray(x).T + 1)
    np.testing.assert_allclose(jax.grad(lambda x: jnp.sum(x**2))(x), 2 * np.asarray(x))


def test_control_flow():
    total, parts = jax.lax.scan(lambda carry, x: (carry + x, carry * x), 0.0, jnp.arange(5.0))
    assert total == 10 and parts.tolist() == [0, 0, 2, 9, 24]
    assert jax.jit(lambda n: jax.lax.while_loop(lambda i: i < n, lambda i: i * 2, 1))(100) == 128
    assert jax.jit(lambda c: jax.lax.cond(c, lambda: 1, lambda: 2))(True) == 1


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize(
    "batch,rows,summed,columns",
    [
        ((), 5, 7, 9),  # small enough to be computed without packing
        ((), 1, 300, 700),  # a row times a matrix that is streamed
        ((), 700, 300, 1),  # a column
        ((), 600, 64, 5),  # few columns, computed as the transposed product
        ((), 300, 130, 531),  # several tiles, with edges
        ((3,), 40, 50, 33),
        ((), 8, 9000, 8),  # long sums, which are split over threads
    ],
)
def test_what_a_product_computes_on_the_way_is_what_follows_it(batch, rows, summed, columns, dtype):
    """The barrier keeps the elementwise ops out of the product."""
    random = np.random.default_rng(0)
    x, w, bias, scale, residual = (
        jnp.asarray(random.standard_normal(shape, dtype=np.float32) / 4).astype(dtype)
        for shape in [(*batch, rows, summed), (*batch, summed, columns), (columns,), (*batch, rows, 1), (*batch, rows, columns)]
    )

    def program(between):
        def run(x, w, bias, scale, residual):
            y = jnp.tanh(between(x @ w) + bias) * scale
            return y, jnp.maximum(y, 0.5).astype(jnp.float32) + residual

        return jax.jit(run)(x, w, bias, scale, residual)

    for fused, apart in zip(program(lambda y: y), program(jax.lax.optimization_barrier)):
        np.testing.assert_array_equal(np.asarray(fused, np.float32), np.asarray(apart, np.float32))


def test_donation_takes_the_argument():
    x = jnp.ones(1000)
    y = jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert x.is_deleted()
    np.testing.assert_array_equal(y, np.full(1000, 2.0))
    with pytest.raises(RuntimeError, match="deleted|donated"):
        x + 1


def test_a_program_runs_where_its_argument_is():
    x = jax.device_put(np.arange(4), jax.devices()[1])
    assert (jax.jit(lambda x: x + 1)(x)).devices() == {jax.devices()[1]}


def test_results_are_ready_events():
    y = jax.jit(lambda x: jnp.sin(x).sum())(jnp.ones(10000))
    y.block_until_ready()
    assert y.is_ready()


def test_a_compilation_ends_at_its_deadline():
    def long(x):
        for i in range(4000):
            x = jnp.sin(x) + (0.5 if i % 2 else -0.25)
        return x

    with pytest.raises(jax.errors.JaxRuntimeError, match=r"DEADLINE_EXCEEDED: E2106.*in stage '\w+', at .*compile.max-seconds"):
        jax.jit(long, compiler_options={"compile.max-seconds": 1})(np.ones(7, np.float32))
    # The next program compiles as usual.
    assert jax.jit(lambda x: x + 1, compiler_options={"compile.max-seconds": 100})(1) == 2


def test_pure_callback():
    def host(x, y):
        assert isinstance(x, (np.ndarray, jax.Array))
        return np.asarray(x).T @ np.asarray(y).T  # not contiguous

    shape = jax.ShapeDtypeStruct((3, 2), np.float32)
    x, y = np.ones((2, 3), np.float32), np.arange(4, dtype=np.float32).reshape(2, 2)
    np.testing.assert_array_equal(jax.jit(lambda x, y: jax.pure_callback(host, shape, x, y))(x, y), x.T @ y.T)


def test_callbacks_come_in_order():
    seen = []

    @jax.jit
    def program(x):
        for i in range(3):
            x = jax.experimental.io_callback(
                lambda x, i=i: (seen.append(i), np.float32(x + 1))[1], jax.ShapeDtypeStruct((), np.float32), x, ordered=True
            )
        return x

    assert program(np.float32(1)) == 4
    jax.effects_barrier()
    assert seen == [0, 1, 2]


def test_debug_print(capsys):
    jax.jit(lambda x: jax.debug.print("x is {x}", x=x))(jnp.arange(3))
    jax.effects_barrier()
    assert capsys.readouterr().out == "x is [0 1 2]\n"


def test_a_callback_may_use_jax():
    shape = jax.ShapeDtypeStruct((3,), np.float32)
    program = jax.jit(lambda x: jax.pure_callback(lambda x: jax.jit(jnp.sin)(x) * 2, shape, x))
    np.testing.assert_allclose(program(jnp.ones(3)), 2 * np.sin(np.ones(3, np.float32)), rtol=1e-6)


def test_threads_that_run_callbacks_are_known():
    """At exit the plugin waits for them. A callback that has run a program with callbacks still runs."""
    shape, seen = jax.ShapeDtypeStruct((), np.float32), []

    def inner(x):
        seen.append(dict(callbacks.running))
        if x < 0:
            raise ValueError("of my own making")
        return x

    nested = jax.jit(lambda x: jax.pure_callback(inner, shape, x))

    def outer(x):
        for value in (1, -1):  # JAX puts the argument x on its own CPU
            with contextlib.suppress(jax.errors.JaxRuntimeError):
                nested(jax.device_put(np.float32(value), jax.devices("tilewright")[0])).block_until_ready()
            seen.append(dict(callbacks.running))
        return x

    assert jax.jit(lambda x: jax.pure_callback(outer, shape, x))(np.float32(1)) == 1
    jax.effects_barrier()
    assert [sum(threads.values()) for threads in seen] == [2, 1, 2, 1]
    assert not callbacks.running

    # Two programs at a time, one of which fails.
    both = threading.Barrier(2)

    def meet(x):
        both.wait(60)
        return inner(x)

    program = jax.jit(lambda x: jax.pure_callback(meet, shape, x))

    def run(x):
        with contextlib.suppress(jax.errors.JaxRuntimeError):
            program(x).block_until_ready()

    values = [jax.device_put(np.float32(value), device) for value, device in zip((1, -1), jax.devices())]
    threads = [threading.Thread(target=run, args=[value]) for value in values]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    jax.effects_barrier()
    assert not callbacks.running


def test_an_exception_of_a_callback_is_raised():
    def fails(x):
        raise ValueError("of my own making")

    with pytest.raises(jax.errors.JaxRuntimeError, match=r"E8022(.|\n)*of my own making"):
        jax.jit(lambda x: jax.pure_callback(fails, jax.ShapeDtypeStruct((), np.float32), x))(1.0).block_until_ready()
    jax._src.dispatch.runtime_tokens.clear()  # otherwise it is reported again at exit


CAUGHT = """
import os; os.dup2(1, 2)
import jax, jax.numpy as jnp
def fails(x):
    raise ValueError("of my own making")
try:
    jax.jit(lambda x: jax.pure_callback(fails, x, x))(jnp.ones(3)).block_until_ready()
except Exception:
    print("caught", flush=True)
"""


def test_an_exception_that_was_caught_is_named_in_one_line_at_exit(script):
    # JAX itself logs the traceback when the callback fails.
    _, _, after = script(CAUGHT).partition("caught\n")
    assert after.count("\n") == 1 and after.startswith("tilewright: a program failed") and "E8022" in after, after


def test_linear_algebra():
    a = np.array([[4, 1, 0], [1, 3, 1], [0, 1, 2]], np.float32)
    values, vectors = jnp.linalg.eigh(a)
    np.testing.assert_allclose(np.asarray(vectors) @ np.diag(values) @ np.asarray(vectors).T, a, atol=1e-5)
    u, s, v = jnp.linalg.svd(a[:, :2], full_matrices=False)
    np.testing.assert_allclose(np.asarray(u) @ np.diag(s) @ np.asarray(v), a[:, :2], atol=1e-5)
    q, r = jnp.linalg.qr(a)
    np.testing.assert_allclose(np.asarray(q) @ np.asarray(r), a, atol=1e-5)
    np.testing.assert_allclose(jnp.linalg.solve(a, np.ones(3)), np.linalg.solve(a, np.ones(3)), rtol=1e-5)
    np.testing.assert_allclose(jnp.linalg.cholesky(a), np.linalg.cholesky(a), rtol=1e-5)
    np.testing.assert_allclose(jnp.linalg.inv(a), np.linalg.inv(a), atol=1e-5)


HANDLER = """
#include "xla/ffi/api/ffi.h"
namespace ffi = xla::ffi;
static ffi::Error affine(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y, float scale,
                         ffi::Span<const int64_t> steps, std::string_view mode) {
  if (mode == "refuse") return ffi::Error(ffi::ErrorCode::kInvalidArgument, "mode is refuse");
  float shift = 0;
  for (int64_t step : steps) shift += step;
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = scale * x.typed_data()[i] + shift;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Affine, affine, ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>()
    .Ret<ffi::Buffer<ffi::F32>>().Attr<float>("scale").Attr<ffi::Span<const int64_t>>("steps")
    .Attr<std::string_view>("mode"));
"""


@pytest.fixture(scope="module")
def affine(tmp_path_factory):
    """A handler as users write it, against the headers of jaxlib."""
    import ctypes

    folder = tmp_path_factory.mktemp("ffi")
    (folder / "affine.cc").write_text(HANDLER)
    subprocess.run(
        ["clang++-22", "-std=c++17", "-shared", "-fPIC", f"-I{jax.ffi.include_dir()}", "affine.cc", "-o", "affine.so"],
        cwd=folder, check=True, timeout=300,
    )  # fmt: skip
    library = ctypes.CDLL(str(folder / "affine.so"))
    jax.ffi.register_ffi_target("affine_of_test", jax.ffi.pycapsule(library.Affine), platform="cpu")

    def call(x, mode="go"):
        target = jax.ffi.ffi_call("affine_of_test", jax.ShapeDtypeStruct(x.shape, x.dtype))
        return target(x, scale=np.float32(3), steps=np.array([1, 4], np.int64), mode=mode)

    return call


def test_a_handler_of_the_user(affine):
    x = jnp.arange(4.0)
    np.testing.assert_array_equal(jax.jit(affine)(x), 3 * np.arange(4) + 5)


def test_the_error_of_a_handler(affine):
    with pytest.raises(jax.errors.JaxRuntimeError, match="mode is refuse"):
        jax.jit(lambda x: affine(x, "refuse"))(jnp.ones(2)).block_until_ready()


def test_a_custom_call_that_nobody_registered():
    with pytest.raises(jax.errors.JaxRuntimeError, match="E5034(.|\n)*register_ffi_target"):
        call = jax.ffi.ffi_call("nobody_has_this", jax.ShapeDtypeStruct((), np.float32))
        jax.jit(call)(np.float32(1)).block_until_ready()


def test_an_executable_as_bytes():
    from jax.experimental import serialize_executable

    compiled = jax.jit(lambda x: x * 2).lower(jnp.ones(3)).compile()
    bytes_, inputs, outputs = serialize_executable.serialize(compiled)
    loaded = serialize_executable.deserialize_and_load(bytes_, inputs, outputs, execution_devices=jax.devices()[:1])
    np.testing.assert_array_equal(loaded(jnp.ones(3)), np.full(3, 2.0))
    # jaxlib distinguishes programs by their fingerprints.
    other = jax.jit(lambda x: x * 3).lower(jnp.ones(3)).compile()
    mine, again, another = (each.runtime_executable().fingerprint for each in (compiled, loaded, other))
    assert mine == again != another


def test_what_a_compiled_program_tells():
    compiled = jax.jit(lambda x: x @ x).lower(jnp.ones((64, 64))).compile()
    memory = compiled.memory_analysis()
    assert memory.argument_size_in_bytes == memory.output_size_in_bytes == 64 * 64 * 4
    assert compiled.cost_analysis() is not None
    assert compiled.as_text().startswith("HloModule jit__lambda")


CACHED = """
import jax, jax.numpy as jnp
from jax._src import monitoring
hits = []
monitoring.register_event_listener(lambda name, **_: hits.append(name) if name.endswith("cache_hits") else None)
jax.config.update("jax_compilation_cache_dir", "cache")
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
assert jax.jit(lambda x: (x * 3).sum())(jnp.ones(4)) == 12
print(len(hits))
"""


def test_the_compile_cache_is_hit_after_a_restart(script):
    assert int(script(CACHED)) == 0
    assert int(script(CACHED)) >= 1


AHEAD = """
import jax, jax.numpy as jnp, numpy as np, pickle
from jax.experimental import topologies, serialize_executable
topology = topologies.get_topology_desc("1", platform="tilewright")
sharding = jax.sharding.SingleDeviceSharding(topology.devices[0])
x = jax.ShapeDtypeStruct((3,), np.float32, sharding=sharding)
compiled = jax.jit(lambda x: x + 5).lower(x).compile()
pickle.dump(serialize_executable.serialize(compiled), open("program", "wb"))
"""


def test_compiling_without_a_device(script):
    script(AHEAD, JAX_PLATFORMS="cpu")
    out = script(
        "import jax, jax.numpy as jnp, pickle\n"
        "from jax.experimental import serialize_executable as s\n"
        "program = s.deserialize_and_load(*pickle.load(open('program', 'rb')), execution_devices=jax.devices())\n"
        "print(program(jnp.ones(3)).tolist())"
    )
    assert out == "[6.0, 6.0, 6.0]\n"


def test_a_compiler_option_that_does_not_exist_or_cannot_have_the_value():
    with pytest.raises(jax.errors.JaxRuntimeError, match="E8005(.|\n)*No such compile option: 'nonsense'"):
        jax.jit(lambda x: x * 3, compiler_options={"nonsense": 1})(1.0)
    assert jax.jit(lambda x: x * 3, compiler_options={"xla_cpu_enable_fast_math": True})(1.0) == 3
    for value in "fast", 7:
        match = f"E8005(.|\n)*xla_cpu_enable_fast_math, '{value}' is not a valid bool value"
        with pytest.raises(jax.errors.JaxRuntimeError, match=match):
            jax.jit(lambda x: x * 3, compiler_options={"xla_cpu_enable_fast_math": value})(1.0)


def test_an_error_names_the_users_line():
    with pytest.raises(jax.errors.JaxRuntimeError) as raised:
        jax.jit(lambda x: x + 1, compiler_options={"import.max-ops": 1})(jnp.ones(3))
    assert "E1" in str(raised.value) and "import.max-ops" in str(raised.value)


def test_one_program_from_many_threads():
    import concurrent.futures

    programs = [jax.jit(lambda x, i=i: x * i + 1) for i in range(4)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda n: float(programs[n % 4](np.float32(n))), range(64)))
    assert results == [n * (n % 4) + 1 for n in range(64)]


def test_the_library_shows_two_symbols():
    """The library exports JAX's entry point, and the one that the program `tilewright` calls (docs/design/one-library.md)."""
    from tilewright import native

    path = native.library()
    names = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    assert [line.split()[-1] for line in names.splitlines()] == ["GetPjrtApi", "tilewright_command_main"]
    assert pathlib.Path(path).suffix == ".so"
