def pytest_addoption(parser):
    parser.addoption("--chip", default="sm_90a", help="the chip that the virtual GPU is")
    parser.addoption("--every", type=int, default=1, help="run every Nth artifact")
    parser.addoption("--shard", default="1/1", help="k/n: run the k-th of n parts of the artifacts")
