"""Options of the import tests."""
import secrets


def pytest_addoption(parser):
    parser.addoption("--every", type=int, default=20, help="take every n-th file of the conformance data")
    parser.addoption("--damaged", type=int, default=1000, help="how many damaged artifacts to read, of each kind")
    parser.addoption("--seed", type=int, default=None, help="repeat a run with the seed it printed")


def pytest_configure(config):
    if config.option.seed is None:
        config.option.seed = secrets.randbits(32)


def pytest_terminal_summary(terminalreporter, config):
    terminalreporter.write_line(f"import: --damaged={config.option.damaged} --seed={config.option.seed}")
