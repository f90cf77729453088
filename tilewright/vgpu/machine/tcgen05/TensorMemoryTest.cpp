// The allocation of tensor memory, and misuse of it. test/vgpu/forms runs every instruction.
#include "tilewright/vgpu/machine/testing/Kernels.h"

namespace tilewright::vgpu::machine {
namespace {

using ::testing::HasSubstr;

/// A kernel of `threads` threads on sm_100a, with %t as the address of tensor memory that warp 0
/// has allocated, and warp 0 freeing it at the end.
std::string kernelOf(const std::string &body, const std::string &columns = "64") {
  return ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 po) {\n"
         ".reg .b32 %t, %i, %w, %x<8>, %v<8>; .reg .b64 %o, %d<4>; .reg .pred %p<4>;\n"
         ".shared .b32 where; .shared .align 8 .b64 bar;\nld.param.u64 %o, [po];\n"
         "mov.u32 %i, %tid.x; shr.u32 %w, %i, 5; setp.ne.u32 %p0, %w, 0; @%p0 bra L0;\n"
         "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [where], " +
         columns + ";\nL0: bar.sync 0; ld.shared.b32 %t, [where]; shl.b32 %x7, %w, 21;\n" + body +
         "\nbar.sync 0; @%p0 bra L9;\ntcgen05.dealloc.cta_group::1.sync.aligned.b32 %t, " +
         columns + ";\nL9: ret;\n}\n";
}

Status runKernel(const std::string &text, uint32_t *out, uint32_t threads = 128,
                 const LaunchConfig &order = {}) {
  std::unique_ptr<LoadedModule> module = loadText(text, "sm_100a");
  if (!module)
    return Status(Error::vgpuFault, "did not load");
  LaunchConfig config = order;
  config.grid = {1, 1, 1}, config.block = {threads, 1, 1};
  return run(*module, "k", config, out);
}

TEST(TensorMemory, StoresAreSeenAfterTheWaitInEveryOrder) {
  const std::string text =
      kernelOf("add.u32 %x0, %t, %x7; mov.u32 %v0, %i; add.u32 %v1, %i, 1000;\n"
               "tcgen05.st.sync.aligned.32x32b.x2.b32 [%x0+8], {%v0, %v1};\n"
               "tcgen05.wait::st.sync.aligned;\n"
               "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%v2, %v3}, [%x0+8];\n"
               "tcgen05.wait::ld.sync.aligned;\n"
               "add.u32 %v2, %v2, %v3; mul.wide.u32 %d0, %i, 4; add.u64 %d0, %o, %d0;\n"
               "st.global.b32 [%d0], %v2;");
  for (const LaunchConfig &order : ordersOf({})) {
    std::vector<uint32_t> out(128);
    const Status status = runKernel(text, out.data(), 128, order);
    ASSERT_TRUE(status.isOk()) << status.toString();
    for (uint32_t i = 0; i < 128; ++i)
      ASSERT_EQ(out[i], 2 * i + 1000) << describeOrder(order);
  }
}

TEST(TensorMemory, AStoreWithoutAWaitMayComeLate) {
  const std::string text = kernelOf("add.u32 %x0, %t, %x7; mov.u32 %v0, 7;\n"
                                    "tcgen05.st.sync.aligned.32x32b.x1.b32 [%x0], {%v0};\n"
                                    "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%v1}, [%x0];\n"
                                    "tcgen05.wait::ld.sync.aligned; st.global.b32 [%o], %v1;\n"
                                    "tcgen05.wait::st.sync.aligned;");
  uint32_t out = 1;
  LaunchConfig late;
  late.completion = Completion::latest;
  ASSERT_TRUE(runKernel(text, &out, 32, late).isOk());
  EXPECT_EQ(out, 0u);
}

TEST(TensorMemory, MisuseFails) {
  struct Misuse {
    const char *body, *columns, *message;
  };
  const Misuse all[] = {
      {"", "48", "power of two from 32 to 512"},
      {"tcgen05.ld.sync.aligned.32x32b.x1.b32 {%v0}, [%t];", "32", "may access only lanes"},
      {"add.u32 %x0, %t, %x7; tcgen05.ld.sync.aligned.32x32b.x64.b32 {%v0, %v0, %v0, %v0, %v0, %v0,"
       " %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0,"
       " %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0,"
       " %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0, %v0,"
       " %v0, %v0, %v0, %v0}, [%x0];",
       "32", "columns 0 to 63 of tensor memory, which are not all allocated"},
      {"@%p0 bra L1; tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n"
       "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [where], 32; L1:",
       "32", "after tcgen05.relinquish_alloc_permit"},
      {"@%p0 bra L1; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [where], 64; L1:",
       "32", "allocations of a block must not grow"},
      {"@%p0 bra L1; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %t, 64; L1:", "32",
       "which is not an allocation"},
      {"@%p0 bra L1; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [where], 32; L1:",
       "32", "ends without freeing its tensor memory"},
      {"@%p0 bra L1; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [where], 512; L1:",
       "512", "for tensor memory"},
      {"@%p0 bra L1; tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [where], 32; L1:",
       "32", "needs a cluster"},
      {"@%p0 bra L1; mov.b64 %d0, 0; mov.b32 %x0, 0; setp.eq.u32 %p1, %i, 0;\n"
       "@%p1 tcgen05.mma.cta_group::1.kind::f16 [%t], %d0, %d0, %x0, %p1; L1:",
       "32", "needs N of 8 to 256"},
  };
  for (const Misuse &misuse : all) {
    uint32_t out = 0;
    const Status status = runKernel(kernelOf(misuse.body, misuse.columns), &out);
    EXPECT_THAT(status.message(), HasSubstr(misuse.message)) << misuse.body;
  }
}

} // namespace
} // namespace tilewright::vgpu::machine
