/// The order of a key moves another operand, whose memory nobody else needs.
func.func @main() {
  %keys = stablehlo.constant dense<[3.0, 1.0, 2.0, 5.0, 4.0, 9.0, 8.0, 7.0]> : tensor<8xf32>
  %places = stablehlo.iota dim = 0 : tensor<8xi32>
  %0:2 = "stablehlo.sort"(%keys, %places) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %p: tensor<i32>, %q: tensor<i32>):
    %c = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<8xf32>, tensor<8xi32>) -> (tensor<8xf32>, tensor<8xi32>)
  %expected = stablehlo.constant dense<[1, 2, 0, 4, 3, 7, 6, 5]> : tensor<8xi32>
  stablehlo.custom_call @check.expect_eq(%0#1, %expected) {has_side_effect = true} : (tensor<8xi32>, tensor<8xi32>) -> ()
  return
}
