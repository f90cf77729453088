// Counts that are known in advance.
#include "tilewright/vgpu/count/Counter.h"

#include "tilewright/support/testing/ParsedJson.h"
#include "tilewright/vgpu/count/AccessModel.h"
#include "tilewright/vgpu/machine/ObserverList.h"
#include "tilewright/vgpu/machine/async/TensorMap.h"
#include "tilewright/vgpu/machine/testing/Kernels.h"

#include <cstdlib>
#include <numeric>

namespace tilewright::vgpu::count {
namespace {

using machine::LaunchConfig;
using machine::LoadedModule;
using machine::loadText;
using machine::run;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string head = ".version 8.4\n.target sm_90a\n.address_size 64\n";

/// The counts of one warp of a kernel.
template <typename... Values>
Report countOf(LoadedModule &module, std::string_view name, LaunchConfig config,
               const Values &...values) {
  Counter counter;
  config.observer = &counter;
  Status status = run(module, name, config, values...);
  EXPECT_TRUE(status.isOk()) << status.toString();
  return counter.report();
}

/// Each lane loads `bytes` from memory at the offset that a table gives.
std::unique_ptr<LoadedModule> tableKernel(const std::string &load) {
  return loadText(head + R"(
.visible .entry k(.param .u64 table, .param .u64 data) {
  .reg .b32 %t, %o, %v<4>;
  .reg .b64 %p, %w, %d, %e;
  .shared .align 16 .b8 words[16384];
  ld.param.u64 %p, [table];
  ld.param.u64 %d, [data];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %w, %t, 4;
  add.u64 %p, %p, %w;
  ld.global.u32 %o, [%p];
  cvt.u64.u32 %w, %o;
  add.u64 %d, %d, %w;
  mov.u32 %t, words;
  add.u32 %o, %o, %t;
)" + load + "\nret;\n}");
}

struct alignas(128) Table {
  uint32_t offsets[32];
};
alignas(128) std::array<std::byte, 1 << 16> memory;

MemoryCounts loadedBy(LoadedModule &module, const Table &table) {
  const Table *ptable = &table;
  std::byte *pdata = memory.data();
  MemoryCounts counts = countOf(module, "k", {.block = {32, 1, 1}}, ptable, pdata).total.memory;
  // Subtract the load of the table itself.
  counts.globalRequests -= 1;
  counts.globalReadBytes -= 128;
  counts.globalSectors -= 4;
  counts.globalIdealSectors -= 4;
  return counts;
}

TEST(Count, SectorsOfAStrideAreItsClosedForm) {
  auto module = tableKernel("ld.global.u32 %v0, [%d];");
  for (uint32_t stride : {0u, 1u, 2u, 4u, 8u, 16u, 32u, 100u}) {
    Table table;
    for (uint32_t lane = 0; lane < 32; ++lane)
      table.offsets[lane] = 4 * stride * lane;
    const MemoryCounts counts = loadedBy(*module, table);
    EXPECT_EQ(counts.globalRequests, 1u);
    EXPECT_EQ(counts.globalReadBytes, 128u);
    // One sector if all lanes read one word; all sectors up to a stride of eight words; then one
    // per lane.
    EXPECT_EQ(counts.globalSectors, stride == 0 ? 1 : std::min(4 * stride, 32u)) << stride;
    EXPECT_EQ(counts.globalIdealSectors, stride == 0 ? 1u : 4u) << stride;
  }
  // Backwards, and across a sector boundary.
  Table table;
  for (uint32_t lane = 0; lane < 32; ++lane)
    table.offsets[lane] = 4 * (31 - lane) + 16;
  EXPECT_EQ(loadedBy(*module, table).globalSectors, 5u);
}

TEST(Count, VectorsAskForSixteenSectors) {
  auto module = tableKernel("ld.global.v4.u32 {%v0, %v1, %v2, %v3}, [%d];");
  Table table;
  for (uint32_t lane = 0; lane < 32; ++lane)
    table.offsets[lane] = 16 * lane;
  EXPECT_EQ(loadedBy(*module, table).globalSectors, 16u);
  for (uint32_t lane = 0; lane < 32; ++lane)
    table.offsets[lane] = 64 * lane;
  const MemoryCounts counts = loadedBy(*module, table);
  EXPECT_EQ(counts.globalSectors, 32u);
  EXPECT_EQ(counts.globalIdealSectors, 16u);
}

TEST(Count, BankConflictsOfAStrideAreItsDivisors) {
  auto module = tableKernel("ld.shared.u32 %v0, [%o];");
  for (uint32_t stride = 1; stride <= 32; ++stride) {
    Table table;
    for (uint32_t lane = 0; lane < 32; ++lane)
      table.offsets[lane] = 4 * stride * lane;
    const MemoryCounts counts = loadedBy(*module, table);
    EXPECT_EQ(counts.sharedWavefronts, std::gcd(stride, 32u)) << stride;
    EXPECT_EQ(counts.sharedIdealWavefronts, 1u);
    EXPECT_EQ(counts.sharedReadBytes, 128u);
  }
}

TEST(Count, BankConflictsOfEveryDegree) {
  auto loads = tableKernel("ld.shared.u32 %v0, [%o];");
  auto stores = tableKernel("st.shared.u32 [%o], 1;");
  for (uint32_t degree = 1; degree <= 32; ++degree) {
    Table table;
    // The first lanes in bank 0, each of the others in its own bank.
    for (uint32_t lane = 0; lane < 32; ++lane)
      table.offsets[lane] = lane < degree ? 128 * lane : 4 * lane;
    EXPECT_EQ(loadedBy(*loads, table).sharedWavefronts, degree);
    EXPECT_EQ(loadedBy(*loads, table).bankConflicts(), degree - 1);
    EXPECT_EQ(loadedBy(*stores, table).sharedWavefronts, degree);
  }
  // Reading one word is not a conflict; atomic adds to one word are.
  Table same{};
  EXPECT_EQ(loadedBy(*loads, same).sharedWavefronts, 1u);
  auto adds = tableKernel("red.shared.add.u32 [%o], 1;");
  EXPECT_EQ(loadedBy(*adds, same).sharedWavefronts, 32u);
  EXPECT_EQ(loadedBy(*adds, same).sharedAtomicBytes, 128u);
}

TEST(Count, ASwizzleTakesTheConflictsOutOfATile) {
  auto module = tableKernel("ld.shared.v4.u32 {%v0, %v1, %v2, %v3}, [%o];");
  Table plain, swizzled;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t row = lane % 8, chunk = lane / 8;
    plain.offsets[lane] = row * 128 + chunk * 16;
    swizzled.offsets[lane] = row * 128 + (chunk ^ row) * 16;
  }
  // Quarter warps are served together: eight rows of one column, all in four banks.
  EXPECT_EQ(loadedBy(*module, plain).sharedWavefronts, 32u);
  EXPECT_EQ(loadedBy(*module, swizzled).sharedWavefronts, 4u);
  EXPECT_EQ(loadedBy(*module, swizzled).bankConflicts(), 0u);
  // ldmatrix reads the same rows.
  auto matrix = tableKernel("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%v0, %v1, %v2, %v3}, [%o];");
  EXPECT_EQ(loadedBy(*matrix, plain).sharedWavefronts, 32u);
  EXPECT_EQ(loadedBy(*matrix, swizzled).sharedWavefronts, 4u);
}

TEST(Count, HalfWarpsGoTogetherForEightBytes) {
  uint64_t addresses[32];
  for (uint32_t lane = 0; lane < 32; ++lane)
    addresses[lane] = 8 * lane;
  EXPECT_EQ(sharedWavefronts(~0u, addresses, 8, false).actual, 2u);
  EXPECT_EQ(sharedWavefronts(0xffff, addresses, 8, false).actual, 1u);
  for (uint32_t lane = 0; lane < 32; ++lane)
    addresses[lane] = 16 * lane;
  EXPECT_EQ(sharedWavefronts(~0u, addresses, 8, false).actual, 4u);
  EXPECT_EQ(sharedWavefronts(~0u, addresses, 8, false).ideal, 2u);
}

TEST(Count, InstructionsAreCountedByClassAndLane) {
  auto module = loadText(head + R"(
.visible .entry k(.param .u32 n) {
  .reg .b32 %i, %n, %t, %x;
  .reg .f32 %f;
  .reg .pred %p, %q;
  ld.param.u32 %n, [n];
  mov.u32 %i, 0;
  mov.u32 %t, %tid.x;
  setp.lt.u32 %q, %t, 8;
  mov.f32 %f, 0f00000000;
L:
  @%q add.u32 %x, %i, %t;
  fma.rn.f32 %f, %f, %f, %f;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, %n;
  @%p bra L;
  ret;
})");
  const uint32_t n = 100;
  machine::LaunchConfig config{.grid = {3, 1, 1}, .block = {64, 1, 1}};
  const Report report = countOf(*module, "k", config, n);
  const uint64_t warps = 6;
  EXPECT_EQ(report.total.warpInstructions, warps * (5 + 5 * n + 1));
  // No lane takes the last branch; 8 lanes of the first warp execute the guarded add.
  EXPECT_EQ(report.total.threadInstructions,
            warps * 32 * (5 + 3 * n + (n - 1) + 1) + 3 * 8 * uint64_t(n));
  auto ofClass = [&](ptx::InstructionClass klass) {
    return report.total.byClass[static_cast<size_t>(klass)];
  };
  EXPECT_EQ(ofClass(ptx::InstructionClass::fp32), warps * n);
  EXPECT_EQ(ofClass(ptx::InstructionClass::integer), warps * 2 * n);
  EXPECT_EQ(ofClass(ptx::InstructionClass::compare), warps * (n + 1));
  EXPECT_EQ(ofClass(ptx::InstructionClass::control), warps * (n + 1));
  // Several host threads give the same counts.
  ThreadPool pool(2);
  config.pool = &pool;
  EXPECT_EQ(countOf(*module, "k", config, n).toJson(), report.toJson());
}

TEST(Count, NothingIsDecodedForWhoDoesNotCount) {
  auto module = loadText(machine::kernelText("tiles.ptx"));
  auto operations = [&](const machine::DecodeOptions &options) {
    return (*module->kernel("matmul", options))->entry().code.size();
  };
  const size_t plain = operations({}),
               instructions = (*module->kernel("matmul", {}))->entry().source->instructions.size();
  machine::DecodeOptions counted;
  counted.counted = true;
  EXPECT_EQ(operations(counted), plain + instructions);
}

struct Gemm {
  static constexpr int m = 128, n = 256, k = 192;
  std::vector<uint16_t> a = std::vector<uint16_t>(m * k + 64),
                        b = std::vector<uint16_t>(n * k + 64);
  std::vector<float> c = std::vector<float>(m * n);
  std::unique_ptr<LoadedModule> module = loadText(machine::kernelText("hopper.ptx"));

