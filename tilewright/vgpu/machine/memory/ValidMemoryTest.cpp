// Launches that may only access live allocations, and launches that are stopped.
#include "tilewright/vgpu/machine/memory/ValidMemory.h"

#include "tilewright/support/testing/Slowness.h"
#include "tilewright/vgpu/machine/testing/Kernels.h"

#include <thread>

namespace tilewright::vgpu::machine {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

const std::string head = ".version 8.6\n.target sm_90a\n.address_size 64\n";

/// An allocation that is a part of a larger array; the rest of the array must not change.
class Fenced {
public:
  explicit Fenced(size_t bytes) : all(2 * margin + bytes, std::byte(0x5a)), bytes(bytes) {
    begin = (reinterpret_cast<uint64_t>(all.data()) + margin - 64) & ~uint64_t(63);
    allocations().add(begin, bytes, AllocationKind::device, 0);
  }
  ~Fenced() {
    if (isLive)
      allocations().remove(begin);
  }
  void free() {
    allocations().remove(begin);
    isLive = false;
  }
  bool isIntactOutside() const {
    for (const std::byte &one : all) {
      const auto at = reinterpret_cast<uint64_t>(&one);
      if ((at < begin || at >= begin + bytes) && one != std::byte(0x5a))
        return false;
    }
    return true;
  }
  uint64_t begin = 0;

private:
  static constexpr size_t margin = 1 << 17;
  std::vector<std::byte> all;
  const size_t bytes;
  bool isLive = true;
};

/// Each accesses memory at %a in all lanes, 4 bytes apart if possible.
const std::pair<const char *, const char *> accesses[] = {
    {"store", "st.global.b32 [%a], %r;"},
    {"store of two", "st.global.v2.b32 [%w], {%r, %r};"},
    {"store of four", "st.global.v4.b32 [%v], {%r, %r, %r, %r};"},
    {"store of 64 bits", "st.global.b64 [%w], %a;"},
    {"store of 16 bits", "st.global.b16 [%a], %h;"},
    {"store of a byte", "st.global.b8 [%a], %r;"},
    {"generic store", "st.b32 [%a], %r;"},
    {"generic store of four", "st.v4.b32 [%v], {%r, %r, %r, %r};"},
    {"volatile store", "st.volatile.global.b32 [%a], %r;"},
    {"load", "ld.global.b32 %r, [%a];"},
    {"load of four", "ld.global.v4.b32 {%r, %r1, %r2, %r3}, [%v];"},
    {"load of 64 bits", "ld.global.b64 %a, [%w];"},
    {"generic load", "ld.b32 %r, [%a];"},
    {"volatile load", "ld.volatile.global.b32 %r, [%a];"},
    {"one word for all", "ld.global.b32 %r, [%o+16];"},
    {"atomic", "atom.global.add.u32 %r, [%a], 1;"},
    {"reduction", "red.global.add.u32 [%a], 1;"},
    {"generic atomic", "atom.exch.b32 %r, [%a], 7;"},
    {"copy to shared", "cp.async.ca.shared.global [tile], [%a], 4; cp.async.wait_all;"},
    {"bulk copy from shared", "cp.async.bulk.global.shared::cta.bulk_group [%e], [tile], 64;"
                              "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"},
    {"bulk reduction", "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%e], [tile], "
                       "64; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"},
};

std::unique_ptr<LoadedModule> moduleOf(const char *access) {
  // %a: the word of each lane; %w, %v: 8 and 16 bytes per lane; %o, %e: the first address in all
  // lanes.
  return loadText(head + R"(
.visible .entry k(.param .u64 p) {
  .reg .b64 %o, %a, %w, %v, %e, %t64;
  .reg .b32 %t, %r, %r1, %r2, %r3;
  .reg .b16 %h;
  .shared .align 128 .b8 tile[1024];
  ld.param.u64 %o, [p];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %t64, %t, 4;
  add.u64 %a, %o, %t64;
  mul.wide.u32 %t64, %t, 8;
  add.u64 %w, %o, %t64;
  mul.wide.u32 %t64, %t, 16;
  add.u64 %v, %o, %t64;
  mov.b64 %e, %o;
  mov.b32 %r, 0xffffffff;
  mov.b16 %h, 7;
)" + std::string(access) +
                  "\nret;\n}\n");
}

TEST(ValidMemory, NoAccessReachesMemoryOutsideOfAllocations) {
  constexpr size_t bytes = 4096;
  for (const auto &[name, access] : accesses) {
    auto module = moduleOf(access);
    ASSERT_NE(module, nullptr) << name;
    for (std::string_view set : {"v3", "v4"}) {
      if (!handlersFor(set))
        continue;
      Fenced memory(bytes);
      LaunchConfig config{.block = {32, 1, 1}};
      config.checksAddresses = true;
      config.instructionSet = set;
      EXPECT_TRUE(run(*module, "k", config, memory.begin).isOk()) << name;
      // Across the end from the middle of the warp on, after the end, before the beginning, far
      // away.
      for (uint64_t at : {memory.begin + bytes - 16, memory.begin + bytes, memory.begin - 64,
                          memory.begin + bytes + (1 << 16), memory.begin - (1 << 16)}) {
        Status status = run(*module, "k", config, at);
        EXPECT_EQ(status.error(), Error::vgpuAccess) << name;
        EXPECT_THAT(status.message(), HasSubstr("allocation of 4096 bytes of device memory"))
            << name;
      }
      for (uint64_t at : {uint64_t(0), uint64_t(16), uint64_t(1) << 40, ~uint64_t(0) - 63,
                          uint64_t(0x0100000000000000u) << 3})
        EXPECT_EQ(run(*module, "k", config, at).error(), Error::vgpuAccess) << name << at;
      EXPECT_TRUE(memory.isIntactOutside()) << name;
    }
  }
}

TEST(ValidMemory, SuppressedAccessesLetTheLaunchGoOnToItsEnd) {
  for (const auto &[name, access] : accesses) {
    auto module = moduleOf(access);
    ASSERT_NE(module, nullptr) << name;
    Fenced memory(64);
    LaunchConfig config{.grid = {4, 1, 1}, .block = {32, 1, 1}};
    config.checksAddresses = config.suppressesInvalid = true;
    Status status = run(*module, "k", config, memory.begin + 64);
    EXPECT_EQ(status.error(), Error::vgpuAccess) << name;
    EXPECT_TRUE(memory.isIntactOutside()) << name;
  }
  // Valid accesses of the same instruction are still performed.
  auto module = moduleOf("st.global.b32 [%a], %r;");
  Fenced memory(64);
  LaunchConfig config{.block = {32, 1, 1}};
  config.checksAddresses = config.suppressesInvalid = true;
  EXPECT_EQ(run(*module, "k", config, memory.begin).error(), Error::vgpuAccess);
  EXPECT_TRUE(memory.isIntactOutside());
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(reinterpret_cast<const uint32_t *>(memory.begin)[i], ~0u);
}

TEST(ValidMemory, UseAfterFreeIsNamed) {
  auto module = moduleOf("ld.global.b32 %r, [%a];");
  Fenced memory(4096);
  memory.free();
  LaunchConfig config{.block = {32, 1, 1}};
  config.checksAddresses = true;
  Status status = run(*module, "k", config, memory.begin + 8);
  EXPECT_EQ(status.error(), Error::vgpuAccess);
  EXPECT_THAT(
      status.message(),
      HasSubstr(
          "is a use after free: at offset 8 of a freed allocation of 4096 bytes of device memory"));
  EXPECT_THAT(status.message(), HasSubstr("at k, line 21"));
}

TEST(ValidMemory, VariablesParametersAndTheHeapAreValid) {
  auto module = loadText(head + R"(
.visible .global .align 4 .b32 counter = 3;
.const .align 4 .b32 table[2] = {5, 6};
.extern .func (.param .b64 r) malloc(.param .b64 n);
.extern .func free(.param .b64 p);
.visible .entry k(.param .align 8 .b8 values[16], .param .u64 out) {
  .reg .b64 %a, %o;
  .reg .b32 %r, %s;
  ld.param.u64 %o, [out];
  ld.global.b32 %s, [counter];
  ld.const.b32 %r, [table+4];
  add.u32 %s, %s, %r;
  mov.b64 %a, values;
  cvta.param.u64 %a, %a;
  ld.b32 %r, [%a+8];
  add.u32 %s, %s, %r;
  { .param .b64 n; .param .b64 r; st.param.b64 [n], 64; call (r), malloc, (n); ld.param.b64 %a, [r]; }
  st.b32 [%a+60], %s;
  ld.b32 %s, [%a+60];
  st.global.b32 [%o], %s;
  { .param .b64 p; st.param.b64 [p], %a; call free, (p); }
  ret;
}
)");
  ASSERT_NE(module, nullptr);
  Fenced memory(64);
  const uint32_t values[4] = {1, 2, 10, 4};
  LaunchConfig config{};
  config.checksAddresses = true;
  const void *arguments[] = {values, &memory.begin};
  Status status = launch(*module, "k", config, arguments);
  EXPECT_TRUE(status.isOk()) << status.toString();
  EXPECT_EQ(*reinterpret_cast<const uint32_t *>(memory.begin), 3u + 6u + 10u);
}

TEST(ValidMemory, MemoryThatIsAllocatedWhileAKernelRunsIsFound) {
  ValidMemory valid({}, {});
  std::vector<std::byte> bytes(64);
  const auto begin = reinterpret_cast<uint64_t>(bytes.data());
  EXPECT_EQ(valid.find(begin).bytes, 0u);
  allocations().add(begin, 64, AllocationKind::registered, 0);
  EXPECT_EQ(valid.find(begin + 63).begin, begin);
  EXPECT_EQ(valid.find(begin + 64).bytes, 0u);
  allocations().remove(begin);
}

const std::string spinning = head + R"(
.file 1 "wait.py"
.visible .entry k(.param .u64 p) {
  .reg .b64 %a;
  .reg .b32 %r;
  .reg .pred %q;
  ld.param.u64 %a, [p];
  .loc 1 42 5
L:
  ld.volatile.global.u32 %r, [%a];
  setp.eq.u32 %q, %r, 0;
  @%q bra L;
  ret;
}
)";

