"""What programs with gradients of attention return, for the tests of its kernels on CPUs and on GPUs."""

import jax
from jax import numpy as jnp

# Except for "all", nothing reads the result of the forward pass.
FORMS = {
    "all": lambda result, gradients: (result, *gradients),
    "alone": lambda result, gradients: gradients,
    "queries": lambda result, gradients: gradients[:1],
    "keys": lambda result, gradients: gradients[1:2],
    # The gradients of a sum: their cotangent is ones.
    "sum": lambda result, gradients: gradients,
}


def with_gradients(function, form="all"):
    def differentiated(q, k, v, cotangent):
        result, backward = jax.vjp(function, q, k, v)
        return FORMS[form](result, backward(jnp.ones_like(result) if form == "sum" else cotangent.astype(result.dtype)))

    return differentiated
