"""Programs sharded over devices: random shardings on a random mesh, the program of one device, and its run on all of them."""

import collections
import dataclasses
import re
import subprocess

import evaluator
import ml_dtypes
import numpy as np

OPT = evaluator.TOOL.parent / "tilewright-opt"
COLLECTIVE = r"stablehlo\.(all_\w+|reduce_scatter|collective_\w+)"
MESHES = {2: [(2,)], 4: [(4,), (2, 2)], 8: [(8,), (2, 4), (2, 2, 2)]}


@dataclasses.dataclass
class Parts:
    """A mesh whose axes are parts of the axes of another mesh: (axis, product of the parts before it, size, size of the axis)."""

    parts: list

    @classmethod
    def whole(cls, mesh):
        return cls([(axis, 1, size, size) for axis, size in enumerate(mesh)])

    @classmethod
    def draw(cls, rng, mesh):
        """Divides the axes that can be divided."""
        parts = []
        for axis, size in enumerate(mesh):
            first = rng.choice([k for k in (2, 4) if k < size and size % k == 0] or [size])
            parts += [(axis, 1, first, size), (axis, first, size // first, size)][: 1 + (first < size)]
        return cls(parts)

    def mesh(self):
        return tuple(size for _, _, size, _ in self.parts)

    def names(self, numbers):
        """The parts with these numbers as sdy writes them: neighbours are one part."""
        merged = []
        for axis, before, size, whole in (self.parts[number] for number in numbers):
            if merged and merged[-1][0] == axis and merged[-1][1] * merged[-1][2] == before:
                merged[-1][2] *= size
            else:
                merged.append([axis, before, size, whole])
        return [f'"a{axis}"' + ("" if size == whole else f":({before}){size}") for axis, before, size, whole in merged]


@dataclasses.dataclass
class Cut:
    """The mesh axes of each dimension, by number."""

    mesh: tuple
    dims: list
    order: tuple | None = None  # the device at each place of the mesh, if not in order
    parts: Parts | None = None  # if `mesh` consists of parts of axes

    def count(self, dim):
        return int(np.prod([self.mesh[axis] for axis in self.dims[dim]], dtype=np.int64))

    def piece(self, array, device):
        place = np.unravel_index(self.order.index(device) if self.order else device, self.mesh)
        for dim, axes in enumerate(self.dims):
            position = 0
            for axis in axes:
                position = position * self.mesh[axis] + int(place[axis])
            array = np.split(array, self.count(dim), axis=dim)[position]
        return array

    def text(self):
        parts = self.parts or Parts.whole(self.mesh)
        dims = ["{" + ", ".join(parts.names(axes)) + "}" for axes in self.dims]
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


def with_shardings(text, mesh, inputs, results, order=None):
    """Adds a mesh to the program, and shardings to the signature of its main function."""
    axes = ", ".join(f'"a{i}"={size}' for i, size in enumerate(mesh))
    devices_in_order = f", device_ids={list(order)}" if order else ""
    devices = int(np.prod(mesh))
    text = re.sub(r"mhlo.num_partitions = 1 : i32", f"mhlo.num_partitions = {devices} : i32", text, count=1)
    head, signature, rest = re.match(r"(.*?)(  func\.func public @main\(.*?\{\n)(.*)", text, re.S).groups()
    arguments, types = re.match(r"  func\.func public @main\((.*)\) -> \(?(.*?)\)? \{\n", signature, re.S).groups()
    arguments = re.findall(r"(%arg\d+: tensor<[^ ,]*>)", arguments)
    types = re.findall(r"(tensor<[^ ]*>) \{jax", types)
    assert len(arguments) == len(inputs) and len(types) == len(results), signature
    arguments = ", ".join(f"{argument} {cut.text()}" for argument, cut in zip(arguments, inputs))
    types = ", ".join(f"{type} {cut.text()}" for type, cut in zip(types, results))
    return f"{head}  sdy.mesh @mesh = <[{axes}]{devices_in_order}>\n  func.func public @main({arguments}) -> ({types}) {{\n{rest}"


def with_constraints(text, parts, rng, chance):
    """Constrains some values of the main function to random shardings.

    Dimensions need not be divisible, some are open, and along some axes the value is to be a partial sum.
    """
    head, body = re.match(r"(.*?  func\.func public @main\(.*?\{\n)(.*)", text, re.S).groups()
    lines = body.split("\n")
    for at in range(len(lines) - 1, -1, -1):
        made = re.fullmatch(r"    (%\w+) = .*?[ >](tensor<((?:\d+x)*)\w+>)", lines[at])
        if not made or rng.random() >= chance or lines[at + 1].startswith("     reducer("):
            continue
        value, type, shape = made.groups()
        dims, unreduced = [[] for _ in shape.split("x")[:-1]], []
        may_be_sum = rng.random() < 0.2
        for axis in rng.sample(range(len(parts.parts)), len(parts.parts)):
            if may_be_sum and rng.random() < 0.3:
                unreduced.append(axis)
            elif dims and rng.random() < 0.7:
                rng.choice(dims).append(axis)
        named = [parts.names(dim) + ["?"] * (rng.random() < 0.1) for dim in dims]
        axes = "[" + ", ".join("{" + ", ".join(dim) + "}" for dim in named) + "]"
        if unreduced:
            axes += f", unreduced={{{', '.join(parts.names(sorted(unreduced)))}}}"
        rest = re.sub(rf"{value}(?![\w#:])", f"%constrained{at}", "\n".join(lines[at + 1 :]))
        lines[at + 1 :] = [f"    %constrained{at} = sdy.sharding_constraint {value} <@mesh, {axes}> : {type}", *rest.split("\n")]
    return head + "\n".join(lines)


class Case:
    """A program as an artifact for one device; `outputs` are (shape, dtype) of its results."""

    def __init__(self, name, artifact, arguments, outputs, folder, rng):
        self.name, self.arguments, self.outputs, self.folder, self.rng = name, arguments, outputs, folder, rng
        file = folder / f"{name}.mlirbc"
        file.write_bytes(artifact)
        self.text = subprocess.run(
            [evaluator.TOOL, "print", file], capture_output=True, text=True, check=True, timeout=60
        ).stdout
        for i, array in enumerate(arguments):
            np.save(folder / f"{name}.in{i}.npy", array)

    def whole(self):
        """A line of a batch that computes everything on one device."""
        return self._line(f"{self.name}.mlirbc", [f"{self.name}.in{i}.npy" for i in range(len(self.arguments))], self.name)

    def shard(self, mesh):
        """Draws shardings on the mesh and writes the program with them. Returns the passes that divide it."""
        devices = int(np.prod(mesh))
        self.mesh, self.part = mesh, f"{self.name}-{devices}"
        # Half of the programs shard the batch: then most ops have operands with the same sharding.
        is_batch = self.rng.random() < 0.5
        parts = Parts.draw(self.rng, mesh) if self.rng.random() < 0.3 else Parts.whole(mesh)
        self.cuts = [draw_cut(self.rng, parts.mesh(), a.shape, 0.8, is_batch) for a in self.arguments]
        self.results = [draw_cut(self.rng, parts.mesh(), shape, 0.3) for shape, _ in self.outputs]
        order = tuple(self.rng.sample(range(devices), devices)) if self.rng.random() < 0.25 else None
        if order == tuple(range(devices)):
            order = None  # sdy does not write this
        for cut in (*self.cuts, *self.results):
            cut.order, cut.parts = order, parts
        text = with_shardings(self.text, mesh, self.cuts, self.results, order)
        text = with_constraints(text, parts, self.rng, self.rng.choice([0, 0.2]))
        self.whole_file().write_text(re.sub(r"^module(?: @\S+)?", f"module @{self._symbol()}", text, count=1, flags=re.M))
        # The whole phase simplifies first; without that, more ops are divided.
        return self.rng.choice([("--distribute",), ("--simplify-inline", "--distribute-split")])

    def whole_file(self):
        return self.folder / f"{self.part}.whole.mlir"

    def _symbol(self):
        return "case_" + re.sub(r"\W", "_", self.part)

    def take(self, programs):
        """A line of a batch that computes the program of one device, from `programs` by symbol, on all devices; None if it is missing."""
        text = programs.get(self._symbol())
        if text is None:
            return None
        (self.folder / f"{self.part}.mlir").write_text(text)
        self.collectives = collections.Counter(re.findall(COLLECTIVE, text))
        inputs = []
        for i, (cut, array) in enumerate(zip(self.cuts, self.arguments)):
            for device in range(int(np.prod(self.mesh))):
                np.save(self.folder / f"{self.part}.in{i}.rank{device}.npy", cut.piece(array, device))
            inputs.append(f"{self.part}.in{i}.rank{{rank}}.npy")
        return self._line(f"{self.part}.mlir", inputs, self.part)

    def answers(self):
        """For each device: its result, and the shard of one device's result that it should be.

        - FileNotFoundError: a program did not run.
        """
        whole = [self._load(f"{self.name}.out{i}", dtype) for i, (_, dtype) in enumerate(self.outputs)]
        devices = int(np.prod(self.mesh))
        for device in range(devices):
            got = [
                self._load(f"{self.part}.outrank{device}-{i}", dtype)
                for i, (_, dtype) in enumerate(self.outputs)
            ]
            yield device, got, [cut.piece(array, device) for cut, array in zip(self.results, whole)]

    def _line(self, program, inputs, prefix):
        return " ".join(str(self.folder / file) for file in (program, *inputs)) + f" -> {self.folder / prefix}.out"

    def _load(self, name, dtype):
        array = np.load(self.folder / f"{name}.npy")
        return array.view(dtype) if array.dtype.kind == "V" else array


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, name))


