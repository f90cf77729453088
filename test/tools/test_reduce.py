"""tilewright-reduce and dumps: a failing program becomes a few ops, and a dump fails like the original compile."""

import os
import pathlib
import re
import subprocess

import numpy as np

BIN = pathlib.Path(os.environ["TILEWRIGHT_BUILD_DIR"]) / "bin"

# One of these ops divides 0 by 0.
NAN = """
func.func @main(%x: tensor<6x8xf32>, %y: tensor<8xf32>, %n: tensor<6xi32>) -> (tensor<6xf32>, tensor<6xi32>, tensor<8x6xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.tanh %x : tensor<6x8xf32>
  %1 = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<8xf32>) -> tensor<6x8xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<6x8xf32>
  %3 = stablehlo.subtract %2, %2 : tensor<6x8xf32>
  %4 = stablehlo.divide %3, %3 : tensor<6x8xf32>
  %5 = stablehlo.add %4, %0 : tensor<6x8xf32>
  %6 = stablehlo.reduce(%5 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<6x8xf32>, tensor<f32>) -> tensor<6xf32>
  %7 = stablehlo.popcnt %n : tensor<6xi32>
  %8 = stablehlo.add %7, %n : tensor<6xi32>
  %9 = stablehlo.transpose %0, dims = [1, 0] : (tensor<6x8xf32>) -> tensor<8x6xf32>
  %10 = stablehlo.cosine %9 : tensor<8x6xf32>
  return %6, %8, %10 : tensor<6xf32>, tensor<6xi32>, tensor<8x6xf32>
}
"""

# The CPU target does not support quantized arithmetic; the evaluator does.
QUANTIZED = """
func.func @main(%x: tensor<300xf32>, %y: tensor<300xf32>) -> (tensor<300xf32>, tensor<300xf32>) {
  %c = stablehlo.constant dense<CONSTANT> : tensor<300xf32>
  %0 = stablehlo.add %x, %y : tensor<300xf32>
  %1 = stablehlo.multiply %0, %c : tensor<300xf32>
  %2 = stablehlo.uniform_quantize %1 : (tensor<300xf32>) -> tensor<300x!quant.uniform<i8:f32, 0.5:0>>
  %3 = stablehlo.uniform_dequantize %2 : (tensor<300x!quant.uniform<i8:f32, 0.5:0>>) -> tensor<300xf32>
  %4 = stablehlo.negate %3 : tensor<300xf32>
  %5 = stablehlo.sine %0 : tensor<300xf32>
  return %4, %5 : tensor<300xf32>, tensor<300xf32>
}
""".replace("CONSTANT", "[" + ", ".join(f"{i}.25" for i in range(300)) + "]")


def run(program, *arguments, **more):
    return subprocess.run([BIN / program, *map(str, arguments)], capture_output=True, text=True, timeout=300, **more)


def ops(text):
    return re.findall(r"= (?:\")?(stablehlo\.\w+)", text)


def test_a_test_command_shrinks_a_program(tmp_path):
    (tmp_path / "nan.mlir").write_text(NAN)
    test = f"{BIN}/tilewright run {{}} {{inputs}} --on=cpu --simplify.max-fold-elements=0 | grep -q nan"
    done = run("tilewright-reduce", tmp_path / "nan.mlir", f"--test={test}", f"--output={tmp_path}/small.mlir")
    assert done.returncode == 0, done.stderr
    small = (tmp_path / "small.mlir").read_text()
    assert "stablehlo.divide" in ops(small) and len(ops(small)) <= 3, small
    assert "tensor<f32>" in small or "1xf32" in small, small
    # The reduced program still fails, and the last line is the command that shows it.
    command = done.stdout.strip().splitlines()[-1].removeprefix("// tilewright ")
    again = run("tilewright", *command.split(), "--simplify.max-fold-elements=0")
    assert "nan" in again.stdout, again.stdout + again.stderr


def test_a_refusal_shrinks_against_the_evaluator(tmp_path):
    (tmp_path / "q.mlir").write_text(QUANTIZED)
    done = run("tilewright-reduce", tmp_path / "q.mlir", "--against=evaluator", f"--output={tmp_path}/small.mlir")
    assert done.returncode == 0, done.stderr
    small = (tmp_path / "small.mlir").read_text()
    assert "stablehlo.uniform_quantize" in ops(small) and len(ops(small)) <= 3, small
    assert "refused with E" in done.stdout


