"""Speed on the CPU: Tilewright next to jaxlib's CPU backend, every row of bench/suite.py, in one interleaved run.

    python bench/cpu.py [--threads 1 2] [--only NAME …] [--groups matmul fusion …] [--rounds 7] [--out table.json]

Each contender is a process of its own that compiles a row and then runs it when it is told to; the rounds of
both alternate, so that a noisy minute hits both. A figure is the ratio of medians, jaxlib's time divided by
ours: above 1 we are faster. With --best it is the ratio of the fastest rounds, for machines that do other work
at the same time. Contenders are pinned to as many cores as they have threads. Compile time is the
wall time of `.compile()`; memory is the peak of the process from before it compiles the row to the end of the
first run, less what it had before. Each model has new processes, because memory that earlier rows have freed
would count as if it cost nothing. Results are compared with each other, so that no row is fast by being wrong.
"""
import argparse
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def serve():
    """A contender process: reads commands as lines of JSON and answers each with one."""
    import time

    sys.path.insert(0, str(ROOT))
    import jax
    import numpy
    from bench import suite

    peak = lambda: int(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read()).group(1)) * 1024
    resident = lambda: int(re.search(r"VmRSS:\s+(\d+)", open("/proc/self/status").read()).group(1)) * 1024
    compiled = arguments = None

    def prepare(name):
        nonlocal compiled, arguments
        compiled = arguments = None
        function, arguments = suite.PROGRAMS[name][1]()
        jax.block_until_ready(arguments)
        pathlib.Path("/proc/self/clear_refs").write_text("5")  # resets the peak
        before = resident()
        lowered = jax.jit(function).lower(*arguments)
        start = time.perf_counter()
        executable = lowered.compile()
        seconds = time.perf_counter() - start
        compiled = jax.jit(function)
        del executable, lowered
        results = jax.block_until_ready(compiled(*arguments))
        used = peak() - before  # the summary below takes memory, too
        leaves = [numpy.asarray(leaf, dtype=numpy.float64).ravel() for leaf in jax.tree.leaves(results)]
        summary = [[float(leaf.size), float(numpy.nanmean(numpy.abs(leaf))) if leaf.size else 0.0] for leaf in leaves]
        return {"compile": seconds, "memory": used, "summary": summary}

    def measure(seconds):
        """Calls the function for about `seconds`; returns the time of one call."""
        count, start = 0, time.perf_counter()
        while True:
            result = compiled(*arguments)
            count += 1
            if count % 8 == 0 or count < 8:
                jax.block_until_ready(result)
                if time.perf_counter() - start > seconds:
                    break
        jax.block_until_ready(result)
        return {"seconds": (time.perf_counter() - start) / count, "count": count}

    print(json.dumps({"devices": str(jax.devices())}), flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        try:
            if "prepare" in command:
                answer = prepare(command["prepare"])
            else:
                answer = measure(command["measure"])
        except Exception as error:  # the parent reports it as the row's result
            answer = {"error": f"{type(error).__name__}: {error}"[:400]}
        print(json.dumps(answer), flush=True)


class Contender:
    def __init__(self, platform, threads):
        environment = dict(os.environ, JAX_PLATFORMS=platform, TILEWRIGHT_RUNTIME_THREADS=str(threads),
                           OMP_NUM_THREADS=str(threads))
        cores = sorted(os.sched_getaffinity(0))[:threads]
        self.arguments = dict(
            args=["taskset", "-c", ",".join(map(str, cores)), sys.executable, __file__, "--serve"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self.start()

    def start(self):
        self.process = subprocess.Popen(**self.arguments)
        self.devices = json.loads(self.process.stdout.readline())["devices"]

    def stop(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)

    def ask(self, **command):
        try:
            self.process.stdin.write(json.dumps(command) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            code = self.process.wait()
            self.start()
            return {"error": f"the process ended with code {code}"}
        return json.loads(line)


def agree(ours, theirs):
    return len(ours) == len(theirs) and all(
        a[0] == b[0] and math.isclose(a[1], b[1], rel_tol=2e-2, abs_tol=1e-6) for a, b in zip(ours, theirs))


def compare(name, ours, theirs, rounds, seconds, summarise):
    answers = [contender.ask(prepare=name) for contender in (ours, theirs)]
    row = {"name": name}
    for label, answer in zip(("ours", "theirs"), answers):
        if "error" in answer:
            return row | {"error": f"{label}: {answer['error']}"}
    row |= {"compile": [a["compile"] for a in answers], "memory": [a["memory"] for a in answers]}
    if not agree(answers[0]["summary"], answers[1]["summary"]):
        return row | {"error": f"results differ: {answers[0]['summary'][:2]} and {answers[1]['summary'][:2]}"}
    times = [[], []]
    for _ in range(rounds):
        for i, contender in enumerate((ours, theirs)):
            answer = contender.ask(measure=seconds)
            if "error" in answer:
                return row | {"error": f"{('ours', 'theirs')[i]}: {answer['error']}"}
            times[i].append(answer["seconds"])
    row["seconds"] = [summarise(t) for t in times]
    row["ratio"] = row["seconds"][1] / row["seconds"][0]
    return row


def show(row):
    if "error" in row:
        return f"{row['name']:24} FAILED {row['error'][:150]}"
    ours, theirs = (s * 1e3 for s in row["seconds"])
    return (f"{row['name']:24} {row['ratio']:7.2f}   {ours:10.4f} {theirs:10.4f} ms   compile "
            f"{row['compile'][0]:6.3f} {row['compile'][1]:6.3f} s   memory {row['memory'][0] >> 20:5} {row['memory'][1] >> 20:5} MiB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--groups", nargs="+", default=[])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.15, help="of each round of each contender")
    parser.add_argument("--best", action="store_true", help="ratios of the fastest rounds, not of medians")
    parser.add_argument("--platform", default="tilewright", help="ours, as JAX_PLATFORMS names it")
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.serve:
        return serve()

    sys.path.insert(0, str(ROOT))
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    from bench import suite
    names = [n for n, (group, _) in suite.PROGRAMS.items()
             if (not arguments.only or n in arguments.only) and (not arguments.groups or group in arguments.groups)]
    tables = {}
    for threads in arguments.threads:
        ours, theirs = Contender(arguments.platform, threads), Contender("cpu", threads)
        print(f"\n{threads} thread(s): {ours.devices} against {theirs.devices}; ratio above 1: we are faster", flush=True)
        rows = []
        for name in names:
            if suite.PROGRAMS[name][0] == "model":
                for contender in (ours, theirs):
                    contender.stop()
                    contender.start()
            rows.append(compare(name, ours, theirs, arguments.rounds, arguments.seconds, min if arguments.best else statistics.median))
            print(show(rows[-1]), flush=True)
        good = [r["ratio"] for r in rows if "ratio" in r]
        if good:
            mean = math.exp(statistics.mean(map(math.log, good)))
            print(f"geometric mean {mean:.3f} of {len(good)} rows, lowest {min(good):.3f}, failed {len(rows) - len(good)}")
            for what in ("compile", "memory"):
                ratios = [r[what][1] / max(r[what][0], 1e-9) for r in rows if "ratio" in r and r[what][1] > 0 < r[what][0]]
                if ratios:
                    print(f"  {what}: geometric mean of ratios {math.exp(statistics.mean(map(math.log, ratios))):.3f}")
        tables[threads] = rows
        for contender in (ours, theirs):
            contender.stop()
    if arguments.out:
        arguments.out.write_text(json.dumps(tables, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
