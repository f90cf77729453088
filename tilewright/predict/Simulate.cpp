#include "tilewright/predict/Simulate.h"

#include "tilewright/predict/Jitter.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <cmath>
#include <deque>

namespace tilewright::predict {

static void slowDown(Node &node, uint32_t slow, double factor) {
  if (!node.ops.empty()) {
    std::vector<Op> ops = node.ops[slow];
    for (Op &op : ops)
      op.seconds *= factor;
    node.ops.push_back(std::move(ops));
  }
  for (Node &inner : node.body)
    slowDown(inner, slow, factor);
}

Program withSlowRank(const Program &program, uint32_t slow, double factor) {
  Program result = program;
  const auto added = static_cast<uint32_t>(result.classes.size());
  result.classes.push_back({concat("one slow rank of ", program.classes[slow].name), 1});
  if (result.classes[slow].ranks > 1)
    --result.classes[slow].ranks;
  for (Exchange &exchange : result.exchanges)
    if (std::find(exchange.classes.begin(), exchange.classes.end(), slow) != exchange.classes.end())
      exchange.classes.push_back(added);
  for (Node &node : result.nodes)
    slowDown(node, slow, factor);
  return result;
}

namespace {

/// One execution of an exchange by all classes that take part.
struct Instance {
  size_t arrived = 0,
         finished = 0; // classes that have it at the head of their lane; that awaited it
  double ready = 0;    // when the last class came
  Scatter scatter;
  double begin = 0, end = 0;
  bool isResolved = false;
};

struct Waiting {
  uint32_t exchange;
  size_t number; // of the instance
  double issued;
  Scatter scatter;
};

struct Lane {
  std::deque<Waiting> queue;
  double busyFrom = 0, busyUntil = 0; // of the last exchange
  uint32_t level = 0;
};

struct ClassState {
  double now = 0;
  Scatter scatter;
  std::vector<Lane> lanes;
  std::vector<size_t> issued, awaited; // by exchange
  ClassTimes times;
};

class Simulation {
public:
  Simulation(const Program &program, const SimulateOptions &options)
      : program(program), options(options), instances(program.exchanges.size()),
        first(program.exchanges.size(), 0) {
    uint32_t lanes = 1;
    for (const Exchange &exchange : program.exchanges)
      lanes = std::max(lanes, exchange.lane + 1);
    states.resize(program.classes.size());
    for (ClassState &state : states) {
      state.lanes.resize(lanes);
      state.issued.assign(program.exchanges.size(), 0);
      state.awaited.assign(program.exchanges.size(), 0);
    }
  }

  Result<Outcome> run() {
    for (const Node &node : program.nodes)
      TILEWRIGHT_TRY(run(node));
    for (size_t i = 0; i < states.size(); ++i) {
      ClassState &state = states[i];
      double end = state.now;
      for (const Lane &lane : state.lanes)
        end = std::max(end, lane.busyUntil);
      state.times.end = end;
      const double late = state.scatter.last(program.axes, program.classes[i].ranks);
      outcome.seconds = std::max(outcome.seconds, end + late);
      outcome.classes.push_back(state.times);
    }
    return std::move(outcome);
  }

private:
  Status run(const Node &node) {
    if (node.ops.empty())
      return runLoop(node);
    // Classes take turns: each runs until it must wait for a class that has not reached the same
    // exchange.
    std::vector<size_t> at(states.size(), 0);
    for (bool hasMoved = true; hasMoved;) {
      hasMoved = false;
      for (uint32_t i = 0; i < states.size(); ++i) {
        const std::vector<Op> &ops = node.ops[i];
        while (at[i] < ops.size() && step(i, ops[at[i]])) {
          ++at[i];
          ++outcome.events;
          hasMoved = true;
        }
      }
    }
    for (uint32_t i = 0; i < states.size(); ++i)
      if (at[i] < node.ops[i].size())
        return Status(Error::clusterMismatch,
                      concat("'", program.classes[i].name, "' waits in '",
                             program.exchanges[node.ops[i][at[i]].index].name,
                             "' for ranks that never reach it; `tilewright verify-comm` explains "
                             "why"));
    return Status();
  }

