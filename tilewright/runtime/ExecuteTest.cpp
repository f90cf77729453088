#include "tilewright/runtime/testing/Backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace tilewright::runtime {
namespace {

using namespace std::chrono_literals;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr int64_t cheap = 1'000, dear = 1'000'000'000; // estimates in nanoseconds

class ExecuteTest : public RuntimeFixture {};

TEST_F(ExecuteTest, ACheapProgramHasRunWhenExecuteReturns) {
  makeClient();
  std::thread::id ranOn;
  auto program = load("f", 1, 1, addOne([&] { ranOn = std::this_thread::get_id(); }), {}, cheap);
  auto argument = buffer(1);
  auto run = execute(*program, {argument.get()});
  ASSERT_TRUE(run.isOk());
  EXPECT_TRUE(run->done[0].isReady());
  EXPECT_EQ(ranOn, std::this_thread::get_id());
  EXPECT_THAT(read(*run->results[0][0]), Each(2));
}

TEST_F(ExecuteTest, ADearProgramRunsBesideTheCaller) {
  makeClient();
  Promise gate;
  Event open = gate.event();
  auto program = load("f", 1, 1, addOne([open] { (void)open.await(); }), {}, dear);
  auto argument = buffer(1);
  auto first = execute(*program, {argument.get()});
  auto second = execute(*program, {first->results[0][0].get()});
  argument.reset(); // may be destroyed as soon as execute has returned
  EXPECT_FALSE(first->done[0].isReady());
  EXPECT_FALSE(second->results[0][0]->definition().isReady());
  gate.complete();
  EXPECT_THAT(read(*second->results[0][0]), Each(3));
}

/// The client measures how long a program takes, which the compiler did not know.
TEST_F(ExecuteTest, AProgramThatTurnsOutCheapMovesToTheCaller) {
  makeClient();
  std::thread::id ranOn;
  auto program = load("f", 1, 1, addOne([&] { ranOn = std::this_thread::get_id(); }));
  auto argument = buffer(1);
  auto first = execute(*program, {argument.get()});
  EXPECT_TRUE(first->done[0].await().isOk());
  EXPECT_NE(ranOn, std::this_thread::get_id());
  client->drain();
  for (int i = 0; i < 20 && ranOn != std::this_thread::get_id(); ++i) {
    EXPECT_TRUE(execute(*program, {argument.get()})->done[0].await().isOk());
    client->drain();
  }
  EXPECT_EQ(ranOn, std::this_thread::get_id());
}

TEST_F(ExecuteTest, WithoutAsynchronyTheProgramHasRun) {
  RuntimeOptions options;
  options.asynchronous = false;
  makeClient(options);
  auto program = load("f", 1, 1, addOne(), {}, dear);
  auto argument = buffer(1);
  EXPECT_TRUE(execute(*program, {argument.get()})->done[0].isReady());
}

TEST_F(ExecuteTest, ADonatedBufferBecomesTheResult) {
  makeClient();
  for (int64_t estimate : {cheap, dear}) {
    auto program = load("f", 1, 1, addOne(), donateFirst, estimate);
    expectDonationBecomesTheResult(*program, "argument 0 of 'f'");
  }
}

TEST_F(ExecuteTest, WhatMustNotBeDonatedIsCopied) {
  makeClient();
  auto program = load("f", 1, 1, addOne(), donateFirst, cheap);
  const int64_t none[] = {0};
  ExecuteOptions options;
  options.nonDonatable = none;
  auto argument = buffer(1);
  auto run = execute(*program, {argument.get()}, options);
  EXPECT_FALSE(argument->isDeleted());
  EXPECT_THAT(read(*argument), Each(1));
  EXPECT_THAT(read(*run->results[0][0]), Each(2));

  // With an external reference the bytes stay in place, but the buffer is deleted as the caller
  // expects.
  ASSERT_TRUE(argument->addExternalReference().isOk());
  auto *seen = static_cast<float *>(*argument->data());
  run = execute(*program, {argument.get()});
  EXPECT_TRUE(argument->isDeleted());
  EXPECT_EQ(seen[0], 1);
  EXPECT_THAT(read(*run->results[0][0]), Each(2));
  EXPECT_TRUE(argument->dropExternalReference().isOk());
}

TEST_F(ExecuteTest, HostMemoryUsedInPlaceIsNeverWritten) {
  makeClient();
  auto program = load("f", 1, 1, addOne(), donateFirst, cheap);
  alignas(64) std::array<float, length> host = {};
  Event done;
  auto argument = *Buffer::fromHost(
      {host.data(), floats(), {}, HostBufferSemantics::immutableZeroCopy}, memory(), &done);
  auto run = execute(*program, {argument.get()});
  EXPECT_THAT(read(*run->results[0][0]), Each(1));
  EXPECT_THAT(host, Each(0));
  EXPECT_TRUE(done.isReady());
}

TEST_F(ExecuteTest, ADonationWaitsForReadersBesideTheStream) {
  makeClient();
  Promise gate;
  Event open = gate.event();
  auto slow = load("slow", 1, 1, addOne([open] { (void)open.await(); }), {}, dear);
  auto overwrite = load("overwrite", 1, 1, addOne(), donateFirst, dear);
  expectDonationWaitsForReaders(*slow, *overwrite, [&] { gate.complete(); });
}

TEST_F(ExecuteTest, ABufferCannotBeDonatedAndUsed) {
  makeClient();
  auto both = load("both", 2, 2, addOne(), [](artifact::Executable &executable) {
    executable.parameters[0].donation = executable.parameters[1].donation = artifact::Donation::may;
  });
  auto one = load("one", 2, 1, addOne(), donateFirst);
  auto argument = buffer(1);
  Status status = execute(*both, {argument.get(), argument.get()}).takeStatus();
  EXPECT_EQ(status.error(), Error::donatedTwice);
  EXPECT_THAT(status.message(), HasSubstr("f(donate(a), donate(a))"));
  status = execute(*one, {argument.get(), argument.get()}).takeStatus();
  EXPECT_EQ(status.error(), Error::donatedTwice);
  EXPECT_THAT(status.message(), HasSubstr("f(a, donate(a))"));
  EXPECT_FALSE(argument->isDeleted());
  auto other = buffer(2);
  EXPECT_TRUE(execute(*one, {argument.get(), other.get()}).isOk());
}

TEST_F(ExecuteTest, ADonationThatNoResultCanUseLeavesTheArgument) {
  makeClient();
  auto twoToOne = load("two_to_one", 2, 1, addOne(), [](artifact::Executable &executable) {
    executable.parameters[0].donation = executable.parameters[1].donation = artifact::Donation::may;
  });
  auto first = buffer(1), second = buffer(2);
  EXPECT_TRUE(execute(*twoToOne, {first.get(), second.get()}).isOk());
  EXPECT_TRUE(first->isDeleted());
  EXPECT_FALSE(second->isDeleted());
}

TEST_F(ExecuteTest, AFailureSpreadsToEverythingComputedFromIt) {
  makeClient();
  for (int64_t estimate : {cheap, dear}) {
    auto bad = load(
        "bad", 1, 1, [](const ProgramRun &) { return Status(Code::internal, "no luck"); }, {},
        estimate);
    auto good = load("good", 1, 1, addOne([] { ADD_FAILURE() << "must not run"; }), {}, estimate);
    auto argument = buffer(1);
    auto first = execute(*bad, {argument.get()});
    ASSERT_TRUE(first.isOk());
    auto second = execute(*good, {first->results[0][0].get()});
    auto third = execute(*good, {second->results[0][0].get()});
    Status status = third->done[0].await();
    EXPECT_EQ(status.code(), Code::internal);
    EXPECT_THAT(status.message(), HasSubstr("while running 'bad' on test:0: no luck"));
    EXPECT_TRUE(second->results[0][0]->definition().isFailed());
  }
}

TEST_F(ExecuteTest, ArgumentsMustFit) {
  RuntimeOptions options;
  options.devices = 2;
  makeClient(options);
  auto program = load("f", 1, 1, addOne());
  auto argument = buffer(1), elsewhere = buffer(1, 1);
  Status status = execute(*program, {}).takeStatus();
  EXPECT_EQ(status.error(), Error::argumentMismatch);
  status = execute(*program, {elsewhere.get()}).takeStatus();
  EXPECT_EQ(status.error(), Error::argumentMismatch);
  EXPECT_THAT(status.message(), HasSubstr("is on test:1, but the program runs on test:0"));
  auto wide = *Buffer::uninitialized(floats(length + 1), memory());
  status = execute(*program, {wide.get()}).takeStatus();
  EXPECT_EQ(status.error(), Error::argumentMismatch);
  EXPECT_THAT(status.message(), HasSubstr("is f32[17], but the program takes f32[16]"));
  EXPECT_EQ(program->execute({}).takeStatus().error(), Error::argumentMismatch);
  program->release();
  EXPECT_FALSE(execute(*program, {argument.get()}).isOk());
}

/// The caller may keep a deleted executable for as long as it likes.
TEST_F(ExecuteTest, ADeletedProgramFreesItsCodeOnceNoRunNeedsIt) {
  makeClient();
  Promise gate;
  auto token = std::make_shared<int>();
  std::weak_ptr<int> code = token;
  auto program = load(
      "f", 1, 1, addOne([open = gate.event(), token = std::move(token)] { (void)open.await(); }),
      {}, dear);
  programs->byName.clear();
  auto argument = buffer(1);
  auto run = execute(*program, {argument.get()});
  program->release();
  EXPECT_TRUE(program->isDeleted());
  EXPECT_FALSE(code.expired());
  gate.complete();
  EXPECT_THAT(read(*run->results[0][0]), Each(2));
  client->drain();
  EXPECT_TRUE(code.expired());
  EXPECT_THAT(execute(*program, {argument.get()}).takeStatus().message(),
              HasSubstr("'f' was deleted and cannot run"));
}

TEST_F(ExecuteTest, TheMemoryLimitEndsARunAndNotTheProcess) {
  RuntimeOptions options;
  options.memoryLimit = 4 << 20;
  makeClient(options);
  auto large = [](artifact::Executable &executable) {
    executable.results[0].type = floats(1 << 19); // 2 MiB
  };
  auto program = load("jit_large", 1, 1, [](const ProgramRun &) { return Status(); }, large);
  expectMemoryForOneResult(*program, "2 MiB result 0 of jit_large, 524288xf32");

  auto hungry = load("jit_arena", 1, 1, addOne(),
                     [](artifact::Executable &executable) { executable.arenaBytes[0] = 64 << 20; });
  auto argument = buffer(1);
  auto run = execute(*hungry, {argument.get()});
  EXPECT_EQ(run->done[0].await().error(), Error::outOfMemory);
}

/// A parameter that a result aliases and that the caller keeps is copied first. If the run fails
/// after that, the memory of the result must not be freed while the copy writes to it.
TEST_F(ExecuteTest, AFailedRunKeepsItsMemoryUntilItsCopiesHaveEnded) {
  RuntimeOptions options;
  options.memoryLimit = 4 << 20;
  options.cacheBytes = 0;
  makeClient(options);
  auto aliased = [](artifact::Executable &executable) {
    executable.parameters[0].type = executable.results[0].type = floats(1 << 18); // 1 MiB
    donateFirst(executable);
  };
  auto bad = load(
      "bad", 1, 1, [](const ProgramRun &) { return Status(Code::internal, "no luck"); }, aliased,
      dear);
  auto hungry = load("hungry", 1, 1, addOne(), [&](artifact::Executable &executable) {
    aliased(executable);
    executable.arenaBytes[0] = 64 << 20;
  });
  const int64_t none[] = {0};
  ExecuteOptions keep;
  keep.nonDonatable = none;
  const std::vector<float> host(1 << 18, 7);
  for (LoadedExecutable *program : {bad.get(), hungry.get()}) {
    auto argument = *Buffer::fromHost({host.data(), floats(1 << 18), {}}, memory());
    int64_t inUse = 0;
    programs->beforeCopies = [&] { inUse = memory().statistics().bytesInUse; };
    auto run = execute(*program, {argument.get()}, keep);
    ASSERT_TRUE(run.isOk());
    run->results.clear(); // the launch alone keeps the result
    EXPECT_FALSE(run->done[0].await().isOk());
    EXPECT_EQ(inUse, 2 << 20) << "the argument, and the result to which it is copied";
    client->drain();
    EXPECT_EQ(memory().statistics().bytesInUse, 1 << 20);
  }
}

/// The results of the second device do not fit, so no device may have taken its argument.
TEST_F(ExecuteTest, ALaunchThatFailsForLackOfMemoryDonatesNothing) {
  RuntimeOptions options;
  options.devices = 2;
  options.memoryLimit = 3 << 20; // of all devices
  makeClient(options);
  auto program = load(
      "jit_large", 1, 2, [](const ProgramRun &) { return Status(); },
      [](artifact::Executable &executable) {
        donateFirst(executable);
        executable.partitions = 2;
        executable.results[1].type = floats(1 << 19); // 2 MiB
      });
  const Arguments arguments = onEachDevice({1, 2});
  EXPECT_EQ(program->execute(arguments.lists).takeStatus().error(), Error::outOfMemory);
  EXPECT_FALSE(arguments.pointers[0]->isDeleted());
  EXPECT_FALSE(arguments.pointers[1]->isDeleted());
  EXPECT_THAT(read(*arguments.pointers[0]), Each(1));
}

/// Programs in flight may hold memory that is about to be freed.
TEST_F(ExecuteTest, ARequestWaitsForRunsInFlightBeforeItFails) {
  RuntimeOptions options;
  options.memoryLimit = 5 << 20;
  options.cacheBytes = 0;
  makeClient(options);
  auto large = [](artifact::Executable &executable) {
    executable.results[0].type = floats(1 << 19);
  };
  auto program = load(
      "f", 1, 1,
      [](const ProgramRun &) {
        std::this_thread::sleep_for(2ms);
        return Status();
      },
      large, dear);
  auto argument = buffer(1);
  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE(execute(*program, {argument.get()}).isOk()); // results are released immediately
}

TEST_F(ExecuteTest, ArenasAndPlacesAreGivenToTheProgram) {
  makeClient();
  int context = 0;
  auto program = load(
      "f", 0, 1,
      [&](const ProgramRun &run) {
        EXPECT_NE(run.arenas[0], nullptr);
        EXPECT_EQ(run.arenas[1], nullptr);
        EXPECT_EQ(run.userContext, &context);
        EXPECT_EQ(run.device, &device());
        std::fill(run.arenas[0], run.arenas[0] + 1000, std::byte(1));
        return Status();
      },
      [](artifact::Executable &executable) { executable.arenaBytes[0] = 1000; });
  ExecuteOptions options;
  options.userContext = &context;
  EXPECT_TRUE(execute(*program, {}, options)->done[0].await().isOk());
}

/// A host callback inside a program calls back into the runtime.
TEST_F(ExecuteTest, AProgramMayRunAnother) {
  makeClient();
  auto inner = load("inner", 1, 1, addOne(), {}, dear);
  auto argument = buffer(1);
  auto outer = load(
      "outer", 1, 1,
      [&](const ProgramRun &run) {
        auto nested = execute(*inner, {argument.get()});
        EXPECT_TRUE(nested->done[0].await().isOk());
        std::fill(floatsOf(run.results[0]), floatsOf(run.results[0]) + length,
                  read(*nested->results[0][0])[0]);
        return Status();
      },
      {}, dear);
  auto run = execute(*outer, {argument.get()});
  EXPECT_THAT(read(*run->results[0][0]), Each(2));
}

TEST_F(ExecuteTest, ResultsLiveInTheMemoryTheyAskFor) {
  makeClient();
  auto program = load("f", 1, 1, addOne(), [](artifact::Executable &executable) {
    executable.results[0].memoryKind = "pinned_host";
  });
  auto argument = buffer(1);
  auto run = execute(*program, {argument.get()});
  EXPECT_EQ(run->results[0][0]->memory().kind(), "pinned_host");
  EXPECT_THAT(read(*run->results[0][0]), Each(2));
  EXPECT_GT(device().memoryOfKind("pinned_host")->statistics().bytesInUse, 0);
}

/// All devices run concurrently: they wait for each other in a collective.
TEST_F(ExecuteTest, DevicesRunConcurrentlyAndMeetInCollectives) {
  RuntimeOptions options;
  options.devices = 4;
  makeClient(options);
  static const std::vector<std::vector<int64_t>> groups = {{0, 1, 2, 3}};
  auto program = load(
      "sum", 1, 1,
      [](const ProgramRun &run) {
        collective::Call call;
        call.kind = collective::Kind::allReduce;
        call.groups = &groups;
        call.reduction.operation = collective::ReductionKind::add;
        call.name = "all_reduce.0";
        call.tensors = {{ElementType::f32, {length}, {length}, run.parameters[0], run.results[0]}};
        EXPECT_EQ(run.communicator->rank(), run.partition);
        return run.communicator->run(call);
      },
      [](artifact::Executable &executable) {
        executable.partitions = 4;
        executable.blocks[0].steps.push_back({artifact::CollectiveStartStep{}, "", ""});
      },
      cheap);
  for (int round = 0; round < 50; ++round) {
    const Arguments arguments = onEachDevice({1, 2, 4, 8});
    auto run = program->execute(arguments.lists);
    ASSERT_TRUE(run.isOk());
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(&run->results[i][0]->device(), &device(i));
      EXPECT_THAT(read(*run->results[i][0]), Each(15));
    }
  }
}

TEST_F(ExecuteTest, AFailedDeviceEndsTheOthers) {
  RuntimeOptions options;
  options.devices = 2;
  makeClient(options);
  static const std::vector<std::vector<int64_t>> groups = {{0, 1}};
  auto program = load(
      "sum", 0, 1,
      [](const ProgramRun &run) {
        if (run.partition == 1)
          return Status(Code::internal, "chip on fire");
        collective::Call call;
        call.groups = &groups;
        call.reduction.operation = collective::ReductionKind::add;
        call.name = "all_reduce.0";
        return run.communicator->run(call);
      },
      [](artifact::Executable &executable) {
        executable.partitions = 2;
        executable.blocks[0].steps.push_back({artifact::CollectiveStartStep{}, "", ""});
      });
  std::span<Buffer *const> none;
  std::vector<std::span<Buffer *const>> lists = {none, none};
  auto run = program->execute(lists);
  Status status = run->done[0].await();
  EXPECT_EQ(status.error(), Error::collectiveAborted);
  EXPECT_THAT(status.message(), HasSubstr("chip on fire"));
  EXPECT_EQ(run->done[1].await().code(), Code::internal);
}

} // namespace
} // namespace tilewright::runtime
