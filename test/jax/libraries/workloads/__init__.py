"""Small real programs with libraries of the JAX ecosystem, at least 50 steps each.

Each function imports its library itself and returns a dictionary from names to arrays. A value that is a pair of
arrays is a statistic of a random process: an estimate and its standard error.
"""
from . import neural, numerical, optimizing, probability, tooling

WORKLOADS = {
    function.__name__.removesuffix("_"): function
    for module in (neural, numerical, optimizing, probability, tooling)
    for function in module.WORKLOADS
}
