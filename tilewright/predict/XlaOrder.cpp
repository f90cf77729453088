#include "tilewright/predict/XlaOrder.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace tilewright::predict {

using Kind = OrderStep::Kind;

std::vector<unsigned> xlaOrder(const OrderProblem &problem) {
  const size_t count = problem.steps.size();
  std::vector<std::vector<unsigned>> startsBehind(count);
  std::vector<size_t> waits(count); // steps that must come first and are not placed
  for (unsigned i = 0; i < count; ++i) {
    waits[i] = problem.steps[i].after.size();
    if (problem.steps[i].kind == Kind::start)
      for (unsigned before : problem.steps[i].after)
        startsBehind[before].push_back(i);
  }
  std::vector<unsigned> order;
  std::vector<bool> isPlaced(count, false);
  auto place = [&](auto &self, unsigned i) -> void {
    if (isPlaced[i])
      return;
    for (unsigned before : problem.steps[i].after) // dones wait for their first user
      self(self, before);
    if (isPlaced[i])
      return;
    isPlaced[i] = true;
    order.push_back(i);
    for (unsigned start : startsBehind[i])
      if (--waits[start] == 0)
        self(self, start);
  };
  for (unsigned i = 0; i < count; ++i)
    if (problem.steps[i].kind == Kind::start && waits[i] == 0)
      place(place, i);
  for (unsigned i = 0; i < count; ++i)
    if (problem.steps[i].kind != Kind::done)
      place(place, i);
  for (unsigned i = 0; i < count; ++i)
    place(place, i);
  return order;
}

namespace {

/// Places steps from the last to the first.
class BottomUp {
public:
  explicit BottomUp(const OrderProblem &problem)
      : problem(problem), users(problem.steps.size(), 0), readyAt(problem.steps.size(), 0),
        depth(problem.steps.size(), 0) {
    for (unsigned i = 0; i < problem.steps.size(); ++i) {
      depth[i] = problem.steps[i].kind == Kind::done ? 1 : 0;
      unsigned deepest = 0;
      for (unsigned before : problem.steps[i].after) {
        ++users[before];
        deepest = std::max(deepest, depth[before]);
      }
      depth[i] += deepest;
    }
    for (unsigned i = 0; i < users.size(); ++i)
      if (users[i] == 0)
        ready.push_back(i);
  }

  std::vector<unsigned> run() {
    std::vector<unsigned> order;
    while (!ready.empty()) {
      auto best = ready.end();
      for (auto each = ready.begin(); each != ready.end(); ++each)
        if (mayPlace(*each) && (best == ready.end() || rankOf(*each) > rankOf(*best)))
          best = each;
      const unsigned chosen = *best;
      ready.erase(best);
      place(chosen);
      order.push_back(chosen);
    }
    std::reverse(order.begin(), order.end());
    return order;
  }

private:
  const OrderStep &step(unsigned i) const { return problem.steps[i]; }
  bool mayPlace(unsigned i) const {
    if (step(i).kind != Kind::done)
      return true;
    auto lane = isBusy.find(step(i).lane);
    return lane == isBusy.end() || !lane->second;
  }
  bool isAwaited(unsigned lane) const {
    return std::any_of(ready.begin(), ready.end(), [&](unsigned i) {
      return step(i).kind == Kind::done && step(i).lane == lane;
    });
  }

  /// The priority of a step: the step with the largest tuple is placed next.
  std::tuple<bool, double, bool, unsigned, unsigned, unsigned> rankOf(unsigned i) const {
    const double stall = std::max(readyAt[i] - now, 0.0);
    unsigned unlocks = 0;
    for (unsigned before : step(i).after)
      unlocks += users[before] == 1;
    return {step(i).kind == Kind::done,
            -stall,
            step(i).kind == Kind::start && isAwaited(step(i).lane),
            depth[i],
            unlocks,
            i};
  }

  void place(unsigned i) {
    now = std::max(now, readyAt[i]);
    if (step(i).kind == Kind::compute)
      now += step(i).time;
    else
      isBusy[step(i).lane] = step(i).kind == Kind::done;
    for (unsigned before : step(i).after) {
      const double latency =
          step(i).kind == Kind::done && before == step(i).partner ? step(before).time : 0;
      readyAt[before] = std::max(readyAt[before], now + latency);
      if (--users[before] == 0)
        ready.push_back(before);
    }
  }

  const OrderProblem &problem;
  std::vector<unsigned> users;     // that are not placed
  std::vector<double> readyAt;     // counted from the end of the program
  std::vector<unsigned> depth;     // collectives on a path from the begin
  std::vector<unsigned> ready;     // all users are placed
  std::map<unsigned, bool> isBusy; // by lane
  double now = 0;
};

} // namespace

std::vector<unsigned> xlaLatencyHidingOrder(const OrderProblem &problem) {
  return BottomUp(problem).run();
}

} // namespace tilewright::predict
