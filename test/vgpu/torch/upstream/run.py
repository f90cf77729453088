"""Triton's own tutorials and tests, with torch, on the virtual GPU.

    git clone https://github.com/triton-lang/triton CHECKOUT     # a commit near the version of requirements.txt
    PYTHON=$(tools/setup --print-torch-python)
    $PYTHON test/vgpu/torch/upstream/run.py CHECKOUT --tutorials
    $PYTHON test/vgpu/torch/upstream/run.py CHECKOUT --files language/test_core.py --sample 1000 --results core.json
    $PYTHON test/vgpu/torch/upstream/run.py CHECKOUT --files OTHERS --sample 300 --results others.json

A sample takes tests of all functions of a file alike, by --seed. Prints passed, failed, skipped, died and hung for each
file, and the failures grouped by cause; those whose cause is a version of torch, a text, or hardware are named as such
(causes.py), what is left is ours. Exits with 0 if nothing is left. --results keeps what is known: a second run repeats
what did not pass. The checkout stays where it is: nothing of it is committed.
"""

import argparse
import collections
import importlib.util
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import causes

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[3]
TOOL = ROOT / "build/dev/bin/tilewright-vgpu"
# Left out of OTHERS: tests of Triton's build, of tools that are not in its wheel, and of other backends.
LEFT_OUT = {"test_core.py", "test_aot.py", "test_disasm.py", "test_build.py", "test_link.py", "test_gpuhello.py"}
TUTORIAL_SECONDS, START_SECONDS = 1200, 300


def command(arguments, *words):
    return [str(arguments.tool), "run", "--quiet", f"--chip={arguments.chip}", "--ptxas=0", *arguments.flags, "--", *map(str, words)]


def environment(**more):
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("TILEWRIGHT_", "PYTEST_"))}
    kept |= {"PYTHONDONTWRITEBYTECODE": "1", "TRITON_DEFAULT_FP_FUSION": "1", "MPLBACKEND": "Agg"}
    return {**kept, **more}


def staged(checkout, folder):
    """Copies only the tests: the package `triton` beside them is not built and would hide the installed one."""
    for name in ("python/test", "python/tutorials", "python/conftest.py", "pytest.ini"):
        source, target = checkout / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        elif source.exists():
            shutil.copy(source, target)
    # A tutorial opens libdevice by its path in the checkout; the wheel has the same file.
    package = importlib.util.find_spec("triton").submodule_search_locations[0]
    library = folder / "third_party/nvidia/backend/lib"
    library.parent.mkdir(parents=True)
    library.symlink_to(pathlib.Path(package, "backends/nvidia/lib"))
    return folder


def run_group(words, seconds, **options):
    """Runs a command in its own process group, which is killed at the end; returns the exit code, None if it hung, and the output."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, **options)
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            code = None
        log.seek(max(log.seek(0, os.SEEK_END) - 4000, 0))
        return code, log.read().decode(errors="replace")


def tutorials(arguments):
    """Runs each tutorial unmodified; those that need Blackwell exit by themselves."""
    failed = 0
    for path in sorted((arguments.checkout / "python/tutorials").glob("[0-9]*.py")):
        if arguments.only and arguments.only not in path.name:
            continue
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            words = command(arguments, sys.executable, HERE / "with_torch.py", path)
            code, text = run_group(words, TUTORIAL_SECONDS, cwd=folder, env=environment())
        verdict = "passed" if code == 0 else "hung" if code is None else "failed"
        reason = "" if code == 0 else causes.of(text)
        failed += code != 0 and not causes.is_known(reason)
        print(f"| {path.name} | {verdict} | {time.monotonic() - begin:.0f} s | {reason} |", flush=True)
    return failed


def collect(file, arguments):
    """The ids of the tests of a file."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as ids:
        words = command(arguments, sys.executable, "-m", "pytest", "-q", "-p", "upstream_plugin", "--collect-only", file)
        code, text = run_group(
            words, START_SECONDS, cwd=file.parent, env=environment(PYTHONPATH=str(HERE), UPSTREAM_IDS=ids.name)
        )
        content = ids.read()
    return json.loads(content) if content else f"cannot be loaded: {causes.of(text)}"


def sampled(ids, count, seed):
    """Chooses `count` tests, in rounds over the functions, so that a function with thousands of parameters does not dominate."""
    by_function = collections.defaultdict(list)
    for one in ids:
        by_function[one.partition("[")[0]].append(one)
    chosen, chance = [], random.Random(seed)
    lists = [chance.sample(those, len(those)) for those in by_function.values()]
    if count < len(lists):  # otherwise only functions of the first files would be chosen
        chance.shuffle(lists)
    while len(chosen) < min(count, len(ids)):
        for those in lists:
            if those and len(chosen) < count:
                chosen.append(those.pop())
    return chosen


