"""Loops and branches that the virtual GPU runs by itself, as JAX writes them, with every check on."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import jax
import numpy as np
import pytest
from conftest import LIBRARY, ROOT
from jax import lax
from jax import numpy as jnp


def collatz(n):
    return lax.while_loop(lambda s: s[0] != 1, lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1), (n, jnp.int32(0)))[1]


@pytest.mark.parametrize("n", [1, 2, 27])
def test_while(n):
    steps, m = 0, n
    while m != 1:
        m, steps = (m // 2 if m % 2 == 0 else 3 * m + 1), steps + 1
    assert int(jax.jit(collatz)(n)) == steps


def test_while_in_fori_and_scan():
    counts = jax.jit(lambda: lax.scan(lambda total, n: (total + collatz(n), collatz(n)), 0, jnp.arange(1, 7, dtype=jnp.int32)))
    total, each = counts()
    assert (int(total), each.tolist()) == (23, [0, 1, 7, 2, 5, 8])
    assert int(jax.jit(lambda: lax.fori_loop(1, 7, lambda n, t: t + collatz(n), 0))()) == 23
    assert int(jax.jit(lambda n: lax.fori_loop(1, n, lambda n, t: t + collatz(n), 0))(7)) == 23  # a limit that is an argument


def test_vmapped_while():
    n = np.arange(1, 20, dtype=np.int32)
    one = jax.jit(collatz)
    assert jax.jit(jax.vmap(collatz))(n).tolist() == [int(one(int(i))) for i in n]


@pytest.mark.parametrize("index", [-5, 0, 1, 2, 3, 100])
def test_switch(index):
    branches = [lambda x: x + 1, lambda x: x * 10, lambda x: x, lambda x: jnp.cumsum(x)]
    x = np.arange(5, dtype=np.float32)
    expected = [x + 1, x * 10, x, np.cumsum(x)][np.clip(index, 0, 3)]
    np.testing.assert_array_equal(jax.jit(lambda i, x: lax.switch(i, branches, x))(index, x), expected)


def test_cond_in_a_loop():
    def step(i, x):
        return lax.cond(i % 3 == 0, lambda x: x * 2, lambda x: lax.cond(x[0] > 4, lambda x: x - 3, lambda x: x + 1, x), x)

    x = np.float32(1)
    for i in range(9):
        x = x * 2 if i % 3 == 0 else (x - 3 if x > 4 else x + 1)
    assert jax.jit(lambda x: lax.fori_loop(0, 9, step, x))(jnp.ones(3)).tolist() == [x] * 3


def test_newton_matches_numpy():
    """The number of rounds depends on the values."""

    def root(a):
        return lax.while_loop(lambda x: jnp.max(jnp.abs(x * x - a)) > 1e-3, lambda x: (x + a / x) / 2, a)

    a = np.random.default_rng(5).uniform(1, 100, 37).astype(np.float32)
    np.testing.assert_allclose(jax.jit(root)(a), np.sqrt(a), rtol=1e-3)


def test_donated_carry():
    step = jax.jit(lambda x, n: lax.while_loop(lambda s: s[1] > 0, lambda s: (s[0] * 2, s[1] - 1), (x, n))[0], donate_argnums=0)
    x = jnp.ones(8)
    for n in (3, 0, 2):
        x = step(x, n)
    assert x.tolist() == [32] * 8


COUNTED = """
import ctypes, json, os, sys
sys.path.insert(0, {python!r})
from tilewright import jax_plugin
jax_plugin.initialize()
import jax, numpy as np
from jax import lax, numpy as jnp
driver = ctypes.CDLL(os.environ["TILEWRIGHT_CUDA_LIBRARY"])
programs = {{
    "while": lambda n: lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, jnp.sin(s[1]) @ s[1]), (0, jnp.eye(16)))[1],
    "fori": lambda n: lax.fori_loop(0, n, lambda i, x: x + i, jnp.ones(8)),
    "cond": lambda n: lax.while_loop(lambda s: s < n, lambda s: lax.cond(s % 3 == 0, lambda: s + 1, lambda: s + 2), 0),
    "scan": lambda n: lax.scan(lambda c, x: (c + x, c * x), jnp.float32(0), jnp.arange(40.0) * n),
}}
counts = {{}}
for name, function in programs.items():
    function = jax.jit(function)
    warm = jax.block_until_ready([function(2) for _ in range(3)])
    del warm  # from now on results have memory without asking the driver for more, which synchronizes
    for rounds in (3, 60):
        before = driver.countedSynchronizations(), driver.countedGraphLaunches()
        result = jax.block_until_ready(function(rounds))
        seen = driver.countedSynchronizations() - before[0], driver.countedGraphLaunches() - before[1]
        counts[f"{{name}} {{rounds}}"] = [*seen, float(jax.tree.leaves(result)[0].sum())]