  static std::array<std::byte, 128> mapOf(std::vector<uint16_t> &data, uint64_t rows,
                                          uint32_t boxRows) {
    machine::TensorMap map;
    map.address = (reinterpret_cast<uint64_t>(data.data()) + 63) & ~uint64_t(63);
    map.rank = 2;
    map.element = machine::TensorElement::f16;
    map.swizzle = machine::TensorSwizzle::bytes128;
    map.size = {k, rows, 1, 1, 1};
    map.stride = {2, 2 * k, 0, 0, 0};
    map.box = {64, boxRows, 1, 1, 1};
    std::array<std::byte, 128> encoded;
    map.encode(encoded.data());
    return encoded;
  }
  void launch(machine::Observer &observer, ThreadPool *pool = nullptr) {
    const auto mapA = mapOf(a, m, 64), mapB = mapOf(b, n, 128);
    float *pc = c.data();
    LaunchConfig config{.grid = {n / 128, m / 64, 1},
                        .block = {128, 1, 1},
                        .dynamicSharedBytes = 2 * (8192 + 16384),
                        .observer = &observer,
                        .pool = pool};
    Status status = run(*module, "gemm", config, mapA, mapB, pc, n, k);
    ASSERT_TRUE(status.isOk()) << status.toString();
  }
};

TEST(Count, AProductByTensorCoresIsItsClosedForm) {
  Gemm gemm;
  Counter counter({.hasTimeline = true}), second;
  machine::ObserverList both({&counter, &second});
  gemm.launch(both);
  const Report &report = counter.report();
  const MemoryCounts &memory = report.total.memory;
  constexpr uint64_t blocks = 4, steps = 3, stage = (64 + 128) * 64 * 2;
  EXPECT_EQ(report.total.multiplyAdds.at("f16*f16+f32"), uint64_t(Gemm::m) * Gemm::n * Gemm::k);
  EXPECT_EQ(memory.asyncGlobalBytes, blocks * steps * stage);
  EXPECT_EQ(memory.asyncGlobalSectors, blocks * steps * stage / 32);
  // Each of four warps reads 16 rows of A and all of B, 32 bytes of a row at a time.
  constexpr uint64_t read = blocks * steps * 4 * 4 * (16 + 128) * 32;
  EXPECT_EQ(memory.asyncSharedBytes, blocks * steps * stage + read);
  EXPECT_EQ(memory.globalWriteBytes, uint64_t(Gemm::m) * Gemm::n * 4);
  EXPECT_EQ(memory.barrierWaits, blocks * 4 * (1 + steps));
  EXPECT_EQ(memory.mbarrierWaits, blocks * 4 * steps);
  EXPECT_EQ(memory.groupWaits, blocks * 4 * steps);
  // Warps that are ahead consume a stage before or after the next one is requested.
  EXPECT_GE(report.maxBytesInFlight, stage);
  EXPECT_LE(report.maxBytesInFlight, 2 * stage);
  EXPECT_EQ(second.report().toJson(), report.toJson());

  ThreadPool pool(2);
  Counter threaded;
  gemm.launch(threaded, &pool);
  EXPECT_EQ(threaded.report().toJson(), report.toJson());

  EXPECT_TRUE(ParsedJson(report.toJson()).parse());
  EXPECT_THAT(report.toText(), HasSubstr("6291456 multiply-adds f16*f16+f32"));
}

TEST(Count, ATimelineHasWarpsCopiesAndBarriers) {
  Gemm gemm;
  Counter counter({.hasTimeline = true});
  gemm.launch(counter);
  const std::string &text = counter.timeline();
  EXPECT_TRUE(ParsedJson(text).parse()) << text.substr(0, 400);
  if (const char *path = std::getenv("TILEWRIGHT_TEST_TIMELINE"))
    std::ofstream(path) << text;
  auto occurrences = [&](const std::string &what) {
    size_t count = 0;
    for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1))
      ++count;
    return count;
  };
  EXPECT_EQ(occurrences("\"name\":\"block ["), 4u);
  EXPECT_EQ(occurrences("\"name\":\"warp "), 16u);
  EXPECT_EQ(occurrences("\"ph\":\"b\",\"cat\":\"copy\""), 4u * 3 * 2);
  EXPECT_EQ(occurrences("\"ph\":\"e\",\"cat\":\"copy\""), 4u * 3 * 2);
  EXPECT_EQ(occurrences("\"ph\":\"b\",\"cat\":\"matrix\""), 4u * 3 * 4 * 4);
  EXPECT_EQ(occurrences("never waited for"), 0u);
  EXPECT_GT(occurrences("\"name\":\"bytes in flight\""), 4u);
  EXPECT_EQ(occurrences("\"name\":\"mbarrier at 0\""), 4u); // one track per block
  EXPECT_GT(occurrences("\"cat\":\"wait\",\"name\":\"barrier 0\""), 0u);
  EXPECT_THAT(text, HasSubstr("One microsecond here is one instruction of a warp"));
  EXPECT_THAT(text, Not(HasSubstr("The limit of events was reached")));

  Counter few({.hasTimeline = true, .maxTimelineEvents = 50});
  gemm.launch(few);
  EXPECT_TRUE(ParsedJson(few.timeline()).parse());
  EXPECT_THAT(few.timeline(), HasSubstr("The limit of events was reached"));
  EXPECT_LT(few.timeline().size(), 20000u);
  EXPECT_EQ(few.report().toJson(), counter.report().toJson());
}

