"""The page of run.py --page: how many of JAX's own tests pass here and with jaxlib, and why the others do not."""
import collections

from causes import explained

HEAD = """# JAX's own tests

Tests of JAX 0.10.2 from a checkout, against the plugin and against jaxlib's CPU backend.
`test/jax/upstream/run.py` writes this page; its first lines say how. Files that ask for several CPU devices ran with 8.
Where fewer tests ran than a file has, they were taken at even distances in the order of their names. Each test's last run
counts; what had passed was not repeated after later changes. Files that load `hypothesis_test_util`, which JAX's wheel lacks,
get a replacement from `worker.py`. Other pages have [several CPU devices](jax-tests-devices.md) and [the virtual GPU](jax-tests-gpu.md).
"""
HEAD_OF_DEVICES = """# JAX's own tests on {devices} CPU devices

The tests of JAX 0.10.2 about shardings, from a checkout, with {devices} devices of the plugin and of jaxlib's CPU backend. `test/jax/upstream/run.py` writes
this page, from all that its --results file knows:

    git clone --branch jax-v0.10.2 https://github.com/jax-ml/jax CHECKOUT
    python test/jax/upstream/run.py CHECKOUT --devices {devices} --jaxlib needed \\
        --files {files} --results devices.json --page docs/reference/jax-tests-devices.md

Each test's last run counts. [The page for CPUs](jax-tests.md) has every file.
"""
HEAD_OF_TARGET = """# JAX's own tests on {target}

Tests of JAX 0.10.2 from a checkout, with `TILEWRIGHT_TARGET={target}`, and with jaxlib's CPU backend. The plugin calls its platform `cpu`, so JAX
lowers as for CPUs and expects the accuracy of CPUs. Products of f32 have the precision of tf32 by default on this
target. `test/jax/upstream/run.py` writes this page, from all that its --results file knows:

    git clone --branch jax-v0.10.2 https://github.com/jax-ml/jax CHECKOUT
    python test/jax/upstream/run.py CHECKOUT --target {target} --jaxlib needed --most 170 --checked 8 \\
        --files {files} --results gpu.json --page docs/reference/jax-tests-gpu.md

The tests were taken at even distances in the order of their names; each test's last run counts, and what had passed was not repeated
after later changes. [The page for CPUs](jax-tests.md) has every file.
"""
COLUMNS = ("tests", "ran", "there", "here", "failed", "skipped", "ended", "both")


def outcome_there(results, file, name):
    """With --jaxlib needed, tests that pass here are not run with jaxlib, and count as passing there."""
    ours = results["tilewright"][file][name][0]
    return results["jaxlib"].get(file, {}).get(name, [ours if ours == "passed" else "unknown"])[0]


def failures(results):
    """(file, test, outcome, message) of tests that pass on jaxlib's CPU backend and not here."""
    for file, ours in sorted(results["tilewright"].items()):
        for name, (outcome, message) in sorted(ours.items()):
            if outcome != "passed" and outcome_there(results, file, name) == "passed":
                yield file, name, outcome, message


def checked(results):
    """What the run with all checks of the virtual GPU showed."""
    outcomes = collections.Counter(outcome for known in results.get("checked", {}).values() for outcome, _ in known.values())
    if not outcomes:
        return []
    return ["", f"{outcomes.total()} of the tests that pass here ran again with `TILEWRIGHT_VGPU_CHECK=all`, where every finding of the virtual GPU counts as a failure: "
            f"{outcomes['passed']} pass."]  # fmt: skip


def text(results, cause):
    """The page, from all known results: results[backend][file][test] = [outcome, message]."""
    rows, totals, assumed, unknown = [], collections.Counter(), 0, 0
    for file, ours in sorted(results.get("tilewright", {}).items()):
        if not ours:
            continue
        there = {name: outcome_there(results, file, name) for name in ours}
        unknown += sum(outcome == "unknown" for outcome in there.values())
        assumed += sum(name not in results["jaxlib"].get(file, {}) for name in ours if ours[name][0] == "passed")
        counts = collections.Counter(ours[name][0] for name in ours if there[name] == "passed")
        row = collections.Counter(
            tests=len(results["names"].get(file, ours)), ran=len(ours), there=counts.total(), here=counts["passed"],
            failed=counts["failed"], skipped=counts["skipped"], ended=counts["died"] + counts["hung"],
            both=sum(ours[name][0] == there[name] == "skipped" for name in ours))  # fmt: skip
        totals += row
        rows.append((file, row))
    share = totals["here"] / max(totals["there"], 1)
    files = " ".join(file for file, _ in rows)
    heads = {"target": HEAD_OF_TARGET, "devices": HEAD_OF_DEVICES}
    kind = next((kind for kind in heads if kind in results), None)
    head = heads[kind].format(files=files, **{kind: results[kind]}) if kind else HEAD
    lines = [head, f"**{totals['here']} of the {totals['there']} tests that pass with jaxlib pass here: {share:.2%}.** "
             f"Of {len(results['files'])} files {len(rows)} ran, and of their {totals['tests']} tests {totals['ran']}."]  # fmt: skip
    if assumed:
        lines += ["", f"jaxlib ran what did not pass here; the {assumed} tests that pass here and were not run with jaxlib count "
                  "as passing with both."]  # fmt: skip
    if unknown:
        lines += ["", f"{unknown} tests that are skipped here were not run with jaxlib, and count nowhere but as run."]
    lines += ["", "| file | tests in it | ran | pass with jaxlib | of these pass here | fail | skipped here alone | died or hung | skipped by both |",
              "|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for file, row in [*rows, ("**all**", totals)]:
        lines.append(f"| {file} | " + " | ".join(str(row[column]) for column in COLUMNS) + " |")
    lines += checked(results)
    unread = sorted(file for file, names in results["names"].items() if not names)
    if unread:
        lines += ["", "Not loaded by jaxlib's CPU backend either: " + ", ".join(unread) + "."]
    missing = [] if kind else sorted(set(results["files"]) - {file for file, _ in rows} - set(unread))
    if missing:
        lines += ["", f"Not run, {len(missing)} of {len(results['files'])} files: " + ", ".join(missing) + "."]
    groups = collections.defaultdict(list)
    for file, name, outcome, message in failures(results):
        said = cause(message).replace("`", "'")
        known = explained(f"{file}.{name}", message)
        groups[known or f"`{said if outcome == 'failed' else f'{outcome}: {said}'}`"].append(f"{file}.{name}")
    lines += ["", "## Why the others do not pass", "", "Each group is one cause, or one message where the cause is not known.", ""]
    for reason, names in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
        lines += [f"- {reason} ({len(names)})", *(f"  - {name}" for name in sorted(names))]
    return "\n".join(lines) + "\n"
