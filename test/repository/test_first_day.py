"""docs/how-to/first-day.md can be followed: its edits fit the files, and in a fresh clone its commands succeed."""

import pathlib
import shutil
import subprocess
import sys

import first_day
import pytest
import tree


def test_edits_fit_the_files(tmp_path):
    edits = [step for step in first_day.steps((tree.ROOT / first_day.PAGE).read_text(encoding="utf-8")) if not step.is_command()]
    for step in edits:
        name = step.match["file"] or step.match["cut_file"] or step.match["new"]
        target = tmp_path / name
        if (tree.ROOT / name).exists() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(tree.ROOT / name, target)
        target.parent.mkdir(parents=True, exist_ok=True)
        first_day.edit(tmp_path, step)
    assert len(edits) > 10


@pytest.mark.parametrize(
    "page, complaint",
    [
        ("In `a.txt`, below `twice`:\n\n```cpp\nx\n```\n", "2 lines contain twice"),
        ("In `a.txt`, delete `missing`.\n", "0 lines contain missing"),
        ("A new file `a.txt`:\n\n```cpp\nx\n```\n", "exists already"),
        ("Somewhere in `a.txt`:\n\n```cpp\nx\n```\n", "1 blocks, and 0 of them belong to an instruction"),
    ],
)
def test_edits_that_do_not_fit_are_reported(tmp_path, page, complaint):
    (tmp_path / "a.txt").write_text("twice\ntwice\n")
    with pytest.raises(AssertionError, match=complaint):
        for step in first_day.steps(page):
            first_day.edit(tmp_path, step)


def test_commands_succeed_in_a_clone(tmp_path):
    """Of the last commit, as a newcomer would clone it. Builds half of the compiler."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", tree.ROOT, clone], check=True)
    script = pathlib.Path(first_day.__file__)
    subprocess.run([sys.executable, clone / tree.name(script), clone], check=True)
