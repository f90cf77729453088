"""Random programs of four ranks that verify-comm calls proven do not deadlock in the evaluator.

The evaluator runs all ranks and detects when they wait for each other. It shares no code with the analysis of what choices
depend on, so a value that the analysis wrongly considers equal on all ranks is found here. VERIFY_COMM_PROGRAMS=1000 for more.
"""

import os
import pathlib
import random
import subprocess

TOOL = pathlib.Path(os.environ["TILEWRIGHT_BUILD_DIR"]) / "bin" / "tilewright"
COUNT = int(os.environ.get("VERIFY_COMM_PROGRAMS", "16"))
GROUPS = {"model": [[0, 1], [2, 3]], "data": [[0, 2], [1, 3]], "all": [[0, 1, 2, 3]], "odd": [[0, 3], [1, 2]]}


class Program:
    """Generates scalars of f32 that depend on the rank or not, through sums, branches and loops."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = 0
        self.channel = 0
        self.collectives = 0

    def name(self):
        self.names += 1
        return f"%v{self.names}"

    def text(self):
        lines, values = [], ["%x"] * 4
        for divisor, modulus in ((1, 4), (2, 2), (1, 2)):
            values.append(self.rank_number(lines, divisor, modulus))
        result = self.block(lines, values, 0, 6)
        body = "\n".join(lines)
        return f"""
