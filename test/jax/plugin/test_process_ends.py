"""Processes that are forked, interrupted, or started for a device that does not exist: each ends, with a message."""

import os
import signal
import subprocess
import sys

import pytest
from conftest import LIBRARY, ROOT


def environment(**variables):
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "TILEWRIGHT_"))}
    return kept | {"JAX_PLATFORMS": "tilewright", "TILEWRIGHT_LIBRARY": str(LIBRARY), "PYTHONPATH": str(ROOT / "python")} | variables


def test_an_unknown_virtual_gpu_names_the_known_ones():
    program = "from tilewright import jax_plugin; jax_plugin.initialize(); import jax; jax.devices()"
    done = subprocess.run([sys.executable, "-c", program], env=environment(TILEWRIGHT_TARGET="vgpu:sm_33"),
                          capture_output=True, text=True, timeout=300)  # fmt: skip
    assert done.returncode != 0
    assert "'sm_33', expected one of [sm_80" in done.stderr and "correct the setting that the virtual GPU names" in done.stderr
    assert "nvidia-smi" not in done.stderr


FORKED = """
import multiprocessing, os, sys
import jax, jax.numpy as jnp, numpy as np
x = jnp.arange(10.0)
f = jax.jit(lambda v: v * 2)
f(x).block_until_ready()
WORK = {"execute": lambda: f(x), "compile": lambda: jax.jit(lambda v: v + 3)(x), "create": lambda: jnp.zeros(5), "callback": lambda: jax.pure_callback(np.sin, x, x),
        "read": lambda: np.asarray(x), "nothing": lambda: None}
for name, work in WORK.items():
    if not (pid := os.fork()):
        try:
            work()
        except Exception as error:
            print(name, error, flush=True)
        sys.exit(7)  # destroys clients, as the end of a script does
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
assert f(x).tolist() == [2 * i for i in range(10)]
"""


def test_a_forked_process_is_told_to_spawn(script):
    """JAX's threads are not in it: the process would wait for them, and jaxlib's own CPU client does."""
    said = script(FORKED, JAX_PLATFORMS="tilewright").splitlines()
    assert [line.split()[0] for line in said if "get_context('spawn')" in line] == ["execute", "compile", "create", "callback"]
    assert not any(line.startswith(("read", "nothing")) for line in said)


def test_jax_can_be_used_first_in_a_forked_process(script):
    said = script("""
import os
import jax, jax.numpy as jnp
if not (pid := os.fork()):
    print(jax.jit(lambda v: v + 3)(jnp.ones(2)).tolist(), flush=True)
    os._exit(0)
os.waitpid(pid, 0)
""", JAX_PLATFORMS="tilewright")  # fmt: skip
    assert said == "[4.0, 4.0]\n"


INTERRUPTED = """
import os, signal, threading, time
import jax, jax.numpy as jnp
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for jobs in the background
def slow(v):
    interrupt = threading.Thread(target=lambda: (time.sleep(0.3), os.kill(os.getpid(), signal.SIGINT)))
    interrupt.start()
    {sleep}
    return v
jax.jit(lambda v: jax.pure_callback(slow, v, v))(jnp.ones(3)).block_until_ready()
"""


@pytest.mark.parametrize("sleep", ["time.sleep(250)", "[time.sleep(0.1) for _ in range(2500)]"])
def test_ctrl_c_ends_a_callback(sleep):
    program = "from tilewright import jax_plugin; jax_plugin.initialize()\n" + INTERRUPTED.replace("{sleep}", sleep)
    done = subprocess.run([sys.executable, "-c", program], env=environment(), capture_output=True, text=True, timeout=240)
    assert done.returncode in (-signal.SIGINT, 130) and "KeyboardInterrupt" in done.stderr


ENDLESS = """
import os, signal, threading, time
from tilewright import jax_plugin; jax_plugin.initialize()
import jax, jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec
signal.signal(signal.SIGINT, signal.default_int_handler)
mesh = jax.make_mesh((len(jax.devices()),), ("x",))
sharded = jax.device_put(jnp.ones((64, 64)), NamedSharding(mesh, PartitionSpec("x")))
threading.Thread(target=lambda: (time.sleep(1), os.kill(os.getpid(), signal.SIGINT)), daemon=True).start()
jax.jit(lambda v: jax.lax.while_loop(lambda x: x.sum() < 9e9, lambda x: jnp.tanh(x @ x), v))(sharded).block_until_ready()
"""


@pytest.mark.parametrize("variables", [{}, {"TILEWRIGHT_TARGET": "vgpu:sm_90a", "TILEWRIGHT_VGPU_DEVICES": "2"}], ids=["cpu", "two-virtual-gpus"])
def test_ctrl_c_ends_a_program(variables):
    """On two devices one can be interrupted while the other one waits for it in a collective."""
    done = subprocess.run([sys.executable, "-c", ENDLESS], env=environment(**variables), capture_output=True, text=True, timeout=240)
    said = done.stderr + done.stdout
    # An interpreter that is already about to end has no stream left for KeyboardInterrupt; then E7122 names the kernel.
    is_named = "Interrupt" in said or ("lost sys.stderr" in said and "E7122" in said and "was interrupted" in said)
    assert done.returncode in (-signal.SIGINT, 130, 1) and is_named, said
