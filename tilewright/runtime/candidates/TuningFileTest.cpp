#include "tilewright/runtime/candidates/TuningFile.h"

#include "tilewright/support/Concat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tilewright::runtime {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// The record of problem `number`; `version` changes its times.
Decision record(int number, int version = 0) {
  Decision decision{.problem = concat("dot ", number)};
  for (int i = 0; i < 3; ++i)
    decision.candidates.push_back(
        {concat("kernel ", i), i < 2 ? "panels" : "vector", 1e-3 * (i + 1) + 1e-6 * version});
  decision.absent.push_back("onednn: not installed");
  return decision;
}

std::string textOf(const Decision &decision) {
  std::string text = decision.problem;
  for (const Candidate &candidate : decision.candidates)
    text += concat("\n", candidate.name, " ", candidate.order, " ", candidate.seconds);
  for (const std::string &reason : decision.absent)
    text += concat("\n", reason);
  return text;
}

class TuningFileTest : public testing::Test {
protected:
  TuningFileTest() {
    std::string pattern = (fs::temp_directory_path() / "tuning-XXXXXX").string();
    folder = mkdtemp(pattern.data());
    path = folder / "tuning";
  }
  ~TuningFileTest() override { fs::remove_all(folder); }

  std::shared_ptr<TuningFile> open() const {
    Result<std::shared_ptr<TuningFile>> file = TuningFile::open(path.string());
    if (!file.isOk()) {
      ADD_FAILURE() << std::move(file).takeStatus().toString();
      return nullptr;
    }
    return *std::move(file);
  }
  std::string bytes() const {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return std::move(text).str();
  }
  void write(const std::string &text) const {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  }
  /// Each problem of the file has a record that was written, and a new one can be added: that of
  /// number `problems`, maybe not for the first time.
  void expectOnlyRecordsThatWereWritten(int problems, int versions) const {
    std::shared_ptr<TuningFile> file = open();
    ASSERT_TRUE(file);
    for (const Decision &found : file->decisions()) {
      bool wasWritten = false;
      for (int number = 0; number <= problems; ++number)
        for (int version = 0; version < versions; ++version)
          wasWritten |= textOf(found) == textOf(record(number, version));
      EXPECT_TRUE(wasWritten) << textOf(found);
    }
    ASSERT_TRUE(file->add(record(problems)).isOk());
    std::optional<Decision> added = open()->find(record(problems).problem);
    ASSERT_TRUE(added);
    EXPECT_EQ(textOf(*added), textOf(record(problems)));
  }

  fs::path folder, path;
};

TEST_F(TuningFileTest, KeepsMeasurementsAndTheLastOneCounts) {
  std::shared_ptr<TuningFile> first = open(), second = open();
  EXPECT_EQ(first->find("dot 1"), std::nullopt);
  ASSERT_TRUE(first->add(record(1)).isOk());
  // The second reader sees what the first has added since.
  EXPECT_EQ(textOf(second->find("dot 1").value()), textOf(record(1)));
  ASSERT_TRUE(second->add(record(1, 7)).isOk());
  EXPECT_EQ(textOf(open()->find("dot 1").value()), textOf(record(1, 7)));
  EXPECT_EQ(first->decisions().size(), 1u);
}

TEST_F(TuningFileTest, NamesWithSeparatorsStayOneRecord) {
  Decision odd{.problem = "a\tb\nc|d", .candidates = {{"x|y\n", "o\tp", 1e-3}}};
  ASSERT_TRUE(open()->add(odd).isOk());
  std::vector<Decision> found = open()->decisions();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].problem, "a b c d");
  EXPECT_EQ(found[0].candidates[0].name, "x y ");
}

TEST_F(TuningFileTest, AFileOfAnotherKindIsNeitherReadNorChanged) {
  write("my thesis\n");
  Result<std::shared_ptr<TuningFile>> file = TuningFile::open(path.string());
  ASSERT_FALSE(file.isOk());
  EXPECT_THAT(std::move(file).takeStatus().toString(), HasSubstr("is not a tuning file"));
  // Also if it appears later.
  fs::remove(path);
  std::shared_ptr<TuningFile> early = open();
  write("my thesis\n");
  EXPECT_EQ(early->add(record(1)).error(), Error::tuningUnwritable);
  EXPECT_EQ(bytes(), "my thesis\n");
  EXPECT_FALSE(TuningFile::open(folder.string()).isOk());
}

