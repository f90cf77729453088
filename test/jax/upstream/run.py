"""JAX's own tests, against the plugin and against jaxlib's CPU backend.

    git clone --branch jax-v0.10.2 https://github.com/jax-ml/jax CHECKOUT
    python test/jax/upstream/run.py CHECKOUT [--files lax_test …] [--every 1] [--out results.json]

Runs each file of CHECKOUT/tests in a process of its own with JAX_PLATFORMS=tilewright,cpu. Tests that do not
pass are run once more with jaxlib's CPU backend: those that fail there too are not held against us. Prints
passed, failed and skipped for each file, and the failures grouped by what they say. Exits with 0 if at least
97 % of what passes on jaxlib's CPU backend passes here and no process died or hung.

--every N takes every Nth test, in the order of their names, for a look that takes minutes instead of hours.
The checkout stays where it is: nothing of it is committed.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

FILES = ["lax_test", "lax_numpy_test", "lax_control_flow_test", "lax_numpy_indexing_test", "nn_test", "random_test",
         "api_test", "random_lax_test", "stax_test"]
WANTED = 0.97


def run_pytest(tests, platform, selected, workers, timeout, seconds):
    """Outcome and message of each test, by id; how the process ended."""
    environment = dict(os.environ, JAX_PLATFORMS=platform, JAX_SKIP_SLOW_TESTS="true", PYTHONDONTWRITEBYTECODE="1")
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.xml"
        names = pathlib.Path(folder) / "names.txt"
        names.write_text("\n".join(selected))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"@{names}", f"--junitxml={report}",
                   f"--timeout={timeout}", "--tb=line", "-W", "ignore"]
        if workers > 1:
            command += ["-n", str(workers)]
        try:
            ended = subprocess.run(command, cwd=tests.parent, env=environment, timeout=seconds,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            code, log = ended.returncode, ended.stdout
        except subprocess.TimeoutExpired as expired:
            code, log = "hung", (expired.stdout or b"").decode(errors="replace")
        outcomes = {}
        if report.exists():
            for case in xml.etree.ElementTree.parse(report).iter("testcase"):
                file, _, group = case.get("classname").rpartition(".")
                outcome, message = "passed", ""
                for kind in ("failure", "error", "skipped"):
                    found = case.find(kind)
                    if found is not None:
                        outcome = "skipped" if kind == "skipped" else "failed"
                        message = (found.get("message") or "") + "\n" + (found.text or "")
                outcomes[f"{file.replace('.', '/')}.py::{group}::{case.get('name')}"] = (outcome, message)
        return outcomes, code, log[-2000:]


def collect(tests, file, every):
    environment = dict(os.environ, JAX_PLATFORMS="cpu", JAX_SKIP_SLOW_TESTS="true")
    listed = subprocess.run([sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider",
                             f"tests/{file}.py", "-W", "ignore"], cwd=tests.parent, env=environment,
                            stdout=subprocess.PIPE, text=True).stdout
    return sorted(line for line in listed.splitlines() if "::" in line)[::every]


def cause(message):
    """What a failure says, without the numbers that differ from test to test."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    for line in lines:
        known = re.search(r"\bE\d{4} \w+: .*", line)
        if known:
            return re.sub(r"\d+(x\d+)*", "N", re.sub(r"^E(\d{4})", r"E[\1]", known[0])[:110]).replace("E[N]", known[0][:5])
    first = next((line for line in lines if "Error" in line or "assert" in line), lines[0] if lines else "no message")
    return re.sub(r"\d+(\.\d+)?(e[-+]?\d+)?", "N", first)[:110]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--files", nargs="+", default=FILES)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--platform", default="tilewright,cpu")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--test-seconds", type=int, default=120, help="after which one test counts as hung")
    parser.add_argument("--file-seconds", type=int, default=7200)
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    tests = arguments.checkout.resolve() / "tests"
    table, groups, worst, details = [], collections.Counter(), [], {}
    for file in arguments.files:
        if not (tests / f"{file}.py").exists():
            print(f"{file}: not in this checkout", flush=True)
            continue
        selected = collect(tests, file, arguments.every)
        outcomes, code, log = run_pytest(tests, arguments.platform, selected, arguments.workers,
                                         arguments.test_seconds, arguments.file_seconds)
        missing = [name for name in selected if name not in outcomes]
        failed = {name: message for name, (outcome, message) in outcomes.items() if outcome == "failed"}
        count = collections.Counter(outcome for outcome, _ in outcomes.values())
        # What failed or never ended here: does it pass with jaxlib alone?
        again = sorted(failed) + missing
        theirs = run_pytest(tests, "cpu", again, arguments.workers, arguments.test_seconds,
                            arguments.file_seconds)[0] if again else {}
        ours_only = [name for name in again if theirs.get(name, ("failed", ""))[0] == "passed"]
        passes_there = count["passed"] + len(ours_only)
        share = count["passed"] / passes_there if passes_there else 1.0
        table.append((file, len(selected), count["passed"], count["failed"], count["skipped"], len(missing),
                      len(ours_only), share))
        print(f"{file:26} {len(selected):5} tests  {count['passed']:5} passed  {count['failed']:4} failed  {count['skipped']:4} "
              f"skipped  {len(missing):4} without an end  {share:7.2%} of what passes on jaxlib's CPU backend", flush=True)
        if code not in (0, 1, 5):
            worst.append(f"{file}: pytest ended with {code}: {log[-300:]}")
        for name in ours_only:
            message = failed.get(name, "the process ended or hung")
            groups[cause(message)] += 1
            details[name] = message[:2000]
    print("\nfailures that pass on jaxlib's CPU backend, by what they say:")
    for text, number in groups.most_common(60):
        print(f"{number:5}  {text}")
    for line in worst:
        print(line)
    passed, total = sum(r[2] for r in table), sum(r[2] + r[6] for r in table)
    print(f"\nin all {passed} of {total}: {passed / max(total, 1):.2%}")
    if arguments.out:
        arguments.out.write_text(json.dumps({"table": table, "failures": details}, indent=1))
    return 0 if total and passed / total >= WANTED and not worst else 1


if __name__ == "__main__":
    sys.exit(main())
