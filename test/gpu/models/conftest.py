"""Options of test_train.py, besides those of test/gpu."""


def pytest_addoption(parser):
    parser.addoption("--steps", default="5", help="training steps that are compared with jaxlib")