TEST_F(TuningFileTest, AFolderThatCannotBeWrittenIsAnErrorWithTheReason) {
  Result<std::shared_ptr<TuningFile>> file = TuningFile::open("/proc/no-such-folder/tuning");
  ASSERT_TRUE(file.isOk());
  const Status status = (*file)->add(record(1));
  EXPECT_EQ(status.error(), Error::tuningUnwritable);
  EXPECT_THAT(status.toString(), HasSubstr("No such file"));
}

/// Bit flips, lost parts, inserted bytes and lines of other versions.
TEST_F(TuningFileTest, DamageNeverChangesARecord) {
  constexpr int problems = 6, faults = 600;
  std::shared_ptr<TuningFile> file = open();
  for (int number = 0; number < problems; ++number)
    ASSERT_TRUE(file->add(record(number)).isOk());
  const std::string whole = bytes();
  const size_t heading = whole.find('\n') + 1;
  std::mt19937 random(5);
  auto below = [&](size_t limit) { return size_t(random()) % limit; };
  for (int fault = 0; fault < faults && !HasFailure(); ++fault) {
    std::string damaged = whole;
    const size_t at = heading + below(whole.size() - heading);
    switch (fault % 4) {
    case 0:
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << below(8)));
      break;
    case 1:
      damaged.resize(at);
      break;
    case 2:
      damaged.insert(at, std::string(1 + below(40), static_cast<char>(below(256))));
      break;
    case 3: // a line of a version with other fields
      damaged.insert(whole.find('\n', at) + 1, "0123456789abcdef0123456789abcdef\tdot 3\tZ1\n");
      break;
    }
    write(damaged);
    expectOnlyRecordsThatWereWritten(problems, 1);
  }
}

/// Each writer tells through a pipe which records it has added.
TEST_F(TuningFileTest, KilledWritersLoseNothingThatWasAdded) {
  constexpr int kills = 250, versions = 40;
  std::mt19937 random(9);
  for (int kill = 0; kill < kills && !HasFailure(); ++kill) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Result<std::shared_ptr<TuningFile>> file = TuningFile::open(path.string());
      for (uint8_t version = 0; file.isOk() && version < versions; ++version)
        if (!(*file)->add(record(kill % 3, version)).isOk() || ::write(ends[1], &version, 1) != 1)
          break;
      _exit(0);
    }
    close(ends[1]);
    usleep(random() % 1500);
    ::kill(child, SIGKILL);
    int status;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    int last = -1;
    for (uint8_t version; ::read(ends[0], &version, 1) == 1;)
      last = version;
    close(ends[0]);
    if (last >= 0) {
      // The writer may have added one more record before it could tell.
      const std::string found = textOf(open()->find(record(kill % 3).problem).value());
      EXPECT_TRUE(found == textOf(record(kill % 3, last)) ||
                  found == textOf(record(kill % 3, last + 1)))
          << found;
    }
    if (kill % 10 == 0)
      expectOnlyRecordsThatWereWritten(3, versions);
  }
}

TEST_F(TuningFileTest, AFullDiskLeavesWholeRecords) {
  for (int room = 0; room < 150 && !HasFailure(); ++room) {
    fs::remove(path);
    ASSERT_TRUE(open()->add(record(0)).isOk());
    const std::string before = bytes();
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{before.size() + static_cast<size_t>(room),
                         before.size() + static_cast<size_t>(room)};
      setrlimit(RLIMIT_FSIZE, &limit);
      const Status status = (*TuningFile::open(path.string()))->add(record(1));
      _exit(status.isOk() ? 0 : status.error() == Error::tuningUnwritable ? 1 : 2);
    }
    int status;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_LT(WEXITSTATUS(status), 2);
    if (WEXITSTATUS(status) == 1)
      EXPECT_EQ(bytes(), before);
    expectOnlyRecordsThatWereWritten(2, 1);
  }
}

TEST_F(TuningFileTest, SixteenProcessesLoseNothing) {
  constexpr int writers = 16, problems = 20;
  std::vector<pid_t> children;
  for (int writer = 0; writer < writers; ++writer) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Result<std::shared_ptr<TuningFile>> file = TuningFile::open(path.string());
      bool isAdded = file.isOk();
      for (int number = 0; isAdded && number < problems; ++number)
        isAdded = (*file)->add(record(writer * problems + number)).isOk();
      _exit(isAdded ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "a writer failed";
  }
  std::shared_ptr<TuningFile> file = open();
  EXPECT_EQ(file->decisions().size(), size_t(writers) * problems);
  EXPECT_EQ(file->skippedLines(), 0u);
}

} // namespace
} // namespace tilewright::runtime
