// Programs with collectives on several virtual GPUs: order on streams, control flow, failures. The
// engine is a test double; collective/nccl has the tests of the real one.
#include "tilewright/runtime/DeviceCollectives.h"
#include "tilewright/runtime/conformance/Kit.h"
#include "tilewright/runtime/cuda/testing/HostEngine.h"
#include "tilewright/runtime/cuda/testing/Kernels.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"

#include <map>

namespace tilewright::runtime::conformance {
namespace {

using artifact::CollectiveDoneStep;
using artifact::CollectiveStartStep;
using artifact::LibraryStep;
using numerics::CollectiveKind;
using numerics::ReductionKind;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr int64_t ranks = 4;

class CudaCollectiveTest : public Fixture {
protected:
  void SetUp() override {
    RuntimeOptions options;
    options.threads = 2;
    options.collectiveTimeout = 1;
    cuda::CudaParts parts;
    parts.connect =
        [](const collective::Membership &, tilewright::KeyValueStore &,
           collective::DeviceAccess &) -> Result<std::unique_ptr<collective::DeviceEngine>> {
      return std::unique_ptr<collective::DeviceEngine>(std::make_unique<cuda::HostEngine>());
    };
    auto made = cuda::testClient(options, {}, std::move(parts));
    ASSERT_TRUE(made.isOk()) << std::move(made).takeStatus().toString();
    client = *std::move(made);
    if (client->devices().size() < ranks)
      GTEST_SKIP() << "needs " << ranks << " devices";
  }

  static Program forRanks(const std::string &name) {
    Program p(name);
    p.executable.replicas = 1;
    p.executable.partitions = ranks;
    p.executable.types = {floats(), {ElementType::ui32, {}}};
    return p;
  }
  static CollectiveStartStep sum(uint32_t id, Slice from, Slice to,
                                 std::vector<std::vector<int64_t>> groups = {{0, 1, 2, 3}}) {
    CollectiveStartStep start;
    start.kind = CollectiveKind::allReduce;
    start.id = start.order = id;
    start.groups = std::move(groups);
    start.reduction = ReductionKind::add;
    start.operands = {{from, 0}};
    start.results = {{to, 0}};
    return start;
  }
  static void addSum(Program &p, uint32_t id, Slice from, Slice to, Index block = 0) {
    p.step(sum(id, from, to), block, "all_reduce");
    p.step(CollectiveDoneStep{id}, block, "done");
  }
  /// Writes the rank as an integer.
  static void addRank(Program &p, Slice to, Index block = 0) {
    p.executable.libraries.push_back({artifact::RankIdCall{numerics::RankKind::partition}, {}});
    p.step(LibraryStep{static_cast<Index>(p.executable.libraries.size() - 1), {}, {{to, 1}}}, block,
           "rank");
  }