def run_batch(folder, name, lines, devices):
    batch = folder / f"{name}.txt"
    batch.write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        [evaluator.TOOL, "run", f"--partitions={devices}", f"--batch={batch}"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1800,
    )  # fmt: skip
    return done.stdout + done.stderr


def divide(cases, passes):
    """The programs of one device, by symbol, and what the tool said. One process divides many programs."""
    done = subprocess.run(
        [OPT, "-", "--split-input-file", *passes, "--remark-policy=all", "--remarks-filter=distribute", "--remark-format=emitRemark"],
        input="\n// -----\n".join(case.whole_file().read_text() for case in cases), capture_output=True, text=True, timeout=60 + 10 * len(cases),
    )  # fmt: skip
    programs = {}
    for text in done.stdout.split("// -----"):
        if name := re.search(r"^module @(\w+)", text, re.M):
            programs[name[1]] = text
    return programs, done.stderr


def compare(cases, folder, judge):
    """Runs every case on one device and on 2, 4 and 8. `judge(case, device, got, wanted)` describes what is wrong.

    Returns (what is wrong, collectives of all programs, ops that every device computes whole, number of runs).
    """
    run_batch(folder, "whole", [case.whole() for case in cases], 1)
    wrong, collectives, replicated, runs = [], collections.Counter(), collections.Counter(), 0
    for devices, meshes in MESHES.items():
        lines, running, by_passes = [], [], collections.defaultdict(list)
        for number, case in enumerate(cases):
            by_passes[case.shard(meshes[number % len(meshes)])].append(case)
        for passes, group in by_passes.items():
            programs, said = divide(group, passes)
            replicated.update(re.findall(r'Remark="(\S+) is replicated on each', said))
            for case in group:
                line = case.take(programs)
                if line is None:
                    wrong.append(f"{case.name} on {case.mesh}, {case.whole_file()}: {divide([case], passes)[1]}")
                    continue
                lines.append(line)
                running.append(case)
                collectives += case.collectives
        said = run_batch(folder, f"on{devices}", lines, devices)
        for case in running:
            runs += 1
            try:
                words = [judge(case, *answer) for answer in case.answers()]
            except FileNotFoundError as error:
                words = [f"no output: {error}\n{said[-800:]}"]
            if word := next(filter(None, words), None):
                wrong.append(f"{case.name} on {case.mesh}, {case.whole_file()}: {word}")
    return wrong, collectives, replicated, runs
