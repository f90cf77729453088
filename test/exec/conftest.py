"""Options of the tests here."""

import exec_file


def pytest_addoption(parser):
    parser.addoption("--only", default="", help="programs whose path has this in it, as sort/ or reduce/argmax")
    parser.addoption("--backend", choices=exec_file.BACKENDS, help="only this one")


def pytest_generate_tests(metafunc):
    if "backend" in metafunc.fixturenames:
        one = metafunc.config.getoption("--backend")
        metafunc.parametrize("backend", [one] if one else list(exec_file.BACKENDS))
