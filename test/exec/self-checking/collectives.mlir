/// Four devices in a 2 x 2 mesh: sums along one axis, gathers along the other.

sdy.mesh @mesh = <["x"=2, "y"=2]>

func.func @main() {
  %x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %0 = sdy.manual_computation(%x)
      in_shardings=[<@mesh, [{"x"}, {"y"} ]>] out_shardings=[<@mesh, [{"x"}, {} ]>]
      manual_axes={"x", "y"} (%piece: tensor<1x1xf32>) {
    %sum = "stablehlo.all_reduce"(%piece) <{use_global_device_ids,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
      replica_groups = #stablehlo.replica_group_mesh_axes<
        mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>, #stablehlo.mesh_axis<name = "y", size = 2>]>,
        axes = [#stablehlo.axis_ref<name = "x">]>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<1x1xf32>) -> tensor<1x1xf32>
    %row = "stablehlo.all_gather"(%sum) <{all_gather_dim = 1 : i64, use_global_device_ids,
      channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>,
      replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<1x1xf32>) -> tensor<1x2xf32>
    sdy.return %row : tensor<1x2xf32>
  } : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %expected = stablehlo.constant dense<[[4.0, 6.0], [4.0, 6.0]]> : tensor<2x2xf32>
  stablehlo.custom_call @check.expect_eq(%0, %expected) {has_side_effect = true} : (tensor<2x2xf32>, tensor<2x2xf32>) -> ()
  return
}
