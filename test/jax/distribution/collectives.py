"""Counts the collectives of a divided program: kind, ranks in a group, bytes, and the bytes that a device puts on the wire.

    of_module(text)   our program of one device, StableHLO in generic form
    of_hlo(text)      XLA's program of one device, HLO text

Both count a collective in a loop once for each iteration. Wire bytes follow the ring algorithms, for a group of n ranks and S bytes of the whole value:

    all_reduce 2 S (n-1)/n; all_gather, reduce_scatter S (n-1)/n; all_to_all S (n-1)/n of what a device holds;
    collective_permute and collective_broadcast S of what a device holds
"""

import collections
import dataclasses
import fractions
import math
import re

SHORT = {
    "all_reduce": "AR", "all_gather": "AG", "reduce_scatter": "RS", "all_to_all": "A2A", "collective_permute": "CP",
    "collective_broadcast": "CB",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Collective:
    """Some collectives of the same kind and group size. `bytes` is the sum over all of them: of the result for an all-gather, of
    the operand for the others."""

    kind: str
    ranks: int
    count: int
    bytes: int

    @property
    def wire(self):
        if self.kind in ("collective_permute", "collective_broadcast"):
            return fractions.Fraction(self.bytes)
        return (2 if self.kind == "all_reduce" else 1) * fractions.Fraction(self.bytes * (self.ranks - 1), self.ranks)


class Counts:
    """The collectives of a program, by kind and group size. Two of them may be subtracted."""

    def __init__(self, members=()):
        self.table = collections.Counter()  # (kind, ranks) -> count
        self.sizes = collections.Counter()  # (kind, ranks) -> bytes
        for member in members:
            self.add(member)

    def add(self, member, times=1):
        # A group of one rank communicates nothing.
        if member.ranks > 1 and member.count:
            self.table[member.kind, member.ranks] += member.count * times
            self.sizes[member.kind, member.ranks] += member.bytes * times

    def include(self, other, times):
        for member in other.members():
            self.add(member, times)

    def members(self):
        return [Collective(*key, self.table[key], self.sizes[key]) for key in sorted(self.table | self.sizes)]

    @property
    def wire(self):
        return round(sum(member.wire for member in self.members()))

    def __sub__(self, other):
        difference = Counts()
        difference.table, difference.sizes = self.table.copy(), self.sizes.copy()
        difference.table.subtract(other.table)
        difference.sizes.subtract(other.sizes)
        for table in (difference.table, difference.sizes):
            for key in [key for key, value in table.items() if not value]:
                del table[key]
        return difference

    def __str__(self):
        """Such as "4 AR/8 1,572,864", with the number of ranks after the kind."""
        return "; ".join(f"{m.count} {SHORT[m.kind]}/{m.ranks} {m.bytes:,}" for m in self.members()) or "none"

    def to_json(self):
        return [[m.kind, m.ranks, m.count, m.bytes] for m in self.members()]


def from_json(rows):
    return Counts(Collective(*row) for row in rows)


# --- our programs, read with the MLIR bindings of jaxlib ---


def of_module(text):
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir

    context = mlir.make_ir_context()
    context.allow_unregistered_dialects = True  # `exec.mesh` and its kind
    with context:
        module = ir.Module.parse(text)
        main = next(op for op in module.body.operations if op.operation.name == "func.func" and op.name.value == "main")
        return _of_region(main.operation.regions[0], ir)


def _of_region(region, ir):
    counts = Counts()
    for block in region.blocks:
        for view in block.operations:
            op = view.operation
            kind = op.name.removeprefix("stablehlo.")
            if kind in SHORT:
                counts.add(_of_op(op, kind, ir))
            elif kind == "while":
                # The condition runs once more than the body.
                rounds = _rounds(op, ir)
                counts.include(_of_region(op.regions[0], ir), rounds + 1)
                counts.include(_of_region(op.regions[1], ir), rounds)
            else:
                for inner in op.regions:
                    counts.include(_of_region(inner, ir), 1)
    return counts


def _of_op(op, kind, ir):
    values = op.results if kind == "all_gather" else op.operands
    size = sum(_bytes_of(ir.RankedTensorType(value.type)) for value in values)
    if kind == "collective_permute":
        pairs = ir.DenseIntElementsAttr(op.attributes["source_target_pairs"])
        flat = [int(rank) for rank in pairs]
        moves = sum(a != b for a, b in zip(flat[::2], flat[1::2]))
        return Collective(kind, 2, 1 if moves else 0, size)
    groups = ir.DenseIntElementsAttr(op.attributes["replica_groups"]).type
    return Collective(kind, ir.RankedTensorType(groups).shape[1], 1, size)


def _bytes_of(type):
    element = str(type.element_type)
    if element.startswith("complex"):
        bits = 2 * int(re.search(r"\d+", element)[0])
    else:
        bits = max(8, int(re.search(r"\d+", element)[0]))
    return math.prod(type.shape) * bits // 8


def _rounds(loop, ir):
    """Iterations of a loop that JAX makes from scan or fori_loop: a carried counter is compared with a constant; 1 if it is another loop."""

    def constant(value):
        if isinstance(value, ir.BlockArgument):
            number = value.arg_number
            if value.owner == loop.regions[0].blocks[0]:
                # The bound may be carried, unchanged.
                return constant(loop.operands[number])
            return None
        owner = value.owner
        if owner.name != "stablehlo.constant":
            return None
        attribute = ir.DenseElementsAttr(owner.attributes["value"])
        return int(ir.IntegerAttr(attribute.get_splat_value()).value) if attribute.is_splat else None

    condition, body = loop.regions[0].blocks[0], loop.regions[1].blocks[0]
    test = condition.operations[len(condition.operations) - 1].operands[0]
    if isinstance(test, ir.BlockArgument) or test.owner.name != "stablehlo.compare":
        return 1
    counter, bound = test.owner.operands
    if not isinstance(counter, ir.BlockArgument) or "LT" not in str(test.owner.attributes["comparison_direction"]):
        return 1
    number = ir.BlockArgument(counter).arg_number
    first, last = constant(loop.operands[number]), constant(bound)
    returned = body.operations[len(body.operations) - 1].operands[number]
    step = 1
    if not isinstance(returned, ir.BlockArgument) and returned.owner.name == "stablehlo.add":
        step = next((c for c in map(constant, returned.owner.operands) if c), 1)
    return 1 if first is None or last is None else max(0, -(-(last - first) // step))


# --- XLA's programs ---

HLO = re.compile(r"\s+(?:ROOT )?%?[\w.\-]+ = (?P<type>\(.*?\)|\S+) (?P<kind>[\w\-]+)\((?P<rest>.*)$")
COMPUTATION = re.compile(r"^(?P<entry>ENTRY )?%?(?P<name>[\w.\-]+) \(.*\{\s*$")
WIDTHS = {"pred": 1, "bf16": 2, "c64": 8, "c128": 16}


def of_hlo(text, devices=8):
    computations, entry, current = {}, None, None
    for line in text.splitlines():
        if opened := COMPUTATION.match(line):
            current = computations.setdefault(opened["name"], [])
            entry = opened["name"] if opened["entry"] else entry
        elif (op := HLO.match(line)) and current is not None:
            current.append((op["kind"], op["type"], op["rest"]))
    return _of_computation(computations[entry], computations, devices)


def _of_computation(lines, computations, devices):
    counts = Counts()
    for kind, type, rest in lines:
        name = kind.removesuffix("-start").replace("-", "_")
        if name in SHORT and not kind.endswith("-done"):
            counts.add(_of_hlo_op(name, type, rest, devices))
        elif kind == "while":
            condition, body = (re.search(rf"{part}=%?([\w.\-]+)", rest)[1] for part in ("condition", "body"))
            rounds = _hlo_rounds(computations[condition], rest)
            counts.include(_of_computation(computations[condition], computations, devices), rounds + 1)
            counts.include(_of_computation(computations[body], computations, devices), rounds)
        elif kind in ("call", "fusion", "conditional"):
            for called in re.findall(r"(?:to_apply|calls|true_computation|false_computation)=%?([\w.\-]+)", rest):
                counts.include(_of_computation(computations[called], computations, devices), 1)
            for called in re.findall(r"branch_computations=\{(.*?)\}", rest):
                for one in called.split(","):
                    counts.include(_of_computation(computations[one.strip().lstrip("%")], computations, devices), 1)
    return counts


def _hlo_rounds(condition, rest):
    if known := re.search(r'known_trip_count"?:\{"n":"(\d+)"', rest):
        return int(known[1])
    bounds = [int(m[1]) for kind, type, inner in condition if kind == "constant" and (m := re.match(r"(\d+)\)", inner))]
    return bounds[0] if len(bounds) == 1 else 1


def _of_hlo_op(name, type, rest, devices):
    size = 0
    for element, dims in re.findall(r"(\w+)\[([\d,]*)\]", type):
        if element in WIDTHS or re.fullmatch(r"[suf]\d+\w*", element):
            width = WIDTHS.get(element) or max(1, int(re.search(r"\d+", element)[0]) // 8)
            size += width * math.prod(int(dim) for dim in dims.split(",") if dim)
    if name == "collective_permute":
        return Collective(name, 2, 1, size)
    ranks = _hlo_ranks(rest, devices)
    # The type is the result's: of one shard after a reduce-scatter.
    return Collective(name, ranks, 1, size * ranks if name == "reduce_scatter" else size)


def _hlo_ranks(rest, devices):
    """Three forms: axes of a mesh, a reshaped iota, lists."""
    if mesh := re.search(r"replica_groups=mesh\[([^\]]*)\]\s*\{([^}]*)\}", rest):
        sizes = {name: int(size) for name, size in re.findall(r"'([^']+)'=(\d+)", mesh[1])}
        axes = re.findall(r"'([^']+)'(?::\(\d+\)(\d+))?", mesh[2])
        return math.prod(int(part) if part else sizes[name] for name, part in axes)
    if iota := re.search(r"replica_groups=\[\d+,(\d+)\]", rest):
        return int(iota[1])
    if lists := re.search(r"replica_groups=\{\{([\d,]+)\}", rest):
        return len(lists[1].split(","))
    return devices
