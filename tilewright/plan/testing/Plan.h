// TestPlan: builds a plan in program order.
#ifndef TILEWRIGHT_PLAN_TESTING_PLAN_H
#define TILEWRIGHT_PLAN_TESTING_PLAN_H

#include "tilewright/plan/CommPlan.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <functional>

namespace tilewright::collective {

///   TestPlan plan({{"x", 2}});
///   plan.branchByRank({0, 1});
///   plan.arm(0);
///   plan.call("A", plan.axes({0}), /*collectiveId=*/0);
///   plan.end();
struct TestPlan : CommPlan {
  explicit TestPlan(std::vector<MeshAxis> axes) { mesh.axes = std::move(axes); }

  PlanIndex axes(std::vector<uint8_t> list) { return add({CliqueSpec::Form::axes, list, {}}); }
  PlanIndex groups(std::vector<std::vector<int64_t>> lists) {
    return add({CliqueSpec::Form::groups, {}, std::move(lists)});
  }
  PlanIndex pairs(std::vector<std::vector<int64_t>> lists) {
    return add({CliqueSpec::Form::pairs, {}, std::move(lists)});
  }
  PlanIndex group(std::vector<int64_t> list) { return groups({std::move(list)}); }

  TestPlan &start(const std::string &name, PlanIndex clique, uint32_t collectiveId,
                  uint8_t lane = 0) {
    Site site;
    site.name = name;
    site.location = concat("step.py:", 10 + collectiveId);
    site.clique = clique;
    site.collectiveId = collectiveId;
    site.lane = lane;
    site.bytes = 64;
    if (!open.empty()) {
      site.guard = open.back().first;
      site.arm = open.back().second;
    }
    site.start = position++;
    sites.push_back(site);
    return *this;
  }
  /// Waits for the last site of this name.
  TestPlan &wait(const std::string &name) {
    std::find_if(sites.rbegin(), sites.rend(), [&](const Site &site) {
      return site.name == name;
    })->done = position++;
    return *this;
  }
  TestPlan &call(const std::string &name, PlanIndex clique, uint32_t collectiveId,
                 uint8_t lane = 0) {
    return start(name, clique, collectiveId, lane).wait(name);
  }

  void loop(int64_t iterations, AxisSet varies = 0) {
    Guard guard;
    guard.kind = Guard::Kind::loop;
    guard.tripCount = iterations;
    guard.varies = varies;
    enter(guard);
  }
  void branch(AxisSet varies, uint32_t arms = 2) {
    Guard guard;
    guard.varies = varies;
    guard.arms = arms;
    enter(guard);
  }
  /// The arm of each rank.
  void branchByRank(std::vector<uint32_t> choices, uint32_t arms = 0) {
    Guard guard;
    guard.varies = mesh.proper();
    guard.arms = std::max(arms, *std::max_element(choices.begin(), choices.end()) + 1);
    guard.choices = std::move(choices);
    enter(guard);
  }
  /// A{0,1} B{1,2} C{2,0}, where each rank begins with a different one. Any two exchanges share
  /// only one rank, so a check of pairs would not find the cycle.
  void callInACircle() {
    const PlanIndex a = group({0, 1}), b = group({1, 2}), c = group({2, 0});
    branchByRank({0, 1, 2});
    arm(0);
    call("A", a, 0).call("C", c, 2);
    arm(1);
    call("B", b, 1).call("A", a, 0);
    arm(2);
    call("C", c, 2).call("B", b, 1);
    end();
  }
  void arm(uint32_t number) { open.back().second = number; }
  void end() { open.pop_back(); }

private:
  PlanIndex add(CliqueSpec clique) {
    cliques.push_back(std::move(clique));
    return static_cast<PlanIndex>(cliques.size() - 1);
  }
  void enter(Guard guard) {
    if (!open.empty()) {
      guard.parent = open.back().first;
      guard.arm = open.back().second;
    }
    guard.position = position++;
    guard.location = concat("step.py:", 100 + guards.size());
    guards.push_back(std::move(guard));
    open.push_back({static_cast<PlanIndex>(guards.size() - 1), 0});
  }
  std::vector<std::pair<PlanIndex, uint32_t>> open;
  uint32_t position = 0;
};

} // namespace tilewright::collective

#endif // TILEWRIGHT_PLAN_TESTING_PLAN_H
