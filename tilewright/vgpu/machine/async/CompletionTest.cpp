// Asynchronous operations under every order of completion, and the events that an observer gets.
#include "tilewright/vgpu/machine/Warp.h"
#include "tilewright/vgpu/machine/testing/Kernels.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <set>

namespace tilewright::vgpu::machine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string head = ".version 8.6\n.target sm_90a\n.address_size 64\n";

const char *nameOf(SyncKind kind) {
  static constexpr const char *names[] = {"fence",
                                          "proxyFence",
                                          "mbarrierInitFence",
                                          "barrierArrive",
                                          "barrierLeave",
                                          "warpBarrier",
                                          "clusterArrive",
                                          "clusterLeave",
                                          "mbarrierInit",
                                          "mbarrierInvalidate",
                                          "mbarrierExpect",
                                          "mbarrierArrive",
                                          "mbarrierComplete",
                                          "mbarrierPhase",
                                          "mbarrierWait",
                                          "mbarrierPass",
                                          "asyncIssue",
                                          "asyncCommit",
                                          "asyncWait",
                                          "wgmmaFence",
                                          "wgmmaUnfenced",
                                          "mbarrierLapped"};
  return names[static_cast<size_t>(kind)];
}

/// Records the events, one line each.
class Log : public Observer {
public:
  void launchBegin(const Grid &) override { lines.push_back("launchBegin"); }
  void launchEnd(const Grid &) override { lines.push_back("launchEnd"); }
  void groupBegin(const Group &) override { lines.push_back("groupBegin"); }
  void groupEnd(const Group &) override { lines.push_back("groupEnd"); }
  void access(const MemoryEvent &event) override {
    std::ostringstream text;
    const uint64_t first = event.addresses[std::countr_zero(event.mask)];
    text << (event.kind == AccessKind::read    ? "read"
             : event.kind == AccessKind::write ? "write"
                                               : "atomic")
         << " x" << std::popcount(event.mask) << " of " << event.bytes;
    if ((first & windowMask) == sharedWindow)
      text << " shared " << ((first & 0xff000000u) >> 24) - 1 << ":" << (first & 0xffffff);
    text << " proxy " << int(event.proxy) << " order " << int(event.order) << " scope "
         << int(event.scope) << " async " << event.async;
    lines.push_back(text.str());
    bytes[event.async] += uint64_t(std::popcount(event.mask)) * event.bytes;
  }
  void synchronise(const SyncEvent &event) override {
    std::ostringstream text;
    text << nameOf(event.kind) << " mask " << std::hex << event.mask << std::dec;
    if ((event.object & windowMask) == sharedWindow)
      text << " at " << ((event.object & 0xff000000u) >> 24) - 1 << ":"
           << (event.object & 0xffffff);
    else
      text << " object " << event.object;
    text << " count " << event.count << " phase " << event.phase << " order " << int(event.order)
         << " scope " << int(event.scope) << " async " << event.async << " group "
         << int(event.group);
    for (AsyncId id : event.operations)
      text << " +" << id;
    if (event.isReadOnly)
      text << " read";
    if (event.kind == SyncKind::proxyFence)
      text << " proxy " << int(event.proxy) << " space " << int(event.space);
    lines.push_back(text.str());
  }
  void accessInFlight(const Warp &, const Op *, uint32_t mask, uint32_t, AsyncId id) override {
    std::ostringstream text;
    text << "accessInFlight mask " << std::hex << mask << std::dec << " of " << id;
    lines.push_back(text.str());
  }
  /// The lines that begin with `begin`.
  std::vector<std::string> of(const std::string &begin) const {
    std::vector<std::string> found;
    std::copy_if(lines.begin(), lines.end(), std::back_inserter(found),
                 [&](const std::string &line) { return line.rfind(begin, 0) == 0; });
    return found;
  }
  std::vector<std::string> lines;
  std::map<AsyncId, uint64_t> bytes;
};

