"""Donation of sharded arrays: the result of a function depends neither on the memory that it reuses nor on the shardings.

Each program is drawn from a seed: a function, the shardings of its state and of its results, and which parts of the state
are donated. It runs three times on its own previous result. It needs TILEWRIGHT_RUNTIME_DEVICES=8.
"""

import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

SPECS = [(), ("a",), (None, "b"), ("a", "b"), ("b", "a"), (("a", "b"),), (None, ("b", "a"))]

# Functions of two 8x8 matrices, which give the next two and something else.
STEPS = {
    "pass_through": lambda x, y: (x, y, x + y),
    "swap": lambda x, y: (y, x, x - y),
    "rotate": lambda x, y: (y, x * 2, x),
    "transposed_swap": lambda x, y: (y.T, x.T, y),
    "returned_twice": lambda x, y: (x, x, y),
    "reshaped": lambda x, y: (x.reshape(4, 16).reshape(8, 8), y, x.reshape(16, 4)),
    "unchanged_after_simplification": lambda x, y: (jnp.concatenate([x[0:], y[:0]]), y - y + x, y),
    "updated": lambda x, y: (x.at[3].set(y[0]), y, x[3]),
    "shifted": lambda x, y: (jnp.roll(x, 3, 0), x, jnp.roll(y, -1, 1)),
    "product": lambda x, y: (x @ y % 7, x, y),
    "loop": lambda x, y: (*lax.fori_loop(0, 3, lambda i, s: (s[1], s[0] + i), (x, y)), x),
    "branch": lambda x, y: (*lax.cond(x[0, 0] > y[0, 0], lambda: (x, y), lambda: (y, x)), x + 1),
    "scanned": lambda x, y: (lax.scan(lambda c, r: (c + r, c), y[0], x)[1], x, y),
    "constant": lambda x, y: (jnp.ones((8, 8)), x, jnp.zeros(3)),
}


def run(step, shardings, donated, state):
    jitted = jax.jit(step, donate_argnums=donated, out_shardings=(*shardings, None) if shardings else None)
    state = [jax.device_put(part, where) for part, where in zip(state, shardings or (jax.devices()[0],) * 2)]
    results = []
    for _ in range(3):
        *state, other = jitted(*state)
        results.append([np.array(part) for part in (*state, other)])
    return results


@pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")
@pytest.mark.parametrize("seed", range(28))
def test_shardings_and_donation_change_nothing(seed):
    draw = random.Random(seed)
    name = list(STEPS)[seed % len(STEPS)]
    devices = draw.sample(jax.devices(), 8)
    mesh = Mesh(np.array(devices).reshape(draw.choice([(4, 2), (2, 4), (8, 1)])), ("a", "b"))
    shardings = [NamedSharding(mesh, PartitionSpec(*draw.choice(SPECS))) for _ in range(2)]
    donated = draw.choice([(0,), (1,), (0, 1)])
    state = [np.array([draw.randrange(-3, 4) for _ in range(64)], np.float32).reshape(8, 8) for _ in range(2)]
    expected = run(STEPS[name], None, (), state)
    for choice in ((), donated):
        for ours, alone in zip(run(STEPS[name], shardings, choice, state), expected):
            for one, other in zip(ours, alone):
                np.testing.assert_array_equal(one, other, err_msg=f"{name} {shardings} donated {choice}")
