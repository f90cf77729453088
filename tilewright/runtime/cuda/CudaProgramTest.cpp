// GPU-specific tests: launches with shared memory, clusters and tensor maps, command buffers, and
// programs that are rejected at load time.
#include "tilewright/runtime/cuda/CommandBuffer.h"
#include "tilewright/runtime/cuda/testing/GpuFixture.h"
#include "tilewright/support/Trace.h"

#include <numeric>

namespace tilewright::runtime::conformance {
namespace {

using artifact::GpuLaunch;
using artifact::TensorMap;
using cuda::CommandBuffer;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CudaProgramTest : public GpuFixture {
protected:
  void SetUp() override { makeClient(); }
  static bool isHopper() { return cuda::testChip().starts_with("sm_90"); }

  static Program hopper(const std::string &name) {
    Program program(name);
    program.executable.target.cpu = "sm_90a";
    program.executable.objects = {cuda::bytesOf(cuda::hopperPtx)};
    return program;
  }
};

TEST_F(CudaProgramTest, DevicesSayWhatTheyAre) {
  EXPECT_EQ(client->platformName(), "cuda");
  EXPECT_EQ(device().toString(), "cuda:0");
  bool isFound = false;
  for (const DeviceAttribute &attribute : device().attributes())
    if (attribute.name == "compute_capability") {
      isFound = true;
      EXPECT_EQ(std::get<std::string>(attribute.value), isHopper() ? "9.0" : "8.0");
    }
  EXPECT_TRUE(isFound);
  EXPECT_GT(memory().statistics().bytesLimit, 0);
  EXPECT_FALSE(memory().isHostMemory());
  EXPECT_TRUE(pinned().isHostMemory());
}

/// The device never uses host memory in place, even if the caller permits it.
TEST_F(CudaProgramTest, HostMemoryIsNeverUsedInPlace) {
  alignas(64) std::array<float, length> host = {};
  for (Memory *place : {&memory(), &pinned()}) {
    Event done;
    auto made = Buffer::fromHost(
        {host.data(), floats(), {}, HostBufferSemantics::immutableZeroCopy}, *place, &done);
    ASSERT_TRUE(made.isOk());
    EXPECT_NE(*(*made)->data(), static_cast<void *>(host.data()));
    EXPECT_TRUE(done.isReady());
  }
}

TEST_F(CudaProgramTest, SharedMemoryThatALaunchAsksForIsThere) {
  constexpr int64_t n = summed;
  Program p = sum();
  auto input = ascending();
  auto run = execute(*load(p), {input.get()});
  ASSERT_TRUE(run.isOk());
  EXPECT_THAT(read(*run->results[0][0]), ElementsAre(n * (n - 1) / 2));

  // More shared memory than a block has without opt-in, also in a command buffer.
  launchOf(p).sharedBytes = 100 << 10;
  Slice z = p.result(floats());
  Slice ones = p.constant(std::vector<float>(length, 1));
  p.launch("add_one", length, {ones, z});
  run = execute(*load(p), {input.get()});
  ASSERT_TRUE(run.isOk());
  EXPECT_THAT(read(*run->results[0][0]), ElementsAre(n * (n - 1) / 2));
  EXPECT_THAT(read(*run->results[0][1]), Each(2));
}

TEST_F(CudaProgramTest, BlocksOfAClusterReachEachOther) {
  if (!isHopper())
    GTEST_SKIP() << "clusters begin with sm_90";
  // Once alone and once in a command buffer.
  for (bool isGraph : {false, true}) {
    Program p = hopper("swap");
    Slice y = p.result({ElementType::i32, {64}}), z = p.result({ElementType::i32, {64}});
    p.launch("swap", 32, {y});
    GpuLaunch &launch = launchOf(p);
    launch.grid[0] = launch.cluster[0] = 2;
    launch.block[0] = 32;
    if (isGraph)
      p.step(CopyStep{y, z});
    auto run = execute(*load(p), {});
    ASSERT_TRUE(run.isOk());
    std::vector<int32_t> values = read<int32_t>(*run->results[0][isGraph ? 1 : 0]);
    for (int i = 0; i < 32; ++i) {
      EXPECT_EQ(values[size_t(i)], 100 + i);
      EXPECT_EQ(values[size_t(32 + i)], i);
    }
  }
}

/// Each run encodes the tensor map with the current address of the buffer.
TEST_F(CudaProgramTest, TensorMapsFollowTheirBuffer) {
  if (!isHopper())
    GTEST_SKIP() << "tensor maps begin with sm_90";
  for (bool isGraph : {false, true}) {
    Program p = hopper("box");
    const TensorType matrix{ElementType::i32, {6, 12}}, tile{ElementType::i32, {4, 8}};
    Slice x = p.parameter(matrix), y = p.result(tile), z = p.result(tile);
    p.launch("box", 32, {x, y});
    GpuLaunch &launch = launchOf(p);
    launch.tensorMaps = {TensorMap{.buffer = 0,
                                   .element = ElementType::i32,
                                   .dims = {12, 6},
                                   .byteStrides = {48},
                                   .box = {8, 4},
                                   .elementStrides = {1, 1}}};
    if (isGraph)
      p.step(CopyStep{y, z});
    auto program = load(p);
    std::vector<Execution> kept;
    std::vector<std::unique_ptr<Buffer>> inputs;
    for (int round = 0; round < 3; ++round) {
      std::vector<int32_t> host(72);
      std::iota(host.begin(), host.end(), 1000 * round);
      inputs.push_back(*Buffer::fromHost({host.data(), matrix, {}}, memory()));
      auto run = execute(*program, {inputs.back().get()});
      ASSERT_TRUE(run.isOk());
      kept.push_back(*std::move(run));
    }
    for (int round = 0; round < 3; ++round) {
      auto values = read<int32_t>(*kept[size_t(round)].results[0][isGraph ? 1 : 0]);
      for (int row = 0; row < 4; ++row)
        for (int column = 0; column < 8; ++column)
          EXPECT_EQ(values[size_t(8 * row + column)], 1000 * round + 12 * (row + 2) + column + 4)
              << round << " " << row << " " << column;
    }
  }
}

/// While a timeline is recorded, steps run one by one; before and after, they are a graph with the
/// addresses of its run.
TEST_F(CudaProgramTest, ATimelineHasASpanForEachStep) {
  constexpr int steps = 4;
  auto program = load(chain(steps));
  auto x = buffer(1);
  std::vector<Execution> kept; // so that each run has other addresses
  size_t spans = 0;
  for (bool isTraced : {false, true, false}) {
    if (isTraced)
      trace::start();
    kept.push_back(*execute(*program, {x.get()}));
    EXPECT_THAT(read(*kept.back().results[0][0]), Each(1 + steps));
    trace::stop();
    if (!isTraced)
      continue;
    for (const trace::ThreadEvents &thread : trace::eventsSince(0))
      for (const trace::Event &event : thread.events)
        if (event.category && std::string_view(event.category) == "kernel") {
          ++spans;
          EXPECT_GE(event.value, 0);
        }
  }
  EXPECT_EQ(spans, size_t(steps));
}

TEST_F(CudaProgramTest, OneStepIsLaunchedAsItIs) {
  auto program = load(unary());
  const CommandBuffer::Counts before = CommandBuffer::counts();
  auto x = buffer(1);
  EXPECT_THAT(read(*execute(*program, {x.get()})->results[0][0]), Each(2));
  const CommandBuffer::Counts after = CommandBuffer::counts();
  EXPECT_EQ(after.graphsBuilt, before.graphsBuilt);
  EXPECT_EQ(after.singleLaunches - before.singleLaunches, 1);
}

/// A result that aliases a parameter: a copy of the same memory to itself is skipped.
TEST_F(CudaProgramTest, ACopyToItselfIsLeftOut) {
  Program p("alias");
  Slice x = p.parameter(floats()), y = p.result(floats()), z = p.result(floats());
  p.step(CopyStep{x, y});
  p.launch("add_one", length, {y, z});
  p.launch("add_one", length, {z, y});
  p.donate(0, 0);
  auto program = load(p);
  for (int i = 0; i < 3; ++i) {
    auto input = buffer(static_cast<float>(i));
    auto run = execute(*program, {input.get()});
    ASSERT_TRUE(run.isOk());
    EXPECT_THAT(read(*run->results[0][0]), Each(static_cast<float>(i + 2)));
    EXPECT_THAT(read(*run->results[0][1]), Each(static_cast<float>(i + 1)));
  }
}

/// A run under a timeline discards the graph. The nodes of the next graph are enabled, whatever was
/// disabled in the old one, so the copy must be left out again.
TEST_F(CudaProgramTest, ACopyToItselfIsLeftOutOfTheGraphAfterATimeline) {
  Program p("alias");
  Slice x = p.parameter(floats()), y = p.result(floats()), z = p.result(floats());
  p.step(CopyStep{x, y});
  p.launch("add_one", length, {y, z});
  p.launch("add_one", length, {z, y});
  p.donate(0, 0);
  auto program = load(p);
  const CommandBuffer::Counts before = CommandBuffer::counts();
  const int64_t leftOutBefore = cuda::Command::copiesLeftOut;
  for (int i = 0; i < 4; ++i) {
    if (i == 1)
      trace::start();
    const auto value = static_cast<float>(i);
    auto input = buffer(value);
    auto run = execute(*program, {input.get()});
    ASSERT_TRUE(run.isOk());
    EXPECT_THAT(read(*run->results[0][0]), Each(value + 2));
    EXPECT_THAT(read(*run->results[0][1]), Each(value + 1));
    trace::stop();
  }
  EXPECT_EQ(CommandBuffer::counts().graphsBuilt - before.graphsBuilt, 2);
  EXPECT_EQ(cuda::Command::copiesLeftOut - leftOutBefore, 2);
}

/// If the driver cannot load the binary, it gets the PTX.
TEST_F(CudaProgramTest, TheBinaryIsTriedBeforePtx) {
  Program p = unary();
  std::string elf(64, '\0'); // a valid but empty file
  std::memcpy(elf.data(),
              "\x7f"
              "ELF\x02\x01\x01",
              7);
  p.executable.binary = cuda::bytesOf(elf);
  auto x = buffer(1);
  EXPECT_THAT(read(*execute(*load(p), {x.get()})->results[0][0]), Each(2));

  p.executable.binary = cuda::bytesOf(std::string(cuda::testPtx) + '\0'); // a valid binary
  p.executable.objects = {cuda::bytesOf("not PTX")};
  EXPECT_THAT(read(*execute(*load(p), {x.get()})->results[0][0]), Each(2));

  p.executable.binary = cuda::bytesOf("nonsense");
  Status status = refused(p);
  EXPECT_EQ(status.error(), Error::cudaCode);
  EXPECT_THAT(status.message(), HasSubstr("while loading 'jit_add_one' on cuda:0"));
  EXPECT_THAT(status.message(), HasSubstr("the binary (CUDA_ERROR_"));

  // Truncated: the driver, which does not get the length, must not read it.
  std::string cut = elf;
  cut[0x28] = 64; // section headers beyond the end
  cut[0x3A] = 64;
  cut[0x3C] = 1;
  for (const std::string &image : {elf.substr(0, 20), cut, std::string("\x50\xED\x55\xBA", 4)}) {
    p.executable.binary = cuda::bytesOf(image);
    EXPECT_THAT(refused(p).message(), HasSubstr("the binary, which is truncated"));
  }
}

TEST_F(CudaProgramTest, CodeThatIsNotWhatThePlanSaysIsRefused) {
  Program p = unary();
  p.executable.kernels[0].symbol = "absent";
  Status status = refused(p);
  EXPECT_EQ(status.error(), Error::kernelMissing);
  EXPECT_THAT(status.message(), HasSubstr("'absent'"));

  Program few = unary();
  few.executable.kernels[0].symbol = "add"; // which takes three
  status = refused(few);
  EXPECT_EQ(status.error(), Error::cudaCode);
  EXPECT_THAT(status.message(),
              HasSubstr("passes 2 buffers and 0 tensor maps; compile the program again"));
}

TEST_F(CudaProgramTest, LimitsOfTheDeviceAreHeldAgainstKernels) {
  Program p = unary();
  launchOf(p).sharedBytes = 1 << 20;
  Status status = refused(p);
  EXPECT_EQ(status.error(), Error::cudaLimit);
  EXPECT_THAT(status.message(), HasSubstr("kernel 'add_one' needs 1048576 bytes of shared memory"));
  EXPECT_THAT(status.message(), HasSubstr(isHopper() ? "at most 232448 on" : "at most 166912 on"));

  // Shared memory that the code itself declares counts, too.
  Program wide = unary("wide", 1);
  launchOf(wide).sharedBytes = (isHopper() ? 232448 : 166912) - 2048 + 1;
  EXPECT_EQ(refused(wide).error(), Error::cudaLimit);
  launchOf(wide).sharedBytes -= 1;
  auto x = buffer(1, 0, 1);
  EXPECT_THAT(read(*execute(*load(wide), {x.get()})->results[0][0]), Each(2));

  Program cluster = unary();
  launchOf(cluster).grid[0] = launchOf(cluster).cluster[0] = 16;
  launchOf(cluster).block[0] = 1;
  if (isHopper()) {
    auto y = buffer(1); // not portable, but this chip supports it
    EXPECT_THAT(read(*execute(*load(cluster), {y.get()})->results[0][0]), Each(2));
    launchOf(cluster).grid[0] = launchOf(cluster).cluster[0] = 32;
    status = refused(cluster);
    EXPECT_EQ(status.error(), Error::cudaLimit);
    EXPECT_THAT(status.message(), HasSubstr("clusters of 32 blocks, but at most"));
  } else {
    status = refused(cluster);
    EXPECT_EQ(status.error(), Error::cudaLimit);
    EXPECT_THAT(status.message(),
                HasSubstr("clusters of 16 blocks, but clusters are not supported on cuda:0"));
  }
}

TEST_F(CudaProgramTest, TheChipMustBeTheOneCompiledFor) {
  Program p = unary();
  p.executable.target.cpu = "sm_100";
  Status status = refused(p);
  EXPECT_EQ(status.error(), Error::cudaChip);
  EXPECT_THAT(status.message(), HasSubstr("was compiled for sm_100, but cuda:0"));
  p.executable.target.cpu = "sm_80a";
  if (isHopper())
    EXPECT_THAT(refused(p).message(), HasSubstr("runs only on its own chip"));
  p.executable.target = {"x86_64-unknown-linux-gnu", "x86-64-v3", {}};
  EXPECT_EQ(refused(p).error(), Error::cudaChip);
}

TEST_F(CudaProgramTest, StepsThatAGpuCannotRunAreNamedWithTheUsersLine) {
  Program p("host");
  Slice x = p.parameter(floats()), y = p.result(floats());
  p.executable.types = {floats()};
  p.executable.libraries = {{artifact::SortCall{}, {}}};
  p.step(artifact::LibraryStep{0, {{x, 0}}, {{y, 0}}}, 0, "sort.3");
  Status status = refused(p);
  EXPECT_EQ(status.error(), Error::cudaStep);
  EXPECT_THAT(status.message(), HasSubstr("the library kernel 'sort' at 'sort.3' (train.py:7)"));
}

TEST_F(CudaProgramTest, ConstantsCountAsMemory) {
  Program p("large");
  Slice y = p.result(floats());
  Slice c = p.constant(std::vector<float>(1 << 18, 3));
  p.launch("add_one", length, {c, y});
  const int64_t before = memory().statistics().bytesInUse;
  auto program = load(p);
  EXPECT_GE(memory().statistics().bytesInUse - before, 1 << 20);
  EXPECT_THAT(read(*execute(*program, {})->results[0][0]), Each(4));
  program.reset();
  client->drain();
  EXPECT_EQ(memory().statistics().bytesInUse, before);
}

} // namespace
} // namespace tilewright::runtime::conformance
