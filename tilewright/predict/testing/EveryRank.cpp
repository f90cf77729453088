#include "tilewright/predict/testing/EveryRank.h"

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <vector>

namespace tilewright::predict {

namespace {

class Ranks {
public:
  Ranks(const Program &program, double jitter, uint64_t seed)
      : program(program), jitter(jitter), random(seed) {
    for (int64_t size : program.axes)
      count *= static_cast<size_t>(size);
    clock.assign(count, 0);
  }

  void run(const std::vector<Node> &nodes) {
    for (const Node &node : nodes)
      for (int64_t i = 0; i < node.iterations; ++i) {
        run(node.body);
        if (!node.ops.empty())
          for (const Op &op : node.ops.front())
            step(op);
      }
  }
  double last() const { return *std::max_element(clock.begin(), clock.end()); }

private:
  void step(const Op &op) {
    if (op.kind == Op::Kind::compute) {
      std::normal_distribution<double> seconds(op.seconds, op.seconds * jitter);
      for (double &time : clock)
        time += jitter > 0 ? seconds(random) : op.seconds;
    } else if (op.kind == Op::Kind::start) {
      std::vector<double> &lane =
          lanes.try_emplace(program.exchanges[op.index].lane, count, 0.0).first->second;
      const Exchange &exchange = program.exchanges[op.index];
      for (size_t rank = 0; rank < count; ++rank)
        lane[rank] = std::max(lane[rank], clock[rank]);
      // The maximum along one axis after the other is the maximum of the group.
      size_t stride = count;
      for (size_t axis = 0; axis < program.axes.size(); ++axis) {
        const auto size = static_cast<size_t>(program.axes[axis]);
        stride /= size;
        if (!(exchange.axes >> axis & 1))
          continue;
        for (size_t rank = 0; rank < count; ++rank) {
          if (rank / stride % size != 0)
            continue;
          double latest = 0;
          for (size_t i = 0; i < size; ++i)
            latest = std::max(latest, lane[rank + i * stride]);
          for (size_t i = 0; i < size; ++i)
            lane[rank + i * stride] = latest;
        }
      }
      for (double &time : lane)
        time += exchange.seconds;
      pending[op.index].push_back(lane);
    } else {
      const std::vector<double> &ends = pending[op.index].front();
      for (size_t rank = 0; rank < count; ++rank)
        clock[rank] = std::max(clock[rank], ends[rank]);
      pending[op.index].pop_front();
    }
  }

  const Program &program;
  const double jitter;
  std::mt19937_64 random;
  size_t count = 1;
  std::vector<double> clock;
  std::map<uint32_t, std::vector<double>> lanes;
  std::map<uint32_t, std::deque<std::vector<double>>> pending;
};

} // namespace

double simulateEveryRank(const Program &program, double jitter, uint64_t seed) {
  Ranks ranks(program, jitter, seed);
  ranks.run(program.nodes);
  return ranks.last();
}

} // namespace tilewright::predict
