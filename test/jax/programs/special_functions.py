"""Special functions, most of which arrive as long polynomials."""

import jax
import jax.numpy as jnp
import jax.scipy.special as special
from catalog import normal, program, uniform
from jax import lax


@program("special", uniform(64, low=-3, high=3))
def error_functions(x):
    return lax.erf(x), lax.erfc(x)


@program("special", uniform(64, low=-0.99, high=0.99))
def inverse_error_function(x):
    return lax.erf_inv(x)


@program("special", uniform(64, low=0.1, high=20))
def gamma_functions(x):
    return lax.lgamma(x), lax.digamma(x), special.factorial(x / 4)


@program("special", uniform(32, low=0.5, high=5), uniform(32, low=0.1, high=8))
def incomplete_gamma(a, x):
    return special.gammainc(a, x), special.gammaincc(a, x)


@program("special", uniform(24, low=0.5, high=4), uniform(24, low=0.5, high=4), uniform(24, low=0.05, high=0.95))
def incomplete_beta(a, b, x):
    return special.betainc(a, b, x), special.betaln(a, b)


@program("special", uniform(40, low=-8, high=8))
def bessel(x):
    return special.i0(x), special.i0e(x), special.i1(x), special.i1e(x)


@program("special", uniform(20, low=1.5, high=6), uniform(20, low=0.5, high=4))
def zeta(s, q):
    return special.zeta(s, q)


@program("special", uniform(20, low=0.5, high=4))
def polygamma(x):
    return special.polygamma(1, x)


@program("special", uniform(40, low=0.02, high=0.98))
def logit_and_back(p):
    return special.logit(p), special.expit(special.logit(p))


@program("special", uniform(40, low=-4, high=4))
def normal_distribution(x):
    return special.ndtr(x), special.log_ndtr(x), special.ndtri(special.ndtr(x) * 0.9 + 0.05)


@program("special", uniform(30, low=0.01, high=3), uniform(30, low=0.01, high=3))
def entropies(x, y):
    return special.entr(x), special.xlogy(x, y), special.xlog1py(x, y), special.rel_entr(x, y), special.kl_div(x, y)


@program("special", uniform(48, low=-5, high=5))
def activations(x):
    nn = jax.nn
    return nn.gelu(x), nn.gelu(x, approximate=False), nn.silu(x), nn.softplus(x), nn.elu(x), nn.selu(x), nn.celu(x)


@program("special", uniform(48, low=-5, high=5))
def piecewise_activations(x):
    nn = jax.nn
    return (
        nn.relu6(x),
        nn.hard_swish(x),
        nn.leaky_relu(x),
        nn.log_sigmoid(x),
        nn.soft_sign(x),
        nn.squareplus(x),
        nn.mish(x),
    )


@program("special", uniform(24, low=-3, high=3))
def gradients_of_activations(x):
    return tuple(jax.vmap(jax.grad(f))(x) for f in (jax.nn.gelu, jax.nn.silu, jax.nn.softplus, lax.erf))


@program("special", uniform(30, low=-3, high=3))
def sinc_and_its_gradient(x):
    return jnp.sinc(x), jax.vmap(jax.grad(jnp.sinc))(x)


@program("special", normal(5, 7))
def softmax_family(x):
    return jax.nn.softmax(x), jax.nn.log_softmax(x), jax.nn.logsumexp(x, axis=0), jax.nn.standardize(x)


@program("special", uniform(10, low=0.5, high=10, dtype="float64"), x64=True)
def gamma_in_double(x):
    return lax.lgamma(x), lax.digamma(x)


@program("special", uniform(20, low=-1, high=1))
def chebyshev_series(x):
    coefficients = (0.5, -1.0, 0.25, 0.125, -0.0625)
    first, second = jnp.ones_like(x), x
    total = coefficients[0] + coefficients[1] * x
    for c in coefficients[2:]:
        first, second = second, 2 * x * second - first
        total = total + c * second
    return total


@program("special", uniform(16, low=0, high=6.2))
def spherical_harmonics_by_hand(theta):
    c, s = jnp.cos(theta), jnp.sin(theta)
    return jnp.stack([jnp.ones_like(c), c, s, 1.5 * c * c - 0.5, 3 * s * c, 3 * s * s])