/// A bulk store whose source is overwritten, with `wait` in between. Returns the value that
/// arrives.
uint32_t storedAfter(const std::string &wait, Completion completion, Observer *observer = nullptr) {
  auto module = loadText(head + R"(
.visible .entry k(.param .u64 out) {
  .reg .b32 %s, %v;
  .reg .b64 %p;
  .shared .align 16 .b32 words[4];
  ld.param.u64 %p, [out];
  mov.u32 %s, words;
  st.shared.u32 [%s], 7;
  st.shared.u32 [%s+4], 7;
  st.shared.u32 [%s+8], 7;
  st.shared.u32 [%s+12], 7;
  fence.proxy.async.shared::cta;
  cp.async.bulk.global.shared::cta.bulk_group [%p], [%s], 16;
  cp.async.bulk.commit_group;
)" + wait + R"(
  st.shared.u32 [%s], 9;
  ret;
})");
  alignas(16) std::array<uint32_t, 4> out{};
  uint32_t *pout = out.data();
  Status status = run(*module, "k", {.completion = completion, .observer = observer}, pout);
  EXPECT_TRUE(status.isOk()) << status.toString();
  EXPECT_EQ(out[1], 7u);
  return out[0];
}

TEST(Completion, ASourceThatIsOverwrittenWithoutAWaitIsSeenWhenCopiesAreLate) {
  EXPECT_EQ(storedAfter("", Completion::eager), 7u);
  EXPECT_EQ(storedAfter("", Completion::latest), 9u);
  EXPECT_EQ(storedAfter("cp.async.bulk.wait_group 0;", Completion::latest), 7u);
  EXPECT_EQ(storedAfter("cp.async.bulk.wait_group.read 0;", Completion::latest), 7u);
  EXPECT_EQ(storedAfter("cp.async.bulk.wait_group 1;", Completion::latest), 9u);
}

TEST(Completion, AWaitForReadsLeavesTheWritesForLater) {
  Log log;
  storedAfter("cp.async.bulk.wait_group.read 0;", Completion::latest, &log);
  std::vector<std::string> order;
  for (const std::string &line : log.lines)
    if (line.find("async 1") != line.npos || line.rfind("asyncWait", 0) == 0 ||
        line.rfind("asyncCommit", 0) == 0)
      order.push_back(line.substr(0, line.find(' ', line.find(' ') + 1)));
  EXPECT_THAT(order, ElementsAre("asyncIssue mask", "asyncCommit mask", "read x1", "asyncWait mask",
                                 "write x1"));
  EXPECT_THAT(log.of("asyncWait").at(0), HasSubstr("group 2 +1 read"));
}

/// Each lane copies a word and reads it after `wait`.
std::vector<uint32_t> copiedAfter(const std::string &wait, const LaunchConfig &order,
                                  Observer *observer = nullptr) {
  auto module = loadText(head + R"(
.visible .entry k(.param .u64 in, .param .u64 out) {
  .reg .b32 %t, %o, %s, %v, %bar;
  .reg .b64 %p, %q, %w;
  .reg .pred %done, %first;
  .shared .align 16 .b32 words[32];
  .shared .align 8 .b64 barrier;
  ld.param.u64 %p, [in];
  ld.param.u64 %q, [out];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %w, %t, 4;
  add.u64 %p, %p, %w;
  add.u64 %q, %q, %w;
  mov.u32 %s, words;
  mad.lo.u32 %s, %t, 4, %s;
  mov.u32 %bar, barrier;
  setp.eq.u32 %first, %t, 0;
  @%first mbarrier.init.shared.b64 [%bar], 32;
  st.shared.u32 [%s], 5;
  bar.warp.sync 0xffffffff;
  cp.async.ca.shared.global [%s], [%p], 4;
)" + wait + R"(
  ld.shared.u32 %v, [%s];
  st.global.u32 [%q], %v;
  ret;
})");
  std::vector<uint32_t> in(32), out(32);
  std::iota(in.begin(), in.end(), 100);
  const uint32_t *pin = in.data();
  uint32_t *pout = out.data();
  LaunchConfig config = order;
  config.block = {32, 1, 1};
  config.observer = observer;
  Status status = run(*module, "k", config, pin, pout);
  EXPECT_TRUE(status.isOk()) << status.toString();
  return out;
}
const std::string waitByMbarrier = R"(
  cp.async.mbarrier.arrive.noinc.shared.b64 [%bar];
L:
  mbarrier.try_wait.parity.shared.b64 %done, [%bar], 0;
  @!%done bra L;
)";
const std::string waitByTesting = R"(
  cp.async.mbarrier.arrive.noinc.shared.b64 [%bar];
