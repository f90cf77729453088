"""A small GPT whose linear layers are block-scaled products, and the same in bf16."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

VOCABULARY, WIDTH, HEADS, LAYERS, LENGTH, BATCH = 64, 64, 4, 2, 32, 8


def configs(mode):
    # The largest magnitude that NVFP4 represents is then 6 * 448 * 0.01, about 27: more than activations and weights have.
    scales = [jnp.full((), 0.01, jnp.float32)] if mode == "nvfp4" else []
    return [jax.nn.get_scaled_dot_general_config(mode, *scales)] * 3


def linear(mode, x, weights):
    numbers = (((x.ndim - 1,), (1,)), ((), ()))
    if mode == "bf16":
        return jax.lax.dot_general(x.astype(jnp.bfloat16), weights.astype(jnp.bfloat16), numbers, preferred_element_type=jnp.float32)
    return jax.nn.scaled_dot_general(x, weights, numbers, preferred_element_type=jnp.float32, configs=configs(mode))


def parameters(seed=0):
    random = np.random.default_rng(seed)
    matrix = lambda rows, columns: jnp.asarray(random.normal(size=(rows, columns), scale=columns**-0.5), jnp.float32)
    layer = lambda: {"qkv": matrix(3 * WIDTH, WIDTH), "out": matrix(WIDTH, WIDTH), "up": matrix(4 * WIDTH, WIDTH), "down": matrix(WIDTH, 4 * WIDTH)}
    return {"tokens": matrix(VOCABULARY, WIDTH), "places": matrix(LENGTH, WIDTH), "layers": [layer() for _ in range(LAYERS)]}


def normalised(x):
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def loss_of(mode, weights, tokens):
    product = functools.partial(linear, mode)
    x = weights["tokens"][tokens[:, :-1]] + weights["places"]
    allowed = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
    for layer in weights["layers"]:
        query, key, value = jnp.split(product(normalised(x), layer["qkv"]).reshape(BATCH, LENGTH, HEADS, -1), 3, -1)
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) * query.shape[-1] ** -0.5
        mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(jnp.where(allowed, scores, -1e9)), value)
        x = x + product(mixed.reshape(x.shape), layer["out"])
        x = x + product(jax.nn.gelu(product(normalised(x), layer["up"])), layer["down"])
    logits = product(normalised(x), weights["tokens"])
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], -1).mean()


def batches(steps, seed=1):
    """Sequences in which each token follows from the one before by a fixed table, except for one in eight."""
    random = np.random.default_rng(seed)
    following = random.permutation(VOCABULARY)
    for _ in range(steps):
        tokens = random.integers(0, VOCABULARY, (BATCH, LENGTH + 1))
        for at in range(1, LENGTH + 1):
            tokens[:, at] = np.where(random.random(BATCH) < 0.125, tokens[:, at], following[tokens[:, at - 1]])
        yield jnp.asarray(tokens)


def losses(mode, steps):
    """The loss at each step of Adam."""
    @jax.jit
    def step(state, tokens, number):
        weights, mean, square = state
        loss, gradient = jax.value_and_grad(functools.partial(loss_of, mode))(weights, tokens)
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradient)
        square = jax.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, square, gradient)
        rate = 3e-3 * jnp.sqrt(1 - 0.99**number) / (1 - 0.9**number)
        weights = jax.tree.map(lambda w, m, s: w - rate * m / (jnp.sqrt(s) + 1e-8), weights, mean, square)
        return (weights, mean, square), loss

    weights = parameters()
    state = (weights, jax.tree.map(jnp.zeros_like, weights), jax.tree.map(jnp.zeros_like, weights))
    seen = []
    for number, tokens in enumerate(batches(steps)):
        state, loss = step(state, tokens, number + 1.0)
        seen.append(float(loss))
    return np.array(seen)
