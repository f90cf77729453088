/// A long contraction, which GPUs split: a bf16 result is rounded once, after the sum and before the ops that read it.
// input: 3x8192xbf16=0.5
// input: 5x8192xbf16=1.0078125
// input: 5xbf16=-4096,0,1,32,64
// result: 3x5xbf16=32,4128,4128,4160,4192,32,4128,4128,4160,4192,32,4128,4128,4160,4192
func.func @main(%a: tensor<3x8192xbf16>, %b: tensor<5x8192xbf16>, %c: tensor<5xbf16>) -> tensor<3x5xbf16> {
  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<3x8192xbf16>, tensor<5x8192xbf16>) -> tensor<3x5xbf16>
  %e = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<5xbf16>) -> tensor<3x5xbf16>
  %r = stablehlo.add %d, %e : tensor<3x5xbf16>
  return %r : tensor<3x5xbf16>
}