def test_inputs_are_written_beside_the_program(tmp_path):
    (tmp_path / "p.mlir").write_text(
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { %0 = stablehlo.sqrt %x : tensor<4xf32> return %0 : tensor<4xf32> }"
    )
    np.save(tmp_path / "x.npy", np.array([1, 4, -1, 9], np.float32))
    test = f"{BIN}/tilewright run {{}} {{inputs}} | grep -q nan"
    done = run("tilewright-reduce", tmp_path / "p.mlir", f"--test={test}", f"--input={tmp_path}/x.npy",
               f"--output={tmp_path}/small.mlir")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "small.mlir.in0.npy").tolist() == [1, 4, -1]
    assert not list(tmp_path.glob("*.try.mlir*"))


def test_a_program_that_does_not_fail_is_told_so(tmp_path):
    (tmp_path / "fine.mlir").write_text(NAN)
    done = run("tilewright-reduce", tmp_path / "fine.mlir", "--against=evaluator")
    assert done.returncode == 1 and "E0020" in done.stderr, done.stderr
    done = run("tilewright-reduce", tmp_path / "fine.mlir", "--test=false")
    assert done.returncode == 1 and "E0020" in done.stderr, done.stderr
    done = run("tilewright-reduce", tmp_path / "fine.mlir")
    assert done.returncode == 1 and "E0005" in done.stderr, done.stderr


def test_a_dump_of_a_failed_compile_fails_in_the_same_way(tmp_path):
    (tmp_path / "q.mlir").write_text(QUANTIZED)
    done = run("tilewright", "compile", tmp_path / "q.mlir", "--fuse.max-ops=7", f"--compile.dump-dir={tmp_path}/dump",
               f"--output={tmp_path}/q.twx")  # fmt: skip
    assert done.returncode == 6, done.stderr
    complaint = re.search(r"^E\d{4} \w+: (.*)", done.stderr, re.MULTILINE)[1]
    program, *arguments = re.search(r"replay: (.*)", done.stderr)[1].split("  more:")[0].split()
    assert program == "tilewright-opt"
    again = run(program, *arguments)
    assert again.returncode != 0 and complaint in again.stderr, again.stderr
    # The input compiles again with the options of the original compile, and fails with the same message.
    first = (tmp_path / "dump/00-input.mlir").read_text().splitlines()[0]
    assert first.endswith("--fuse.max-ops=7"), first
    again = run("tilewright", "compile", *first.split()[3:], f"--output={tmp_path}/q.twx")
    assert again.returncode == 6 and complaint in again.stderr, again.stderr


def test_dumps_have_every_constant_and_go_on_to_the_same_result(tmp_path):
    numbers = np.arange(300, dtype=np.float32) / 7
    (tmp_path / "p.mlir").write_text(
        "func.func @main(%x: tensor<300xf32>) -> tensor<300xf32> {\n"
        f"  %c = stablehlo.constant dense<{[float(n) for n in numbers]}> : tensor<300xf32>\n"
        "  %0 = stablehlo.multiply %x, %c : tensor<300xf32>\n  return %0 : tensor<300xf32>\n}\n"
    )
    done = run("tilewright", "compile", tmp_path / "p.mlir", f"--compile.dump-dir={tmp_path}/dump", f"--output={tmp_path}/p.twx")
    assert done.returncode == 0, done.stderr
    files = sorted((tmp_path / "dump").glob("*.mlir"))
    assert [f.name[3:-5] for f in files][:3] == ["input", "distribute", "simplify"]
    for file in files:
        assert "__elided__" not in file.read_text(), file
    for file in files[:3]:  # still StableHLO
        out = run("tilewright", "run", file, "--input=300xf32=1", f"--output={tmp_path}/o")
        assert out.returncode == 0, out.stderr
        assert np.array_equal(np.load(tmp_path / "o0.npy"), numbers), file
    for file in files[:-2]:
        if "mlir_reproducer" in file.read_text():
            out = run("tilewright-opt", "--run-reproducer", file, "-o", tmp_path / "next.mlir")
            assert out.returncode == 0, f"{file}: {out.stderr}"
