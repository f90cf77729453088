// Tests with processes that mpiexec starts, with an MPI that has the standard ABI.
#include "tilewright/collective/mpi/MpiEngine.h"
#include "tilewright/collective/mpi/Port.h"
#include "tilewright/collective/testing/Processes.h"
#include "tilewright/support/Concat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <thread>

namespace tilewright::collective::mpi {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

/// The output of all processes, and the exit status of mpiexec.
struct Answer {
  std::string text;
  int status = 0;
  /// The number after `before` in the line of a rank.
  double number(int rank, const std::string &before) const {
    const size_t at = text.find(concat("rank ", rank, ": ", before));
    EXPECT_NE(at, std::string::npos) << text;
    return at == std::string::npos
               ? -1
               : std::stod(text.substr(at + concat("rank ", rank, ": ", before).size()));
  }
};

/// Files that MPICH leaves behind if it is not finalized.
std::set<std::filesystem::path> filesOfMpich() {
  std::set<std::filesystem::path> files;
  std::error_code ignored;
  for (const auto &file : std::filesystem::directory_iterator("/dev/shm", ignored))
    if (file.path().filename().string().starts_with("mpich_shm_"))
      files.insert(file.path());
  return files;
}

/// Whether mpiexec ends all processes when one dies, as it does for users, or the others survive
/// because a shell in between ignores the signal that reports deaths.
enum class Deaths { end, survive };

/// Waits until `speakers` of the processes have reported how they ended.
Answer run(int processes, const std::string &what, int speakers = -1,
           Deaths deaths = Deaths::survive) {
  std::string directory = std::filesystem::temp_directory_path() / "tilewright-mpi-XXXXXX";
  EXPECT_TRUE(mkdtemp(directory.data()));
  const std::string program =
      std::filesystem::read_symlink("/proc/self/exe").replace_filename("MpiRank");
  const std::string guard =
      deaths == Deaths::end
          ? ""
          : "sh -c 'trap \"\" USR1; \"$0\" \"$@\"; s=$?; [ $s = 137 ] || exit $s' ";
  // The host name need not resolve, so use localhost. Leaks at exit are MPI's;
  // MpiConformanceTest looks for leaks of our transport.
  const std::string command = concat(
      "ASAN_OPTIONS=detect_leaks=0 timeout 100 '" TILEWRIGHT_TEST_MPIEXEC "' -localhost localhost ",
      deaths == Deaths::end ? "" : "-disable-auto-cleanup ", "-n ", processes, " ", guard, "'",
      program, "' '" TILEWRIGHT_TEST_MPI_LIBRARY "' ", directory, " ", what, " > ", directory,
      "/mpiexec 2>&1");
  const std::set<std::filesystem::path> before = filesOfMpich();
  Answer answer;
  answer.status = std::system(command.c_str());
  auto contents = [&](const char *name) {
    std::ifstream file(concat(directory, "/", name));
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::regex end("rank [0-9]+: (done|failed)");
  for (const Deadline deadline = after(20s); std::chrono::steady_clock::now() < deadline;) {
    answer.text = contents("said");
    if (std::distance(std::sregex_iterator(answer.text.begin(), answer.text.end(), end), {}) >=
        (speakers < 0 ? processes : speakers))
      break;
    std::this_thread::sleep_for(10ms);
  }
  answer.text += contents("mpiexec");
  std::filesystem::remove_all(directory);
  for (const std::filesystem::path &file : filesOfMpich())
    if (!before.contains(file))
      std::filesystem::remove(file);
  return answer;
}

/// In child processes, because a process can load only one MPI.
TEST(MpiEngine, OneThatIsNoneOrOfAnotherAbiIsNamed) {
  auto answer = [](const std::string &library) {
    test::Processes processes;
    processes.start([&](KeyValueStore &, test::Report &report) {
      report.say(Library::load(library).takeStatus().toString());
      return Status();
    });
    EXPECT_EQ(processes.end(0), "");
    return processes.said(0);
  };
  EXPECT_THAT(answer("libmpi-of-nobody.so"),
              HasSubstr("E6060 collective: mpi: cannot load 'libmpi-of-nobody"));
  EXPECT_THAT(answer("libm.so.6"), HasSubstr("so it does not implement the standard ABI"));
}

TEST(MpiEngine, EveryKindOfCollectiveIsRightBetweenProcesses) {
  const Answer answer = run(4, "work");
  EXPECT_EQ(answer.status, 0) << answer.text;
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_THAT(answer.text, HasSubstr(concat("rank ", rank, ": 100 steps were right")));
}

/// 2 (h - 1) / h of a tensor for two hosts: its size once.
TEST(MpiEngine, CarriesMessagesBetweenHosts) {
  const Answer answer = run(4, "hosts");
  EXPECT_EQ(answer.status, 0) << answer.text;
  uint64_t left = 0;
  for (int rank = 0; rank < 4; ++rank)
    left += static_cast<uint64_t>(answer.number(rank, "100 steps were right, "));
  EXPECT_EQ(left, 2 * (size_t(4) << 20)) << answer.text;
}

/// MPI itself does not report the death.
TEST(MpiEngine, AKilledProcessIsNamedByTheGroupAndTheOthersGoOn) {
  const Answer answer = run(3, "killed", 2);
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_LT(answer.number(rank, "after "), 50 * test::slowness()) << answer.text;
    EXPECT_LT(answer.number(rank, "summed again after "), 200 * test::slowness());
    EXPECT_THAT(answer.text, HasSubstr(concat("rank ", rank, ": done")));
  }
  EXPECT_THAT(answer.text, HasSubstr("because rank 2 of process 2"));
  EXPECT_THAT(answer.text,
              HasSubstr("'all_reduce.3' (all_reduce, order 0) of f32[5000] at train.py:41"));
}

/// Printed, not checked: the cost of our own sums over MPI's messages.
TEST(MpiEngine, IsTimedBesideTheMpiItUses) {
  const Answer answer = run(2, "timed");
  EXPECT_EQ(answer.status, 0) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("16777216 B: ours"));
  std::cout << answer.text;
}

