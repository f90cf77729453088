#include "tilewright/predict/Order.h"
#include "tilewright/predict/BackwardOrder.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace tilewright::predict {
namespace {

using Kind = OrderStep::Kind;
constexpr double never = std::numeric_limits<double>::infinity();
/// With more collectives in flight, no more time is hidden, and the one that is needed next is
/// delayed.
constexpr unsigned inFlight = 4;

/// The limits under which one candidate is scheduled.
struct Policy {
  int64_t bytesInFlight; // of operands and results of collectives between start and done
  unsigned inFlight;     // collectives of a lane that are not complete
  /// Whether steps that a start needs soon run before others.
  bool isEager;
  /// Whether a step that no collective depends on waits for a collective only when nothing else is
  /// left to do. Otherwise it waits as long as the collective is expected to take.
  bool isPatient;
};

/// Facts about the steps of a block that are known before they are scheduled.
struct Prospects {
  std::vector<bool> leads; // a later collective, or a step of another block, depends on the step
  std::vector<bool>
      feeds; // a collective needs the step, and little time of others before it starts
};

/// Schedules the steps of a block forward in time. Starts are issued as soon as their operands
/// exist; of the steps that can run, the first in program order runs next; a step that would have
/// to wait for a collective is passed over while other steps can run.
class ListScheduler {
public:
  ListScheduler(const OrderProblem &problem, const Prospects &prospects, const Policy &policy)
      : problem(problem), prospects(prospects), policy(policy), waits(problem.steps.size(), 0),
        followers(problem.steps.size()), isPlaced(problem.steps.size(), false),
        endOf(problem.steps.size(), 0) {}

  std::vector<unsigned> run() {
    const size_t count = problem.steps.size();
    for (unsigned i = 0; i < count; ++i)
      for (unsigned before : problem.steps[i].after) {
        followers[before].push_back(i);
        ++waits[i];
      }
    for (unsigned i = 0; i < count; ++i)
      if (waits[i] == 0)
        ready(i);
    while (order.size() < count) {
      issueStarts();
      if (const unsigned next = choose(); next != nothing)
        place(next);
    }
    return std::move(order);
  }

private:
  static constexpr unsigned nothing = ~0u;
  static constexpr unsigned maxLook = 16; // starts to consider, so that the time stays linear
  const OrderStep &step(unsigned i) const { return problem.steps[i]; }

  void ready(unsigned i) {
    switch (step(i).kind) {
    case Kind::start:
      starts.insert(i);
      break;
    case Kind::compute:
      if (const double at = availableAt(i, policy.isPatient); at <= now)
        insertReady(i);
      else if (at == never)
        patient.insert(i);
      else
        waiting.insert({at, i});
      break;
    case Kind::done:
      // The start of this collective is placed. From now on its followers can run after a wait, and
      // the done is placed before the first of them.
      open.insert(i);
      release(i);
      break;
    }
  }

  bool isFirst(unsigned i) const { return policy.isEager && prospects.feeds[i]; }
  void insertReady(unsigned i) { computations.insert({!isFirst(i), i}); }

  void release(unsigned i) {
    for (unsigned follower : followers[i])
      if (--waits[follower] == 0)
        ready(follower);
  }

  /// The time at which the collectives that a step reads are expected to be complete.
  double availableAt(unsigned i, bool isPatient) const {
    double at = 0;
    for (unsigned before : step(i).after)
      if (step(before).kind == Kind::done && !isPlaced[before])
        at = std::max(at, isPatient && !prospects.leads[i] ? never : endOf[before]);
    return at;
  }

  bool mayIssue(unsigned i) const {
    auto lane = lanes.find(step(i).lane);
    const auto isUnfinished = [&](unsigned done) { return endOf[done] > now; };
    return (lane == lanes.end() ||
            std::count_if(lane->second.last.begin(), lane->second.last.end(), isUnfinished) <
                static_cast<ptrdiff_t>(policy.inFlight)) &&
           (inFlight == 0 || bytesInFlight + bytesOf(i) <= policy.bytesInFlight) &&
           availableAt(i, /*isPatient=*/false) <= now;
  }

