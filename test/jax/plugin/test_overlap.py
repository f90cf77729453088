"""Collectives that are combined, moved and overlapped: the values stay, and other steps run between start and done."""

import json
import pathlib

import pytest
from test_processes import SETUP, Job, two_hosts  # noqa: F401 (a fixture)

PROGRAMS = """
rng = np.random.default_rng(0)

def sharded(*shape):
    return rng.standard_normal(shape).astype(np.float32) * 0.1

def mapped_with(f, *specs):
    f = jax.shard_map(f, mesh=mesh, in_specs=specs, out_specs=P("i"), check_vma=False)
    return jax.jit(f)

def put(x, spec):
    return jax.make_array_from_callback(x.shape, NamedSharding(mesh, spec), lambda index: x[index])

def near(y, wanted):
    for shard in y.addressable_shards:
        np.testing.assert_allclose(np.asarray(shard.data), wanted[shard.index], rtol=2e-4, atol=2e-4)

# Data parallelism: the gradient of each layer is summed over the ranks.
LAYERS, WIDTH, ROWS = 6, 64, 32
x, weights = sharded(ALL * ROWS, WIDTH), [sharded(WIDTH, WIDTH) for _ in range(LAYERS)]

def backward(xp, x, weights, psum):
    inputs = []
    for w in weights:
        inputs.append(x)
        x = xp.tanh(x @ w)
    gradient, updated = x, []
    for x, w in zip(reversed(inputs), reversed(weights)):
        updated.append(w - 0.1 * psum(x.swapaxes(-1, -2) @ gradient))
        gradient = xp.tanh(gradient @ w.T)
    return updated

step = mapped_with(lambda x, *w: tuple(backward(jnp, x, w, lambda g: jax.lax.psum(g, "i"))), P("i"), *[P()] * LAYERS)
got = step(put(x, P("i")), *[put(w, P()) for w in weights])
parts = x.reshape(ALL, ROWS, WIDTH)
wanted = backward(np, parts, weights, lambda g: g.sum(axis=0))
for y, w in zip(got, wanted):
    near(y, np.concatenate([w] * ALL))

# Sharded weights in a scan: those of the next layer are gathered while a layer is computed.
stack = sharded(ALL, 9, WIDTH // ALL, WIDTH)
def layers(x, stack):
    return jax.lax.scan(lambda x, w: (jnp.tanh(x @ jax.lax.all_gather(w, "i", tiled=True)), None), x, stack[0])[0]
whole = stack.transpose(1, 0, 2, 3).reshape(9, WIDTH, WIDTH)
y = x
for w in whole:
    y = np.tanh(y @ w)
near(mapped_with(layers, P("i"), P("i"))(put(x, P("i")), put(stack, P("i"))), y)

# The gradients of a scan over layers are scattered and stored, in the order of the layers.
def gradients(x, stack):
    return jax.lax.scan(lambda g, w: (jnp.tanh(g @ w), jax.lax.psum_scatter(g.T @ g, "i", tiled=True)), x, stack, reverse=True)[1][None]
g, stored = parts, []
for w in whole[::-1]:
    stored.append((g.swapaxes(-1, -2) @ g).sum(axis=0))
    g = np.tanh(g @ w)
stored = np.stack(stored[::-1]).reshape(9, ALL, WIDTH // ALL, WIDTH).swapaxes(0, 1)
near(mapped_with(gradients, P("i"), P())(put(x, P("i")), put(whole, P())), stored)

# Gradients that a loop accumulates; a donated accumulator.
def accumulate(total, x):
    body = lambda total, row: (total + jax.lax.psum(jnp.outer(row, row), "i"), None)
    return jax.lax.scan(body, total[0], x)[0][None]
start = sharded(ALL, WIDTH, WIDTH)
f = jax.jit(jax.shard_map(accumulate, mesh=mesh, in_specs=(P("i"), P("i")), out_specs=P("i"), check_vma=False), donate_argnums=0)
near(f(put(start, P("i")), put(x, P("i"))), start + np.einsum("ri,rj->ij", x, x))

# Equal values, sums of sums, the own part of a sum, integers, NaN, nothing at all.
def others(v):
    i = jax.lax.axis_index("i")
    total = jax.lax.psum(v, "i")
    own = jax.lax.dynamic_slice_in_dim(jax.lax.psum(v * 2, "i"), i * (v.shape[0] // ALL), v.shape[0] // ALL)
    again = jax.lax.psum(v, "i") + jax.lax.psum(v * v, "i")
    return total, own, again, jax.lax.psum(jnp.full((ALL, 3), 2.5), "i"), jax.lax.pmax(v.astype(jnp.int32), "i"), jax.lax.psum(v[:, :0], "i")
v = (np.arange(ALL * ALL * 5) % 11).astype(np.float32).reshape(ALL * ALL, 5)
v[1, 2] = np.nan
vs = v.reshape(ALL, ALL, 5)
f = jax.jit(jax.shard_map(others, mesh=mesh, in_specs=P("i"), out_specs=P("i"), check_vma=False))
total, own, again, equal, most, nothing = f(put(v, P("i")))
check(total, np.concatenate([vs.sum(0)] * ALL))
check(own, 2 * vs.sum(0))
check(again, np.concatenate([vs.sum(0) + (vs * vs).sum(0)] * ALL))
check(equal, np.full((ALL * ALL, 3), 2.5 * ALL, np.float32))
with np.errstate(invalid="ignore"):
    check(most, np.concatenate([np.nan_to_num(vs).astype(np.int32).max(0)] * ALL))
assert nothing.shape == (ALL * ALL, 0)
print("well")
"""

