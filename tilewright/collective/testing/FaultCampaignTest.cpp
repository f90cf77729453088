// Seeded faults: whatever is killed, stopped or cut off, the other ranks get an error that says so,
// in time, and continue without it; and no sum is ever wrong.
//
//   TILEWRIGHT_TEST_COUNT=1000 FaultCampaignTest     runs 1000 seeds; a late rank fails at once
//   TILEWRIGHT_TEST_SEED=17 FaultCampaignTest        starts with this seed; COUNT=1 runs only it
//
// Runs at real-time priority if that is allowed: a rank that gets no CPU for a third of a second
// cannot be distinguished from a stopped one.
#include "tilewright/collective/testing/FaultCampaign.h"
#include "tilewright/collective/testing/Processes.h"
#include "tilewright/support/Concat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <sched.h>

namespace tilewright::collective::test {
namespace {

std::optional<uint64_t> numberIn(const char *variable) {
  const char *text = std::getenv(variable);
  return text ? std::optional<uint64_t>(std::strtoull(text, nullptr, 10)) : std::nullopt;
}

struct Row {
  size_t count = 0, lates = 0;
  std::vector<double> notices, errors, rebuilds;
};

void append(std::vector<double> &to, const std::vector<double> &more) {
  to.insert(to.end(), more.begin(), more.end());
}

/// "12.3 / 45.6": the 99th percentile and the maximum.
std::string spread(std::vector<double> values) {
  if (values.empty())
    return "";
  std::sort(values.begin(), values.end());
  char text[64];
  std::snprintf(text, sizeof text, "%.1f / %.1f", values[(values.size() * 99 - 1) / 100],
                values.back());
  return text;
}

void print(const std::map<std::string, Row> &rows) {
  std::cout << "| fault | engine | jobs | late | notice ms, p99 / max | error | rebuilt |\n"
               "|---|---|---|---|---|---|---|\n";
  for (const auto &[name, row] : rows)
    std::cout << "| " << name << " | " << row.count << " | " << row.lates << " | "
              << spread(row.notices) << " | " << spread(row.errors) << " | " << spread(row.rebuilds)
              << " |\n";
}

std::string load() {
  double averages[3] = {};
  return getloadavg(averages, 3) == 3 ? concat(averages[0], ", ", averages[1]) : "unknown";
}

/// Counts only our files, because other programs use the directory, too. The folder of the flight
/// recorder, which the first job of a user creates, is there to stay.
size_t filesIn(const char *directory) {
  std::error_code ignored;
  const std::filesystem::directory_iterator all(directory, ignored);
  return static_cast<size_t>(std::count_if(begin(all), end(all), [](const auto &file) {
    return file.is_regular_file() && file.path().filename().string().starts_with("tilewright");
  }));
}

TEST(FaultCampaign, SurvivorsGetTheirErrorInTimeAndGoOn) {
  auto relay = Relay::create(3, 0);
  if (!relay.isOk())
    GTEST_SKIP() << std::move(relay).takeStatus().message();
  const bool isFull = numberIn("TILEWRIGHT_TEST_COUNT").has_value();
  const uint64_t count = numberIn("TILEWRIGHT_TEST_COUNT").value_or(slowness() > 1 ? 15 : 100);
  const uint64_t first = numberIn("TILEWRIGHT_TEST_SEED").value_or(0);
  const size_t filesBefore = filesIn("/dev/shm");
  std::map<std::string, Row> rows;
  uint64_t steps = 0;
  const sched_param before = {1}, usual = {0};
  const bool isFirst = sched_setscheduler(0, SCHED_RR, &before) == 0;
  std::cout << (isFirst ? "before other work" : "among other work") << ", load " << load() << "\n";
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const FaultPlan plan = FaultPlan::of(seed);
    Outcome outcome = runPlan(plan, relay->get());
    // Other work on the machine makes some ranks late, but not each time.
    for (int again = 0; !isFull && again < 2 && outcome.wrongs.empty() && !outcome.lates.empty();
         ++again)
      outcome = runPlan(plan, relay->get());
    std::vector<Row *> counted = {&rows[concat(plan.kind(), " | ", nameOf(plan.engine))],
                                  &rows["~ all |"]};
    const Fault &fault = plan.faults[0];
    if (fault.victim == 0 && (fault.blow == Blow::kill || fault.blow == Blow::stop))
      counted.push_back(&rows["~ of rank 0, the leader |"]);
    if (plan.isStoreLost)
      counted.push_back(&rows["~ without the key-value store |"]);
    for (Row *row : counted) {
      ++row->count;
      row->lates += outcome.lates.empty() ? 0 : 1;
      append(row->notices, outcome.notices);
      append(row->errors, outcome.errors);
      append(row->rebuilds, outcome.rebuilds);
    }
    steps += outcome.steps;
    for (const std::vector<std::string> *list : {&outcome.wrongs, &outcome.lates})
      for (const std::string &text : *list)
        ADD_FAILURE() << text << "\n  " << plan.text()
                      << "\n  replay: TILEWRIGHT_TEST_SEED=" << seed
                      << " TILEWRIGHT_TEST_COUNT=1 FaultCampaignTest";
  }
  (void)sched_setscheduler(0, SCHED_OTHER, &usual);
  print(rows);
  std::cout << steps << " steps were right; load after: " << load() << "\n";
  EXPECT_EQ(filesIn("/dev/shm"), filesBefore);
}

} // namespace
} // namespace tilewright::collective::test
