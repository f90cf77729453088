// Programs: the steps of a plan, donation, order and failures.
#include "tilewright/runtime/conformance/Kit.h"

namespace tilewright::runtime::conformance {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RunConformance : public Fixture {};

TEST_F(RunConformance, AProgramComputes) {
  makeClient();
  auto program = load(unary());
  EXPECT_GT(program->codeBytes(), 0);
  auto x = buffer(1);
  for (int i = 0; i < 3; ++i) {
    auto run = execute(*program, {x.get()});
    ASSERT_TRUE(run.isOk()) << std::move(run).takeStatus().toString();
    EXPECT_THAT(read(*run->results[0][0]), Each(2));
    EXPECT_THAT(read(*x), Each(1));
  }
}

TEST_F(RunConformance, WithoutAsynchronyTheProgramHasRun) {
  RuntimeOptions options;
  options.asynchronous = false;
  makeClient(options);
  auto program = load(unary("slow"));
  auto x = buffer(1);
  EXPECT_TRUE(execute(*program, {x.get()})->done[0].isReady());
}

/// Constants, temporaries, copies and several launches, with buffers whose addresses change from
/// run to run.
TEST_F(RunConformance, StepsFollowEachOther) {
  makeClient();
  Program p("steps");
  Slice x = p.parameter(floats()), y = p.result(floats()), z = p.result(floats());
  Slice ten = p.constant(std::vector<float>(length, 10)), t = p.temporary(4 * length),
        u = p.temporary(4 * length);
  p.launch("add_one", length, {x, t});
  p.step(CopyStep{t, u});
  p.launch("add", length, {u, ten, y});
  p.launch("add", length, {y, t, z});
  auto program = load(p);
  std::vector<Execution> kept;
  for (int i = 0; i < 5; ++i) {
    auto input = buffer(static_cast<float>(i));
    auto run = execute(*program, {input.get()});
    ASSERT_TRUE(run.isOk());
    kept.push_back(*std::move(run)); // so that each run has different addresses
  }
  for (int i = 0; i < 5; ++i) {
    const auto f = static_cast<float>(i);
    EXPECT_THAT(read(*kept[size_t(i)].results[0][0]), Each(f + 11));
    EXPECT_THAT(read(*kept[size_t(i)].results[0][1]), Each(2 * f + 12));
  }
}

TEST_F(RunConformance, LoopsEndWhenTheirPredicateSays) {
  makeClient();
  auto program = load(counting());
  for (int32_t begin : {0, 3, 9}) {
    auto from = integer(begin), to = integer(7);
    auto input = buffer(100);
    auto run = execute(*program, {from.get(), to.get(), input.get()});
    ASSERT_TRUE(run.isOk());
    EXPECT_THAT(read(*run->results[0][0]),
                Each(100.0F + static_cast<float>(std::max(0, 7 - begin))));
    EXPECT_THAT(read<int32_t>(*run->results[0][1]), ElementsAre(std::max(begin, 7)));
  }
}

TEST_F(RunConformance, CountedLoopsRunThatOften) {
  makeClient();
  Program p("counted");
  Slice x = p.parameter(floats()), y = p.result(floats()), flag = p.temporary(1);
  p.step(CopyStep{x, y});
  const Index condition = p.block(), body = p.block(), unused = p.block(), inner = p.block();
  p.step(WhileStep{condition, body, flag, 4});
  p.step(WhileStep{unused, inner, flag, 3}, body);
  p.launch("add_one", length, {y, y}, inner);
  auto program = load(p);
  auto input = buffer(0);
  auto run = execute(*program, {input.get()});
  ASSERT_TRUE(run.isOk());
  EXPECT_THAT(read(*run->results[0][0]), Each(12));
}

TEST_F(RunConformance, BranchesAreChosenByIndexAndByPredicate) {
  makeClient();
  Program p("branch");
  Slice which = p.parameter(integer()), limit = p.parameter(integer()), x = p.parameter(floats());
  Slice y = p.result(floats()), z = p.result(floats()), flag = p.temporary(1);
  const Index none = p.block(), once = p.block(), twice = p.block();
  p.step(BranchStep{which, false, {none, once, twice}});
  p.step(CopyStep{x, y}, none);
  p.launch("add_one", length, {x, y}, once);
  p.launch("add_one", length, {x, y}, twice);
  p.launch("add_one", length, {y, y}, twice);
  p.launch("less", 1, {which, limit, flag});
  const Index isLess = p.block(), isNot = p.block();
  p.step(BranchStep{flag, true, {isLess, isNot}});
  p.launch("add_one", length, {y, z}, isLess);
  p.step(CopyStep{y, z}, isNot);
  auto program = load(p);
  const std::pair<int32_t, float> cases[] = {{0, 0}, {1, 1}, {2, 2}, {-1, 2}, {17, 2}};
  for (auto [index, added] : cases) {
    auto selector = integer(index), bound = integer(1);
    auto input = buffer(10);
    auto run = execute(*program, {selector.get(), bound.get(), input.get()});
    ASSERT_TRUE(run.isOk());
    EXPECT_THAT(read(*run->results[0][0]), Each(10 + added)) << index;
    EXPECT_THAT(read(*run->results[0][1]), Each(10 + added + (index < 1 ? 1 : 0))) << index;
  }
}

TEST_F(RunConformance, ADonatedBufferBecomesTheResult) {
  makeClient();
  for (const char *symbol : {"add_one", "slow"})
    expectDonationBecomesTheResult(*load(unary(symbol, length, true)));
}

TEST_F(RunConformance, WhatMustNotBeDonatedIsCopied) {
  makeClient();
  auto slow = load(unary("slow"));
  auto program = load(unary("add_one", length, true));
  const int64_t none[] = {0};
  ExecuteOptions options;
  options.nonDonatable = none;
  auto first = buffer(1);
  auto made = execute(*slow, {first.get()}); // still being computed when it is copied
  Buffer &x = *made->results[0][0];
  auto run = execute(*program, {&x}, options);
  ASSERT_TRUE(run.isOk());
  EXPECT_FALSE(x.isDeleted());
  EXPECT_THAT(read(*run->results[0][0]), Each(3));
  EXPECT_THAT(read(x), Each(2));

  // With an external reference the bytes stay in place, but the buffer is deleted as the caller
  // expects.
  ASSERT_TRUE(x.addExternalReference().isOk());
  void *seen = *x.data();
  run = execute(*program, {&x});
  EXPECT_TRUE(x.isDeleted());
  EXPECT_NE(*run->results[0][0]->data(), seen);
  EXPECT_THAT(read(*run->results[0][0]), Each(3));
  EXPECT_TRUE(x.dropExternalReference().isOk());
}

TEST_F(RunConformance, ADonationWaitsForReadersBesideTheStream) {
  makeClient();
  auto slow = load(unary("slow"));
  auto overwrite = load(unary("add_one", length, true));
  for (int round = 0; round < 5; ++round)
    expectDonationWaitsForReaders(*slow, *overwrite);
}

TEST_F(RunConformance, ABufferCannotBeDonatedAndUsed) {
  makeClient();
  Program p("two");
  Slice a = p.parameter(floats()), b = p.parameter(floats()), y = p.result(floats());
  p.launch("add", length, {a, b, y});
  p.donate(0, 0);
  auto program = load(p);
  auto x = buffer(1), other = buffer(2);
  Status status = execute(*program, {x.get(), x.get()}).takeStatus();
  EXPECT_EQ(status.error(), Error::donatedTwice);
  EXPECT_FALSE(x->isDeleted());
  auto run = execute(*program, {x.get(), other.get()});
  ASSERT_TRUE(run.isOk());
  EXPECT_THAT(read(*run->results[0][0]), Each(3));
}

/// Each program uses the result of the previous one before that result is computed.
TEST_F(RunConformance, ProgramsRunInTheOrderTheyWereLaunched) {
  makeClient();
  auto slow = load(unary("slow")), quick = load(unary()),
       donating = load(unary("add_one", length, true));
  auto value = buffer(0);
  for (int i = 0; i < 30; ++i) {
    LoadedExecutable &program = i % 7 == 0 ? *slow : i % 3 == 0 ? *donating : *quick;
    auto run = execute(program, {value.get()});
    ASSERT_TRUE(run.isOk());
    value = std::move(run->results[0][0]);
  }
  EXPECT_THAT(read(*value), Each(30));
}

/// A program with temporaries is launched while an earlier one still uses its own.
TEST_F(RunConformance, TemporariesOfProgramsInFlightDoNotMeet) {
  makeClient();
  Program p("temporaries");
  Slice x = p.parameter(floats()), y = p.result(floats());
  Slice t = p.temporary(4 * length), u = p.temporary(4 * length);
  p.launch("slow", length, {x, t});
  p.launch("add_one", length, {t, u});
  p.launch("add", length, {t, u, y});
  auto program = load(p);
  std::vector<std::unique_ptr<Buffer>> inputs;
  std::vector<Execution> runs;
  for (int i = 0; i < 6; ++i) {
    inputs.push_back(buffer(static_cast<float>(i)));
    auto run = execute(*program, {inputs.back().get()});
    ASSERT_TRUE(run.isOk());
    runs.push_back(*std::move(run));
  }
  for (int i = 0; i < 6; ++i)
    EXPECT_THAT(read(*runs[size_t(i)].results[0][0]), Each(2 * static_cast<float>(i) + 3));
}

TEST_F(RunConformance, AnArgumentThatFailsFailsTheResults) {
  makeClient();
  auto program = load(unary());
  Promise promise;
  auto x = Buffer::uninitialized(floats(), memory(), &promise);
  auto first = execute(*program, {x->get()});
  ASSERT_TRUE(first.isOk());
  auto second = execute(*program, {first->results[0][0].get()});
  promise.complete(Status(Code::internal, "no luck"));
  EXPECT_EQ(second->done[0].await().message(), "no luck");
  EXPECT_TRUE(first->results[0][0]->definition().isFailed());
  auto good = buffer(1); // the device still works
  EXPECT_THAT(read(*execute(*program, {good.get()})->results[0][0]), Each(2));
}

TEST_F(RunConformance, ArgumentsMustFit) {
  makeClient();
  auto program = load(unary());
  EXPECT_EQ(execute(*program, {}).takeStatus().error(), Error::argumentMismatch);
  auto wide = *Buffer::uninitialized(floats(length + 1), memory());
  Status status = execute(*program, {wide.get()}).takeStatus();
  EXPECT_EQ(status.error(), Error::argumentMismatch);
  EXPECT_THAT(status.message(), HasSubstr("is f32[17], but the program takes f32[16]"));
  program->release();
  auto x = buffer(1);
  EXPECT_FALSE(execute(*program, {x.get()}).isOk());
}

TEST_F(RunConformance, TheMemoryLimitEndsARunAndNotTheProcess) {
  RuntimeOptions options;
  options.memoryLimit = 4 << 20;
  makeClient(options);
  constexpr int64_t large = 3 << 18; // 3 MiB
  Program p("jit_large");
  Slice x = p.parameter(floats()), y = p.result(floats(large));
  p.step(CopyStep{{x.allocation, 0, 64}, {y.allocation, 0, 64}});
  expectMemoryForOneResult(*load(p), "3 MiB result 0 of jit_large");

  Program hungry("jit_arena");
  Slice a = hungry.parameter(floats()), b = hungry.result(floats());
  hungry.temporary(64 << 20);
  hungry.launch("add_one", length, {a, b});
  auto argument = buffer(1);
  auto run = execute(*load(hungry), {argument.get()});
  EXPECT_EQ(run->done[0].await().error(), Error::outOfMemory);
}

TEST_F(RunConformance, ResultsLiveInTheMemoryTheyAskFor) {
  makeClient();
  Program p = unary();
  p.executable.results[0].memoryKind = "pinned_host";
  p.executable.allocations[1].space = 1;
  auto program = load(p);
  auto x = buffer(1);
  auto run = execute(*program, {x.get()});
  EXPECT_EQ(run->results[0][0]->memory().kind(), "pinned_host");
  EXPECT_THAT(read(*run->results[0][0]), Each(2));
}

TEST_F(RunConformance, EachDeviceRunsItsPart) {
  if (!makeClientWith(4))
    GTEST_SKIP() << "there are " << client->devices().size() << " devices";
  Program p = unary();
  p.executable.partitions = 4;
  auto program = load(p);
  const Arguments arguments = onEachDevice({0, 1, 2, 3});
  for (int round = 0; round < 3; ++round) {
    auto run = program->execute(arguments.lists);
    ASSERT_TRUE(run.isOk());
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(&run->results[i][0]->device(), &device(i));
      EXPECT_THAT(read(*run->results[i][0]), Each(static_cast<float>(i + 1)));
    }
  }
  auto one = load(unary());
  Status status = execute(*one, {arguments.pointers[1]}).takeStatus();
  EXPECT_EQ(status.error(), Error::argumentMismatch);
}

/// Copies results from device to device while they are still being computed.
TEST_F(RunConformance, ValuesTravelRoundTheDevices) {
  if (!makeClientWith(4))
    GTEST_SKIP() << "there are " << client->devices().size() << " devices";
  std::vector<std::shared_ptr<LoadedExecutable>> programs;
  for (size_t i = 0; i < 4; ++i)
    programs.push_back(load(unary(i == 2 ? "slow" : "add_one"), {1, 1, {device(i).id()}}));
  auto value = buffer(0);
  for (size_t hop = 0; hop < 12; ++hop) {
    auto run = execute(*programs[hop % 4], {value.get()});
    ASSERT_TRUE(run.isOk());
    value = *run->results[0][0]->copyTo(memory((hop + 1) % 4));
  }
  EXPECT_THAT(read(*value), Each(12));
}

} // namespace
} // namespace tilewright::runtime::conformance
