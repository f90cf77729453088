"""jax.lax.ragged_all_to_all on all devices, against numpy; prints how many results agree.

    JAX_NUM_CPU_DEVICES=4 python ragged_exchange.py      or on virtual GPUs

Sizes are uneven and often zero, rows that nothing is sent to keep their value, and pieces lie anywhere in operand and result.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

jax.config.update("jax_enable_x64", True)
random = np.random.default_rng(11)
agreed = 0


def plan(members, each, rows):
    """Lists by member: input offsets, send sizes, output offsets, receive sizes. Pieces of a result do not overlap."""
    sizes = random.integers(0, rows, (members, members, each)) * (random.random((members, members, each)) < 0.6)
    ins, outs = (np.zeros_like(sizes) for _ in range(2))
    for m in range(members):
        at = random.integers(0, 2)
        for piece in random.permutation(members * each):
            to, i = divmod(piece, each)
            ins[m, to, i], at = at, at + sizes[m, to, i]
        at = random.integers(0, 3)
        for piece in random.permutation(members * each):
            of, i = divmod(piece, each)
            outs[of, m, i], at = at, at + sizes[of, m, i] + random.integers(0, 2)
    received = np.swapaxes(sizes, 0, 1)
    return [list_.reshape(members, -1) for list_ in (ins, sizes, outs, received)]


def expected(operands, results, lists):
    """By member, from operands and initial results by member."""
    ins, sizes, outs, _ = lists
    results, each = [result.copy() for result in results], ins.shape[1] // len(operands)
    for m, operand in enumerate(operands):
        for entry in range(ins.shape[1]):
            n = sizes[m, entry]
            results[entry // each][outs[m, entry]:outs[m, entry] + n] = operand[ins[m, entry]:ins[m, entry] + n]
    return results


def values(shape, dtype):
    drawn = random.integers(-8, 8, shape) if dtype != "bool" else random.integers(0, 2, shape)
    return np.asarray(drawn).astype(dtype)


def check(mesh, axis, dtype="float32", row=(3,), each=1, index="int32", wrap=lambda f: f, repeats=1):
    """One exchange along an axis of the mesh; other axes have exchanges of their own."""
    global agreed
    size, others = mesh.shape[axis], mesh.size // mesh.shape[axis]
    lists = [plan(size, each, 4) for _ in range(others)]
    longest = max(int((ins + sizes).max()) for ins, sizes, _, _ in lists) + 1
    room = max(int((outs + sizes).max()) for _, sizes, outs, _ in lists) + 2
    operands = values((others, size, longest, *row), dtype)
    results = values((others, size, room, *row), dtype)

    def exchange(x, out, *tables):
        x, out = x[0, 0], out[0, 0]
        tables = [table[0, 0] for table in tables]
        for _ in range(repeats):
            out = jax.lax.ragged_all_to_all(x, out, *tables, axis_name=axis)
        return out[None, None]

    rest = tuple(name for name in mesh.axis_names if name != axis)
    spec = P(rest if rest else None, axis)
    tables = [np.stack([lists[o][which] for o in range(others)]).astype(index) for which in range(4)]
    function = jax.jit(jax.shard_map(wrap(exchange), mesh=mesh, in_specs=spec, out_specs=spec))
    ours = np.asarray(function(operands, results, *tables))
    for o in range(others):
        wanted = expected(operands[o], results[o], lists[o])
        np.testing.assert_array_equal(ours[o], np.stack(wanted), err_msg=f"{axis} {dtype} {row} {each} {index}")
    agreed += 1


def in_a_loop(exchange):
    """The offsets are values of the loop, and every iteration sends the same."""
    def body(i, state):
        x, out, *tables = state
        return x, exchange(x, out, *(table + jnp.zeros_like(table) * i for table in tables)), *tables
    return lambda *state: jax.lax.fori_loop(0, 3, body, state)[1]


devices = np.array(jax.devices())
line = Mesh(devices, ("d",))
for dtype in ("float32", "bfloat16", "int8", "bool", "complex64", "float64"):
    check(line, "d", dtype=jnp.dtype(dtype))
for index in ("int8", "uint8", "int16", "uint32", "int64", "uint64"):
    check(line, "d", index=index)
for row in ((), (0,), (1,), (2, 3)):
    check(line, "d", row=row)
check(line, "d", each=3)
check(line, "d", each=2, repeats=2)
check(line, "d", wrap=in_a_loop)
check(Mesh(devices[::-1], ("d",)), "d", each=2)
check(Mesh(devices[:1], ("d",)), "d", each=2)
if devices.size % 2 == 0 and devices.size > 2:
    for axis in ("a", "b"):
        check(Mesh(devices.reshape(2, -1), ("a", "b")), axis, each=2)


# What is sent is computed by the program, and gradients go the other way.
def loss(x, sizes):
    def local(x, sizes):
        count, me = line.size, jax.lax.axis_index("d")
        starts = jnp.arange(count, dtype=jnp.int32)
        received = jax.lax.all_to_all(sizes[0], "d", 0, 0, tiled=True)
        out = jax.lax.ragged_all_to_all(x[0], jnp.zeros((count, 2)), starts, sizes[0], jnp.full(count, me, jnp.int32), received, axis_name="d")
        return jax.lax.psum(jnp.sum(out ** 2), "d")
    return jax.shard_map(local, mesh=line, in_specs=P("d"), out_specs=P(), check_vma=False)(x, sizes)


x = random.standard_normal((line.size, line.size, 2))
chosen = random.integers(0, 2, (line.size, line.size)).astype(np.int32)
np.testing.assert_allclose(jax.jit(loss)(x, chosen), np.sum((x * chosen[..., None]) ** 2), rtol=1e-12)
agreed += 1
print(f"{agreed} results agree with numpy")
