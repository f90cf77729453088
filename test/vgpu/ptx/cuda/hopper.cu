// Clusters, mbarriers, bulk copies, tensor maps, wgmma: what only sm_90a has.
#include <cooperative_groups.h>
#include <cuda.h>
#include <cuda/barrier>
namespace cg = cooperative_groups;

extern "C" __global__ __cluster_dims__(2, 1, 1) void clusters(int *p) {
  __shared__ int value;
  cg::cluster_group cluster = cg::this_cluster();
  value = threadIdx.x;
  cluster.sync();
  int *other = cluster.map_shared_rank(&value, cluster.block_rank() ^ 1);
  p[threadIdx.x] = *other + cluster.num_blocks();
  cluster.barrier_arrive();
  cluster.barrier_wait();
}

extern "C" __global__ void tma(const __grid_constant__ CUtensorMap map, float *out, const float *in) {
  __shared__ alignas(1024) float tile[64 * 32];
  __shared__ alignas(8) unsigned long long bar;
  unsigned shared = (unsigned)__cvta_generic_to_shared(tile);
  unsigned barrier = (unsigned)__cvta_generic_to_shared(&bar);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(1));
    asm volatile("fence.mbarrier_init.release.cluster;");
    asm volatile("fence.proxy.async.shared::cta;");
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map));
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(8192));
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(shared), "l"(&map), "r"(0), "r"(8), "r"(barrier) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];" ::"r"(shared), "l"(in), "r"(barrier));
  }
  asm volatile("{\n.reg .pred p;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra DONE;\nbra WAIT;\nDONE:\n}" ::"r"(barrier), "r"(0));
  unsigned long long desc = 0x4000004000000000ull | (shared >> 4);
  float d[4] = {0, 0, 0, 0};
  asm volatile("wgmma.fence.sync.aligned;");
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;\n}"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(desc), "l"(desc), "r"(1));
  asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;");
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(shared), "r"(__float_as_int(d[0])), "r"(1));
  asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
  asm volatile("griddepcontrol.wait; griddepcontrol.launch_dependents;");
  unsigned elected;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(elected));
  if (elected) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(0), "r"(0), "r"(shared));
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(out), "r"(shared), "r"(256));
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;");
  }
  asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(out), "f"(d[0]), "f"(d[1]), "f"(d[2]), "f"(d[3]));
  unsigned remote;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(barrier), "r"(0));
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(remote));
  asm volatile("{ .reg .b16 e; cvt.rn.satfinite.e4m3x2.f32 e, %1, %2; mov.b32 %0, {e, e}; }" : "=r"(remote) : "f"(d[0]), "f"(d[1]));
  out[threadIdx.x] = d[0] + d[3] + remote;
}

extern "C" __global__ void objects(int *p) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (threadIdx.x == 0)
    init(&bar, blockDim.x);
  __syncthreads();
  bar.arrive_and_wait();
  p[threadIdx.x] = 1;
  bar.wait(bar.arrive(1));
}
