#include "tilewright/collective/record/Diagnosis.h"
#include "tilewright/collective/shm/Arena.h"
#include "tilewright/runtime/testing/Sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <future>

namespace tilewright::runtime {
namespace {

using testing::HasSubstr;

/// Two clients that act as two processes, each on its own thread.
class ProcessesTest : public SumFixture {
protected:
  using Made = Result<std::unique_ptr<Client>>;

  ClientOptions optionsOf(int process) const {
    ClientOptions options;
    options.processIndex = process;
    options.processCount = 2;
    options.store = store;
    options.runtime.devices = process + 1; // the first has 1, the second 2
    options.runtime.collectiveTimeout = 20;
    options.runtime.flightRecorder = notes;
    options.runtime.asynchronous = isAsynchronous;
    return options;
  }
  Made make(const ClientOptions &options) {
    return Client::create(options,
                          std::make_unique<TestBackend>(options.runtime.devices, programs));
  }
  void makeBoth() {
    auto second = std::async(std::launch::async, [&] { return make(optionsOf(1)); });
    Made first = make(optionsOf(0));
    Made other = second.get();
    ASSERT_TRUE(first.isOk()) << std::move(first).takeStatus().toString();
    ASSERT_TRUE(other.isOk()) << std::move(other).takeStatus().toString();
    clients.push_back(*std::move(first));
    clients.push_back(*std::move(other));
  }

  static std::shared_ptr<artifact::Executable>
  sum(collective::ReductionKind reduction = collective::ReductionKind::add) {
    return sumOf(3, reduction);
  }
  using Loaded = Result<std::shared_ptr<LoadedExecutable>>;
  std::pair<Loaded, Loaded> loadBoth(const std::shared_ptr<artifact::Executable> &first,
                                     const std::shared_ptr<artifact::Executable> &second) {
    const DeviceAssignment everywhere{1, 3, {0, 1, 2}};
    auto other =
        std::async(std::launch::async, [&] { return clients[1]->load(second, everywhere); });
    Loaded own = clients[0]->load(first, everywhere);
    return {std::move(own), other.get()};
  }
  /// Runs `executable` on all devices of one client with `value` everywhere; returns the first
  /// shard, or the failure.
  Result<std::vector<float>> runOn(LoadedExecutable &executable, float value) {
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<Buffer *> pointers;
    for (Device *device : executable.addressableDevices()) {
      const std::vector<float> host(length, value);
      TILEWRIGHT_ASSIGN(buffers.emplace_back(),
                        Buffer::fromHost({host.data(), floats(), {}}, device->defaultMemory()));
      pointers.push_back(buffers.back().get());
    }
    std::vector<std::span<Buffer *const>> lists;
    for (Buffer *&pointer : pointers)
      lists.emplace_back(&pointer, 1);
    TILEWRIGHT_ASSIGN(Execution run, executable.execute(lists));
    for (const Event &done : run.done)
      TILEWRIGHT_TRY(done.await());
    return read(*run.results[0][0]);
  }

  /// Whether collectives of the current epoch use a new block of this size in place.
  static bool usesInPlace(const Client &client, size_t bytes) {
    auto block = client.addressableDevices()[0]->defaultMemory().allocate(bytes, {});
    const auto memory =
        std::dynamic_pointer_cast<collective::shm::Arena>(client.processes()->operandMemory());
    return block.isOk() && memory && memory->contains(block->data(), bytes);
  }

