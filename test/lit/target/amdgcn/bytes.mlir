// RUN: tilewright-opt %s --amdgcn-print-code="level=asm chip=gfx942" -o /dev/null | FileCheck %s
// RUN: tilewright-opt %s --amdgcn-print-code="level=asm chip=gfx950" -o /dev/null | FileCheck %s

/// Products of bytes, of which the second counts only where the condition holds. LLVM 22 reads the select as a sum with its condition when
/// it collects products for v_dot4_u32_u8, so that instruction is off.

// CHECK-LABEL: products:
//   CHECK-NOT:   v_dot4
//       CHECK:   s_endpgm
#row = #sm.layout<[64 lane]>
sm.kernel @products grid [1] inputs 2 warps 1 {
^bb0(%i: index, %x: memref<128xi8>, %y: memref<128xi8>, %out: memref<64xi8>):
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = tile.load %x[%c0] : memref<128xi8> -> tensor<64xi8, #row>
  %b = tile.load %x[%c64] : memref<128xi8> -> tensor<64xi8, #row>
  %c = tile.load %y[%c0] : memref<128xi8> -> tensor<64xi8, #row>
  %d = tile.load %y[%c64] : memref<128xi8> -> tensor<64xi8, #row>
  %places = tile.iota %c0 dim 0 : tensor<64xi32, #row>
  %r = tile.map(%a, %b, %c, %d, %places) : (tensor<64xi8, #row>, tensor<64xi8, #row>, tensor<64xi8, #row>, tensor<64xi8, #row>, tensor<64xi32, #row>) -> tensor<64xi8, #row> {
  ^bb0(%p: i8, %q: i8, %s: i8, %t: i8, %place: i32):
    %zero = arith.constant 0 : i8
    %five = arith.constant 5 : i32
    %first = arith.muli %p, %s : i8
    %second = arith.muli %q, %t : i8
    %isIn = arith.cmpi ult, %place, %five : i32
    %kept = arith.select %isIn, %second, %zero : i8
    %sum = arith.addi %first, %kept : i8
    tile.yield %sum : i8
  }
  tile.store %r, %out[%c0] : tensor<64xi8, #row>, memref<64xi8>
}
