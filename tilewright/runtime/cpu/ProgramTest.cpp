// Every kind of step, on object code compiled from C.

#include "tilewright/runtime/cpu/Program.h"

#include "tilewright/runtime/cpu/testing/Program.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <complex>
#include <numeric>
#include <thread>

using namespace tilewright;
using namespace tilewright::runtime::cpu;
using testing::ElementsAre;
using testing::HasSubstr;

/// The kernels that tests need; work items are elements.
static const char *const kernels = R"(
  typedef long I; typedef float *F; typedef int *N;
  void add(void **b, I begin, I end, char *scratch) {
    for (I i = begin; i < end; ++i) ((F)b[2])[i] = ((F)b[0])[i] + ((F)b[1])[i]; }
  void count(void **b, I begin, I end, char *scratch) {
    for (I i = begin; i < end; ++i) __atomic_fetch_add(&((N)b[0])[i], 1, __ATOMIC_RELAXED); }
  void increment(void **b, I begin, I end, char *scratch) { ++*(N)b[0]; }
  void below(void **b, I begin, I end, char *scratch) { *(char *)b[2] = *(N)b[0] < *(N)b[1]; }
  void ten(void **b, I begin, I end, char *scratch) { *(N)b[0] += 10; }
  void zero(void **b, I begin, I end, char *scratch) { *(N)b[0] = 0; }
  void useScratch(void **b, I begin, I end, char *scratch) {
    for (int i = 0; i < 1000; ++i) scratch[i] = i;
    int sum = (unsigned long)scratch % 64;
    for (int i = 0; i < 1000; ++i) sum += scratch[i] == (char)i;
    for (I i = begin; i < end; ++i) ((N)b[0])[i] = sum; }
  void body(const void *const *args, void *const *results) {
    *(F)results[0] = *(const float *)args[0] * *(const float *)args[1]; }
)";

static void expectOk(const Status &status) { ASSERT_TRUE(status.isOk()) << status.toString(); }

TEST(Program, LaunchesKernels) {
  TestProgram p(kernels);
  Slice x = p.parameter<float>({1, 2, 3}), c = p.constant<float>({10, 20, 30}), t = p.temporary(12),
        pinned = p.temporary(12, 1), y = p.result<float>(3);
  const Index add = p.kernel("add", 3);
  p.step(LaunchStep{add, {x, c, t}});
  p.step(LaunchStep{add, {t, t, pinned}});
  p.step(LaunchStep{add, {pinned, x, y}});
  expectOk(p.run());
  EXPECT_THAT(p.values<float>(0), ElementsAre(23, 46, 69));
  expectOk(p.run());
  EXPECT_THAT(p.values<float>(0), ElementsAre(23, 46, 69));
}