L:
  mbarrier.test_wait.parity.shared.b64 %done, [%bar], 0;
  @!%done bra L;
)";
// Without .noinc the arrival of the copies is not in the count, so all threads arrive as well.
const std::string waitByIncrement = R"(
  cp.async.mbarrier.arrive.shared.b64 [%bar];
  mbarrier.arrive.shared.b64 _, [%bar];
L:
  mbarrier.try_wait.parity.shared.b64 %done, [%bar], 0;
  @!%done bra L;
)";

TEST(Completion, CopiesArriveByEveryKindOfWait) {
  std::vector<uint32_t> expected(32);
  std::iota(expected.begin(), expected.end(), 100);
  for (const std::string &wait :
       {std::string("cp.async.commit_group;\ncp.async.wait_group 0;"),
        std::string("cp.async.wait_all;"), waitByMbarrier, waitByTesting, waitByIncrement})
    for (const LaunchConfig &order : ordersOf({})) {
      EXPECT_EQ(copiedAfter(wait, order), expected) << wait << describeOrder(order);
    }
}

TEST(Completion, ACopyThatIsNotWaitedForIsNotThere) {
  const LaunchConfig latest{.completion = Completion::latest};
  EXPECT_EQ(copiedAfter("", latest), std::vector<uint32_t>(32, 5));
  EXPECT_EQ(copiedAfter("cp.async.commit_group;\ncp.async.wait_group 1;", latest),
            std::vector<uint32_t>(32, 5));
  // Some of the seeds find it too.
  int wrong = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed)
    wrong += copiedAfter("", {.completion = Completion::seeded, .seed = seed})[0] == 5;
  EXPECT_GT(wrong, 0);
  EXPECT_LT(wrong, 20);
}

TEST(Completion, AnArrivalOfCopiesIsToldWithTheCopiesBeforeIt) {
  for (Completion completion : {Completion::eager, Completion::latest}) {
    Log log;
    copiedAfter(waitByMbarrier, {.completion = completion}, &log);
    const std::vector<std::string> issued = log.of("asyncIssue");
    ASSERT_EQ(issued.size(), 2u);
    EXPECT_THAT(issued[0], HasSubstr("async 1 group 1"));
    EXPECT_THAT(issued[1], HasSubstr("async 2 group 0 +1"));
    EXPECT_THAT(log.of("mbarrierArrive"),
                ElementsAre("mbarrierArrive mask ffffffff at 0:128 count 1 phase 0 order 3 scope 1 "
                            "async 2 group 0"));
    EXPECT_EQ(log.of("mbarrierPhase").size(), 1u);
    EXPECT_THAT(log.of("mbarrierWait").at(0), HasSubstr("at 0:128 count 0 phase 0 order 2"));
    EXPECT_EQ(log.bytes[1], 256u); // 128 read, 128 written
    EXPECT_EQ(log.lines.front(), "launchBegin");
    EXPECT_EQ(log.lines.at(1), "groupBegin");
    EXPECT_EQ(log.lines.back(), "launchEnd");
  }
}

/// wgmma of 64 x 8 x 16, all factors 1, with `after` before the accumulators are stored.
std::vector<float> productsAfter(const std::string &before, const std::string &after,
                                 Completion completion, Observer *observer = nullptr) {
  auto module = loadText(head + R"(
.visible .entry k(.param .u64 out) {
  .reg .b32 %t, %s, %o;
  .reg .b64 %p, %w, %da, %db;
  .reg .f32 %f<4>, %g;
  .reg .pred %one;
  .shared .align 1024 .b8 tiles[4096];
  mov.u32 %t, %tid.x;
  mov.u32 %s, tiles;
  mad.lo.u32 %o, %t, 16, %s;
  // 2 KB of ones of A, and some of B.
  st.shared.v4.b32 [%o], {0x3c003c00, 0x3c003c00, 0x3c003c00, 0x3c003c00};
  st.shared.v4.b32 [%o+2048], {0x3c003c00, 0x3c003c00, 0x3c003c00, 0x3c003c00};
  mov.f32 %f0, 0f3F800000;
  mov.f32 %f1, 0f3F800000;
  mov.f32 %f2, 0f3F800000;
  mov.f32 %f3, 0f3F800000;
  fence.proxy.async;
  bar.sync 0;
  // No swizzle: cores of 128 bytes, 256 from eight rows to the next, 128 along k.
  mov.b64 %da, 0x0000001000080000;
  mov.b64 %db, 0x0000001000080080;
  setp.eq.u32 %one, %t, %t;
)" + before + R"(
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %da, %db, %one, 1, 1, 0, 0;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %da, %db, %one, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
)" + after + R"(
  ld.param.u64 %p, [out];
  mul.wide.u32 %w, %t, 16;
  add.u64 %p, %p, %w;
  st.global.v4.f32 [%p], {%f0, %f1, %f2, %f3};
  wgmma.wait_group.sync.aligned 0;
  ret;
})");
  std::vector<float> out(512);
  float *pout = out.data();
  Status status = run(*module, "k",
                      {.block = {128, 1, 1}, .completion = completion, .observer = observer}, pout);
  EXPECT_TRUE(status.isOk()) << status.toString();
  return out;
}
const std::string fence = "wgmma.fence.sync.aligned;",
                  waitForIt = "wgmma.wait_group.sync.aligned 0;";

