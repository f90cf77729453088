"""Random sharded programs: what a device sends in ours and in jaxlib's.

    python test/jax/distribution/random_wire.py [--programs 500]     # compares with what jaxlib sent, from random_jaxlib.json
    python test/jax/distribution/random_wire.py --measure            # compiles those that are not kept yet with jaxlib; minutes
    python test/jax/distribution/random_wire.py --show 17            # one program: source, shardings, collectives of both
    python test/jax/distribution/random_wire.py --axes               # the same for 200 programs on meshes of two and three axes

Programs, meshes of 2, 4 and 8 devices and shardings of parameters and of some results are drawn from the number of the
program. Results without a sharding are left to each compiler. Programs for several axes also have chains of ops on partial sums.
"""

import argparse
import dataclasses
import datetime
import hashlib
import json
import pathlib
import random
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import lowering  # noqa: E402  isort: skip, sets the number of devices before jax starts
import collectives  # noqa: E402
import jax  # noqa: E402
import jaxlib  # noqa: E402
import numpy as np  # noqa: E402
import random_chains  # noqa: E402
import random_programs  # noqa: E402
import random_sharded_rules  # noqa: E402
from dividing import MESHES, draw_cut  # noqa: E402
from jax.sharding import AxisType, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

SAMPLE = 40  # of them, with every change
SIZES = (8, 16, 32, 8, 4, 2, 64, 6)


class RandomProgram:
    kept_in = HERE / "random_jaxlib.json"
    count = 500

    def __init__(self, number):
        rng = random.Random(f"wire/{number}")
        self.number = number
        self.program = random_programs.seeded_program(f"wire/{number}", SIZES, random_sharded_rules.RULES)
        self.mesh = rng.choice(MESHES[rng.choice((2, 4, 8))])
        self.kept = sorted(rng.sample(range(len(self.program.lines)), min(len(self.program.lines), rng.randint(1, 3))))
        self.draw_shardings(rng, is_batch=rng.random() < 0.5)

    def draw_shardings(self, rng, is_batch):
        self.inputs = [draw_cut(rng, self.mesh, spec.shape, 0.8, is_batch) for spec in self.program.inputs]
        outputs = [self.program.outputs[k] for k in self.kept]
        self.results = [draw_cut(rng, self.mesh, spec.shape, 0.5) if rng.random() < 0.5 else None for spec in outputs]

    def lower(self):
        names = tuple(f"a{i}" for i in range(len(self.mesh)))
        count = int(np.prod(self.mesh))
        mesh = jax.make_mesh(self.mesh, names, axis_types=(AxisType.Auto,) * len(names), devices=jax.devices()[:count])

        def sharding(cut):
            return None if cut is None else NamedSharding(mesh, P(*[tuple(names[a] for a in axes) or None for axes in cut.dims]))

        function, kept = self.program.function(), self.kept
        with jax.enable_x64(True):
            jitted = jax.jit(
                lambda *a: [function(*a)[k] for k in kept], keep_unused=True,
                in_shardings=tuple(map(sharding, self.inputs)), out_shardings=[sharding(cut) for cut in self.results],
            )  # fmt: skip
            return jitted.lower(*(jax.ShapeDtypeStruct(s.shape, s.dtype) for s in self.program.inputs))

    def source(self):
        lines = [line for k in self.kept for line in self.program.needed(f"v{len(self.program.inputs) + k}")]
        wanted = dataclasses.replace(self.program, lines=tuple(line for line in self.program.lines if line in lines))
        return "\n".join([
            f"mesh {self.mesh}", *(f"v{i}: {s.dtype}{list(s.shape)} by axes {cut.dims}" for i, (s, cut) in enumerate(zip(self.program.inputs, self.inputs))),
            *wanted.lines,
            f"return {', '.join(f'v{len(self.program.inputs) + k}' for k in self.kept)} by axes {[cut and cut.dims for cut in self.results]}",
        ])  # fmt: skip


class ProgramOfAxes(RandomProgram):
    """On a mesh of several axes, with sums that stay open. The last value, on which most others depend, is always a result."""

    kept_in = HERE / "random_jaxlib_axes.json"
    count = 200

    def __init__(self, number):
        rng = random.Random(f"axes/{number}")
        self.number = number
        rules = random_sharded_rules.RULES + random_chains.RULES
        self.program = random_programs.seeded_program(f"axes/{number}", SIZES, rules)
        self.mesh = rng.choice(((2, 2), (2, 4), (4, 2), (2, 2, 2)))
        last = len(self.program.lines) - 1
        self.kept = sorted([*rng.sample(range(last), min(last, rng.randint(0, 2))), last])
        self.draw_shardings(rng, is_batch=rng.random() < 0.3)


