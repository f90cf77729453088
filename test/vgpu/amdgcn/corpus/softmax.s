// One row of a softmax for each wave: DPP reduction, LDS, a loop, and every part of a kernel descriptor.
  .text
  .globl softmax
  .p2align 8
  .type softmax,@function
softmax:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_load_dword s3, s[0:1], 0x10
  v_lshlrev_b32_e32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  v_cmp_gt_u32_e32 vcc, s3, v0
  v_mov_b32_e32 v2, 0xff800000
  s_and_saveexec_b64 s[8:9], vcc
  s_cbranch_execz .Lloaded
  global_load_dword v2, v1, s[4:5]
.Lloaded:
  s_or_b64 exec, exec, s[8:9]
  s_waitcnt vmcnt(0)
  v_max_f32_dpp v3, v2, v2 row_shr:8 row_mask:0xf bank_mask:0xf bound_ctrl:1
  s_nop 1
  v_max_f32_dpp v3, v3, v3 row_half_mirror row_mask:0xf bank_mask:0xf
  v_max_f32_dpp v3, v3, v3 quad_perm:[2,3,0,1] row_mask:0xf bank_mask:0xf
  v_max_f32_dpp v3, v3, v3 row_bcast:15 row_mask:0xa bank_mask:0xf
  v_max_f32_dpp v3, v3, v3 row_bcast:31 row_mask:0xc bank_mask:0xf
  v_readlane_b32 s10, v3, 63
  v_subrev_f32_e32 v4, s10, v2
  v_mul_f32_e32 v4, 0x3fb8aa3b, v4
  v_exp_f32_e32 v4, v4
  ds_write_b32 v1, v4 offset:256
  s_waitcnt lgkmcnt(0)
  s_barrier
  s_mov_b32 s11, 64
  v_mov_b32_e32 v5, 0
.Lsum:
  s_sub_i32 s11, s11, 2
  v_lshl_add_u32 v6, s11, 2, 0
  ds_read2_b32 v[8:9], v6 offset0:64 offset1:65
  s_waitcnt lgkmcnt(0)
  v_pk_add_f32 v[8:9], v[8:9], v[8:9] op_sel:[0,1] op_sel_hi:[1,0]
  v_fmac_f32_e32 v5, 0.5, v8
  s_cmp_lg_u32 s11, 0
  s_cbranch_scc1 .Lsum
  v_div_scale_f32 v6, s[12:13], v5, v5, v4
  v_rcp_f32_e32 v7, v6
  v_fma_f32 v8, -v6, v7, 1.0
  v_fma_f32 v7, v8, v7, v7
  v_div_scale_f32 v8, vcc, v4, v5, v4
  v_mul_f32_e32 v9, v8, v7
  v_fma_f32 v10, -v6, v9, v8
  v_div_fmas_f32 v6, v10, v7, v9
  v_div_fixup_f32 v4, v6, v5, v4
  v_cvt_f16_f32_e32 v6, v4
  v_add_f16_sdwa v6, v6, v6 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0 src1_sel:WORD_0
  s_and_saveexec_b64 s[8:9], vcc
  global_store_dword v1, v4, s[6:7] sc0 sc1
  buffer_wbl2 sc1
  s_endpgm
.Lend:
  .size softmax, .Lend-softmax

  .rodata
  .p2align 6
  .amdhsa_kernel softmax
    .amdhsa_group_segment_fixed_size 512
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_user_sgpr_count 2
    .amdhsa_next_free_vgpr 11
    .amdhsa_next_free_sgpr 14
    .amdhsa_accum_offset 12
  .end_amdhsa_kernel

  .amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: softmax
    .symbol: softmax.kd
    .kernarg_segment_size: 20
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 512
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 20
    .vgpr_count: 11
    .agpr_count: 0
    .max_flat_workgroup_size: 64
    .args:
      - {.name: x, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: y, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: columns, .offset: 16, .size: 4, .value_kind: by_value}
...
  .end_amdgpu_metadata
