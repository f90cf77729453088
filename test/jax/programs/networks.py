"""Networks, forward and backward, with the optimisers that train them."""

import jax
import jax.numpy as jnp
from catalog import integers, normal, program
from jax import lax


def dense(rows, columns):
    return {"w": normal(rows, columns, scale=0.5), "b": normal(columns, scale=0.1)}


def apply(layer, x):
    return x @ layer["w"] + layer["b"]


def mlp(layers, x):
    for layer in layers[:-1]:
        x = jax.nn.relu(apply(layer, x))
    return apply(layers[-1], x)


def layer_norm(x, scale, shift):
    centred = x - x.mean(-1, keepdims=True)
    return centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale + shift


def adam(grads, state, params, rate=1e-2, step=1):
    """One step of Adam; returns new parameters and moments."""
    mean, square = state
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, grads)
    square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, grads)
    update = lambda p, m, s: p - rate * (m / (1 - 0.9**step)) / (jnp.sqrt(s / (1 - 0.999**step)) + 1e-8)  # noqa: E731
    return jax.tree.map(update, params, mean, square), (mean, square)


def zeros_like(tree):
    return jax.tree.map(jnp.zeros_like, tree)


LAYERS = [dense(6, 8), dense(8, 8), dense(8, 3)]


@program("network", LAYERS, normal(5, 6))
def mlp_forward(layers, x):
    return mlp(layers, x)


@program("network", LAYERS, normal(5, 6), integers(5, low=0, high=3))
def mlp_gradients(layers, x, labels):
    def loss(layers):
        return -jnp.take_along_axis(jax.nn.log_softmax(mlp(layers, x)), labels[:, None], 1).mean()

    return jax.value_and_grad(loss)(layers)


@program("training", LAYERS, normal(5, 6), normal(5, 3))
def mlp_trained_with_adam(layers, x, y):
    def step(carry, _):
        params, state = carry
        loss, grads = jax.value_and_grad(lambda p: jnp.mean((mlp(p, x) - y) ** 2))(params)
        return adam(grads, state, params), loss

    return lax.scan(step, (layers, (zeros_like(layers), zeros_like(layers))), length=4)[1]


@program("training", LAYERS, normal(5, 6), normal(5, 3))
def mlp_trained_with_momentum(layers, x, y):
    def step(carry, _):
        params, velocity = carry
        grads = jax.grad(lambda p: jnp.mean((mlp(p, x) - y) ** 2))(params)
        velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
        return (jax.tree.map(lambda p, v: p - 0.05 * v, params, velocity), velocity), None

    return lax.scan(step, (layers, zeros_like(layers)), length=5)[0][0]


CNN = {"first": normal(3, 3, 1, 4, scale=0.4), "second": normal(3, 3, 4, 6, scale=0.3), "head": dense(24, 5)}


def cnn(params, images):
    def conv(x, w):
        return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def pool(x):
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    x = pool(jax.nn.relu(conv(images, params["first"])))
    x = pool(jax.nn.relu(conv(x, params["second"])))
    return apply(params["head"], x.reshape(x.shape[0], -1))


@program("network", CNN, normal(2, 8, 8, 1))
def cnn_forward(params, images):
    return cnn(params, images)


@program("network", CNN, normal(2, 8, 8, 1), integers(2, low=0, high=5))
def cnn_gradients(params, images, labels):
    def loss(params):
        return -jnp.take_along_axis(jax.nn.log_softmax(cnn(params, images)), labels[:, None], 1).mean()

    return jax.grad(loss)(params)


def transformer_parameters(width=8, hidden=16, vocabulary=11):
    block = {
        "qkv": dense(width, 3 * width),
        "out": dense(width, width),
        "up": dense(width, hidden),
        "down": dense(hidden, width),
        "scale1": normal(width),
        "shift1": normal(width),
        "scale2": normal(width),
        "shift2": normal(width),
    }
    return {"embed": normal(vocabulary, width), "position": normal(6, width, scale=0.1), "blocks": [block, block]}


