"""The command line as users see it: what it prints, writes and returns."""

import os
import pathlib
import subprocess

import numpy
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
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


def test_help_fits_on_a_screen_and_all_of_it_is_behind_another_flag():
    result = tilewright("--help")
    assert result.returncode == 0
    for text in ("run", "print", "report", "vgpu", "--help-all", "--version"):
        assert text in result.stdout
    assert len(result.stdout.splitlines()) <= 24 and "--import.max-rank" not in result.stdout
    assert tilewright("help").stdout == tilewright("-h").stdout == result.stdout
    everything = tilewright("--help-all").stdout
    for text in ("--import.max-rank=64", "exit codes:", "  7  its ranks"):
        assert text in everything


def test_without_arguments_the_help_goes_to_standard_error():
    result = tilewright()
    assert result.returncode == 2 and result.stdout == "" and "usage: tilewright COMMAND" in result.stderr


def test_the_version_is_that_of_the_wheel():
    version = (ROOT / "python/tilewright/version.py").read_text().split('"')[1]
    for word in ("--version", "version"):
        assert tilewright(word).stdout.splitlines()[0] == f"tilewright {version}"


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["complie", "x.mlir"], "did you mean 'compile'?"),
        (["help", "exlpain"], "did you mean 'explain'?"),
        (["compile", "x.mlir", "--outptu=y"], "did you mean '--output'?"),
        (["compile", "x.mlir", "--compile.traget=sm_80"], "did you mean 'compile.target'"),
        (["explain", "kernel"], "did you mean 'kernels'?"),
        (["explain", "E2O10"], "did you mean 'E2010'?"),
        (["benchmark"], "(the commands are compile, run, "),
    ],
)
def test_a_typing_error_gets_a_suggestion(arguments, words):
    result = tilewright(*arguments)
    assert result.returncode == 2 and words in result.stderr
    assert len(result.stderr.splitlines()) <= 3, "a hint, not the whole help"


def test_a_misspelt_variable_is_told():
    result = tilewright("options", TILEWRIGHT_IMPORT_MAX_RANKS="3")
    assert result.returncode == 0
    assert "TILEWRIGHT_IMPORT_MAX_RANKS is ignored; did you mean TILEWRIGHT_IMPORT_MAX_RANK?" in result.stderr


def test_one_option_is_described():
    assert "Max number of dimensions of a tensor" in tilewright("options", "max-rank").stdout
    assert tilewright("options", "no-such").returncode == 2


def test_each_command_explains_itself():
    for command in ("compile", "run", "print", "options", "explain", "report", "comm", "verify-comm", "predict"):
        result = tilewright(command, "--help")
        assert result.returncode == 0
        assert f"usage: tilewright {command}" in result.stdout
        assert len(result.stdout.splitlines()) <= 45 and "--import.max-bytes" not in result.stdout
        assert tilewright("help", command).stdout == result.stdout


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


def test_explain_kernels_names_the_libraries_that_may_compute_a_product(tmp_path):
    program = tmp_path / "scaled.mlir"
    for columns, expected in (
        (64, ["cuBLASLt from version 12.8.0 on", "cuDNN from version 9.13.0 on"]),
        (65, ["cuBLASLt is refused: it needs rows of the result of a multiple of 16 bytes, got 130", "cuDNN is refused: it needs rows"]),
    ):
        types = f"(tensor<64x256xf4E2M1FN>, tensor<{columns}x256xf4E2M1FN>, tensor<64x16xf8E4M3FN>, tensor<{columns}x16xf8E4M3FN>, tensor<f32>) -> tensor<64x{columns}xbf16>"
        program.write_text(
            f"""func.func public @main(%x: tensor<64x256xf4E2M1FN>, %y: tensor<{columns}x256xf4E2M1FN>, %sx: tensor<64x16xf8E4M3FN>, %sy: tensor<{columns}x16xf8E4M3FN>, %g: tensor<f32>) -> tensor<64x{columns}xbf16> {{
  %0 = stablehlo.custom_call @__op$block_scaled_dot(%x, %y, %sx, %sy, %g) : {types}
  return %0 : tensor<64x{columns}xbf16>
}}
"""
        )
        text = tilewright("explain", "kernels", str(program), "--target=sm_100a").stdout
        assert f"is the product f4E2M1FN x f4E2M1FN scaled by f8E4M3FN for 16, 1 x 64 x {columns} x 256 -> bf16, with a factor" in text, text
        assert all(line in text for line in expected), text