  Result<Execution> runOn(LoadedExecutable &program, const std::vector<float> &values) {
    Arguments arguments = onEachDevice(values);
    return program.execute(arguments.lists);
  }
  /// The first element of the result of each rank.
  std::vector<float> resultsOf(LoadedExecutable &program, const std::vector<float> &values) {
    auto run = runOn(program, values);
    EXPECT_TRUE(run.isOk()) << std::move(run).takeStatus().toString();
    std::vector<float> results;
    for (size_t i = 0; run.isOk() && i < run->results.size(); ++i) {
      const std::vector<float> all = read(*run->results[i][0]);
      EXPECT_THAT(all, Each(all[0]));
      results.push_back(all[0]);
    }
    return results;
  }
  static std::vector<Status> endsOf(const Execution &run) {
    std::vector<Status> ends;
    for (const Event &done : run.done)
      ends.push_back(done.await());
    return ends;
  }
};

/// y = sum over ranks of (x + 1), + 1; with steps before, after and meanwhile.
TEST_F(CudaCollectiveTest, RunsBetweenTheStepsOfThePlan) {
  Program p = forRanks("sums");
  Slice x = p.parameter(floats()), y = p.result(floats());
  Slice a = p.temporary(4 * length), b = p.temporary(4 * length), c = p.temporary(4 * length);
  p.launch("slow", length, {x, a});
  p.step(sum(0, a, b));
  p.launch("add_one", length, {x, c}); // meanwhile
  p.launch("slow", length, {c, c});
  p.step(CollectiveDoneStep{0});
  p.launch("add", length, {b, c, y});
  auto program = load(p);
  const std::vector<float> wanted = {14 + 3, 14 + 4, 14 + 5, 14 + 6};
  for (int round = 0; round < 3; ++round)
    EXPECT_EQ(resultsOf(*program, {1, 2, 3, 4}), wanted);
  // With a timeline, commands are submitted one by one instead of as graphs.
  trace::start();
  EXPECT_EQ(resultsOf(*program, {1, 2, 3, 4}), wanted);
  client->drain();
  trace::stop();
  EXPECT_THAT(trace::toJson(), AllOf(HasSubstr("all_reduce.0"), HasSubstr("collectives 3")));
}

/// Collectives that end before the host has queued the next step are in the row of their lane too,
/// in the order of the plan.
TEST_F(CudaCollectiveTest, ATimelineHasTheCollectivesOfALaneInOneRow) {
  constexpr uint32_t sums = 24;
  Program p = forRanks("many");
  Slice x = p.parameter(floats()), y = p.result(floats());
  std::vector<std::string> wanted;
  for (uint32_t id = 0; id < sums; ++id) {
    addSum(p, id, x, y);
    wanted.push_back(concat("all_reduce.", id));
  }
  auto program = load(p);
  for (int round = 0; round < 10; ++round) {
    trace::start();
    EXPECT_EQ(resultsOf(*program, {1, 2, 3, 4}), std::vector<float>(ranks, 10));
    client->drain();
    trace::stop();
    std::map<std::string, std::vector<std::string>> rows;
    for (const trace::ThreadEvents &thread : trace::eventsSince(0))
      for (const trace::Event &event : thread.events)
        if (event.category && std::string_view(event.category) == "collective")
          rows[thread.name].push_back(event.name);
    for (int64_t rank = 0; rank < ranks; ++rank)
      EXPECT_EQ(rows[concat("collectives ", rank)], wanted) << "round " << round;
  }
}

TEST_F(CudaCollectiveTest, PermutedDevicesAndSubgroups) {
  Program p = forRanks("pairs");
  Slice x = p.parameter(floats()), y = p.result(floats());
  p.step(sum(0, x, y, {{0, 3}, {1, 2}}));
  p.step(CollectiveDoneStep{0});
  EXPECT_EQ(resultsOf(*load(p), {1, 2, 4, 8}), (std::vector<float>{9, 6, 6, 9}));
}

TEST_F(CudaCollectiveTest, CountedLoopsRepeatThem) {
  Program p = forRanks("loop");
  Slice x = p.parameter(floats()), y = p.result(floats()), t = p.temporary(4 * length);
  Index body = p.block();
  p.step(CopyStep{x, y});
  addSum(p, 0, y, t, body);
  p.launch("add_one", length, {t, y}, body);
  WhileStep loop;
  loop.body = body;
  loop.tripCount = 3;
  p.step(loop);
  // 4 ranks: v -> 4 v + 1 after the first round, in which the ranks differ.
  EXPECT_EQ(resultsOf(*load(p), {1, 2, 3, 4}), (std::vector<float>(4, 4 * (4 * 11 + 1) + 1)));
}

TEST_F(CudaCollectiveTest, LoopsWithAConditionRepeatThem) {
  Program p = forRanks("while");
  Slice x = p.parameter(floats()), y = p.result(floats()), t = p.temporary(4 * length);
  Slice i = p.temporary(4), isLess = p.temporary(1);
  Slice zero = p.constant(std::vector<int32_t>{0}), limit = p.constant(std::vector<int32_t>{3});
  Index condition = p.block(), body = p.block();
  p.step(CopyStep{x, y});
  p.step(CopyStep{zero, i});
  p.launch("less", 1, {i, limit, isLess}, condition);
  addSum(p, 0, y, t, body);
  p.launch("add_one", length, {t, y}, body);
  p.launch("increment", 1, {i, i}, body);
  WhileStep loop;
  loop.condition = condition;
  loop.body = body;
  loop.predicate = isLess;
  p.step(loop);
  EXPECT_EQ(resultsOf(*load(p), {1, 2, 3, 4}), (std::vector<float>(4, 4 * (4 * 11 + 1) + 1)));
}

TEST_F(CudaCollectiveTest, ProgramsReadTheirRank) {
  Program p = forRanks("rank");
  p.parameter(floats());
  Slice y = p.result({ElementType::ui32, {}});
  addRank(p, y);
  auto run = runOn(*load(p), {0, 0, 0, 0});
  ASSERT_TRUE(run.isOk());
  for (uint32_t rank = 0; rank < ranks; ++rank)
    EXPECT_EQ(read<uint32_t>(*run->results[rank][0]), std::vector<uint32_t>{rank});
}

TEST_F(CudaCollectiveTest, ARankAloneInItsGroupCopies) {
  Program p = forRanks("alone");
  Slice x = p.parameter(floats()), y = p.result(floats());
  p.step(sum(0, x, y, {{0}, {1}, {2}, {3}}));
  p.step(CollectiveDoneStep{0});
  const int before = cuda::HostEngine::prepared;
  EXPECT_EQ(resultsOf(*load(p), {1, 2, 3, 4}), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(cuda::HostEngine::prepared, before);
}

/// Only rank 0 joins: it takes another branch than the others, which the compiler would refuse.
TEST_F(CudaCollectiveTest, ARankThatNeverJoinsIsADeadline) {
  Program p = forRanks("stuck");
  Slice x = p.parameter(floats()), y = p.result(floats()), rank = p.temporary(4);
  Index joins = p.block(), leaves = p.block();
  addRank(p, rank);
  addSum(p, 0, x, y, joins);
  p.launch("add_one", length, {x, y}, leaves);
  BranchStep branch;
  branch.selector = rank;
  branch.blocks = {joins, leaves};
  p.step(branch);
  auto program = load(p);
  const auto before = std::chrono::steady_clock::now();
  auto run = runOn(*program, {1, 2, 3, 4});
  ASSERT_TRUE(run.isOk()) << std::move(run).takeStatus().toString();
  const std::vector<Status> ends = endsOf(*run);
  const Status &end = ends[0];
  EXPECT_EQ(end.error(), Error::collectiveStuck);
  EXPECT_THAT(std::string(end.message()), HasSubstr(concat("rank 0 (", device(0).toString(),
                                                           ") in 'all_reduce.0' at train.py:7")));
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(10));

  // Programs that are loaded later work, also if nothing is left of the one that failed.
  run->results.clear();
  program.reset();
  client->drain();
  Program good = forRanks("good");
  Slice a = good.parameter(floats()), b = good.result(floats());
  addSum(good, 0, a, b);
  EXPECT_EQ(resultsOf(*load(good), {1, 2, 3, 4}), std::vector<float>(4, 10));
}

/// The recorder has begun and ended each collective of each rank.
TEST_F(CudaCollectiveTest, AreRecorded) {
  collective::record::Recorder::Options options;
  options.folder = ::testing::TempDir();
  options.job = "lanes";
  options.ranks = {0, 1, 2, 3};
  options.jobRanks = ranks;
  auto recorder = collective::record::Recorder::create(options);
  ASSERT_TRUE(recorder.isOk()) << std::move(recorder).takeStatus().toString();
  auto engine = std::make_shared<ConnectedEngine>();
  engine->engine = std::make_unique<cuda::HostEngine>();
  const std::vector<int64_t> devices = {0, 1, 2, 3};
  auto made = engine->engine->prepare(devices, {}, tilewright::after(std::chrono::seconds(1)));
  ASSERT_TRUE(made.isOk());
  auto four = std::make_shared<DeviceRanks>(engine, *std::move(made), devices, *recorder);
  const std::vector<std::vector<int64_t>> groups = {{0, 1}, {3}};
  collective::Call call;
  call.groups = &groups;
  call.identity = 1;
  auto ended = four->record(0, call);
  ASSERT_TRUE(ended);
  ended(true);
  EXPECT_FALSE(four->record(2, call)); // rank 2 is in no group
  EXPECT_TRUE(four->check().isOk());
}

/// An argument of rank 2 has failed, so the others must not wait for it.
TEST_F(CudaCollectiveTest, ARankThatFailsEndsTheRunOfAll) {
  Program p = forRanks("sums");
  Slice x = p.parameter(floats()), y = p.result(floats());
  addSum(p, 0, x, y);
  auto program = load(p);
  for (int round = 0; round < 3; ++round) {
    Arguments arguments = onEachDevice({1, 2, 3, 4});
    Promise promise;
    auto failing = Buffer::uninitialized(floats(), memory(2), &promise);
    ASSERT_TRUE(failing.isOk());
    arguments.pointers[2] = failing->get();
    auto run = program->execute(arguments.lists);
    ASSERT_TRUE(run.isOk());
    promise.complete(Status(Code::dataLoss, "the disk burned"));
    for (const Status &end : endsOf(*run)) {
      EXPECT_FALSE(end.isOk());
      EXPECT_THAT(std::string(end.message()), HasSubstr("the disk burned"));
    }
    EXPECT_EQ(resultsOf(*program, {1, 2, 3, 4}), std::vector<float>(4, 10));
  }
}

} // namespace
} // namespace tilewright::runtime::conformance
