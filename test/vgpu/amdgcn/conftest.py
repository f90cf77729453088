def pytest_addoption(parser):
    group = parser.getgroup("amdgcn")
    group.addoption("--operands", type=int, default=2, help="random instructions for each row and form")
    group.addoption("--all", action="store_true", help="compile all HIP and Triton kernels, not a sample")
    group.addoption("--iree", default="", help="iree-compile of iree-base-compiler==3.13.0")
