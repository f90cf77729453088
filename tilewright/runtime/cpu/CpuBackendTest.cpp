// Included first, because it names artifact::Storage, which the runtime's headers hide.
#include "tilewright/runtime/cpu/testing/Program.h"

#include "tilewright/artifact/Writer.h"
#include "tilewright/runtime/candidates/Candidates.h"
#include "tilewright/runtime/cpu/CpuBackend.h"
#include "tilewright/support/Trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <ctime>

namespace tilewright::runtime::cpu {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char *addOneSource = R"(
void add_one(void **b, long begin, long end, char *scratch) {
  for (long i = begin; i < end; ++i) ((float *)b[1])[i] = ((float *)b[0])[i] + 1;
})";

/// y = x + 1 for four floats, through a temporary.
Executable addOne(bool isDonated = false) {
  TestProgram p(addOneSource);
  p.executable.name = "jit_add_one";
  Slice x = p.parameter<float>({1, 2, 3, 4}), y = p.result<float>(4), t = p.temporary(16);
  p.step(CopyStep{x, t});
  p.step(LaunchStep{p.kernel("add_one", 4), {t, y}}, 0, "fusion.1 add");
  if (isDonated) {
    p.executable.parameters[0].donation = Donation::must;
    p.executable.results[0].aliasOf = 0;
  }
  return p.executable;
}

std::unique_ptr<Client> makeClient(int64_t devices = 1) {
  ClientOptions options;
  options.runtime.devices = devices;
  options.runtime.threads = 2;
  options.runtime.collectiveTimeout = 20;
  auto client = createClient(options);
  EXPECT_TRUE(client.isOk());
  return *std::move(client);
}

std::unique_ptr<Buffer> floats(Client &client, std::vector<float> values, size_t device = 0) {
  TensorType type{ElementType::f32, {static_cast<int64_t>(values.size())}};
  auto made =
      Buffer::fromHost({values.data(), type, {}}, client.devices()[device]->defaultMemory());
  EXPECT_TRUE(made.isOk());
  return *std::move(made);
}

std::vector<float> read(const Buffer &buffer) {
  std::vector<float> values(buffer.byteCount() / sizeof(float));
  Status status = buffer.toHost(values.data(), buffer.byteCount())->await();
  EXPECT_TRUE(status.isOk()) << status.toString();
  return values;
}

TEST(CpuBackend, TheClientHasTheDevicesAsked) {
  auto client = makeClient(4);
  EXPECT_EQ(client->devices().size(), 4U);
  EXPECT_EQ(client->threadPool().threadCount(), 2U);
  EXPECT_EQ(client->devices()[0]->kind(), "cpu");
  EXPECT_GT(client->memories()[0]->statistics().bytesLimit, 0);
}

TEST(CpuBackend, TuneMakesProductsMeasure) {
  const Candidates::Settings before = Candidates::ofProcess().settings();
  createBackend(RuntimeOptions(), nullptr);
  EXPECT_FALSE(Candidates::ofProcess().settings().measure);
  RuntimeOptions options;
  options.tune = true;
  createBackend(options, nullptr);
  EXPECT_TRUE(Candidates::ofProcess().settings().measure);
  Candidates::ofProcess().set(before);
}

