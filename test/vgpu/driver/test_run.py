"""Programs under `tilewright vgpu run`: environment, exit codes, summary, ptxas, Triton.

Tests that need Triton or a real ptxas are skipped where those are absent.
"""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE))
import functions_page  # noqa: E402

BUILD = pathlib.Path(os.environ["TILEWRIGHT_BUILD_DIR"])
RUN = BUILD / "bin/tilewright-vgpu"
PTXAS = BUILD / "lib/vgpu/bin/ptxas"
REAL_PTXAS = shutil.which("ptxas") or shutil.which("/usr/local/cuda/bin/ptxas")
needs_triton = pytest.mark.skipif(not importlib.util.find_spec("triton"), reason="triton is not installed")
needs_ptxas = pytest.mark.skipif(not REAL_PTXAS, reason="ptxas is not on this machine")

PTX = """
.version 7.8
.target sm_80
.address_size 64
.visible .entry nothing() { ret; }
.visible .entry broken() { trap; }
.visible .entry wild(.param .u64 p)
{
  .reg .b64 %rd<2>; .reg .b32 %r<2>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, 1;
  st.global.u32 [%rd1], %r1;
  ret;
}
"""

# A driver program in a few lines; `launch(name, *pointers)` returns the result code.
CTYPES = f"""
import ctypes, sys
cu = ctypes.CDLL("libcuda.so.1")
def check(result):
    assert result == 0, result
check(cu.cuInit(0))
context, module = ctypes.c_void_p(), ctypes.c_void_p()
check(cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
check(cu.cuCtxSetCurrent(context))
check(cu.cuModuleLoadData(ctypes.byref(module), {PTX.encode()!r}))
def launch(name, *pointers):
    function = ctypes.c_void_p()
    check(cu.cuModuleGetFunction(ctypes.byref(function), module, name.encode()))
    values = [ctypes.c_uint64(pointer) for pointer in pointers]
    table = (ctypes.c_void_p * (len(values) + 1))(*[ctypes.addressof(value) for value in values])
    return cu.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, None, table, None)
"""


def run(*command, environment=(), **options):
    words = [str(word) for word in command]
    merged = {name: value for name, value in os.environ.items() if not name.startswith(("TILEWRIGHT_", "TRITON_"))}
    merged.update(environment)
    return subprocess.run(words, capture_output=True, text=True, timeout=200, env=merged, **options)


def vgpu(*flags, program, environment=()):
    return run(RUN, "run", *flags, "--", sys.executable, "-c", textwrap.dedent(program), environment=environment)


def test_functions_page_is_current():
    page = ROOT / "docs/reference/vgpu-driver.md"
    assert page.read_text(encoding="utf-8") == functions_page.page(), f"run functions_page.py > {page.relative_to(ROOT)}"


def test_every_row_is_tested_by_name():
    """A test of the driver calls each function of the table."""
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tilewright/vgpu/driver").rglob("*Test.cpp"))
    tests += (ROOT / "tilewright/vgpu/driver/testing/Driver.h").read_text(encoding="utf-8")
    called = set(re.findall(r"\bcuda\(\)\s*\.(cu\w+)", tests))
    bases = {re.sub(r"_v\d$", "", name) for name in called}
    untested = sorted({name for _, name, *_ in functions_page.rows()} - bases)
    assert untested == []


def test_launches_are_counted_and_the_exit_code_is_the_programs():
    result = vgpu("--chip=sm_80", program=CTYPES + "for i in range(3): check(launch('nothing'))\nsys.exit(7)")
    assert result.returncode == 7, result.stderr
    assert re.search(r"virtual GPU: 3 launches of 1 kernel\n +3 x +[\d.]+ ms  nothing\n", result.stderr)


def test_a_failure_is_told_once_and_summed_up():
    program = CTYPES + "assert launch('broken') == 719\nassert launch('nothing') == 719"
    result = vgpu(program=program)
    assert result.returncode == 3, result.stderr
    assert result.stderr.count("tilewright vgpu: kernel broken") == 1
    assert re.search(r"^failed: kernel broken, grid \[1, 1, 1\].*E7108", result.stderr, re.MULTILINE)


def test_contexts_recover_if_asked_to():
    program = CTYPES + "assert launch('broken') == 719\ncheck(launch('nothing'))\nassert launch('broken') == 719"
    result = vgpu("--sticky=0", program=program)
    assert result.returncode == 3, result.stderr
    assert "failed (2 times): kernel broken" in result.stderr


def test_a_wild_pointer_is_an_illegal_address_of_the_kernel():
    result = vgpu(program=CTYPES + "assert launch('wild', 64) == 700\nassert cu.cuCtxSynchronize() == 700")
    assert result.returncode == 3, result.stderr
    assert re.search(r"^failed: kernel wild, .*E7105", result.stderr, re.MULTILINE)


