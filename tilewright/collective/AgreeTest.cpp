#include "tilewright/collective/Agree.h"

#include "tilewright/plan/PlanBytes.h"
#include "tilewright/plan/testing/Plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace tilewright::collective {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

CommPlan planOf(int64_t processes) {
  TestPlan plan({{"x", processes}});
  const PlanIndex all = plan.axes({0});
  plan.call("all_reduce.0", all, 0).call("all_reduce.1", all, 1);
  return plan;
}

/// The verdict that each process gets; the processes in `absent` never call agree().
std::vector<Status> agreeAll(const std::vector<CommPlan> &plans, std::chrono::milliseconds timeout,
                             std::vector<size_t> absent = {}) {
  MemoryKeyValueStore store;
  std::vector<Status> told(plans.size());
  std::vector<std::thread> threads;
  const Deadline deadline = std::chrono::steady_clock::now() + timeout;
  for (size_t i = 0; i < plans.size(); ++i)
    if (std::find(absent.begin(), absent.end(), i) == absent.end())
      threads.emplace_back([&, i] {
        told[i] = agree(plans[i],
                        {"jit_step/0", static_cast<int64_t>(i), static_cast<int64_t>(plans.size())},
                        store, deadline);
      });
  for (std::thread &thread : threads)
    thread.join();
  return told;
}

TEST(Agree, ProcessesWithOnePlanAgree) {
  for (size_t processes : {1, 2, 3, 7, 16})
    for (const Status &status : agreeAll(std::vector(processes, planOf(int64_t(processes))), 20s))
      EXPECT_TRUE(status.isOk()) << status.message();
}

TEST(Agree, AnotherPlanIsRefusedByAllWithBothFingerprintsAndBothSites) {
  std::vector<CommPlan> plans(9, planOf(9));
  std::swap(plans[7].sites[0].name, plans[7].sites[1].name);
  std::swap(plans[7].sites[0].location, plans[7].sites[1].location);
  const std::vector<Status> told = agreeAll(plans, 20s);
  for (const Status &status : told) {
    EXPECT_EQ(status.error(), Error::commPlanDiffers);
    EXPECT_EQ(status.message(), told[0].message());
  }
  const std::string &text = told[0].message();
  EXPECT_THAT(text, HasSubstr("process 7 has plan " + toString(fingerprintOf(plans[7]))));
  EXPECT_THAT(text, HasSubstr("process 0 has " + toString(fingerprintOf(plans[0]))));
  EXPECT_THAT(
      text, HasSubstr("collective 0 differs: all_reduce.1 (f32, 64 bytes, along x) at step.py:11"));
  EXPECT_THAT(text, HasSubstr("all_reduce.0 (f32, 64 bytes, along x) at step.py:10"));
}

TEST(Agree, WhoDoesNotComeIsNamed) {
  for (size_t absent : {5, 1}) {
    const std::vector<Status> told = agreeAll(std::vector(6, planOf(6)), 1500ms, {absent});
    for (size_t i = 0; i < told.size(); ++i)
      if (i != absent) {
        EXPECT_EQ(told[i].error(), Error::keyValueMissing);
        EXPECT_THAT(told[i].message(), HasSubstr("process " + std::to_string(absent)));
      }
  }
  for (const Status &status : agreeAll(std::vector(2, planOf(2)), 100ms, {0}))
    if (!status.isOk())
      EXPECT_THAT(status.message(), HasSubstr("did not receive the communication plan of"));
}

} // namespace
} // namespace tilewright::collective
