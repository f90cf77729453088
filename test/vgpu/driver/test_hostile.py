"""Programs that misuse the virtual GPU: no process crashes or hangs, and each misuse is reported."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
RUN = pathlib.Path(os.environ["TILEWRIGHT_BUILD_DIR"]) / "bin/tilewright-vgpu"
ILLEGAL_ADDRESS, INVALID_VALUE, NOT_INITIALIZED, TIMEOUT, INVALID_PTX = 700, 1, 3, 702, 218
FOUND, FAILED = 1, 3  # exit codes of `tilewright vgpu run`: a check found something; a launch failed


def start(*flags, scenario):
    command = [RUN, "run", *flags, "--", sys.executable, HERE / "hostile.py", *scenario]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TILEWRIGHT_VGPU")}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
                            start_new_session=True)  # fmt: skip


def run(*flags, scenario, code=FAILED):
    process = start(*flags, scenario=scenario)
    out, err = process.communicate(timeout=100)
    assert process.returncode == code, (process.returncode, out, err)
    assert out.endswith("alive\n"), (out, err)
    return out, err


def test_writes_over_the_end_are_suppressed_and_reported():
    out, err = run(scenario=["smash"])
    assert f"launch {ILLEGAL_ADDRESS}\n" in out
    assert re.search(r"E7105 vgpu: access of 4 bytes at 0x\w+ is out of bounds: \d+ bytes past the end of an allocation of "
                     r"1000 bytes of device memory, by lane \d+, at k, line 11, block ", err), err  # fmt: skip


def test_writes_over_the_end_are_findings_with_checks():
    out, err = run("--check=bounds", scenario=["smash"], code=FOUND)
    assert f"launch {ILLEGAL_ADDRESS}\n" in out
    assert re.search(r"out-of-bounds: access of 4 bytes is out of bounds: \d+ bytes past the end of an allocation of "
                     r"1000 bytes of device memory", err), err  # fmt: skip


@pytest.mark.parametrize("flags", [[], ["--check=all"]])
def test_wild_pointers(flags):
    out, _ = run("--sticky=0", *flags, scenario=["wild"], code=FOUND if flags else FAILED)
    results = re.search("launches (.*)\n", out)[1].split()
    assert results[:13] == [str(ILLEGAL_ADDRESS)] * 13, out
    assert results[13:] == ["0", str(ILLEGAL_ADDRESS)], out


@pytest.mark.parametrize("flags", [[], ["--check=all"]])
def test_use_after_free(flags):
    out, err = run(*flags, scenario=["freed"], code=FOUND if flags else FAILED)
    assert out.splitlines()[:3] == ["first 0", f"free 0 {INVALID_VALUE} {INVALID_VALUE}", f"launch {ILLEGAL_ADDRESS}"]
    assert "is a use after free: at offset 0 of a freed allocation of 4096 bytes of device memory" in err


def test_copies_of_the_host_stay_inside():
    out, _ = run(scenario=["copies"], code=0)
    assert out.splitlines()[:2] == [f"copies {INVALID_VALUE} {INVALID_VALUE} {INVALID_VALUE} {INVALID_VALUE} 0", f"freed {INVALID_VALUE}"]


@pytest.mark.parametrize("kind", ["global", "shared", "empty", "counting", "atomic"])
def test_an_endless_kernel_is_stopped_in_time_and_its_line_is_named(kind):
    out, err = run("--timeout=1", scenario=["spin", kind])
    after = float(re.search(f"launch {TIMEOUT} after (.*) s", out)[1])
    assert 1 <= after < 2, out
    assert "kernel 'k' exceeded the time limit of 1 s (--timeout" in err
    assert re.search(r"warps? at k, line (8|9|10|11|12|13|14)\b", err), err


def test_an_endless_kernel_is_stopped_with_checks_on():
    out, err = run("--timeout=1", "--check=all", scenario=["spin", "global"])
    assert float(re.search(f"launch {TIMEOUT} after (.*) s", out)[1]) < 2
    assert "warps at k, line" in err


def test_ctrl_c_stops_the_kernel_and_names_its_line():
    process = start(scenario=["spin", "global"])
    assert process.stdout.readline() == "launching\n"
    time.sleep(0.3)
    begin = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert time.monotonic() - begin < 5
    assert process.returncode not in (0, None)
    assert "kernel 'k' was interrupted after" in err and "warps at k, line" in err
    assert "KeyboardInterrupt" in err, err


def test_a_forked_child_gets_an_error():
    out, err = run(scenario=["fork"], code=0)
    assert "child hangs" not in out
    assert f"child {NOT_INITIALIZED} {NOT_INITIALIZED} None {NOT_INITIALIZED}\n" in out
    assert "child ended with 0\nparent 0\n" in out
    assert "forked from a process that uses the virtual GPU" in err


def test_modules_that_are_none_are_refused():
    out, _ = run(scenario=["garbage"], code=0)
    answers = [line.rsplit(" ", 1) for line in out.splitlines()[:-1]]
    assert len(answers) == 17
    assert [name for name, result in answers if result == "0"] == []
    assert ["shared", str(INVALID_PTX)] in answers or ["shared", "2"] in answers
    assert ["a little shared", str(INVALID_PTX)] in answers


def test_sizes_that_no_chip_has_are_refused():
    out, _ = run(scenario=["sizes"], code=0)
    assert "0" not in out.splitlines()[0].split()[1:]
    assert out.splitlines()[1] == "allocations True True True True"


def test_threads_share_the_driver():
    assert "threads 800 0\n" in run(scenario=["threads"], code=0)[0]