TEST(Program, LaunchesKernelsOfSeveralObjects) {
  TestProgram p(kernels);
  p.executable.objects.push_back(compileForTest(R"(
    float expf(float);
    void exponential(void **b, long begin, long end, char *scratch) {
      for (long i = begin; i < end; ++i) ((float *)b[1])[i] = expf(((float *)b[0])[i]); }
  )"));
  Slice x = p.parameter<float>({0, 0, 0}), t = p.temporary(12), y = p.result<float>(3);
  p.step(LaunchStep{p.kernel("exponential", 3), {x, t}});
  p.step(LaunchStep{p.kernel("add", 3), {t, t, y}});
  expectOk(p.run());
  EXPECT_THAT(p.values<float>(0), ElementsAre(2, 2, 2));

  p.executable.objects.pop_back();
  EXPECT_THAT(p.load().takeStatus().message(), HasSubstr("does not define 'exponential'"));
}

TEST(Program, LargeGridsAreSplitAndEachItemIsDoneOnce) {
  for (int64_t cost : {0, 1, 100, 1000000}) {
    TestProgram p(kernels);
    p.executable.parameters.clear();
    Slice y = p.result<int32_t>(5000);
    p.results[0].assign(20000, std::byte(0));
    p.step(LaunchStep{p.kernel("count", 5000, cost), {y}});
    for (int run = 1; run <= 20; ++run) {
      expectOk(p.run());
      EXPECT_EQ(p.values<int32_t>(0), std::vector<int32_t>(5000, run));
    }
  }
}

TEST(Program, AnEmptyGridDoesNothing) {
  TestProgram p(kernels);
  Slice y = p.result<int32_t>(1);
  p.step(LaunchStep{p.kernel("increment", 0), {y}});
  expectOk(p.run());
  EXPECT_EQ(p.values<uint8_t>(0)[0], 0xAA);
}

TEST(Program, EveryCallHasScratchOfItsOwn) {
  TestProgram p(kernels);
  Slice y = p.result<int32_t>(300), z = p.result<int32_t>(1);
  p.step(LaunchStep{p.kernel("useScratch", 300, 10000, 1000), {y}});
  p.step(LaunchStep{p.kernel("useScratch", 1, 1, 1000), {z}});
  expectOk(p.run());
  EXPECT_EQ(p.values<int32_t>(0), std::vector<int32_t>(300, 1000));
  EXPECT_THAT(p.values<int32_t>(1), ElementsAre(1000));
}

TEST(Program, CopiesBytesLargeAndSmall) {
  TestProgram p;
  std::vector<int32_t> values(1 << 20);
  std::iota(values.begin(), values.end(), 0);
  Slice x = p.parameter(values), y = p.result<int32_t>(1 << 20), z = p.result<int32_t>(2);
  p.step(CopyStep{x, y});
  p.step(CopyStep{{x.allocation, 64, 8}, z});
  expectOk(p.run());
  EXPECT_EQ(p.values<int32_t>(0), values);
  EXPECT_THAT(p.values<int32_t>(1), ElementsAre(16, 17));
}

TEST(Program, DonatedParametersBecomeResults) {
  TestProgram p(kernels);
  Slice x = p.parameter<int32_t>({5}), y = p.result<int32_t>(1);
  p.executable.parameters[0].donation = Donation::may;
  p.executable.results[0].aliasOf = 0;
  p.step(CopyStep{x, y});
  p.step(LaunchStep{p.kernel("increment", 1), {y}});
  expectOk(p.run()); // not donated
  EXPECT_THAT(p.values<int32_t>(0), ElementsAre(6));
  std::byte *shared[] = {p.parameters[0].data()};
  expectOk(p.program->run(shared, shared, p.context));
  EXPECT_EQ(*reinterpret_cast<int32_t *>(shared[0]), 6);
}

/// while (n < limit) body(n)
static Index addLoop(TestProgram &p, Slice n, Slice limit, int64_t tripCount, Index block = 0) {
  Slice flag = p.temporary(1);
  const Index condition = p.block(), body = p.block();
  p.step(LaunchStep{p.kernel("below", 1), {n, limit, flag}}, condition);
  p.step(WhileStep{condition, body, flag, tripCount}, block);
  return body;
}

TEST(Program, LoopsUntilTheConditionIsFalse) {
  TestProgram p(kernels);
  Slice limit = p.parameter<int32_t>({1000}), n = p.result<int32_t>(1);
  p.step(LaunchStep{p.kernel("zero", 1), {n}});
  const Index body = addLoop(p, n, limit, -1);
  p.step(LaunchStep{p.kernel("increment", 1), {n}}, body);
  expectOk(p.run());
  EXPECT_THAT(p.values<int32_t>(0), ElementsAre(1000));
}

TEST(Program, ALoopMayBeTheFirstStepAndRunNoRound) {
  TestProgram p(kernels);
  Slice limit = p.parameter<int32_t>({0}), n = p.result<int32_t>(1);
  const Index body = addLoop(p, limit, limit, -1);
  p.step(LaunchStep{p.kernel("increment", 1), {n}}, body);
  expectOk(p.run());
  EXPECT_EQ(p.values<uint8_t>(0)[0], 0xAA);
}

TEST(Program, LoopsThatCountNest) {
  TestProgram p(kernels);
  Slice limit = p.parameter<int32_t>({0}), n = p.result<int32_t>(1);
  p.step(LaunchStep{p.kernel("zero", 1), {n}});
  const Index outer = addLoop(p, limit, limit, 7);
  const Index inner = addLoop(p, limit, limit, 6, outer);
  p.step(LaunchStep{p.kernel("increment", 1), {n}}, inner);
  const Index none = addLoop(p, limit, limit, 0, outer);
  p.step(LaunchStep{p.kernel("ten", 1), {n}}, none);
  p.step(LaunchStep{p.kernel("ten", 1), {n}}, outer);
  for (int run = 0; run < 2; ++run) {
    expectOk(p.run());
    EXPECT_THAT(p.values<int32_t>(0), ElementsAre(7 * (6 + 10)));
  }
}

TEST(Program, BranchesByIndexAndTakesTheLastWhenOutOfRange) {
  TestProgram p(kernels);
  Slice which = p.parameter<int32_t>({0}), n = p.result<int32_t>(1);
  p.step(LaunchStep{p.kernel("zero", 1), {n}});
  const Index nothing = p.block(), one = p.block(), ten = p.block();
  p.step(BranchStep{which, false, {nothing, one, ten}});
  p.step(LaunchStep{p.kernel("increment", 1), {n}}, one);
  p.step(LaunchStep{p.kernel("ten", 1), {n}}, ten);
  p.step(LaunchStep{p.kernel("increment", 1), {n}});
  for (auto [choice, expected] :
       {std::pair(0, 1), {1, 2}, {2, 11}, {3, 11}, {-1, 11}, {INT32_MIN, 11}}) {
    std::memcpy(p.parameters[0].data(), &choice, 4);
    expectOk(p.run());
    EXPECT_THAT(p.values<int32_t>(0), ElementsAre(expected)) << choice;
  }
}

TEST(Program, BranchesByPredicate) {
  TestProgram p(kernels);
  Slice flag = p.parameter<uint8_t>({1}), n = p.result<int32_t>(1);
  const Index yes = p.block(), no = p.block();
  p.step(LaunchStep{p.kernel("zero", 1), {n}});
  p.step(BranchStep{flag, true, {yes, no}});
  p.step(LaunchStep{p.kernel("increment", 1), {n}}, yes);
  p.step(LaunchStep{p.kernel("ten", 1), {n}}, no);
  expectOk(p.run());
  EXPECT_THAT(p.values<int32_t>(0), ElementsAre(1));
  p.parameters[0][0] = std::byte(0);
  expectOk(p.run());
  EXPECT_THAT(p.values<int32_t>(0), ElementsAre(10));
}

namespace {

/// Folds its operand with the body.
int preparations = 0;
struct FoldKernel : LibraryKernel {
  Body body;
  int64_t count;
  Status run(const LibraryRun &run) const override {
    const auto *values = reinterpret_cast<const float *>(run.operands[0]);
    auto *out = reinterpret_cast<float *>(run.results[0]);
    if (values[0] < 0)
      return Status(Code::invalidArgument, "cannot fold a negative number");
    *out = 1;
    for (int64_t i = 0; i < count; ++i) {
      const void *args[] = {out, values + i};
      void *results[] = {out};
      body(args, results);
    }
    return Status();
  }
};
Result<std::unique_ptr<LibraryKernel>> prepareForTest(const artifact::LibraryCall &call,
                                                      const LibrarySignature &types) {
  ++preparations;
  if (!std::holds_alternative<ReduceCall>(call) || types.bodies.size() != 1 ||
      types.operands.size() != 1)
    return Status(Code::notFound, "no kernel '" + std::string(nameOf(call)) + "'");
  auto kernel = std::make_unique<FoldKernel>();
  kernel->body = types.bodies[0];
  kernel->count = types.operands[0].dims[0];
  return Result<std::unique_ptr<LibraryKernel>>(std::move(kernel));
}

} // namespace

TEST(Program, RunsLibraryKernelsPreparedOnceForEachType) {
  preparations = 0;
  TestProgram p(kernels);
  p.options.prepareLibrary = prepareForTest;
  Slice x = p.parameter<float>({2, 3, 4}), y = p.result<float>(1), z = p.result<float>(1);
  p.executable.libraries = {{ReduceCall{.dimensions = {0}, .body = Combiner::function}, {"body"}}};
  const Operand in = p.operand<float>(x), out = p.operand<float>(y);
  p.step(LibraryStep{0, {in}, {out}});
  p.step(LibraryStep{0, {in}, {{z, out.type}}});
  expectOk(p.run());
  EXPECT_THAT(p.values<float>(0), ElementsAre(24));
  EXPECT_THAT(p.values<float>(1), ElementsAre(24));
  EXPECT_EQ(preparations, 1);

  const float negative = -1;
  std::memcpy(p.parameters[0].data(), &negative, 4);
  EXPECT_EQ(p.run().message(), "while running step.1 (train.py:7): cannot fold a negative number");

  p.executable.libraries[0].call = SortCall{};
  EXPECT_EQ(p.load().takeStatus().message(), "while loading step.1 (train.py:7): no kernel 'sort'");
}

TEST(Program, KnowsItsRank) {
  TestProgram p;
  Slice replica = p.result<uint32_t>(1), partition = p.result<uint32_t>(1);
  p.executable.libraries = {{RankIdCall{RankKind::replica}, {}},
                            {RankIdCall{RankKind::partition}, {}}};
  auto scalar = [&](const Slice &slice) {
    const Operand operand = p.operand<uint32_t>(slice);
    p.executable.types[operand.type].dims.clear();
    return operand;
  };
  p.step(LibraryStep{0, {}, {scalar(replica)}});
  p.step(LibraryStep{1, {}, {scalar(partition)}});
  p.context.replica = 3;
  p.context.partition = 5;
  expectOk(p.run());
  EXPECT_THAT(p.values<uint32_t>(0), ElementsAre(3));
  EXPECT_THAT(p.values<uint32_t>(1), ElementsAre(5));
}

namespace {

using runtime::CustomCall;
using runtime::CustomCallResolver;
using runtime::CustomCallRun;
using runtime::CustomCallSite;

struct DoubleCall : CustomCall {
  Status run(const CustomCallRun &run) const override {
    if (!run.userContext)
      return Status(Code::failedPrecondition, "no context");
    *reinterpret_cast<float *>(run.results[0]) =
        2 * *reinterpret_cast<const float *>(run.operands[0]);
    return Status();
  }
};
struct OneHandler : CustomCallResolver {
  Result<std::unique_ptr<CustomCall>> prepare(const CustomCallSite &site) override {
    std::unique_ptr<CustomCall> call;
    if (site.step->target == "double" && site.operands.size() == 1)
      call = std::make_unique<DoubleCall>();
    return Result<std::unique_ptr<CustomCall>>(std::move(call));
  }
};

} // namespace

TEST(Program, CallsHandlers) {
  TestProgram p;
  OneHandler handler;
  Slice x = p.parameter<float>({21}), y = p.result<float>(1);
  p.step(CustomCallStep{"double", 4, "", {}, {p.operand<float>(x)}, {p.operand<float>(y)}});
  Status status = p.load().takeStatus();
  EXPECT_EQ(status.error(), Error::customCallUnknown);
  EXPECT_THAT(status.message(), HasSubstr("custom call 'double' (API version 4) of step.1"));

  p.options.customCalls = &handler;
  EXPECT_EQ(p.run().message(), "while running step.1 (train.py:7): no context");
  p.context.userContext = &p;
  expectOk(p.run());
  EXPECT_THAT(p.values<float>(0), ElementsAre(42));
}

namespace {

/// Adds the contribution of the other rank, which is always 100, when the collective finishes.
struct TestCollectives : Collectives {
  std::vector<std::string> heard;
  const std::byte *in = nullptr;
  std::byte *out = nullptr;
  bool fails = false;
  Status start(const Collective &collective, std::span<const std::byte *const> operands,
               std::span<std::byte *const> results) override {
    heard.push_back("start " + std::string(nameOf(collective.step->kind)));
    in = operands[0], out = results[0];
    return Status();
  }
  Status finish(const Collective &collective) override {
    heard.push_back("finish " + std::to_string(collective.step->id));
    if (fails)
      return Status(Code::aborted, "the other rank left");
    *reinterpret_cast<float *>(out) = *reinterpret_cast<const float *>(in) + 100;
    return Status();
  }
  void abandon() override { heard.push_back("abandon"); }
};

} // namespace

TEST(Program, ResultsOfACollectiveHaveTheTypesOfItsOperands) {
  TestProgram p;
  Slice x = p.parameter<float>({7}), y = p.result<int8_t>(1);
  CollectiveStartStep reduce;
  reduce.reduction = ReductionKind::add;
  reduce.operands = {p.operand<float>(x)};
  p.step(reduce);
  p.step(CollectiveDoneStep{0});
  EXPECT_EQ(p.run().error(), Error::collectiveGroups);
  reduce.results = {p.operand<int8_t>(y)};
  p.executable.blocks[0].steps[0].action = reduce;
  EXPECT_EQ(p.run().error(), Error::collectiveGroups);
}

TEST(Program, BeginsAndEndsCollectives) {
  TestProgram p;
  Slice x = p.parameter<float>({7}), y = p.result<float>(1);
  p.step(CollectiveStartStep{CollectiveKind::allReduce,
                             9,
                             0,
                             {},
                             0,
                             0,
                             ReductionKind::add,
                             {},
                             {p.operand<float>(x)},
                             {p.operand<float>(y)}});
  p.step(CollectiveDoneStep{9});
  EXPECT_EQ(p.run().error(), Error::runCollectives);

  TestCollectives collectives;
  p.context.collectives = &collectives;
  expectOk(p.run());
  EXPECT_THAT(p.values<float>(0), ElementsAre(107));
  EXPECT_THAT(collectives.heard, ElementsAre("start all_reduce", "finish 9"));

  collectives.fails = true;
  EXPECT_EQ(p.run().code(), Code::aborted);
  EXPECT_EQ(collectives.heard.back(), "abandon");
}

TEST(Program, TellsTheTracerOfEachStep) {
  struct Listener : Tracer {
    std::vector<std::string> heard;
    void begin(const Step &step) override { heard.push_back("begin " + step.name); }
    void end(const Step &step) override { heard.push_back("end " + step.name); }
  } listener;
  TestProgram p(kernels);
  Slice x = p.parameter<int32_t>({1}), y = p.result<int32_t>(1);
  p.step(CopyStep{x, y}, 0, "copy.1");
  const Index body = addLoop(p, x, x, 2);
  p.executable.blocks[0].steps.back().name = "while.2";
  p.step(LaunchStep{p.kernel("increment", 1), {y}}, body, "fusion.3");
  p.context.tracer = &listener;
  expectOk(p.run());
  EXPECT_THAT(listener.heard,
              ElementsAre("begin copy.1", "end copy.1", "begin while.2", "begin fusion.3",
                          "end fusion.3", "begin fusion.3", "end fusion.3", "end while.2"));
}

TEST(Program, AnEndlessLoopCanBeCancelled) {
  TestProgram p(kernels);
  Slice limit = p.parameter<int32_t>({1}), n = p.result<int32_t>(1);
  p.step(LaunchStep{p.kernel("zero", 1), {n}});
  addLoop(p, n, limit, -1);
  std::atomic<bool> cancel = false;
  p.context.cancel = &cancel;
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    cancel = true;
  });
  EXPECT_EQ(p.run().error(), Error::runCancelled);
  canceller.join();
}

