/// Composes x -> a x + b from the first element to each: a scan in which the order matters.
// input: 45xi32=-3,2,1,-2,3,1,-1,-3,2,1,-2,3,1,-1,-3,2,1,-2,3,1,-1,-3,2,1,-2,3,1,-1,-3,2,1,-2,3,1,-1,-3,2,1,-2,3,1,-1,-3,2,1
// input: 45xi32=-5,-2,1,4,-4,-1,2,5,-3,0,3,-5,-2,1,4,-4,-1,2,5,-3,0,3,-5,-2,1,4,-4,-1,2,5,-3,0,3,-5,-2,1,4,-4,-1,2,5,-3,0,3,-5
// result: 45xi32=-3,-6,-6,12,36,36,-36,108,216,216,-432,-1296,-1296,1296,-3888,-7776,-7776,15552,46656,46656,-46656,139968,279936,279936,-559872,-1679616,-1679616,1679616,-5038848,-10077696,-10077696,20155392,60466176,60466176,-60466176,181398528,362797056,362797056,-725594112,2118184960,2118184960,-2118184960,2059587584,-175792128,-175792128
// result: 45xi32=-5,1,-5,-29,-77,-113,-41,-221,-545,-545,103,2263,4855,3559,8743,24295,32071,16519,94279,-45689,-45689,-185657,-885497,-1445369,-1165433,-3404921,3313543,4993159,8352391,-16841849,13391239,13391239,73857415,-228473465,-349405817,-409871993,315722119,-1135466105,-1498263161,1345515911,-948461177,1286918535,1286918535,-1124253305,-245292665
func.func @main(%a: tensor<45xi32>, %b: tensor<45xi32>) -> (tensor<45xi32>, tensor<45xi32>) {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = "stablehlo.reduce_window"(%a, %b, %one, %zero) <{window_dimensions = array<i64: 45>, padding = dense<[[44, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%s: tensor<i32>, %t: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %scale = stablehlo.multiply %s, %c : tensor<i32>
    %moved = stablehlo.multiply %s, %d : tensor<i32>
    %shift = stablehlo.add %moved, %t : tensor<i32>
    stablehlo.return %scale, %shift : tensor<i32>, tensor<i32>
  }) : (tensor<45xi32>, tensor<45xi32>, tensor<i32>, tensor<i32>) -> (tensor<45xi32>, tensor<45xi32>)
  return %r#0, %r#1 : tensor<45xi32>, tensor<45xi32>
}
