"""JAX's own tests, against the plugin and against jaxlib's CPU backend.

    git clone --branch jax-v0.10.2 https://github.com/jax-ml/jax CHECKOUT
    python test/jax/upstream/run.py CHECKOUT --every 5 --results results.json --page docs/reference/jax-tests.md
    python test/jax/upstream/run.py CHECKOUT --devices 8 --files pjit_test layout_test --results devices.json --page docs/reference/jax-tests-devices.md
    python test/jax/upstream/run.py CHECKOUT --target vgpu:sm_90a --checked 8 --files lax_test fft_test --most 60 --results gpu.json --page docs/reference/jax-tests-gpu.md

Runs the tests of CHECKOUT/tests/*.py (or of --files) for both backends, in processes (worker.py) that are replaced
when a test ends them or does not end. Files that ask for several CPU devices get 8. Prints passed, failed, skipped,
died and hung for each file and backend, and the failures that jaxlib's CPU backend does not have, grouped by what they
say. Exits with 0 if at least --wanted of what passes on jaxlib's CPU backend passes here, no process died or hung, and
no test failed with the checks of --checked.

--results keeps what is known: a second run repeats only what did not pass (--again all: all of ours; --again
NAME: tests whose name contains it). --every N takes every Nth test, in the order of their names, of files with more
than --large tests, and --most N at most N of a file. --shard K/N takes every Nth file. --jaxlib needed asks jaxlib only
about the tests that do not pass here: half the time, and a test that passes here alone then counts as passing with
both. --target names the machine that the plugin compiles for (TILEWRIGHT_TARGET), --checked N repeats up to N tests of
each file that pass here, with all checks of the virtual GPU: a report fails the test. --page writes the table and the failures as Markdown (page.py), from all that is known. The checkout stays where
it is: nothing of it is committed.
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
import time

import page

ROOT = pathlib.Path(__file__).resolve().parents[3]
BACKENDS = {"tilewright": "tilewright,cpu", "jaxlib": "cpu", "checked": "tilewright,cpu"}
START_SECONDS = 300
# A worker is replaced after this many tests: JAX keeps everything it has compiled.
TESTS_A_WORKER = 300


def devices_for(tests, file, arguments):
    """8 for a file that asks for several CPU devices when it is loaded, else what the command line says."""
    if arguments.devices is None and "request_cpu_devices(" in (tests / f"{file}.py").read_text():
        return 8
    return arguments.devices


def variables(backend, arguments, devices):
    """The environment of a worker."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "XLA_"))}
    kept |= {"JAX_PLATFORMS": BACKENDS[backend], "JAX_SKIP_SLOW_TESTS": "true", "PYTHONDONTWRITEBYTECODE": "1"}
    if devices:
        # With several devices, the name `cpu` must mean this plugin, too: tests look it up.
        kept["JAX_PLATFORMS"] = "cpu" if backend == "jaxlib" else "tilewright"
        kept["JAX_NUM_CPU_DEVICES"] = str(devices)
    if arguments.target:
        kept["TILEWRIGHT_TARGET"] = arguments.target
    if backend == "checked":
        kept |= {"TILEWRIGHT_VGPU_CHECK": "all", "TILEWRIGHT_VGPU_REPORT": tempfile.mktemp(prefix="findings-", suffix=".txt")}
    kept["TILEWRIGHT_LIBRARY"] = str(arguments.library.resolve())
    kept["PYTHONPATH"] = os.pathsep.join([str(ROOT / "python"), kept.get("PYTHONPATH", "")])
    return kept


