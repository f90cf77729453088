"""Gives the tests of this folder JAX on the virtual GPU, with every check on, in the process of pytest itself."""

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[3]
LIBRARY = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD_DIR", ROOT / "build/dev")) / "lib/libtilewright_pjrt.so"


def pytest_configure(config):
    report = pathlib.Path(config.getoption("--basetemp") or "/tmp") / f"tilewright-calls-{os.getpid()}.txt"
    config.stash[REPORT] = report
    os.environ |= {
        "JAX_PLATFORMS": "tilewright", "TILEWRIGHT_LIBRARY": str(LIBRARY), "TILEWRIGHT_TARGET": f"vgpu:{config.getoption('--chip')}",
        "TILEWRIGHT_VGPU_CHECK": "all", "TILEWRIGHT_VGPU_REPORT": str(report), "TILEWRIGHT_QUIET": "1",
    }  # fmt: skip
    sys.path.insert(0, str(ROOT / "python"))
    from tilewright import jax_plugin

    jax_plugin.initialize()


REPORT = pytest.StashKey()


def pytest_unconfigure(config):
    config.stash[REPORT].unlink(missing_ok=True)


@pytest.fixture(autouse=True)
def no_findings(pytestconfig):
    """The virtual GPU found nothing in the kernels of a test."""
    yield
    report = pytestconfig.stash[REPORT]
    text = report.read_text() if report.exists() else "no findings"
    assert "no findings" in text, text[:4000]