  void issueStarts() {
    for (bool changes = true; changes;) {
      changes = false;
      unsigned looked = 0;
      for (unsigned i : starts) {
        if (mayIssue(i)) {
          place(i);
          changes = true;
          break; // `starts` has changed
        }
        if (++looked == maxLook)
          break;
      }
    }
  }

  /// Chooses the next computation or, if every step waits for a collective, the step that waits the
  /// shortest time. Returns `nothing` if it placed a done instead.
  unsigned choose() {
    while (!waiting.empty() && waiting.begin()->first <= now) {
      insertReady(waiting.begin()->second);
      waiting.erase(waiting.begin());
    }
    if (!computations.empty())
      return computations.begin()->second;
    unsigned best = nothing;
    double bestTime = never;
    if (!waiting.empty())
      std::tie(bestTime, best) = *waiting.begin();
    // A start that waits for another collective counts like a computation.
    unsigned looked = 0;
    for (unsigned i : starts) {
      if (const double at = availableAt(i, false); at < bestTime && (inFlight == 0 || at > now)) {
        best = i;
        bestTime = at;
      }
      if (++looked == maxLook)
        break;
    }
    if (best != nothing)
      return best;
    // Only patient steps and starts without room are left, so wait for the collective that ends
    // first.
    if (!open.empty()) {
      placeDone(*std::min_element(open.begin(), open.end(), [&](unsigned a, unsigned b) {
        return std::pair(endOf[a], a) < std::pair(endOf[b], b);
      }));
      return nothing;
    }
    return *starts.begin();
  }

  void placeDone(unsigned i) {
    if (isPlaced[i])
      return;
    isPlaced[i] = true;
    open.erase(i);
    now = std::max(now, endOf[i]);
    --inFlight;
    bytesInFlight -= bytesOf(step(i).partner);
    order.push_back(i);
    for (unsigned follower : followers[i])
      if (patient.contains(follower) && availableAt(follower, /*isPatient=*/true) <= now) {
        patient.erase(follower);
        insertReady(follower);
      }
  }

  void place(unsigned i) {
    // Place the dones in the order in which the collectives complete.
    std::vector<unsigned> dones;
    for (unsigned before : step(i).after)
      if (step(before).kind == Kind::done && !isPlaced[before])
        dones.push_back(before);
    std::sort(dones.begin(), dones.end(), [&](unsigned a, unsigned b) {
      return std::pair(endOf[a], a) < std::pair(endOf[b], b);
    });
    for (unsigned done : dones)
      placeDone(done);
    isPlaced[i] = true;
    order.push_back(i);
    if (step(i).kind == Kind::start) {
      starts.erase(i);
      Lane &lane = lanes[step(i).lane];
      lane.freeAt = std::max(lane.freeAt, now) + step(i).time;
      endOf[step(i).partner] = lane.freeAt;
      lane.last.push_back(step(i).partner);
      if (lane.last.size() > policy.inFlight)
        lane.last.pop_front();
      ++inFlight;
      bytesInFlight += bytesOf(i);
    } else {
      computations.erase({!isFirst(i), i});
      patient.erase(i);
      if (!waiting.empty() && waiting.begin()->second == i)
        waiting.erase(waiting.begin());
      now += step(i).time;
    }
    release(i);
  }

  int64_t bytesOf(unsigned start) const {
    int64_t sum = 0;
    for (const auto *buffers : {&step(start).reads, &step(start).defines})
      for (unsigned buffer : *buffers)
        sum += problem.bytes[buffer];
    return sum;
  }

  struct Lane {
    double freeAt = 0;
    std::deque<unsigned> last; // the dones of the last collectives
  };