module attributes {{mhlo.num_partitions = 4 : i32}} {{
  sdy.mesh @mesh = <["data"=2, "model"=2]>
  func.func @main(%x: tensor<f32>) -> tensor<f32> {{
    %me = stablehlo.partition_id : tensor<ui32>
{body}
    return {result} : tensor<f32>
  }}
}}
"""

    def rank_number(self, lines, divisor, modulus):
        d, m, q, r, f = (self.name() for _ in range(5))
        lines += [
            f"{d} = stablehlo.constant dense<{divisor}> : tensor<ui32>",
            f"{m} = stablehlo.constant dense<{modulus}> : tensor<ui32>",
            f"{q} = stablehlo.divide %me, {d} : tensor<ui32>",
            f"{r} = stablehlo.remainder {q}, {m} : tensor<ui32>",
            f"{f} = stablehlo.convert {r} : (tensor<ui32>) -> tensor<f32>",
        ]
        return f

    def constant(self, lines, value, type_="f32"):
        name = self.name()
        lines.append(f"{name} = stablehlo.constant dense<{value}> : tensor<{type_}>")
        return name

    def block(self, lines, values, depth, size):
        """Adds some ops; returns the last value."""
        values = list(values)
        for _ in range(self.random.randint(1, size)):
            kinds = ["arithmetic", "collective", "collective", "branch", "loop"]
            kind = self.random.choice(kinds if depth < 2 else kinds[:3])
            values.append(getattr(self, kind)(lines, values, depth))
        return values[-1]

    def arithmetic(self, lines, values, depth):
        name = self.name()
        op = self.random.choice(["add", "subtract", "maximum", "minimum"])
        lines.append(f"{name} = stablehlo.{op} {self.random.choice(values)}, {self.random.choice(values)} : tensor<f32>")
        return name

    def collective(self, lines, values, depth):
        self.channel += 1
        self.collectives += 1
        name, groups = self.name(), GROUPS[self.random.choice(list(GROUPS))]
        op = self.random.choice(["add", "maximum"])
        a, b, s = self.name(), self.name(), self.name()
        lines.append(
            f'{name} = "stablehlo.all_reduce"({self.random.choice(values)}) <{{use_global_device_ids, '
            f"channel_handle = #stablehlo.channel_handle<handle = {self.channel}, type = 1>, "
            f"replica_groups = dense<{groups}> : tensor<{len(groups)}x{len(groups[0])}xi64>}}> ({{\n"
            f"^bb0({a}: tensor<f32>, {b}: tensor<f32>):\n{s} = stablehlo.{op} {a}, {b} : tensor<f32>\n"
            f"stablehlo.return {s} : tensor<f32>\n}}) : (tensor<f32>) -> tensor<f32>"
        )
        return name

    def branch(self, lines, values, depth):
        name, flag = self.name(), self.name()
        limit = self.constant(lines, f"{self.random.choice([0.5, 1.5, 2.5])}")
        value = self.random.choice(values)
        lines.append(f"{flag} = stablehlo.compare LT, {value}, {limit} : (tensor<f32>, tensor<f32>) -> tensor<i1>")
        arms = []
        for _ in range(2):
            inner = []
            result = self.block(inner, values, depth + 1, 2)
            arms.append("\n".join(inner) + f"\nstablehlo.return {result} : tensor<f32>")
        lines.append(f'{name} = "stablehlo.if"({flag}) ({{\n{arms[0]}\n}}, {{\n{arms[1]}\n}}) : (tensor<i1>) -> tensor<f32>')
        return name

    def loop(self, lines, values, depth):
        """A loop with a trip count from some value, at most three."""
        name, i, v, more, one, following = (self.name() for _ in range(6))
        most = self.random.choice([f"{self.random.randint(0, 3)}", None])
        if most is None:
            low, high = self.constant(lines, "0.0"), self.constant(lines, "3.0")
            most = self.name()
            lines.append(f"{most} = stablehlo.clamp {low}, {self.random.choice(values)}, {high} : tensor<f32>")
        else:
            most = self.constant(lines, f"{most}.0")
        begin, inner = self.constant(lines, "0.0"), []
        result = self.block(inner, [*values, v], depth + 1, 2)
        body = "\n".join(inner)
        lines.append(
            f"{name}:2 = stablehlo.while({i} = {begin}, {v} = {self.random.choice(values)}) : tensor<f32>, tensor<f32>\n"
            f"cond {{\n{more} = stablehlo.compare LT, {i}, {most} : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
            f"stablehlo.return {more} : tensor<i1>\n}} do {{\n{body}\n{one} = stablehlo.constant dense<1.0> : tensor<f32>\n"
            f"{following} = stablehlo.add {i}, {one} : tensor<f32>\nstablehlo.return {following}, {result} : tensor<f32>, tensor<f32>\n}}"
        )
        return f"{name}#1"


def test_what_is_proven_does_not_deadlock(tmp_path):
    proven = refused = deadlocks = 0
    seed = int(os.environ.get("VERIFY_COMM_SEED", "0")) * 1_000_000
    file, dump = tmp_path / "p.mlir", tmp_path / "dump"
    while proven + refused < COUNT:
        seed += 1
        program = Program(seed)
        file.write_text(program.text())
        if program.collectives < 2:
            continue
        verdict = subprocess.run(
            [TOOL, "verify-comm", file], capture_output=True, text=True, timeout=120,
            env=dict(os.environ, TILEWRIGHT_COMPILE_DUMP_DIR=str(dump)),
        )  # fmt: skip
        assert verdict.returncode in (0, 7), f"seed {seed}: {verdict.stderr}"
        # The proof is of the collectives that are left: those whose results nothing uses are gone.
        left = dump / "03-communicate.mlir" if verdict.returncode == 0 else file
        runs = [
            subprocess.run([TOOL, "run", left, "--partitions=4", f"--input=f32={x}"], capture_output=True, text=True, timeout=120)
            for x in (0.0, 2.0)
        ]
        stuck = [run for run in runs if run.returncode]
        for run in stuck:
            assert "E3009" in run.stderr, f"seed {seed}: {run.stderr}"
        if verdict.returncode == 0:
            proven += 1
            assert not stuck, f"seed {seed} was proven: {stuck[0].stderr}"
        else:
            refused += 1
            deadlocks += bool(stuck)
    print(f"{proven} proven, {refused} refused, of which {deadlocks} deadlock with one of two inputs")
    assert proven > COUNT / 5 and refused > COUNT / 10 and deadlocks > 0
