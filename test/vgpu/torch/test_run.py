"""`tilewright vgpu run` on torch scripts and on pytest, as users start them: findings, messages and exit codes."""

import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

TOOL = os.environ["TILEWRIGHT_VGPU_TOOL"]

KERNELS = '''
import sys
import torch, triton, triton.language as tl

@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

@triton.jit
def shift(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i + 1, mask=i + 1 < n), mask=i + 1 < n)
'''


@pytest.fixture
def run(tmp_path):
    """Runs a script (or pytest on it) in a folder of its own."""

    def start(body, *flags, name="train.py", command=(), environment=()):
        (tmp_path / name).write_text(KERNELS + textwrap.dedent(body))
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("TILEWRIGHT_", "PYTEST_"))}
        words = [TOOL, "run", "--ptxas=0", *flags, "--", sys.executable, *command, name]
        return subprocess.run(words, cwd=tmp_path, env={**kept, **dict(environment)}, capture_output=True, text=True, timeout=300)

    return start


def test_a_right_program_is_clean(run):
    """The check of uninitialised memory knows every way in which the host can write a tensor."""
    result = run(
        """
        def check(x):
            y = torch.empty(x.shape, device="cuda")
            copy[(4,)](x, y, x.numel(), BLOCK=256)
            assert torch.equal(x, y)
        check(torch.randn(1000, device="cuda"))
        check(torch.randn(1000).cuda())
        x = torch.empty(1000, device="cuda")
        x.fill_(3); check(x)
        x = torch.empty(1000, device="cuda")
        x[:500] = 1; x[500:].copy_(torch.arange(500.0)); check(x)
        x = torch.empty(25, 40, device="cuda")
        x[:, ::2] = 1; x[:, 1::2].normal_(); check(x.view(-1))
        x = torch.empty(1000, device="cuda")
        torch.add(torch.ones(1000, device="cuda"), 1, out=x); check(x)
        x = torch.empty(0, device="cuda")
        torch.add(torch.ones(1000, device="cuda"), 1, out=x); check(x)
        x = torch.empty(1000, device="cuda"); x.uniform_(); check(x.clone()); check(x * 2)
        """,
        "--check=all",
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "uninitialised" not in result.stderr


def test_uninitialised_memory_is_found(run):
    result = run(
        """
        x, y = torch.empty(1000, device="cuda"), torch.empty(1000, device="cuda")
        x[:500] = 1
        copy[(4,)](x, y, 1000, BLOCK=256)
        """,
        "--check=all",
    )
    assert result.returncode == 1
    assert "uninitialised-read: " in result.stderr and "train.py:8" in result.stderr, result.stderr


def test_bounds_of_tensors_are_known(run):
    result = run(
        """
        x, y = torch.ones(900, device="cuda"), torch.empty(1000, device="cuda")
        try:
            copy[(4,)](x, y, 1000, BLOCK=256)
            torch.cuda.synchronize()
        except RuntimeError as error:
            print("refused", error)
        """,
        "--check=bounds",
    )
    assert result.returncode != 0, result.stderr
    assert "bounds: " in result.stderr and "train.py:8" in result.stderr


def test_pytest_fails_the_test_that_caused_a_finding(run):
    result = run(
        """
        def test_right():
            x, y = torch.ones(1000, device="cuda"), torch.empty(1000, device="cuda")
            copy[(4,)](x, y, 1000, BLOCK=256)
            assert torch.equal(x, y)

        def test_race():
            x = torch.ones(1000, device="cuda")
            shift[(4,)](x, 1000, BLOCK=256)
            assert x.sum() == 1000

        def test_the_same_race_again():
            test_race()

        def test_right_again():
            test_right()
        """,
        "--check=races",
        name="test_kernels.py",
        command=("-m", "pytest", "-q", "-p", "no:cacheprovider"),
    )
    assert result.returncode == 1
    assert "2 failed, 2 passed" in result.stdout, result.stdout + result.stderr
    assert "FAILED test_kernels.py::test_race" in result.stdout
    assert "FAILED test_kernels.py::test_the_same_race_again" in result.stdout
    assert "FindingsError: race: " in result.stdout and "test_kernels.py:13)" in result.stdout


def test_a_failed_kernel_fails_its_own_test_alone(run):
    result = run(
        """
        @triton.jit
        def stop(x):
            tl.inline_asm_elementwise("trap; mov.u32 $0, 0;", "=r,r", [tl.load(x)], dtype=tl.int32, is_pure=False, pack=1)

        def test_trap():
            stop[(1,)](torch.zeros(1, device="cuda", dtype=torch.int32))
            torch.cuda.synchronize()

        def test_right():
            x, y = torch.ones(10, device="cuda"), torch.empty(10, device="cuda")
            copy[(1,)](x, y, 10, BLOCK=16)
            assert torch.equal(x, y)
        """,
        name="test_kernels.py",
        command=("-m", "pytest", "-q", "-p", "no:cacheprovider"),
    )
    assert "1 failed, 1 passed" in result.stdout and "FAILED test_kernels.py::test_trap" in result.stdout, result.stdout


def test_benchmarks_say_what_they_are_and_the_programs_own_start_is_kept(run, tmp_path):
    """One process for all checks that are cheap compared with starting it."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site/sitecustomize.py").write_text("import builtins; builtins.customized = True\n")
    result = run(
        """
        runs = []
        ms = triton.testing.do_bench(lambda: runs.append(1), quantiles=[0.5, 0.2, 0.8])
        assert len(ms) == 3 and len(runs) == 1
        @triton.testing.perf_report(triton.testing.Benchmark(
            x_names=["n"], x_vals=[1], line_arg="p", line_vals=["a"], line_names=["A"], plot_name="speed", args={}))
        def bench(n, p):
            raise AssertionError("benchmarks are not run")
        bench.run(print_data=True)
        # The sitecustomize that ours hides has run, and Triton has chosen its backend although torch is one for CPUs.
        assert customized
        assert triton.runtime.driver.active.get_current_target().backend == "cuda"
        from triton._C.libtriton import nvidia
        try:
            nvidia.cublas.CublasLt(torch.empty(16, device="cuda"))
        except RuntimeError as error:
            print(error)
        """,
        environment={"PYTHONPATH": str(tmp_path / "site")},
    )
    assert result.returncode == 0, result.stderr
    assert "do_bench() ran each function once" in result.stderr
    assert "benchmark speed was left out" in result.stderr
    assert "cuBLAS is machine code" in result.stdout


def test_streams_keep_the_order_of_kernels_and_operations(run):
    result = run(
        """
        stream = torch.cuda.Stream()
        x, y = torch.empty(100000, device="cuda"), torch.empty(100000, device="cuda")
        with torch.cuda.stream(stream):
            for i in range(20):
                x.fill_(i)
                copy[(98,)](x, y, 100000, BLOCK=1024)
                assert (y == i).all(), i
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            z = x + 1
            copy[(98,)](z, y, 100000, BLOCK=1024)
            w = y * 2
        x.fill_(7)
        graph.replay()
        assert (w == 16).all()
        """,
        "--check=all",
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_numpy_programs_run_where_torch_is_installed():
    """Triton asks an installed torch for the GPUs, unless its backend is chosen."""
    example = pathlib.Path(__file__).resolve().parents[3] / "docs/examples/smooth.py"
    result = subprocess.run([TOOL, "run", "--ptxas=0", "--", sys.executable, example, "copied"], capture_output=True, text=True)
    assert result.returncode == 0 and "largest error: 0.0" in result.stdout, result.stdout + result.stderr


def test_skipping_ptxas_needs_none(run, tmp_path):
    broken = tmp_path / "ptxas"
    broken.write_text('#!/bin/sh\ncase "$*" in *version*) echo "Cuda compilation tools, release 12.9, V12.9.86"; exit 0;; esac\nexit 9\n')
    broken.chmod(0o755)
    body = "copy[(1,)](torch.ones(10, device='cuda'), torch.empty(10, device='cuda'), 10, BLOCK=16)"
    variables = {"TILEWRIGHT_PTXAS": str(broken), "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    assert run(body, environment=variables).returncode == 0
    variables["TRITON_CACHE_DIR"] = str(tmp_path / "other")
    assert run(body, "--ptxas=1", environment=variables).returncode != 0
