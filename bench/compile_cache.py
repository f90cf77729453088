"""The second run of a program: our compile cache beside jaxlib's own, the models of bench/models.py, in one run.

    python bench/compile_cache.py [--only NAME …] [--rounds 3] [--json table.json]

For each model and contender a process compiles it with an empty cache, and a second process compiles it again with what
the first one stored. The time is the wall time of `.compile()`, without tracing. jaxlib stores programs of any size and
duration here (by default it leaves out what compiled in less than a second). Rounds of both alternate, each with an empty
folder; figures are medians. A hit is a second compilation that adds no entry to the folder and is counted by the entries
that the first one made. Results of both runs are compared bit for bit.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def compile_model(name):
    """In a process of its own: compiles a model, runs it, and prints seconds and a hash of the results."""
    import hashlib
    import time

    sys.path.insert(0, str(ROOT))
    import jax
    import numpy
    from bench import models

    function, arguments = models.MODELS[name]()
    jax.block_until_ready(arguments)
    entries = lambda: {path.name for path in pathlib.Path(os.environ["CACHE"]).rglob("*") if path.is_file() and "atime" not in path.name}
    before = entries()
    # Only the model itself counts: the arguments are programs, too, and JAX stores them.
    lowered = jax.jit(function).lower(*arguments)
    begin = time.perf_counter()
    compiled = lowered.compile()
    seconds = time.perf_counter() - begin
    added = len(entries() - before)
    results = jax.tree.leaves(compiled(*arguments))
    digest = hashlib.sha256(b"".join(numpy.asarray(leaf).tobytes() for leaf in results)).hexdigest()
    print(json.dumps({"seconds": seconds, "added": added, "digest": digest}))


def run(contender, name, folder):
    environment = dict(os.environ, CACHE=folder, TILEWRIGHT_QUIET="1")
    if contender == "tilewright":
        environment |= {"JAX_PLATFORMS": "tilewright", "TILEWRIGHT_COMPILE_CACHE_DIR": folder}
    else:
        environment |= {"JAX_PLATFORMS": "cpu", "JAX_COMPILATION_CACHE_DIR": folder, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
                        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1"}
    done = subprocess.run([sys.executable, __file__, "--model", name], env=environment, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise SystemExit(f"{contender}, {name}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def measure(contender, name):
    with tempfile.TemporaryDirectory() as folder:
        first, second = run(contender, name, folder), run(contender, name, folder)
    if first["added"] == 0:
        raise SystemExit(f"{contender} stored nothing for {name}")
    if first["digest"] != second["digest"]:
        raise SystemExit(f"{contender}: the second run of {name} has another result than the first")
    return {"first": first["seconds"], "second": second["seconds"], "hit": second["added"] == 0}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", help="names of models")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=pathlib.Path, help="write the rows there, too")
    parser.add_argument("--model", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.model:
        return compile_model(options.model)
    sys.path.insert(0, str(ROOT))
    from bench import models

    rows = []
    print(f"{'model':28} {'ours: first':>12} {'second':>8} {'jaxlib: first':>14} {'second':>8} {'ratio of seconds':>17}")
    for name in options.only or models.MODELS:
        rounds = {"tilewright": [], "jaxlib": []}
        for _ in range(options.rounds):
            for contender, results in rounds.items():
                results.append(measure(contender, name))
        median = lambda contender, what: statistics.median(result[what] for result in rounds[contender])
        row = {"model": name, "hits": {c: sum(r["hit"] for r in rs) / len(rs) for c, rs in rounds.items()}}
        row |= {f"{contender} {what}": median(contender, what) for contender in rounds for what in ("first", "second")}
        rows.append(row)
        print(f"{name:28} {row['tilewright first']:11.3f}s {row['tilewright second']:7.3f}s {row['jaxlib first']:13.3f}s {row['jaxlib second']:7.3f}s"
              f" {row['jaxlib second'] / row['tilewright second']:17.2f}", flush=True)
    for contender in ("tilewright", "jaxlib"):
        print(f"{contender}: hit ratio {statistics.mean(row['hits'][contender] for row in rows):.2f}, second run "
              f"{sum(row[f'{contender} first'] for row in rows) / sum(row[f'{contender} second'] for row in rows):.1f} times faster than the first")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
