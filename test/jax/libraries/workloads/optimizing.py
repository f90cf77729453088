"""Optimisers and solvers."""
import numpy as np

import jax
import jax.numpy as jnp

STEPS = 50


def optax_():
    import optax

    a = jax.random.normal(jax.random.key(0), (12, 8))
    b = jax.random.normal(jax.random.key(1), (12, 6))

    def loss(params):
        return jnp.mean((a @ params["w"] + params["b"] - b) ** 2)

    optimizers = {
        "sgd": optax.sgd(0.05, momentum=0.9, nesterov=True),
        "adam": optax.adam(0.03),
        "lion": optax.lion(0.003),
        "adafactor": optax.adafactor(0.03),
        "lamb": optax.lamb(0.02),
        "rmsprop": optax.rmsprop(0.005),
        "adabelief": optax.adabelief(0.03),
        "muon": optax.contrib.muon(0.01),
        "prodigy": optax.contrib.prodigy(1.0),
        "lbfgs": optax.lbfgs(),
        "schedule": optax.adamw(optax.warmup_cosine_decay_schedule(0.0, 0.05, 5, 40)),
        "schedule_free": optax.contrib.schedule_free_adamw(0.03, warmup_steps=3),
    }
    found = {}
    for name, optimizer in optimizers.items():
        optimizer = optax.with_extra_args_support(optimizer)

        @jax.jit
        def step(params, moments, optimizer=optimizer):
            value, gradient = jax.value_and_grad(loss)(params)
            updates, moments = optimizer.update(gradient, moments, params, value=value, grad=gradient, value_fn=loss)
            return optax.apply_updates(params, updates), moments, value

        step = jax.jit(step, donate_argnums=(0, 1))
        params = {"w": jax.random.normal(jax.random.key(2), (8, 6)) * 0.1, "b": jnp.zeros(6)}
        # A copy: some optimisers keep the parameters themselves as their first moments.
        moments, losses = jax.tree.map(jnp.array, optimizer.init(params)), []
        for _ in range(STEPS):
            params, moments, value = step(params, moments)
            losses.append(value)
        found[name] = np.array(losses)
    return found


def jaxopt_():
    import jaxopt

    x = jax.random.normal(jax.random.key(0), (40, 5))
    y = x @ jnp.arange(5.0)

    def loss(w):
        return jnp.mean((x @ w - y) ** 2)

    lasso = jaxopt.ProximalGradient(loss, jaxopt.prox.prox_lasso, maxiter=100)
    box = jaxopt.OSQP().run(
        params_obj=(jnp.eye(3), jnp.array([-1.0, -2, -3])), params_eq=None, params_ineq=(jnp.eye(3), jnp.ones(3))
    )
    return {
        "lbfgs": np.array(jaxopt.LBFGS(loss, maxiter=50).run(jnp.zeros(5)).params),
        "lasso": np.array(lasso.run(jnp.zeros(5), hyperparams_prox=0.1).params),
        "osqp": np.array(box.params.primal),
    }


def rosenbrock(y, _):
    return jnp.stack([10 * (y[1] - y[0] ** 2), 1 - y[0]])


def optimistix_():
    import optimistix as ox

    start = jnp.array([-1.2, 1.0])
    found = {
        name: ox.least_squares(rosenbrock, solver(1e-5, 1e-5), start, max_steps=500).value
        for name, solver in (("lm", ox.LevenbergMarquardt), ("gauss_newton", ox.GaussNewton), ("dogleg", ox.Dogleg))
    }
    squared = lambda y, args: jnp.sum(rosenbrock(y, args) ** 2)  # noqa: E731
    found["bfgs"] = ox.minimise(squared, ox.BFGS(1e-6, 1e-6), start, max_steps=1000).value
    found["newton"] = ox.root_find(lambda y, _: jnp.cos(y) - y, ox.Newton(1e-6, 1e-6), jnp.array(0.5)).value
    return {name: np.array(value) for name, value in found.items()}


def lineax_():
    import lineax as lx

    a = jax.random.normal(jax.random.key(0), (64, 64))
    b = jax.random.normal(jax.random.key(1), (64,))
    general = lx.MatrixLinearOperator(a + 16 * jnp.eye(64))
    positive = lx.MatrixLinearOperator(a @ a.T / 64 + jnp.eye(64), lx.positive_semidefinite_tag)
    found = {
        name: lx.linear_solve(general, b, solver).value
        for name, solver in (("lu", lx.LU()), ("qr", lx.QR()), ("svd", lx.SVD()), ("gmres", lx.GMRES(1e-6, 1e-6)))
    }
    found["cg"] = lx.linear_solve(positive, b, lx.CG(1e-6, 1e-6)).value
    try:
        lx.linear_solve(lx.MatrixLinearOperator(jnp.zeros((2, 2))), jnp.ones(2)).value.block_until_ready()
        found["refused"] = 0
    except RuntimeError:
        found["refused"] = 1
    return {name: np.array(value) for name, value in found.items()}


WORKLOADS = [optax_, jaxopt_, optimistix_, lineax_]
