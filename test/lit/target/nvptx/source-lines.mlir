// RUN: tilewright-opt %s --nvptx-print-code=level=ptx -o /dev/null | FileCheck %s
// RUN: tilewright-opt %s --nvptx-print-code=level=llvm -o /dev/null | FileCheck %s --check-prefix=LLVM

/// Instructions have the line of the op that they come from: of a call its innermost line, also for
/// each op of a map. Nothing but directives, because with debug information ptxas does not optimize.

// LLVM: emissionKind: DebugDirectivesOnly

//   CHECK-NOT: debug
// CHECK-LABEL: .entry two(
//       CHECK: .loc [[MODEL:[0-9]+]] 3 9
//       CHECK: ld.global
//       CHECK: .loc [[LAYERS:[0-9]+]] 21 5
//       CHECK: add.rn.f32
//       CHECK: .loc [[MODEL]] 4 9
//       CHECK: mul.rn.f32
//       CHECK: .loc [[MODEL]] 5 1
//       CHECK: st.global
// CHECK-LABEL: .entry none(
//   CHECK-NOT: .loc
//       CHECK: .file [[MODEL]] "/home/user/model.py"
//       CHECK: .file [[LAYERS]] "/home/user/layers.py"
#rows = #sm.layout<[32 lane]>
#layers = loc("/home/user/layers.py":21:5)
#call = loc(callsite(#layers at "/home/user/model.py":4:1))
sm.kernel @two grid [4] inputs 1 warps 1 {
^bb0(%i: index, %x: memref<128xf32>, %out: memref<128xf32>):
  %o = affine.apply affine_map<(i) -> (i * 32)>(%i) loc(unknown)
  %t = tile.load %x[%o] : memref<128xf32> -> tensor<32xf32, #rows> loc("load"("/home/user/model.py":3:9))
  %r = tile.map(%t) : (tensor<32xf32, #rows>) -> tensor<32xf32, #rows> {
  ^bb0(%a: f32):
    %b = arith.addf %a, %a : f32 loc("jit(f)/add"(#call))
    %c = arith.mulf %b, %a : f32 loc(fused["/home/user/model.py":4:9, "/home/user/model.py":8:9])
    tile.yield %c : f32 loc(unknown)
  } loc(unknown)
  tile.store %r, %out[%o] : tensor<32xf32, #rows>, memref<128xf32> loc("/home/user/model.py":5:1)
} loc(unknown)
sm.kernel @none grid [4] inputs 1 warps 1 {
^bb0(%i: index loc(unknown), %x: memref<128xf32> loc(unknown), %out: memref<128xf32> loc(unknown)):
  %o = affine.apply affine_map<(i) -> (i * 32)>(%i) loc(unknown)
  %t = tile.load %x[%o] : memref<128xf32> -> tensor<32xf32, #rows> loc(unknown)
  tile.store %t, %out[%o] : tensor<32xf32, #rows>, memref<128xf32> loc(unknown)
} loc(unknown)