/// Four copies in flight at the same time, then two.
TEST(Count, BytesAreInFlightFromIssueToWait) {
  auto module = loadText(head + R"(
.visible .entry k(.param .u64 in) {
  .reg .b32 %s, %bar;
  .reg .b64 %p;
  .reg .pred %done;
  .shared .align 16 .b8 tile[1024];
  .shared .align 8 .b64 barrier;
  ld.param.u64 %p, [in];
  mov.u32 %s, tile;
  mov.u32 %bar, barrier;
  mbarrier.init.shared.b64 [%bar], 1;
  mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 1024;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%p], 256, [%bar];
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s+256], [%p], 256, [%bar];
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s+512], [%p], 512, [%bar];
L:
  mbarrier.try_wait.parity.shared.b64 %done, [%bar], 0;
  @!%done bra L;
  cp.async.bulk.global.shared::cta.bulk_group [%p], [%s], 512;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  ret;
})");
  std::byte *pdata = memory.data();
  for (machine::Completion completion : {machine::Completion::eager, machine::Completion::latest}) {
    const Report report = countOf(*module, "k", {.completion = completion}, pdata);
    EXPECT_EQ(report.maxBytesInFlight, 1024u);
    EXPECT_EQ(report.total.memory.asyncGlobalBytes, 1536u);
    EXPECT_EQ(report.total.memory.asyncGlobalSectors, 48u);
    EXPECT_EQ(report.total.memory.asyncSharedBytes, 1536u);
    EXPECT_THAT(report.toText(), HasSubstr("at most 1024 bytes in flight"));
  }
}

