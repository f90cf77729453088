"""Complex arithmetic and functions."""

import jax
import jax.numpy as jnp
from catalog import complex_normal, normal, program
from jax import lax


@program("complex", complex_normal(6, 5), complex_normal(6, 5))
def field_operations(x, y):
    return x + y, x - y, x * y, x / y


@program("complex", complex_normal(20))
def parts(x):
    return jnp.real(x), jnp.imag(x), jnp.abs(x), jnp.conj(x), jnp.angle(x), jnp.sign(x)


@program("complex", complex_normal(20))
def exponential_and_logarithm(x):
    return jnp.exp(x), jnp.log(x), jnp.expm1(x), jnp.log1p(x)


@program("complex", complex_normal(20))
def circular_and_hyperbolic(x):
    return jnp.sin(x), jnp.cos(x), jnp.sinh(x), jnp.cosh(x), jnp.tanh(x)


@program("complex", complex_normal(20))
def square_roots(x):
    return jnp.sqrt(x), lax.rsqrt(x)


@program("complex", complex_normal(12), complex_normal(12))
def complex_power(x, y):
    return x**y


@program("contraction", complex_normal(4, 6), complex_normal(6, 5))
def complex_matrix_product(x, y):
    return x @ y, jnp.vdot(x, x)


@program("reduction", complex_normal(5, 8))
def complex_sums(x):
    return x.sum(axis=0), x.mean(axis=1), jnp.cumsum(x, axis=1)


@program("complex", complex_normal(10, dtype="complex128"), x64=True)
def complex_double(x):
    return x * x, jnp.exp(x), jnp.sqrt(x), 1.0 / x


@program("exact", complex_normal(5, 5), complex_normal(5, 5))
def complex_equality(x, y):
    z = jnp.where(x.real > 0, x, y)
    return z == x, z != y


@program("complex", normal(9), normal(9))
def from_parts(re, im):
    return lax.complex(re, im) * 1j, jnp.abs(lax.complex(re, im))


@program("complex", complex_normal(6))
def gradient_of_a_modulus(x):
    return jax.grad(lambda z: jnp.sum(jnp.abs(z) ** 2))(x)


@program("complex", normal(1))
def mandelbrot(offset):
    re, im = jnp.meshgrid(jnp.linspace(-2, 0.5, 12), jnp.linspace(-1, 1, 8))
    c = lax.complex(re.astype(jnp.float32), im.astype(jnp.float32)) + 0.001 * offset[0]

    def step(_, state):
        z, count = state
        z = jnp.where(jnp.abs(z) < 2, z * z + c, z)
        return z, count + (jnp.abs(z) < 2)

    return lax.fori_loop(0, 12, step, (c, jnp.zeros(c.shape, jnp.int32)))[1]