TEST(Completion, SumsAreThereAfterTheirWaitAndNotBefore) {
  EXPECT_EQ(productsAfter(fence, waitForIt, Completion::eager), std::vector<float>(512, 33));
  EXPECT_EQ(productsAfter(fence, waitForIt, Completion::latest), std::vector<float>(512, 33));
  EXPECT_EQ(productsAfter(fence, "", Completion::eager), std::vector<float>(512, 33));
  EXPECT_EQ(productsAfter(fence, "", Completion::latest), std::vector<float>(512, 1));
}

TEST(Completion, RegistersOfAMatrixInFlightAreWatched) {
  for (Completion completion : {Completion::eager, Completion::latest}) {
    Log fine;
    productsAfter(fence, waitForIt, completion, &fine);
    EXPECT_THAT(fine.of("accessInFlight"), ElementsAre());
    EXPECT_THAT(fine.of("wgmmaUnfenced"), ElementsAre());
    // A: 16 rows of 32 bytes for each warp, B: 8 rows; ranges of 128 bytes.
    EXPECT_EQ(fine.of("asyncIssue").size(), 8u);
    EXPECT_EQ(fine.bytes[1], 16u * 32 + 8 * 32);
    EXPECT_EQ(fine.of("asyncWait").size(), 8u);

    Log early;
    productsAfter(fence, "", completion, &early);
    EXPECT_EQ(early.of("accessInFlight").size(), 4u * 4); // four registers, four warps
    EXPECT_THAT(early.of("accessInFlight").at(0), HasSubstr("mask ffffffff of 2"));

    Log unfenced;
    productsAfter("", waitForIt, completion, &unfenced);
    EXPECT_EQ(unfenced.of("wgmmaUnfenced").size(), 8u);
    Log touched;
    productsAfter(fence + "\nmov.f32 %f2, 0f00000000;", waitForIt, completion, &touched);
    EXPECT_EQ(touched.of("wgmmaUnfenced").size(), 8u);
    Log other;
    productsAfter(fence + "\nmov.f32 %g, 0f00000000;", waitForIt, completion, &other);
    EXPECT_EQ(other.of("wgmmaUnfenced").size(), 0u);
  }
}