TEST(MpiEngine, WhoNeverBeginsMpiIsNotWaitedForWithoutEnd) {
  const Answer answer = run(2, "alone");
  EXPECT_THAT(answer.text, HasSubstr("rank 0: E6032 collective: mpi: MPI_Init_thread of '"));
  EXPECT_THAT(answer.text, HasSubstr("rank 0: done"));
  EXPECT_THAT(answer.text, HasSubstr("rank 1: done"));
}

/// A process that exits without MPI_Finalize makes mpiexec kill the others.
TEST(MpiEngine, AProcessThatExitsLateIsWaitedFor) {
  const Answer answer = run(2, "late", 2, Deaths::end);
  EXPECT_EQ(answer.status, 0) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("rank 1: done"));
}

TEST(MpiEngine, AProcessOfAnotherWorldIsNamed) {
  const Answer answer = run(2, "strange");
  EXPECT_THAT(
      answer.text,
      HasSubstr("E6032 collective: rank 1 (process 1) has MPI rank 5, but MPI_COMM_WORLD "
                "of process 0 has 2 ranks; start all processes with the same mpiexec command"));
}

MpiEngine::Options optionsHere() {
  MpiEngine::Options options;
  options.library = TILEWRIGHT_TEST_MPI_LIBRARY;
  options.connectTimeout = 20s;
  return options;
}

/// Both are in this process, which is an MPI world of its own.
TEST(MpiEngine, ALateRankOfAnotherEpochIsFencedAndTheOthersMeetAllTheSame) {
  MemoryKeyValueStore store;
  std::unique_ptr<MpiEngine> first;
  std::thread waiting([&] {
    auto made = MpiEngine::connect(test::membershipOf(0, 2, 5), store, optionsHere());
    ASSERT_TRUE(made.isOk()) << std::move(made).takeStatus().toString();
    first = *std::move(made);
  });
  test::StaleStore stale(store, 4, 5);
  const Status late =
      MpiEngine::connect(test::membershipOf(1, 2, 4), stale, optionsHere()).takeStatus();
  EXPECT_EQ(late.error(), Error::rankFenced) << late.toString();
  EXPECT_THAT(late.message(), HasSubstr("with epoch 4, but the current epoch is 5"));
  auto second = MpiEngine::connect(test::membershipOf(1, 2, 5), store, optionsHere());
  EXPECT_TRUE(second.isOk()) << std::move(second).takeStatus().toString();
  waiting.join();
}

TEST(MpiEngine, ARankThatDoesNotComeIsNamed) {
  MemoryKeyValueStore store;
  MpiEngine::Options options = optionsHere();
  options.connectTimeout = 200ms;
  const Status status = MpiEngine::connect(test::membershipOf(0, 2), store, options).takeStatus();
  EXPECT_EQ(status.error(), Error::ranksNotConnected);
  EXPECT_THAT(status.message(), HasSubstr("waiting for rank 1 to connect"));
}

TEST(MpiEngine, NothingIsLeftBehind) {
  auto connectBoth = [] {
    MemoryKeyValueStore store;
    std::unique_ptr<MpiEngine> engines[2];
    std::thread threads[2];
    for (int64_t i = 0; i < 2; ++i)
      threads[i] = std::thread([&, i] {
        auto made = MpiEngine::connect(test::membershipOf(i, 2), store, optionsHere());
        ASSERT_TRUE(made.isOk()) << std::move(made).takeStatus().toString();
        engines[i] = *std::move(made);
      });
    for (std::thread &thread : threads)
      thread.join();
  };
  connectBoth(); // allocates what MPI keeps
  const test::Census before = test::Census::take();
  for (int round = 0; round < 100; ++round)
    connectBoth();
  const test::Census later = test::Census::take();
  EXPECT_EQ(later.descriptors, before.descriptors);
  EXPECT_EQ(later.threads, before.threads);
}

} // namespace
} // namespace tilewright::collective::mpi
