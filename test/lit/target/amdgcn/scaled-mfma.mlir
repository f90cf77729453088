// RUN: tilewright-opt %s --split-input-file --pass-pipeline='builtin.module(amdgcn-attach-target{chip=gfx950},tile-fusions,tile-pipeline,tile-solve-layouts,amdgcn-print-code{level=asm chip=gfx950})' -o /dev/null | FileCheck %s

/// MXFP8: the instruction multiplies 128 elements of each row with four scales. Lanes load 16 bytes at a time, words of four scales of a row,
/// and shift each to the scale of their group of 16 lanes. Bytes are never moved one by one, and sums stay where they are. The right operand comes first.

// CHECK-LABEL: bytes:
//   CHECK-NOT:   v_perm_b32
//   CHECK-DAG:   global_load_dwordx4
//   CHECK-DAG:   v_lshrrev_b32
//       CHECK:   v_mfma_scale_f32_16x16x128_f8f6f4 v[[[SUM:.*]]], v[{{[0-9:]+}}], v[{{[0-9:]+}}], v[[[SUM]]], v{{[0-9]+}}, v{{[0-9]+}} op_sel_hi:[0,0,0] cbsz:1
//   CHECK-NOT:   {{v_perm_b32|v_accvgpr}}
//       CHECK:   .vgpr_spill_count: 0
module {
  func.func public @main(%x: tensor<128x512xf8E4M3FN>, %y: tensor<128x512xf8E5M2>, %sx: tensor<1x1x16x128xui8>, %sy: tensor<1x1x16x128xui8>) -> tensor<128x128xf32> {
    %0 = exec.fusion "bytes"(%x, %y, %sx, %sy) : (tensor<128x512xf8E4M3FN>, tensor<128x512xf8E5M2>, tensor<1x1x16x128xui8>, tensor<1x1x16x128xui8>) -> tensor<128x128xf32> {
    ^bb0(%a: tensor<128x512xf8E4M3FN>, %b: tensor<128x512xf8E5M2>, %sa: tensor<1x1x16x128xui8>, %sb: tensor<1x1x16x128xui8>):
      %1 = exec.scaled_matmul %a, %b scales %sa, %sb as f8E4M3FN, f8E5M2 by f8E8M0FNU block 32 : tensor<128x512xf8E4M3FN>, tensor<128x512xf8E5M2>, tensor<1x1x16x128xui8>, tensor<1x1x16x128xui8> -> tensor<128x128xf32>
      exec.yield %1 : tensor<128x128xf32>
    }
    return %0 : tensor<128x128xf32>
  }
}

// -----

/// MXFP4: elements stay packed, so an instruction reads four registers of each operand. All lanes execute it, though only some of
/// them load elements and store its result.

// CHECK-LABEL: packed:
// CHECK-COUNT-3: global_load_dwordx4
//       CHECK:   s_or_b64 exec, exec
//   CHECK-NOT:   s_and_saveexec_b64
//   CHECK-NOT:   v_perm_b32
//       CHECK:   v_mfma_scale_f32_16x16x128_f8f6f4 {{.*}} op_sel_hi:[0,0,0] cbsz:4 blgp:4
//       CHECK:   s_and_saveexec_b64
//       CHECK:   global_store_dwordx4
module {
  func.func public @main(%x: tensor<19x16xui8>, %y: tensor<40x16xui8>, %sx: tensor<1x1x8x128xui8>, %sy: tensor<1x1x8x128xui8>) -> tensor<19x40xf32> {
    %0 = exec.fusion "packed"(%x, %y, %sx, %sy) : (tensor<19x16xui8>, tensor<40x16xui8>, tensor<1x1x8x128xui8>, tensor<1x1x8x128xui8>) -> tensor<19x40xf32> {
    ^bb0(%a: tensor<19x16xui8>, %b: tensor<40x16xui8>, %sa: tensor<1x1x8x128xui8>, %sb: tensor<1x1x8x128xui8>):
      %1 = exec.scaled_matmul %a, %b scales %sa, %sb as f4E2M1FN, f4E2M1FN by f8E8M0FNU block 32 : tensor<19x16xui8>, tensor<40x16xui8>, tensor<1x1x8x128xui8>, tensor<1x1x8x128xui8> -> tensor<19x40xf32>
      exec.yield %1 : tensor<19x40xf32>
    }
    return %0 : tensor<19x40xf32>
  }
}
