/// Composes x -> a x + b from each element to the last. A scan from the end must keep the order of its operands.
// input: 45xi32=-3,2,1,-2,3,1,-1,-3,2,1,-2,3,1,-1,-3,2,1,-2,3,1,-1,-3,2,1,-2,3,1,-1,-3,2,1,-2,3,1,-1,-3,2,1,-2,3,1,-1,-3,2,1
// input: 45xi32=-5,-2,1,4,-4,-1,2,5,-3,0,3,-5,-2,1,4,-4,-1,2,5,-3,0,3,-5,-2,1,4,-4,-1,2,5,-3,0,3,-5,-2,1,4,-4,-1,2,5,-3,0,3,-5
// result: 45xi32=-175792128,58597376,-2118184960,-2118184960,-1088391168,-362797056,-362797056,362797056,-120932352,-60466176,-60466176,30233088,10077696,10077696,-10077696,3359232,1679616,1679616,-839808,-279936,-279936,279936,-93312,-46656,-46656,23328,7776,7776,-7776,2592,1296,1296,-648,-216,-216,216,-72,-36,-36,18,6,6,-6,2,1
// result: 45xi32=-245292665,81764220,-2106601537,-2106601538,-1094182877,1066928141,1066928142,-1066928140,355642715,177821359,177821359,-88910678,-29636891,-29636889,29636890,-9878962,-4939479,-4939478,2469740,823245,823248,-823248,274417,137211,137213,-68606,-22870,-22866,22865,-7621,-3813,-3810,1905,634,639,-641,214,105,109,-55,-19,-24,21,-7,-5
func.func @main(%a: tensor<45xi32>, %b: tensor<45xi32>) -> (tensor<45xi32>, tensor<45xi32>) {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = "stablehlo.reduce_window"(%a, %b, %one, %zero) <{window_dimensions = array<i64: 45>, padding = dense<[[0, 44]]> : tensor<1x2xi64>}> ({
  ^bb0(%s: tensor<i32>, %t: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %scale = stablehlo.multiply %s, %c : tensor<i32>
    %moved = stablehlo.multiply %s, %d : tensor<i32>
    %shift = stablehlo.add %moved, %t : tensor<i32>
    stablehlo.return %scale, %shift : tensor<i32>, tensor<i32>
  }) : (tensor<45xi32>, tensor<45xi32>, tensor<i32>, tensor<i32>) -> (tensor<45xi32>, tensor<45xi32>)
  return %r#0, %r#1 : tensor<45xi32>, tensor<45xi32>
}
