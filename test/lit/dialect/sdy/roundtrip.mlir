// RUN: tilewright-opt %s --allow-unregistered-dialect | FileCheck %s
// RUN: tilewright-opt %s --allow-unregistered-dialect --mlir-print-op-generic \
// RUN:   | tilewright-opt --allow-unregistered-dialect | FileCheck %s

// CHECK: sdy.mesh @empty = <[]>
sdy.mesh @empty = <[]>
// CHECK: sdy.mesh @one_device = <[], device_ids=[3]>
sdy.mesh @one_device = <[], device_ids=[3]>
// CHECK: sdy.mesh @mesh = <["x"=2, "y"=4, "z"=12]>
sdy.mesh @mesh = <["x"=2, "y"=4, "z"=12]>
// CHECK: sdy.mesh @reordered = <["x"=2, "y"=2], device_ids=[0, 2, 1, 3]>
sdy.mesh @reordered = <["x"=2, "y"=2], device_ids=[0, 2, 1, 3]>
/// Ids that are in order say nothing and are dropped.
// CHECK: sdy.mesh @in_order = <["x"=2, "y"=2]>
sdy.mesh @in_order = <["x"=2, "y"=2], device_ids=[0, 1, 2, 3]>

// CHECK-LABEL: func @function_shardings
// CHECK-SAME{LITERAL}: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}
// CHECK-SAME{LITERAL}: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {?}]>}
// CHECK-SAME{LITERAL}: tensor<?x?xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z":(2)3, ?}p1, {"y"}p0]>}
// CHECK-SAME{LITERAL}: (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@one_device, []>}
func.func @function_shardings(
    %a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {?}]>},
    %c: tensor<?x?xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z":(2)3, ?}p1, {"y"}p0]>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@one_device, []>}) {
  return %a : tensor<8x8xf32>
}

