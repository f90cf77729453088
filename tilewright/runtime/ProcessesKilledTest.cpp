// Clients in real processes, some of which are killed.
#include "tilewright/collective/testing/Processes.h"
#include "tilewright/runtime/testing/Sums.h"
#include "tilewright/support/Concat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace tilewright::runtime {
namespace {

using namespace std::chrono_literals;
using collective::test::Report;
using collective::test::slowness;
using ::testing::HasSubstr;
using ::testing::Not;

class ProcessesKilledTest : public SumFixture {
protected:
  static Result<float> runOnce(Client &client, LoadedExecutable &executable) {
    const std::vector<float> host(length, 1);
    TILEWRIGHT_ASSIGN(auto argument,
                      Buffer::fromHost({host.data(), floats(), {}},
                                       client.addressableDevices()[0]->defaultMemory()));
    TILEWRIGHT_ASSIGN(Execution run, execute(executable, {argument.get()}));
    TILEWRIGHT_TRY(run.done[0].await());
    return read(*run.results[0][0])[0];
  }
  static Status sumForEver(Client &client, LoadedExecutable &executable, float expected,
                           const std::function<void()> &onFirst) {
    for (int round = 0;; ++round) {
      TILEWRIGHT_ASSIGN(const float sum, runOnce(client, executable));
      if (sum != expected)
        return Status(Code::internal, concat("a sum is ", sum, ", not ", expected));
      if (round == 10)
        onFirst();
    }
  }

  /// Three processes; kills the victim while all of them sum, and removes the store.
  void expectSurvived(size_t victim) {
    programs->byName["sum"] = {addUp, 0};
    std::vector<int> left;
    for (int process = 0; process < 3; ++process)
      if (static_cast<size_t>(process) != victim)
        left.push_back(process);
    collective::test::Processes processes;
    for (int process = 0; process < 3; ++process)
      processes.start([&, process](tilewright::KeyValueStore &store, Report &report) -> Status {
        ClientOptions options;
        options.processIndex = process;
        options.processCount = 3;
        // The store outlives the client here.
        options.store = std::shared_ptr<tilewright::KeyValueStore>(&store, [](auto *) {});
        options.runtime.collectiveTimeout = 30;
        TILEWRIGHT_ASSIGN(auto client,
                          Client::create(options, std::make_unique<TestBackend>(1, programs)));
        TILEWRIGHT_ASSIGN(auto all, client->load(sumOf(3), {1, 3, {0, 1, 2}}));
        Status status = sumForEver(*client, *all, 3, [&] { report.say("sums 3"); });
        report.say(concat("noticed: ", status.toString()));
        // Programs loaded for the dead process stay failed, and loading a program that needs it
        // fails.
        report.say(concat("again: ", runOnce(*client, *all).takeStatus().toString()));
        report.say(
            concat("all: ", client->load(sumOf(3), {1, 3, {0, 1, 2}}).takeStatus().toString()));
        TILEWRIGHT_ASSIGN(auto fewer, client->load(sumOf(2), {1, 2, left}));
        (void)sumForEver(*client, *fewer, 2, [&] { report.say("sums 2"); });
        return Status();
      });
    for (size_t process = 0; process < 3; ++process)
      processes.awaitText(process, "sums 3");
    processes.removeStore();
    const auto killed = std::chrono::steady_clock::now();
    processes.signal(victim, SIGKILL);
    for (int process : left) {
      const auto child = static_cast<size_t>(process);
      const Deadline noticed = processes.awaitText(child, "noticed"),
                     healed = processes.awaitText(child, "sums 2");
      EXPECT_LT(noticed - killed, 50ms * slowness());
      EXPECT_LT(healed - killed, 200ms * slowness());
      const std::string &said = processes.said(child);
      EXPECT_THAT(said, HasSubstr("noticed: E6003"));
      EXPECT_THAT(said, HasSubstr(concat("rank ", victim)));
      EXPECT_THAT(said, HasSubstr("'all_reduce.3'"));
      EXPECT_THAT(said, HasSubstr("train.py:41"));
      EXPECT_THAT(said, HasSubstr("again: E6003"));
      EXPECT_THAT(said, HasSubstr(concat("process ", victim, " is no longer in the job")));
      EXPECT_THAT(said, Not(HasSubstr("failed:")));
    }
  }
};

TEST_F(ProcessesKilledTest, TheOthersLoadAgainAndGoOn) { expectSurvived(1); }
TEST_F(ProcessesKilledTest, AlsoWithoutTheFirst) { expectSurvived(0); }

} // namespace
} // namespace tilewright::runtime
