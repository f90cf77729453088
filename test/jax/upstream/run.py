"""JAX's own tests, against the plugin and against jaxlib's CPU backend.

    git clone --branch jax-v0.10.2 https://github.com/jax-ml/jax CHECKOUT
    python test/jax/upstream/run.py CHECKOUT [--files lax_test …] [--every 1] [--results results.json]
    python test/jax/upstream/run.py CHECKOUT --devices 8 --files shard_map_test pmap_test --results devices.json

Runs each test of CHECKOUT/tests/FILE.py for both backends, in processes (worker.py) that are replaced when a test ends
them or does not end. Prints passed, failed, skipped, died and hung for each file and backend, and the failures that
jaxlib's CPU backend does not have, grouped by what they say. Exits with 0 if at least --wanted of what passes on
jaxlib's CPU backend passes here and no process died or hung.

--results keeps what is known: a second run repeats only what did not pass (--again all: all of ours; --again
NAME: tests whose name contains it). --every N takes every Nth test, in the order of their names, for a look that
takes minutes instead of hours. The checkout stays where it is: nothing of it is committed.
"""
import argparse
import collections
import json
import os
import pathlib
import queue
import re
import select
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[3]
FILES = ["lax_test", "lax_numpy_test", "lax_control_flow_test", "lax_numpy_indexing_test", "nn_test", "random_test",
         "api_test", "random_lax_test", "stax_test"]
BACKENDS = {"tilewright": "tilewright,cpu", "jaxlib": "cpu"}
START_SECONDS = 300
# After so many tests a worker is replaced: JAX keeps what it compiled.
TESTS_A_WORKER = 300


def variables(backend, arguments):
    """The environment of a worker."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "XLA_"))}
    kept |= {"JAX_PLATFORMS": BACKENDS[backend], "JAX_SKIP_SLOW_TESTS": "true", "PYTHONDONTWRITEBYTECODE": "1"}
    if arguments.devices:
        # With several devices, the name `cpu` must mean them too: tests ask for it.
        kept["JAX_PLATFORMS"] = backend if backend == "tilewright" else "cpu"
        kept["JAX_NUM_CPU_DEVICES"] = str(arguments.devices)
    kept["TILEWRIGHT_LIBRARY"] = str(arguments.library)
    kept["PYTHONPATH"] = os.pathsep.join([str(ROOT / "python"), kept.get("PYTHONPATH", "")])
    return kept


class Worker:
    """A process that runs tests of one file. Not for several threads."""

    def __init__(self, tests, file, environment):
        self.log = tempfile.TemporaryFile()
        reading, writing = os.pipe()
        # The child's descriptor 3 is its end of the pipe, whatever number it has here.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3>&{writing}', "-", sys.executable, pathlib.Path(__file__).parent / "worker.py",
             tests, file],
            cwd=tests.parent, env=environment, stdin=subprocess.PIPE, stdout=self.log, stderr=self.log, pass_fds=[writing])
        os.close(writing)
        self.answers, self.left = reading, b""
        self.done = 0

    def answer(self, seconds):
        """The next line, None if the process ended, or "hung"."""
        while b"\n" not in self.left:
            if not select.select([self.answers], [], [], seconds)[0]:
                return "hung"
            got = os.read(self.answers, 1 << 16)
            if not got:
                return None
            self.left += got
        line, self.left = self.left.split(b"\n", 1)
        return json.loads(line)

    def run(self, name, seconds):
        self.done += 1
        try:
            self.process.stdin.write(name.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return None
        return self.answer(seconds)

    def end(self):
        """Stops the process; what it said last and how it ended."""
        code = self.process.poll()
        if code is None:
            self.process.kill()
        code = self.process.wait() if code is None else code
        os.close(self.answers)
        self.process.stdin.close()
        self.log.seek(max(self.log.seek(0, os.SEEK_END) - 3000, 0))
        return f"ended with {code}\n" + self.log.read().decode(errors="replace")


def names_in(tests, file, arguments):
    worker = Worker(tests, file, variables("jaxlib", arguments))
    try:
        names = worker.answer(START_SECONDS)
    finally:
        said = worker.end()
    if not isinstance(names, list):
        sys.exit(f"{file} cannot be loaded: {said}")
    return names[:: arguments.every]


def run_tests(tests, file, backend, names, arguments, note):
    """Runs them on several workers; calls note(name, outcome, message) for each."""
    waiting = queue.SimpleQueue()
    for name in names:
        waiting.put(name)
    lock = threading.Lock()

    def serve():
        worker = None
        while True:
            try:
                name = waiting.get_nowait()
            except queue.Empty:
                break
            if worker is None:
                worker = Worker(tests, file, variables(backend, arguments))
                if not isinstance(worker.answer(START_SECONDS), list):
                    with lock:
                        note(name, "died", "while loading: " + worker.end())
                    worker = None
                    continue
            answer = worker.run(name, arguments.test_seconds)
            if answer is None or answer == "hung":
                answer = "hung" if answer else "died", worker.end()
                worker = None
            elif worker.done >= TESTS_A_WORKER:
                worker.end()
                worker = None
            with lock:
                note(name, *answer)
        if worker:
            worker.end()

    threads = [threading.Thread(target=serve) for _ in range(min(arguments.workers, len(names)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def cause(message):
    """What a failure says, without the numbers that differ from test to test."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    for line in lines:
        known = re.search(r"\bE\d{4} \w+: .*", line)
        if known:
            return known[0][:5] + re.sub(r"\d+(x\d+)*", "N", known[0][5:130])
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Warning)\b", line)]
    said = errors[-1] if errors else lines[-1] if lines else "no message"
    return re.sub(r"\d+(\.\d+)?(e[-+]?\d+)?", "N", said)[:130]


