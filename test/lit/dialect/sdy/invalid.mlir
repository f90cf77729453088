// RUN: tilewright-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics

/// Meshes.
// expected-error@below {{the size of mesh axis "x" must be at least 1, got 0}}
// expected-error@below {{failed to parse}}
sdy.mesh @mesh = <["x"=0]>

// -----

// expected-error@below {{the axes of a mesh must have unique names, got "x" twice}}
sdy.mesh @mesh = <["x"=2, "y"=2, "x"=4]>

// -----

// expected-error@below {{the number of devices of a mesh must fit in 63 bits}}
sdy.mesh @mesh = <["x"=4294967296, "y"=4294967296]>

// -----

/// A bound of ours, so that no file can make a sharding expensive to check.
// expected-error@below {{a mesh must have at most 64 axes, got 65}}
sdy.mesh @mesh = <["a0"=1, "a1"=1, "a2"=1, "a3"=1, "a4"=1, "a5"=1, "a6"=1, "a7"=1, "a8"=1, "a9"=1, "a10"=1, "a11"=1, "a12"=1, "a13"=1, "a14"=1, "a15"=1, "a16"=1, "a17"=1, "a18"=1, "a19"=1, "a20"=1, "a21"=1, "a22"=1, "a23"=1, "a24"=1, "a25"=1, "a26"=1, "a27"=1, "a28"=1, "a29"=1, "a30"=1, "a31"=1, "a32"=1, "a33"=1, "a34"=1, "a35"=1, "a36"=1, "a37"=1, "a38"=1, "a39"=1, "a40"=1, "a41"=1, "a42"=1, "a43"=1, "a44"=1, "a45"=1, "a46"=1, "a47"=1, "a48"=1, "a49"=1, "a50"=1, "a51"=1, "a52"=1, "a53"=1, "a54"=1, "a55"=1, "a56"=1, "a57"=1, "a58"=1, "a59"=1, "a60"=1, "a61"=1, "a62"=1, "a63"=1, "a64"=1]>

// -----

// expected-error@below {{mesh must have one device id for each device, got 3 ids for 4 devices}}
sdy.mesh @mesh = <["x"=2, "y"=2], device_ids=[0, 2, 1]>

// -----

// expected-error@below {{device ids of a mesh of 2 devices must be in [0, 2), got 2}}
sdy.mesh @mesh = <["x"=2], device_ids=[2, 0]>

// -----

// expected-error@below {{device ids of a mesh of 2 devices must be in [0, 2), got -1}}
sdy.mesh @mesh = <["x"=2], device_ids=[-1, 0]>

// -----

// expected-error@below {{each device id must occur once in a mesh, got 1 twice}}
sdy.mesh @mesh = <["x"=3], device_ids=[1, 2, 1]>

// -----

// expected-error@below {{a mesh without axes must have at most one device id, got 2}}
sdy.mesh @mesh = <[], device_ids=[0, 1]>

// -----

// expected-error@below {{a device id must not be negative, got -1}}
sdy.mesh @mesh = <[], device_ids=[-1]>

// -----

func.func @mesh_in_function() {
  // expected-error@below {{expects parent op 'builtin.module'}}
  sdy.mesh @mesh = <["x"=2]>
  return
}

// -----

