"""Random programs, divided over 2, 4 and 8 devices, and equal to what one device computes within their own bounds.

    pytest test/jax/test_random_split.py --programs 2000 --seed 7

Parameters get random shardings on a random mesh, some results too. `distribute-split` makes of each the program of one
device, and the evaluator runs it on all devices at a time, which exchange what its collectives say. One device, the whole
program, is the judge. Sums over what is divided are taken in another order, which the bounds of a value allow for
(random_programs.py); what is exact stays exact.
"""

import collections
import dataclasses
import itertools
import os
import random
import re
import subprocess

import artifacts  # noqa: F401, sets jax up
import conftest
import evaluator
import jax
import ml_dtypes
import numpy as np
import pytest
import random_programs
from jax import export
from test_random_programs import disagreement

OPT = evaluator.TOOL.parent / "tilewright-opt"
MESHES = {2: [(2,)], 4: [(4,), (2, 2)], 8: [(8,), (2, 4), (2, 2, 2)]}
SIZES = (8, 16, 4, 8, 2, 3, 1)  # most come out even


@dataclasses.dataclass
class Cut:
    """The axes of each dimension, by number."""

    mesh: tuple
    dims: list

    def count(self, dim):
        return int(np.prod([self.mesh[axis] for axis in self.dims[dim]], dtype=np.int64))

    def piece(self, array, device):
        place = np.unravel_index(device, self.mesh)
        for dim, axes in enumerate(self.dims):
            position = 0
            for axis in axes:
                position = position * self.mesh[axis] + int(place[axis])
            array = np.split(array, self.count(dim), axis=dim)[position]
        return array

    def text(self):
        dims = ["{" + ", ".join(f'"a{axis}"' for axis in axes) + "}" for axes in self.dims]
        return f"{{sdy.sharding = #sdy.sharding<@mesh, [{', '.join(dims)}]>}}"


def draw_cut(rng, mesh, shape, chance, is_batch=False):
    cut = Cut(mesh, [[] for _ in shape])
    if is_batch and shape and shape[0] % int(np.prod(mesh)) == 0:
        cut.dims[0] = list(range(len(mesh)))
        return cut
    for axis in rng.sample(range(len(mesh)), len(mesh)):
        if shape and rng.random() < chance:
            dim = rng.randrange(len(shape))
            cut.dims[dim].append(axis)
            if shape[dim] % cut.count(dim):
                cut.dims[dim].pop()
    return cut


def with_shardings(text, mesh, inputs, results):
    """The program with a mesh, and shardings on the signature of its main function."""
    axes = ", ".join(f'"a{i}"={size}' for i, size in enumerate(mesh))
    devices = int(np.prod(mesh))
    text = re.sub(r"mhlo.num_partitions = 1 : i32", f"mhlo.num_partitions = {devices} : i32", text, count=1)
    head, signature, rest = re.match(r"(.*?)(  func\.func public @main\(.*?\{\n)(.*)", text, re.S).groups()
    arguments, types = re.match(r"  func\.func public @main\((.*)\) -> \(?(.*?)\)? \{\n", signature, re.S).groups()
    arguments = re.findall(r"(%arg\d+: tensor<[^ ,]*>)", arguments)
    types = re.findall(r"(tensor<[^ ]*>) \{jax", types)
    assert len(arguments) == len(inputs) and len(types) == len(results), signature
    arguments = ", ".join(f"{argument} {cut.text()}" for argument, cut in zip(arguments, inputs))
    types = ", ".join(f"{type} {cut.text()}" for type, cut in zip(types, results))
    return f"{head}  sdy.mesh @mesh = <[{axes}]>\n  func.func public @main({arguments}) -> ({types}) {{\n{rest}"


