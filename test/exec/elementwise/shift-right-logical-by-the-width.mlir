/// A logical shift fills with zeros, and by the width or more gives zero.
// input: 5xi32=-8,-8,-1,-2147483648,5
// input: 5xi32=1,32,28,31,-1
// result: 5xi32=2147483644,0,15,1,0
func.func @main(%a: tensor<5xi32>, %b: tensor<5xi32>) -> tensor<5xi32> {
  %r = stablehlo.shift_right_logical %a, %b : tensor<5xi32>
  return %r : tensor<5xi32>
}