  Status runLoop(const Node &loop) {
    struct Snapshot {
      double now;
      Scatter scatter;
      std::vector<double> behind; // of lanes
      ClassTimes times;
    };
    auto snapshot = [&] {
      std::vector<Snapshot> all;
      for (const ClassState &state : states) {
        Snapshot &one = all.emplace_back(Snapshot{state.now, state.scatter, {}, state.times});
        for (const Lane &lane : state.lanes)
          one.behind.push_back(std::max(lane.busyUntil - state.now, 0.0));
      }
      return all;
    };
    std::vector<Snapshot> before = snapshot();
    std::vector<double> last(states.size(), -1);
    for (int64_t i = 0; i < loop.iterations; ++i) {
      for (const Node &node : loop.body)
        TILEWRIGHT_TRY(run(node));
      std::vector<Snapshot> after = snapshot();
      bool isSteady = i > 0;
      for (size_t c = 0; c < states.size() && isSteady; ++c) {
        const double took = after[c].now - before[c].now;
        isSteady = std::abs(took - last[c]) <= 1e-9 * std::max(took, 1e-12) &&
                   after[c].scatter.isSimilar(before[c].scatter);
        for (size_t lane = 0; lane < after[c].behind.size() && isSteady; ++lane)
          isSteady = std::abs(after[c].behind[lane] - before[c].behind[lane]) <= 1e-9 * took;
      }
      const int64_t left = loop.iterations - 1 - i;
      if (isSteady && left > 0) {
        for (size_t c = 0; c < states.size(); ++c)
          advance(states[c], after[c].now - before[c].now, before[c].times, before[c].scatter,
                  left);
        return Status();
      }
      for (size_t c = 0; c < states.size(); ++c)
        last[c] = after[c].now - before[c].now;
      before = std::move(after);
    }
    return Status();
  }

  /// Adds `count` more iterations, each like the one that began with `before`.
  static void advance(ClassState &state, double took, const ClassTimes &before,
                      const Scatter &scatter, int64_t count) {
    const auto times = static_cast<double>(count);
    state.now += took * times;
    for (Lane &lane : state.lanes)
      lane.busyFrom += took * times, lane.busyUntil += took * times;
    state.times.compute += (state.times.compute - before.compute) * times;
    state.times.exposed += (state.times.exposed - before.exposed) * times;
    state.times.exchange += (state.times.exchange - before.exchange) * times;
    state.scatter.repeat(scatter, count);
  }

  /// Executes a step, or returns false if it must wait for another class.
  bool step(uint32_t number, const Op &op) {
    ClassState &state = states[number];
    switch (op.kind) {
    case Op::Kind::compute: {
      const double end = endOfKernel(state, op.seconds);
      record({Span::What::compute, number, op.index, 0, state.now, end});
      state.times.compute += end - state.now;
      state.now = end;
      state.scatter.add(op.seconds * options.jitter * op.seconds * options.jitter);
      return true;
    }
    case Op::Kind::start: {
      const Exchange &exchange = program.exchanges[op.index];
      Lane &lane = state.lanes[exchange.lane];
      lane.queue.push_back({op.index, state.issued[op.index]++, state.now, state.scatter});
      if (lane.queue.size() == 1)
        arrive(number, exchange.lane);
      return true;
    }
    case Op::Kind::done: {
      Instance *instance = instanceAt(op.index, state.awaited[op.index]);
      if (!instance || !instance->isResolved)
        return false;
      ++state.awaited[op.index];
      if (instance->end > state.now) {
        record({Span::What::wait, number, op.index, 0, state.now, instance->end});
        state.times.exposed += instance->end - state.now;
        state.now = instance->end;
        state.scatter = instance->scatter;
      }
      release(op.index, *instance);
      return true;
    }
    }
    return true;
  }

  /// A kernel that begins now runs slower as long as an exchange is in progress.
  double endOfKernel(const ClassState &state, double seconds) const {
    double busyUntil = state.now;
    for (const Lane &lane : state.lanes)
      if (lane.busyFrom <= state.now)
        busyUntil = std::max(busyUntil, lane.busyUntil);
    const double overlapped = (busyUntil - state.now) * (1 - options.contention);
    return seconds <= overlapped ? state.now + seconds / (1 - options.contention)
                                 : busyUntil + seconds - overlapped;
  }

