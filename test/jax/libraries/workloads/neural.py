"""Neural networks, trained."""
import dataclasses

import numpy as np

import jax
import jax.numpy as jnp

STEPS = 50


def images(count=32, size=8):
    x = jax.random.normal(jax.random.key(1), (count, size, size, 1))
    return x, jnp.arange(count) % 10


def flax_nnx():
    import optax
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self, rngs):
            self.conv = nnx.Conv(1, 8, (3, 3), rngs=rngs)
            self.norm = nnx.BatchNorm(8, rngs=rngs)
            self.drop = nnx.Dropout(0.2, rngs=rngs)
            self.head = nnx.Linear(8 * 4 * 4, 10, rngs=rngs)

        def __call__(self, x):
            x = nnx.avg_pool(nnx.relu(self.norm(self.conv(x))), (2, 2), strides=(2, 2))
            return self.head(self.drop(x.reshape(x.shape[0], -1)))

    net = Net(nnx.Rngs(0))
    optimizer = nnx.Optimizer(net, optax.adamw(1e-3), wrt=nnx.Param)
    x, y = images()

    @nnx.jit
    def step(net, optimizer):
        def loss(net):
            return optax.softmax_cross_entropy_with_integer_labels(net(x), y).mean()

        value, gradient = nnx.value_and_grad(loss)(net)
        optimizer.update(net, gradient)
        return value

    return {"loss": np.array([step(net, optimizer) for _ in range(STEPS)])}


def flax_linen():
    import flax.linen as nn
    import optax
    from flax.training import train_state

    class Transformer(nn.Module):
        @nn.compact
        def __call__(self, tokens, train):
            x = nn.Embed(50, 32)(tokens)
            mask = nn.make_causal_mask(tokens)
            for _ in range(2):
                attention = nn.MultiHeadDotProductAttention(4, dropout_rate=0.1, deterministic=not train)
                x = x + attention(nn.LayerNorm()(x), mask=mask)
                x = x + nn.Dense(32)(nn.gelu(nn.Dense(64)(nn.LayerNorm()(x))))
            return nn.Dense(50)(x)

    model = Transformer()
    tokens = jax.random.randint(jax.random.key(1), (4, 17), 0, 50)
    state = train_state.TrainState.create(
        apply_fn=model.apply,
        params=model.init(jax.random.key(0), tokens[:, :-1], False),
        tx=optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3)),
    )

    @jax.jit
    def step(state, key):
        def loss(params):
            logits = state.apply_fn(params, tokens[:, :-1], True, rngs={"dropout": key})
            return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()

        value, gradient = jax.value_and_grad(loss)(state.params)
        return state.apply_gradients(grads=gradient), value

    losses = []
    for i in range(STEPS):
        state, value = step(state, jax.random.key(i))
        losses.append(value)
    recurrent = nn.RNN(nn.LSTMCell(16))
    sequence = jax.random.normal(jax.random.key(3), (2, 60, 5))
    variables = recurrent.init(jax.random.key(4), sequence)
    return {"loss": np.array(losses), "lstm": np.array(jax.jit(recurrent.apply)(variables, sequence))}


def haiku():
    import haiku as hk
    import optax

    def network(x, training):
        x = hk.BatchNorm(True, True, 0.9)(x, training)
        return hk.Sequential([hk.Linear(16), jax.nn.relu, hk.Linear(4)])(x)

    model = hk.transform_with_state(network)
    x = jax.random.normal(jax.random.key(0), (32, 6))
    params, state = model.init(jax.random.PRNGKey(0), x, True)
    optimizer = optax.sgd(0.1)

    @jax.jit
    def step(params, state, moments):
        def loss(params):
            y, after = model.apply(params, state, None, x, True)
            return (y**2).mean(), after

        (value, state_after), gradient = jax.value_and_grad(loss, has_aux=True)(params)
        updates, moments = optimizer.update(gradient, moments)
        return optax.apply_updates(params, updates), state_after, moments, value

    moments, losses = optimizer.init(params), []
    for _ in range(STEPS):
        params, state, moments, value = step(params, state, moments)
        losses.append(value)
    return {"loss": np.array(losses)}