def test_explain_prints_the_page_of_an_error():
    page = tilewright("explain", "E2010").stdout
    assert page.startswith("E2010: fusion left an operation that the next phase cannot compile\n=====")
    assert "What to do." in page and "**" not in page and "`" not in page
    assert tilewright("explain", "e2010").stdout == tilewright("explain", "2010").stdout == page
    assert tilewright("explain", "E9999").returncode == 2


def test_compile_says_what_it_wrote(add, tmp_path):
    result = tilewright("compile", add, f"--code={tmp_path}/code", "--report")
    assert result.returncode == 0, result.stderr
    assert f"wrote {tmp_path}/add.twx (" in result.stdout and "): 1 kernel for " in result.stdout
    assert f"wrote {tmp_path}/code.o" in result.stdout
    assert "1 launch of 1 kernel, 0 library calls" in result.stdout


def test_each_thread_of_the_code_generator_makes_an_object(tmp_path):
    sizes = range(3, 17)  # shapes that differ, so that each result has its own kernel
    types = [f"tensor<{size}xf32>" for size in sizes]
    arguments = ", ".join(f"%x{i}: {type}" for i, type in enumerate(types))
    body = "".join(f"  %y{i} = stablehlo.tanh %x{i} : {type}\n" for i, type in enumerate(types))
    values = ", ".join(f"%y{i}" for i in range(len(types)))
    path = tmp_path / "many.mlir"
    path.write_text(
        f"func.func @main({arguments}) -> ({', '.join(types)}) {{\n{body}  return {values} : {', '.join(types)}\n}}\n"
    )
    result = tilewright("compile", path, f"--code={tmp_path}/code", "--report", "--runtime.threads=2")
    assert result.returncode == 0, result.stderr
    assert "14 launches of 14 kernels" in result.stdout and " in 2 objects\n" in result.stdout
    for number in range(2):
        assert f"wrote {tmp_path}/code.{number}.o\n" in result.stdout
        assert (tmp_path / f"code.{number}.o").read_bytes().startswith(b"\x7fELF")
    inputs = [f"--input={size}xf32=0.25" for size in sizes]
    result = tilewright("run", tmp_path / "many.twx", *inputs, f"--output={tmp_path}/out")
    assert result.returncode == 0, result.stderr
    for i, size in enumerate(sizes):
        numpy.testing.assert_allclose(numpy.load(tmp_path / f"out{i}.npy"), [numpy.tanh(0.25)] * size, rtol=1e-6)


def test_an_executable_runs_without_a_compiler(add, tmp_path):
    assert tilewright("compile", add, f"--output={tmp_path}/add.twx").returncode == 0
    result = tilewright("run", tmp_path / "add.twx", "--input", "2x2xf32=1,2,3,4", "--input", "2x2xf32=10")
    assert result.returncode == 0, result.stderr
    assert result.stdout == "result 0: tensor<2x2xf32> [[11, 12], [13, 14]]\n"
    for arguments, words in (
        (["--input=2x2xf32=1"], "takes 2 inputs: 2x2xf32, 2x2xf32; got 1"),
        (["--on=evaluator"], "is an executable"),
        (["--target=vgpu:sm_90a"], "a CPU, but the target is vgpu:sm_90a"),
    ):
        result = tilewright("run", tmp_path / "add.twx", *arguments)
        assert result.returncode == 2 and words in result.stderr


def test_an_executable_for_a_gpu_runs_on_the_virtual_one(add, tmp_path):
    assert tilewright("compile", add, "--target=sm_90a", f"--output={tmp_path}/add.twx").returncode == 0
    inputs = ["--input=2x2xf32=1,2,3,4", "--input=2x2xf32=10"]
    result = tilewright("run", tmp_path / "add.twx", *inputs, "--target=vgpu:sm_90a")
    assert result.returncode == 0, result.stderr
    assert result.stdout == "result 0: tensor<2x2xf32> [[11, 12], [13, 14]]\n"