/// A in registers is read until the wgmma is waited for. Registers whose live interval begins after
/// its last use must have other slots, so that writes to them do not change A.
TEST(Completion, ALeftSideInRegistersKeepsThemUntilItsWait) {
  for (Completion completion : {Completion::eager, Completion::latest}) {
    auto module = loadText(head + R"(
.visible .entry k(.param .u64 out) {
  .reg .b32 %t, %s, %o, %a<4>, %later<4>;
  .reg .b64 %p, %w, %db;
  .reg .f32 %f<4>;
  .reg .pred %one;
  .shared .align 1024 .b8 tiles[2048];
  mov.u32 %t, %tid.x;
  mov.u32 %s, tiles;
  mad.lo.u32 %o, %t, 16, %s;
  st.shared.v4.b32 [%o], {0x3c003c00, 0x3c003c00, 0x3c003c00, 0x3c003c00};
  fence.proxy.async;
  bar.sync 0;
  mov.b64 %db, 0x0000001000080000;
  setp.ne.u32 %one, %t, %t;
  mov.b32 %a0, 0x3c003c00;
  mov.b32 %a1, 0x3c003c00;
  mov.b32 %a2, 0x3c003c00;
  mov.b32 %a3, 0x3c003c00;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, {%a0, %a1, %a2, %a3}, %db, %one, 1, 1, 0;
  wgmma.commit_group.sync.aligned;
  add.u32 %later0, %t, 1;
  add.u32 %later1, %t, 2;
  add.u32 %later2, %later0, %later1;
  add.u32 %later3, %later1, %later2;
  wgmma.wait_group.sync.aligned 0;
  ld.param.u64 %p, [out];
  mul.wide.u32 %w, %t, 16;
  add.u64 %p, %p, %w;
  st.global.v4.f32 [%p], {%f0, %f1, %f2, %f3};
  st.global.b32 [%p], %later3;
  st.global.f32 [%p], %f0;
  ret;
})");
    std::vector<float> out(512);
    float *pout = out.data();
    Log log;
    Status status =
        run(*module, "k", {.block = {128, 1, 1}, .completion = completion, .observer = &log}, pout);
    EXPECT_TRUE(status.isOk()) << status.toString();
    EXPECT_THAT(log.of("accessInFlight"), ElementsAre());
    EXPECT_EQ(out, std::vector<float>(512, 16));
  }
}

TEST(Completion, PhasesAreToldAsWholeNumbers) {
  auto module = loadText(head + R"(
.visible .entry k() {
  .reg .b32 %bar, %i, %parity;
  .reg .pred %p;
  .shared .align 8 .b64 barrier;
  mov.u32 %bar, barrier;
  mbarrier.init.shared.b64 [%bar], 2;
  // Nothing is over yet, which is the phase of parity 1.
  mbarrier.try_wait.parity.shared.b64 %p, [%bar], 1;
  mov.u32 %i, 0;
L:
  mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%bar], 16;
  mbarrier.arrive.relaxed.cluster.shared.b64 _, [%bar], 2;
  mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%bar], 16;
  and.b32 %parity, %i, 1;
  mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p, [%bar], %parity;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, 20;
  @%p bra L;
  mbarrier.inval.shared.b64 [%bar];
  ret;
})");
  Log log;
  Status status = run(*module, "k", {.observer = &log});
  ASSERT_TRUE(status.isOk()) << status.toString();
  EXPECT_EQ(log.of("mbarrierPhase").size(), 20u);
  EXPECT_EQ(log.of("mbarrierWait").size(), 20u);
  EXPECT_THAT(log.of("mbarrierExpect").at(13), HasSubstr("at 0:0 count 16 phase 13"));
  EXPECT_THAT(log.of("mbarrierArrive").at(13),
              HasSubstr("at 0:0 count 2 phase 13 order 1 scope 2"));
  EXPECT_THAT(log.of("mbarrierComplete").at(13), HasSubstr("at 0:0 count 16 phase 13"));
  EXPECT_THAT(log.of("mbarrierPhase").at(13), HasSubstr("phase 13"));
  EXPECT_THAT(log.of("mbarrierWait").at(13), HasSubstr("phase 13 order 2 scope 2"));
  EXPECT_EQ(log.of("mbarrierInvalidate").size(), 1u);
}

