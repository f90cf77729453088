"""Unchanged JAX scripts give with the plugin what they give with jaxlib's CPU backend."""
import json
import os
import pathlib
import subprocess
import sys

import numpy
import pytest

SCRIPTS = pathlib.Path(__file__).parent / "scripts"

# Largest |difference| relative to the larger of 1 and the value. Training multiplies the rounding of the first
# steps: two correct programs drift apart, here by at most this much over 200 steps.
BOUNDS = {"mlp": 5e-3, "cnn": 2e-2, "transformer": 1e-2, "decoder": 1e-4, "unet": 1e-3, "transforms": 2e-4, "callbacks": 1e-6}


def run(script, platform, **environment):
    ended = subprocess.run([sys.executable, str(SCRIPTS / f"{script}.py")], capture_output=True, text=True, timeout=600,
                           env=dict(os.environ, JAX_PLATFORMS=platform, **environment))
    assert ended.returncode == 0, ended.stderr[-3000:]
    return json.loads(ended.stdout.splitlines()[-1])


@pytest.mark.parametrize("script", sorted(BOUNDS))
def test_script_agrees_with_jaxlib(script):
    ours, theirs = run(script, "tilewright"), run(script, "cpu")
    assert ours.keys() == theirs.keys()
    worst = {}
    for key in theirs:
        a, b = numpy.asarray(ours[key], float), numpy.asarray(theirs[key], float)
        assert a.shape == b.shape, key
        worst[key] = float(numpy.max(numpy.abs(a - b) / numpy.maximum(1, numpy.abs(b)), initial=0))
    print(script, worst)
    assert max(worst.values()) <= BOUNDS[script], worst


def test_a_callback_that_raises_says_so():
    """The traceback of the user's function reaches the user, under our code."""
    program = ("import jax, jax.numpy as jnp\n"
               "def broken(x): raise ValueError('no such luck')\n"
               "shape = jax.ShapeDtypeStruct((), jnp.float32)\n"
               "jax.block_until_ready(jax.jit(lambda x: jax.pure_callback(broken, shape, x))(jnp.float32(1)))\n")
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120,
                           env=dict(os.environ, JAX_PLATFORMS="tilewright"))
    assert ended.returncode == 1, ended
    assert "E8022" in ended.stderr and "no such luck" in ended.stderr, ended.stderr[-2000:]
