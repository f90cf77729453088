/// Windows of 70 elements.
// input: 72xf32=0,13,26,39,52,65,7,20,33,46,59,1,14,27,40,53,66,8,21,34,47,60,2,15,28,41,54,67,9,22,35,48,61,3,16,29,42,55,68,10,23,36,49,62,4,17,30,43,56,69,11,24,37,50,63,5,18,31,44,57,70,12,25,38,51,64,6,19,32,45,58,0
// input: 3xf32=5,7,11
// result: 72xf32=0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,23,0,0,0,0,0,0,0,0,0,0,0
func.func @main(%a: tensor<72xf32>, %b: tensor<3xf32>) -> tensor<72xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = "stablehlo.select_and_scatter"(%a, %b, %zero) <{window_dimensions = array<i64: 70>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %0 = stablehlo.compare GE, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %0 = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %0 : tensor<f32>
  }) : (tensor<72xf32>, tensor<3xf32>, tensor<f32>) -> tensor<72xf32>
  return %r : tensor<72xf32>
}
