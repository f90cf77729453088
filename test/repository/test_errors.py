"""Every error of Errors.def has a page that says what to do and a test that names it."""

import re

import pytest
import tree

ROW = re.compile(r'^TILEWRIGHT_ERROR\(\s*(\d+)\s*,\s*(\w+)\s*,\s*(\w+)\s*,\s*((?:"[^"]*"\s*)+)\)', re.MULTILINE)
PAGES = tree.ROOT / "docs/errors"


def read_rows():
    text = (tree.ROOT / "tilewright/support/Errors.def").read_text(encoding="utf-8")
    rows = [
        (int(number), f"E{int(number):04}", name, code, "".join(re.findall(r'"([^"]*)"', summary)))
        for number, name, code, summary in ROW.findall(text)
    ]
    assert len(rows) == len(re.findall(r"^TILEWRIGHT_ERROR\(", text, re.MULTILINE)), "a row this test cannot read"
    return rows


ROWS = read_rows()


def status_name(code):
    """As PJRT prints it: invalidArgument is INVALID_ARGUMENT."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", code).upper()


@pytest.fixture(scope="module")
def named_by_tests():
    """Each Error::name and E1234 in a file that is a test: beside the code, in a folder testing/ there, or under test/ except these pages' own test."""
    own = tree.ROOT / "test/repository"
    texts = (
        path.read_text(encoding="utf-8")
        for path in tree.files(".cpp", ".py", ".mlir")
        if (path.stem.endswith("Test") or path.parent.name == "testing" or tree.name(path).startswith("test/"))
        and own not in path.parents
    )
    return {found for text in texts for found in re.findall(r"\bError::\w+|\bE\d{4}\b", text)}


def test_numbers_ascend_so_that_none_is_given_twice():
    numbers = [row[0] for row in ROWS]
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize("number, id, name, code, summary", ROWS, ids=[row[1] for row in ROWS])
def test_page_says_what_happened_and_what_to_do(number, id, name, code, summary):
    page = (PAGES / f"{id}.md").read_text(encoding="utf-8")
    assert page.splitlines()[0] == f"# {id}: {summary}"
    assert f"`{status_name(code)}`" in page
    assert "**What to do.**" in page
    assert re.search(rf"^    {id} ", page, re.MULTILINE), "show the message as a user reads it, indented by four"


@pytest.mark.parametrize("number, id, name, code, summary", ROWS, ids=[row[1] for row in ROWS])
def test_a_test_names_it(named_by_tests, number, id, name, code, summary):
    assert named_by_tests & {f"Error::{name}", id}, f"no test names Error::{name} or {id}"


def test_no_page_without_an_error():
    assert {page.stem for page in PAGES.glob("*.md")} == {row[1] for row in ROWS}