TEST(Program, SeveralThreadsRunOneProgram) {
  TestProgram p(kernels);
  p.parameter<float>({0, 0});
  Slice t = p.temporary(8), y = p.result<float>(2);
  const Index add = p.kernel("add", 2);
  p.step(LaunchStep{add, {{0, 0, 8}, {0, 0, 8}, t}});
  p.step(LaunchStep{add, {t, {0, 0, 8}, y}});
  expectOk(p.run());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      AlignedBytes in(8), out(8), arena(64);
      const float value[2] = {float(i), float(-i)};
      std::memcpy(in.data(), value, 8);
      for (int run = 0; run < 500; ++run) {
        RunContext context{.pool = p.pool, .arenas = {arena.data(), nullptr}};
        std::byte *parameters[] = {in.data()}, *results[] = {out.data()};
        EXPECT_TRUE(p.program->run(parameters, results, context).isOk());
        EXPECT_EQ(*reinterpret_cast<float *>(out.data()), 3 * float(i));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(Program, BuffersMustFit) {
  TestProgram p(kernels);
  Slice x = p.parameter<float>({1}), t = p.temporary(4), y = p.result<float>(1);
  p.step(LaunchStep{p.kernel("add", 1), {x, t, y}});
  expectOk(p.run());
  auto expectFailure = [&](std::vector<std::byte *> in, std::vector<std::byte *> out,
                           std::string_view words) {
    Status status = p.program->run(in, out, p.context);
    EXPECT_EQ(status.error(), Error::runBuffers);
    EXPECT_THAT(status.message(), HasSubstr(words));
  };
  std::byte *in = p.parameters[0].data(), *out = p.results[0].data();
  expectFailure({}, {out}, "has 1 parameters and 1 results, got 0 and 1");
  expectFailure({nullptr}, {out}, "parameter 0 of 'test' needs a buffer");
  expectFailure({in}, {out + 4}, "result 0 of 'test' needs a buffer aligned to 64");
  p.context.arenas[0] = nullptr;
  expectFailure({in}, {out}, "arena of space 0");
}

TEST(Program, LoadingNamesWhatIsMissing) {
  TestProgram p(kernels);
  Slice y = p.result<float>(1);
  p.step(LaunchStep{p.kernel("fusion_7", 1), {y}});
  Status status = p.load().takeStatus();
  EXPECT_EQ(status.error(), Error::kernelMissing);
  EXPECT_THAT(status.message(), HasSubstr("does not define 'fusion_7'"));

  p.executable.kernels[0].symbol = "increment";
  p.executable.target.triple = "aarch64-linux-gnu";
  EXPECT_EQ(p.load().takeStatus().error(), Error::machineFeature);
  p.executable.target.triple = "x86_64-unknown-linux-gnu";
  p.executable.kernels[0].grid = -1;
  EXPECT_EQ(p.load().takeStatus().error(), Error::executableStep);
}

TEST(Program, KernelsCallScalarOperations) {
  TestProgram p(R"(
    extern const char divide __asm__("tw_scalar_record.divide.c64.c64");
    void tw_scalar_calls(const void *, const void *, const void *, const void *, void *, long);
    void quotient(void **b, long begin, long end, char *scratch) {
      tw_scalar_calls(&divide, b[0], b[1], 0, b[2], end - begin); })");
  Slice a = p.parameter<float>({3, 4}), b = p.parameter<float>({0, 2}), y = p.result<float>(2);
  p.step(LaunchStep{p.kernel("quotient", 1), {a, b, y}});
  expectOk(p.run());
  EXPECT_THAT(p.values<float>(0), ElementsAre(2, -1.5f));
}

/// A counted loop of one launch is an instruction of its own, also in a loop that counts.
TEST(Program, ACountedLoopOfOneLaunchRunsAsOftenAsItCounts) {
  for (int64_t outer : {0, 1, 3})
    for (int64_t inner : {0, 1, 5}) {
      TestProgram p(kernels);
      Slice limit = p.parameter<int32_t>({0}), y = p.result<int32_t>(1);
      p.step(LaunchStep{p.kernel("zero", 1), {y}});
      const Index body = addLoop(p, y, limit, outer);
      for (int repeat = 0; repeat < 2; ++repeat) {
        const Index often = addLoop(p, y, limit, inner, body);
        p.step(LaunchStep{p.kernel("increment", 1), {y}}, often);
      }
      p.step(LaunchStep{p.kernel("increment", 1), {y}}, body);
      expectOk(p.run());
      EXPECT_THAT(p.values<int32_t>(0), ElementsAre(static_cast<int32_t>(outer * (2 * inner + 1))));
    }
}

TEST(Program, ACountedLoopOfOneLaunchCanBeCancelled) {
  TestProgram p(kernels);
  Slice limit = p.parameter<int32_t>({0}), n = p.result<int32_t>(1);
  const Index body = addLoop(p, n, limit, int64_t(1) << 60);
  p.step(LaunchStep{p.kernel("increment", 1), {n}}, body);
  std::atomic<bool> cancel = false;
  p.context.cancel = &cancel;
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    cancel = true;
  });
  EXPECT_EQ(p.run().error(), Error::runCancelled);
  canceller.join();
}