def run_tests(file, ids, arguments, note):
    """Runs the tests in processes that are replaced when a test crashes or hangs them."""
    left = list(ids)
    while left:
        with tempfile.TemporaryDirectory() as folder:
            plan, log = pathlib.Path(folder, "plan.json"), pathlib.Path(folder, "log")
            plan.write_text(json.dumps(left[: arguments.chunk]))
            log.touch()
            words = command(arguments, sys.executable, "-m", "pytest", "-q", "-x" if arguments.stop else "-q", "-p",
                            "upstream_plugin", "-p", "no:cacheprovider", "--tb=short", file)  # fmt: skip
            with tempfile.TemporaryFile() as said:
                process = subprocess.Popen(
                    words, cwd=file.parent, stdout=said, stderr=subprocess.STDOUT, start_new_session=True,
                    env=environment(PYTHONPATH=str(HERE), UPSTREAM_PLAN=str(plan), UPSTREAM_LOG=str(log)))  # fmt: skip
                started, done, is_hung = {}, set(), False
                changed, position = time.monotonic(), 0
                while True:
                    ended = process.poll() is not None
                    lines = log.read_text()
                    complete = lines.rfind("\n") + 1
                    for line in lines[position:complete].splitlines():
                        kind, name, *rest = json.loads(line)
                        changed = time.monotonic()
                        if kind == "start":
                            started[name] = True
                        else:
                            done.add(name)
                            note(name, *rest)
                    position = complete
                    if ended:
                        break
                    if time.monotonic() - changed > (arguments.test_seconds if started else START_SECONDS):
                        os.killpg(process.pid, signal.SIGKILL)
                        process.wait()
                        is_hung = True
                        break
                    time.sleep(0.5)
                said.seek(max(said.seek(0, os.SEEK_END) - 3000, 0))
                text = said.read().decode(errors="replace")
            open_ones = [name for name in started if name not in done]
            for name in open_ones:
                done.add(name)
                note(name, "hung" if is_hung else "died", text)
            if not done:  # the process ended before it began the first test
                name = left[0]
                done.add(name)
                note(name, "died", "while loading: " + text)
            left = [name for name in left if name not in done]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--tutorials", action="store_true")
    parser.add_argument("--files", nargs="+", default=[], help="below python/test/unit; OTHERS: all but test_core.py")
    parser.add_argument("--sample", type=int, default=300, help="tests of all files together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="tests or tutorials whose name contains it")
    parser.add_argument("--chip", default="sm_90a")
    parser.add_argument("--flags", nargs="*", default=[], help="more for `tilewright vgpu run`, as --flags=--check=all")
    parser.add_argument("--chunk", type=int, default=500, help="tests for one process")
    parser.add_argument("--test-seconds", type=int, default=180, help="after which one test counts as hung")
    parser.add_argument("--stop", action="store_true", help="at the first failure of a process")
    parser.add_argument("--tool", type=pathlib.Path, default=TOOL)
    parser.add_argument("--results", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="triton-tests-") as folder:
        arguments.checkout = staged(arguments.checkout.resolve(), pathlib.Path(folder).resolve())
        return run(arguments)


def is_to_be_run(name, known):
    """Whether a test has not passed yet and another attempt could change that."""
    if known is None:
        return True
    return known[0] not in ("passed", "skipped") and causes.of_test(name, *known) != causes.LARGE


def run(arguments):
    unit = arguments.checkout / "python/test/unit"
    ours = tutorials(arguments) if arguments.tutorials else 0

    files = []
    for name in arguments.files:
        if name == "OTHERS":
            files += [path for path in sorted(unit.rglob("test_*.py")) if path.name not in LEFT_OUT]
        else:
            files.append(unit / name)
    results = {}
    if arguments.results and arguments.results.exists():
        results = json.loads(arguments.results.read_text())
    collected = {}
    for file in files:
        ids = collect(file, arguments)
        if isinstance(ids, str):
            print(f"{file.relative_to(unit)}: {ids}", flush=True)
        else:
            collected[file] = [one for one in ids if arguments.only in one]
    chosen = set(sampled([f"{file}::{one}" for file, ids in collected.items() for one in ids], arguments.sample, arguments.seed))
    totals, groups = collections.Counter(), collections.defaultdict(list)
    for file, ids in collected.items():
        known = results.setdefault(str(file.relative_to(unit)), {})
        names = [one for one in ids if f"{file}::{one}" in chosen]
        todo = [name for name in names if is_to_be_run(name, known.get(name))]

        def note(name, outcome, message="", known=known):
            known[name] = [outcome, message]
            if outcome not in ("passed", "skipped"):
                print(f"  {outcome}: {name}: {causes.of(message)}", flush=True)
            if arguments.results:
                arguments.results.write_text(json.dumps(results, indent=1))

        run_tests(file, todo, arguments, note)
        counts = collections.Counter(known[name][0] for name in names)
        totals += counts
        if names:
            row = " | ".join(str(counts[outcome]) for outcome in ("passed", "failed", "skipped", "died", "hung"))
            print(f"| {file.relative_to(unit)} | {len(ids)} | {len(names)} | {row} |", flush=True)
        for name in names:
            outcome, message = known[name]
            if outcome not in ("passed", "skipped"):
                reason = causes.of_test(name, outcome, message)
                groups[reason].append(name)
                ours += not causes.is_known(reason)
    if files:
        print("\n" + ", ".join(f"{totals[outcome]} {outcome}" for outcome in ("passed", "failed", "skipped", "died", "hung")))
        for reason, those in sorted(groups.items(), key=lambda group: -len(group[1])):
            print(f"{len(those):5}  {reason}\n         {', '.join(those[:6])}{' …' if len(those) > 6 else ''}")
    print(f"{ours} failures are not explained by torch's version, by texts or by hardware")
    return 1 if ours else 0


if __name__ == "__main__":
    sys.exit(main())