def test_a_damaged_executable_is_refused(add, tmp_path):
    assert tilewright("compile", add, f"--output={tmp_path}/add.twx").returncode == 0
    (tmp_path / "half.twx").write_bytes((tmp_path / "add.twx").read_bytes()[:200])
    result = tilewright("run", tmp_path / "half.twx", "--input=2x2xf32=1", "--input=2x2xf32=1")
    assert result.returncode == 5 and "E5003" in result.stderr


@pytest.mark.parametrize(
    "arguments, code, words",
    [
        (["run"], 2, ["E0005", "takes one argument, got none"]),
        (["run", "a", "b"], 2, ["E0005", "got 2"]),
        (["run", "ADD", "--inputs=1"], 2, ["E0003", "--inputs", "--input, --output", "did you mean '--input'?"]),
        (["run", "ADD", "--input"], 2, ["E0004", "--input=FILE.npy"]),
        (["run", "ADD", "--partitions=0"], 2, ["E0004", "from 1 to 4096, got '0'"]),
        (["run", "ADD", "--import.max-bank=1"], 2, ["E0001", "import.max-rank"]),
        (["run", "ADD", "--function=step"], 2, ["E0005", "no function @step"]),
        (["run", "ADD", "--input=2x2xf32=1"], 2, ["E0009", "takes 2 inputs: 2x2xf32, 2x2xf32; got 1"]),
        (["run", "ADD", "--input=2x2xf32=1", "--input=3xf32=1"], 2, ["E0009", "input 1", "2x2xf32"]),
        (["run", "ADD", "--input=2x2xf32=1", "--input=none.npy"], 3, ["E0006", "none.npy"]),
        (["run", "missing.mlirbc"], 3, ["E1101", "missing.mlirbc"]),
        (["comm", "explain", "/nonexistent"], 3, ["E6052", "/nonexistent"]),
        (["run", "EMPTY"], 2, ["E0005", "no function @main"]),
        (["explain", "kernels"], 2, ["E0005", "explain kernels takes one FILE"]),
        (["explain", "fusions", "ADD"], 2, ["E0005", "did you mean 'fusion'?"]),
        (["print", "TEXT"], 3, ["E0010", "neither an artifact nor valid text"]),
    ],
)
def test_failures_name_the_place_and_what_to_do(add, tmp_path, arguments, code, words):
    text = tmp_path / "text.mlir"
    text.write_text("this is not a program")
    empty = tmp_path / "empty.mlir"
    empty.touch()
    names = {"ADD": str(add), "TEXT": str(text), "EMPTY": str(empty)}
    result = tilewright(*[names.get(argument, argument) for argument in arguments])
    assert result.returncode == code, result.stderr
    for word in words:
        assert word in result.stderr
    assert f"more: tilewright explain {words[0]}" in result.stderr


def test_unwritable_output_is_named(add):
    result = tilewright("run", add, "--input=2x2xf32=1", "--input=2x2xf32=1", "--output=/nonexistent/o")
    assert result.returncode == 3
    assert "E0007" in result.stderr and "/nonexistent/o0.npy" in result.stderr


def test_limits_come_from_the_environment_too(add):
    arguments = ["run", add, "--input=2x2xf32=1", "--input=2x2xf32=1"]
    result = tilewright(*arguments, TILEWRIGHT_INTERPRET_MAX_STEPS="1")
    assert result.returncode == 5
    assert "interpret.max-steps" in result.stderr


# A generator with a hidden state.
RNG = """
func.func @main(%x: tensor<f32>) -> tensor<1xf32> {
  %shape = stablehlo.constant dense<1> : tensor<1xi64>
  %r = stablehlo.rng %x, %x, %shape, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<1xf32>
  return %r : tensor<1xf32>
}
"""


def test_an_op_without_a_gpu_kernel_is_named_with_its_page_and_a_way_out(tmp_path):
    program = tmp_path / "rng.mlir"
    program.write_text(RNG)
    result = tilewright("compile", program, "--target=sm_90a")
    assert result.returncode == 6
    assert result.stderr.startswith("E4070 target: 'stablehlo.rng' is not supported on the GPU yet\n")
    assert f"{program}:4:" in result.stderr and "jax.device_put(x, jax.devices('cpu')[0])" in result.stderr
    assert "more: tilewright explain E4070" in result.stderr and "' failed: " not in result.stderr
    assert "jax.device_put" in tilewright("explain", "E4070").stdout