class Worker:
    """A process that runs the tests of one file. Not thread-safe."""

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
            self.process.stdin.write(json.dumps(name).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return None
        return self.answer(seconds)

    def end(self):
        """Stops the process; returns its last output and how it ended."""
        code = self.process.poll()
        if code is None:
            self.process.kill()
        code = self.process.wait() if code is None else code
        os.close(self.answers)
        self.process.stdin.close()
        self.log.seek(max(self.log.seek(0, os.SEEK_END) - 3000, 0))
        return f"ended with {code}\n" + self.log.read().decode(errors="replace")


def names_in(tests, file, arguments):
    """The file's tests, and the workers that can run them with the plugin: none or one."""
    for backend in ("tilewright", "jaxlib"):
        worker = Worker(tests, file, variables(backend, arguments, devices_for(tests, file, arguments)))
        names = worker.answer(START_SECONDS)
        if isinstance(names, list):
            return names, [worker] if backend == "tilewright" else []
        said = worker.end()
    # jaxlib cannot load it either: it needs a GPU, a TPU or a package that is not installed.
    print(f"{file}: jaxlib's CPU backend cannot load it: {cause(said)}", flush=True)
    return [], []


def run_tests(tests, file, backend, names, arguments, note, ready):
    """Runs the tests on several workers, `ready` ones first; calls note(name, outcome, message) for each."""
    waiting = queue.SimpleQueue()
    for name in names:
        waiting.put(name)
    lock = threading.Lock()

    def serve():
        worker = ready.pop() if ready else None
        while True:
            try:
                name = waiting.get_nowait()
            except queue.Empty:
                break
            if worker is None:
                worker = Worker(tests, file, variables(backend, arguments, devices_for(tests, file, arguments)))
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
    """The message of a failure, without numbers that differ from test to test."""
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


def tests_to_run(results, file, backend, names, arguments):
    """Those of `names` that this backend must run, given what is known."""
    known, ours = results[backend][file], results["tilewright"][file]
    if backend == "tilewright":
        return [name for name in names if selected_again(known, name, arguments.again)]
    if backend == "checked":
        passing = [name for name in names if ours[name][0] == "passed"]
        chosen = passing[:: -(-len(passing) // arguments.checked)] if passing and arguments.checked else []
        return [name for name in chosen if selected_again(known, name, "")]
    # A test that failed with jaxlib once does not count against us, so it need not run there again.
    wanted = {
        "all": ("passed", "failed", "skipped", "died", "hung"),
        "needed": ("failed", "skipped", "died", "hung"),
        "failed": ("failed", "died", "hung"),
    }[arguments.jaxlib]
    return [name for name in names if name not in known and ours[name][0] in wanted]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--files", nargs="+", help="default: all of tests/")
    parser.add_argument("--shard", default="1/1", help="K/N: every Nth of these files, from the Kth")
    parser.add_argument("--every", type=int, default=1, help="of files with more than --large tests")
    parser.add_argument("--large", type=int, default=500, help="tests that make a file a large one")
    parser.add_argument("--most", type=int, help="tests of one file, evenly spaced in the order of their names")
    parser.add_argument("--jaxlib", choices=["all", "needed", "failed"], default="all", help="needed: what does not pass here; failed: and is not skipped")
    parser.add_argument("--target", help="what the plugin compiles for, for example vgpu:sm_90a (default: this machine)")
    parser.add_argument("--checked", type=int, default=0, help="tests of each file to repeat with all checks of the virtual GPU")
    parser.add_argument("--devices", type=int, help="CPU devices of either backend (default: 8 where a file asks for some)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--test-seconds", type=int, default=120, help="after which one test counts as hung")
    parser.add_argument("--library", type=pathlib.Path, default=ROOT / "build/dev/lib/libtilewright_pjrt.so")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--again", default="")
    parser.add_argument("--wanted", type=float, default=0.99)
    arguments = parser.parse_args()
    tests = arguments.checkout.resolve() / "tests"
    files = arguments.files or sorted(path.stem for path in tests.glob("*_test.py"))
    shard, shards = map(int, arguments.shard.split("/"))
    results = {}
    if arguments.results and arguments.results.exists():
        results = json.loads(arguments.results.read_text())

    def keep():
        if arguments.results:
            arguments.results.write_text(json.dumps(results, indent=1))

    groups, both, theirs_alone, ended_badly = collections.defaultdict(list), 0, 0, 0
    every_name = results.setdefault("names", {})
    if arguments.target:
        results["target"] = arguments.target
    elif arguments.devices:
        results["devices"] = arguments.devices
    results["files"] = sorted(path.stem for path in tests.glob("*_test.py"))
    for file in files[shard - 1 :: shards]:
        if not (tests / f"{file}.py").exists():
            print(f"{file}: not in this checkout", flush=True)
            continue
        ready = []
        if file not in every_name:
            every_name[file], ready = names_in(tests, file, arguments)
        names = every_name[file]
        if len(names) > arguments.large:
            names = names[:: arguments.every]
        if arguments.most and len(names) > arguments.most:
            names = names[:: -(-len(names) // arguments.most)]
        if not names:
            continue
        for backend in BACKENDS:
            started = time.monotonic()
            known = results.setdefault(backend, {}).setdefault(file, {})
            todo = tests_to_run(results, file, backend, names, arguments)
            count = 0

            def note(name, outcome, message, known=known, backend=backend):
                nonlocal count
                known[name] = [outcome, message]
                count += 1
                if outcome not in ("passed", "skipped") and backend != "jaxlib":
                    print(f"  {outcome}: {name}: {cause(message)}", flush=True)
                if count % 20 == 0:
                    keep()

            run_tests(tests, file, backend, todo, arguments, note, ready)
            while ready:
                ready.pop().end()
            keep()
            counts = collections.Counter(known[name][0] for name in names if name in known)
            print(f"{file:22} {backend:10} {len(names):5} tests " + " ".join(
                f"{counts[outcome]:5} {outcome}" for outcome in ("passed", "failed", "skipped", "died", "hung"))
                + f" {time.monotonic() - started:5.0f} s", flush=True)
        ours, theirs = results["tilewright"][file], results["jaxlib"][file]
        ended_badly += sum(ours[name][0] in ("died", "hung") for name in names)
        ended_badly += sum(outcome != "passed" for outcome, _ in results["checked"][file].values())
        for name in names:
            if theirs.get(name, ours[name])[0] == "passed":
                if ours[name][0] == "passed":
                    both += 1
                else:
                    theirs_alone += 1
                    outcome, message = ours[name]
                    groups[cause(message) if outcome == "failed" else outcome].append(f"{file}.{name}")

    print("\nwhat passes on jaxlib's CPU backend alone, by what it says here:")
    for text, those in sorted(groups.items(), key=lambda group: -len(group[1])):
        print(f"{len(those):5}  {text}\n         {', '.join(those[:6])}{' …' if len(those) > 6 else ''}")
    if arguments.page:
        arguments.page.write_text(page.text(results, cause))
    share = both / max(both + theirs_alone, 1)
    print(f"\n{both} of the {both + theirs_alone} tests that pass on jaxlib's CPU backend pass here: {share:.2%}")
    return 0 if both and share >= arguments.wanted and not ended_badly else 1


if __name__ == "__main__":
    sys.exit(main())
