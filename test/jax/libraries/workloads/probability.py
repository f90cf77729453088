"""Sampling and inference. A chain amplifies rounding, so its statistics are compared, each with its standard error."""
import numpy as np

import jax
import jax.numpy as jnp


def estimate(samples, batches=20):
    """Mean and standard error by batch means, which allows for the correlation within a chain."""
    samples = np.asarray(samples, np.float64)
    means = samples[: len(samples) // batches * batches].reshape(batches, -1, *samples.shape[1:]).mean(1)
    return means.mean(0), means.std(0, ddof=1) / np.sqrt(batches)


def numpyro_():
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS, SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoNormal

    effects = np.array([28, 8, -3, 7, -1, 1, 18, 12], np.float32)
    errors = np.array([15, 10, 16, 11, 9, 11, 10, 18], np.float32)

    def schools(y=None):
        mu = numpyro.sample("mu", dist.Normal(0, 5))
        tau = numpyro.sample("tau", dist.HalfCauchy(5))
        with numpyro.plate("schools", 8):
            centered = dist.TransformedDistribution(dist.Normal(0.0, 1.0), dist.transforms.AffineTransform(mu, tau))
            with numpyro.handlers.reparam(config={"theta": numpyro.infer.reparam.TransformReparam()}):
                theta = numpyro.sample("theta", centered)
            numpyro.sample("obs", dist.Normal(theta, errors), obs=y)

    chain = MCMC(NUTS(schools), num_warmup=300, num_samples=1000, num_chains=1, progress_bar=False)
    chain.run(jax.random.PRNGKey(0), y=effects)
    samples = chain.get_samples()
    fitted = SVI(schools, AutoNormal(schools), numpyro.optim.Adam(0.02), Trace_ELBO()).run(
        jax.random.PRNGKey(1), 50, y=effects, progress_bar=False
    )
    return {"mu": estimate(samples["mu"]), "theta": estimate(samples["theta"]), "elbo": np.array(fitted.losses)}


def blackjax_():
    import blackjax

    def density(x):
        return -0.5 * jnp.sum((x["a"] - 1.0) ** 2) - 0.5 * jnp.sum(x["b"] ** 2 / 4)

    start = {"a": jnp.zeros(3), "b": jnp.zeros(2)}
    (state, tuned), _ = blackjax.window_adaptation(blackjax.nuts, density).run(jax.random.key(0), start, 300)
    kernel = blackjax.nuts(density, **tuned)

    def step(state, key):
        state, _ = kernel.step(key, state)
        return state, state.position

    _, visited = jax.jit(lambda state: jax.lax.scan(step, state, jax.random.split(jax.random.key(1), 1000)))(state)
    return {"a": estimate(visited["a"]), "b squared": estimate(np.asarray(visited["b"]) ** 2)}


def distrax_():
    import distrax

    normal = distrax.MultivariateNormalTri(jnp.zeros(3), jnp.tril(jnp.ones((3, 3))))
    samples = normal.sample(seed=jax.random.key(0), sample_shape=(50,))
    hidden = distrax.HMM(
        init_dist=distrax.Categorical(logits=jnp.zeros(2)),
        trans_dist=distrax.Categorical(logits=jnp.array([[2.0, 0], [0, 2.0]])),
        obs_dist=distrax.Normal(jnp.array([0.0, 3.0]), 1.0),
    )
    seen = jnp.where(jnp.arange(60) % 20 < 10, 0.1, 2.9)
    return {
        "samples": np.array(samples),
        "density": np.array(normal.log_prob(samples)),
        "divergence": np.array(distrax.Normal(0.0, 1.0).kl_divergence(distrax.Normal(1.0, 2.0))),
        "filtered": np.array(hidden.forward(seen)[0]),
    }


WORKLOADS = [numpyro_, blackjax_, distrax_]