def selected_again(known, name, again):
    if name not in known:
        return True
    return known[name][0] not in ("passed", "skipped") or again == "all" or (again != "" and again in name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--files", nargs="+", default=FILES)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--devices", type=int, help="CPU devices of either backend")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--test-seconds", type=int, default=120, help="after which one test counts as hung")
    parser.add_argument("--library", type=pathlib.Path, default=ROOT / "build/dev/tilewright/plugin/libtilewright_pjrt.so")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--again", default="")
    parser.add_argument("--wanted", type=float, default=0.97)
    arguments = parser.parse_args()
    tests = arguments.checkout.resolve() / "tests"
    results = {}
    if arguments.results and arguments.results.exists():
        results = json.loads(arguments.results.read_text())

    def keep():
        if arguments.results:
            arguments.results.write_text(json.dumps(results, indent=1))

    groups, both, theirs_alone, ended_badly = collections.defaultdict(list), 0, 0, 0
    for file in arguments.files:
        if not (tests / f"{file}.py").exists():
            print(f"{file}: not in this checkout", flush=True)
            continue
        names = names_in(tests, file, arguments)
        for backend in reversed(BACKENDS):
            known = results.setdefault(backend, {}).setdefault(file, {})
            again = arguments.again if backend == "tilewright" else ""
            todo = [name for name in names if selected_again(known, name, again)]
            if backend == "jaxlib":
                # What failed there once is not held against us: no need to see it again.
                todo = [name for name in todo if name not in known]
            count = 0

            def note(name, outcome, message, known=known, backend=backend):
                nonlocal count
                known[name] = [outcome, message]
                count += 1
                if outcome not in ("passed", "skipped") and backend == "tilewright":
                    print(f"  {outcome}: {name}: {cause(message)}", flush=True)
                if count % 20 == 0:
                    keep()

            run_tests(tests, file, backend, todo, arguments, note)
            keep()
            counts = collections.Counter(known[name][0] for name in names)
            print(f"{file:22} {backend:10} {len(names):5} tests " + " ".join(
                f"{counts[outcome]:5} {outcome}" for outcome in ("passed", "failed", "skipped", "died", "hung")), flush=True)
        ours, theirs = results["tilewright"][file], results["jaxlib"][file]
        ended_badly += sum(ours[name][0] in ("died", "hung") for name in names)
        for name in names:
            if theirs[name][0] == "passed":
                if ours[name][0] == "passed":
                    both += 1
                else:
                    theirs_alone += 1
                    outcome, message = ours[name]
                    groups[cause(message) if outcome == "failed" else outcome].append(f"{file}.{name}")

    print("\nwhat passes on jaxlib's CPU backend alone, by what it says here:")
    for text, those in sorted(groups.items(), key=lambda group: -len(group[1])):
        print(f"{len(those):5}  {text}\n         {', '.join(those[:6])}{' …' if len(those) > 6 else ''}")
    share = both / max(both + theirs_alone, 1)
    print(f"\n{both} of the {both + theirs_alone} tests that pass on jaxlib's CPU backend pass here: {share:.2%}")
    return 0 if both and share >= arguments.wanted and not ended_badly else 1


if __name__ == "__main__":
    sys.exit(main())