print(json.dumps(counts))
"""


def counted(tmp_path, pytestconfig, **variables):
    """Synchronizations, graph launches and a sum of the result of each program, counted by a driver between the runtime and the virtual one."""
    library = tmp_path / "libcounted.so"
    subprocess.run(["cc", "-shared", "-fPIC", str(pathlib.Path(__file__).with_name("counting_driver.c")), "-o", str(library), "-ldl"], check=True)
    ended = subprocess.run([sys.executable, "-c", COUNTED.format(python=str(ROOT / "python"))], capture_output=True, text=True, timeout=300, env=os.environ | {
        "TILEWRIGHT_CUDA_LIBRARY": str(library), "COUNTED_DRIVER": str(LIBRARY.parent / "vgpu/libcuda.so.1"),
        "TILEWRIGHT_VGPU_CHIP": pytestconfig.getoption("--chip")} | variables)  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-3000:]
    return {name: tuple(values) for name, values in json.loads(ended.stdout.splitlines()[-1]).items()}


def test_the_host_neither_waits_nor_launches_in_a_loop(tmp_path, pytestconfig):
    """No synchronization, and one graph launch for any number of rounds; a driver without conditional nodes gives the same results."""
    on_device = counted(tmp_path, pytestconfig)
    assert {values[:2] for values in on_device.values()} == {(0, 1)}, on_device
    on_host = counted(tmp_path, pytestconfig, HIDDEN_FUNCTION="cuGraphConditionalHandleCreate")
    assert on_host["while 60"][0] == 61 and on_host["while 3"][0] == 4, on_host
    assert {name: values[2] for name, values in on_host.items()} == {name: values[2] for name, values in on_device.items()}


ENDLESS = """
import sys
sys.path.insert(0, {python!r})
from tilewright import jax_plugin
jax_plugin.initialize()
import jax, numpy as np
from jax import lax
forever = jax.jit(lambda x: lax.while_loop(lambda s: s >= 0, lambda s: (s + 1) % 100, x))
print("started", flush=True)
try:
    jax.block_until_ready(forever(np.int32(1)))
except (KeyboardInterrupt, jax.errors.JaxRuntimeError) as error:
    print(type(error).__name__, "E5129" in str(error), "LAUNCH_TIMEOUT" in str(error), flush=True)
"""


def endless(**variables):
    kept = {key: value for key, value in os.environ.items() if not key.startswith("TILEWRIGHT_VGPU")}
    return subprocess.Popen([sys.executable, "-c", ENDLESS.format(python=str(ROOT / "python"))], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=kept | {"TILEWRIGHT_LIBRARY": str(LIBRARY)} | variables)  # fmt: skip


def test_an_endless_loop_is_stopped_by_the_deadline():
    out, err = endless(TILEWRIGHT_VGPU_TIMEOUT="1").communicate(timeout=120)
    assert out.splitlines() == ["started", "JaxRuntimeError True True"], out + err[-3000:]
    assert "a while node of a graph was stopped by --timeout" in err


def test_an_endless_loop_is_stopped_by_control_c():
    process = endless()
    assert process.stdout.readline() == "started\n"
    time.sleep(3)  # it compiles, and then runs forever
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert out.startswith(("KeyboardInterrupt", "JaxRuntimeError True")) or "KeyboardInterrupt" in err, out + err[-3000:]
