"""The runner reports what is wrong, and `bless` writes what the evaluator computes."""

import exec_file
import pytest

ADD = """/// A sum.
// input: 2xf32=1,2
// result: 2xf32={result}
{directive}
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
  %0 = stablehlo.add %x, %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}}
"""
# If both ends are equal, they are the only number between them.
RNG = """/// A random number.
// input: f32=4
// result: 1xf32=4
{directive}
func.func @main(%x: tensor<f32>) -> tensor<1xf32> {{
  %shape = stablehlo.constant dense<1> : tensor<1xi64>
  %0 = stablehlo.rng %x, %x, %shape, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}}
"""


@pytest.fixture
def case(tmp_path):
    def write(text, name="case.mlir", **holes):
        (tmp_path / name).write_text(text.format(**{"directive": "//", **holes}))
        return exec_file.read(tmp_path / name)
    return write  # fmt: skip


def test_a_correct_program_has_no_failures_and_a_wrong_result_is_reported(case, tmp_path, backend):
    right, wrong = case(ADD, "right.mlir", result="2,4"), case(ADD, "wrong.mlir", result="2,5")
    message = f"{tmp_path}/wrong.mlir on {backend}: result 0: 1 of 2 elements, first at [1]: expected 5.0, got 4.0"
    assert list(exec_file.failures([right, wrong], backend, tmp_path)) == [message]


def test_a_refused_program_is_reported_unless_the_file_names_the_error(case, tmp_path):
    (message,) = exec_file.failures([case(RNG)], "vgpu:sm_80", tmp_path)
    assert "case.mlir on vgpu:sm_80: E4070 target: 'stablehlo.rng' is not supported on the GPU yet" in message
    named = case(RNG, directive="// refused on vgpu: E4070")
    assert list(exec_file.failures([named], "vgpu:sm_80", tmp_path)) == []
    assert list(exec_file.failures([named], "cpu", tmp_path)) == []
    (message,) = exec_file.failures([case(RNG, directive="// refused on vgpu: E4071")], "vgpu:sm_80", tmp_path)
    assert "must be refused with E4071, but: E4070 target: " in message


def test_a_program_that_no_longer_is_refused_is_reported(case, tmp_path):
    (message,) = exec_file.failures([case(ADD, result="2,4", directive="// refused on vgpu: E4070")], "vgpu:sm_90a", tmp_path)
    assert "on vgpu:sm_90a: runs now; remove the line" in message


def test_a_missing_result_is_reported(case, tmp_path):
    for directive, words in (("// result: 2xf32=2,4", "fewer results than lines"), ("// input: 2xf32=0", "@main takes 1 input")):
        (message,) = exec_file.failures([case(ADD, result="2,4", directive=directive)], "evaluator", tmp_path)
        assert words in message


@pytest.mark.parametrize("end, words", [("kill -SEGV $$", "the process ended with code -11"), ("exec sleep 60", "the process did not end within 4 s")])
def test_a_process_that_dies_or_hangs_fails_one_program_and_the_others_run(case, tmp_path, monkeypatch, end, words):
    tool = tmp_path / "tool"
    tool.write_text(f'#!/bin/bash\nif head -1 "${{3#--batch=}}" | grep -q /dies.mlir; then {end}; fi\nexec "{exec_file.TOOL}" "$@"\n')
    tool.chmod(0o755)
    monkeypatch.setattr(exec_file, "TOOL", tool)
    monkeypatch.setattr(exec_file, "SECONDS", 4 if "sleep" in end else 60)
    cases = [case(ADD, "dies.mlir", result="2,4"), case(ADD, "right.mlir", result="2,4"), case(ADD, "wrong.mlir", result="2,5")]
    dead, wrong = sorted(exec_file.failures(cases, "evaluator", tmp_path))
    assert f"dies.mlir on evaluator: {words}" in dead and "wrong.mlir on evaluator: result 0" in wrong


def test_bless_writes_the_evaluator_s_results_and_nothing_else(case, tmp_path):
    wrong, right = case(ADD, "wrong.mlir", result="7"), case(ADD, "right.mlir", result="2.0,4")
    assert exec_file.bless([wrong, right], tmp_path) == [wrong.path]
    assert wrong.path.read_text() == ADD.format(result="2,4", directive="//")
    assert right.path.read_text() == ADD.format(result="2.0,4", directive="//")


def test_bless_refuses_a_file_with_another_number_of_results(case, tmp_path):
    more = case(ADD, result="7", directive="// result: 2xf32=7")
    before = more.path.read_text()
    with pytest.raises(exec_file.Malformed, match="not rewritten: the program has fewer results"):
        exec_file.bless([more], tmp_path)
    assert more.path.read_text() == before


@pytest.mark.parametrize(
    "text, words",
    [
        ("func.func @main() {{ return }}", "the first line must be"),
        ("/// Nothing.\nfunc.func @main() {{ return }}", "has no line `// result: `"),
        ("/// A.\n// results: 2xf32=1,2", "not a directive"),
        ("/// A.\n// within: 4 percent\n// result: f32=1", "within: 4 percent"),
        ("/// A.\n// result: 3xf32=1,2", "3 elements, got 2"),
        ("/// A.\n// result: 2xf31=1,2", "f31"),
        ("/// A.\n// result: 2xf32=1,-0", "write -0.0"),
        ("/// A.\n// refused on vgpu: today\n// result: f32=1", "refused on vgpu: today"),
    ],
)
def test_a_malformed_file_is_refused_with_its_place(case, text, words):
    with pytest.raises(exec_file.Malformed, match=words):
        case(text)


@pytest.mark.parametrize(
    "text, other, ulps, holds",
    [
        ("2xf32=0,1", "2xf32=-0.0,1", 0, False),
        ("f32=nan", "f32=-nan", 0, True),
        ("f32=1", "f32=1.0000002", 1, False),
        ("f32=1", "f32=1.0000002", 2, True),
        ("f32=1e-45", "f32=-1e-45", 2, True),
        ("f32=3.4028235e38", "f32=inf", 4, False),
        ("bf16=1", "bf16=1.0078125", 1, True),
        ("complex<f32>=1+0i", "complex<f32>=1+1e-7i", 1, True),
        ("complex<f32>=1+0i", "complex<f32>=1-0i", 0, False),
        ("2xi4=-8,7", "2xi4=-8,7", 0, True),
        ("0x3xf32=", "0x3xf32=", 0, True),
    ],
)
def test_numbers_are_compared_by_their_bits_or_within_ulps(text, other, ulps, holds):
    assert (exec_file.difference(text, exec_file.tensor(other), ulps) is None) == holds


@pytest.mark.parametrize("text", ["2x2xf32=1,-0.0,inf,0.1", "3xbf16=0.10009765625", "i1=true", "2xcomplex<f32>=1-2i,nan+infi", "0x2xi4=", "2xui64=18446744073709551615,0"])
def test_the_text_of_an_array_reads_back(text):
    assert exec_file.spell(exec_file.tensor(text), exec_file.split(text)[1]) == text
