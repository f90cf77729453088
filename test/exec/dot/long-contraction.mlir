/// A long contraction, which GPUs split: infinities and NaN of a row stay in this row.
// input: 4x8192xf16=1
// input: 4xf16=inf,nan,1,-0.5
// input: 2x8192xf16=0.25
// result: 4x2xf32=inf,inf,nan,nan,2048,2048,-1024,-1024
func.func @main(%a: tensor<4x8192xf16>, %s: tensor<4xf16>, %b: tensor<2x8192xf16>) -> tensor<4x2xf32> {
  %r = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<4xf16>) -> tensor<4x8192xf16>
  %x = stablehlo.multiply %a, %r : tensor<4x8192xf16>
  %d = stablehlo.dot_general %x, %b, contracting_dims = [1] x [1] : (tensor<4x8192xf16>, tensor<2x8192xf16>) -> tensor<4x2xf32>
  return %d : tensor<4x2xf32>
}