def attention(block, x, heads=2):
    length, width = x.shape[-2:]
    q, k, v = jnp.split(apply(block["qkv"], x).reshape(*x.shape[:-1], 3 * heads, width // heads), 3, axis=-2)
    scores = jnp.einsum("...qhd,...khd->...hqk", q, k) / jnp.sqrt(width // heads)
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    mixed = jnp.einsum("...hqk,...khd->...qhd", jax.nn.softmax(scores), v)
    return apply(block["out"], mixed.reshape(x.shape))


def transformer(params, tokens):
    x = params["embed"][tokens] + params["position"]
    for block in params["blocks"]:
        x = x + attention(block, layer_norm(x, block["scale1"], block["shift1"]))
        y = layer_norm(x, block["scale2"], block["shift2"])
        x = x + apply(block["down"], jax.nn.gelu(apply(block["up"], y)))
    return x @ params["embed"].T


def next_token_loss(params, tokens):
    logits = jax.nn.log_softmax(transformer(params, tokens)[:, :-1])
    return -jnp.take_along_axis(logits, tokens[:, 1:, None], -1).mean()


TOKENS = integers(2, 6, low=0, high=11)


@program("network", transformer_parameters(), TOKENS)
def transformer_forward(params, tokens):
    return transformer(params, tokens)


@program("network", transformer_parameters(), TOKENS)
def transformer_gradients(params, tokens):
    return jax.value_and_grad(next_token_loss)(params, tokens)


@program("training", transformer_parameters(), TOKENS)
def transformer_step_with_adam(params, tokens):
    # The moments start away from zero: from zero, Adam's first step is the
    # gradient's sign, and a gradient of zero plus rounding has either sign.
    state = jax.tree.map(lambda p: 0.1 * p, params), jax.tree.map(lambda p: 0.01 + p * p, params)
    loss, grads = jax.value_and_grad(next_token_loss)(params, tokens)
    return loss, adam(grads, state, params, step=10)[0]


@program("network", transformer_parameters(), TOKENS)
def transformer_in_bfloat16(params, tokens):
    low = jax.tree.map(lambda p: p.astype(jnp.bfloat16).astype(jnp.float32), params)
    return next_token_loss(low, tokens)


@program("network", normal(7, 5), dense(9, 16), normal(4), normal(4))
def lstm(xs, cell, h, c):
    def step(state, x):
        h, c = state
        i, f, g, o = jnp.split(apply(cell, jnp.concatenate([x, h])), 4)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return lax.scan(step, (h, c), xs)


@program("network", normal(6, 5), dense(9, 8), dense(9, 4), normal(4))
def gru_gradients(xs, gates, candidate, h):
    def final(gates, candidate):
        def step(h, x):
            r, z = jnp.split(jax.nn.sigmoid(apply(gates, jnp.concatenate([x, h]))), 2)
            return (1 - z) * h + z * jnp.tanh(apply(candidate, jnp.concatenate([x, r * h]))), None

        return lax.scan(step, h, xs)[0].sum()

    return jax.grad(final, argnums=(0, 1))(gates, candidate)


@program("network", normal(10, 6), dense(6, 3), normal(3, 6, 6, scale=0.4))
def mixture_of_experts(x, router, experts):
    weights, chosen = lax.top_k(jax.nn.softmax(apply(router, x)), 2)
    outputs = jnp.einsum("nd,edf->nef", x, experts)
    picked = jnp.take_along_axis(outputs, chosen[:, :, None], axis=1)
    return (picked * weights[:, :, None]).sum(axis=1)


@program("network", normal(4, 6, 6, 3), normal(3), normal(3))
def batch_norm_gradients(x, scale, shift):
    def loss(x, scale, shift):
        mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
        return jnp.sum(jnp.sin((x - mean) * lax.rsqrt(var + 1e-3) * scale + shift))

    return jax.grad(loss, argnums=(0, 1, 2))(x, scale, shift)


@program("network", normal(5, 8), normal(8), normal(8), normal(8))
def normalisations(x, scale, shift, gain):
    rms = x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * gain
    return layer_norm(x, scale, shift), rms, jax.nn.standardize(x.reshape(5, 2, 4), axis=-1)


@program("network", normal(1, 6, 8), dense(8, 24), dense(8, 8))
def rotary_attention(x, qkv, out):
    q, k, v = jnp.split(apply(qkv, x), 3, axis=-1)
    angle = jnp.arange(6.0)[:, None] * 100.0 ** (-jnp.arange(4.0) / 4)

    def rotate(t):
        a, b = jnp.split(t, 2, axis=-1)
        return jnp.concatenate([a * jnp.cos(angle) - b * jnp.sin(angle), a * jnp.sin(angle) + b * jnp.cos(angle)], -1)

    return apply(out, jax.nn.softmax(rotate(q) @ rotate(k).swapaxes(1, 2) / 8**0.5) @ v)


@program("network", normal(6, 6), normal(6, 4), dense(4, 4), dense(4, 2))
def graph_convolution(adjacency, features, first, second):
    linked = jax.nn.sigmoid(adjacency) > 0.5
    a = linked.astype(jnp.float32) + jnp.eye(6)
    a = a / jnp.sqrt(jnp.outer(a.sum(1), a.sum(1)))
    return a @ apply(second, jax.nn.relu(a @ apply(first, features)))


@program("network", normal(4, 6), dense(6, 6), dense(3, 6), normal(4, 3))
def variational_autoencoder(x, encoder, decoder, noise):
    def loss(encoder, decoder):
        mean, log_variance = jnp.split(apply(encoder, x), 2, axis=-1)
        z = mean + noise * jnp.exp(0.5 * log_variance)
        divergence = -0.5 * jnp.sum(1 + log_variance - mean**2 - jnp.exp(log_variance))
        return jnp.sum((apply(decoder, z) - x) ** 2) + divergence

    return jax.value_and_grad(loss, argnums=(0, 1))(encoder, decoder)


@program(
    "network",
    normal(1, 8, 8, 2),
    normal(3, 3, 2, 4, scale=0.4),
    normal(3, 3, 4, 4, scale=0.3),
    normal(2, 2, 4, 2, scale=0.4),
)
def down_and_up_again(x, down, middle, up):
    dims = ("NHWC", "HWIO", "NHWC")
    h = jax.nn.relu(lax.conv_general_dilated(x, down, (2, 2), "SAME", dimension_numbers=dims))
    h = h + jax.nn.relu(lax.conv_general_dilated(h, middle, (1, 1), "SAME", dimension_numbers=dims))
    return x + lax.conv_transpose(h, up, (2, 2), "SAME", dimension_numbers=dims)


@program("network", normal(12, 4), normal(4), normal(4, 3, scale=0.5))
def state_space_model(u, decay, read):
    rate = jax.nn.sigmoid(decay)

    def compose(f, g):
        return f[0] * g[0], g[0] * f[1] + g[1]

    states = lax.associative_scan(compose, (jnp.broadcast_to(rate, u.shape), u))[1]
    return states @ read


@program("network", normal(5, 4), normal(7, 4))
def contrastive_loss(a, b):
    unit = lambda v: v / jnp.linalg.norm(v, axis=-1, keepdims=True)  # noqa: E731
    similarity = unit(a) @ unit(b).T / 0.1
    return -jnp.mean(jnp.diag(jax.nn.log_softmax(similarity))), similarity
