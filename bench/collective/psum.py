"""A psum from inside a JAX program, of 4 bytes or more, two processes of this host: ours and jaxlib's CPU with Gloo, in one run.

    python -m bench.collective.psum BUILD [--bytes=4] [--rounds=3] [--ordinary]

BUILD is an optimised build with the target tilewright_pjrt. Everything runs under `chrt -r 1` if that is allowed, so that other
work of the machine disturbs both alike; `--ordinary` leaves the scheduler as it is, for a machine with nothing else to do. Rounds
alternate; in each, a call's time is the median of some thousand by the slower process, and what is printed is the median over the
rounds with the best beside it.

    psum            f(x).block_until_ready(), f = jit(shard_map(psum)): what a program that needs each result waits
    without psum    the same with x + 1 for the sum: JAX's own way to the devices and back
    one device      the same with x + 1 by jit on a device of the process: nothing of it is about processes
    chained         y = f(y), waited for at the end
    in a loop       one psum of a fori_loop of a thousand within one program
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

from bench.collective.peers import ROOT, realtime
from bench.collective.processes import free_port, slowest

COUNT = 2
CALLS, LOOPS, IN_A_LOOP = 3000, 20, 1000  # of few bytes


def worker():
    """Runs one process of the job; prints the microseconds of each row."""
    if os.environ["SIDE"] == "ours":
        from tilewright import jax_plugin

        jax_plugin.initialize()
    import jax
    import numpy as np
    from jax.sharding import AxisType, NamedSharding, PartitionSpec

    jax.distributed.initialize(os.environ["COORDINATOR"], num_processes=COUNT, process_id=int(os.environ["RANK"]))
    mesh = jax.make_mesh((COUNT,), ("i",), axis_types=(AxisType.Auto,))
    rows = NamedSharding(mesh, PartitionSpec("i"))

    def mapped(f):
        f = jax.shard_map(f, mesh=mesh, in_specs=PartitionSpec("i"), out_specs=PartitionSpec("i"), check_vma=False)
        return jax.jit(f, out_shardings=rows)

    def each(f, x, times):
        taken = []
        for _ in range(times):
            begin = time.perf_counter()
            f(x).block_until_ready()
            taken.append(time.perf_counter() - begin)
        return statistics.median(taken) * 1e6

    def chain(f, x, times):
        begin = time.perf_counter()
        for _ in range(times):
            x = f(x)
        x.block_until_ready()
        return (time.perf_counter() - begin) / times * 1e6

    length = int(os.environ["BYTES"]) // 4
    fewer = max(length // 2**12, 1)  # longer calls need fewer repetitions
    calls, loops, inALoop = max(CALLS // fewer, 10), max(LOOPS // fewer, 3), max(IN_A_LOOP // fewer, 10)
    x = jax.make_array_from_callback((COUNT * length,), rows, lambda index: np.ones(COUNT * length, np.float32)[index])
    here = jax.device_put(np.ones(length, np.float32), jax.local_devices()[0])
    psum = mapped(lambda v: jax.lax.psum(v, "i"))
    mean = mapped(lambda v: jax.lax.psum(v, "i") * 0.5)
    plain = mapped(lambda v: v + 1)
    alone = jax.jit(lambda v: v + 1)
    loop = mapped(lambda v: jax.lax.fori_loop(0, inALoop, lambda _, v: jax.lax.psum(v, "i") * 0.5, v))
    assert np.all(psum(x).addressable_data(0) == COUNT) and np.all(loop(x).addressable_data(0) == 1)
    for f in psum, mean, plain, loop:
        each(f, x, min(20, calls))
    chain(mean, x, calls)  # allocates what is in flight at a time
    each(alone, here, min(20, calls))

    times = {}
    for name, measure in {
        "psum": lambda: each(psum, x, calls),
        "without psum": lambda: each(plain, x, calls),
        "one device": lambda: each(alone, here, calls),
        "chained": lambda: chain(mean, x, calls),
        "in a loop": lambda: each(loop, x, loops) / inALoop,
    }.items():
        psum(x).block_until_ready()  # both processes begin together
        times[name] = measure()
    psum(x).block_until_ready()
    print(json.dumps(times))


def job(build, side, prefix, size):
    """Runs both processes; returns the slower one's time for each row."""
    port = free_port()
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "TILEWRIGHT_"))}
    environment |= {"SIDE": side, "BYTES": str(size), "COORDINATOR": f"127.0.0.1:{port}", "PYTHONPATH": f"{ROOT}:{ROOT / 'python'}",
                    "TILEWRIGHT_LIBRARY": str(build / "lib/libtilewright_pjrt.so")}  # fmt: skip
    if side != "ours":
        environment |= {"JAX_PLATFORMS": "cpu", "JAX_CPU_COLLECTIVES_IMPLEMENTATION": "gloo"}
    running = [
        subprocess.Popen([*prefix, sys.executable, "-m", "bench.collective.psum"], env=environment | {"RANK": str(rank)},
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for rank in range(COUNT)
    ]  # fmt: skip
    return slowest(running, side, timeout=300)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--bytes", type=int, default=4, help="of each process's operand, a multiple of 4")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ordinary", action="store_true")
    options = parser.parse_args()
    prefix = [] if options.ordinary else realtime()
    load = os.getloadavg()[0]
    rounds = {"ours": [], "Gloo": []}
    for _ in range(options.rounds):
        for side, times in rounds.items():
            times.append(job(options.build.resolve(), side, prefix, options.bytes))
    how = " ".join(prefix) or "ordinary scheduling"
    print(f"\n{options.bytes} B, 2 processes on {os.cpu_count()} cores, {how}, load {load:.1f} before (microseconds, best round in brackets)\n")
    print("| | ours | jaxlib with Gloo | ours / Gloo |\n|---|---|---|---|")
    for row in rounds["ours"][0]:
        times = {side: [each[row] for each in runs] for side, runs in rounds.items()}
        ours, gloo = (statistics.median(each) for each in times.values())
        print(f"| {row} | {ours:.2f} ({min(times['ours']):.2f}) | {gloo:.2f} ({min(times['Gloo']):.2f}) | {ours / gloo:.2f} |")


if __name__ == "__main__":
    worker() if "RANK" in os.environ else main()
