"""Compiles every row of the table with jaxlib and keeps its collectives in jaxlib.json. Takes minutes; run once per jaxlib version.

    python test/jax/distribution/measure_jaxlib.py [ROW …]
"""

import datetime
import json
import pathlib
import shutil
import sys
import tempfile
import time

import collectives
import jaxlib
import lowering

RESULTS = pathlib.Path(__file__).with_name("jaxlib.json")


def compile_with_jaxlib(lowered, devices=8):
    """(collectives after the SPMD partitioner, collectives of the final program, seconds)"""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="jaxlib-"))
    try:
        start = time.perf_counter()
        compiled = lowered.compile(
            compiler_options={"xla_dump_to": str(folder), "xla_dump_hlo_pass_re": "spmd-partitioning"}
        )
        seconds = time.perf_counter() - start
        (after,) = folder.glob("*after_spmd-partitioning*.txt")
        texts = after.read_text(), compiled.as_text()
        return *(collectives.of_hlo(text, devices) for text in texts), seconds
    finally:
        shutil.rmtree(folder)


def main():
    names = sys.argv[1:]
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"rows": {}}
    kept["jaxlib"], kept["date"] = jaxlib.__version__, str(datetime.date.today())
    kept["flags"] = "XLA:CPU, 8 devices, f32"
    for name, part, lowered in lowering.lower_all(names):
        partitioned, final, seconds = compile_with_jaxlib(lowered)
        row = kept["rows"].setdefault(name, {})
        row[part] = {"partitioned": partitioned.to_json(), "final": final.to_json(), "seconds": round(seconds, 2)}
        print(f"{name} {part}: {seconds:.1f} s, {partitioned.wire:,} B: {partitioned}; final {final.wire:,} B: {final}", flush=True)
        RESULTS.write_text(_text(kept))


def _text(kept):
    """One line for each program."""
    head = {key: value for key, value in kept.items() if key != "rows"}
    rows = [
        f"  {json.dumps(name)}: {{\n"
        + ",\n".join(f"   {json.dumps(part)}: {json.dumps(value)}" for part, value in parts.items())
        + "\n  }"
        for name, parts in kept["rows"].items()
    ]
    return json.dumps(head, indent=1)[:-2] + ',\n "rows": {\n' + ",\n".join(rows) + "\n }\n}\n"


if __name__ == "__main__":
    main()
