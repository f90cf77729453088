"""HIP programs on the virtual GPU, compiled from source by clang. Each compares its results with those of the host."""

import subprocess

import functions_page
import pytest
from conftest import CHIPS, HERE, TOOL

PROGRAMS = sorted(path.stem for path in (HERE / "programs").glob("*.hip") if path.stem != "failures")
# CI compiles these for one chip; all of them are compiled for both with --all.
SAMPLE = ["graph_nodes", "modules"]


def vgpu(*words, flags=(), timeout=300):
    command = [TOOL, "run", *flags, "--", *words]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout)


@pytest.fixture(scope="session")
def programs(compile_hip, pytestconfig):
    """The program of a source, which is compiled when it is first needed."""
    made = {}

    def get(name):
        if name not in made:
            made[name] = compile_hip(HERE / f"programs/{name}.hip", CHIPS if pytestconfig.getoption("--all") else CHIPS[1:])
        return made[name]

    return get


def test_functions_page_is_current():
    path = functions_page.ROOT / "docs/reference/hip-functions.md"
    assert path.read_text(encoding="utf-8") == functions_page.page(), f"run functions_page.py > {path.relative_to(functions_page.ROOT)}"


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(programs, name, chip, pytestconfig):
    if not pytestconfig.getoption("--all") and (name not in SAMPLE or chip != CHIPS[1]):
        pytest.skip("with --all")
    program, bundle = programs(name)
    for checks in [], ["--check=all"]:
        result = vgpu(program, bundle, flags=[f"--chip={chip}", "--devices=2", *checks])
        assert result.returncode == 0 and "passed" in result.stdout, result.stdout + result.stderr
