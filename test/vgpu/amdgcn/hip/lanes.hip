// Traffic between lanes: DPP, permutations, ballots, readlane, swizzles.
#include "device.h"

KERNEL void reduce(const int *in, int *out) {
  int v = in[index()];
  v += __builtin_amdgcn_update_dpp(0, v, 0x111, 0xf, 0xf, false);
  v += __builtin_amdgcn_update_dpp(0, v, 0x112, 0xf, 0xf, true);
  v = __builtin_elementwise_max(v, __builtin_amdgcn_update_dpp(v, v, 0x4e, 0xf, 0xe, true));
  v += __builtin_amdgcn_mov_dpp(v, 0x140, 0xf, 0xf, true);
  out[index()] = v + __builtin_amdgcn_readlane(v, 63) + __builtin_amdgcn_readfirstlane(v);
}
KERNEL void permute(const int *in, int *out) {
  const int v = in[index()];
  out[index()] = __builtin_amdgcn_ds_bpermute((lane() ^ 5) << 2, v) + __builtin_amdgcn_ds_permute(lane() << 2, v) +
                 __builtin_amdgcn_ds_swizzle(v, 0x041f);
}
KERNEL void vote(const int *in, u64 *out) {
  const u64 mask = __builtin_amdgcn_ballot_w64(in[index()] > 0);
  out[index()] = mask + __builtin_amdgcn_mbcnt_hi(mask >> 32, __builtin_amdgcn_mbcnt_lo(mask, 0)) + __builtin_ctzll(mask | 1);
}
KERNEL void diverge(const int *in, int *out) {
  int v = in[index()];
  while (v > 1)
    v = v & 1 ? 3 * v + 1 : v >> 1;
  if (v == 1 && lane() % 3 == 0)
    out[index()] = v;
}
