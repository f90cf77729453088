#include "tilewright/predict/BackwardOrder.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace tilewright::predict {
namespace {

using Kind = OrderStep::Kind;

/// Times count from the end of the block.
class BackwardScheduler {
public:
  BackwardScheduler(const OrderProblem &problem, bool isOneAtATime)
      : problem(problem), isOneAtATime(isOneAtATime), users(problem.steps.size(), 0),
        readyAt(problem.steps.size(), 0), depth(problem.steps.size(), 0) {
    for (unsigned i = 0; i < problem.steps.size(); ++i) {
      for (unsigned before : step(i).after) {
        ++users[before];
        depth[i] = std::max(depth[i], depth[before]);
      }
      depth[i] += step(i).kind == Kind::done;
    }
    for (unsigned i = 0; i < users.size(); ++i)
      if (users[i] == 0)
        ready(i);
  }

  std::vector<unsigned> run() {
    std::vector<unsigned> order;
    while (order.size() < problem.steps.size()) {
      const unsigned next = choose();
      place(next);
      order.push_back(next);
    }
    std::reverse(order.begin(), order.end());
    return order;
  }

private:
  const OrderStep &step(unsigned i) const { return problem.steps[i]; }

  void ready(unsigned i) {
    if (step(i).kind == Kind::done)
      dones.insert(i);
    else if (readyAt[i] <= now)
      current.insert(keyOf(i));
    else
      later.insert({readyAt[i], i});
  }

  /// Starts come first; then the step that is followed by the most collectives, so that these come
  /// early; then the last step in the block.
  std::tuple<bool, unsigned, unsigned> keyOf(unsigned i) const {
    return {step(i).kind == Kind::start, depth[i], i};
  }

  unsigned choose() {
    for (auto done = dones.rbegin(); done != dones.rend(); ++done)
      if (const unsigned last = *done;
          !isOneAtATime || !busy.contains(step(last).lane) || (current.empty() && later.empty())) {
        dones.erase(last);
        return last;
      }
    if (current.empty())
      now = later.begin()->first; // nothing to compute: the collective is exposed
    while (!later.empty() && later.begin()->first <= now) {
      current.insert(keyOf(later.begin()->second));
      later.erase(later.begin());
    }
    const unsigned best = std::get<2>(*current.rbegin());
    current.erase(std::prev(current.end()));
    return best;
  }

  void place(unsigned i) {
    if (step(i).kind == Kind::compute)
      now += step(i).time;
    else if (step(i).kind == Kind::done)
      busy.insert(step(i).lane);
    else
      busy.erase(step(i).lane);
    for (unsigned before : step(i).after) {
      double at = now;
      if (step(i).kind == Kind::done && before == step(i).partner) {
        double &lane = freeAt[step(i).lane];
        at = lane = std::max(lane, now) + step(before).time;
      }
      readyAt[before] = std::max(readyAt[before], at);
      if (--users[before] == 0)
        ready(before);
    }
  }

  const OrderProblem &problem;
  const bool isOneAtATime;
  std::set<unsigned> busy;     // lanes whose collective has no start yet
  std::vector<unsigned> users; // that are not placed
  std::vector<double> readyAt;
  std::vector<unsigned> depth; // collectives on a path from the begin of the block
  // Steps whose users are all placed:
  std::set<unsigned> dones;
  std::set<std::tuple<bool, unsigned, unsigned>> current;
  std::set<std::pair<double, unsigned>> later; // starts of collectives that are in progress
  std::map<unsigned, double> freeAt;           // by lane
  double now = 0;
};

} // namespace

std::vector<unsigned> backwardOrder(const OrderProblem &problem, bool isOneAtATime) {
  return BackwardScheduler(problem, isOneAtATime).run();
}

} // namespace tilewright::predict
