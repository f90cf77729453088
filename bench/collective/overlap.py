"""How much of the communication of a training step is hidden behind its computation, on real processes, and how much `predict` expects.

    python -m bench.collective.overlap BUILD [--ranks=2,4] [--link=slow,shm] [--rate=200mbit] [--rounds=20] [--predict] [--json=FILE]

BUILD has the target tilewright_pjrt (and tilewright, for --predict). Each program runs in five forms, one step of each in every round, all in the
same processes, so that other work of the machine disturbs them alike:

    measured       communicate.overlap=true, the default
    for the link   the same with communicate.cluster: a file with the rates of the link and of products here
    no overlap     communicate.overlap=false: every collective completes before the next step begins
    compute        the same program without its collectives
    comm           its collectives alone

    hidden = (comm + compute - measured) / min(comm, compute)

A step takes the time of its slowest process; the time of a form is the least of all rounds, because other work only adds to it. `slow` needs root: two network namespaces
joined by a veth pair whose rate `tc` limits, so bytes travel without a processor. By shared memory a collective is work of the progress threads: with as many computing threads as
cores nothing can be hidden. There, all computing threads share the first core and the progress threads have the others (--share-core; needs two cores).

Every thread runs with real-time priority, the progress threads above those that compute (--ordinary: with the usual priority; needs no root). A step must be
shorter than a second, after which the kernel gives other work a twentieth of the time.

--predict compiles `measured`, `compute` and `comm` once more, as JAX passed them, and asks `tilewright predict` for the time of each on a cluster with two rates: that of products
makes the prediction for `compute` right, that of the link the one for `comm`. The prediction for `measured` follows.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from bench.collective.peers import ROOT
from bench.collective.processes import free_port

HOSTS = {"twlap0": "10.83.8.1", "twlap1": "10.83.8.2"}
FORMS = ("measured", "for the link", "no overlap", "compute", "comm")


def programs():
    """Name to a function of (mesh size, form) that returns a function of one device, its global operands, and whether each is
    sharded over the axis "i"."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    def operands(*shapes):
        rng = np.random.default_rng(0)
        return [rng.standard_normal(shape).astype(np.float32) * 0.05 for shape in shapes]

    def dp(n, form, layers=12, width=256, rows=4096):
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

    def fsdp(n, form, layers=16, width=256, rows=4096):
        """Forward pass over layers whose weights are sharded: the next layer's weights are gathered while a layer is computed."""
        gather = lambda w: jax.lax.all_gather(w, "i", tiled=True)  # noqa: E731

        def step(x, weights):
            if form == "comm":
                return jax.lax.scan(lambda c, w: (c + gather(w)[0, 0], None), x[0, 0], weights[0])[0][None]
            if form == "compute":
                return jax.lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, weights[0])[0]
            return jax.lax.scan(lambda x, w: (jnp.tanh(x @ gather(w)), None), x, weights[0])[0]

        return step, operands((n * rows, width), (n, layers, width if form == "compute" else width // n, width)), [True, True]

    def tp(n, form, layers=2, width=256, hidden=4096, rows=1024):
        """Tensor parallelism with sharded rows: only inside of a product can its gather and its scatter be hidden."""
        def step(x, *weights):
            for up, down in zip(weights[::2], weights[1::2]):
                if form != "compute":
                    x = jax.lax.all_gather(x, "i", tiled=True)
                if form != "comm":
                    x = jnp.tanh(x @ up) @ down
                if form != "compute":
                    x = jax.lax.psum_scatter(x, "i", tiled=True)
            return x

        whole = n * rows if form == "compute" else rows
        if form == "comm":
            return step, operands((n * rows, width), *[(n, 1)] * 2 * layers), [True] * (1 + 2 * layers)
        return step, operands((n * whole, width), *[(n * width, hidden // n), (n * hidden // n, width)] * layers), [True] * (1 + 2 * layers)

    def chain(n, form, layers=8, width=256, rows=4):
        """Sums between products that are too short to hide anything: here overlap must cost nothing."""
        psum = (lambda v: v) if form == "compute" else (lambda v: jax.lax.psum(v, "i"))

        def step(x, *weights):
            for w in weights:
                x = psum(x) * 0.5 + w[0, 0] if form == "comm" else jnp.tanh(psum(x @ w))
            return x

        # The weights of each rank differ, so the sums are not of equal values.
        return step, operands((n * rows, width), *[(n * width, width)] * layers), [True] * (layers + 1)

    return {"dp": dp, "fsdp": fsdp, "tp": tp, "chain": chain}


def arrange_threads(share_core):
    """Puts the progress threads above those that compute; with `share_core` the latter on the first core, the former on the others."""
    cores = sorted(os.sched_getaffinity(0))
    for task in pathlib.Path("/proc/self/task").iterdir():
        number, is_progress = int(task.name), (task / "comm").read_text().startswith("tw progress")
        if os.sched_getscheduler(number) == os.SCHED_RR:
            os.sched_setscheduler(number, os.SCHED_RR, os.sched_param(20 if is_progress else 10))
        if share_core:
            os.sched_setaffinity(number, cores[1:] if is_progress else cores[:1])


def worker():
    """Runs one process of the job; prints the milliseconds of each round of each program in each form."""
    from tilewright import jax_plugin

    jax_plugin.initialize()
    import jax
    import numpy as np
    from jax.sharding import AxisType, NamedSharding, PartitionSpec

    count, rank = int(os.environ["COUNT"]), int(os.environ["RANK"])
    jax.distributed.initialize(os.environ["COORDINATOR"], num_processes=count, process_id=rank)
    mesh = jax.make_mesh((count,), ("i",), axis_types=(AxisType.Auto,))
    one, all_of = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("i"))

    def mapped(f, shardings, **options):
        f = jax.shard_map(f, mesh=mesh, in_specs=tuple(sharding.spec for sharding in shardings), out_specs=PartitionSpec("i"),
                          check_vma=False)
        return jax.jit(f, compiler_options=options)

    def put(value, sharding):
        return jax.make_array_from_callback(value.shape, sharding, lambda index: value[index])

    barrier, zeros = mapped(lambda v: jax.lax.psum(v, "i"), [all_of]), put(np.zeros(count, np.float32), all_of)
    times, wanted = {}, os.environ["PROGRAMS"].split(",")
    for name, make in programs().items():
        if name not in wanted:
            continue
        calls = {}
        for form in FORMS:
            step, values, are_sharded = make(count, form if form in ("compute", "comm") else "measured")
            shardings = [all_of if is_sharded else one for is_sharded in are_sharded]
            cluster = os.environ["CLUSTER"] if form == "for the link" else ""
            f = mapped(step, shardings, **{"communicate.overlap": form != "no overlap", "communicate.cluster": cluster})
            values = list(map(put, values, shardings))
            if rank == 0 and os.environ["SAVE"] and form in ("measured", "compute", "comm"):
                save(f.lower(*values), pathlib.Path(os.environ["SAVE"]) / f"{name}-{form}.mlirbc")
            calls[form] = f, values
            jax.block_until_ready(f(*values))
        arrange_threads(os.environ["SHARE_CORE"] == "1")
        taken = {form: [] for form in FORMS}
        for _ in range(int(os.environ["ROUNDS"])):
            for form, (f, values) in calls.items():
                barrier(zeros).block_until_ready()  # all processes begin together
                begin = time.perf_counter()
                jax.block_until_ready(f(*values))
                taken[form].append(1e3 * (time.perf_counter() - begin))
        times[name] = taken
    barrier(zeros).block_until_ready()
    print(json.dumps(times))


def save(lowered, path):
    from jax._src.lib import _jax
    from jaxlib.mlir.dialects import stablehlo

    version = stablehlo.get_version_from_compatibility_requirement(stablehlo.StablehloCompatibilityRequirement.WEEK_4)
    path.write_bytes(_jax.mlir.serialize_portable_artifact(lowered.compiler_ir("stablehlo"), version, True))


def cluster_file(options, ranks, link, folder):
    """What a user would write for the form `for the link`, from the rate of the link and rough rates of a core."""
    levels = ["level host {} latency 5us bandwidth 3GB/s".format(ranks if link == "shm" else ranks // 2)]
    if link == "slow":
        count, unit = re.fullmatch(r"(\d+)([mg])bit", options.rate).groups()
        levels.append(f"level rack {ranks} latency {options.latency} bandwidth {int(count) * {'m': 1, 'g': 1000}[unit] / 8:g}MB/s")
    path = folder / "link.cluster"
    path.write_text("\n".join(["chip cpu", f"peak f32 {options.peak}", "memory 64GB 10GB/s", *levels[-1 if ranks == 2 else 0 :]]) + "\n")
    return path


def job(options, ranks, link, folder):
    """Runs all processes; returns {program: {form: milliseconds}}."""
    port = free_port()
    hosts = list(HOSTS)
    address = HOSTS[hosts[0]] if link == "slow" else "127.0.0.1"
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "TILEWRIGHT_"))}
    environment |= {"COUNT": str(ranks), "COORDINATOR": f"{address}:{port}", "ROUNDS": str(options.rounds), "SAVE": str(folder) if options.predict else "",
                    "CLUSTER": str(cluster_file(options, ranks, link, folder)),
                    "SHARE_CORE": "1" if options.share_core and link == "shm" else "0",
                    "PROGRAMS": options.programs, "PYTHONPATH": f"{ROOT}:{ROOT / 'python'}", "OPENBLAS_NUM_THREADS": "1",
                    "TILEWRIGHT_RUNTIME_THREADS": "1",
                    "TILEWRIGHT_LIBRARY": str(options.build.resolve() / "lib/libtilewright_pjrt.so")}  # fmt: skip
    place = [["ip", "netns", "exec", hosts[rank * 2 // ranks]] if link == "slow" else [] for rank in range(ranks)]
    priority = [] if options.ordinary else ["chrt", "-r", "10"]
    running = [
        subprocess.Popen([*place[rank], *priority, sys.executable, "-m", "bench.collective.overlap"], env=environment | {"RANK": str(rank)},
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for rank in range(ranks)
    ]  # fmt: skip
    try:
        said = [process.communicate(timeout=options.timeout) for process in running]
    finally:
        for process in running:
            if process.poll() is None:
                process.kill()
    if any(process.returncode for process in running):
        sys.exit("a process failed:\n" + "".join(error[-3000:] for _, error in said))
    each = [json.loads(output.splitlines()[-1]) for output, _ in said]
    return {
        program: {form: min(map(max, zip(*(process[program][form] for process in each)))) for form in FORMS} for program in each[0]
    }


def predicted(options, ranks, folder, program, measured):
    """Milliseconds that `tilewright predict` expects for `measured`, on a cluster for which those of `compute` and `comm` are right."""
    tool = options.build / "bin/tilewright"
    files = {}
    for form in ("measured", "compute", "comm"):
        files[form] = folder / f"{program}-{form}.twx"
        subprocess.run([tool, "compile", folder / f"{program}-{form}.mlirbc", f"--output={files[form]}"], check=True, capture_output=True)

    def step(form, flops, link):
        cluster = folder / "cpu.cluster"
        cluster.write_text(f"chip cpu\npeak f32 {flops:.6g}GFLOP/s\nmemory 64GB {flops / 8:.6g}GB/s\n"
                           f"level host {ranks} latency {options.latency} bandwidth {link:.6g}MB/s\n")  # fmt: skip
        printed = subprocess.run([tool, "predict", files[form], f"--cluster={cluster}"], check=True, capture_output=True, text=True).stdout
        return milliseconds_in(printed)

    # A prediction is a sum of a fixed part and one that is inversely proportional to a rate.
    def rate_for(goal, predict, guess):
        for _ in range(4):
            fast, slow = predict(2 * guess), predict(guess)
            variable = 2 * (slow - fast)
            guess *= variable / max(goal - (slow - variable), 1e-9)
        return guess

    flops = rate_for(measured["compute"], lambda rate: step("compute", rate, 1e6), 20)
    link = rate_for(measured["comm"], lambda rate: step("comm", flops, rate), 25)
    return step("measured", flops, link)


def milliseconds_in(printed):
    """The time of the step in the text that `tilewright predict` prints."""
    found = re.search(r"^step +([0-9.]+) (ns|us|µs|ms|s)\b", printed, re.MULTILINE) or sys.exit(f"no time in {printed}")
    return float(found[1]) * {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "ms": 1, "s": 1e3}[found[2]]


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


def hidden(times, form):
    return 100 * (times["comm"] + times["compute"] - times[form]) / min(times["comm"], times["compute"])


def run(options, ranks, link):
    """{program: {form: milliseconds, "predicted": …}} of one number of processes on one link."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        if link == "slow":
            make_hosts(options.rate)
        try:
            results = job(options, ranks, link, folder)
        finally:
            if link == "slow":
                remove_hosts()
        if options.predict:
            for program, times in results.items():
                times["predicted"] = predicted(options, ranks, folder, program, times)
    return results


def parser():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--link", default="slow,shm")
    parser.add_argument("--rate", default="200mbit")
    parser.add_argument("--latency", default="100us", help="of the link, for the prediction and the cluster file")
    parser.add_argument("--peak", default="80GFLOP/s", help="of products on a core, for the cluster file")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--programs", default="dp,fsdp,tp,chain")
    parser.add_argument("--predict", action="store_true")
    parser.add_argument("--share-core", action="store_true", help="by shared memory, all computing threads on the first core")
    parser.add_argument("--ordinary", action="store_true", help="no real-time priority")
    parser.add_argument("--timeout", type=float, default=900)
    parser.add_argument("--json", type=pathlib.Path, help="also writes the times there")
    return parser


def main():
    options = parser().parse_args()
    kept = []
    for link in options.link.split(","):
        for ranks in map(int, options.ranks.split(",")):
            load = os.getloadavg()[0]
            results = run(options, ranks, link)
            how = f"two hosts, {options.rate}" if link == "slow" else "shared memory" + ", computing threads share a core" * options.share_core
            print(f"\n{ranks} processes on {os.cpu_count()} cores, {how}, load {load:.1f} before (milliseconds)\n")
            print("| program | comm | compute | no overlap | measured | hidden | for the link | hidden | predicted | without overlap |\n"
                  "|---|---|---|---|---|---|---|---|---|---|")  # fmt: skip
            for program, t in results.items():
                expected = f"{hidden(t, 'predicted'):.0f} %" if "predicted" in t else ""
                print(f"| {program} | {t['comm']:.2f} | {t['compute']:.2f} | {t['no overlap']:.2f} | {t['measured']:.2f} | "
                      f"{hidden(t, 'measured'):.0f} % | {t['for the link']:.2f} | {hidden(t, 'for the link'):.0f} % | {expected} | {hidden(t, 'no overlap'):.0f} % |", flush=True)  # fmt: skip
            kept.append({"link": link, "ranks": ranks, "load": load, "programs": results})
    if options.json:
        options.json.write_text(json.dumps(kept, indent=1))


if __name__ == "__main__":
    worker() if "RANK" in os.environ else main()