  Instance *instanceAt(uint32_t exchange, size_t number) {
    std::deque<Instance> &all = instances[exchange];
    const size_t index = number - first[exchange];
    return index < all.size() ? &all[index] : nullptr;
  }

  /// The head of a lane takes part in its exchange. If it is the last to arrive, the exchange runs,
  /// and the next entry of each lane becomes its head.
  void arrive(uint32_t number, uint32_t laneNumber) {
    std::vector<std::pair<uint32_t, uint32_t>> heads = {{number, laneNumber}};
    while (!heads.empty()) {
      auto [rankClass, laneIndex] = heads.back();
      heads.pop_back();
      Lane &lane = states[rankClass].lanes[laneIndex];
      const Waiting &head = lane.queue.front();
      const Exchange &exchange = program.exchanges[head.exchange];
      std::deque<Instance> &all = instances[head.exchange];
      while (all.size() <= head.number - first[head.exchange])
        all.emplace_back();
      Instance &instance = all[head.number - first[head.exchange]];
      const double ready = std::max(head.issued, lane.busyUntil);
      // The scatter of the last class to arrive determines the delay.
      if (instance.arrived == 0 || ready >= instance.ready)
        instance.scatter = head.scatter;
      instance.ready = instance.arrived == 0 ? ready : std::max(instance.ready, ready);
      if (++instance.arrived < exchange.classes.size())
        continue;
      resolve(exchange, instance);
      for (uint32_t member : exchange.classes) {
        Lane &own = states[member].lanes[exchange.lane];
        own.busyFrom = instance.begin;
        own.busyUntil = instance.end;
        own.level = exchange.level;
        states[member].times.exchange += instance.end - instance.begin;
        record({Span::What::exchange, member, head.exchange, exchange.lane, instance.begin,
                instance.end});
        if (member != rankClass)
          popHead(member, exchange.lane, heads);
      }
      popHead(rankClass, laneIndex, heads);
    }
  }

  void popHead(uint32_t rankClass, uint32_t lane,
               std::vector<std::pair<uint32_t, uint32_t>> &heads) {
    std::deque<Waiting> &queue = states[rankClass].lanes[lane].queue;
    queue.pop_front();
    if (!queue.empty())
      heads.push_back({rankClass, lane});
  }

  void resolve(const Exchange &exchange, Instance &instance) {
    const double late = instance.scatter.meet(exchange.axes, program.axes, exchange.ranks);
    instance.begin = instance.ready + late;
    instance.end = instance.begin + exchange.seconds;
    // If another lane has an exchange in progress on the same level, the two share the bandwidth:
    // the later one ends when both are transferred.
    for (uint32_t member : exchange.classes)
      for (size_t i = 0; i < states[member].lanes.size(); ++i) {
        const Lane &other = states[member].lanes[i];
        if (i == exchange.lane || other.level != exchange.level ||
            other.busyUntil <= instance.begin || other.busyFrom > instance.begin)
          continue;
        const double both = std::min(other.busyUntil - instance.begin, exchange.seconds);
        instance.end = std::max(instance.end, instance.begin + exchange.seconds + both);
      }
    instance.isResolved = true;
  }

  void release(uint32_t exchange, Instance &instance) {
    ++instance.finished;
    std::deque<Instance> &all = instances[exchange];
    while (!all.empty() && all.front().finished == program.exchanges[exchange].classes.size()) {
      all.pop_front();
      ++first[exchange];
    }
  }

  void record(const Span &span) {
    if (outcome.spans.size() < options.maxSpans && span.end > span.begin)
      outcome.spans.push_back(span);
  }

  const Program &program;
  const SimulateOptions &options;
  std::vector<ClassState> states;
  std::vector<std::deque<Instance>> instances; // by exchange; the first has number first[exchange]
  std::vector<size_t> first;
  Outcome outcome;
};

} // namespace

Result<Outcome> simulate(const Program &program, const SimulateOptions &options) {
  return Simulation(program, options).run();
}

} // namespace tilewright::predict
