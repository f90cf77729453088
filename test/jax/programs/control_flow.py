"""Loops, branches and calls."""

import jax
import jax.numpy as jnp
from catalog import integers, normal, program, uniform, values
from jax import lax


@program("arithmetic", normal(12), normal())
def recurrence_by_scan(xs, start):
    return lax.scan(lambda carry, x: (0.5 * carry + x, carry), start, xs)


@program("arithmetic", normal(8), normal())
def scan_backwards_and_unrolled(xs, start):
    def step(carry, x):
        return carry * 0.9 + x, (carry, x)

    return lax.scan(step, start, xs, reverse=True), lax.scan(step, start, xs, unroll=3)


@program("exact", integers(low=1, high=200))
def collatz(n):
    def step(state):
        n, count = state
        return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1

    return lax.while_loop(lambda state: state[0] != 1, step, (n, jnp.int32(0)))


@program("exact", integers(2, low=1, high=1000))
def greatest_common_divisor(pair):
    return lax.while_loop(lambda s: s[1] != 0, lambda s: (s[1], s[0] % s[1]), (pair[0], pair[1]))[0]


@program("exact", integers(6, low=1, high=60))
def loop_of_a_batch(ns):
    # vmap makes one loop that runs until the last lane is done.
    def steps(n):
        return lax.while_loop(lambda s: s[0] > 1, lambda s: (s[0] // 2, s[1] + 1), (n, jnp.int32(0)))[1]

    return jax.vmap(steps)(ns)


@program("arithmetic", uniform(5, low=1, high=50))
def newton_square_root(x):
    return lax.fori_loop(0, 8, lambda _, r: 0.5 * (r + x / r), x)


@program("arithmetic", normal(4), integers(low=0, high=2))
def two_branches(x, which):
    return lax.cond(which > 0, lambda v: v * 2.0, lambda v: v - 1.0, x)


@program("arithmetic", normal(4), values(-3, 0, 1, 2, 9, dtype="int32"))
def many_branches_with_wild_indices(x, at):
    branches = [lambda v: v, lambda v: v + 10.0, lambda v: v * v]
    return jnp.stack([lax.switch(at[i], branches, x) for i in range(5)])


@program("arithmetic", normal(3, 4))
def branch_in_a_loop(rows):
    def step(total, row):
        total = lax.cond(row[0] > 0, lambda t: t + row, lambda t: t - row, total)
        return total, total.sum()

    return lax.scan(step, jnp.zeros(4), rows)


@program("arithmetic", normal(4, 3))
def loop_in_a_loop(x):
    def outer(i, acc):
        return lax.fori_loop(0, i + 1, lambda j, a: a.at[j % 4].add(x[i % 4] * 0.1), acc)

    return lax.fori_loop(0, 5, outer, jnp.zeros((4, 3)))


@program("elementary", normal(5, 3))
def function_mapped(x):
    return lax.map(lambda row: jnp.sin(row) + row.sum(), x), lax.map(jnp.cumsum, x, batch_size=2)


@program("reduction", normal(16), normal(16))
def prefix_of_affine_maps(a, b):
    def compose(f, g):
        return f[0] * g[0], g[0] * f[1] + g[1]

    return lax.associative_scan(compose, (a, b))


@program("reduction", normal(6, scale=0.2), normal(scale=0.2))
def gradient_through_a_scan(xs, start):
    def final(start, xs):
        return lax.scan(lambda c, x: (jnp.tanh(c + x), None), start, xs)[0]

    return jax.grad(final, argnums=(0, 1))(start, xs)


@program("reduction", normal(5))
def gradient_with_recomputation(x):
    @jax.checkpoint
    def block(v):
        return jnp.sin(jnp.exp(v) * 0.1)

    return jax.grad(lambda v: block(block(v)).sum())(x)


@program("arithmetic", normal(4))
def nested_functions(x):
    inner = jax.jit(lambda v: v + 1.0)
    middle = jax.jit(lambda v: inner(v) * inner(v * 2.0))
    return middle(x) - inner(x)


@program("arithmetic", normal(3), normal(3))
def runge_kutta(position, velocity):
    def derivative(state):
        p, v = state
        return v, -p - 0.1 * v

    def step(state, _):
        shifted = lambda k, h: jax.tree.map(lambda s, d: s + h * d, state, k)  # noqa: E731
        k1 = derivative(state)
        k2 = derivative(shifted(k1, 0.05))
        k3 = derivative(shifted(k2, 0.05))
        k4 = derivative(shifted(k3, 0.1))
        moved = jax.tree.map(lambda s, a, b, c, d: s + 0.1 / 6 * (a + 2 * b + 2 * c + d), state, k1, k2, k3, k4)
        return moved, moved[0]

    return lax.scan(step, (position, velocity), length=10)


@program("exact", integers(8, 8, low=0, high=2))
def game_of_life(cells):
    def generation(_, c):
        around = sum(jnp.roll(c, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - c
        return ((around == 3) | ((c == 1) & (around == 2))).astype(c.dtype)

    return lax.fori_loop(0, 6, generation, cells)


@program("exact", integers(6, 6, low=1, high=20))
def shortest_paths(weights):
    return lax.fori_loop(0, 6, lambda k, d: jnp.minimum(d, d[:, k, None] + d[None, k, :]), weights)


@program("exact", integers(12, low=0, high=5), integers(10, low=0, high=5))
def edit_distance(a, b):
    def row(previous, letter):
        def cell(left, at):
            best = jnp.minimum(jnp.minimum(previous[at + 1] + 1, left + 1), previous[at] + (b[at] != letter))
            return best, best

        first = previous[0] + 1
        return jnp.concatenate([first[None], lax.scan(cell, first, jnp.arange(10))[1]]), None

    return lax.scan(row, jnp.arange(11), a)[0][-1]


@program("arithmetic", uniform(6, low=0.5, high=3))
def bisection(target):
    def halve(_, bounds):
        low, high = bounds
        middle = 0.5 * (low + high)
        return jnp.where(middle**3 < target, middle, low), jnp.where(middle**3 < target, high, middle)

    return lax.fori_loop(0, 12, halve, (jnp.zeros(6), jnp.full(6, 2.0)))