  const OrderProblem &problem;
  const Prospects &prospects;
  const Policy policy;
  std::vector<unsigned> waits; // number of steps that must come first and have not been placed
  std::vector<std::vector<unsigned>> followers;
  std::vector<bool> isPlaced;
  std::vector<double> endOf;                        // of dones whose start is placed
  std::set<unsigned> starts;                        // ready, in program order
  std::set<std::pair<bool, unsigned>> computations; // ready; those that run first have `false`
  std::set<std::pair<double, unsigned>> waiting;    // for collectives, by the time of their end
  std::set<unsigned> patient;                       // wait until nothing else is left to do
  std::set<unsigned> open;                          // dones whose start is placed and that are not
  std::map<unsigned, Lane> lanes;
  unsigned inFlight = 0;
  int64_t bytesInFlight = 0;
  double now = 0;
  std::vector<unsigned> order;
};

Prospects prospectsOf(const OrderProblem &problem) {
  const size_t count = problem.steps.size();
  Prospects prospects{std::vector<bool>(count, false), std::vector<bool>(count, false)};
  std::vector<double> distance(count, never); // of computation until the nearest start
  std::vector<double> length(count, 0);       // of the collective of that start
  for (size_t i = count; i-- > 0;) {
    const OrderStep &step = problem.steps[i];
    if (step.isUrgent || step.kind == Kind::start)
      prospects.leads[i] = true;
    if (step.kind == Kind::start) {
      distance[i] = 0;
      length[i] = step.time;
    } else if (distance[i] != never) {
      distance[i] += step.time;
      prospects.feeds[i] = distance[i] < length[i];
    }
    for (unsigned before : step.after) {
      if (prospects.leads[i])
        prospects.leads[before] = true;
      if (step.kind != Kind::done && distance[i] < distance[before]) {
        distance[before] = distance[i];
        length[before] = length[i];
      }
    }
  }
  return prospects;
}

} // namespace

OrderCost costOf(const OrderProblem &problem, const std::vector<unsigned> &order) {
  OrderCost cost;
  std::map<unsigned, double> freeAt; // by lane
  std::vector<double> endOf(problem.steps.size(), 0);
  std::vector<size_t> lastUse(problem.bytes.size(), 0);
  std::vector<bool> isDefined(problem.bytes.size(), false);
  std::vector<std::vector<unsigned>> dying(order.size() + 1);
  for (size_t at = 0; at < order.size(); ++at) {
    const OrderStep &step = problem.steps[order[at]];
    for (unsigned buffer : step.reads)
      lastUse[buffer] = at;
    for (unsigned buffer : step.defines) {
      isDefined[buffer] = true;
      lastUse[buffer] = std::max(lastUse[buffer], at);
    }
    if (step.kind == Kind::done)
      for (const auto *buffers :
           {&problem.steps[step.partner].reads, &problem.steps[step.partner].defines})
        for (unsigned buffer : *buffers)
          lastUse[buffer] = std::max(lastUse[buffer], at);
  }
  for (unsigned buffer : problem.returned)
    lastUse[buffer] = order.size();
  for (unsigned buffer = 0; buffer < problem.bytes.size(); ++buffer)
    if (isDefined[buffer])
      dying[lastUse[buffer]].push_back(buffer);
  int64_t live = 0;
  for (size_t at = 0; at < order.size(); ++at) {
    const OrderStep &step = problem.steps[order[at]];
    if (step.kind == Kind::start) {
      if (at + 1 == order.size() || order[at + 1] != step.partner)
        cost.time += problem.separation;
      double &lane = freeAt[step.lane];
      lane = std::max(lane, cost.time) + step.time;
      endOf[step.partner] = lane;
    } else if (step.kind == Kind::done) {
      cost.exposed += std::max(0.0, endOf[order[at]] - cost.time);
      cost.time = std::max(cost.time, endOf[order[at]]);
    } else {
      cost.time += step.time;
    }
    for (unsigned buffer : step.defines)
      live += problem.bytes[buffer];
    cost.peak = std::max(cost.peak, live);
    for (unsigned buffer : dying[at])
      live -= problem.bytes[buffer];
  }
  return cost;
}

