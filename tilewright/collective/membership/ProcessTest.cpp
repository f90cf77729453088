// Groups of real processes that are killed and stopped, with engines between them.
#include "tilewright/collective/conformance/EngineProcesses.h"
#include "tilewright/collective/membership/Group.h"
#include "tilewright/collective/shm/ShmEngine.h"
#include "tilewright/collective/tcp/TcpEngine.h"
#include "tilewright/collective/testing/Processes.h"
#include "tilewright/support/Concat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace tilewright::collective::membership {
namespace {

using namespace std::chrono_literals;
using test::membershipOf;
using test::Processes;
using test::Report;
using test::slowness;
using ::testing::HasSubstr;

/// The setup of a job in these tests.
struct Job {
  test::Connect connect;
  int64_t processes = 3;
  std::vector<std::string> hosts; // by process; empty: all on this host
  size_t count = 1;               // numbers in a sum
  /// Called before each sum.
  std::function<void(int64_t process, int round)> before;
};

test::Connect shmConnect() { return test::connectWith<shm::ShmEngine>({}); }

test::Connect tcpConnect() {
  tcp::TcpEngine::Options options;
  options.address = "127.0.0.1";
  return test::connectWith<tcp::TcpEngine>(options);
}

/// Sums forever, in one view after the other. Reports "epoch E sums N" after the first sum of a
/// view, and "epoch E over: WHY" when the view ends.
Status sumThroughAll(const Job &setup, int64_t process, KeyValueStore &store, Report &report) {
  const Membership job = membershipOf(process, setup.processes);
  Group::Config config;
  config.process = process;
  for (int64_t other = 0; other < setup.processes; ++other)
    config.processes.push_back(other);
  config.address = "127.0.0.1";
  if (!setup.hosts.empty())
    config.host = setup.hosts[static_cast<size_t>(process)];
  TILEWRIGHT_ASSIGN(auto group, Group::join(config, store, after(20s)));
  View view = group->view();
  while (true) {
    // From here on the bootstrap store is not needed.
    const std::unique_ptr<KeyValueStore> notes = group->store(view.epoch);
    Result<std::unique_ptr<Engine>> engine =
        setup.connect(view.membershipOf(job), *notes, 60s, 20s);
    Status status;
    if (engine.isOk()) {
      auto watch = group->watch(view.epoch,
                                [&](const Reason &why) { (*engine)->revoke(why.toString(job)); });
      RunMembership own;
      own.run = 1;
      own.members = view.ranksOf(job);
      own.ranks = static_cast<int64_t>(own.members.size());
      own.rank = std::find(own.members.begin(), own.members.end(), process) - own.members.begin();
      TILEWRIGHT_ASSIGN(auto communicator, (*engine)->join(own));
      for (int round = 0; status.isOk(); ++round) {
        if (setup.before)
          setup.before(process, round);
        status = test::sumOnes(*communicator, setup.count, static_cast<float>(own.ranks));
        if (status.isOk() && round == 10)
          report.say(concat("epoch ", view.epoch, " sums ", own.ranks));
      }
      watch.reset();
      communicator.reset();
    } else {
      status = std::move(engine).takeStatus();
    }
    report.say(concat("epoch ", view.epoch, " over: ", status.toString()));
    if (status.code() == Code::internal)
      return status; // a wrong sum
    group->revoke(view.epoch, {process, process, {}, {}, status.message()});
    Result<View> next = group->agree(view.epoch, after(20s));
    if (!next.isOk()) {
      report.say(concat("out: ", std::move(next).takeStatus().toString()));
      return Status();
    }
    view = *std::move(next);
  }
}

void startAll(Processes &processes, const Job &setup) {
  for (int64_t process = 0; process < setup.processes; ++process)
    processes.start([&setup, process](KeyValueStore &store, Report &report) {
      return sumThroughAll(setup, process, store, report);
    });
  for (int64_t process = 0; process < setup.processes; ++process)
    processes.awaitText(static_cast<size_t>(process), concat("epoch 0 sums ", setup.processes));
}

double milliseconds(Deadline::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

/// Kills the victims, all at once. The others name them and the collective within 50 ms, and sum
/// again without them within 200 ms, although the bootstrap store is gone.
void expectSurvived(Job setup, const std::vector<size_t> &victims) {
  Processes processes;
  startAll(processes, setup);
  processes.removeStore();
  std::vector<size_t> survivors;
  for (size_t process = 0; process < static_cast<size_t>(setup.processes); ++process)
    if (std::find(victims.begin(), victims.end(), process) == victims.end())
      survivors.push_back(process);
  const auto killed = std::chrono::steady_clock::now();
  for (size_t victim : victims)
    processes.signal(victim, SIGKILL);
  double noticed = 0, healed = 0;
  for (size_t process : survivors) {
    noticed =
        std::max(noticed, milliseconds(processes.awaitText(process, "epoch 0 over") - killed));
    healed = std::max(
        healed,
        milliseconds(processes.awaitText(process, concat(" sums ", survivors.size())) - killed));
    const std::string said = processes.said(process);
    EXPECT_THAT(said, HasSubstr("'all_reduce.3'"));
    EXPECT_THAT(said, HasSubstr("train.py:41"));
    EXPECT_THAT(said, HasSubstr("rank"));
    EXPECT_THAT(said, ::testing::Not(HasSubstr("failed:")));
  }
  std::cout << "noticed after " << noticed << " ms, summed again after " << healed << " ms\n";
  EXPECT_LT(noticed, 50 * slowness());
  EXPECT_LT(healed, 200 * slowness());
}

class Engines : public ::testing::TestWithParam<bool> {
protected:
  static test::Connect connect() { return GetParam() ? tcpConnect() : shmConnect(); }
  /// Processes of one host see each other's end; between hosts they only lose the connection.
  static std::vector<std::string> hosts(size_t count) {
    std::vector<std::string> names;
    for (size_t i = 0; GetParam() && i < count; ++i)
      names.push_back(concat("host", i));
    return names;
  }
};

TEST_P(Engines, SurviveOneOfThree) { expectSurvived({connect(), 3, hosts(3), 1, {}}, {2}); }
TEST_P(Engines, SurviveWhoLeads) { expectSurvived({connect(), 3, hosts(3), 5000, {}}, {0}); }
TEST_P(Engines, SurviveTwoOfFiveAtOnce) { expectSurvived({connect(), 5, hosts(5), 1, {}}, {0, 3}); }
TEST_P(Engines, SurviveAllOthersOnAHost) { expectSurvived({connect(), 4, {}, 1, {}}, {0, 1, 3}); }
TEST_P(Engines, SurviveTheFirstOfTwo) { expectSurvived({connect(), 2, {}, 1, {}}, {0}); }

/// A stopped process is silent, so it is evicted; when it resumes, it is told so.
TEST_P(Engines, GoOnWithoutWhoIsStopped) {
  const Job setup{connect(), 3, hosts(3), 1, {}};
  Processes processes;
  startAll(processes, setup);
  const auto stopped = std::chrono::steady_clock::now();
  processes.signal(1, SIGSTOP);
  double noticed = 0, healed = 0;
  for (size_t process : {0, 2}) {
    noticed =
        std::max(noticed, milliseconds(processes.awaitText(process, "epoch 0 over") - stopped));
    healed =
        std::max(healed, milliseconds(processes.awaitText(process, "epoch 1 sums 2") - stopped));
    EXPECT_THAT(processes.said(process), HasSubstr("rank 1 of process 1: its heartbeats stopped"));
  }
  std::cout << "noticed after " << noticed << " ms, summed again after " << healed << " ms\n";
  EXPECT_LT(noticed, 500 * slowness());
  EXPECT_LT(healed, 700 * slowness());
  processes.signal(1, SIGCONT);
  EXPECT_EQ(processes.end(1), "") << processes.said(1);
  EXPECT_THAT(processes.said(1), HasSubstr("out: E6033"));
}

/// A process that computes for long is late, not dead: it is not evicted.
TEST_P(Engines, WaitForWhoComputes) {
  Job setup{connect(), 3, hosts(3), 1, {}};
  setup.before = [](int64_t process, int round) {
    if (process != 1 || round != 5)
      return;
    const Deadline end = after(1500ms);
    volatile double value = 1;
    while (std::chrono::steady_clock::now() < end)
      value = value * 1.0000001;
  };
  Processes processes;
  startAll(processes, setup);
  for (size_t process : {0, 1, 2})
    EXPECT_THAT(processes.said(process), ::testing::Not(HasSubstr("over")));
}

/// Between hosts a dead process cannot be distinguished from an unreachable one.
TEST(GroupProcesses, EndWhereTooFewAreLeft) {
  const Job setup{tcpConnect(), 3, {"a", "b", "c"}, 1, {}};
  Processes processes;
  startAll(processes, setup);
  processes.signal(0, SIGKILL);
  processes.signal(1, SIGKILL);
  EXPECT_EQ(processes.end(2), "") << processes.said(2);
  EXPECT_THAT(processes.said(2), HasSubstr("out: E6040"));
}

INSTANTIATE_TEST_SUITE_P(All, Engines, ::testing::Bool(),
                         [](const auto &info) { return info.param ? "Tcp" : "Shm"; });

} // namespace
} // namespace tilewright::collective::membership
