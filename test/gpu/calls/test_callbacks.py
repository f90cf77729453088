"""Python functions that programs on the virtual GPU call: pure_callback, io_callback, debug.print, debug.callback."""

import os
import subprocess
import sys

import jax
import numpy as np
import pytest
from conftest import LIBRARY, ROOT
from jax import lax
from jax import numpy as jnp
from jax.experimental import io_callback

F4 = jax.ShapeDtypeStruct((4,), jnp.float32)


def test_the_device_is_the_gpu(pytestconfig):
    assert jax.devices()[0].device_kind == "tilewright cuda"
    assert jax.devices()[0].compute_capability == {"sm_80": "8.0", "sm_90a": "9.0"}[pytestconfig.getoption("--chip")]


def test_values_pass_between_kernels_and_a_function():
    @jax.jit
    def function(x):
        y, n = jax.pure_callback(lambda v: (np.sinh(v), np.int32(v.size)), (F4, jax.ShapeDtypeStruct((), jnp.int32)), 2 * x)
        return y @ y + n

    x = np.arange(4, dtype=np.float32)
    y = np.sinh(2 * x)
    np.testing.assert_allclose(function(x), y @ y + 4, rtol=4 * np.finfo(np.float32).eps)


@pytest.mark.parametrize(("dtype", "shape"), [
    *((dtype, (5, 3)) for dtype in ("bool", "int8", "int16", "uint32", "int64", "bfloat16", "float16", "float64", "complex64", "complex128")),
    *(("float64", shape) for shape in ((), (0,), (3, 0, 2), (1,))),
], ids=str)  # fmt: skip
def test_types_and_shapes(dtype, shape):
    jax.config.update("jax_enable_x64", True)  # for all threads: the function runs in another one
    try:
        x = np.random.default_rng(1).uniform(-3, 3, shape).astype(jnp.dtype(dtype))
        seen = []

        def check(v):
            seen.append((v.dtype, v.shape))
            return np.asarray(v)[..., ::-1] if v.ndim else v

        def function(x):
            y = io_callback(check, jax.ShapeDtypeStruct(shape, x.dtype), x)
            return jnp.where(y == x, y, y)

        np.testing.assert_array_equal(jax.jit(function)(x), x[..., ::-1] if shape else x)
        jax.effects_barrier()
        assert seen == [(x.dtype, shape)]
    finally:
        jax.config.update("jax_enable_x64", False)


def test_nan_and_infinities_keep_their_bits():
    x = np.array([0x7FC01234, 0xFFC00001, 0x7F800000, 0x80000000], np.uint32).view(np.float32)
    result = jax.jit(lambda x: jax.pure_callback(lambda v: v, F4, x))(x)
    np.testing.assert_array_equal(np.asarray(result).view(np.uint32), x.view(np.uint32))


def test_effects_in_loops_are_in_order():
    seen = []

    def note(kind):
        return lambda i: seen.append((kind, int(i)))

    @jax.jit
    def function(n):
        def step(i, total):
            io_callback(note("before"), None, i, ordered=True)
            total = total + io_callback(lambda v: np.int32(10 * v), jax.ShapeDtypeStruct((), jnp.int32), i, ordered=True)
            io_callback(note("after"), None, total, ordered=True)
            return total

        counted = lax.fori_loop(0, 3, step, jnp.int32(0))
        _, total = lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, step(s[0], s[1])), (jnp.int32(0), counted))
        return total

    result = function(2)
    jax.effects_barrier()
    expected, total = [], 0
    for i in [0, 1, 2, 0, 1]:
        total += 10 * i
        expected += [("before", i), ("after", total)]
    assert (seen, int(result)) == (expected, total)


def test_callbacks_in_scan_and_cond():
    seen = []

    @jax.jit
    def function(xs):
        def step(carry, x):
            y = jax.pure_callback(lambda c, v: np.float32(c * v), jax.ShapeDtypeStruct((), jnp.float32), carry, x)
            io_callback(lambda v: seen.append(float(v)), None, y, ordered=True)
            return lax.cond(x > 2, lambda: y + jax.pure_callback(lambda v: np.float32(v), jax.ShapeDtypeStruct((), jnp.float32), x), lambda: y), 2 * y

        return lax.scan(step, jnp.float32(1), xs)

    last, ys = function(jnp.array([1, 2, 3, 4], jnp.float32))
    jax.effects_barrier()
    assert (float(last), ys.tolist(), seen) == (40.0, [2, 4, 12, 72], [1, 2, 6, 36])