TEST(Stopping, ATimeLimitEndsTheLaunchAndNamesTheLine) {
  auto module = loadText(spinning);
  uint32_t word = 0;
  uint32_t *pword = &word;
  ThreadPool pool(2);
  for (ThreadPool *threads : {static_cast<ThreadPool *>(nullptr), &pool}) {
    LaunchConfig config{.grid = {4, 1, 1}, .block = {96, 1, 1}};
    config.timeLimit = 50ms;
    config.pool = threads;
    const auto begin = std::chrono::steady_clock::now();
    Status status = run(*module, "k", config, pword);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 50ms + 1s * slowness());
    EXPECT_EQ(status.error(), Error::vgpuTimeout);
    EXPECT_THAT(status.message(), HasSubstr("kernel 'k' exceeded the time limit of 0.05 s"));
    EXPECT_THAT(status.message(), HasSubstr("warps at k, line "));
    EXPECT_THAT(status.message(), HasSubstr("(wait.py:42)"));
  }
  // A launch that ends within the time limit is not stopped.
  word = 1;
  LaunchConfig config{.timeLimit = 10s};
  EXPECT_TRUE(run(*module, "k", config, pword).isOk());
}

TEST(Stopping, AnInterruptEndsTheLaunchAndNamesTheLine) {
  auto module = loadText(spinning);
  uint32_t word = 0;
  uint32_t *pword = &word;
  std::atomic<bool> stop = false;
  LaunchConfig config{.block = {32, 1, 1}};
  config.stop = &stop;
  std::thread other([&] {
    std::this_thread::sleep_for(20ms);
    stop = true;
  });
  Status status = run(*module, "k", config, pword);
  other.join();
  EXPECT_EQ(status.error(), Error::vgpuInterrupted);
  EXPECT_THAT(status.message(), HasSubstr("kernel 'k' was interrupted after "));
  EXPECT_THAT(status.message(), HasSubstr("1 warp at k, line "));
  EXPECT_THAT(status.message(), HasSubstr("(wait.py:42)"));
}

TEST(LoadedModule, MoreSharedMemoryThanTheChipHasIsRefused) {
  for (const char *body : {".shared .b8 s[232449]; ret;", ".shared .b8 s[999999999999]; ret;",
                           ".shared .b8 s[200000]; .shared .b8 t[200000]; .reg .b32 %r; "
                           "mov.b32 %r, s; mov.b32 %r, t; ret;"}) {
    Status status = LoadedModule::create(head + ".visible .entry k() { " + body + " }\n", "sm_90a")
                        .takeStatus();
    EXPECT_TRUE(status.error() == Error::ptxVariable || status.error() == Error::ptxLimit) << body;
  }
  EXPECT_TRUE(
      LoadedModule::create(head + ".visible .entry k() { .shared .b8 s[232448]; ret; }\n", "sm_90a")
          .isOk());
}

} // namespace
} // namespace tilewright::vgpu::machine
