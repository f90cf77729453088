"""The command line as a person meets it: what it prints, writes and returns."""

import os
import pathlib
import subprocess

import numpy
import pytest

TOOL = pathlib.Path(os.environ["TILEWRIGHT_BUILD_DIR"]) / "bin" / "tilewright"

ADD = """
func.func @main(%x: tensor<2x2xf32>, %y: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %sum = stablehlo.add %x, %y : tensor<2x2xf32>
  return %sum : tensor<2x2xf32>
}
"""


def tilewright(*arguments, **environment):
    return subprocess.run(
        [TOOL, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
    )


@pytest.fixture
def add(tmp_path):
    path = tmp_path / "add.mlir"
    path.write_text(ADD)
    return path


def test_help_lists_commands_options_and_exit_codes():
    result = tilewright("--help")
    assert result.returncode == 0
    for text in ("run", "print", "vgpu", "--import.max-rank=64", "exit codes:"):
        assert text in result.stdout


def test_each_command_explains_itself():
    for command in ("run", "print", "options", "explain"):
        result = tilewright(command, "--help")
        assert result.returncode == 0
        assert f"usage: tilewright {command}" in result.stdout


def test_run_prints_results(add):
    result = tilewright("run", add, "--input=2x2xf32=1,2,3,4", "--input=2x2xf32=10")
    assert result.returncode == 0, result.stderr
    assert result.stdout == "result 0: tensor<2x2xf32> [[11, 12], [13, 14]]\n"


def test_run_reads_and_writes_npy(add, tmp_path):
    x = numpy.array([[1, 2], [3, 4]], numpy.float32)
    numpy.save(tmp_path / "x.npy", x)
    result = tilewright(
        "run", add, f"--input={tmp_path}/x.npy", f"--input={tmp_path}/x.npy", f"--output={tmp_path}/out"
    )
    assert result.returncode == 0, result.stderr
    numpy.testing.assert_array_equal(numpy.load(tmp_path / "out0.npy"), x + x)


def test_batch_goes_on_after_a_failure(add, tmp_path):
    inputs = "2x2xf32=1 2x2xf32=2"
    (tmp_path / "list").write_text(
        f"{tmp_path}/missing.mlir {inputs} -> {tmp_path}/a\n{add} {inputs} -> {tmp_path}/b\n"
    )
    result = tilewright("run", f"--batch={tmp_path}/list")
    assert result.returncode != 0
    assert f"failed {tmp_path}/missing.mlir" in result.stdout
    assert f"ok {add}" in result.stdout
    assert numpy.load(tmp_path / "b0.npy")[0, 0] == 3


def test_batch_line_without_prefix_is_refused(add, tmp_path):
    (tmp_path / "list").write_text(f"{add} 2x2xf32=1\n")
    result = tilewright("run", f"--batch={tmp_path}/list")
    assert result.returncode == 2
    assert "E0005" in result.stderr and "line 1" in result.stderr


def test_print_shows_the_program(add):
    result = tilewright("print", add)
    assert result.returncode == 0
    assert "stablehlo.add" in result.stdout
    assert '"stablehlo.add"' in tilewright("print", add, "--generic").stdout


def test_explain_says_what_an_error_means():
    assert "an option with this name does not exist" in tilewright("explain", "E0001").stdout
    assert tilewright("explain", "E9999").returncode == 2


@pytest.mark.parametrize(
    "arguments, code, words",
    [
        (["run"], 2, ["E0005", "takes one argument, got 0"]),
        (["run", "a", "b"], 2, ["E0005", "got 2"]),
        (["run", "ADD", "--inputs=1"], 2, ["E0003", "--inputs", "--input, --output"]),
        (["run", "ADD", "--input"], 2, ["E0004", "--input=FILE.npy"]),
        (["run", "ADD", "--partitions=0"], 2, ["E0004", "from 1 to 4096, got '0'"]),
        (["run", "ADD", "--import.max-bank=1"], 2, ["E0001", "import.max-rank"]),
        (["run", "ADD", "--function=step"], 2, ["E0005", "no function @step"]),
        (["run", "ADD", "--input=2x2xf32=1"], 2, ["E0009", "takes 2 inputs, got 1"]),
        (["run", "ADD", "--input=2x2xf32=1", "--input=3xf32=1"], 2, ["E0009", "input 1", "2x2xf32"]),
        (["run", "ADD", "--input=2x2xf32=1", "--input=none.npy"], 3, ["E0006", "none.npy"]),
        (["print", "TEXT"], 2, ["E0010", "neither an artifact nor valid text"]),
    ],
)
def test_failures_name_the_place_and_what_to_do(add, tmp_path, arguments, code, words):
    text = tmp_path / "text.mlir"
    text.write_text("this is not a program")
    names = {"ADD": str(add), "TEXT": str(text)}
    result = tilewright(*[names.get(argument, argument) for argument in arguments])
    assert result.returncode == code, result.stderr
    for word in words:
        assert word in result.stderr
    assert "docs/errors/" in result.stderr


def test_unwritable_output_is_named(add):
    result = tilewright("run", add, "--input=2x2xf32=1", "--input=2x2xf32=1", "--output=/nonexistent/o")
    assert result.returncode == 3
    assert "E0007" in result.stderr and "/nonexistent/o0.npy" in result.stderr


def test_limits_come_from_the_environment_too(add):
    arguments = ["run", add, "--input=2x2xf32=1", "--input=2x2xf32=1"]
    result = tilewright(*arguments, TILEWRIGHT_INTERPRET_MAX_STEPS="1")
    assert result.returncode == 5
    assert "interpret.max-steps" in result.stderr
