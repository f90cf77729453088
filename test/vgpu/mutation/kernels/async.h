// Inline assembly that the kernels here use.
#ifndef TEST_VGPU_MUTATION_KERNELS_ASYNC_H
#define TEST_VGPU_MUTATION_KERNELS_ASYNC_H

#include <stdint.h>

#define KERNEL(name, threads)                                                                      \
  extern "C" __global__ void __launch_bounds__(threads)                                            \
      name(const uint32_t *__restrict__ in, uint32_t *out, uint32_t *scratch)

static __device__ uint32_t address(const void *pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}
static __device__ void init(uint32_t barrier, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}
static __device__ void arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
static __device__ void arriveExpect(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
static __device__ void arriveRemote(uint32_t barrier) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(barrier)
               : "memory");
}
static __device__ void waitFor(uint32_t barrier, uint32_t parity) {
  asm volatile("{\n.reg .pred done;\nAGAIN_%=:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
               "@!done bra AGAIN_%=;\n}" ::"r"(barrier),
               "r"(parity)
               : "memory");
}
static __device__ void waitCluster(uint32_t barrier, uint32_t parity) {
  asm volatile("{\n.reg .pred done;\nAGAIN_%=:\n"
               "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
               "@!done bra AGAIN_%=;\n}" ::"r"(barrier),
               "r"(parity)
               : "memory");
}
static __device__ void fenceInit() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
static __device__ void fenceAsync() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
static __device__ void bulkLoad(uint32_t to, const void *from, uint32_t bytes, uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
               "[%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}
static __device__ void bulkStore(void *to, uint32_t from, uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from),
               "r"(bytes)
               : "memory");
}
static __device__ void bulkCommit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int left> static __device__ void bulkWait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(left) : "memory");
}
template <int left> static __device__ void bulkWaitRead() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(left) : "memory");
}
static __device__ void copy16(uint32_t to, const void *from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
static __device__ void copy4(uint32_t to, const void *from, uint32_t bytes = 4) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(bytes)
               : "memory");
}
static __device__ void copyCommit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int left> static __device__ void copyWait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory");
}
static __device__ uint32_t rankInCluster() {
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
static __device__ uint32_t inBlock(uint32_t address, uint32_t rank) {
  uint32_t result;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(result) : "r"(address), "r"(rank));
  return result;
}
static __device__ void clusterArrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
static __device__ void clusterArriveRelaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
static __device__ void clusterWait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
static __device__ uint32_t loadRemote(uint32_t from) {
  uint32_t value;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(from) : "memory");
  return value;
}
static __device__ void storeRemote(uint32_t to, uint32_t value) {
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(to), "r"(value) : "memory");
}

#endif // TEST_VGPU_MUTATION_KERNELS_ASYNC_H
