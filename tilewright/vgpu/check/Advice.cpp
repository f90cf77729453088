#include "tilewright/vgpu/check/Advice.h"

#include "tilewright/support/Concat.h"

namespace tilewright::vgpu::check {

using machine::GroupKind;

Producer producerOf(const machine::Place &place, std::string_view kernel) {
  const std::string_view file = place.file;
  if (place.line == 0 && place.address != 0)
    return Producer::amdgcn;
  auto mentions = [](std::string_view text, std::string_view word) {
    return text.find(word) != std::string_view::npos;
  };
  if (file.empty())
    return Producer::ptx;
  if (file.ends_with(".py"))
    return mentions(kernel, "cutlass") || mentions(file, "cutlass") ? Producer::cuteDsl
                                                                    : Producer::triton;
  return mentions(file, "cutlass") || mentions(file, "cute/") ? Producer::cute : Producer::cuda;
}

namespace {
/// The name of a primitive in each language, in the order of Producer.
struct Words {
  std::string_view ptx, cuda, triton, cute, cuteDsl;
  std::string_view of(Producer producer) const {
    switch (producer) {
    case Producer::cuda:
      return cuda;
    case Producer::triton:
      return triton;
    case Producer::cute:
      return cute;
    case Producer::cuteDsl:
      return cuteDsl;
    case Producer::ptx:
    case Producer::amdgcn:
      break;
    }
    return ptx;
  }
};
} // namespace

static constexpr Words warpBarrier{"bar.warp.sync (__syncwarp())", "__syncwarp()",
                                   "tl.debug_barrier() (in inline assembly bar.warp.sync)",
                                   "__syncwarp()", "cute.arch.sync_warp()"};
static constexpr Words blockBarrier{
    "bar.sync (__syncthreads())", "__syncthreads()",
    "tl.debug_barrier(), in Gluon gl.barrier(), in inline assembly bar.sync", "__syncthreads()",
    "cute.arch.sync_threads()"};
static constexpr Words clusterBarrier{
    "barrier.cluster.arrive.release and barrier.cluster.wait.acquire",
    "cooperative_groups::this_cluster().sync()", "gl.barrier(cluster=True)", "cute::cluster_sync()",
    "cute.arch.cluster_arrive() and cute.arch.cluster_wait()"};
static constexpr Words gridFlag{
    "release (or fence and store) after the first, acquire (or load and fence) before the second, "
    "with scope .gpu",
    "cuda::atomic_ref<int, cuda::thread_scope_device>, or __threadfence() and an atomic, after the "
    "first and before the second; or a second launch",
    "tl.atomic_xchg(flag, 1, sem='release') after the store, `while tl.atomic_add(flag, 0, "
    "sem='acquire') == 0` before the load; or a second kernel",
    "cutlass::Barrier (semaphore.h), or a second launch",
    "cute.arch.fence_acq_rel_gpu() and an atomic after the first and before the second; or a "
    "second "
    "launch"};
static constexpr Words copyWait{
    "cp.async.wait_group", "__pipeline_wait_prior() or cp.async.wait_group",
    "async_copy.wait_group()", "cute::cp_async_wait<0>()", "cute.arch.cp_async_wait_group(0)"};
static constexpr Words bulkWait{"cp.async.bulk.wait_group", "cp.async.bulk.wait_group",
                                "tma.store_wait(pendings=0)", "cute::tma_store_wait<0>()",
                                "cute.arch.cp_async_bulk_wait_group(0)"};
static constexpr Words matrixWait{"wgmma.wait_group", "wgmma.wait_group", "warpgroup_mma_wait(0)",
                                  "cute::warpgroup_wait<0>()",
                                  "cute.nvgpu.warpgroup.wait_group(0)"};
static constexpr Words phaseWait{
    "mbarrier.try_wait", "cuda::barrier::wait() or mbarrier.try_wait", "mbarrier.wait(bar, phase)",
    "ClusterTransactionBarrier::wait(phase)", "cute.arch.mbarrier_wait(bar, phase)"};
static constexpr Words asyncFence{
    "fence.proxy.async.shared::cta", "cuda::ptx::fence_proxy_async(cuda::ptx::space_shared)",
    "fence_async_shared()", "cutlass::arch::fence_view_async_shared()",
    "cute.arch.fence_proxy('async.shared', space='cta')"};

static std::string afterOperation(GroupKind by, Producer producer) {
  switch (by) {
  case GroupKind::copy:
    return concat("wait for the copy with ", copyWait.of(producer),
                  ", then put a barrier before accesses by other threads");
  case GroupKind::bulk:
    return concat(
        "wait for the copy with ", bulkWait.of(producer),
        " (.read is enough to overwrite its source), then put a barrier before accesses by "
        "other threads");
  case GroupKind::matrix:
    return concat("wait for the product with ", matrixWait.of(producer),
                  " before its operands are overwritten");
  default:
    return concat("wait for the phase of the mbarrier that the copy completes: ",
                  phaseWait.of(producer));
  }
}

/// For AMD's memory operations: what is missing between the earlier and the later one.
static std::string adviceForWaves(const Conflict &conflict) {
  using Width = Conflict::Width;
  const std::string_view wait =
      conflict.earlierOperation == GroupKind::vectorMemory ? "s_waitcnt vmcnt"
      : conflict.earlierOperation == GroupKind::flatMemory ? "s_waitcnt vmcnt and lgkmcnt"
                                                           : "s_waitcnt lgkmcnt";
  if (conflict.width == Width::warp)
    return concat("wait for the earlier operation (", wait, ") before the later one is issued");
  if (conflict.width == Width::block)
    return concat("wait for the earlier operation (", wait,
                  ") in the wave that issued it, then let both waves pass an s_barrier");
  if (conflict.areBothStrong)
    return "the scope of one access does not include the other: use agent scope (sc1)";
  return "workgroups run in any order, and s_barrier does not order them: write to memory that no "
         "other workgroup accesses, use atomics, or pass the data with a flag: buffer_wbl2 sc1 and "
         "s_waitcnt vmcnt(0) before an atomic that sets it, buffer_inv sc1 after one that reads it";
}

std::string adviceFor(const Conflict &conflict, Producer producer) {
  using Width = Conflict::Width;
  if (conflict.width == Width::launches)
    return conflict.areBothStrong
               ? "the scope of one access does not include the other device: use .sys"
               : "order the launches: give them to one stream, let one stream wait for an event of "
                 "the other, or wait on the host between them; kernels that run at the same time "
                 "need a flag, with release and acquire at scope .sys between devices, .gpu on one";
  if (producer == Producer::amdgcn)
    return adviceForWaves(conflict);
  if (conflict.isAfterOperation)
    return afterOperation(conflict.earlierOperation, producer);
  if (conflict.width == Width::warp && conflict.isSameInstruction && !conflict.issuesOperation)
    return concat("lanes store different values to the same address, and any of the values may "
                  "remain: let one ",
                  producer == Producer::triton
                      ? "element be stored (mask the others), or combine them with tl.atomic_add"
                      : "lane store, or store the same value in all lanes",
                  " (if the stores are in different iterations of a loop, put ",
                  warpBarrier.of(producer), " between the two stores)");
  if (conflict.width == Width::warp && !conflict.issuesOperation)
    return concat("the lanes of a warp do not execute in a defined order: put ",
                  warpBarrier.of(producer), " between the two accesses");
  if (conflict.width <= Width::block)
    return conflict.issuesOperation
               ? concat("put a barrier (", blockBarrier.of(producer),
                        ") and a proxy fence before the operation is issued")
               : concat("put ", blockBarrier.of(producer), " between the two accesses");
  if (conflict.areBothStrong)
    return producer == Producer::triton
               ? "the scope of one access does not include the thread of the other: use scope='gpu'"
               : "the scope of one access does not include the thread of the other: use .gpu, or "
                 ".cluster within a cluster";
  if (conflict.isShared)
    return concat("put ", clusterBarrier.of(producer), " between the two accesses");
  return concat(
      "blocks run in any order, and barriers within a block do not order them: write to memory "
      "that no other block accesses, use atomics, or pass the data with a flag: ",
      gridFlag.of(producer));
}

std::string fenceAdvice(bool isTensorMap, bool isShared, Producer producer) {
  if (isTensorMap)
    return "put fence.proxy.tensormap::generic.release after the change, and .acquire with the "
           "address of the map before its use";
  if (!isShared)
    return "put fence.proxy.async.global after the first access, before the synchronisation that "
           "orders the two accesses";
  return concat("put ", asyncFence.of(producer),
                " after the first access, before the barrier that orders the two accesses");
}

} // namespace tilewright::vgpu::check
