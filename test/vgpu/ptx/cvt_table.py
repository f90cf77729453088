"""The conversions that ptxas accepts for sm_90a: every modifier with every pair of types, and registers of every width.

    python cvt_table.py > cvt_table.tsv      asks ptxas 13.0, a minute and a half

cvt_table.tsv has a line for each: the instruction, and the widths of registers it takes (destination:source). The test reads
the table; where ptxas is installed it also asks about registers of the types' own widths, which takes seconds.
"""

import itertools
import pathlib

import ptxas_oracle

TABLE = pathlib.Path(__file__).with_name("cvt_table.tsv")
REGISTERS = {8: "%b", 16: "%h", 32: "%r", 64: "%d"}
WIDTHS = {"u8": 8, "s8": 8, "u16": 16, "s16": 16, "u32": 32, "s32": 32, "u64": 64, "s64": 64, "f16": 16, "bf16": 16, "f32": 32,
          "f64": 64, "tf32": 32, "f16x2": 32, "bf16x2": 32, "e4m3x2": 16, "e5m2x2": 16}  # fmt: skip
ROUNDINGS = ["", "rn", "rz", "rm", "rp", "rna", "rs", "rni", "rzi", "rmi", "rpi"]


def names():
    """Every combination, valid or not, with its types; modifiers in the order of the manual."""
    for rounding in ROUNDINGS:
        for ftz, sat, relu, satfinite in itertools.product(("", "ftz"), ("", "sat"), ("", "relu"), ("", "satfinite")):
            for to, source in itertools.product(WIDTHS, WIDTHS):
                limits = [satfinite, relu] if to in ("e4m3x2", "e5m2x2") else [relu, satfinite]
                yield ".".join(filter(None, ["cvt", rounding, ftz, sat, *limits, to, source])), to, source


def text(name, to, source, to_width, source_width):
    """The instruction with registers of these widths."""
    operands = [REGISTERS[to_width] + "1", REGISTERS[source_width] + "2"]
    if to.endswith("x2") and not source.endswith("x2"):
        operands.append(REGISTERS[source_width] + "3")
    if ".rs." in name:
        operands.append("%r9")
    return f"{name} {', '.join(operands)};"


def read():
    """{instruction: {(destination, source): text}} of the table."""
    table = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        name, widths = line.split("\t")
        to, source = name.split(".")[-2:]
        pairs = [tuple(map(int, pair.split(":"))) for pair in widths.split()]
        table[name] = {pair: text(name, to, source, *pair) for pair in pairs}
    return table


def main():
    asked = [(name, (wide, other), text(name, to, source, wide, other)) for name, to, source in names()
             for wide, other in itertools.product(REGISTERS, REGISTERS) if wide >= WIDTHS[to] and other >= WIDTHS[source]]  # fmt: skip
    answers = ptxas_oracle.verdicts(ptxas_oracle.find_ptxas(), [line for *_, line in asked], "90a", batch=8000)
    table = {}
    for (name, pair, _), answer in zip(asked, answers):
        if answer is None:
            table.setdefault(name, []).append("%d:%d" % pair)
    for name, pairs in table.items():
        print(name, " ".join(pairs), sep="\t")


if __name__ == "__main__":
    main()
