"""We read every artifact as jaxlib does: op names, types, attributes, constants."""
import os
import re
import subprocess
from pathlib import Path

import pytest

import jaxlib_reading
import programs

PROBE = Path(os.environ.get("TILEWRIGHT_BUILD_DIR", "build/dev")) / "test/import/import-probe"
CONFORMANCE = Path(os.environ.get("TILEWRIGHT_CONFORMANCE_DIR", "../shared/conformance"))


def our_reading(paths) -> list[str]:
    """The text of each file."""
    result = subprocess.run([PROBE, "print", *paths], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout.split("\n// end\n")[:-1]


def assert_same(ours: str, theirs: str, name: str):
    ours, theirs = jaxlib_reading.normalised(ours), jaxlib_reading.normalised(theirs)
    for number, (our_line, their_line) in enumerate(zip(ours, theirs)):
        assert our_line == their_line, f"{name}, line {number + 1}"
    assert len(ours) == len(theirs), name


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_jax_program(name, tmp_path):
    artifact = programs.artifact(name)
    path = tmp_path / "program.mlirbc"
    path.write_bytes(artifact)
    assert_same(our_reading([path])[0], jaxlib_reading.read(artifact), name)


def conformance_sample(request):
    """All files, or every n-th."""
    paths = sorted(CONFORMANCE.glob("stablehlo/*.mlirbc"))
    if not paths:
        pytest.skip(f"no conformance data in {CONFORMANCE}")
    return paths[::request.config.getoption("--every")]


def test_conformance_data(request):
    paths = conformance_sample(request)
    for path, ours in zip(paths, our_reading(paths), strict=True):
        assert_same(ours, jaxlib_reading.read(path.read_bytes()), path.name)


def version_of(path) -> tuple[int, int]:
    major, minor = re.search(r"\.(\d+)_(\d+)_\d+\.mlir\.bc$", path.name).groups()
    return int(major), int(minor)


def test_every_version():
    """Artifacts from StableHLO 0.9 to the newest version that this jaxlib reads."""
    paths = sorted(CONFORMANCE.glob("compat/*.mlir.bc"))
    if not paths:
        pytest.skip(f"no conformance data in {CONFORMANCE}")
    paths = [path for path in paths if version_of(path) <= jaxlib_reading.CURRENT_VERSION]
    for path, ours in zip(paths, our_reading(paths), strict=True):
        assert_same(ours, jaxlib_reading.read(path.read_bytes()), path.name)
