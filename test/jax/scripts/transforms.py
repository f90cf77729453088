"""Transformations: checkpoint, vmap, scan, hessian, custom_vjp, while, cond, donation, sharded-by-one, export."""
import functools
import json

import jax
import jax.numpy as jnp
import numpy as np

results = {}
x = jnp.asarray(np.random.default_rng(1).standard_normal((8, 16)).astype(np.float32))
w = jnp.asarray(np.random.default_rng(2).standard_normal((16, 16)).astype(np.float32)) * 0.3


@functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)
def layer(h, w):
    return jnp.tanh(h @ w) + jnp.sin(h)


def deep(w, h):
    for _ in range(4):
        h = layer(h, w)
    return (h**2).sum()


results["checkpoint"] = jax.jit(jax.grad(deep))(w, x).ravel().tolist()
results["vmap"] = jax.jit(jax.vmap(lambda v: jnp.linalg.norm(w @ v)))(x).tolist()
results["vmap_grad"] = jax.jit(jax.vmap(jax.grad(lambda v: jnp.sum(jnp.sin(w @ v) ** 2))))(x).ravel().tolist()


def cell(h, v):
    h = jnp.tanh(h @ w + v)
    return h, h.max()


results["scan"] = jax.jit(lambda v: jax.lax.scan(cell, jnp.zeros(16), v)[1])(x).tolist()
results["scan_grad"] = jax.jit(jax.grad(lambda v: jax.lax.scan(cell, jnp.zeros(16), v)[0].sum()))(x).ravel().tolist()
results["hessian"] = jax.jit(jax.hessian(lambda v: jnp.sum(jnp.exp(v * 0.1) ** 3)))(x[0]).ravel().tolist()


@jax.custom_vjp
def clip_gradient(v):
    return v


clip_gradient.defvjp(lambda v: (v, None), lambda _, g: (jnp.clip(g, -0.1, 0.1),))
results["custom_vjp"] = jax.jit(jax.grad(lambda v: (clip_gradient(v) ** 2).sum()))(x[0]).tolist()
results["while"] = jax.jit(lambda n: jax.lax.while_loop(lambda s: s[0] != 1, lambda s: (
    jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1), (n, 0))[1])(27).tolist()
results["cond"] = jax.jit(jax.vmap(lambda v: jax.lax.cond(v.sum() > 0, lambda v: v * 2, lambda v: -v, v)))(x).ravel().tolist()
results["switch"] = [float(jax.jit(lambda i: jax.lax.switch(i, [jnp.sin, jnp.cos, jnp.tan], 0.3))(i)) for i in (-1, 0, 1, 2, 9)]


@functools.partial(jax.jit, donate_argnums=0)
def accumulate(total, value):
    return total + value


total = jnp.zeros((8, 16))
for i in range(5):
    before = total
    total = accumulate(total, x * i)
results["donated"] = total.ravel().tolist()
results["donated_is_deleted"] = [float(before.is_deleted())]

exported = jax.export.export(jax.jit(lambda a, b: jax.nn.softmax(a @ b)))(x, w)
again = jax.export.deserialize(exported.serialize())
results["export"] = again.call(x, w).ravel().tolist()
results["sort"] = jnp.concatenate([jnp.sort(x, 0).ravel(), jnp.argsort(x[0]).astype(jnp.float32)]).tolist()
results["fft"] = jnp.abs(jnp.fft.rfft(x)).ravel().tolist()
results["linalg"] = jnp.concatenate([jnp.linalg.solve(w + 4 * jnp.eye(16), x.T).ravel(),
                                     jnp.linalg.cholesky(w @ w.T + jnp.eye(16)).ravel(), jnp.linalg.svd(w)[1],
                                     jnp.abs(jnp.linalg.qr(w)[1]).ravel(), jnp.linalg.eigh(w + w.T)[0]]).tolist()
results["random"] = jnp.concatenate([jax.random.normal(jax.random.key(3), (16,)), jax.random.gamma(jax.random.key(4), 2.0, (8,)),
                                     jax.random.permutation(jax.random.key(5), 16).astype(jnp.float32)]).tolist()
results["scatter"] = jnp.zeros(10).at[jnp.array([1, 1, 3])].add(jnp.array([1.0, 2.0, 3.0])).tolist()
print(json.dumps(results))
