/// Forty operands of different widths, some of them empty, along the last dimension.
// input: 2x0xi32=
// input: 2x3xi32=18,19,20,21,22,23
// input: 2x2xi32=24,25,26,27
// input: 2x1xi32=28,29
// input: 2x0xi32=
// input: 2x3xi32=30,31,32,33,34,35
// input: 2x2xi32=36,37,38,39
// input: 2x1xi32=40,41
// input: 2x0xi32=
// input: 2x3xi32=42,43,44,45,46,47
// input: 2x2xi32=48,49,50,51
// input: 2x1xi32=52,53
// input: 2x0xi32=
// input: 2x3xi32=54,55,56,57,58,59
// input: 2x2xi32=60,61,62,63
// input: 2x1xi32=64,65
// input: 2x0xi32=
// input: 2x3xi32=66,67,68,69,70,71
// input: 2x2xi32=72,73,74,75
// input: 2x1xi32=76,77
// input: 2x0xi32=
// input: 2x3xi32=78,79,80,81,82,83
// input: 2x2xi32=84,85,86,87
// input: 2x1xi32=88,89
// input: 2x0xi32=
// input: 2x3xi32=90,91,92,93,94,95
// input: 2x2xi32=96,97,98,99
// input: 2x1xi32=100,101
// input: 2x0xi32=
// input: 2x3xi32=102,103,104,105,106,107
// input: 2x2xi32=108,109,110,111
// input: 2x1xi32=112,113
// input: 2x0xi32=
// input: 2x3xi32=114,115,116,117,118,119
// input: 2x2xi32=120,121,122,123
// input: 2x1xi32=124,125
// input: 2x0xi32=
// input: 2x3xi32=126,127,128,129,130,131
// input: 2x2xi32=132,133,134,135
// input: 2x1xi32=136,137
// result: 2x60xi32=18,19,20,24,25,28,30,31,32,36,37,40,42,43,44,48,49,52,54,55,56,60,61,64,66,67,68,72,73,76,78,79,80,84,85,88,90,91,92,96,97,100,102,103,104,108,109,112,114,115,116,120,121,124,126,127,128,132,133,136,21,22,23,26,27,29,33,34,35,38,39,41,45,46,47,50,51,53,57,58,59,62,63,65,69,70,71,74,75,77,81,82,83,86,87,89,93,94,95,98,99,101,105,106,107,110,111,113,117,118,119,122,123,125,129,130,131,134,135,137
func.func @main(%a0: tensor<2x0xi32>, %a1: tensor<2x3xi32>, %a2: tensor<2x2xi32>, %a3: tensor<2x1xi32>, %a4: tensor<2x0xi32>, %a5: tensor<2x3xi32>, %a6: tensor<2x2xi32>, %a7: tensor<2x1xi32>, %a8: tensor<2x0xi32>, %a9: tensor<2x3xi32>, %a10: tensor<2x2xi32>, %a11: tensor<2x1xi32>, %a12: tensor<2x0xi32>, %a13: tensor<2x3xi32>, %a14: tensor<2x2xi32>, %a15: tensor<2x1xi32>, %a16: tensor<2x0xi32>, %a17: tensor<2x3xi32>, %a18: tensor<2x2xi32>, %a19: tensor<2x1xi32>, %a20: tensor<2x0xi32>, %a21: tensor<2x3xi32>, %a22: tensor<2x2xi32>, %a23: tensor<2x1xi32>, %a24: tensor<2x0xi32>, %a25: tensor<2x3xi32>, %a26: tensor<2x2xi32>, %a27: tensor<2x1xi32>, %a28: tensor<2x0xi32>, %a29: tensor<2x3xi32>, %a30: tensor<2x2xi32>, %a31: tensor<2x1xi32>, %a32: tensor<2x0xi32>, %a33: tensor<2x3xi32>, %a34: tensor<2x2xi32>, %a35: tensor<2x1xi32>, %a36: tensor<2x0xi32>, %a37: tensor<2x3xi32>, %a38: tensor<2x2xi32>, %a39: tensor<2x1xi32>) -> tensor<2x60xi32> {
  %r = stablehlo.concatenate %a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9, %a10, %a11, %a12, %a13, %a14, %a15, %a16, %a17, %a18, %a19, %a20, %a21, %a22, %a23, %a24, %a25, %a26, %a27, %a28, %a29, %a30, %a31, %a32, %a33, %a34, %a35, %a36, %a37, %a38, %a39, dim = 1 : (tensor<2x0xi32>, tensor<2x3xi32>, tensor<2x2xi32>, tensor<2x1xi32>, tensor<2x0xi32>, tensor<2x3xi32>, tensor<2x2xi32>, tensor<2x1xi32>, tensor<2x0xi32>, tensor<2x3xi32>, tensor<2x2xi32>, tensor<2x1xi32>, tensor<2x0xi32>, tensor<2x3xi32>, tensor<2x2xi32>, tensor<2x1xi32>, tensor<2x0xi32>, tensor<2x3xi32>, tensor<2x2xi32>, tensor<2x1xi32>, tensor<2x0xi32>, tensor<2x3xi32>, tensor<2x2xi32>, tensor<2x1xi32>, tensor<2x0xi32>, tensor<2x3xi32>, tensor<2x2xi32>, tensor<2x1xi32>, tensor<2x0xi32>, tensor<2x3xi32>, tensor<2x2xi32>, tensor<2x1xi32>, tensor<2x0xi32>, tensor<2x3xi32>, tensor<2x2xi32>, tensor<2x1xi32>, tensor<2x0xi32>, tensor<2x3xi32>, tensor<2x2xi32>, tensor<2x1xi32>) -> tensor<2x60xi32>
  return %r : tensor<2x60xi32>
}