/// Renumbers the steps of a problem by an order.
static OrderProblem renumbered(const OrderProblem &problem, const std::vector<unsigned> &order) {
  OrderProblem result = problem;
  std::vector<unsigned> numberOf(order.size());
  for (unsigned i = 0; i < order.size(); ++i)
    numberOf[order[i]] = i;
  for (unsigned i = 0; i < order.size(); ++i) {
    OrderStep &step = result.steps[i] = problem.steps[order[i]];
    if (step.kind != Kind::compute)
      step.partner = numberOf[step.partner];
    for (unsigned &before : step.after)
      before = numberOf[before];
    std::sort(step.after.begin(), step.after.end());
  }
  return result;
}

namespace {

/// Keeps the best of several orders.
class Choice {
public:
  Choice(const OrderProblem &problem, int64_t percent) : problem(problem) {
    best.resize(problem.steps.size());
    std::iota(best.begin(), best.end(), 0u);
    bestCost = costOf(problem, best);
    limit =
        bestCost.peak + (bestCost.peak + problem.resident) / 100 * std::max<int64_t>(percent, 0);
    for (const OrderStep &step : problem.steps)
      if (step.kind == Kind::start)
        for (const auto *buffers : {&step.reads, &step.defines})
          for (unsigned buffer : *buffers)
            allBytes += problem.bytes[buffer];
  }

  /// Takes the order if it is faster and within the limit.
  bool offer(std::vector<unsigned> order) {
    const OrderCost cost = costOf(problem, order);
    // A faster order must gain more than the model's rounding.
    if (cost.peak > limit || cost.time >= bestCost.time * (1 - 1e-6))
      return false;
    best = std::move(order);
    bestCost = cost;
    return true;
  }

  /// Schedules forward in time, with several policies; `base` decides between equal steps.
  bool offerForward(std::vector<unsigned> base) {
    const OrderProblem sorted = renumbered(problem, base);
    const Prospects prospects = prospectsOf(sorted);
    bool isFaster = false;
    for (const bool isPatient : {true, false})
      for (const bool isEager : {false, true})
        for (int64_t share = 1; share <= 64; share *= 8) {
          std::vector<unsigned> order =
              ListScheduler(sorted, prospects, {allBytes / share, inFlight, isEager, isPatient})
                  .run();
          for (unsigned &i : order)
            i = base[i];
          isFaster |= offer(std::move(order));
        }
    return isFaster;
  }

  const std::vector<unsigned> &get() const { return best; }

private:
  const OrderProblem &problem;
  std::vector<unsigned> best;
  OrderCost bestCost;
  int64_t limit = 0, allBytes = 0;
};

} // namespace

std::vector<unsigned> chooseOrder(const OrderProblem &problem, int64_t percent) {
  Choice choice(problem, percent);
  const std::vector<unsigned> programOrder = choice.get();
  choice.offerForward(programOrder);
  // Alternate between backward and forward: backward finds the order in which collectives are
  // needed, forward finds how early each of them can start.
  for (int round = 0; round < 3; ++round) {
    bool isFaster = false;
    const std::vector<unsigned> from = round == 0 ? programOrder : choice.get();
    const OrderProblem sorted = renumbered(problem, from);
    for (const bool isOneAtATime : {true, false}) {
      std::vector<unsigned> base = backwardOrder(sorted, isOneAtATime);
      for (unsigned &i : base)
        i = from[i];
      isFaster |= choice.offer(base);
      isFaster |= choice.offerForward(std::move(base));
    }
    if (!isFaster)
      break;
  }
  return choice.get();
}

OrderCost quickCost(const OrderProblem &problem) {
  std::vector<unsigned> order(problem.steps.size());
  std::iota(order.begin(), order.end(), 0u);
  OrderCost best = costOf(problem, order);
  const std::vector<unsigned> backward = backwardOrder(problem, /*isOneAtATime=*/true);
  for (const std::vector<unsigned> &base : {order, backward}) {
    const OrderProblem sorted = renumbered(problem, base);
    const Policy policy{std::numeric_limits<int64_t>::max(), inFlight, /*isEager=*/false,
                        /*isPatient=*/true};
    const OrderCost cost = costOf(sorted, ListScheduler(sorted, prospectsOf(sorted), policy).run());
    if (cost.time < best.time)
      best = cost;
  }
  return best;
}

} // namespace tilewright::predict