def equinox():
    import equinox as eqx
    import optax

    model = eqx.nn.MLP(2, 1, 32, 3, key=jax.random.key(0))
    optimizer = optax.adam(1e-3)
    moments = optimizer.init(eqx.filter(model, eqx.is_array))
    x = jax.random.normal(jax.random.key(1), (64, 2))
    y = x[:, :1] * x[:, 1:]

    # Donated, as users of the library do: the model and the moments are replaced.
    @eqx.filter_jit(donate="all")
    def step(model, moments):
        def loss(model):
            return jnp.mean((jax.vmap(model)(x) - y) ** 2)

        value, gradient = eqx.filter_value_and_grad(loss)(model)
        updates, moments = optimizer.update(gradient, moments)
        return eqx.apply_updates(model, updates), moments, value

    losses = []
    for _ in range(STEPS):
        model, moments, value = step(model, moments)
        losses.append(value)

    @eqx.filter_jit
    def root(x):
        return jnp.sqrt(eqx.error_if(x, x < 0, "x must not be negative"))

    try:
        root(jnp.array(-1.0)).block_until_ready()
        raised = 0
    except RuntimeError as error:
        raised = int("x must not be negative" in str(error))
    cell = eqx.nn.GRUCell(3, 8, key=jax.random.key(5))
    inputs = jax.random.normal(jax.random.key(6), (60, 3))
    hidden, _ = jax.lax.scan(lambda h, x: (cell(x, h), None), jnp.zeros(8), inputs)
    return {"loss": np.array(losses), "root": np.array(root(jnp.array(4.0))), "raised": np.array(raised),
            "gru": np.array(hidden)}  # fmt: skip


def penzai():
    import optax
    from penzai import pz
    from penzai.models import simple_mlp

    model = simple_mlp.MLP.from_config(name="mlp", init_base_rng=jax.random.key(0), feature_sizes=[8, 16, 4])
    fixed, frozen = pz.unbind_params(model, freeze=True)
    params = {each.label: each.value for each in frozen}
    x = pz.nx.wrap(jax.random.normal(jax.random.key(1), (3, 8))).tag("batch", "features")
    optimizer = optax.sgd(0.05)

    def loss(params):
        variables = [dataclasses.replace(each, value=params[each.label]) for each in frozen]
        y = pz.bind_variables(fixed, variables)(x)
        return jnp.mean(y.unwrap("batch", "features") ** 2)

    @jax.jit
    def step(params, moments):
        value, gradient = jax.value_and_grad(loss)(params)
        updates, moments = optimizer.update(gradient, moments)
        return optax.apply_updates(params, updates), moments, value

    moments, losses = optimizer.init(params), []
    for _ in range(STEPS):
        params, moments, value = step(params, moments)
        losses.append(value)
    return {"loss": np.array(losses)}


def keras_():
    import os

    os.environ["KERAS_BACKEND"] = "jax"
    import keras

    layers = keras.layers
    keras.utils.set_random_seed(0)
    random = np.random.RandomState(0)
    x = random.randn(256, 12, 12, 1).astype("float32")
    y = (x.mean((1, 2, 3)) > 0).astype("int32")
    convolutional = keras.Sequential(
        [keras.Input((12, 12, 1)), layers.Conv2D(8, 3, activation="relu"), layers.MaxPooling2D(),
         layers.BatchNormalization(), layers.Flatten(), layers.Dropout(0.1), layers.Dense(2)]
    )  # fmt: skip
    crossentropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    convolutional.compile(keras.optimizers.Adam(1e-4), crossentropy, metrics=["accuracy"])
    fitted = convolutional.fit(x, y, epochs=8, batch_size=32, validation_split=0.2, verbose=0)
    recurrent = keras.Sequential([keras.Input((10, 4)), layers.LSTM(8), layers.Dense(1)])
    recurrent.compile("sgd", "mse")
    sequence = recurrent.fit(random.randn(64, 10, 4), random.randn(64, 1), epochs=13, batch_size=16, verbose=0)
    return {
        "loss": np.array(fitted.history["loss"]),
        "validation": np.array(fitted.history["val_loss"]),
        "predicted": convolutional.predict(x[:8], verbose=0),
        "lstm": np.array(sequence.history["loss"]),
        "rate": np.array(convolutional.optimizer.learning_rate.numpy()),
    }


WORKLOADS = [flax_nnx, flax_linen, haiku, equinox, penzai, keras_]
