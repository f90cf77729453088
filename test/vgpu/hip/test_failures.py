"""What a HIP program and its user get when something is wrong: the error, the message, the exit code."""

import os
import re
import signal
import subprocess

import pytest
from conftest import CHIPS, HERE, TOOL

CHIP = f"--chip={CHIPS[1]}"


@pytest.fixture(scope="module")
def program(compile_hip):
    return compile_hip(HERE / "programs/failures.hip", CHIPS[1:])[0]


def vgpu(*words, flags=(CHIP,)):
    command = [TOOL, "run", *flags, "--", *words]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=200)


@pytest.mark.parametrize(
    "what, error, message",
    [
        ("address", "hipErrorIllegalAddress", r"kernel _Z5storePii, grid \[1, 1, 1\].*E7105.*lane 0 of wave 0 in workgroup \(0, 0, 0\) accesses 4 bytes"),
        ("freed", "hipErrorIllegalAddress", r"in no allocation"),
        ("host", "hipErrorIllegalAddress", r"in no allocation"),
        ("memory", "hipErrorOutOfMemory", r"hipErrorOutOfMemory"),
        ("block", "hipErrorInvalidConfiguration", r"block \[2048, 1, 1\] exceeds the 1024 work-items"),
        ("lds", "hipErrorInvalidConfiguration", r"needs 1048576 bytes of LDS, but gfx950 has 163840"),
        ("copy", "hipErrorInvalidValue", r"hipErrorInvalidValue: "),
        ("twice", "hipErrorInvalidValue", r"hipErrorInvalidValue: "),
        ("image", "hipErrorInvalidImage", r"neither an ELF file nor a bundle of clang"),
        ("missing", "hipErrorNotFound", r"hipTexRefSetAddress"),
        ("device", "hipErrorInvalidDevice", r"device 5 does not exist, expected 0 to 0"),
    ],
)
def test_error(program, what, error, message):
    result = vgpu(program, what, flags=[CHIP, "--verbose=1"])
    assert result.stdout == f"{error}\n", result.stdout + result.stderr
    assert re.search(message, result.stderr), result.stderr
    # A launch that failed counts even if the program ends well.
    assert result.returncode == (3 if what in ("address", "freed", "host") else 0)


@pytest.mark.parametrize(
    "what, message",
    [
        ("race", r"race.*_Z7reversePi"),
        ("unwritten", r"never written.*"),
    ],
)
def test_checks_report_a_kernel_that_happens_to_work(program, what, message):
    assert vgpu(program, what).stdout == "hipSuccess\n"
    result = vgpu(program, what, flags=[CHIP, "--check=all"])
    assert result.stdout == "hipSuccess\n" and re.search(message, result.stderr, re.DOTALL | re.IGNORECASE), result.stdout + result.stderr
    result = vgpu("true", flags=[CHIP, "--check=count"])
    assert result.returncode == 2 and "neither counted nor recorded yet" in result.stderr


def test_an_endless_kernel_ends_at_the_time_limit(program):
    result = vgpu(program, "endless", flags=[CHIP, "--timeout=0.2"])
    assert result.stdout == "hipErrorLaunchTimeOut\n" and result.returncode == 3
    assert re.search(r"E7121.*kernel '_Z4waitPVi' was stopped by the time limit after \d+ ms: wave 0 of workgroup \(0, 0, 0\) is at", result.stderr)


def test_ctrl_c_ends_an_endless_kernel(program):
    """A signal that comes before the kernel is lost, so there is another one after some time."""
    words = [str(word) for word in (TOOL, "run", CHIP, "--", program, "endless")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            assert process.stderr.readline() == "begins\n"
            for _ in range(20):
                os.killpg(process.pid, signal.SIGINT)
                try:
                    process.wait(10)
                    break
                except subprocess.TimeoutExpired:
                    pass
        finally:
            process.poll() is not None or os.killpg(process.pid, signal.SIGKILL)
        text = process.stderr.read()
    assert process.returncode == 3, text
    assert "E7122" in text and "kernel '_Z4waitPVi' was interrupted after" in text


def test_a_program_for_another_chip_is_refused_by_name(program):
    result = vgpu(program, "address", flags=["--chip=gfx942"])
    assert "the bundle has no code for gfx942, only for" in result.stderr and "--offload-arch=gfx942" in result.stderr


def test_libraries_name_the_other_vendors_chip(program):
    result = vgpu(program, "device", flags=["--chip=sm_90a"])
    assert "libamdhip64.so has no device, because TILEWRIGHT_VGPU_CHIP is an NVIDIA chip" in result.stderr
    result = vgpu("true", flags=["--chip=gfx950,sm_90a"])
    assert result.returncode == 2 and "chips of one vendor" in result.stderr
