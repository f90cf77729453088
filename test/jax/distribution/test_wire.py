"""No row of the table sends more than it did: reached.json has the bounds, and `table.py --keep` lowers them."""

import json

import anchors
import collectives
import conftest
import lowering
import micros
import pytest
import random_wire
import table

MODULE = """
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4x8xf32>):
    %first = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %last = "stablehlo.constant"() <{value = dense<8> : tensor<i32>}> : () -> tensor<i32>
    %step = "stablehlo.constant"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
    %loop:3 = "stablehlo.while"(%first, %last, %x) ({
    ^bb0(%i: tensor<i32>, %end: tensor<i32>, %y: tensor<4x8xf32>):
      %more = "stablehlo.compare"(%i, %end) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%more) : (tensor<i1>) -> ()
    }, {
    ^bb0(%i: tensor<i32>, %end: tensor<i32>, %y: tensor<4x8xf32>):
      %next = "stablehlo.add"(%i, %step) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %moved = "stablehlo.collective_permute"(%y) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
      "stablehlo.return"(%next, %end, %moved) : (tensor<i32>, tensor<i32>, tensor<4x8xf32>) -> ()
    }) : (tensor<i32>, tensor<i32>, tensor<4x8xf32>) -> (tensor<i32>, tensor<i32>, tensor<4x8xf32>)
    %sum = "stablehlo.all_reduce"(%loop#2) <{replica_groups = dense<[[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%c) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %stay = "stablehlo.collective_permute"(%sum) <{source_target_pairs = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%stay) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
}) : () -> ()
"""

HLO = """
HloModule jit_f

%body (p: (s32[], f32[4,8])) -> (s32[], f32[4,8]) {
  %g = f32[32,8]{1,0} all-gather(%y), channel_id=1, replica_groups=mesh['a'=2,'b'=4] {'b'}, dimensions={0}
  %s = f32[1,8]{1,0} reduce-scatter(%y), channel_id=2, replica_groups={{0,1,2,3},{4,5,6,7}}, dimensions={0}, to_apply=%add
}

%condition (p: (s32[], f32[4,8])) -> pred[] {
  %bound = s32[] constant(3)
  ROOT %more = pred[] compare(%i, %bound), direction=LT
}

ENTRY %main (x: f32[4,8]) -> f32[4,8] {
  %t = (f32[4,8]{1,0}, bf16[6]{0}) all-reduce(%x, %z), channel_id=3, replica_groups=[1,8]<=[8], to_apply=%add
  ROOT %loop = (s32[], f32[4,8]) while(%start), condition=%condition, body=%body
}
"""


def test_the_counter_of_our_programs_multiplies_by_the_rounds_of_loops():
    counts = collectives.of_module(MODULE)
    # i = 1, 3, 5, 7. The permute after the loop moves nothing.
    assert counts.to_json() == [["all_reduce", 4, 1, 128], ["collective_permute", 2, 4, 512]]
    assert counts.wire == 2 * 128 * 3 // 4 + 512


def test_the_counter_of_hlo_reads_groups_tuples_and_loops():
    counts = collectives.of_hlo(HLO)
    assert counts.to_json() == [
        ["all_gather", 4, 3, 3 * 1024], ["all_reduce", 8, 1, 140], ["reduce_scatter", 4, 3, 3 * 128],
    ]  # fmt: skip


def test_the_good_column_is_what_the_closed_forms_give():
    """Bytes a layer, each from the sizes of the model by the formulas of ring collectives."""
    good = {name: table.good_wire(name) for name in anchors.ANCHORS}
    assert good == {
        "dp": 1_492_736, "fsdp": 1_492_736, "fsdp_free": 1_492_736, "fsdp_scan": 2_239_104, "tp": 2_752_512,
        "tp_sp": 2_754_304, "dp_tp": 1_393_664, "dp_tp_sp": 1_395_200, "fsdp_tp": 1_033_728, "fsdp_tp_sp": 1_034_752,
        "ep": 811_776, "ep_steps": 811_776,
    }  # fmt: skip


def test_no_row_sends_more_than_before(pytestconfig):
    ours = lowering.count_ours()
    reached = json.loads(table.REACHED.read_text())
    assert reached.keys() == anchors.ANCHORS.keys() | micros.MICROS.keys() | set(table.RANDOM)
    now = table.bounds_of(ours)
    worse = [f"{name} sends {now[name]}, {reached[name]} before: {ours[name][0]}"
             for name in now if any(a > b for a, b in zip(now[name], reached[name], strict=True))]  # fmt: skip
    better = [name for name in now if name not in worse and now[name] < reached[name]]
    pytestconfig.stash[conftest.SUMMARY] = [
        f"{len(now)} rows; lower their bounds with test/jax/distribution/table.py --keep: {', '.join(better) or 'none'}"
    ]
    if worse:
        pytest.fail("\n".join(worse))


@pytest.mark.parametrize("name, kind", zip(table.RANDOM, (random_wire.RandomProgram, random_wire.ProgramOfAxes)))
def test_random_programs_send_no_more_than_before(name, kind):
    """A sample of the programs of random_wire.py, compared with what jaxlib sent for them."""
    rows = random_wire.compare(kind, range(random_wire.SAMPLE))
    reached = json.loads(table.REACHED.read_text())[name]
    now = random_wire.bounds(rows)
    assert all(a <= b for a, b in zip(now, reached, strict=True)), (now, reached, [row for row in rows if row[1] > row[2]])