class Case:
    """A program of which the last values are asked for, whole and in pieces."""

    def __init__(self, program, seed, folder, name):
        rng = random.Random(seed)
        # The other values are used in the program alone, so that they may be divided.
        kept = sorted(rng.sample(range(len(program.lines)), min(len(program.lines), rng.randint(1, 3))))
        self.program = dataclasses.replace(program, outputs=tuple(program.outputs[i] for i in kept))
        self.source, self.folder, self.name, self.rng = program.source(), folder, name, rng
        self.kept = kept
        function = program.function()
        with jax.enable_x64(True):
            self.arguments = program.arguments()
            jitted = jax.jit(lambda *a: [function(*a)[i] for i in kept], keep_unused=True)
            exported = export.export(jitted, platforms=["cpu"])(*self.arguments)
        artifact = folder / f"{name}.mlirbc"
        artifact.write_bytes(exported.mlir_module_serialized)
        self.text = subprocess.run(
            [evaluator.TOOL, "print", artifact], capture_output=True, text=True, check=True, timeout=60
        ).stdout
        for i, array in enumerate(self.arguments):
            np.save(folder / f"{name}.in{i}.npy", array)
        (folder / f"{name}.mlir").write_text(self.text)
        self.whole_line = self.line(f"{name}.mlir", [f"{name}.in{i}.npy" for i in range(len(self.arguments))], f"{name}.out")

    def line(self, program, inputs, prefix):
        return " ".join(str(self.folder / file) for file in (program, *inputs)) + f" -> {self.folder / prefix}"

    def divide(self, mesh):
        """The program of one device, as a line for a batch; words if that failed."""
        devices = int(np.prod(mesh))
        self.mesh, name = mesh, f"{self.name}-{devices}"
        # Half of them as a batch: then most ops meet operands that are divided alike.
        is_batch = self.rng.random() < 0.5
        cuts = [draw_cut(self.rng, mesh, a.shape, 0.8, is_batch) for a in self.arguments]
        self.results = [draw_cut(self.rng, mesh, spec.shape, 0.3) for spec in self.program.outputs]
        whole = self.folder / f"{name}.whole.mlir"
        whole.write_text(with_shardings(self.text, mesh, cuts, self.results))
        done = subprocess.run(
            [OPT, whole, "--simplify-inline", "--distribute-split", "-o", self.folder / f"{name}.mlir"],
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        if done.returncode:
            return None, done.stderr
        inputs = []
        for i, (cut, array) in enumerate(zip(cuts, self.arguments)):
            for device in range(devices):
                np.save(self.folder / f"{name}.in{i}.rank{device}.npy", cut.piece(array, device))
            inputs.append(f"{name}.in{i}.rank{{rank}}.npy")
        text = (self.folder / f"{name}.mlir").read_text()
        self.collectives = collections.Counter(re.findall(r"stablehlo\.(all_\w+)", text))
        return self.line(f"{name}.mlir", inputs, f"{name}.out"), None

    def load(self, prefix, spec):
        array = np.load(self.folder / f"{prefix}.npy")
        dtype = np.dtype(getattr(ml_dtypes, spec.dtype, spec.dtype))
        return array.view(dtype) if array.dtype.kind == "V" else array

    def wrong(self, mesh):
        """What a device has that it should not; None if all is well."""
        devices = int(np.prod(mesh))
        try:
            expected = [self.load(f"{self.name}.out{i}", spec) for i, spec in enumerate(self.program.outputs)]
            for device in range(devices):
                got = [
                    self.load(f"{self.name}-{devices}.outrank{device}-{i}", spec)
                    for i, spec in enumerate(self.program.outputs)
                ]
                wanted = [cut.piece(array, device) for cut, array in zip(self.results, expected)]
                word = disagreement(self.program, dataclasses.replace(EMPTY, expected=wanted), got, "one device", f"device {device}")
                if word:
                    return word
        except FileNotFoundError as error:
            return f"no output: {error}"
        return None


EMPTY = artifacts.Case("", "", 1, b"", [], [])


def run_batch(folder, name, lines, devices):
    batch = folder / f"{name}.txt"
    batch.write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        [evaluator.TOOL, "run", f"--partitions={devices}", f"--batch={batch}"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1800,
    )  # fmt: skip
    return done.stdout + done.stderr


def test_pieces_are_what_one_device_computes(tmp_path, pytestconfig):
    seed, count = pytestconfig.getoption("--seed"), pytestconfig.getoption("--programs")
    cases = [
        Case(random_programs.seeded_program(f"split/{seed}/{i}", SIZES), f"{seed}/{i}", tmp_path, f"p{i}")
        for i in range(count)
    ]
    said = run_batch(tmp_path, "whole", [case.whole_line for case in cases], 1)
    wrong, collectives, divided = [], collections.Counter(), 0
    for devices, meshes in MESHES.items():
        lines = []
        chosen = {}
        for case, mesh in zip(cases, itertools.cycle(meshes)):
            line, failure = case.divide(mesh)
            if failure:
                wrong.append(f"{case.source}on {mesh}: {failure}")
                continue
            chosen[case.name] = mesh
            lines.append(line)
            collectives += case.collectives
        said = run_batch(tmp_path, f"on{devices}", lines, devices)
        for case in cases:
            if case.name in chosen and (word := case.wrong(chosen[case.name])):
                wrong.append(f"{case.source}{case.kept} on {chosen[case.name]}: {word}\n{said[-600:] if 'no output' in word else ''}")
                (tmp_path / f"{case.name}-{devices}.wrong").write_text(word)
            divided += 1
    pytestconfig.stash[conftest.SUMMARY] = [
        f"seed {seed}: {count} programs on 2, 4 and 8 devices, {len(wrong)} of {divided} disagree; {dict(collectives)}"
    ]
    assert collectives["all_reduce"] and collectives["all_gather"]
    if wrong:
        pytest.fail(f"seed {seed}: {len(wrong)} disagree, the first is\n{min(wrong, key=len)}\nin {tmp_path}")
