"""Every program of this folder has the results that its comments give, on every backend."""

import os
import pathlib

import exec_file
import pytest

FOLDER = pathlib.Path(__file__).resolve().parent
FILES = sorted(path for path in FOLDER.glob("*/*.mlir") if path.parent.name != "self-checking")


@pytest.fixture
def cases(request):
    return [exec_file.read(path) for path in FILES if request.config.getoption("--only") in str(path.relative_to(FOLDER))]


def test_programs(cases, backend, tmp_path, capsys):
    if backend == "evaluator" and os.environ.get("TILEWRIGHT_BLESS") == "1":
        changed = exec_file.bless(cases, tmp_path)
        with capsys.disabled():
            print("".join(f"\nrewritten: {path.relative_to(FOLDER)}" for path in changed) or "\nnothing to rewrite")
    wrong = list(exec_file.failures(cases, backend, tmp_path))
    if wrong:
        pytest.fail(f"{len(wrong)} failures in {len(cases)} programs:\n" + "\n".join(wrong), pytrace=False)
