"""Prints what a device sends: our programs, XLA's, and what a good partitioner needs.

    python test/jax/distribution/table.py [ROW …] [--details] [--times] [--keep]

XLA's column comes from jaxlib.json. --details lists the collectives, --times measures compilation with both compilers in this run,
and --keep lowers the bounds in reached.json, which test_wire.py holds, to what is reached now.
"""

import argparse
import json
import pathlib
import re
import subprocess
import tempfile

import anchors
import collectives
import lowering
import micros

HERE = pathlib.Path(__file__).parent
REACHED = HERE / "reached.json"
RANDOM = ("random_programs", "random_programs_of_axes")  # the rows of random_wire.py


def jaxlib_rows():
    """Of each row the smaller of two counts: after the SPMD partitioner, and of the final program."""
    kept = json.loads((HERE / "jaxlib.json").read_text())["rows"]
    both = []
    for stage in ("partitioned", "final"):
        counts = {
            name: {part: collectives.from_json(value[stage]) for part, value in parts.items()}
            for name, parts in kept.items()
        }
        both.append(lowering.rows_of(counts))
    return {name: min((rows[name] for rows in both), key=lambda row: row[0].wire) for name in kept}


def good_wire(name):
    if name in anchors.ANCHORS:
        return collectives.Counts(anchors.ANCHORS[name].good).wire
    return round(micros.MICROS[name].enough)


def bounds_of(rows):
    """What reached.json keeps: the wire bytes of a layer and of the rest of its program, or of a micro-program."""
    return {name: [counted.wire] + ([rest.wire] if rest else []) for name, (counted, rest) in rows.items()}


def ratio(ours, other):
    return f"{ours / other:6.2f}" if other else "  1.00" if ours == other else "   inf"


def print_table(ours, with_details):
    theirs = jaxlib_rows()
    print(f"{'wire bytes of one device':52}{'ours':>12}{'XLA':>12}{'good':>12}{'/XLA':>7}{'/good':>7}{'outside':>12}{'XLA':>12}")
    for name, (counted, rest) in ours.items():
        title = f"{name}: {anchors.ANCHORS[name].title}, a layer" if rest else name
        xla, xla_rest = theirs[name]
        wires = [counted.wire, xla.wire, good_wire(name)]
        line = f"{title:52}" + "".join(f"{wire:12,}" for wire in wires) + f" {ratio(*wires[:2])} {ratio(wires[0], wires[2])}"
        print(line + (f"{rest.wire:12,}{xla_rest.wire:12,}" if rest else ""))
        if with_details:
            print(f"    ours {counted}\n    XLA  {xla}")
            if rest:
                print(f"    good {collectives.Counts(anchors.ANCHORS[name].good)}\n    outside of layers, ours {rest}\n                       XLA  {xla_rest}")


def print_times(names):
    """Compiles the larger program of each anchor with both compilers, each three times; prints the fastest."""
    import measure_jaxlib

    print(f"\n{'seconds to compile':52}{'ours':>8}{'divide':>8}{'share':>7}{'jaxlib':>8}{'faster':>8}")
    for name, anchor in anchors.ANCHORS.items():
        if names and name not in names:
            continue
        ours, theirs = [], []
        for _ in range(3):
            # JAX keeps what it compiled, so lower again.
            lowered = lowering.lower_anchor(anchor, anchor.layers[1])
            ours.append(compile_with_tilewright(lowered))
            theirs.append(measure_jaxlib.compile_with_jaxlib(lowered)[2])
        (whole, divide), jaxlib = min(ours), min(theirs)
        print(f"{name:52}{whole:8.2f}{divide:8.3f}{divide / whole:7.1%}{jaxlib:8.2f}{jaxlib / whole:7.1f}x")


def compile_with_tilewright(lowered):
    """(seconds of all stages, seconds of the stage that divides)"""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "program.mlirbc"
        file.write_bytes(lowering.artifact_of(lowered))
        said = subprocess.run(
            [lowering.TOOLS / "tilewright", "compile", file, "--report", f"--output={folder}/program.twx"],
            capture_output=True, text=True, check=True, timeout=300,
        ).stdout  # fmt: skip
    stages = dict(re.findall(r"^(\w+) +(\d+\.\d+)", said, re.M))
    return float(stages["all"]), float(stages["distribute"])


def keep(ours):
    """Lowers bounds. A bound that is exceeded stays: raising it takes an editor and a reason."""
    import random_wire

    reached = json.loads(REACHED.read_text()) if REACHED.exists() else {}
    kinds = zip(RANDOM, (random_wire.RandomProgram, random_wire.ProgramOfAxes))
    random = {name: random_wire.bounds(random_wire.compare(kind, range(random_wire.SAMPLE))) for name, kind in kinds}
    for name, now in (bounds_of(ours) | random).items():
        before = reached.get(name, now)
        reached[name] = [min(pair) for pair in zip(before, now)]
    lines = [f" {json.dumps(name)}: {json.dumps(reached[name])}" for name in (*anchors.ANCHORS, *micros.MICROS, *RANDOM)]
    REACHED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", nargs="*", help="all, if none is named")
    parser.add_argument("--details", action="store_true")
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    ours = lowering.count_ours(arguments.rows)
    print_table(ours, arguments.details)
    if arguments.keep:
        keep(ours)
    if arguments.times:
        print_times(arguments.rows)


if __name__ == "__main__":
    main()
