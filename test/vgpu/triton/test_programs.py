"""Unmodified Triton programs compute what NumPy computes, on every available chip.

Run under the virtual GPU (or on a machine with a GPU):

    tilewright vgpu run --chip sm_90a -- pytest test/vgpu/triton/test_programs.py --table
"""

import ctypes
import os
import time

import pytest
import triton
from programs import PROGRAMS, diagnostics, differences, lend_scratch, seed


def chips():
    """(device, capability) of every device; none if there is no driver."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    count, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    if cuda.cuInit(0) != 0 or cuda.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return []
    found = []
    for device in range(count.value):
        # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
        cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, device)
        cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)
        found.append((device, 10 * major.value + minor.value))
    return found


CHIPS = chips()


def pytest_generate_tests(metafunc):
    if "program" in metafunc.fixturenames:
        large = metafunc.config.getoption("--large")
        reported = metafunc.config.getoption("--reported")
        number, count = map(int, metafunc.config.getoption("--part").split("/"))
        # With checks on, any finding fails the whole run; test_reported.py has the programs that are rightly reported.
        is_checked = os.environ.get("TILEWRIGHT_VGPU_CHECK", "off") != "off"
        metafunc.parametrize(
            "device, capability, program",
            [
                pytest.param(device, capability, program, id=f"sm_{capability}-{program.name}")
                for device, capability in CHIPS
                for program in PROGRAMS.values()
                if program.needs <= capability < program.below and program.slow == large
                if not (reported or is_checked) or (0 < program.reports <= capability) == reported
            ][number - 1 :: count],
        )
    elif "device" in metafunc.fixturenames:
        metafunc.parametrize("device", [pytest.param(d, id=f"sm_{capability}") for d, capability in CHIPS])


def test_there_is_a_gpu():
    assert CHIPS, "no device: run this under `tilewright vgpu run -- pytest …`"


def test_program(device, capability, program, results):
    triton.runtime.driver.active.set_current_device(device)
    lend_scratch()
    seed(program.seed)
    begin = time.perf_counter()
    returned = program.run()
    seconds = time.perf_counter() - begin
    pairs = returned if isinstance(returned, list) else [returned]
    found = [differences(got, want, program.tolerance) for got, want in pairs]
    error, part = max(error for error, _ in found), max(part for _, part in found)
    verdict = "pass" if part <= 1 else "FAIL"
    results.append((program, f"sm_{capability}", verdict, error, part, seconds))
    allowed = program.tolerance
    assert verdict == "pass", (
        f"{program.name} is off by {error:.3g}, {part:.3g} times what is allowed "
        f"({allowed.relative:g} relative, {allowed.absolute:g} absolute: {allowed.because})"
    )


def test_device_print_reaches_standard_output(device, capfd):
    triton.runtime.driver.active.set_current_device(device)
    want = diagnostics.print_numbers()
    printed = capfd.readouterr().out.splitlines()
    assert sorted(line for line in printed if "square" in line) == sorted(want)


def test_device_assert_that_holds_says_nothing(device, capfd):
    triton.runtime.driver.active.set_current_device(device)
    diagnostics.check_range([0, 5, 9])
    assert capfd.readouterr().out == ""


def test_device_assert_that_fails_is_an_error(device):
    triton.runtime.driver.active.set_current_device(device)
    with pytest.raises(RuntimeError):
        diagnostics.check_range([0, 10, 9])
        # A launch may report an error late; the next driver call must report it.
        diagnostics.check_range([0])