def test_debug_print(capfd):
    @jax.jit
    def function(x):
        for i in range(3):
            jax.debug.print("step {i}: {x}", i=i, x=x.sum(), ordered=True)
            x = x + 1
        return x

    function(jnp.zeros(4))
    jax.effects_barrier()
    assert capfd.readouterr().out == "step 0: 0.0\nstep 1: 4.0\nstep 2: 8.0\n"


def test_a_function_without_operands_and_results():
    called = []
    count = jax.jit(lambda: io_callback(lambda: called.append(1) or np.int32(len(called)), jax.ShapeDtypeStruct((), jnp.int32), ordered=True))
    assert [int(count()), int(count())] == [1, 2]
    jax.jit(lambda: io_callback(lambda: called.append(1), None, ordered=True))()
    jax.effects_barrier()
    assert len(called) == 3


def test_donated_arguments():
    @jax.jit
    def function(x):
        y = jax.pure_callback(lambda v: v + 1, F4, x)
        return x * 2, y

    donating = jax.jit(function, donate_argnums=0)
    x = jnp.arange(4, dtype=jnp.float32)
    doubled, more = donating(x)
    assert x.is_deleted()
    assert (doubled.tolist(), more.tolist()) == ([0, 2, 4, 6], [1, 2, 3, 4])


def test_a_function_may_run_programs_of_the_same_device():
    def rest(n):
        return np.int32(factorial(np.asarray(n) - 1)) if n > 1 else np.int32(1)

    one = jax.ShapeDtypeStruct((), jnp.int32)
    factorial = jax.jit(lambda n: n * jax.pure_callback(rest, one, n)).lower(one).compile()
    assert int(factorial(jnp.int32(5))) == 120


def test_mapped():
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    for method in ("sequential", "expand_dims"):
        total = jax.vmap(lambda v: jax.pure_callback(lambda a: np.sum(a, -1, dtype=np.float32), jax.ShapeDtypeStruct((), jnp.float32), v,
                                                     vmap_method=method))(x)  # fmt: skip
        assert total.tolist() == [6, 22]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_exception_is_the_programs_error_and_the_device_goes_on(error):
    def refuse(v):
        raise error(f"no value {int(v[0])}")

    function = jax.jit(lambda x: jax.pure_callback(refuse, F4, x + 40) * 2)
    with pytest.raises(jax.errors.JaxRuntimeError, match="E8022.*") as caught:
        function(jnp.full(4, 2, jnp.float32)).block_until_ready()
    assert f"{error.__name__}: no value 42" in str(caught.value) and "in refuse" in str(caught.value)
    assert jax.jit(lambda x: x + 1)(jnp.float32(1)) == 2


def test_an_exception_in_a_loop_ends_it():
    seen = []

    def step(i, x):
        def visit(i):
            seen.append(int(i))
            if i == 2:
                raise RuntimeError("stop here")

        io_callback(visit, None, i, ordered=True)
        return x + 1

    with pytest.raises(jax.errors.JaxRuntimeError, match="stop here"):
        jax.jit(lambda x: lax.fori_loop(0, 100, step, x))(jnp.float32(0)).block_until_ready()
    with pytest.raises(jax.errors.JaxRuntimeError, match="stop here"):
        jax.effects_barrier()
    jax._src.dispatch.runtime_tokens.clear()
    assert seen == [0, 1, 2]


INTERRUPTED = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, {python!r})
from tilewright import jax_plugin
jax_plugin.initialize()
import jax, numpy as np
def slow(v):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.2)
    return v
try:
    jax.block_until_ready(jax.jit(lambda x: jax.pure_callback(slow, x, x))(np.float32(1)))
    time.sleep(10)
except KeyboardInterrupt:
    print("interrupted", float(jax.jit(lambda x: x + 1)(np.float32(1))))
except jax.errors.JaxRuntimeError as error:
    print("interrupted" if "KeyboardInterrupt" in str(error) else error, float(jax.jit(lambda x: x + 1)(np.float32(1))))
"""


def test_control_c_during_a_callback():
    """The main thread gets it, or the callback if it runs there; either way the process can go on."""
    ended = subprocess.run([sys.executable, "-c", INTERRUPTED.format(python=str(ROOT / "python"))], capture_output=True, text=True, timeout=120,
                           env=os.environ | {"TILEWRIGHT_LIBRARY": str(LIBRARY)})  # fmt: skip
    assert ended.stdout == "interrupted 2.0\n", ended.stdout + ended.stderr[-3000:]
