"""Options of the tests in this folder, and the table that they can print."""

import pytest


def pytest_addoption(parser):
    group = parser.getgroup("triton programs")
    group.addoption("--table", action="store_true", help="print every program with its largest error and its time")
    group.addoption("--reported", action="store_true", help="run those alone that the checks rightly report")
    group.addoption("--large", action="store_true", help="run the large programs only")
    group.addoption("--part", default="1/1", help="N/M runs programs N, N+M, N+2M …")


@pytest.fixture(scope="session")
def results(request):
    """The list in which test_program stores (program, chip, verdict, error, fraction of the tolerance, seconds)."""
    request.config.triton_results = []
    return request.config.triton_results


def pytest_terminal_summary(terminalreporter, config):
    results = getattr(config, "triton_results", [])
    if not results or not config.getoption("--table"):
        return
    write = terminalreporter.write_line
    write("| program | subject | chip | result | largest error | of the tolerance | seconds |")
    write("|---|---|---|---|---|---|---|")
    for program, chip, verdict, error, part, seconds in results:
        row = (program.name, program.subject, chip, verdict, f"{error:.3g}", f"{part:.2g}", f"{seconds:.2f}")
        write("| " + " | ".join(row) + " |")
    passed = sum(verdict == "pass" for _, _, verdict, *_ in results)
    total = sum(seconds for *_, seconds in results)
    write(f"{passed} of {len(results)} passed in {total:.1f} s, compiling included")
