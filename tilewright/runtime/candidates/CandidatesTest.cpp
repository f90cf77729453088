#include "tilewright/runtime/candidates/Candidates.h"

#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <thread>
#include <unistd.h>

namespace tilewright::runtime {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

Decision asked(std::string problem = "p") {
  return {.problem = std::move(problem),
          .candidates = {{"ours", "panels"}, {"theirs", "vector"}},
          .absent = {"onednn: not installed"}};
}
Decision measured(double ours, double theirs) {
  Decision decision = asked();
  decision.candidates[0].seconds = ours;
  decision.candidates[1].seconds = theirs;
  return decision;
}

/// The second candidate is fast; the first is slower than any delay on a busy machine.
void runSlowAndFast(size_t candidate) {
  if (candidate == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
}
void neverRun(size_t candidate) { ADD_FAILURE() << "candidate " << candidate << " was measured"; }

/// A file that is deleted at the end of the test.
class CandidatesFileTest : public testing::Test {
protected:
  CandidatesFileTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "candidates-XXXXXX").string();
    folder = mkdtemp(pattern.data());
  }
  ~CandidatesFileTest() override { std::filesystem::remove_all(folder); }
  std::shared_ptr<TuningFile> file() const { return *TuningFile::open(folder + "/tuning"); }
  std::string folder;
};

TEST(Candidates, TheFirstIsTakenWithoutMeasuring) {
  Candidates candidates;
  EXPECT_FALSE(candidates.canChoose());
  EXPECT_EQ(candidates.choose(asked(), neverRun), 0u);
  EXPECT_FALSE(candidates.decisions()[0].isMeasured());
}

TEST(Candidates, TheFasterIsTakenAndAllTimesAreKept) {
  Candidates candidates;
  std::vector<std::string> told;
  candidates.set(
      {.measure = true, .secondsPerProblem = 0.01, .onMeasured = [&](const Decision &decision) {
         told.push_back(decision.problem);
       }});
  EXPECT_EQ(candidates.choose(asked(), runSlowAndFast), 1u);
  // A problem is measured once.
  EXPECT_EQ(candidates.choose(asked(), neverRun), 1u);
  EXPECT_THAT(told, ElementsAre("p"));
  const Decision decision = candidates.decisions()[0];
  EXPECT_GE(decision.candidates[0].seconds, 0.03);
  EXPECT_LT(decision.candidates[1].seconds, decision.candidates[0].seconds);
  EXPECT_THAT(toString(decision), ContainsRegex("p\n    ours [0-9.]+ ms, [0-9.]+ x the time\n"));
  EXPECT_THAT(toString(decision), HasSubstr("  * theirs "));
  EXPECT_THAT(toString(decision), HasSubstr("onednn: not installed"));
}

TEST(Candidates, SameBitsExcludesOtherOrders) {
  const std::vector<Candidate> times = measured(2e-3, 1e-3).candidates;
  EXPECT_EQ(fastest(times, /*sameBits=*/false), 1u);
  EXPECT_EQ(fastest(times, /*sameBits=*/true), 0u);
}

TEST(Candidates, ASmallAdvantageDoesNotCount) {
  EXPECT_EQ(fastest(measured(1e-3, 0.99e-3).candidates, false), 0u);
  EXPECT_EQ(fastest(measured(1e-3, 0.95e-3).candidates, false), 1u);
}

TEST(Candidates, TheBudgetEndsMeasuringAndSaysSo) {
  Candidates candidates;
  std::vector<std::string> remarks;
  candidates.set({.measure = true,
                  .secondsPerProblem = 0.001,
                  .secondsInAll = 0.01,
                  .onRemark = [&](const std::string &text) { remarks.push_back(text); }});
  EXPECT_EQ(candidates.choose(asked("p"), runSlowAndFast), 1u);
  EXPECT_EQ(candidates.choose(asked("q"), neverRun), 0u);
  EXPECT_THAT(remarks, ElementsAre(HasSubstr("q: not measured")));
}

TEST_F(CandidatesFileTest, AnotherProcessUsesTheMeasurements) {
  Candidates first, second;
  first.set({.measure = true, .secondsPerProblem = 0.001, .file = file()});
  second.set({.file = file()});
  EXPECT_EQ(second.choose(asked("other"), neverRun), 0u);
  EXPECT_EQ(first.choose(asked(), runSlowAndFast), 1u);
  EXPECT_EQ(second.choose(asked(), neverRun), 1u);
}

/// A library that was installed, or a kernel whose order of sums has changed since.
TEST_F(CandidatesFileTest, MeasurementsOfOtherCandidatesAreNotUsed) {
  ASSERT_TRUE(file()->add(measured(2e-3, 1e-3)).isOk());
  Candidates candidates;
  candidates.set({.file = file()});
  Decision more = asked();
  more.candidates.push_back({"onednn 3.2.0", "onednn"});
  EXPECT_EQ(candidates.choose(more, neverRun), 0u);
  Decision changed = asked();
  changed.candidates[1].order = "panels";
  EXPECT_EQ(Candidates(candidates.settings()).choose(changed, neverRun), 0u);
  // One candidate less does no harm.
  Decision fewer = more;
  fewer.candidates.erase(fewer.candidates.begin());
  fewer.candidates.pop_back();
  EXPECT_EQ(Candidates(candidates.settings()).choose(fewer, neverRun), 0u);
  EXPECT_EQ(Candidates(candidates.settings()).choose(asked(), neverRun), 1u);
}

TEST_F(CandidatesFileTest, FrozenChoicesStayTheSame) {
  ASSERT_TRUE(file()->add(measured(2e-3, 1e-3)).isOk());
  Candidates candidates;
  candidates.set({.measure = true, .file = file()});
  EXPECT_THAT(candidates.freeze(), ElementsAre(Pair("p", "theirs")));
  ASSERT_TRUE(file()->add(measured(1e-3, 2e-3)).isOk());
  EXPECT_EQ(candidates.choose(asked(), neverRun), 1u);
  EXPECT_EQ(candidates.choose(asked("new"), neverRun), 0u);
}

TEST_F(CandidatesFileTest, AFileThatCannotKeepAMeasurementIsARemark) {
  Candidates candidates;
  std::vector<std::string> remarks;
  candidates.set({.measure = true,
                  .secondsPerProblem = 0.001,
                  .file = *TuningFile::open("/proc/no-such-folder/tuning"),
                  .onRemark = [&](const std::string &text) { remarks.push_back(text); }});
  EXPECT_EQ(candidates.choose(asked(), runSlowAndFast), 1u);
  EXPECT_THAT(remarks, ElementsAre(HasSubstr("E5056")));
}

TEST_F(CandidatesFileTest, OptionsThatNameAnotherKindOfFileAreIgnored) {
  RuntimeOptions options;
  options.tuningFile = folder;
  EXPECT_EQ(Candidates::settingsOf(options).file, nullptr);
  options.tuningFile = folder + "/tuning";
  options.deterministic = true;
  EXPECT_NE(Candidates::settingsOf(options).file, nullptr);
  EXPECT_TRUE(Candidates::settingsOf(options).sameBits);
}

} // namespace
} // namespace tilewright::runtime
