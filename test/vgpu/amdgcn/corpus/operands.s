// Operands that random bits rarely reach: special registers, constants and literals of every width, and the immediates
// that are written in words.
  .text
operands:
  s_mov_b64 s[2:3], src_shared_base
  s_mov_b32 s2, src_private_limit
  s_mov_b64 flat_scratch, ttmp[4:5]
  s_mov_b32 flat_scratch_hi, ttmp15
  s_mov_b32 m0, xnack_mask_hi
  s_mov_b32 s3, src_scc
  s_mov_b32 s4, 0x3f800001
  s_mov_b64 s[4:5], 0.15915494309189532
  s_add_u32 s4, s5, 0xffff0000
  s_and_b64 s[4:5], exec, vcc
  s_cmp_eq_u64 s[4:5], 0
  v_mov_b32_e32 v0, 0.15915494
  v_mov_b32_e32 v0, -16
  v_mov_b32_e32 v0, 64
  v_mov_b32_e32 v0, 65
  v_add_f64 v[0:1], v[2:3], -4.0
  v_add_f64 v[0:1], -|v[2:3]|, neg(0.5)
  v_cvt_f32_f64_e32 v0, 0x40091eb8
  v_add_f16_e32 v0, 0.5, v1
  v_add_f16_e32 v0, 0x4248, v1
  v_add_u16_e32 v0, 0x1234, v1
  v_fma_f16 v0, v1, v2, v3 op_sel:[1,0,1,0] clamp
  v_pk_fma_f16 v0, v1, v2, 1.0 op_sel_hi:[1,0,1] neg_lo:[0,1,0]
  v_fma_mix_f32 v0, v1, -|v2|, v3 op_sel:[1,0,0] op_sel_hi:[1,1,0]
  v_fmaak_f32 v0, v1, v2, 0x41000000
  v_fmamk_f32 v0, v1, 0x41000000, v2
  v_cmp_class_f32_e64 s[4:5], -v1, 3
  v_cndmask_b32_e64 v0, 0, -v1, s[4:5]
  v_mad_u64_u32 v[0:1], vcc, v2, s3, v[4:5]
  v_readlane_b32 s4, v1, s5
  v_writelane_b32 v0, s5, 7
  v_accvgpr_write_b32 a3, 1.0
  v_accvgpr_read_b32 v3, a255
  v_mfma_f32_32x32x1_2b_f32 a[0:31], v0, v1, a[0:31] cbsz:1 abid:2 blgp:3
  v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], v[0:7] neg:[1,0,0]
  v_smfmac_f32_16x16x32_f16 v[0:3], v[4:5], v[8:11], v12 cbsz:3
  s_setreg_b32 hwreg(HW_REG_MODE, 4, 2), s4
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), 0xf0
  s_sendmsg sendmsg(MSG_INTERRUPT)
  s_waitcnt vmcnt(20) lgkmcnt(3)
  s_set_gpr_idx_on s3, gpr_idx(SRC0,DST)
  s_set_gpr_idx_off
  s_load_dwordx8 s[8:15], s[2:3], s7 offset:0x10
  s_buffer_load_dwordx4 s[8:11], s[12:15], 0xffc
  s_dcache_inv
  s_memtime s[4:5]
  ds_read2st64_b64 v[0:3], v4 offset0:1 offset1:255
  ds_swizzle_b32 v0, v1 offset:swizzle(BITMASK_PERM,"01pi0")
  ds_swizzle_b32 v0, v1 offset:swizzle(BROADCAST,4,1)
  ds_add_rtn_u64 a[0:1], v4, a[2:3] offset:8
  ds_gws_barrier v0 offset:4 gds
  flat_load_dwordx3 v[0:2], v[4:5] offset:4095
  flat_atomic_cmpswap_x2 v[0:1], v[4:5], v[6:9] sc0
  global_atomic_pk_add_f16 v[4:5], v6, off offset:-4096
  global_load_lds_dword v[4:5], off offset:16
  scratch_store_dwordx4 v1, a[4:7], s3 offset:-8 nt
  buffer_load_dwordx4 v[0:3], v[4:5], s[8:11], 0 idxen offen offset:4092 sc0 nt sc1
  buffer_store_short_d16_hi v0, off, s[8:11], m0
  tbuffer_store_format_xy v[0:1], v4, s[8:11], 4 format:[BUF_DATA_FORMAT_16_16,BUF_NUM_FORMAT_FLOAT] idxen offset:8
  buffer_inv sc0 sc1
  s_endpgm
