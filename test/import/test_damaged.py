"""Damaged artifacts give a module or an error with an id; never a signal, never an error without an id."""
import os
import subprocess
from pathlib import Path

import pytest

import programs

PROBE = Path(os.environ.get("TILEWRIGHT_BUILD_DIR", "build/dev")) / "test/import/import-probe"
CONFORMANCE = Path(os.environ.get("TILEWRIGHT_CONFORMANCE_DIR", "../shared/conformance"))


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory):
    """JAX programs, and some of the conformance data where there is any."""
    folder = tmp_path_factory.mktemp("artifacts")
    paths = []
    for name in programs.PROGRAMS:
        path = folder / f"{name}.mlirbc"
        path.write_bytes(programs.artifact(name))
        # Flipping a bit in a large constant tests nothing.
        if path.stat().st_size < 100_000:
            paths.append(path)
    paths += sorted(CONFORMANCE.glob("compat/*"))[::4]
    paths += sorted(CONFORMANCE.glob("stablehlo/*"))[::40]
    return paths


@pytest.mark.parametrize("what", ["bytes", "tables"])
def test_damaged(what, artifacts, request):
    option = request.config.getoption
    command = [PROBE, what, str(option("--seed")), str(option("--damaged")), *artifacts]
    result = subprocess.run(command, capture_output=True, text=True)
    ends = dict(line.split() for line in result.stdout.splitlines() if not line.startswith("crash:"))
    assert result.returncode == 0, result.stdout
    assert int(ends.pop("crashes")) == 0
    # E0 is a failure without an error id: our bug.
    assert "E0" not in ends
    assert sum(map(int, ends.values())) == option("--damaged")
    # The test means nothing if all damage is harmless, or all of it is fatal.
    assert int(ends["ok"]) < option("--damaged") and len(ends) > 3
