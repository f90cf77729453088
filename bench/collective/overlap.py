"""How much of the communication of a training step is hidden behind its computation, on real processes.

    python -m bench.collective.overlap BUILD [--ranks=2,4] [--link=shm,slow] [--rate=200mbit] [--rounds=3] [--ordinary]

BUILD is an optimised build with the target tilewright_pjrt. `slow` needs root: two network namespaces joined by a veth pair whose rate
`tc` limits. Everything runs with a higher priority (nice -18, which
needs root), so that other work of the machine disturbs little; `--ordinary` leaves it. Real-time priority would not do: a thread that computes would keep the progress
thread waiting for a slice of 100 ms. Each program runs in four forms, in alternating rounds; a time is the least of
all rounds of the slowest process, because other work of the machine only adds to it.

    measured       communicate.overlap=true, the default
    no overlap     communicate.overlap=false: every collective completes before the next step begins
    compute        the same program without its collectives
    comm           its collectives alone

    hidden = (comm + compute - measured) / min(comm, compute)

The second column of `hidden` is that of the form without overlap. On a machine with fewer free cores than processes the sums of `shm`
take the cores that computation needs, so little can be hidden; on the slow link the cores are idle while bytes travel.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

from bench.collective.peers import ROOT
from bench.collective.processes import free_port, slowest

HOSTS = {"twlap0": "10.83.8.1", "twlap1": "10.83.8.2"}
FORMS = ("measured", "no overlap", "compute", "comm")


def programs():
    """Name to a function of (mesh size, form) that returns a function of one device, its global operands, and whether each is
    sharded over the axis "i"."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    def operands(*shapes):
        rng = np.random.default_rng(0)
        return [rng.standard_normal(shape).astype(np.float32) * 0.05 for shape in shapes]

    def dp(n, form, layers=12, width=384, rows=8192):
        """Backward pass of an MLP by hand: the sum of each layer's gradient can hide behind the next layer's products."""
        psum = (lambda v: v) if form == "compute" else (lambda v: jax.lax.psum(v, "i"))

        def step(x, *weights):
            inputs = []
            for w in weights:
                inputs.append(x)
                x = jnp.tanh(x @ w)
            gradient, updated = x, []
            for x, w in zip(reversed(inputs), reversed(weights)):
                updated.append(w - 1e-3 * psum(x.T @ gradient))
                gradient = jnp.tanh(gradient @ w.T)
            return (gradient, *reversed(updated))

        if form == "comm":
            return lambda *gradients: tuple(map(psum, gradients)), operands(*[(n * width, width)] * layers), [True] * layers
        return step, operands((n * rows, width), *[(width, width)] * layers), [True] + [False] * layers

    def fsdp(n, form, layers=32, width=384, rows=4096):
        """Forward pass over layers whose weights are sharded: the next layer's weights are gathered while a layer is computed."""
        gather = lambda w: jax.lax.all_gather(w, "i", tiled=True)  # noqa: E731

        def step(x, weights):
            if form == "comm":
                return jax.lax.scan(lambda c, w: (c + gather(w)[0, 0], None), x[0, 0], weights[0])[0][None]
            if form == "compute":
                return jax.lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, weights[0])[0]
            return jax.lax.scan(lambda x, w: (jnp.tanh(x @ gather(w)), None), x, weights[0])[0]

        return step, operands((n * rows, width), (n, layers, width if form == "compute" else width // n, width)), [True, True]

    def chain(n, form, layers=8, width=384, rows=256):
        """Tensor parallelism: each sum is needed at once, so there is nothing to hide behind."""
        psum = (lambda v: v) if form == "compute" else (lambda v: jax.lax.psum(v, "i"))

        def step(x, *weights):
            for w in weights:
                x = psum(x) * 0.5 + w[0, 0] if form == "comm" else jnp.tanh(psum(x @ w))
            return x

        # The weights of each rank differ, so the sums are not of equal values.
        return step, operands((n * rows, width), *[(n * width, width)] * layers), [True] * (layers + 1)

    return {"dp": dp, "fsdp": fsdp, "chain": chain}


def worker():
    """Runs one process of the job; prints the milliseconds of each program in its form."""
    from tilewright import jax_plugin

    jax_plugin.initialize()
    import jax
    import numpy as np
    from jax.sharding import AxisType, NamedSharding, PartitionSpec

    count, form = int(os.environ["COUNT"]), os.environ["FORM"]
    jax.distributed.initialize(os.environ["COORDINATOR"], num_processes=count, process_id=int(os.environ["RANK"]))
    mesh = jax.make_mesh((count,), ("i",), axis_types=(AxisType.Auto,))
    one, all_of = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("i"))

    def mapped(f, shardings):
        f = jax.shard_map(f, mesh=mesh, in_specs=tuple(sharding.spec for sharding in shardings), out_specs=PartitionSpec("i"),
                          check_vma=False)
        return jax.jit(f)

    def put(value, sharding):
        return jax.make_array_from_callback(value.shape, sharding, lambda index: value[index])

    barrier, zeros = mapped(lambda v: jax.lax.psum(v, "i"), [all_of]), put(np.zeros(count, np.float32), all_of)
    times = {}
    for name, make in programs().items():
        if name not in os.environ["PROGRAMS"].split(","):
            continue
        step, values, are_sharded = make(count, form)
        shardings = [all_of if is_sharded else one for is_sharded in are_sharded]
        f, values = mapped(step, shardings), list(map(put, values, shardings))
        for _ in range(3):
            jax.block_until_ready(f(*values))
        taken = []
        for _ in range(int(os.environ["STEPS"])):
            barrier(zeros).block_until_ready()  # all processes begin together
            begin = time.perf_counter()
            jax.block_until_ready(f(*values))
            taken.append(time.perf_counter() - begin)
        times[name] = min(taken) * 1e3
    barrier(zeros).block_until_ready()
    print(json.dumps(times))


def job(options, ranks, link, form):
    """Runs all processes; returns the slowest one's time for each program."""
    port = free_port()
    hosts = list(HOSTS)
    address = HOSTS[hosts[0]] if link == "slow" else "127.0.0.1"
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "TILEWRIGHT_"))}
    environment |= {"FORM": form, "COUNT": str(ranks), "COORDINATOR": f"{address}:{port}", "STEPS": str(options.steps),
                    "PROGRAMS": options.programs, "PYTHONPATH": f"{ROOT}:{ROOT / 'python'}",
                    "TILEWRIGHT_RUNTIME_THREADS": "1",
                    "TILEWRIGHT_LIBRARY": str(options.build.resolve() / "lib/libtilewright_pjrt.so")}  # fmt: skip
    if form == "no overlap":
        environment["TILEWRIGHT_COMMUNICATE_OVERLAP"] = "false"
    if options.trace and form in ("measured", "no overlap"):
        environment["TILEWRIGHT_TRACE_FILE"] = f"{options.trace}-{form.replace(' ', '-')}.json"
    place = [["ip", "netns", "exec", hosts[rank * 2 // ranks]] if link == "slow" else [] for rank in range(ranks)]
    running = [
        subprocess.Popen([*place[rank], *([] if options.ordinary else ["nice", "-n", "-18"]), sys.executable, "-m", "bench.collective.overlap"],
                         env={key: value for key, value in environment.items() if rank == 0 or key != "TILEWRIGHT_TRACE_FILE"}
                         | {"RANK": str(rank)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for rank in range(ranks)
    ]  # fmt: skip
    return slowest(running, form, timeout=600)


def make_hosts(rate):
    remove_hosts()
    (first, one), (second, other) = HOSTS.items()
    ip = lambda *words: subprocess.run(["ip", *words], check=True)  # noqa: E731
    for host in HOSTS:
        ip("netns", "add", host)
        ip("-n", host, "link", "set", "lo", "up")
    ip("link", "add", "veth0", "netns", first, "type", "veth", "peer", "veth0", "netns", second)
    for host, address in HOSTS.items():
        ip("-n", host, "addr", "add", f"{address}/24", "dev", "veth0")
        ip("-n", host, "link", "set", "veth0", "up")
        subprocess.run(["tc", "-n", host, "qdisc", "add", "dev", "veth0", "root", "tbf", "rate", rate, "burst", "32kb",
                        "latency", "100ms"], check=True)


def remove_hosts():
    for host in HOSTS:
        subprocess.run(["ip", "netns", "del", host], capture_output=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--link", default="shm,slow")
    parser.add_argument("--rate", default="200mbit")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--programs", default="dp,fsdp,chain")
    parser.add_argument("--ordinary", action="store_true", help="do not raise the priority")
    parser.add_argument("--trace", help="prefix of timelines of rank 0, with and without overlap")
    options = parser.parse_args()
    for link in options.link.split(","):
        if link == "slow":
            make_hosts(options.rate)
        try:
            for ranks in map(int, options.ranks.split(",")):
                load = os.getloadavg()[0]
                rounds = {form: [] for form in FORMS}
                for _ in range(options.rounds):
                    for form, times in rounds.items():
                        times.append(job(options, ranks, link, form))
                how = f"two hosts, {options.rate}" if link == "slow" else "shared memory"
                print(f"\n{ranks} processes on {os.cpu_count()} cores, {how}, load {load:.1f} before (milliseconds)\n")
                print("| program | comm | compute | no overlap | measured | hidden | without overlap |\n|---|---|---|---|---|---|---|")
                for row in rounds["measured"][0]:
                    t = {form: min(each[row] for each in runs) for form, runs in rounds.items()}
                    least = min(t["comm"], t["compute"])
                    hidden = [100 * (t["comm"] + t["compute"] - t[form]) / least for form in ("measured", "no overlap")]
                    print(f"| {row} | {t['comm']:.2f} | {t['compute']:.2f} | {t['no overlap']:.2f} | {t['measured']:.2f} | "
                          f"{hidden[0]:.0f} % | {hidden[1]:.0f} % |", flush=True)
        finally:
            if link == "slow":
                remove_hosts()


if __name__ == "__main__":
    worker() if "RANK" in os.environ else main()