/// Attributes that are wrong wherever they are.
// expected-error@below {{the pre-size of a sub-axis must be at least 1, got (0)2}}
// expected-error@below {{failed to parse}}
"test.op"() {a = #sdy<axis_ref"x":(0)2>} : () -> ()

// -----

// expected-error@below {{the size of a sub-axis must be at least 2, got (1)1}}
// expected-error@below {{failed to parse}}
"test.op"() {a = #sdy<axis_ref"x":(1)1>} : () -> ()

// -----

// expected-error@below {{manual axes must be unique, got "x" twice}}
"test.op"() {a = #sdy<manual_axes{"x", "x"}>} : () -> ()

// -----

// expected-error@below {{at most 64 axes can be manual, got 65}}
"test.op"() {a = #sdy<manual_axes{"a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64"}>} : () -> ()

// -----

// expected-error@below {{a closed dimension sharding without axes must not have a priority, got p1}}
// expected-error@below {{failed to parse}}
"test.op"() {a = #sdy.sharding<@mesh, [{}p1]>} : () -> ()

// -----

// expected-error@below {{only a sharding with unreduced axes can have a reduction, got 'max' and no unreduced axes}}
"test.op"() {a = #sdy.sharding<@mesh, [{}], unreduced=max{}>} : () -> ()

// -----

// expected-error@below {{an all-to-all parameter must move axes between two different non-negative dimensions, got 1 and 1}}
"test.op"() {a = #sdy<all_to_all_param{"x"}: 1->1>} : () -> ()

// -----

// expected-error@below {{an all-to-all parameter must move axes between two different non-negative dimensions, got -1 and 1}}
"test.op"() {a = #sdy<all_to_all_param{"x"}: -1->1>} : () -> ()

// -----

/// Sharding rules by themselves.
// expected-error@below {{factor 'j' has no size; the rule has 1 factor sizes}}
"test.op"() {a = #sdy.op_sharding_rule<([i])->([i, j]) {i=2}>} : () -> ()

// -----

// expected-error@below {{operand mapping 0 must use each factor once, got 'i' twice}}
"test.op"() {a = #sdy.op_sharding_rule<([i, i])->([i]) {i=2}>} : () -> ()

// -----

// expected-error@below {{result mapping 1 must use each factor once, got 'i' twice}}
"test.op"() {a = #sdy.op_sharding_rule<([i], [i])->([i], [ii]) {i=2}>} : () -> ()

// -----

// expected-error@below {{a dimension with several factors must not have a factor of size 1, got 'j' in operand mapping 0}}
"test.op"() {a = #sdy.op_sharding_rule<([ij])->([i]) {i=2, j=1}>} : () -> ()

// -----

// expected-error@below {{the size of a factor must not be negative, got i=-1}}
"test.op"() {a = #sdy.op_sharding_rule<([i])->([i]) {i=-1}>} : () -> ()

// -----

// expected-error@below {{each factor must be used in a mapping, but j=4 is unused}}
"test.op"() {a = #sdy.op_sharding_rule<([i])->([i]) {i=2, j=4}>} : () -> ()

// -----

// expected-error@below {{reduction factors must be strictly increasing, got 'i' after 'j'}}
"test.op"() {a = #sdy.op_sharding_rule<([i, j])->([]) {i=2, j=2} reduction={j, i}>} : () -> ()

// -----

// expected-error@below {{factor 'k' has no size; the rule has 1 factor sizes}}
"test.op"() {a = #sdy.op_sharding_rule<([i])->([i]) {i=2} permutation={k}>} : () -> ()

// -----

// expected-error@below {{blocked_propagation factors must be strictly increasing, got 'i' after 'i'}}
"test.op"() {a = #sdy.op_sharding_rule<([i])->([i]) {i=2} blocked_propagation={i, i}>} : () -> ()

// -----

// expected-error@below {{a factor must be in at most one of reduction, need_replication and permutation, got 'i' again in permutation}}
"test.op"() {a = #sdy.op_sharding_rule<([i])->([i]) {i=2} need_replication={i} permutation={i}>} : () -> ()

// -----

// expected-error@below {{a reduction factor must not be in a result mapping, got 'i'}}
"test.op"() {a = #sdy.op_sharding_rule<([i])->([i]) {i=2} reduction={i}>} : () -> ()

// -----

/// What cannot be read.
// expected-error@below {{expected a priority (p0, p1, p2, ...), got 'q1'}}
// expected-error@below {{failed to parse}}
"test.op"() {a = #sdy.sharding<@mesh, [{"x"}q1]>} : () -> ()

// -----

// expected-error@below {{expected a priority (p0, p1, p2, ...), got 'p01'}}
// expected-error@below {{failed to parse}}
"test.op"() {a = #sdy.sharding<@mesh, [{"x"}p01]>} : () -> ()

// -----

// expected-error@below {{expected a priority (p0, p1, p2, ...), got 'p99999999999999999999'}}
// expected-error@below {{failed to parse}}
"test.op"() {a = #sdy.sharding<@mesh, [{"x"}p99999999999999999999]>} : () -> ()

// -----

// expected-error@below {{'?' must be the last entry of a dimension sharding}}
// expected-error@below {{failed to parse}}
"test.op"() {a = #sdy.sharding<@mesh, [{?, "x"}]>} : () -> ()

// -----

// expected-error@below {{expected 'replicated' or 'unreduced', each at most once, got 'replicated'}}
"test.op"() {a = #sdy.sharding<@mesh, [], replicated={"x"}, replicated={"y"}>} : () -> ()

// -----

// expected-error@below {{expected 'replicated' or 'unreduced', each at most once, got 'partial'}}
"test.op"() {a = #sdy.sharding<@mesh, [], partial={"x"}>} : () -> ()

// -----

// expected-error@below {{expected factor names (i to z, then z_1, z_2, ...), got 'h'}}
// expected-error@below {{failed to parse}}
"test.op"() {a = #sdy.op_sharding_rule<([h])->([i]) {i=2}>} : () -> ()

// -----

// expected-error@below {{expected factor names (i to z, then z_1, z_2, ...), got 'z_0'}}
// expected-error@below {{failed to parse}}
"test.op"() {a = #sdy.op_sharding_rule<([iz_0])->([i]) {i=2}>} : () -> ()

// -----

// expected-error@below {{expected the size of factor 'i' (sizes are listed in the order i, j, k, ...), got 'j'}}
"test.op"() {a = #sdy.op_sharding_rule<([i])->([i]) {j=2}>} : () -> ()

// -----

// expected-error@below {{expected one factor, got 2}}
"test.op"() {a = #sdy.op_sharding_rule<([i])->([i]) {ij=2}>} : () -> ()

// -----

/// A sharding against its mesh and its tensor.
sdy.mesh @mesh = <["x"=2, "y"=4, "z"=12]>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@below {{'sdy.sharding_constraint' op sharding refers to mesh @meshes, which is not an sdy.mesh of this module}}
  %0 = sdy.sharding_constraint %a <@meshes, [{}]> : tensor<8xf32>
  return
}

// -----

/// A symbol that is not a mesh.
sdy.mesh @mesh = <["x"=2, "y"=4, "z"=12]>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@below {{'sdy.sharding_constraint' op sharding refers to mesh @f, which is not an sdy.mesh of this module}}
  %0 = sdy.sharding_constraint %a <@f, [{}]> : tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4, "z"=12]>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@below {{'sdy.sharding_constraint' op sharding must have one dimension sharding for each dimension of 'tensor<8xf32>', got 2 for 1}}
  %0 = sdy.sharding_constraint %a <@mesh, [{}, {}]> : tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4, "z"=12]>
func.func @f(%a: tensor<*xf32>) {
  // expected-error@below {{'sdy.sharding_constraint' op sharding requires a ranked tensor, got 'tensor<*xf32>'}}
  %0 = sdy.sharding_constraint %a <@mesh, []> : tensor<*xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4, "z"=12]>
func.func @f(%a: i32) {
  // expected-error@below {{'sdy.sharding_constraint' op sharding must not have axes, because 'i32' is not a ranked tensor, got #sdy.sharding<@mesh, [], replicated={"x"}>}}
  %0 = sdy.sharding_constraint %a <@mesh, [], replicated={"x"}> : i32
  return
}

// -----

sdy.mesh @one = <[], device_ids=[0]>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@below {{'sdy.sharding_constraint' op sharding on a single-device mesh must have no dimensions and no axes, got #sdy.sharding<@one, [{}]>}}
  %0 = sdy.sharding_constraint %a <@one, [{}]> : tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4, "z"=12]>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@below {{'sdy.sharding_constraint' op sharding refers to axis "w", which does not exist in its mesh}}
  // expected-note@below {{the mesh is #sdy.mesh<["x"=2, "y"=4, "z"=12]>}}
  %0 = sdy.sharding_constraint %a <@mesh, [{"w"}]> : tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4, "z"=12]>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@below {{'sdy.sharding_constraint' op sharding refers to sub-axis "z":(2)5, whose pre-size times size must divide the size of the axis, 12}}
  %0 = sdy.sharding_constraint %a <@mesh, [{"z":(2)5}]> : tensor<8xf32>
  return
}

// -----

/// The product overflows.
sdy.mesh @mesh = <["x"=2, "y"=4, "z"=12]>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@below {{'sdy.sharding_constraint' op sharding refers to sub-axis "z":(4611686018427387904)4, whose pre-size times size must divide the size of the axis, 12}}
  %0 = sdy.sharding_constraint %a <@mesh, [{"z":(4611686018427387904)4}]> : tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4, "z"=12]>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@below {{'sdy.sharding_constraint' op sharding refers to sub-axis "y":(1)4, which is the whole axis and must be written "y"}}
  %0 = sdy.sharding_constraint %a <@mesh, [{"y":(1)4}]> : tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4, "z"=12]>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@below {{'sdy.sharding_constraint' op sharding refers to adjacent sub-axes "z":(1)2 and "z":(2)3, which must be merged}}
  %0 = sdy.sharding_constraint %a <@mesh, [{"z":(1)2, "z":(2)3}]> : tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4, "z"=12]>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@below {{'sdy.sharding_constraint' op sharding must list its replicated axes in the order of the mesh, got "x" after "y"}}
  %0 = sdy.sharding_constraint %a <@mesh, [{}], replicated={"y", "x"}> : tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4, "z"=12]>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@below {{'sdy.sharding_constraint' op sharding must list its unreduced axes in the order of the mesh, got "z":(1)2 after "z":(4)3}}
  %0 = sdy.sharding_constraint %a <@mesh, [{}], unreduced={"z":(4)3, "z":(1)2}> : tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4, "z"=12]>
func.func @f(%a: tensor<8x8xf32>) {
  // expected-error@below {{'sdy.sharding_constraint' op sharding uses axis "x" twice}}
  %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {"x"}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4, "z"=12]>
func.func @f(%a: tensor<8x8xf32>) {
  // expected-error@below {{'sdy.sharding_constraint' op sharding uses axis "x" twice}}
  %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}], unreduced={"x"}> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4, "z"=12]>
func.func @f(%a: tensor<8x8xf32>) {
  // expected-error@below {{'sdy.sharding_constraint' op sharding uses "z" and "z":(2)3, which overlap}}
  %0 = sdy.sharding_constraint %a <@mesh, [{"z"}, {"z":(2)3}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4, "z"=12]>
func.func @f(%a: tensor<8x8xf32>) {
  // expected-error@below {{'sdy.sharding_constraint' op sharding uses "z":(1)4 and "z":(2)3, which overlap}}
  %0 = sdy.sharding_constraint %a <@mesh, [{"z":(1)4}, {"z":(2)3}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4, "z"=12]>
func.func @f(%a: tensor<8x8xf32>) {
  // expected-error@below {{'sdy.sharding_constraint' op sharding uses "z":(1)2 and "z":(3)4, which do not belong to the same split of the axis}}
  %0 = sdy.sharding_constraint %a <@mesh, [{"z":(1)2}, {"z":(3)4}]> : tensor<8x8xf32>
  return
}

// -----

/// An axis of size 1 is still an axis.
sdy.mesh @mesh = <["x"=1]>
func.func @f(%a: tensor<8x8xf32>) {
  // expected-error@below {{sharding uses axis "x" twice}}
  %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {"x"}]> : tensor<8x8xf32>
  return
}

// -----

/// Shardings on foreign ops and functions.
// expected-error@below {{attribute 'sdy.sharding' must be a #sdy.sharding_per_value, got "x"}}
"test.op"() {sdy.sharding = "x"} : () -> ()

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
// expected-error@below {{'test.op' op must have one sharding for each result, got 1 shardings for 2 results}}
%0:2 = "test.op"() {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : () -> (tensor<8xf32>, tensor<8xf32>)

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
// expected-error@below {{'test.op' op result 1 sharding refers to axis "z", which does not exist in its mesh}}
// expected-note@below {{the mesh is #sdy.mesh<["x"=2, "y"=4]>}}
%0:2 = "test.op"() {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>, <@mesh, [{"z"}]>]>} : () -> (tensor<8xf32>, tensor<8xf32>)

// -----

// expected-error@below {{'test.op' op sharding refers to mesh @mesh, which is not an sdy.mesh of this module}}
"test.op"() {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : () -> ()

// -----

// expected-error@below {{'func.func' op argument 1 sharding refers to mesh @mesh, which is not an sdy.mesh of this module}}
func.func @f(%a: tensor<8xf32>, %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) { return }

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
// expected-error@below {{'func.func' op result 0 sharding uses axis "x" twice}}
func.func private @f() -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"x"}]>})

// -----

// expected-error@below {{'func.func' op argument 0 attribute 'sdy.sharding' must be a #sdy.sharding, got "x"}}
func.func private @f(tensor<8xf32> {sdy.sharding = "x"})

// -----

// expected-error@below {{'func.func' op result 0 attribute 'sdy.sharding' must be a #sdy.sharding, got 1 : i32}}
func.func private @f() -> (tensor<8xf32> {sdy.sharding = 1 : i32})

// -----

// expected-error@below {{attribute 'sdy.sharding_rule' must be a #sdy.op_sharding_rule, got "x"}}
"test.op"() {sdy.sharding_rule = "x"} : () -> ()

// -----

func.func @f(%a: tensor<8xf32>, %i: i32) {
  // expected-error@below {{'test.op' op sharding rule must have one mapping for each operand, got 2 for 1}}
  %0 = "test.op"(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i], [i])->([i]) {i=8}>} : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%a: tensor<8xf32>, %i: i32) {
  // expected-error@below {{'test.op' op sharding rule must have one mapping for each result, got 1 for 0}}
  "test.op"(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8}>} : (tensor<8xf32>) -> ()
  return
}

// -----

func.func @f(%a: tensor<8xf32>, %i: i32) {
  // expected-error@below {{'test.op' op sharding rule must map each dimension of result 0, got 1 mappings for 'tensor<8x2xf32>'}}
  %0 = "test.op"(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([ij]) {i=8, j=2}>} : (tensor<8xf32>) -> tensor<8x2xf32>
  return
}

// -----

func.func @f(%a: tensor<8xf32>, %i: i32) {
  // expected-error@below {{'test.op' op sharding rule requires ranked tensors, got operand 0 of type 'i32'}}
  %0 = "test.op"(%i) {sdy.sharding_rule = #sdy.op_sharding_rule<([])->([])>} : (i32) -> tensor<f32>
  return
}

// -----

/// Manual computations.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@below {{'sdy.manual_computation' op must have the same number of operands as its body, got 1 and 2}}
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>]
      manual_axes={"x"} (%p: tensor<4xf32>, %q: tensor<4xf32>) {
    %1 = "test.op"() : () -> tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@below {{'sdy.manual_computation' op must have one sharding for each operand, got 2 shardings for 1 operands}}
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>]
      manual_axes={"x"} (%p: tensor<4xf32>) {
    %1 = "test.op"() : () -> tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@below {{'sdy.manual_computation' op operand 0 sharding refers to mesh @nowhere, which is not an sdy.mesh of this module}}
  %0 = sdy.manual_computation(%a) in_shardings=[<@nowhere, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>]
      manual_axes={"x"} (%p: tensor<4xf32>) {
    %1 = "test.op"() : () -> tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@below {{'sdy.manual_computation' op result 0 sharding refers to axis "w", which does not exist in its mesh}}
  // expected-note@below {{the mesh is #sdy.mesh<["x"=2, "y"=4]>}}
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"w"}]>]
      manual_axes={"x"} (%p: tensor<4xf32>) {
    %1 = "test.op"() : () -> tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@below {{'sdy.manual_computation' op operand 0 of type 'tensor<8xf32>' has shards of type 'tensor<4xf32>', but the body uses 'tensor<8xf32>'}}
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>]
      manual_axes={"x"} (%p: tensor<8xf32>) {
    %1 = "test.op"() : () -> tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@below {{'sdy.manual_computation' op result 0 of type 'tensor<8xf32>' has shards of type 'tensor<4xf32>', but the body uses 'tensor<8xf32>'}}
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>]
      manual_axes={"x"} (%p: tensor<4xf32>) {
    %1 = "test.op"() : () -> tensor<8xf32>
    sdy.return %1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@below {{'sdy.manual_computation' op operand 0 of type 'tensor<8xf32>' has shards of type 'tensor<4xf32>', but the body uses 'memref<4xf32>'}}
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>]
      manual_axes={"x"} (%p: memref<4xf32>) {
    %1 = "test.op"() : () -> tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@below {{'sdy.manual_computation' op operand 0 dimension 0 must list manual axes before free axes, got manual axis "y" after free axis "x"}}
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x", "y"}]>] out_shardings=[<@mesh, [{"x"}]>]
      manual_axes={"y"} (%p: tensor<4xf32>) {
    %1 = "test.op"() : () -> tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<7xf32>) {
  // expected-error@below {{'sdy.manual_computation' op operand 0 dimension 0 of size 7 must be divisible by the size of its manual axes, 2}}
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>]
      manual_axes={"x"} (%p: tensor<4xf32>) {
    %1 = "test.op"() : () -> tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<7xf32>) -> tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@below {{'sdy.manual_computation' op manual axis "w" is not an axis of the mesh of the shardings, #sdy.mesh<["x"=2, "y"=4]>}}
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>]
      manual_axes={"x", "w"} (%p: tensor<4xf32>) {
    %1 = "test.op"() : () -> tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
sdy.mesh @other = <["x"=2]>
func.func @f(%a: tensor<8xf32>) {
  // expected-error@below {{'sdy.manual_computation' op must have all shardings on the same mesh, got #sdy.mesh<["x"=2, "y"=4]> and #sdy.mesh<["x"=2]>}}
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@other, [{"x"}]>]
      manual_axes={"x"} (%p: tensor<4xf32>) {
    %1 = "test.op"() : () -> tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

/// Inside a manual computation its axes are gone.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<8xf32>) {
  // expected-note@below {{the axis is in this op's manual_axes}}
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%p: tensor<4xf32>) {
    // expected-error@below {{sharding refers to axis "x", which is already manual in an enclosing region}}
    %1 = sdy.sharding_constraint %p <@mesh, [{"x"}]> : tensor<4xf32>
    sdy.return %p : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%a: tensor<8xf32>) {
  // expected-note@below {{the axis is in this op's manual_axes}}
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%p: tensor<4xf32>) {
    // expected-error@below {{manual axis "x" is already manual in an enclosing region}}
    %1 = sdy.manual_computation(%p) in_shardings=[<@mesh, [{}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"x"} (%q: tensor<4xf32>) {
      sdy.return %q : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    sdy.return %p : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

/// Regions that are not one block ending in sdy.return.
func.func @f() {
  // expected-error@below {{region #0 ('body') failed to verify constraint: region with 1 blocks}}
  "sdy.manual_computation"() <{in_shardings = #sdy.sharding_per_value<[]>, out_shardings = #sdy.sharding_per_value<[]>,
      manual_axes = #sdy<manual_axes{}>}> ({}) : () -> ()
  return
}

// -----

func.func @f() {
  // expected-error@below {{expects regions to end with 'sdy.return', found 'test.end'}}
  // expected-note@below {{in custom textual format, the absence of terminator implies 'sdy.return'}}
  "sdy.manual_computation"() <{in_shardings = #sdy.sharding_per_value<[]>, out_shardings = #sdy.sharding_per_value<[]>,
      manual_axes = #sdy<manual_axes{}>}> ({
    "test.end"() : () -> ()
  }) : () -> ()
  return
}

// -----

func.func @f() {
  // expected-error@below {{'sdy.return' op expects parent op 'sdy.manual_computation'}}
  sdy.return
}