def digest(text):
    """Recognises a program that another version of the generator drew."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def measure(kind, count):
    """Compiles the programs that are not kept yet, in processes of their own: some abort XLA, or it refuses them; both are kept as null."""
    kept = json.loads(kind.kept_in.read_text())["programs"] if kind.kept_in.exists() else {}
    while len(kept) < count:
        axes = ["--axes"] * (kind is ProgramOfAxes)
        worker = subprocess.Popen(
            [sys.executable, __file__, *axes, "--programs", str(count), "--measure-from", str(len(kept))],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        for line in worker.stdout:
            number, *row = json.loads(line)
            kept[str(number)] = row or None
        if (status := worker.wait()) > 0:
            raise RuntimeError(f"cannot lower program {len(kept)}: exit status {status}")
        if status < 0:
            print(f"jaxlib aborts on program {len(kept)}", flush=True)
            kept[str(len(kept))] = None
        keep(kind, kept)


def keep(kind, kept):
    head = f' "jaxlib": "{jaxlib.__version__}",\n "date": "{datetime.date.today()}",\n'
    rows = ",\n".join(f'  "{number}": {json.dumps(row)}' for number, row in kept.items())
    kind.kept_in.write_text(f'{{\n{head} "programs": {{\n{rows}\n }}\n}}\n')


def measure_from(kind, first, count):
    """Prints a line for each program: its number, its digest, and the wire bytes after the partitioner and of the final program."""
    import measure_jaxlib

    for number in range(first, count):
        drawn = kind(number)
        lowered = drawn.lower()
        try:
            partitioned, final, _ = measure_jaxlib.compile_with_jaxlib(lowered, int(np.prod(drawn.mesh)))
        except jax.errors.JaxRuntimeError:
            print(json.dumps([number]), flush=True)
            continue
        print(json.dumps([number, digest(drawn.source()), partitioned.wire, final.wire]), flush=True)


def compare(kind, numbers):
    """[(number, our wire bytes, jaxlib's)] of the programs that jaxlib compiled, the smaller of its two counts."""
    kept, rows = json.loads(kind.kept_in.read_text())["programs"], []
    for number in numbers:
        drawn, row = kind(number), kept.get(str(number))
        if row is None:
            continue
        if row[0] != digest(drawn.source()):
            raise RuntimeError(f"program {number} is not the one that jaxlib compiled: run {__file__} --measure")
        rows.append((number, collectives.of_module(lowering.divide(drawn.lower())).wire, min(row[1:])))
    return rows


def bounds(rows):
    """What reached.json keeps of the sample: the number of programs that send more than jaxlib's, and the bytes of all."""
    return [sum(ours > theirs for _, ours, theirs in rows), sum(ours for _, ours, _ in rows)]


def show(kind, number):
    import measure_jaxlib

    drawn = kind(number)
    lowered = drawn.lower()
    ours = collectives.of_module(lowering.divide(lowered))
    partitioned, final, _ = measure_jaxlib.compile_with_jaxlib(lowered, int(np.prod(drawn.mesh)))
    print(drawn.source())
    for name, counts in (("ours", ours), ("XLA, partitioned", partitioned), ("XLA, final", final)):
        print(f"{name}: {counts.wire:,} B: {counts}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--axes", action="store_true")
    parser.add_argument("--programs", type=int)
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--measure-from", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--show", type=int)
    arguments = parser.parse_args()
    kind = ProgramOfAxes if arguments.axes else RandomProgram
    count = arguments.programs or kind.count
    if arguments.show is not None:
        return show(kind, arguments.show)
    if arguments.measure:
        return measure(kind, count)
    if arguments.measure_from is not None:
        return measure_from(kind, arguments.measure_from, count)
    rows = compare(kind, range(count))
    worse = sorted((row for row in rows if row[1] > row[2]), key=lambda row: row[2] - row[1])
    print(f"{len(rows)} programs: {sum(r[1] for r in rows):,} bytes of wire, jaxlib {sum(r[2] for r in rows):,}; "
          f"less in {sum(r[1] < r[2] for r in rows)}, as many in {sum(r[1] == r[2] for r in rows)}, more in {len(worse)}")  # fmt: skip
    for number, ours, theirs in worse:
        print(f"  program {number}: {ours:,}, jaxlib {theirs:,}")


if __name__ == "__main__":
    main()
