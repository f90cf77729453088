import os
import pathlib
import subprocess
import sys

import pytest


def pytest_addoption(parser):
    group = parser.getgroup("amdgcn")
    group.addoption("--operands", type=int, default=2, help="random instructions for each row and form")
    group.addoption("--all", action="store_true", help="compile all HIP and Triton kernels, not a sample")
    group.addoption("--objects", default="", help="a folder that triton_objects.py has filled; empty: compile")
    group.addoption("--iree", default="", help="iree-compile of iree-base-compiler==3.13.0")


@pytest.fixture(scope="session")
def triton_objects(tmp_path_factory, pytestconfig):
    """A folder with the objects of Triton's kernels, or of a sample of them: compiling is the longest part of these tests."""
    if pytestconfig.getoption("--objects"):
        return pathlib.Path(pytestconfig.getoption("--objects"))
    folder = tmp_path_factory.mktemp("triton")
    environment = dict(os.environ, TRITON_CACHE_DIR=str(folder / "cache"))
    script = pathlib.Path(__file__).with_name("triton_objects.py")
    flags = [] if pytestconfig.getoption("--all") else ["--sample"]
    subprocess.run([sys.executable, str(script), str(folder / "objects"), *flags], env=environment, check=True)
    return folder / "objects"
