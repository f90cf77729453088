"""Compiled handlers of jax.ffi, called by programs on the virtual GPU.

`handlers.cpp` is compiled against the headers of jaxlib, and linked with the driver of the virtual GPU.
"""

import ctypes
import gc
import os
import pathlib
import shutil
import subprocess
import time

import jax
import numpy as np
import pytest
from conftest import LIBRARY
from jax import ffi, lax
from jax import numpy as jnp

HANDLERS = {
    "scale_cuda": ("ScaleCuda", "CUDA"), "scale_host": ("ScaleHost", "cpu"), "refuse_cuda": ("Refuse", "CUDA"), "refuse_host": ("Refuse", "cpu"),
    "stream_host": ("NeedStream", "cpu"), "shape_cuda": ("ShapeCuda", "CUDA"), "double_cuda": ("DoubleCuda", "CUDA"),
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def handlers(tmp_path_factory):
    library = tmp_path_factory.mktemp("handlers") / "handlers.so"
    driver = LIBRARY.parent / "vgpu"
    compiler = os.environ.get("CXX") or shutil.which("g++") or "clang++"
    subprocess.run([compiler, "-std=c++17", "-O1", "-shared", "-fPIC", f"-I{ffi.include_dir()}", str(pathlib.Path(__file__).with_name("handlers.cpp")),
                    "-o", str(library), str(driver / "libcuda.so.1"), f"-Wl,-rpath,{driver}"], check=True)  # fmt: skip
    # The driver fixes its settings when it is initialised, which the client does.
    jax.devices()
    functions = ctypes.CDLL(str(library))
    for name, (symbol, platform) in HANDLERS.items():
        ffi.register_ffi_target(name, ffi.pycapsule(getattr(functions, symbol)), platform=platform)
    # For both platforms: the CUDA one must be called.
    ffi.register_ffi_target("scale_both", ffi.pycapsule(functions.ScaleCuda), platform="CUDA")
    ffi.register_ffi_target("scale_both", ffi.pycapsule(functions.Refuse), platform="cpu")
    ffi.register_ffi_type("counter", {"type_id": ffi.pycapsule(functions.CounterId), "type_info": ffi.pycapsule(functions.CounterInfo)}, platform="CUDA")
    ffi.register_ffi_target("count_runs", {"instantiate": ffi.pycapsule(functions.MakeCounter), "execute": ffi.pycapsule(functions.Count)}, platform="CUDA")
    return functions


def scale(name, x, by=3.0, **options):
    return ffi.ffi_call(name, jax.ShapeDtypeStruct(x.shape, jnp.float32), **options)(x, by=np.float32(by))


@pytest.mark.parametrize("name", ["scale_cuda", "scale_host", "scale_both"])
def test_a_handler_between_kernels(name):
    x = np.arange(100, dtype=np.float32)
    function = jax.jit(lambda x: jnp.cumsum(scale(name, x + 1) * 2))
    for _ in range(2):
        np.testing.assert_array_equal(function(x), np.cumsum((x + 1) * 6))


@pytest.mark.parametrize("name", ["scale_cuda", "scale_host"])
@pytest.mark.parametrize("shape", [(), (0,), (4, 0), (1, 1), (3, 5)], ids=str)
def test_shapes(name, shape):
    x = np.random.default_rng(2).normal(size=shape).astype(np.float32)
    np.testing.assert_array_equal(jax.jit(lambda x: scale(name, x))(x), x * np.float32(3))


def test_in_loops_and_branches():
    def step(carry, x):
        carry = scale("scale_cuda", carry, by=0.5) + scale("scale_host", x, by=2)
        return carry, lax.cond(carry[0] > 5, lambda c: scale("scale_cuda", c, by=-1), lambda c: c, carry)

    xs = np.arange(12, dtype=np.float32).reshape(4, 3)
    last, ys = jax.jit(lambda xs: lax.scan(step, jnp.zeros(3), xs))(xs)
    carry, expected = np.zeros(3, np.float32), []
    for x in xs:
        carry = carry / 2 + 2 * x
        expected.append(-carry if carry[0] > 5 else carry)
    np.testing.assert_array_equal(last, carry)
    np.testing.assert_array_equal(ys, expected)
    halved = jax.jit(lambda x: lax.while_loop(lambda v: v[0] > 1, lambda v: scale("scale_cuda", v, by=0.5), x))(jnp.full(3, 37.0))
    assert halved.tolist() == [37 / 64] * 3


def test_mapped():
    x = np.arange(15, dtype=np.float32).reshape(3, 5)
    for method in ("broadcast_all", "sequential"):
        np.testing.assert_array_equal(jax.vmap(lambda v: scale("scale_cuda", v, vmap_method=method))(x), x * 3)


@pytest.mark.parametrize("dtype", ["bfloat16", "float64", "int8", "complex64"])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)], ids=str)
def test_layouts_on_the_device(dtype, order):
    """`order` is from the major to the minor dimension: the handler copies bytes, so another order of the result permutes elements."""
    jax.config.update("jax_enable_x64", True)
    try:
        x = np.arange(24).reshape(2, 3, 4).astype(jnp.dtype(dtype))
        call = ffi.ffi_call("shape_cuda", (jax.ShapeDtypeStruct((4, 3, 2), x.dtype), jax.ShapeDtypeStruct((3,), np.int64)),
                            input_layouts=[order], output_layouts=[(2, 0, 1), (0,)])  # fmt: skip
        y, dims = jax.jit(call)(x)
        assert dims.tolist() == [2, 3, 4]
        written = np.transpose(x, order).ravel().reshape(2, 4, 3)  # in the order of the result's dimensions 2, 0, 1
        np.testing.assert_array_equal(y, np.transpose(written, (1, 2, 0)))
    finally:
        jax.config.update("jax_enable_x64", False)