TEST(Count, LinesAreShownBesideTheirText) {
  const std::string file = ::testing::TempDir() + "/count_lines.py";
  std::ofstream(file) << "import triton\n\nx = load(p)\nstore(p, x + 1)\n";
  auto module = loadText(head + ".file 1 \"" + file + R"("
.visible .entry k(.param .u64 p) {
  .reg .b32 %x;
  .reg .b64 %p;
  ld.param.u64 %p, [p];
  .loc 1 3 5
  ld.global.u32 %x, [%p];
  .loc 1 4 1
  add.u32 %x, %x, 1;
  st.global.u32 [%p], %x;
  ret;
})");
  uint32_t word = 1;
  uint32_t *pword = &word;
  const Report report = countOf(*module, "k", {.block = {32, 1, 1}}, pword);
  ASSERT_EQ(report.lines.size(), 3u);
  EXPECT_EQ(report.lines[0].file, "");
  EXPECT_EQ(report.lines[1].file, file);
  EXPECT_EQ(report.lines[1].line, 3u);
  EXPECT_EQ(report.lines[1].counts.memory.globalReadBytes, 128u);
  EXPECT_EQ(report.lines[1].counts.memory.globalSectors, 1u);
  EXPECT_EQ(report.lines[2].line, 4u);
  EXPECT_EQ(report.lines[2].counts.warpInstructions, 3u);
  EXPECT_EQ(report.lines[2].counts.memory.globalWriteBytes, 128u);
  EXPECT_THAT(report.toText(), HasSubstr("| x = load(p)\n"));
  EXPECT_THAT(report.toText(), HasSubstr("| store(p, x + 1)\n"));
  std::remove(file.c_str());
  EXPECT_THAT(report.toText(), HasSubstr("(cannot be read)"));
}

TEST(Count, ACopyOfLanesIsARequestToBothMemories) {
  auto module = tableKernel("cp.async.ca.shared.global [%o], [%d], 16;\n"
                            "cp.async.commit_group;\ncp.async.wait_group 0;");
  Table table;
  for (uint32_t lane = 0; lane < 32; ++lane)
    table.offsets[lane] = 16 * lane;
  const MemoryCounts counts = loadedBy(*module, table);
  EXPECT_EQ(counts.globalSectors, 16u);
  EXPECT_EQ(counts.sharedWavefronts, 4u);
  EXPECT_EQ(counts.sharedWriteBytes, 512u);
  EXPECT_EQ(counts.groupWaits, 1u);
}

} // namespace
} // namespace tilewright::vgpu::count
