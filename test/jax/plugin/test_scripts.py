"""Unmodified JAX scripts give the same results with the plugin as with jaxlib's CPU backend."""
import json
import os
import pathlib
import subprocess

import numpy
import pytest

SCRIPTS = pathlib.Path(__file__).parents[1] / "scripts"

# Largest |difference| relative to the larger of 1 and the value. Training amplifies the rounding of the first steps:
# two correct programs drift apart, here by at most this much over 200 steps. The MLP has no such bound: Adam makes a
# full-size step from a gradient that is all rounding, and f32 in either backend ends about 2e-2 away from the same
# script in f64. It is compared with that run instead.
BOUNDS = {"cnn": 2e-2, "transformer": 1e-2, "decoder": 1e-4, "unet": 1e-3, "transforms": 2e-4, "callbacks": 1e-6}


def user_environment(platform):
    """The environment without the source tree: only the installed wheel."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "TILEWRIGHT_", "PYTHON"))}
    return kept | {"JAX_PLATFORMS": platform}


def run(python, script, platform, *arguments):
    ended = subprocess.run([python, SCRIPTS / f"{script}.py", *arguments], capture_output=True, text=True, timeout=600,
                           env=user_environment(platform))
    assert ended.returncode == 0, ended.stderr[-3000:]
    return json.loads(ended.stdout.splitlines()[-1])


@pytest.mark.parametrize("script", sorted(BOUNDS))
def test_script_agrees_with_jaxlib(script, installed):
    ours, theirs = run(installed, script, "tilewright"), run(installed, script, "cpu")
    assert ours.keys() == theirs.keys()
    worst = {}
    for key in theirs:
        a, b = numpy.asarray(ours[key], float), numpy.asarray(theirs[key], float)
        assert a.shape == b.shape, key
        worst[key] = float(numpy.max(numpy.abs(a - b) / numpy.maximum(1, numpy.abs(b)), initial=0))
    print(script, worst)
    assert max(worst.values()) <= BOUNDS[script], worst


def test_training_is_as_near_to_f64_as_jaxlib(installed):
    truth = numpy.asarray(run(installed, "mlp", "cpu", "float64")["loss"])
    ours, theirs = (numpy.asarray(run(installed, "mlp", platform)["loss"]) for platform in ("tilewright", "cpu"))
    assert ours.shape == theirs.shape == truth.shape == (200,)
    our_error, their_error = (numpy.max(numpy.abs(loss - truth)) for loss in (ours, theirs))
    apart = numpy.max(numpy.abs(ours - theirs))
    print(f"mlp: ours {our_error:.2e} from f64, jaxlib {their_error:.2e}, apart {apart:.2e}")
    assert our_error <= 1.25 * their_error
    assert numpy.max(numpy.abs(ours - theirs)[:40]) <= 1e-5, "before rounding is amplified"


def test_f64_training_agrees_with_jaxlib(installed):
    ours, theirs = (numpy.asarray(run(installed, "mlp", platform, "float64")["loss"]) for platform in ("tilewright", "cpu"))
    print("mlp in f64:", numpy.max(numpy.abs(ours - theirs)))
    assert numpy.max(numpy.abs(ours - theirs)) <= 1e-10


def test_a_callback_that_raises_says_so(installed):
    """The traceback of the user's function reaches the user, under our error id."""
    program = ("import jax, jax.numpy as jnp\n"
               "def broken(x): raise ValueError('no such luck')\n"
               "shape = jax.ShapeDtypeStruct((), jnp.float32)\n"
               "jax.block_until_ready(jax.jit(lambda x: jax.pure_callback(broken, shape, x))(jnp.float32(1)))\n")
    ended = subprocess.run([installed, "-c", program], capture_output=True, text=True, timeout=120,
                           env=user_environment("tilewright"))
    assert ended.returncode == 1, ended
    assert "E8022" in ended.stderr and "no such luck" in ended.stderr, ended.stderr[-2000:]
