"""Every numbered constraint of the StableHLO specification is enforced, and a test violates it.

test/lit/dialect/stablehlo/constraints.tsv lists them: the op (or `quantized_type`), the label (`scatter_c7` is
constraint C7 of scatter), the rule in one line, and what enforces it:

    verifier: FILE   a check with the label beside it; FILE has a case that violates it, under the same label
    type: FILE       an operand type or a trait in ODS; FILE has such a case
    n/a: REASON      nothing to check before the program runs
"""

import collections
import csv
import functools
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIALECT = ROOT / "tilewright/dialect/stablehlo"
TESTS = ROOT / "test/lit/dialect/stablehlo"

# Ops that have no numbered constraints in the specification, or that it has removed.
WITHOUT_CONSTRAINTS = {
    "after_all", "broadcast", "create_token", "cross-replica-sum", "custom_call", "dot", "einsum", "outfeed",
    "partition_id", "real_dynamic_slice", "replica_id", "return", "set_dimension_size", "torch_index_select",
    "unary_einsum",
}  # fmt: skip

Row = collections.namedtuple("Row", "op label rule kept_by")


@functools.cache
def table():
    with open(TESTS / "constraints.tsv", encoding="utf-8") as file:
        header, *rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    assert header == ["op", "label", "rule", "kept by"]
    return [Row(*row) for row in rows]


def labels_in(text):
    """Labels in comments only: a label in code or IR would be an identifier."""
    comments = re.findall(r"//(.*)", text)
    return {label for comment in comments for label in re.findall(r"\b[a-z][a-z0-9_]*_c\d+\b", comment)}


@functools.cache
def checked():
    sources = [*DIALECT.rglob("*.cpp"), *DIALECT.rglob("*.td")]
    return frozenset().union(*(labels_in(path.read_text(encoding="utf-8")) for path in sources))


@functools.cache
def broken():
    """{file name: labels of its cases}"""
    return {path.name: labels_in(path.read_text(encoding="utf-8")) for path in TESTS.glob("*-invalid.mlir")}


@pytest.mark.parametrize("row", table(), ids=lambda row: row.label)
def test_constraint_is_kept_and_broken(row):
    kind, _, detail = row.kept_by.partition(": ")
    assert kind in ("verifier", "type", "n/a"), row.kept_by
    if kind == "n/a":
        assert len(detail.split()) >= 3, f"say why nothing can be checked, got {detail!r}"
        assert not any(row.label in labels for labels in broken().values()), "a test breaks it, so it is checked"
        return
    assert detail in broken(), f"no file {detail} among the *-invalid.mlir of {TESTS}"
    assert row.label in broken()[detail], f"no case of {detail} is labelled // {row.label}"
    if kind == "verifier":
        assert row.label in checked(), f"no check in {DIALECT} is labelled // {row.label}"


def test_labels_of_an_op_are_numbered_without_a_gap():
    by_op = collections.defaultdict(list)
    for row in table():
        by_op[row.op].append(row.label)
    for op, labels in by_op.items():
        assert labels == [f"{op}_c{n}" for n in range(1, len(labels) + 1)]


def test_the_table_is_that_of_version_1_20():
    assert len(table()) == 453 + 13  # of ops, and of quantized element types


def test_every_op_of_the_dialect_is_listed():
    definition = re.compile(r'^def Stablehlo_\w+Op\s*:\s*Stablehlo_\w+<\s*"([\w-]+)"', re.MULTILINE)
    ops = {op for path in DIALECT.rglob("*.td") for op in definition.findall(path.read_text(encoding="utf-8"))}
    assert ops == {row.op for row in table()} - {"quantized_type"} | WITHOUT_CONSTRAINTS


def test_every_label_is_in_the_table():
    known = {row.label for row in table()}
    used = checked().union(*broken().values())
    assert used - known == set(), "a label that the table does not have: misspelt, or a row is missing"


def test_rules_are_one_short_line():
    for row in table():
        assert 10 <= len(row.rule) <= 110, f"{row.label}: {row.rule}"
