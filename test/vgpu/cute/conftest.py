"""Options of the tests in this folder."""


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="run all configurations, and install the CuTe DSL if it is absent")