TEST(Completion, FencesAndAccessesAreToldWithOrderAndScope) {
  auto module = loadText(head + R"(
.visible .entry k(.param .u64 in) {
  .reg .b32 %v;
  .reg .b64 %p, %g;
  .shared .align 8 .b32 word;
  ld.param.u64 %p, [in];
  fence.acq_rel.gpu;
  fence.sc.cta;
  membar.sys;
  fence.mbarrier_init.release.cluster;
  fence.proxy.async;
  fence.proxy.async.shared::cta;
  fence.proxy.tensormap::generic.release.gpu;
  fence.proxy.tensormap::generic.acquire.sys [%p], 128;
  ld.acquire.gpu.global.u32 %v, [%p];
  st.release.cta.global.u32 [%p], %v;
  ld.volatile.global.u32 %v, [%p];
  ld.relaxed.cluster.global.u32 %v, [%p];
  atom.global.add.u32 %v, [%p], 1;
  red.release.cluster.global.add.u32 [%p], 1;
  mov.b64 %g, word;
  cvta.shared.u64 %g, %g;
  st.u32 [%g], %v;
  ld.global.u32 %v, [%p];
  ret;
})");
  alignas(128) std::array<uint32_t, 32> in{};
  uint32_t *pin = in.data();
  Log log;
  Status status = run(*module, "k", {.observer = &log});
  EXPECT_EQ(status.error(), Error::vgpuLaunch); // the argument is missing
  log.lines.clear();
  status = run(*module, "k", {.observer = &log}, pin);
  ASSERT_TRUE(status.isOk()) << status.toString();
  auto ends = [&](const std::string &begin) {
    std::vector<std::string> found = log.of(begin);
    for (std::string &line : found)
      line = line.substr(line.find(" order"));
    return found;
  };
  const std::string tail = " async 0 group 0";
  EXPECT_THAT(ends("fence"), ElementsAre(" order 4 scope 3" + tail, " order 5 scope 1" + tail,
                                         " order 4 scope 4" + tail));
  EXPECT_THAT(ends("mbarrierInitFence"), ElementsAre(" order 3 scope 2" + tail));
  EXPECT_THAT(ends("proxyFence"), ElementsAre(" order 4 scope 1" + tail + " proxy 1 space 0",
                                              " order 4 scope 1" + tail + " proxy 1 space 2",
                                              " order 3 scope 3" + tail + " proxy 2 space 0",
                                              " order 2 scope 4" + tail + " proxy 2 space 0"));
  EXPECT_THAT(log.of("proxyFence").at(3),
              HasSubstr("object " + std::to_string(reinterpret_cast<uint64_t>(pin))));
  EXPECT_THAT(ends("read"), ElementsAre(" order 2 scope 3 async 0", " order 1 scope 4 async 0",
                                        " order 1 scope 2 async 0", " order 0 scope 0 async 0"));
  EXPECT_THAT(ends("write"), ElementsAre(" order 3 scope 1 async 0", " order 0 scope 0 async 0"));
  EXPECT_THAT(ends("atomic"), ElementsAre(" order 1 scope 3 async 0", " order 3 scope 2 async 0"));
  EXPECT_THAT(log.of("write").at(1), HasSubstr("shared 0:0"));
}

TEST(Completion, BarriersOfBlocksWarpsAndClustersAreToldWithTheirGenerations) {
  auto module = loadText(head + R"(
.visible .entry k() .reqnctapercluster 2, 1, 1 {
  .reg .b32 %t;
  .reg .pred %p;
  mov.u32 %t, %tid.x;
  bar.sync 3, 64;
  bar.sync 3, 64;
  and.b32 %t, %t, 1;
  setp.eq.u32 %p, %t, 0;
  @%p bra EVEN;
  bar.warp.sync 0xffffffff;
  bra BOTH;
EVEN:
  bar.warp.sync 0xffffffff;
BOTH:
  barrier.cluster.arrive.relaxed.aligned;
  barrier.cluster.wait.aligned;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.acquire.aligned;
  ret;
})");
  Log log;
  Status status = run(*module, "k", {.grid = {2, 1, 1}, .block = {64, 1, 1}, .observer = &log});
  ASSERT_TRUE(status.isOk()) << status.toString();
  EXPECT_EQ(log.of("barrierArrive").size(), 8u);
  EXPECT_EQ(log.of("barrierLeave").size(), 8u);
  EXPECT_THAT(log.of("barrierArrive").at(1), HasSubstr("object 3 count 64 phase 0"));
  EXPECT_THAT(log.of("barrierLeave").at(7), HasSubstr("object 3 count 64 phase 1"));
  // Lanes that wait at different instructions meet once.
  EXPECT_EQ(log.of("warpBarrier").size(), 4u);
  EXPECT_THAT(log.of("warpBarrier").at(0), HasSubstr("mask ffffffff"));
  EXPECT_EQ(log.of("clusterArrive").size(), 8u);
  EXPECT_EQ(log.of("clusterLeave").size(), 8u);
  EXPECT_THAT(log.of("clusterArrive").at(0), HasSubstr("phase 0 order 1 scope 2"));
  EXPECT_THAT(log.of("clusterArrive").at(7), HasSubstr("phase 1 order 3 scope 2"));
  EXPECT_THAT(log.of("clusterLeave").at(0), HasSubstr("phase 0 order 2"));
  EXPECT_THAT(log.of("clusterLeave").at(7), HasSubstr("phase 1 order 2"));
}

