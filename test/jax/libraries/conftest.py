def pytest_addoption(parser):
    parser.addoption("--heavy", action="store_true", help="the libraries of requirements.txt beside this file")