  std::string notes = "off";
  bool isAsynchronous = true;
  std::shared_ptr<tilewright::KeyValueStore> store =
      std::make_shared<tilewright::MemoryKeyValueStore>();
  std::vector<std::unique_ptr<Client>> clients;
};

/// Joins as two processes with these measured choices; returns both outcomes.
std::pair<Status, Status> joinWith(const std::map<std::string, std::string> &first,
                                   const std::map<std::string, std::string> &second) {
  auto store = std::make_shared<tilewright::MemoryKeyValueStore>();
  auto join = [&](int64_t process, const std::map<std::string, std::string> &choices) {
    Processes::Config config;
    config.process = process;
    config.processes = 2;
    config.kind = "cpu";
    config.timeout = std::chrono::seconds(20);
    config.choices = choices;
    return Processes::join(config, store).takeStatus();
  };
  auto other = std::async(std::launch::async, [&] { return join(1, second); });
  Status own = join(0, first);
  return {std::move(own), other.get()};
}

TEST(ProcessesChoices, ProcessesWithDifferentMeasurementsFailAndNameTheProduct) {
  const auto [same, alike] = joinWith({{"dot 1", "ours"}}, {{"dot 1", "ours"}});
  EXPECT_TRUE(same.isOk()) << same.toString();
  EXPECT_TRUE(alike.isOk()) << alike.toString();
  const auto start = std::chrono::steady_clock::now();
  const auto [first, second] = joinWith({{"dot 1", "ours"}, {"dot 2", "ours"}},
                                        {{"dot 2", "onednn 3.2.0"}, {"dot 3", "ours"}});
  // The timeout for missing processes is 20 s: a difference is found without it.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
  for (const Status *status : {&first, &second}) {
    EXPECT_EQ(status->error(), Error::ranksNotConnected);
    EXPECT_THAT(status->toString(), HasSubstr("products with different choices: 3"));
    EXPECT_THAT(status->toString(), HasSubstr("give all processes the same runtime.tuning-file"));
  }
  EXPECT_THAT(first.toString(),
              HasSubstr("dot 1: 'ours' in process 0, no measurement in process 1"));
  EXPECT_THAT(first.toString(),
              HasSubstr("dot 2: 'ours' in process 0, 'onednn 3.2.0' in process 1"));
}

TEST_F(ProcessesTest, EachHasTheDevicesOfAll) {
  makeBoth();
  for (int process = 0; process < 2; ++process) {
    const Client &one = *clients[static_cast<size_t>(process)];
    ASSERT_EQ(one.devices().size(), 3U);
    EXPECT_EQ(one.addressableDevices().size(), size_t(process) + 1);
    for (int id = 0; id < 3; ++id) {
      const Device &device = *one.devices()[static_cast<size_t>(id)];
      EXPECT_EQ(device.id(), id);
      EXPECT_EQ(device.processIndex(), id == 0 ? 0 : 1);
      EXPECT_EQ(device.localId(), id == 2 ? 1 : 0);
      EXPECT_EQ(device.isAddressable(), device.processIndex() == process);
      EXPECT_EQ(device.memories().empty(), !device.isAddressable());
    }
  }
  // An assignment that fits in one process uses only that process.
  EXPECT_EQ(clients[1]->defaultAssignment(1, 2)->devices, (std::vector<int>{1, 2}));
  EXPECT_EQ(clients[1]->defaultAssignment(1, 3)->devices, (std::vector<int>{0, 1, 2}));
}

TEST_F(ProcessesTest, AProgramRunsOnAllTogether) {
  makeBoth();
  programs->byName["sum"] = {addUp, 0};
  auto [first, second] = loadBoth(sum(), sum());
  ASSERT_TRUE(first.isOk()) << std::move(first).takeStatus().toString();
  ASSERT_TRUE(second.isOk()) << std::move(second).takeStatus().toString();
  for (float round = 1; round < 20; ++round) {
    auto other = std::async(std::launch::async, [&] { return runOn(**second, 10 * round); });
    auto own = runOn(**first, round);
    ASSERT_TRUE(own.isOk()) << std::move(own).takeStatus().toString();
    EXPECT_EQ(*own, std::vector<float>(length, 21 * round));
    EXPECT_EQ(*other.get(), *own);
  }
}

TEST_F(ProcessesTest, CollectivesUseLargeBlocksInPlace) {
  makeBoth();
  for (const std::unique_ptr<Client> &client : clients) {
    EXPECT_TRUE(usesInPlace(*client, 1 << 20));
    EXPECT_TRUE(usesInPlace(*client, 16 << 10));
    EXPECT_FALSE(usesInPlace(*client, 4 << 10)); // travels in a slot
  }
}

TEST_F(ProcessesTest, WhatAllDidIsRecordedWhereTheOptionSays) {
  char folder[] = "/tmp/tilewright-notes-XXXXXX";
  notes = mkdtemp(folder);
  makeBoth();
  programs->byName["sum"] = {addUp, 0};
  auto [first, second] = loadBoth(sum(), sum());
  ASSERT_TRUE(first.isOk() && second.isOk());
  for (int round = 0; round < 3; ++round) {
    auto other = std::async(std::launch::async, [&] { return runOn(**second, 1); });
    EXPECT_TRUE(runOn(**first, 1).isOk());
    EXPECT_TRUE(other.get().isOk());
  }
  std::vector<std::string> remarks;
  auto view = collective::record::viewOf({notes}, "", 100, remarks);
  ASSERT_TRUE(view.isOk()) << std::move(view).takeStatus().toString();
  // Both processes have the same name for the job.
  EXPECT_TRUE(remarks.empty()) << remarks.front();
  EXPECT_EQ((*view)->ranks().size(), 3U);
  EXPECT_EQ((*view)->visits().size(), 9U);
  EXPECT_EQ((*view)->cliques().at(0).engine, "shm");
  EXPECT_FALSE(collective::record::diagnose(**view, std::chrono::seconds(1)).isHung);

  ClientOptions options = optionsOf(0);
  options.processCount = 1;
  options.runtime.flightRecorder = "/proc/none";
  EXPECT_EQ(make(options).takeStatus().error(), Error::recorderFile);
  options.runtime.flightRecorder = notes;
  options.runtime.flightRecorderEntries = 1000;
  EXPECT_EQ(make(options).takeStatus().error(), Error::optionValue);
  clients.clear();
  std::filesystem::remove_all(notes);
}

TEST_F(ProcessesTest, OneThatFailsTellsTheOthers) {
  makeBoth();
  programs->byName["sum"] = {[](const ProgramRun &run) {
                               return run.partition == 0 ? Status(Code::internal, "a bad day")
                                                         : addUp(run);
                             },
                             0};
  auto [first, second] = loadBoth(sum(), sum());
  ASSERT_TRUE(first.isOk() && second.isOk());
  auto other = std::async(std::launch::async, [&] { return runOn(**second, 1); });
  EXPECT_THAT(runOn(**first, 1).takeStatus().message(), HasSubstr("a bad day"));
  Status status = other.get().takeStatus();
  EXPECT_EQ(status.error(), Error::collectiveAborted);
  EXPECT_THAT(status.message(), HasSubstr("rank 0 failed"));
  EXPECT_THAT(status.message(), HasSubstr("a bad day"));
}

/// Process 0 has one device, so without asynchrony its program runs inside execute(). Its failure
/// must end the run of the others; if it did not, they would wait for the next run of process 0 and
/// add up values of two runs.
TEST_F(ProcessesTest, OneThatFailsInsideExecuteTellsTheOthers) {
  isAsynchronous = false;
  makeBoth();
  std::atomic<bool> isBad = true;
  programs->byName["sum"] = {[&](const ProgramRun &run) {
                               return run.partition == 0 && isBad.exchange(false)
                                          ? Status(Code::internal, "a bad day")
                                          : addUp(run);
                             },
                             0};
  auto [first, second] = loadBoth(sum(), sum());
  ASSERT_TRUE(first.isOk() && second.isOk());
  auto other = std::async(std::launch::async, [&] { return runOn(**second, 1); });
  EXPECT_THAT(runOn(**first, 1).takeStatus().message(), HasSubstr("a bad day"));
  // The second run of process 0 must not meet the first run of process 1.
  EXPECT_EQ(runOn(**first, 10).takeStatus().error(), Error::collectiveAborted);
  Status status = other.get().takeStatus();
  EXPECT_EQ(status.error(), Error::collectiveAborted);
  EXPECT_THAT(status.message(), HasSubstr("rank 0 failed"));
  EXPECT_THAT(status.message(), HasSubstr("a bad day"));
}

/// Programs of a failed epoch stay failed. The processes reconnect, and programs loaded after that
/// work.
TEST_F(ProcessesTest, AfterAFailureProgramsAreLoadedAgain) {
  makeBoth();
  std::atomic<bool> isBad = true;
  programs->byName["sum"] = {[&](const ProgramRun &run) {
                               return isBad && run.partition == 0
                                          ? Status(Code::internal, "a bad day")
                                          : addUp(run);
                             },
                             0};
  auto [first, second] = loadBoth(sum(), sum());
  ASSERT_TRUE(first.isOk() && second.isOk());
  EXPECT_TRUE(usesInPlace(*clients[0], 1 << 20)); // the block is cached from then on
  auto other = std::async(std::launch::async, [&] { return runOn(**second, 1); });
  EXPECT_FALSE(runOn(**first, 1).isOk());
  EXPECT_FALSE(other.get().isOk());
  isBad = false;
  EXPECT_EQ(runOn(**second, 1).takeStatus().error(), Error::collectiveAborted);
  auto [again, alsoAgain] = loadBoth(sum(), sum());
  ASSERT_TRUE(again.isOk()) << std::move(again).takeStatus().toString();
  ASSERT_TRUE(alsoAgain.isOk()) << std::move(alsoAgain).takeStatus().toString();
  EXPECT_TRUE(usesInPlace(*clients[0], 1 << 20));
  auto third = std::async(std::launch::async, [&] { return runOn(**alsoAgain, 10); });
  auto own = runOn(**again, 1);
  ASSERT_TRUE(own.isOk()) << std::move(own).takeStatus().toString();
  EXPECT_EQ(*own, std::vector<float>(length, 21));
  EXPECT_EQ(*third.get(), *own);
}

TEST_F(ProcessesTest, WhoHasLeftIsNamedWhenAProgramNeedsIt) {
  makeBoth();
  programs->byName["sum"] = {addUp, 0};
  clients[1].reset();
  Status status = clients[0]->load(sum(), {1, 3, {0, 1, 2}}).takeStatus();
  EXPECT_EQ(status.error(), Error::epochOver);
  EXPECT_THAT(status.message(), HasSubstr("process 1 is no longer in the job"));
}

TEST_F(ProcessesTest, AnotherPlanIsRefusedByAll) {
  makeBoth();
  programs->byName["sum"] = {addUp, 0};
  auto [first, second] = loadBoth(sum(), sum(collective::ReductionKind::maximum));
  for (Loaded *loaded : {&first, &second}) {
    Status status = std::move(*loaded).takeStatus();
    EXPECT_EQ(status.error(), Error::commPlanDiffers);
    EXPECT_THAT(status.message(), HasSubstr("while loading 'sum'"));
    EXPECT_THAT(status.message(), HasSubstr("process 1 has plan"));
  }
  auto [again, alsoAgain] = loadBoth(sum(), sum());
  EXPECT_TRUE(again.isOk() && alsoAgain.isOk());
}

TEST_F(ProcessesTest, CollectivesWithoutAPlanAreRefused) {
  makeBoth();
  programs->byName["sum"] = {addUp, 0};
  auto executable = sum();
  executable->communication.clear();
  Status status = clients[0]->load(executable, {1, 3, {0, 1, 2}}).takeStatus();
  EXPECT_EQ(status.error(), Error::commPlanForeign);
}

TEST_F(ProcessesTest, AProgramOfOthersAloneIsRefused) {
  makeBoth();
  programs->byName["sum"] = {addUp, 0};
  auto executable = sum();
  executable->partitions = 1;
  executable->communication.clear();
  executable->blocks[0].steps.clear();
  Status status = clients[1]->load(executable, {1, 1, {0}}).takeStatus();
  EXPECT_EQ(status.error(), Error::deviceAssignment);
  EXPECT_THAT(status.message(), HasSubstr("none of which belongs to this process"));
}

TEST_F(ProcessesTest, WhoDoesNotComeIsNamed) {
  ClientOptions options = optionsOf(0);
  options.runtime.collectiveTimeout = 1;
  Status status = make(options).takeStatus();
  EXPECT_EQ(status.error(), Error::ranksNotConnected);
  EXPECT_THAT(status.message(), HasSubstr("waited 1 s for process 1 to create its client"));
}

TEST_F(ProcessesTest, ANoteThatCannotBeReadIsRefused) {
  ASSERT_TRUE(store->put("tilewright/process/1", "tilewright-process-0\n").isOk());
  Status status = make(optionsOf(0)).takeStatus();
  EXPECT_EQ(status.error(), Error::ranksNotConnected);
  EXPECT_THAT(status.message(), HasSubstr("use the same version"));
}

TEST_F(ProcessesTest, ProcessesOfAnotherJobAreRefused) {
  ASSERT_TRUE(
      store->put("tilewright/process/1", "tilewright-process-3\nh\ntest\nname\nchoices\n3\n1\n")
          .isOk());
  Status status = make(optionsOf(0)).takeStatus();
  EXPECT_EQ(status.error(), Error::ranksNotConnected);
  EXPECT_THAT(status.message(), HasSubstr("is one of 3 processes"));
}

TEST_F(ProcessesTest, SeveralNeedAStore) {
  ClientOptions options = optionsOf(0);
  options.store = nullptr;
  EXPECT_EQ(make(options).takeStatus().error(), Error::ranksNotConnected);
}

} // namespace
} // namespace tilewright::runtime