/// Only the first warp reports that the tile may be overwritten. That is correct, because it has
/// waited for a wgmma of all four warps.
TEST(Completion, TheFourWarpsOfAProductWaitForEachOther) {
  auto module = loadText(head + R"(
.visible .entry k(.param .u64 in, .param .u64 out) {
  .reg .b32 %t, %s, %full, %empty, %i, %parity;
  .reg .b64 %p, %q, %w, %da, %db;
  .reg .f32 %f<4>;
  .reg .pred %yes, %p0, %producer, %first;
  .shared .align 1024 .b8 tiles[4096];
  .shared .align 8 .b64 barriers[2];
  ld.param.u64 %q, [in];
  ld.param.u64 %p, [out];
  mov.u32 %t, %tid.x;
  mov.u32 %s, tiles;
  mov.u32 %full, barriers;
  add.u32 %empty, %full, 8;
  setp.eq.u32 %yes, %t, %t;
  setp.eq.u32 %first, %t, 0;
  @%first mbarrier.init.shared.b64 [%full], 1;
  @%first mbarrier.init.shared.b64 [%empty], 1;
  mov.f32 %f0, 0f00000000;
  mov.f32 %f1, 0f00000000;
  mov.f32 %f2, 0f00000000;
  mov.f32 %f3, 0f00000000;
  bar.sync 0;
  mov.u32 %i, 0;
  setp.ge.u32 %producer, %t, 128;
  @%producer bra PRODUCE;
  mov.b64 %da, 0x0000001000080000;
  mov.b64 %db, 0x0000001000080080;
CONSUME:
  and.b32 %parity, %i, 1;
W:
  mbarrier.try_wait.parity.shared.b64 %p0, [%full], %parity;
  @!%p0 bra W;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %da, %db, %yes, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  @%first mbarrier.arrive.shared.b64 _, [%empty];
  add.u32 %i, %i, 1;
  setp.lt.u32 %p0, %i, 8;
  @%p0 bra CONSUME;
  mul.wide.u32 %w, %t, 16;
  add.u64 %p, %p, %w;
  st.global.v4.f32 [%p], {%f0, %f1, %f2, %f3};
  ret;
PRODUCE:
  setp.ne.u32 %p0, %t, 128;
  @%p0 exit;
NEXT:
  xor.b32 %parity, %i, 1;
  and.b32 %parity, %parity, 1;
V:
  mbarrier.try_wait.parity.shared.b64 %p0, [%empty], %parity;
  @!%p0 bra V;
  mbarrier.arrive.expect_tx.shared.b64 _, [%full], 4096;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%q], 4096, [%full];
  add.u64 %q, %q, 4096;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p0, %i, 8;
  @%p0 bra NEXT;
  ret;
})");
  // Tiles of 1, 2, 3, … in f16.
  alignas(16) static std::array<uint16_t, 8 * 2048> in;
  constexpr uint16_t halves[] = {0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700, 0x4800};
  double expected = 0;
  for (size_t i = 0; i < 8; ++i) {
    std::fill_n(in.begin() + static_cast<ptrdiff_t>(2048 * i), 2048, halves[i]);
    expected += 16.0 * double(i + 1) * double(i + 1);
  }
  const uint16_t *pin = in.data();
  std::vector<float> out(512);
  float *pout = out.data();
  for (const LaunchConfig &order : ordersOf({.block = {160, 1, 1}})) {
    std::fill(out.begin(), out.end(), 0.0f);
    Status status = run(*module, "k", order, pin, pout);
    ASSERT_TRUE(status.isOk()) << status.toString() << describeOrder(order);
    ASSERT_EQ(out, std::vector<float>(512, float(expected))) << describeOrder(order);
  }
  Log log;
  LaunchConfig config{.block = {160, 1, 1}, .observer = &log};
  Status status = run(*module, "k", config, pin, pout);
  ASSERT_TRUE(status.isOk()) << status.toString();
  // Each wait reports the operations of all four warps.
  const std::vector<std::string> waits = log.of("asyncWait");
  ASSERT_EQ(waits.size(), 8u * 4);
  for (const std::string &line : waits)
    EXPECT_EQ(std::count(line.begin(), line.end(), '+'), 4) << line;
}