TEST(CpuBackend, RunsWhatTheCompilerWrote) {
  auto client = makeClient();
  std::vector<std::byte> bytes = artifact::writeExecutable(addOne());
  auto loaded = client->load(bytes, *client->defaultAssignment(1, 1));
  ASSERT_TRUE(loaded.isOk()) << std::move(loaded).takeStatus().toString();
  EXPECT_GT((*loaded)->codeBytes(), 0);
  auto x = floats(*client, {1, 2, 3, 4});
  Buffer *arguments[] = {x.get()};
  std::span<Buffer *const> list(arguments);
  auto run = (*loaded)->execute(std::span(&list, 1));
  ASSERT_TRUE(run.isOk());
  EXPECT_THAT(read(*run->results[0][0]), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(read(*x), ElementsAre(1, 2, 3, 4));
}

TEST(CpuBackend, StepsAndMemoryAreOnTheTimeline) {
  auto client = makeClient();
  auto loaded = client->load(std::make_shared<const Executable>(addOne(true)),
                             *client->defaultAssignment(1, 1));
  auto x = floats(*client, {1, 2, 3, 4});
  Buffer *arguments[] = {x.get()};
  std::span<Buffer *const> list(arguments);
  trace::start();
  auto run = (*loaded)->execute(std::span(&list, 1));
  EXPECT_THAT(read(*run->results[0][0]), ElementsAre(2, 3, 4, 5));
  trace::stop();
  EXPECT_TRUE(x->isDeleted());
  std::string json = trace::toJson();
  EXPECT_THAT(json, HasSubstr("\"jit_add_one\""));
  EXPECT_THAT(json, HasSubstr("\"fusion.1 add\""));
  EXPECT_THAT(json, HasSubstr("\"bytes in use\""));
}

/// Sums the values of all devices through collective steps of the plan.
TEST(CpuBackend, CollectivesOfThePlanMeet) {
  TestProgram p;
  Slice x = p.parameter<float>({0, 0, 0, 0}), y = p.result<float>(4), z = p.result<float>(16);
  p.executable.partitions = 4;
  CollectiveStartStep reduce{CollectiveKind::allReduce,
                             1,
                             0,
                             {{0, 1, 2, 3}},
                             0,
                             0,
                             ReductionKind::add,
                             {},
                             {p.operand<float>(x)},
                             {p.operand<float>(y)}};
  CollectiveStartStep gather{CollectiveKind::allGather,
                             2,
                             1,
                             {{3, 2, 1, 0}},
                             0,
                             0,
                             ReductionKind::none,
                             {},
                             {p.operand<float>(x)},
                             {p.operand<float>(z)}};
  p.step(reduce);
  p.step(gather);
  p.step(CollectiveDoneStep{2});
  p.step(CollectiveDoneStep{1});

  auto client = makeClient(4);
  auto loaded = client->load(std::make_shared<const Executable>(p.executable),
                             *client->defaultAssignment(1, 4));
  ASSERT_TRUE(loaded.isOk()) << std::move(loaded).takeStatus().toString();
  std::vector<std::unique_ptr<Buffer>> inputs;
  std::vector<Buffer *> pointers;
  for (size_t i = 0; i < 4; ++i)
    pointers.push_back(
        inputs.emplace_back(floats(*client, std::vector<float>(4, float(1 << i)), i)).get());
  std::vector<std::span<Buffer *const>> lists;
  for (size_t i = 0; i < 4; ++i)
    lists.push_back(std::span(pointers).subspan(i, 1));
  for (int round = 0; round < 20; ++round) {
    auto run = (*loaded)->execute(lists);
    ASSERT_TRUE(run.isOk());
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_THAT(read(*run->results[i][0]), Each(15));
      std::vector<float> gathered = read(*run->results[i][1]);
      EXPECT_EQ(gathered[0], 8);
      EXPECT_EQ(gathered[15], 1);
    }
  }
}

TEST(CpuBackend, AFailedStepNamesTheUsersLine) {
  auto client = makeClient();
  TestProgram p;
  Slice x = p.parameter<float>({1}), y = p.result<float>(1);
  CollectiveStartStep reduce{CollectiveKind::allReduce,
                             1,
                             0,
                             {{0}},
                             0,
                             0,
                             ReductionKind::bitAnd,
                             {},
                             {p.operand<float>(x)},
                             {p.operand<float>(y)}};
  p.step(reduce);
  p.step(CollectiveDoneStep{1});
  auto loaded = client->load(std::make_shared<const Executable>(p.executable),
                             *client->defaultAssignment(1, 1));
  ASSERT_TRUE(loaded.isOk()) << std::move(loaded).takeStatus().toString();
  auto input = floats(*client, {1});
  Buffer *arguments[] = {input.get()};
  std::span<Buffer *const> list(arguments);
  auto run = (*loaded)->execute(std::span(&list, 1));
  Status status = run->done[0].await();
  EXPECT_EQ(status.error(), Error::collectiveGroups);
  EXPECT_THAT(status.message(), HasSubstr("train.py:7"));
}

/// The overhead of a launch. Printed only, because machines are busy: a bound that never fails
/// spuriously would be too loose to say anything.
TEST(CpuBackend, CostOfALaunch) {
  constexpr int runs = 5000;
  auto x = std::vector<float>{1, 2, 3, 4};
  auto measure = [&](const char *what, int64_t inlineNanoseconds, bool isWaiting) {
    ClientOptions options;
    options.runtime.threads = 2;
    options.runtime.inlineNanoseconds = inlineNanoseconds;
    auto client = *createClient(options);
    auto loaded = *client->load(std::make_shared<const Executable>(addOne()),
                                *client->defaultAssignment(1, 1));
    auto argument = floats(*client, x);
    Buffer *arguments[] = {argument.get()};
    std::span<Buffer *const> list(arguments);
    double best = 1e9, bestCpu = 1e9;
    for (int round = 0; round < 5; ++round) {
      const auto begin = std::chrono::steady_clock::now();
      const std::clock_t cpuBegin = std::clock();
      for (int i = 0; i < runs; ++i) {
        auto run = loaded->execute(std::span(&list, 1));
        ASSERT_TRUE(run.isOk());
        if (isWaiting)
          ASSERT_TRUE(run->done[0].await().isOk());
      }
      client->drain();
      const auto took = std::chrono::steady_clock::now() - begin;
      best = std::min(best, std::chrono::duration<double, std::nano>(took).count() / runs);
      bestCpu = std::min(bestCpu, double(std::clock() - cpuBegin) / CLOCKS_PER_SEC * 1e9 / runs);
    }
    std::printf("%s: %.0f ns, of which computing %.0f ns\n", what, best, bestCpu);
  };
  measure("a launch on the calling thread", 1'000'000'000, true);
  measure("a launch on the device's thread, many in flight", 0, false);
  measure("a launch on the device's thread, waited for", 0, true);
}

} // namespace
} // namespace tilewright::runtime::cpu
