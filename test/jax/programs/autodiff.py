"""Derivatives and other transformed programs."""

import jax
import jax.numpy as jnp
from catalog import normal, program, uniform


def rosenbrock(x):
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@program("reduction", normal(6))
def value_and_gradient(x):
    return jax.value_and_grad(rosenbrock)(x)


@program("reduction", uniform(4, low=-1, high=1))
def hessian(x):
    return jax.hessian(rosenbrock)(x)


@program("reduction", normal(5), normal(5))
def forward_mode(x, direction):
    return jax.jvp(lambda v: jnp.sin(v) * jnp.exp(-v), (x,), (direction,))


@program("elementary", normal(4))
def jacobians_both_ways(x):
    def f(v):
        return jnp.stack([v[0] * v[1], jnp.tanh(v[2]), v[3] ** 2, v.sum()])

    return jax.jacfwd(f)(x), jax.jacrev(f)(x)


@program("reduction", uniform(5, low=-1, high=1), normal(5))
def hessian_times_vector(x, v):
    return jax.jvp(jax.grad(rosenbrock), (x,), (v,))[1]


@program("elementary", normal(6))
def rule_of_our_own(x):
    @jax.custom_vjp
    def clipped(v):
        return jnp.tanh(v)

    clipped.defvjp(lambda v: (jnp.tanh(v), v), lambda v, g: (jnp.clip(g, -0.5, 0.5) * v,))
    return jax.grad(lambda v: jnp.sum(clipped(v) * jnp.arange(6.0)))(x)


@program("elementary", normal(4, 3))
def gradient_of_each_row(x):
    return jax.vmap(jax.grad(lambda row: jnp.prod(jnp.cos(row))))(x)


@program("arithmetic", normal(6))
def stopped_gradient(x):
    return jax.grad(lambda v: jnp.sum(jax.lax.stop_gradient(v) * v * v))(x)


@program("reduction", uniform(3, low=0.2, high=0.8))
def third_derivative(x):
    return jax.vmap(jax.grad(jax.grad(jax.grad(lambda v: jnp.exp(2 * v) * v**2))))(x)


@program("reduction", uniform(3, low=0.5, high=1.5))
def root_by_newton(target):
    def residual(x):
        return x**3 + jnp.sin(x) - target

    def step(x, _):
        return x - residual(x) / jax.vmap(jax.grad(lambda v, t: v**3 + jnp.sin(v) - t))(x, target), None

    return jax.lax.scan(step, jnp.ones(3), length=6)[0]