TEST(Completion, SeedsDoNotChangeWhatCorrectKernelsCompute) {
  auto tiles = loadText(kernelText("tiles.ptx")), threads = loadText(kernelText("threads.ptx"));
  const int n = 32;
  std::vector<float> a(n * n), b(n * n), c(n * n), expected(n * n);
  for (int i = 0; i < n * n; ++i)
    a[i] = float(i % 7), b[i] = float(i % 5);
  for (int i = 0; i < n * n; ++i)
    for (int k = 0; k < n; ++k)
      expected[i] += a[i / n * n + k] * b[k * n + i % n];
  const float *pa = a.data(), *pb = b.data();
  float *pc = c.data();
  for (const LaunchConfig &order : ordersOf({.grid = {2, 2, 1}, .block = {16, 16, 1}})) {
    std::fill(c.begin(), c.end(), 0.0f);
    Status status = run(*tiles, "matmul", order, pa, pb, pc, n);
    ASSERT_TRUE(status.isOk()) << status.toString() << describeOrder(order);
    EXPECT_EQ(c, expected) << describeOrder(order);
  }
  for (const LaunchConfig &order : ordersOf({.grid = {2, 1, 1}, .block = {64, 1, 1}})) {
    int total = 0;
    int *ptotal = &total;
    Status status = run(*threads, "spin_lock", order, ptotal);
    ASSERT_TRUE(status.isOk()) << status.toString() << describeOrder(order);
    EXPECT_EQ(total, 128) << describeOrder(order);
  }
}

/// A non-atomic increment loses counts, for some seeds.
TEST(Completion, SeedsInterleaveWarpsBetweenAccesses) {
  auto module = loadText(head + R"(
.visible .entry k(.param .u64 out) {
  .reg .b32 %t, %v;
  .reg .b64 %p;
  .reg .pred %q;
  ld.param.u64 %p, [out];
  mov.u32 %t, %tid.x;
  and.b32 %t, %t, 31;
  setp.ne.u32 %q, %t, 0;
  @%q exit;
  ld.global.u32 %v, [%p];
  add.u32 %v, %v, 1;
  st.global.u32 [%p], %v;
  ret;
})");
  auto counted = [&](uint64_t seed) {
    uint32_t count = 0;
    uint32_t *pcount = &count;
    Status status = run(*module, "k", {.block = {1024, 1, 1}, .seed = seed}, pcount);
    EXPECT_TRUE(status.isOk()) << status.toString();
    return count;
  };
  EXPECT_EQ(counted(0), 32u);
  uint32_t least = 32;
  for (uint64_t seed = 1; seed <= 20; ++seed)
    least = std::min(least, counted(seed));
  EXPECT_LT(least, 32u);
}

/// Seeds change the order in which warps run, and the same seed gives the same order.
TEST(Completion, SeedsChooseTheOrderOfWarps) {
  auto module = loadText(head + R"(
.visible .entry k(.param .u64 out) {
  .reg .b32 %t, %w, %n;
  .reg .b64 %p, %o;
  .reg .pred %q;
  ld.param.u64 %p, [out];
  mov.u32 %t, %tid.x;
  and.b32 %n, %t, 31;
  setp.ne.u32 %q, %n, 0;
  @%q exit;
  shr.u32 %w, %t, 5;
  atom.global.add.u32 %n, [%p], 1;
  mul.wide.u32 %o, %n, 4;
  add.u64 %p, %p, %o;
  st.global.u32 [%p+4], %w;
  ret;
})");
  auto orderOf = [&](uint64_t seed) {
    std::vector<uint32_t> out(9);
    uint32_t *pout = out.data();
    Status status = run(*module, "k", {.block = {256, 1, 1}, .seed = seed}, pout);
    EXPECT_TRUE(status.isOk()) << status.toString();
    return std::vector<uint32_t>(out.begin() + 1, out.end());
  };
  EXPECT_THAT(orderOf(0), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  std::set<std::vector<uint32_t>> seen;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    seen.insert(orderOf(seed));
    EXPECT_EQ(orderOf(seed), orderOf(seed));
  }
  EXPECT_GT(seen.size(), 15u);
}

} // namespace
} // namespace tilewright::vgpu::machine
