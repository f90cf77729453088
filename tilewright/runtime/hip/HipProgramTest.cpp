// Programs on GPUs of AMD: LDS, command buffers, loops of the host, and programs that are rejected
// at load time. ../conformance tests what every device does.
#include "tilewright/runtime/cuda/CommandBuffer.h"
#include "tilewright/runtime/cuda/testing/GpuFixture.h"
#include "tilewright/runtime/hip/testing/HipKit.h"

#include <fstream>
#include <iterator>

namespace tilewright::runtime::conformance {
namespace {

using cuda::CommandBuffer;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class HipProgramTest : public GpuFixture {
protected:
  void SetUp() override { makeClient(); }
  static std::string otherChip() { return cuda::testChip() == "gfx950" ? "gfx942" : "gfx950"; }
};

TEST_F(HipProgramTest, DevicesSayWhatTheyAre) {
  EXPECT_EQ(client->platformName(), "rocm");
  EXPECT_THAT(client->platformVersion(), HasSubstr("tilewright rocm 7.1"));
  EXPECT_EQ(device().toString(), "rocm:0");
  std::map<std::string, std::string> texts;
  for (const DeviceAttribute &attribute : device().attributes())
    if (const auto *text = std::get_if<std::string>(&attribute.value))
      texts[attribute.name] = *text;
  EXPECT_EQ(texts["compute_capability"], cuda::testChip());
  EXPECT_THAT(texts["device_model"], HasSubstr(cuda::testChip() == "gfx950" ? "MI355X" : "MI300X"));
  EXPECT_GT(memory().statistics().bytesLimit, 0);
  EXPECT_FALSE(memory().isHostMemory());
  EXPECT_TRUE(pinned().isHostMemory());
}

TEST_F(HipProgramTest, TheClientNamesTheChipToCompileFor) {
  EXPECT_EQ(cuda::targetFor("rocm", *client), cuda::testChip());
  EXPECT_EQ(cuda::targetFor("vgpu:gfx942", *client), "vgpu:gfx942");
}

TEST_F(HipProgramTest, LdsThatALaunchAsksForIsThere) {
  constexpr int64_t n = summed;
  Program p = sum();
  auto input = ascending();
  // All of it, also in a command buffer. HIP's programs need not ask for it first.
  launchOf(p).sharedBytes = cuda::testChip() == "gfx950" ? 160 << 10 : 64 << 10;
  for (bool isGraph : {false, true}) {
    if (isGraph) {
      Slice z = p.result(floats());
      p.launch("add_one", length, {p.constant(std::vector<float>(length, 1)), z});
    }
    auto run = execute(*load(p), {input.get()});
    ASSERT_TRUE(run.isOk());
    EXPECT_THAT(read(*run->results[0][0]), ElementsAre(n * (n - 1) / 2));
    if (isGraph)
      EXPECT_THAT(read(*run->results[0][1]), Each(2));
  }
  EXPECT_THAT(read(*execute(*load(unary("wide")), {buffer(1).get()})->results[0][0]), Each(2));
}

/// The dispatch packet counts work-items with 32 bits, so that 2^32 of them would be none.
TEST_F(HipProgramTest, ALaunchHasAtMost32BitsOfWorkItems) {
  for (uint32_t groups : {uint32_t(1) << 22, uint32_t(1) << 23}) {
    Program p = unary();
    launchOf(p).grid[0] = groups;
    launchOf(p).block[0] = 1024;
    auto x = buffer(1);
    auto run = execute(*load(p), {x.get()});
    const Status status = run.isOk() ? run->done[0].await() : std::move(run).takeStatus();
    EXPECT_EQ(status.error(), Error::cudaCall);
    EXPECT_THAT(status.message(), HasSubstr("hipErrorInvalidConfiguration"));
  }
}

/// A result that takes over the memory of a donated parameter: its copy in the graph is a no-op.
TEST_F(HipProgramTest, ACopyToItselfIsSwitchedOffInTheGraph) {
  Program p("donating");
  Slice x = p.parameter(floats()), y = p.result(floats()), z = p.result(floats());
  p.step(CopyStep{x, y});
  p.launch("add_one", length, {y, y});
  p.launch("add_one", length, {y, z});
  p.donate(0, 0);
  auto program = load(p);
  for (bool isDonated : {true, false, true}) {
    auto input = buffer(5);
    ExecuteOptions options;
    std::vector<int64_t> kept = {0};
    if (!isDonated)
      options.nonDonatable = kept;
    Buffer *const arguments[] = {input.get()};
    const std::span<Buffer *const> forDevice[] = {arguments};
    auto run = program->execute(forDevice, options);
    ASSERT_TRUE(run.isOk());
    EXPECT_THAT(read(*run->results[0][0]), Each(6));
    EXPECT_THAT(read(*run->results[0][1]), Each(7));
  }
}

/// HIP has no conditional nodes, so the host reads the predicate of a loop.
TEST_F(HipProgramTest, TheHostDecidesLoopsAndBranches) {
  Program p("count");
  Slice first = p.parameter(integer()), last = p.parameter(integer()), x = p.parameter(floats());
  Slice y = p.result(floats()), i = p.result(integer()), flag = p.temporary(1);
  p.step(CopyStep{first, i});
  p.step(CopyStep{x, y});
  const Index condition = p.block(), body = p.block(), often = p.block(), twice = p.block(),
              nothing = p.block();
  p.step(WhileStep{condition, body, flag, -1});
  p.launch("less", 1, {i, last, flag}, condition);
  p.launch("increment", 1, {i, i}, body);
  p.launch("add_one", length, {y, y}, body);
  p.step(WhileStep{condition, often, flag, 3}); // a counted loop
  p.launch("add_one", length, {y, y}, often);
  p.step(BranchStep{first, false, {twice, nothing}});
  p.launch("add_one", length, {y, y}, twice);
  p.launch("add_one", length, {y, y}, twice);
  auto program = load(p);
  const int64_t before = CommandBuffer::predicatesRead;
  for (int32_t begin : {0, 4, 9}) {
    auto from = integer(begin), to = integer(6);
    auto input = buffer(100);
    auto run = execute(*program, {from.get(), to.get(), input.get()});
    ASSERT_TRUE(run.isOk());
    const int32_t rounds = std::max(0, 6 - begin);
    EXPECT_THAT(read(*run->results[0][0]),
                Each(static_cast<float>(103 + rounds + (begin == 0 ? 2 : 0))));
    EXPECT_THAT(read<int32_t>(*run->results[0][1]), ElementsAre(begin + rounds));
  }
  EXPECT_EQ(CommandBuffer::predicatesRead - before, 7 + 3 + 1 + 3); // the branches read 3
}

TEST_F(HipProgramTest, KernelsThatNeedMoreThanTheChipHasAreRejected) {
  Program p = unary();
  launchOf(p).block[0] = 1024;
  launchOf(p).block[1] = 2;
  EXPECT_EQ(refused(p).error(), Error::cudaLimit);

  p = unary("wide");
  launchOf(p).sharedBytes = 160 << 10;
  Status status = refused(p);
  EXPECT_EQ(status.error(), Error::cudaLimit);
  EXPECT_THAT(status.message(), HasSubstr("needs 165888 bytes of shared memory"));

  p = unary();
  launchOf(p).grid[0] = launchOf(p).cluster[0] = 2;
  status = refused(p);
  EXPECT_EQ(status.error(), Error::cudaLimit);
  EXPECT_THAT(status.message(), HasSubstr("clusters are not supported"));

  p = unary();
  launchOf(p).tensorMaps.resize(1);
  EXPECT_THAT(refused(p).message(), HasSubstr("1 tensor maps, which are not supported"));
}

TEST_F(HipProgramTest, CodeForAnotherChipIsRejected) {
  Program p = unary();
  p.executable.target.cpu = otherChip();
  p.executable.objects = {hip::testObject(otherChip())};
  Status status = refused(p);
  EXPECT_EQ(status.error(), Error::cudaChip);
  EXPECT_THAT(status.message(), HasSubstr("was compiled for " + otherChip() + ", but rocm:0"));
  EXPECT_THAT(status.message(), HasSubstr("is " + cuda::testChip()));

  // The driver looks at the object itself.
  p.executable.target.cpu = cuda::testChip();
  status = refused(p);
  EXPECT_EQ(status.error(), Error::cudaCode);
  EXPECT_THAT(status.message(), HasSubstr("rejects the code object (hipError"));

  p.executable.target = {std::string(artifact::gpuTriple), "sm_90a", {}};
  status = refused(p);
  EXPECT_EQ(status.error(), Error::cudaChip);
  EXPECT_THAT(status.message(), HasSubstr("nvptx64-nvidia-cuda sm_90a, but rocm:0 is a GPU, gfx9"));
}

TEST_F(HipProgramTest, CodeThatDoesNotMatchThePlanIsRejected) {
  Program p = unary();
  p.executable.kernels[0].symbol = "no_such_kernel";
  EXPECT_EQ(refused(p).error(), Error::kernelMissing);

  // HIP would read as many parameters as the code declares.
  p = Program("short");
  Slice x = p.parameter(floats()), y = p.result(floats());
  p.launch("add", length, {x, y});
  Status status = refused(p);
  EXPECT_EQ(status.error(), Error::cudaCode);
  EXPECT_THAT(status.message(), HasSubstr("kernel 'add' declares 3 parameters, but step 'add' "
                                          "passes 2 buffers"));
}

TEST_F(HipProgramTest, DamagedCodeObjectsAreRejected) {
  const std::vector<std::byte> whole = kit().code();
  Program p = unary();
  p.executable.objects = {cuda::bytesOf(cuda::testPtx)};
  Status status = refused(p);
  EXPECT_EQ(status.error(), Error::cudaCode);
  EXPECT_THAT(status.message(), HasSubstr("is not an ELF file"));
  for (size_t size : {size_t(1), size_t(5), size_t(63), size_t(64), size_t(200), whole.size() / 2,
                      whole.size() - 1}) {
    p.executable.objects = {{whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)}};
    EXPECT_EQ(refused(p).error(), Error::cudaCode) << size;
  }
  // An ELF file for another machine; this program itself would be 200 MB under AddressSanitizer.
  std::ifstream shell("/bin/sh", std::ios::binary);
  p.executable.objects = {cuda::bytesOf(std::string(std::istreambuf_iterator(shell), {}))};
  ASSERT_GT(p.executable.objects[0].size(), 64u);
  EXPECT_EQ(refused(p).error(), Error::cudaCode);
  // The client still works.
  EXPECT_THAT(read(*execute(*load(unary()), {buffer(1).get()})->results[0][0]), Each(2));
}

TEST_F(HipProgramTest, AProgramOfNothingRuns) {
  Program p("nothing");
  p.executable.objects.clear();
  Slice x = p.parameter(floats(0)), y = p.result(floats(0));
  p.step(CopyStep{x, y});
  auto input = buffer(0, 0, 0);
  auto run = execute(*load(p), {input.get()});
  ASSERT_TRUE(run.isOk());
  EXPECT_TRUE(run->done[0].await().isOk());
  EXPECT_TRUE(read(*run->results[0][0]).empty());
}

} // namespace
} // namespace tilewright::runtime::conformance
