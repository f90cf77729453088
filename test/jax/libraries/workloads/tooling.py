"""Checks and checkpoints."""
import tempfile

import numpy as np

import jax
import jax.numpy as jnp


def chex_():
    import chex

    @chex.dataclass
    class State:
        a: jax.Array
        b: jax.Array

    state = State(a=jnp.ones(3), b=jnp.zeros(2))
    advance = jax.jit(chex.assert_max_traces(lambda s: s.replace(a=s.a * 1.5, b=s.b + s.a[:2]), n=1), donate_argnums=0)
    for _ in range(50):
        state = advance(state)
    chex.assert_tree_all_finite(state)
    checked = chex.chexify(jax.jit(lambda x: (chex.assert_tree_all_finite(x), x * 2)[1]))
    try:
        checked(jnp.array([1.0, jnp.nan]))
        checked.wait_checks()
        raised = 0
    except AssertionError:
        raised = 1
    with chex.fake_pmap_and_jit():
        mapped = np.array(jax.pmap(lambda x: x + 1)(jnp.ones((1, 2))))
    return {"a": np.array(state.a), "b": np.array(state.b), "raised": np.array(raised), "mapped": mapped}


def orbax():
    import orbax.checkpoint as ocp

    tree = {"w": jax.random.normal(jax.random.key(0), (64, 64)), "b": jnp.arange(5, dtype=jnp.bfloat16), "s": jnp.int32(3)}
    advance = jax.jit(lambda tree: jax.tree.map(lambda leaf: leaf + leaf.dtype.type(1), tree), donate_argnums=0)
    with tempfile.TemporaryDirectory() as folder:
        options = ocp.CheckpointManagerOptions(max_to_keep=2, enable_async_checkpointing=True)
        with ocp.CheckpointManager(folder, options=options) as manager:
            for step in range(50):
                if step % 10 == 9:
                    manager.save(step, args=ocp.args.StandardSave(tree))
                    # The checkpoint must contain this step's values although the next step reuses their memory.
                    manager.wait_until_finished()
                tree = advance(tree)
            restored = manager.restore(39, args=ocp.args.StandardRestore(tree))
            steps = manager.all_steps()
    return {"w": np.array(restored["w"]), "b": np.array(restored["b"], np.float32), "s": np.array(restored["s"]),
            "steps": np.array(steps)}  # fmt: skip


WORKLOADS = [chex_, orbax]
