/// Sums of padded windows of bf16.
// input: 6x6xbf16=-4,-3,-2,-1,0,1,2,3,4,-4,-3,-2,-1,0,1,2,3,4,-4,-3,-2,-1,0,1,2,3,4,-4,-3,-2,-1,0,1,2,3,4
// result: 3x3xbf16=-2,-3,-9,-3,0,0,-3,0,0
func.func @main(%a: tensor<6x6xbf16>) -> tensor<3x3xbf16> {
  %z = stablehlo.constant dense<0.0> : tensor<bf16>
  %r = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 3, 3>, window_strides = array<i64: 2, 2>, padding = dense<[[1, 0], [1, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%x: tensor<bf16>, %y: tensor<bf16>):
    %0 = stablehlo.add %x, %y : tensor<bf16>
    stablehlo.return %0 : tensor<bf16>
  }) : (tensor<6x6xbf16>, tensor<bf16>) -> tensor<3x3xbf16>
  return %r : tensor<3x3xbf16>
}
