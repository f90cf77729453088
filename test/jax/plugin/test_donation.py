"""Donated arguments: the result of a function does not depend on the memory that it reuses.

Each function runs three times on its own previous result, with its first argument donated and without.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax


def vector(*numbers):
    return np.array(numbers, np.float32)


SCALAR, OTHER = np.float32(3), np.float32(0.25)
FOUR, FIVE = vector(1, 2, 3, 4), vector(5, 6, 7, 8)
MATRIX = np.arange(16, dtype=np.float32).reshape(4, 4)
WHOLE = np.arange(4, dtype=np.int32)


def until(steps, body, *state):
    """A loop whose trip count the compiler does not know."""
    last = jnp.asarray(steps) * jnp.int32(1)
    return lax.while_loop(lambda c: c[0] < last, lambda c: (c[0] + 1, *body(*c[1:])), (jnp.int32(0), *state))[1:]


# name: (function of the state, state). Each gives (something else, the next state).
STEPS = {
    "pass_through": (lambda s: (s * 2, s), SCALAR),
    "pass_through_second": (lambda s: (s, s * 2), SCALAR),
    "loss_and_state": (lambda s: (s[1] * 2, (s[0], s[1] - s[0] * 3)), (OTHER, SCALAR)),
    "loss_and_counted_state": (lambda s: (s[1] * 2, (s[0], s[1] - s[0] * 3, s[2] + 1)), (OTHER, SCALAR, np.float32(0))),
    "vector_state": (lambda s: (jnp.sum(s[1]), (s[0], s[1] - s[0])), (OTHER, FOUR)),
    "keras": (
        lambda s: (
            {"loss": (s["m"][0] + jnp.sum(s["w"])) / (s["m"][1] + 1)},
            {"w": s["w"] - s["o"][1], "n": [], "o": [s["o"][0] + 1, s["o"][1]],
             "m": [s["m"][0] + jnp.sum(s["w"]), s["m"][1] + 1]},
        ),
        {"w": FOUR, "n": [], "o": [np.int32(0), np.float32(0.01)], "m": [np.float32(0), np.float32(0)]},
    ),
    "swap": (lambda s: (s[0] + 1, (s[1], s[0])), (FOUR, FIVE)),
    "swap_only": (lambda s: (jnp.float32(0), (s[1], s[0])), (SCALAR, OTHER)),
    "rotate": (lambda s: (s[0] * 2, (s[1], s[2], s[0])), (FOUR, FIVE, FOUR * 10)),
    "rotate_and_change": (lambda s: (s[0] * 2, (s[1], s[2] + 1, s[0])), (FOUR, FIVE, FOUR * 10)),
    "returned_twice": (lambda s: (s[0], (s[0], s[1] + s[0])), (FOUR, FIVE)),
    "both_pass_through": (lambda s: (s[0] * s[1], s), (FOUR, FIVE)),
    "reshape": (lambda s: (s[0].reshape(2, 2), (s[0] * 2, s[1])), (FOUR, FIVE)),
    "reshaped_swap": (lambda s: (0, (s[1].reshape(4), s[0].reshape(2, 2))), (FOUR, FIVE.reshape(2, 2))),
    "reshaped_there_and_back": (lambda s: (s[1] * 2, ((s[0].reshape(-1) + 0).reshape(2, 2), s[1])),
                                (WHOLE.reshape(2, 2), WHOLE.reshape(2, 2) + 9)),
    "zero_added": (lambda s: (s[1] - s[1] + s[0], (s[0] + 1, s[1] - s[1] + s[0])), (WHOLE, WHOLE + 7)),
    "concatenate_with_empty": (lambda s: (s[1] * 2, (jnp.concatenate([s[0][0:], s[1][:0]]), s[0] + s[1])), (FOUR, FIVE)),
    "bitcast": (lambda s: (lax.bitcast_convert_type(s[0], jnp.int32), (s[0] + 1, lax.bitcast_convert_type(s[1], jnp.float32))),
                (FOUR, WHOLE + 1065353216)),
    "transposed": (lambda s: (s * 2, s.T), MATRIX),
    "updated_in_place": (lambda s: (s[0][1], (s[0].at[2].set(s[1][0]), s[1])), (FOUR, FIVE)),
    "scatter_of_itself": (lambda s: (s[0], s.at[jnp.array([3, 0, 1, 2])].add(s)), MATRIX),
    "while_passes_through": (lambda s: (s[0] + 1, until(s[2], lambda a, b: (a, b + a), s[0], s[1]) + (s[2],)),
                             (FOUR, FIVE, np.int32(3))),
    "while_swaps": (lambda s: (s[0] * 2, until(s[2], lambda a, b: (b, a), s[0], s[1]) + (s[2],)), (FOUR, FIVE, np.int32(3))),
    "while_rotates": (lambda s: (s[0] * 2, until(s[3], lambda a, b, c: (b, c, a), *s[:3]) + (s[3],)),
                      (FOUR, FIVE, FOUR * 10, np.int32(4))),
    "while_reshapes": (
        lambda s: (s[0] * 2, until(s[2], lambda a, b: (b.reshape(4), a.reshape(2, 2)), s[0], s[1]) + (s[2],)),
        (FOUR, FIVE.reshape(2, 2), np.int32(3)),
    ),
    "while_beside_pass_through": (lambda s: (until(s[2], lambda a: (a + s[0],), s[1])[0], (s[1], s[0], s[2])),
                                  (FOUR, FIVE, np.int32(3))),
    "fori_loop": (lambda s: (s[0], lax.fori_loop(0, 5, lambda i, c: (c[1], c[0] + i), s)), (FOUR, FIVE)),
    "scan": (lambda s: lax.scan(lambda c, x: ((c[1], c[0]), c[0] + x), s, jnp.arange(3.0))[::-1], (FOUR, FIVE)),
    "scan_over_donated": (lambda s: (lax.scan(lambda c, x: (c + x, c), s[1][0], s[1])[1], (s[1], s[0])), (FOUR, FIVE)),
    "cond": (lambda s: (s[0] * 2, lax.cond(s[2] > 0, lambda a, b: (b, a), lambda a, b: (a, b), s[0], s[1]) + (-s[2],)),
             (FOUR, FIVE, np.int32(1))),
    "switch": (lambda s: (s[0], (*lax.switch(s[2], [lambda a, b: (a, b), lambda a, b: (b, a), lambda a, b: (a + b, a)], *s[:2]),
                                 (s[2] + 1) % 3)), (FOUR, FIVE, np.int32(1))),
}


def run(step, state, donated):
    jitted = jax.jit(step, donate_argnums=0 if donated else ())
    state = jax.tree.map(jnp.array, state)
    outcomes = []
    for _ in range(3):
        other, state = jitted(state)
        outcomes.append(jax.tree.map(np.array, (other, state)))
    return outcomes


@pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")
@pytest.mark.parametrize("name", STEPS)
def test_donating_changes_nothing(name):
    step, state = STEPS[name]
    plain, donated = run(step, state, False), run(step, state, True)
    jax.tree.map(np.testing.assert_array_equal, donated, plain)
    with jax.default_device(jax.devices("cpu")[0]):
        judged = run(step, state, False)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), donated, judged)


def test_an_argument_that_passes_through_keeps_its_memory():
    x = jnp.arange(1000.0)
    before = x.unsafe_buffer_pointer()
    twice, y = jax.jit(lambda x: (x * 2, x), donate_argnums=0)(x)
    assert y.unsafe_buffer_pointer() == before
    np.testing.assert_array_equal(y, np.arange(1000.0))
    np.testing.assert_array_equal(twice, np.arange(1000.0) * 2)


def test_an_array_that_numpy_still_reads_is_not_overwritten():
    x = jnp.full((1000,), 3.0)
    view = np.asarray(x)
    y = jax.jit(lambda x: (x + 1, x), donate_argnums=0)(x)
    np.testing.assert_array_equal(y[0], np.full(1000, 4.0))
    np.testing.assert_array_equal(view, np.full(1000, 3.0))


ON_GPU = """
import jax, jax.numpy as jnp, numpy as np
cases = [
    (lambda s: (s * 2, s), np.float32(3)),
    (lambda s: (s[1] * 2, (s[0], s[1] - s[0] * 3)), (np.float32(0.25), np.float32(3))),
    (lambda s: (s[0] + 1, (s[1], s[0])), (np.arange(4, dtype=np.float32), np.ones(4, np.float32))),
    (lambda s: (0, (s[1].reshape(4), s[0].reshape(2, 2))), (np.arange(4, dtype=np.float32), np.ones((2, 2), np.float32))),
    (lambda s: (s[0], jax.lax.fori_loop(0, 5, lambda i, c: (c[1], c[0] + i), s)), (np.ones(4, np.float32), np.zeros(4, np.float32))),
]
for step, state in cases:
    outcomes = []
    for donated in (False, True):
        jitted, now = jax.jit(step, donate_argnums=0 if donated else ()), jax.tree.map(jnp.array, state)
        for _ in range(2):
            other, now = jitted(now)
            outcomes.append(jax.tree.map(np.array, (other, now)))
    jax.tree.map(np.testing.assert_array_equal, outcomes[:2], outcomes[2:])
print("ok on", jax.devices()[0].platform)
"""


def test_on_the_virtual_gpu(script):
    assert "ok on" in script(ON_GPU, TILEWRIGHT_TARGET="vgpu:sm_90a", JAX_PLATFORMS="tilewright,cpu")