def test_a_failed_launch_that_the_program_ignores_is_not_a_success():
    """Also with all checks on, in a child process, and if the program itself exits with an error."""
    assert vgpu(program=CTYPES + "launch('broken')").returncode == 3
    assert vgpu("--check=all", program=CTYPES + "launch('broken')").returncode == 3
    child = CTYPES + "launch('broken')"
    assert vgpu(program=f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {child!r}])").returncode == 3
    assert vgpu(program=CTYPES + "launch('broken')\nsys.exit(9)").returncode == 9
    assert vgpu("--quiet", program=CTYPES + "launch('broken')").returncode == 3
    assert vgpu("--allow-failures", program=CTYPES + "launch('broken')").returncode == 0


def test_a_finding_is_not_a_success():
    result = vgpu("--check=bounds", program=CTYPES + "launch('wild', 64)")
    assert result.returncode == 1, result.stderr


def test_flags_take_values_with_and_without_an_equals_sign():
    program = CTYPES + "total = ctypes.c_size_t()\ncheck(cu.cuDeviceTotalMem_v2(ctypes.byref(total), 0))\nprint(total.value)"
    for flags in (["--memory=3G"], ["--memory", "3G"]):
        assert vgpu("--quiet", *flags, program=program).stdout == f"{3 << 30}\n"


