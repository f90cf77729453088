"""Random bits must be equal; values derived from them nearly so."""

import jax
import jax.numpy as jnp
from catalog import key, normal, program
from jax import lax, random


def rbg(words):
    return random.wrap_key_data(words, impl="rbg")


@program("exact", key())
def threefry_bits(k):
    return random.bits(k, (7,)), random.bits(k, (3, 3), jnp.uint8), random.bits(k, (5,), jnp.uint16)


@program("exact", key(), x64=True)
def threefry_words_of_64_bits(k):
    return random.bits(k, (6,), jnp.uint64)


@program("exact", key())
def keys_split_and_folded(k):
    return random.split(k, 3), random.fold_in(k, 17), random.split(random.fold_in(k, 2))


@program("exact", key())
def uniform_floats(k):
    return random.uniform(k, (20,)), random.uniform(k, (8,), jnp.bfloat16), random.uniform(k, (8,), jnp.float16)


@program("exact", key())
def whole_numbers(k):
    return random.randint(k, (20,), -5, 17), random.randint(k, (9,), 0, 255, jnp.uint8)


@program("special", key())
def gaussian(k):
    return random.normal(k, (30,)), random.truncated_normal(k, -1.0, 2.0, (10,))


@program("special", key())
def other_distributions(k):
    return (
        random.exponential(k, (9,)),
        random.gumbel(k, (9,)),
        random.laplace(k, (9,)),
        random.logistic(k, (9,)),
        random.cauchy(k, (9,)),
    )


@program("special", key())
def gamma_distribution(k):
    return random.gamma(k, 2.5, (6,)), random.beta(k, 2.0, 3.0, (4,)), random.dirichlet(k, jnp.array([1.0, 2.0, 3.0]))


@program("exact", key())
def coin_flips(k):
    return random.bernoulli(k, 0.3, (40,)), random.rademacher(k, (10,))


@program("exact", key(), normal(4, 6))
def categories(k, logits):
    return random.categorical(k, logits, axis=1)


@program("exact", key(), normal(9))
def shuffles(k, x):
    return (
        random.permutation(k, x),
        random.permutation(k, 12),
        random.choice(k, x, (5,)),
        random.choice(k, x, (4,), replace=False),
    )


@program("exact", key())
def poisson(k):
    return random.poisson(k, 3.0, (12,))


@program("exact", key(4))
def philox_bits(k):
    return random.bits(rbg(k), (9,)), random.bits(rbg(k), (5,), jnp.uint16), random.key_data(random.split(rbg(k)))


@program("special", key(4))
def philox_numbers(k):
    return random.uniform(rbg(k), (12,)), random.normal(rbg(k), (12,)), random.randint(rbg(k), (7,), 0, 100)


@program("exact", key(4))
def generator_state_is_carried(state):
    def step(state, _):
        return lax.rng_bit_generator(state, (3,))

    return lax.scan(step, state, length=4)


@program("exact", key(2), key(4), x64=True)
def generator_by_name(small, large):
    three = lax.rng_bit_generator(small.astype(jnp.uint64), (5,), algorithm=lax.RandomAlgorithm.RNG_THREE_FRY)
    default = lax.rng_bit_generator(large, (4,), jnp.uint64)
    return three, default


@program("special", key(), normal(5, 8))
def dropout(k, x):
    keep = random.bernoulli(k, 0.8, x.shape)
    return jnp.where(keep, x / 0.8, 0.0)


@program("reduction", key())
def monte_carlo_pi(k):
    inside = (random.uniform(k, (200, 2)) ** 2).sum(axis=1) < 1
    return 4 * inside.mean()


@program("special", key())
def random_walk_by_scan(k):
    def step(carry, _):
        k, position = carry
        k, now = random.split(k)
        position = position + random.normal(now, (2,))
        return (k, position), position

    return lax.scan(step, (k, jnp.zeros(2)), length=6)[1]


@program("special", key())
def orthogonal_start(k):
    glorot = jax.nn.initializers.glorot_uniform()(k, (4, 6))
    return glorot, jax.nn.initializers.he_normal()(k, (3, 5)), jax.nn.initializers.lecun_normal()(k, (5, 3))