// CHECK-LABEL: func @op_shardings
func.func @op_shardings(%a: tensor<8x8xf32>) {
  // CHECK{LITERAL}: #sdy.sharding_per_value<[<@mesh, [{"y":(2)2, "y":(1)2}, {}], replicated={"x"}, unreduced={"z"}>]>
  %0 = "test.op"(%a) {sdy.sharding = #sdy.sharding_per_value<
      [<@mesh, [{"y":(2)2, "y":(1)2}, {}], replicated={"x"}, unreduced={"z"}>]>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  /// In any order, and `sum` need not be said.
  // CHECK{LITERAL}: <[<@mesh, [{}, {}], replicated={"x"}, unreduced={"y"}>, <@mesh, [{}, {}], unreduced=max{"z"}>]>
  %1:2 = "test.op"(%a) {sdy.sharding = #sdy.sharding_per_value<
      [<@mesh, [{}, {}], unreduced=sum{"y"}, replicated={"x"}>, <@mesh, [{}, {}], unreduced=max{"z"}>]>}
      : (tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
  // CHECK{LITERAL}: #sdy.sharding_per_value<[<mesh<["a"=2], device_ids=[1, 0]>, [{"a"}, {}]>]>
  %2 = "test.op"(%a) {sdy.sharding = #sdy.sharding_per_value<
      [<mesh<["a"=2], device_ids=[1, 0]>, [{"a"}, {}]>]>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  /// An op without results says where it runs; a tuple of one counts as its element.
  // CHECK{LITERAL}: #sdy.sharding_per_value<[<@one_device, []>]>
  "test.op"(%a) {sdy.sharding = #sdy.sharding_per_value<[<@one_device, []>]>} : (tensor<8x8xf32>) -> ()
  // CHECK{LITERAL}: #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>
  %3 = "test.op"(%a) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>}
      : (tensor<8x8xf32>) -> tuple<tensor<8x8xf32>>
  // CHECK{LITERAL}: sdy.sharding_constraint %arg0 <@mesh, [{"x"}, {?}]> : tensor<8x8xf32>
  %4 = sdy.sharding_constraint %a <@mesh, [{"x"}, {?}]> : tensor<8x8xf32>
  // CHECK{LITERAL}: #sdy.op_sharding_rule<([i, j])->([j, i]) {i=0, j=4}>
  "test.op"() {a = #sdy.op_sharding_rule<([i, j])->([j, i]) {i=0, j=4}>} : () -> ()
  return
}

// CHECK-LABEL: func @manual
func.func @manual(%a: tensor<8x8xf32>, %b: tensor<f32>) -> tensor<8x?xf32> {
  // CHECK{LITERAL}: sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"x", "y"}, {}]>, <@mesh, []>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"x", "y"} (%arg2: tensor<1x8xf32>, %arg3: tensor<f32>) {
  // CHECK:   sdy.return %{{.*}} : tensor<4x?xf32>
  // CHECK: } : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x?xf32>
  %0 = sdy.manual_computation(%a, %b)
      in_shardings=[<@mesh, [{"x", "y"}, {}]>, <@mesh, []>] out_shardings=[<@mesh, [{"x"}, {"y"}]>]
      manual_axes={"x", "y"} (%piece: tensor<1x8xf32>, %scalar: tensor<f32>) {
    %1 = "test.op"(%piece) : (tensor<1x8xf32>) -> tensor<4x?xf32>
    sdy.return %1 : tensor<4x?xf32>
  } : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x?xf32>
  return %0 : tensor<8x?xf32>
}

/// Over "y" the outer body still sees whole tensors; the inner one cuts them.
// CHECK-LABEL: func @nested_manual
func.func @nested_manual(%a: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: sdy.manual_computation(%arg0) {{.*}} manual_axes={"x"} (%arg1: tensor<4xf32>) {
  // CHECK:   sdy.manual_computation(%arg1) {{.*}} manual_axes={"y"} (%arg2: tensor<1xf32>) {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x", "y"}]>] out_shardings=[<@mesh, [{"x"}]>]
      manual_axes={"x"} (%b: tensor<4xf32>) {
    %1 = sdy.manual_computation(%b) in_shardings=[<@mesh, [{"y"}]>] out_shardings=[<@mesh, [{"y"}]>]
        manual_axes={"y"} (%c: tensor<1xf32>) {
      sdy.return %c : tensor<1xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func @manual_without_values
func.func @manual_without_values() {
  // CHECK: sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={} () {
  // CHECK-NEXT: sdy.return
  sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={} () {
    sdy.return
  } : () -> ()
  /// The terminator may be left out where nothing is returned.
  // CHECK: sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={"x"} () {
  // CHECK-NEXT: sdy.return
  sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={"x"} () {
  } : () -> ()
  return
}

// CHECK-LABEL: func @sharding_rules
func.func @sharding_rules(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>, %s: tensor<f32>) {
  // CHECK: #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=8, j=8, k=8} reduction={k}>
  %0 = "test.op"(%a, %b) {sdy.sharding_rule = #sdy.op_sharding_rule<
      ([i, k], [k, j])->([i, j]) {i=8, j=8, k=8} reduction={k}>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: #sdy.op_sharding_rule<([ij, k])->([i, jk]) {i=2, j=4, k=8} need_replication={i} permutation={j, k} blocked_propagation={j}, custom>
  %1 = "test.op"(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<
      ([ij, k])->([i, jk]) {i=2, j=4, k=8} need_replication={i} permutation={j, k} blocked_propagation={j}, custom>}
      : (tensor<8x8xf32>) -> tensor<2x32xf32>
  // CHECK: #sdy.op_sharding_rule<([])->([])>
  %2 = "test.op"(%s) {sdy.sharding_rule = #sdy.op_sharding_rule<([])->([])>} : (tensor<f32>) -> tensor<f32>
  /// After `z` come `z_1`, `z_2`, ...
  // CHECK: #sdy.op_sharding_rule<([ijklmnopqrstuvwxyzz_1z_2])->([z_2])
  // CHECK-SAME: z=2, z_1=2, z_2=2} reduction={i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, z_1}>
  %3 = "test.op"() {rule = #sdy.op_sharding_rule<([ijklmnopqrstuvwxyzz_1z_2])->([z_2])
      {i=2, j=2, k=2, l=2, m=2, n=2, o=2, p=2, q=2, r=2, s=2, t=2, u=2, v=2, w=2, x=2, y=2, z=2, z_1=2, z_2=2}
      reduction={i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, z_1}>} : () -> tensor<f32>
  return
}

/// The attributes of Shardy's own collectives, which only hang on foreign ops here.
// CHECK-LABEL: func @other_attributes
func.func @other_attributes() {
  // CHECK{LITERAL}: a = #sdy<axis_ref_list{"x", "y":(1)2}>
  // CHECK-SAME{LITERAL}: b = #sdy<list_of_axis_ref_lists[{"x"}, {}]>
  // CHECK-SAME{LITERAL}: c = #sdy<all_to_all_param_list[{"x"}: 0->2, {"y"}: 1->0]>
  // CHECK-SAME{LITERAL}: d = #sdy<manual_axes{"x"}>
  "test.op"() {a = #sdy<axis_ref_list{"x", "y":(1)2}>, b = #sdy<list_of_axis_ref_lists[{"x"}, {}]>,
               c = #sdy<all_to_all_param_list[{"x"}: 0->2, {"y"}: 1->0]>, d = #sdy<manual_axes{"x"}>} : () -> ()
  return
}