PIECES = """
import sys
sys.path.insert(0, os.environ["PIECES"])
import pieces
print("well", pieces.check_all(ALL))
"""


@pytest.mark.parametrize("count, devices", [(2, 1), (4, 1), (1, 3), (1, 4)])
def test_pieces(tmp_path, count, devices):
    """Products beside collectives that are sent in pieces."""
    with Job(tmp_path, count, SETUP + PIECES, devices, PIECES=str(pathlib.Path(__file__).parent), TILEWRIGHT_COMPILE_REMARKS="communicate") as job:
        texts = job.wait()
    assert all("well 12" in text for text in texts)
    assert texts[0].count("is sent in") >= 13, "two collectives of mlp and one of the others are sent in pieces"


@pytest.mark.parametrize("count, devices", [(2, 1), (4, 1), (1, 4)])
def test_values(tmp_path, count, devices):
    with Job(tmp_path, count, SETUP + PROGRAMS, devices, TILEWRIGHT_COMMUNICATE_COMBINE_BYTES="40000") as job:
        assert all("well" in text for text in job.wait())


def test_values_on_two_hosts(tmp_path, two_hosts):  # noqa: F811
    with Job(tmp_path, 4, SETUP + PROGRAMS, hosts=two_hosts) as job:
        assert all("well" in text for text in job.wait())


def test_steps_run_between_start_and_done(tmp_path):
    """In the timeline of a rank, products run between the start of a sum and its done."""
    own = "import os; os.environ['TILEWRIGHT_TRACE_FILE'] = os.environ['RANK'] + '.json'\n"
    with Job(tmp_path, 2, own + SETUP + PROGRAMS, TILEWRIGHT_COMMUNICATE_COMBINE_BYTES="0") as job:
        job.wait()
    events = json.loads((tmp_path / "0.json").read_text())["traceEvents"]
    steps = [event["name"] for event in sorted(events, key=lambda event: event.get("ts", 0))
             if event.get("cat") in ("collective", "library", "kernel")]  # fmt: skip
    first = next(i for i, name in enumerate(steps) if name == "all_reduce" and steps[i + 1] == "dot_general")
    assert "done" in steps[first:]
