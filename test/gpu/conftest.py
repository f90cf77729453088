"""Options of these tests."""


def pytest_addoption(parser):
    parser.addoption("--chip", default="sm_90a", help="the virtual GPU: sm_80, sm_90a, sm_100a …")
    parser.addoption("--order", default="eager", help="when asynchronous operations happen: eager, latest or seed:N")
    parser.addoption("--processors", default="0", help="multiprocessors to compile for, so that few tiles are more than they hold; 0 for the chip's")
    parser.addoption("--only", default="", help="cases whose name has this in it, or one of several with commas between")
    parser.addoption("--part", default="1/1", help="N/M runs cases N, N+M, N+2M …")
    parser.addoption("--candidates", default=12, type=int, help="sampled candidates of products")
    parser.addoption("--first", default=0, type=int, help="the number of the first one")
