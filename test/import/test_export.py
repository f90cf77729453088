"""jaxlib reads the artifacts that we write, and gets the same module as from the original."""
import os
import re
import subprocess
from pathlib import Path

import pytest

import jaxlib_reading
import programs

PROBE = Path(os.environ.get("TILEWRIGHT_BUILD_DIR", "build/dev")) / "test/import/import-probe"
CONFORMANCE = Path(os.environ.get("TILEWRIGHT_CONFORMANCE_DIR", "../shared/conformance"))


def written_again(path, tmp_path, version="usual") -> bytes:
    to = tmp_path / "again.mlirbc"
    result = subprocess.run([PROBE, "export", version, path, to], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return to.read_bytes()


def producer(artifact: bytes) -> str:
    return re.search(rb"StableHLO_v(\d+\.\d+)", artifact[:40]).group(1).decode()


def assert_same(artifact: bytes, original: bytes, name: str):
    ours, theirs = (jaxlib_reading.normalised(jaxlib_reading.read(each)) for each in (artifact, original))
    assert ours == theirs, name


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_jax_program(name, tmp_path):
    original = programs.artifact(name)
    path = tmp_path / "program.mlirbc"
    path.write_bytes(original)
    artifact = written_again(path, tmp_path)
    assert_same(artifact, original, name)
    # The default version, unless the program uses something newer.
    assert producer(artifact) == "1.13"


@pytest.mark.parametrize("version", ["0.9", "0.10", "0.12", "0.14", "0.15", "0.20", "1.0", "1.4", "1.8", "1.13", "1.17"])
def test_every_container(version, tmp_path):
    """The same program for old and new readers: bytecode 0, 1, 3, 4 and 6."""
    original = programs.artifact("control_flow")
    path = tmp_path / "program.mlirbc"
    path.write_bytes(original)
    artifact = written_again(path, tmp_path, version)
    assert producer(artifact) == version
    assert_same(artifact, original, version)


def test_what_the_version_lacks_is_named(tmp_path):
    path = tmp_path / "program.mlirbc"
    path.write_bytes(programs.artifact("batched_indexing"))
    result = subprocess.run([PROBE, "export", "1.0", path, tmp_path / "x"], capture_output=True, text=True)
    assert result.returncode != 0
    assert "E1121" in result.stderr and "'stablehlo.gather' at " in result.stderr
    assert "requires StableHLO 1.1, but the target version is 1.0; export for 1.1 or newer" in result.stderr


def test_conformance_data(tmp_path, request):
    paths = sorted(CONFORMANCE.glob("stablehlo/*.mlirbc"))[::request.config.getoption("--every")]
    if not paths:
        pytest.skip(f"no conformance data in {CONFORMANCE}")
    for path in paths:
        assert_same(written_again(path, tmp_path), path.read_bytes(), path.name)


def test_round_trip():
    """Reading, writing and reading again with our own code gives the same module, for all artifacts."""
    paths = sorted(CONFORMANCE.glob("*/*.mlir*bc*"))
    if not paths:
        pytest.skip(f"no conformance data in {CONFORMANCE}")
    result = subprocess.run([PROBE, "again", *paths], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout == f"{len(paths)} of {len(paths)} equal\n"
