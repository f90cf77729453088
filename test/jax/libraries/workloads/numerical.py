"""Differential equations, physics, geometry, Gaussian processes and graphs."""
import numpy as np

import jax
import jax.numpy as jnp


def diffrax_():
    import diffrax

    def oscillator(t, y, damping):
        return jnp.stack([y[1], damping * (1 - y[0] ** 2) * y[1] - y[0]])

    def solve(damping, solver=diffrax.Tsit5()):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(oscillator), solver, 0.0, 10.0, 0.1, jnp.array([2.0, 0.0]), args=damping,
            saveat=diffrax.SaveAt(ts=jnp.linspace(0, 10, 51)),
            stepsize_controller=diffrax.PIDController(1e-5, 1e-5),
        ).ys  # fmt: skip

    noise = diffrax.VirtualBrownianTree(0.0, 1.0, 1e-3, (), jax.random.key(0))
    terms = diffrax.MultiTerm(
        diffrax.ODETerm(lambda t, y, _: -y), diffrax.ControlTerm(lambda t, y, _: 0.3, noise)
    )
    stochastic = diffrax.diffeqsolve(
        terms, diffrax.Heun(), 0.0, 1.0, 0.02, 1.0, saveat=diffrax.SaveAt(ts=jnp.linspace(0, 1, 5))
    )
    return {
        "solution": np.array(jax.jit(solve)(1.0)),
        "gradient": np.array(jax.jit(jax.grad(lambda damping: solve(damping)[-1, 0]))(1.0)),
        "stiff": np.array(jax.jit(lambda damping: solve(damping, diffrax.Kvaerno5()))(10.0)),
        "stochastic": np.array(stochastic.ys),
    }


def jax_md():
    from jax_md import energy, simulate, space

    displacement, shift = space.periodic(8.0)
    positions = jax.random.uniform(jax.random.key(0), (32, 2)) * 8.0
    neighbors, potential = energy.soft_sphere_neighbor_list(displacement, 8.0, dr_threshold=0.5)
    listed = neighbors.allocate(positions)
    start, advance = simulate.nvt_nose_hoover(potential, shift, 1e-3, 0.1)
    state = start(jax.random.key(1), positions, neighbor=listed)

    def step(_, carried):
        state, listed = carried
        listed = listed.update(state.position)
        return advance(state, neighbor=listed), listed

    state, listed = jax.jit(lambda carried: jax.lax.fori_loop(0, 200, step, carried))((state, listed))
    return {"positions": np.array(state.position), "energy": np.array(potential(state.position, neighbor=listed))}


def brax_():
    from brax import envs

    environment = envs.get_environment("inverted_pendulum", backend="spring")
    state = jax.jit(environment.reset)(rng=jax.random.PRNGKey(0))
    step, seen = jax.jit(environment.step), []
    for i in range(50):
        state = step(state, jnp.array([0.1 * np.sin(i)], jnp.float32))
        seen.append(np.array(state.obs))
    return {"seen": np.array(seen)}


def e3nn():
    import e3nn_jax

    x = e3nn_jax.normal(e3nn_jax.Irreps("4x0e+2x1o"), jax.random.key(0), (50,))
    y = e3nn_jax.spherical_harmonics("0e+1o+2e", jax.random.normal(jax.random.key(1), (50, 3)), True)
    gate = e3nn_jax.gate(e3nn_jax.normal("3x0e+2x0e+2x1o", jax.random.key(3), (50,)))
    return {
        "product": np.array(jax.jit(e3nn_jax.tensor_product)(x, y).array),
        "gate": np.array(gate.array),
        "rotation": np.array(e3nn_jax.Irreps("1o+2e").D_from_angles(0.1, 0.2, 0.3)),
    }


def ott():
    from ott.geometry import pointcloud
    from ott.problems.linear import linear_problem
    from ott.solvers.linear import sinkhorn

    x = jax.random.normal(jax.random.key(0), (40, 2))
    y = jax.random.normal(jax.random.key(1), (50, 2)) + 1

    def cost(x):
        problem = linear_problem.LinearProblem(pointcloud.PointCloud(x, y, epsilon=0.1))
        return sinkhorn.Sinkhorn(min_iterations=50)(problem).reg_ot_cost

    value, gradient = jax.jit(jax.value_and_grad(cost))(x)
    return {"cost": np.array(value), "gradient": np.array(gradient)}


def tinygp_():
    from tinygp import GaussianProcess, kernels
    from tinygp.kernels import quasisep

    x = jnp.sort(jax.random.uniform(jax.random.key(0), (60,)) * 10)
    y = jnp.sin(x)

    def loss(theta):
        kernel = jnp.exp(theta[0]) * kernels.Matern32(jnp.exp(theta[1]))
        return -GaussianProcess(kernel, x, diag=0.01).log_probability(y)

    value, gradient = jax.jit(jax.value_and_grad(loss))(jnp.zeros(2))
    _, conditioned = GaussianProcess(kernels.ExpSquared(1.0), x, diag=0.01).condition(y, jnp.linspace(0, 10, 7))
    scanned = jax.jit(lambda: GaussianProcess(quasisep.Matern32(1.0), x, diag=0.01).log_probability(y))()
    return {"loss": np.array(value), "gradient": np.array(gradient), "mean": np.array(conditioned.loc),
            "variance": np.array(conditioned.variance), "quasiseparable": np.array(scanned)}  # fmt: skip


def jraph_():
    import jraph

    key = jax.random.split(jax.random.key(0), 5)
    graph = jraph.GraphsTuple(
        n_node=jnp.array([20, 30]), n_edge=jnp.array([80, 70]),
        nodes=jax.random.normal(key[0], (50, 4)), edges=jax.random.normal(key[1], (150, 3)),
        senders=jnp.concatenate([jax.random.randint(key[2], (80,), 0, 20), jax.random.randint(key[2], (70,), 20, 50)]),
        receivers=jnp.concatenate([jax.random.randint(key[3], (80,), 0, 20), jax.random.randint(key[3], (70,), 20, 50)]),
        globals=jnp.zeros((2, 2)),
    )  # fmt: skip
    weights = jax.random.normal(key[4], (4, 4)) * 0.5
    network = jraph.GraphNetwork(
        update_edge_fn=lambda e, s, r, u: jnp.tanh(e.sum(-1, keepdims=True) + s @ weights + r),
        update_node_fn=lambda n, s, r, u: jnp.tanh(n + s * r),
        update_global_fn=lambda n, e, u: u + n.sum(-1, keepdims=True) + e.mean(-1, keepdims=True),
    )

    @jax.jit
    def step(weights):
        def loss(weights):
            layer = jraph.GraphConvolution(lambda nodes: nodes @ weights)
            return (layer(graph).nodes ** 2).mean()

        value, gradient = jax.value_and_grad(loss)(weights)
        return weights - 0.05 * gradient, value

    losses, trained = [], weights
    for _ in range(50):
        trained, value = step(trained)
        losses.append(value)
    out = jax.jit(network)(graph)
    return {"nodes": np.array(out.nodes), "edges": np.array(out.edges), "globals": np.array(out.globals),
            "softmax": np.array(jraph.segment_softmax(graph.edges[:, 0], graph.receivers, 50)),
            "loss": np.array(losses)}  # fmt: skip


WORKLOADS = [diffrax_, jax_md, brax_, e3nn, ott, tinygp_, jraph_]
