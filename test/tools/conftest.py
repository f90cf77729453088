"""Options of the tests here, and the command that they run."""

import os
import pathlib
import subprocess

TOOL = pathlib.Path(os.environ["TILEWRIGHT_BUILD_DIR"]) / "bin" / "tilewright"


def tilewright(*arguments, code=0):
    """Runs the command, which must end with `code`; returns its output, or what it says of its failure."""
    done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout if code == 0 else done.stderr


def pytest_addoption(parser):
    parser.addoption("--programs", type=int, default=150, help="how many random programs test_random_donation.py makes")
    parser.addoption("--seed", type=int, default=0, help="of the random programs")
