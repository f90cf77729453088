"""The program `accuracy` rejects invalid arguments and pages, and says why."""
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("TILEWRIGHT_BUILD_DIR", ROOT / "build/dev")) / "test/accuracy/accuracy"
PAGE = ROOT / "docs/reference/accuracy.md"
# Few samples: a rejection does not need seconds of work.
QUICK = ("--type=f8E4M3FN", "--type=complex<f64>", "--samples=100", "--wide-samples=200")


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)


def check(tmp_path, page):
    path = tmp_path / "page.md"
    path.write_text(page, encoding="utf-8")
    return run("check", path, *QUICK)


def changed_cell(page, section, op, column, text):
    """The page with one cell replaced."""
    head, separator, rest = page.partition(f"## {section}")
    lines = rest.split("\n")
    row = next(i for i, line in enumerate(lines) if line.startswith(f"| {op} |"))
    cells = lines[row].split("|")
    cells[column] = f" {text} "
    lines[row] = "|".join(cells)
    return head + separator + "\n".join(lines)


def test_the_page_is_rendered_from_the_rows_beside_it():
    result = run("render", ROOT / "test/accuracy/rows.tsv")
    assert result.returncode == 0, result.stderr
    assert result.stdout == PAGE.read_text(encoding="utf-8")


def test_the_page_as_it_is_holds(tmp_path):
    result = check(tmp_path, PAGE.read_text(encoding="utf-8"))
    assert result.returncode == 0, result.stderr
    assert result.stdout == "49 measurements, 0 beyond the page\n"


def test_a_bound_that_is_too_good_is_refused(tmp_path):
    page = changed_cell(PAGE.read_text(encoding="utf-8"), "f64 and complex", "tanh", 4, "0.5000")
    result = check(tmp_path, page)
    assert result.returncode == 1
    assert result.stderr.startswith("tanh on complex<f64>: the worst result is 0.5737")
    assert result.stderr.endswith("docs/reference/accuracy.md allows 0.5 ulps\n")


def test_an_operation_missing_from_the_page_is_refused(tmp_path):
    page = changed_cell(PAGE.read_text(encoding="utf-8"), "One operand", "sine", 7, "")
    result = check(tmp_path, page)
    assert result.returncode == 1
    assert result.stderr == "sine on f8E4M3FN: not on the page\n"


def test_the_page_allows_no_more_than_one_ulp_where_it_matters():
    rows = [line.split("|") for line in PAGE.read_text(encoding="utf-8").split("\n") if line.startswith("|")]
    columns = {cell.strip(): i for i, cell in enumerate(rows[0])}
    measured = 0
    for row in rows:
        for type in ("f32", "f16", "bf16"):
            cell = row[columns[type]].strip() if len(row) > columns[type] else ""
            if cell == "exact" or cell[:1].isdigit():
                measured += 1
                assert cell == "exact" or float(cell.split()[0]) <= 1, row
    assert measured == 3 * (19 + 9)


@pytest.mark.parametrize("arguments", [(), ("render",), ("guess",)])
def test_wrong_arguments_show_the_usage(arguments):
    result = run(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("usage: accuracy rows")


def test_an_unknown_option_is_named():
    result = run("rows", "--samples=many")
    assert result.returncode == 2
    assert result.stderr.startswith("accuracy: what is '--samples=many'?\n")


def test_a_missing_page_is_named(tmp_path):
    result = run("check", tmp_path / "none.md")
    assert result.returncode == 2
    assert "none.md" in result.stderr
