"""`tilewright verify-comm`: proofs and counterexamples of whole programs, with the values that choices depend on."""

import pathlib
import re
import xml.etree.ElementTree as xml

import pytest
from conftest import tilewright

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs/examples"


def all_reduce(value, groups, result, channel=1, type_="tensor<4xf32>", op="add"):
    rows, columns = len(groups), len(groups[0])
    element = type_.replace("tensor<", "").replace(">", "").split("x")[-1]
    return f"""
      %{result} = "stablehlo.all_reduce"(%{value}) <{{use_global_device_ids,
        channel_handle = #stablehlo.channel_handle<handle = {channel}, type = 1>,
        replica_groups = dense<{groups}> : tensor<{rows}x{columns}xi64>}}> ({{
      ^bb0(%p: tensor<{element}>, %q: tensor<{element}>):
        %s = stablehlo.{op} %p, %q : tensor<{element}>
        stablehlo.return %s : tensor<{element}>
      }}) : ({type_}) -> {type_}"""


def program(body, arguments="%x: tensor<4xf32>", results="tensor<4xf32>", ranks=4):
    return f"""
module attributes {{mhlo.num_partitions = {ranks} : i32}} {{
  sdy.mesh @mesh = <["data"=2, "model"={ranks // 2}]>
  func.func @main({arguments}) -> {results} {{
{body}
  }}
}}
"""


MODEL, DATA = [[0, 1], [2, 3]], [[0, 2], [1, 3]]


def branch(predicate, arm0, arm1):
    """A branch on `predicate` whose arms end in %a and %b."""
    return f"""
    %r = "stablehlo.if"(%{predicate}) ({{
      {arm0}
      stablehlo.return %a : tensor<4xf32>
    }}, {{
      {arm1}
      stablehlo.return %b : tensor<4xf32>
    }}) : (tensor<i1>) -> tensor<4xf32>
    return %r : tensor<4xf32>"""


def axis(divisor, modulus, equals):
    """%flag: whether the rank's number, divided and taken modulo, is `equals`, as JAX computes axis_index."""
    return f"""
    %me = stablehlo.partition_id : tensor<ui32>
    %divisor = stablehlo.constant dense<{divisor}> : tensor<ui32>
    %modulus = stablehlo.constant dense<{modulus}> : tensor<ui32>
    %quotient = stablehlo.divide %me, %divisor : tensor<ui32>
    %index = stablehlo.remainder %quotient, %modulus : tensor<ui32>
    %signed = stablehlo.convert %index : (tensor<ui32>) -> tensor<i32>
    %wanted = stablehlo.constant dense<{equals}> : tensor<i32>
    %flag = stablehlo.compare EQ, %signed, %wanted : (tensor<i32>, tensor<i32>) -> tensor<i1>"""


def test_a_program_is_proven_with_its_mesh_cliques_guards_and_lines():
    text = tilewright("verify-comm", EXAMPLES / "sums-over-a-mesh.mlir")
    assert "mesh      data=2, model=2 (4 ranks)" in text
    assert "along data, model" in text
    assert re.search(r"guard 0 +loop at .*sums-over-a-mesh.mlir:\d+:\d+, 8 iterations", text)
    assert re.search(r"guard 1 +loop at .*, same trip count on all ranks", text)
    assert re.search(r"all_reduce.0 \(add f32, 16 bytes, along model\) at .*:18:16, lane 0, steps \d+ to \d+, in guard 0", text)
    assert "all ranks follow program order" in text
    assert re.search(r"plan +[0-9a-f]{32}, \d+ bytes", text)
    again = tilewright("verify-comm", EXAMPLES / "sums-over-a-mesh.mlir", "--instances")
    assert "all ranks finish" in again


def test_a_compiled_program_carries_its_plan(tmp_path):
    out = tmp_path / "step.twx"
    tilewright("compile", EXAMPLES / "sums-over-a-mesh.mlir", f"--output={out}")
    assert tilewright("verify-comm", out) == tilewright("verify-comm", EXAMPLES / "sums-over-a-mesh.mlir")
    assert "which already has a mesh" in tilewright("verify-comm", out, "--mesh=x=4", code=2)


def test_who_never_comes_is_named_by_compile_too(tmp_path):
    example = EXAMPLES / "sum-in-a-branch.mlir"
    text = tilewright("verify-comm", example, code=7)
    assert "E6016 collective: rank 0 waits in all_reduce.0" in text
    assert "for rank 1, which takes another arm of the branch at" in text
    refused = tilewright("compile", example, f"--output={tmp_path}/x.twx", code=7)
    assert "E6016" in refused and "--compile.verify-comm=false" in refused
    tilewright("compile", example, f"--output={tmp_path}/x.twx", "--compile.verify-comm=false")