def test_a_signal_is_told():
    result = vgpu(program="import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert result.returncode == 128 + 9
    assert "was terminated by signal 9" in result.stderr


def test_children_are_summed_up_even_if_they_leave_without_a_word():
    program = CTYPES + textwrap.dedent("""
        import os, subprocess
        if len(sys.argv) == 1:
            for i in range(2):
                subprocess.run([sys.executable, "-c", os.environ["PROGRAM"], "child"], check=True)
            check(launch("nothing"))
        else:
            check(launch("nothing"))
            os._exit(0)
    """)
    result = vgpu(program=program, environment={"PROGRAM": program})
    assert result.returncode == 0, result.stderr
    assert "3 launches of 1 kernel in 3 processes" in result.stderr


def test_functions_that_are_not_there_are_listed():
    program = CTYPES + textwrap.dedent("""
        address, found = ctypes.c_void_p(), ctypes.c_int()
        check(cu.cuGetProcAddress_v2(b"cuMakeCoffee", ctypes.byref(address), 13000, ctypes.c_uint64(0), ctypes.byref(found)))
        assert found.value == 1 and not address.value
    """)
    result = vgpu(program=program)
    assert result.returncode == 0, result.stderr
    assert "requested driver functions that do not exist: [cuMakeCoffee]" in result.stderr


def test_settings_reach_the_program():
    program = CTYPES + textwrap.dedent("""
        count, value = ctypes.c_int(), ctypes.c_int()
        check(cu.cuDeviceGetCount(ctypes.byref(count)))
        check(cu.cuDeviceGetAttribute(ctypes.byref(value), 75, 1))
        total = ctypes.c_size_t()
        check(cu.cuDeviceTotalMem_v2(ctypes.byref(total), 0))
        print(count.value, value.value, total.value)
    """)
    result = vgpu("--quiet", "--chip=sm_90a,sm_89", "--devices=4", "--memory=3G", program=program)
    assert result.stdout.split() == ["4", "8", str(3 << 30)], result.stderr
    assert result.stderr == ""


def test_jax_programs_run_on_the_virtual_gpu_too():
    program = "import os; print(os.environ['TILEWRIGHT_TARGET'])"
    assert vgpu("--quiet", "--chip=sm_80", program=program).stdout == "vgpu:sm_80\n"
    assert vgpu("--quiet", program=program, environment={"TILEWRIGHT_TARGET": "x86-64-v3"}).stdout == "x86-64-v3\n"


def test_verbose_says_why():
    program = CTYPES + "function = ctypes.c_void_p()\ncu.cuModuleGetFunction(ctypes.byref(function), module, b'absent')"
    result = vgpu("--verbose=1", program=program)
    assert "CUDA_ERROR_NOT_FOUND" in result.stderr and "has no kernel 'absent'" in result.stderr


@pytest.mark.parametrize("arguments, words", [
    (["run"], "E7204 vgpu: `tilewright vgpu run` needs a program"),
    (["run", "--chips=sm_80", "--", "true"], "E7204 vgpu: `tilewright vgpu run` has no flag --chips"),
    (["run", "--chip", "--", "true"], "E7204 vgpu: --chip needs a value"),
    (["fly"], "E7204 vgpu: `tilewright vgpu` has no command 'fly'"),
    (["run", "--chip=sm_70", "--", "true"], "E7203 vgpu: TILEWRIGHT_VGPU_CHIP is 'sm_70'"),
    (["run", "--devices=two", "--", "true"], "E7203 vgpu: TILEWRIGHT_VGPU_DEVICES is 'two'"),
    (["run", "--memory=1T", "--", "true"], "E7203 vgpu: TILEWRIGHT_VGPU_MEMORY is '1T'"),
    (["run", "--arithmetic=fuzzy", "--", "true"], "E7203 vgpu: TILEWRIGHT_VGPU_ARITHMETIC is 'fuzzy'"),
    (["run", "--async=2", "--", "true"], "E7203 vgpu: TILEWRIGHT_VGPU_ASYNC is '2'"),
    (["run", "--timeout=0", "--", "true"], "E7203 vgpu: TILEWRIGHT_VGPU_TIMEOUT is '0', expected a number of seconds"),
    (["run", "--timeout=soon", "--", "true"], "E7203 vgpu: TILEWRIGHT_VGPU_TIMEOUT is 'soon'"),
    (["run", "--host-memory=yes", "--", "true"], "E7203 vgpu: TILEWRIGHT_VGPU_HOST_MEMORY is 'yes'"),
])  # fmt: skip
def test_wrong_calls_are_refused(arguments, words):
    result = run(RUN, *arguments)
    assert result.returncode == 2
    assert result.stderr.startswith(words)


def test_a_program_that_is_not_there():
    result = run(RUN, "run", "--", "/nowhere/program")
    assert result.returncode == 1
    assert result.stderr.startswith("E7205 vgpu: cannot start '/nowhere/program'")


def test_help_names_every_setting():
    result = run(RUN, "run", "--help")
    assert result.returncode == 0
    source = (ROOT / "tilewright/vgpu/driver/Settings.cpp").read_text(encoding="utf-8")
    flags = re.findall(r'\{"TILEWRIGHT_VGPU_\w+", "([\w-]+)"', source)
    assert len(flags) >= 9
    for flag in flags:
        assert f"--{flag}=" in result.stdout


@pytest.fixture
def fake_ptxas(tmp_path):
    """A fake ptxas that prints the given text and writes an invalid file."""
    path = tmp_path / "real-ptxas"
    path.write_text(textwrap.dedent("""\
        #!/bin/sh
        echo "$@" >> "$(dirname "$0")/calls"
        case "$*" in *--version*) echo "ptxas: release 12.8, V12.8.1"; exit 0;; esac
        grep -q refuse "$1" && { echo "ptxas fatal : refused" >&2; exit 255; }
        echo "ptxas info    : Compiling entry function 'nothing' for 'sm_80'" >&2
        echo "    8 bytes stack frame, 12 bytes spill stores, 4 bytes spill loads" >&2
        echo "ptxas info    : Used 42 registers, 400 bytes cmem[0]" >&2
        echo machine code > "$3"
    """))
    path.chmod(0o755)
    return path


def test_ptxas_asks_the_real_one_and_hands_the_ptx_on(fake_ptxas, tmp_path):
    source, output = tmp_path / "a.ptx", tmp_path / "a.cubin"
    source.write_text(PTX)
    environment = {"TILEWRIGHT_PTXAS": str(fake_ptxas)}
    result = run(PTXAS, source, "-o", output, "--gpu-name=sm_80", environment=environment)
    assert result.returncode == 0, result.stderr
    assert output.read_text() == PTX + "\n// ptxas: kernel nothing registers 42 spills 12\n"
    assert "info" not in result.stderr  # the caller did not pass -v
    assert (tmp_path / "calls").read_text().endswith("--gpu-name=sm_80 -v\n")
    result = run(PTXAS, source, "-o", output, "-v", environment=environment)
    assert "Used 42 registers" in result.stderr
    result = run(PTXAS, "--version", environment=environment)
    assert result.stdout == "ptxas: release 12.8, V12.8.1\n"
    source.write_text("refuse this")
    output.unlink()
    result = run(PTXAS, source, "-o", output, environment=environment)
    assert result.returncode == 255 and "ptxas fatal : refused" in result.stderr
    assert not output.exists()


def test_ptxas_does_without_a_real_one(tmp_path):
    if pathlib.Path("/usr/local/cuda/bin/ptxas").exists():
        pytest.skip("there is a real one where it is looked for")
    source, output = tmp_path / "a.ptx", tmp_path / "a.cubin"
    source.write_text(PTX)
    environment = {"PATH": "/nowhere"}
    assert run(PTXAS, source, "-o", output, environment=environment).returncode == 0
    assert output.read_text().startswith(PTX)
    assert "release 13.0" in run(PTXAS, "--version", environment=environment).stdout


@needs_ptxas
def test_the_real_ptxas_refuses_wrong_ptx(tmp_path):
    source, output = tmp_path / "a.ptx", tmp_path / "a.cubin"
    source.write_text(PTX.replace("st.global.u32", "st.global.u33"))
    result = run(PTXAS, source, "-o", output, "--gpu-name=sm_80")
    assert result.returncode != 0 and "u33" in result.stderr
    source.write_text(PTX)
    result = run(PTXAS, source, "-o", output, "--gpu-name=sm_80")
    assert result.returncode == 0, result.stderr
    assert re.search(r"// ptxas: kernel wild registers \d+ spills 0\n", output.read_text())


@needs_triton
@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
def test_unmodified_triton(chip, tmp_path):
    cache = {"TRITON_CACHE_DIR": str(tmp_path / "cache")}
    result = run(RUN, "run", f"--chip={chip}", "--", sys.executable, HERE / "triton_program.py", environment=cache)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == ["add: exact", "softmax: close", f"target: {chip[3:5]}"]
    assert "2 launches of 2 kernels" in result.stderr
    assert (tmp_path / "cache-vgpu").exists() and not (tmp_path / "cache").exists()