def test_in_place():
    call = ffi.ffi_call("double_cuda", jax.ShapeDtypeStruct((8,), jnp.float32), input_output_aliases={0: 0})
    x = jnp.arange(8, dtype=jnp.float32)
    assert jax.jit(lambda x: call(x + 1))(x).tolist() == [2 * (i + 1) for i in range(8)]
    assert jax.jit(call)(x).tolist() == [2 * i for i in range(8)] and x.tolist() == list(range(8))  # the caller keeps its array
    assert jax.jit(call, donate_argnums=0)(x).tolist() == [2 * i for i in range(8)] and x.is_deleted()


def test_state_of_a_call():
    count = jax.jit(lambda x: ffi.ffi_call("count_runs", jax.ShapeDtypeStruct((2,), jnp.float32))(x, first=np.float32(10)))
    assert [count(jnp.ones(2)).tolist() for _ in range(3)] == [[11] * 2, [12] * 2, [13] * 2]


def test_the_state_of_a_call_ends_with_its_executable(handlers):
    before = handlers.countersAlive()
    compiled = jax.jit(lambda x: ffi.ffi_call("count_runs", jax.ShapeDtypeStruct((3,), jnp.float32))(x, first=np.float32(1))).lower(jnp.ones(3)).compile()
    assert compiled(jnp.ones(3)).tolist() == [2] * 3
    assert handlers.countersAlive() == before + 1
    del compiled
    jax.clear_caches()
    gc.collect()
    deadline = time.monotonic() + 60  # the thread of the last run may hold the executable for a moment
    while handlers.countersAlive() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert handlers.countersAlive() <= before  # states of other tests, whose programs were cached, may have ended, too


@pytest.mark.parametrize("name", ["refuse_cuda", "refuse_host"])
def test_a_handler_that_fails(name):
    call = jax.jit(lambda x: ffi.ffi_call(name, jax.ShapeDtypeStruct(x.shape, x.dtype))(x * 2) + 1)
    with pytest.raises(jax.errors.JaxRuntimeError, match="FAILED_PRECONDITION.*the handler refuses") as caught:
        call(jnp.ones(4)).block_until_ready()
    assert name in str(caught.value)
    assert jax.jit(lambda x: scale("scale_cuda", x))(jnp.ones(4)).tolist() == [3] * 4


def test_a_handler_for_the_host_has_no_stream():
    call = jax.jit(lambda x: ffi.ffi_call("stream_host", jax.ShapeDtypeStruct(x.shape, x.dtype))(x))
    with pytest.raises(jax.errors.JaxRuntimeError, match="registered for the platform 'cpu'"):
        call(jnp.ones(4)).block_until_ready()


def test_elements_below_a_byte_go_to_the_host(handlers):
    x = jnp.array([1, -2, 3, 7, 0], jnp.int4)
    call = jax.jit(lambda x: ffi.ffi_call("shape_cuda", (jax.ShapeDtypeStruct(x.shape, x.dtype), jax.ShapeDtypeStruct((1,), jnp.int32)))(x))
    with pytest.raises(jax.errors.JaxRuntimeError, match="E5034.*'shape_cuda' is not registered"):
        call(x)


def test_an_unknown_name_is_an_error_when_the_program_is_compiled():
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"E5034.*'nobody' is not registered.*platform='CUDA'"):
        jax.jit(lambda x: ffi.ffi_call("nobody", jax.ShapeDtypeStruct(x.shape, x.dtype))(x)).lower(jnp.ones(4)).compile()