@pytest.mark.parametrize(
    "divisor, modulus, groups, fits",
    [(2, 2, MODEL, True), (2, 2, DATA, False), (1, 2, DATA, True), (1, 2, MODEL, False)],
)
def test_a_branch_on_an_axis_index_may_hold_collectives_along_the_other_axis(tmp_path, divisor, modulus, groups, fits):
    file = tmp_path / "p.mlir"
    file.write_text(
        program(axis(divisor, modulus, 1) + branch("flag", all_reduce("x", groups, "a"), "%b = stablehlo.abs %x : tensor<4xf32>"))
    )
    if fits:
        assert f"decided by the coordinate along {'data' if divisor == 2 else 'model'}" in tilewright("verify-comm", file)
    else:
        assert "E6016" in tilewright("verify-comm", file, code=7)


@pytest.mark.parametrize("sharding, groups, fits", [("data", MODEL, True), ("data", DATA, False), ("model", MODEL, False)])
def test_a_choice_by_a_divided_argument_varies_along_its_axes(tmp_path, sharding, groups, fits):
    """A per-device region sees its own shard of the flags."""
    inner = branch("mine", all_reduce("x", groups, "a"), "%b = stablehlo.abs %x : tensor<4xf32>")
    inner = inner.replace("return %r : tensor<4xf32>", "sdy.return %r : tensor<4xf32>")
    body = f"""
    %out = sdy.manual_computation(%flags, %y) in_shardings=[<@mesh, [{{"{sharding}"}}]>, <@mesh, [{{}}]>]
        out_shardings=[<@mesh, [{{}}]>] manual_axes={{"data", "model"}} (%piece: tensor<1xi1>, %x: tensor<4xf32>) {{
      %mine = stablehlo.reshape %piece : (tensor<1xi1>) -> tensor<i1>
      {inner}
    }} : (tensor<2xi1>, tensor<4xf32>) -> tensor<4xf32>
    return %out : tensor<4xf32>"""
    file = tmp_path / "p.mlir"
    file.write_text(program(body, arguments="%flags: tensor<2xi1>, %y: tensor<4xf32>"))
    if fits:
        assert f"may differ along {sharding}" in tilewright("verify-comm", file)
    else:
        text = tilewright("verify-comm", file, code=7)
        assert "E6015" in text and f"may choose differently along {sharding}" in text


def test_a_sum_makes_a_choice_the_same_within_its_groups(tmp_path):
    """The condition is summed along `data`, so a collective along `data` may depend on it, but not one along `model`."""
    for groups, fits in ((DATA, True), (MODEL, False)):
        body = f"""
    %me = stablehlo.partition_id : tensor<ui32>
    %mine = stablehlo.convert %me : (tensor<ui32>) -> tensor<f32>
    {all_reduce("mine", DATA, "sum", type_="tensor<f32>")}
    %limit = stablehlo.constant dense<3.0> : tensor<f32>
    %flag = stablehlo.compare LT, %sum, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
    {branch("flag", all_reduce("x", groups, "a", channel=2), "%b = stablehlo.abs %x : tensor<4xf32>")}"""
        file = tmp_path / "p.mlir"
        file.write_text(program(body))
        if fits:
            assert "may differ along model" in tilewright("verify-comm", file)
        else:
            assert "E6015" in tilewright("verify-comm", file, code=7)


def test_the_mesh_may_be_given_and_must_fit(tmp_path):
    file = tmp_path / "p.mlir"
    body = all_reduce("x", [[0, 1, 2, 3]], "a") + "\n    return %a : tensor<4xf32>"
    file.write_text(program(body))
    assert "mesh      a=4 (4 ranks)" in tilewright("verify-comm", file, "--mesh=a=4")
    text = tilewright("verify-comm", file, "--mesh=a=3", code=7)
    assert "E6020" in text and "has 3 ranks" in text and "4 partitions" in text
    assert "E0004" in tilewright("verify-comm", file, "--mesh=a", code=2)
    # A module that does not say how many ranks it is for gets them from the mesh.
    file.write_text(program(body).replace("attributes {mhlo.num_partitions = 4 : i32}", ""))
    assert "along x, y" in tilewright("verify-comm", file, "--mesh=x=2,y=2")


def test_without_collectives_there_is_nothing_to_prove():
    assert "is for 1 rank and has no collectives: no rank waits for another" in tilewright("verify-comm", EXAMPLES / "softmax.mlir")


def test_pictures_are_drawn_and_waits_are_red(tmp_path):
    for name, code in (("sums-over-a-mesh", 0), ("sum-in-a-branch", 7)):
        out = tmp_path / f"{name}.svg"
        tilewright("verify-comm", EXAMPLES / f"{name}.mlir", f"--picture={out}", code=code)
        picture = xml.fromstring(out.read_text())
        bars = [r for r in picture.iter("{http://www.w3.org/2000/svg}rect") if r.get("rx")]
        red = [bar for bar in bars if bar.get("fill") == "#d62728"]
        assert bars and bool(red) == (code == 7)
