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
    group.addoption("--mutants", default="", help="run mutants of the kernels (mutants.py) and append their verdicts to this file")
    group.addoption("--mutants-step", type=int, default=1, help="only every so many mutants of a kernel")
    group.addoption("--iree", default="", help="iree-compile of iree-base-compiler==3.13.0")


def pytest_configure(config):
    if config.getoption("--mutants"):
        import test_execute

        flag = f"--mutants=waitcnt,barrier,nop,setprio,lds:0/{config.getoption('--mutants-step')}"
        test_execute.MUTANTS = (config.getoption("--mutants"), flag)
        pathlib.Path(config.getoption("--mutants")).unlink(missing_ok=True)


def pytest_sessionfinish(session):
    """With --mutants, the tests themselves are skipped: the table decides."""
    if session.config.getoption("--mutants"):
        import mutants

        session.exitstatus = 0 if mutants.main(session.config.getoption("--mutants")) else 1


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
