def pytest_addoption(parser):
    parser.addoption("--programs", type=int, default=60, help="how many programs jaxlib runs")
    parser.addoption("--first", type=int, default=0, help="the number of the first one")
