#include "tilewright/transform/tile/pipeline/ChannelGraph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <deque>
#include <vector>

namespace tilewright::pipeline {
namespace {

const char *nameOf(Point point) {
  switch (point) {
  case Point::acquire:
    return "acquire";
  case Point::publish:
    return "publish";
  case Point::take:
    return "take";
  case Point::free:
    return "free";
  }
  return "";
}

/// An action in the unrolled round: action number `ordinal` of its kind on its channel in its role.
struct Node {
  unsigned role;
  Action action;
  int64_t ordinal;
};

/// One round of all roles, unrolled.
struct Unrolled {
  const ChannelGraph &graph;
  std::vector<Node> nodes;
  /// The actions of one role on one channel: the nodes of each kind, in order.
  struct Uses {
    std::vector<unsigned> of[4];
    const std::vector<unsigned> &at(Point point) const { return of[unsigned(point)]; }
  };
  std::vector<std::vector<Uses>> uses; // [role][channel]
  /// Edges without a token.
  std::vector<llvm::SmallVector<unsigned, 3>> after;

  explicit Unrolled(const ChannelGraph &graph) : graph(graph) {
    uses.assign(graph.roles.size(), std::vector<Uses>(graph.channels.size()));
    for (auto [role, program] : llvm::enumerate(graph.roles))
      for (const Segment &segment : program.segments)
        for (int64_t time = 0; time < segment.times; ++time)
          for (Action action : segment.actions) {
            std::vector<unsigned> &same = uses[role][action.channel].of[unsigned(action.point)];
            same.push_back(nodes.size());
            nodes.push_back({unsigned(role), action, int64_t(same.size()) - 1});
          }
    after.resize(nodes.size());
  }

  std::optional<std::string> findBreach() const;
  void connect();
  std::optional<std::vector<unsigned>> smallestCycle() const;
  std::string describe(const std::vector<unsigned> &cycle) const;
};

/// Returns a violation of the protocol, which requires that exactly one role fills a channel, every
/// draining role takes every slot, and a role publishes or frees only slots that it holds.
/// Otherwise slots would be lost, or read after they were freed.
std::optional<std::string> Unrolled::findBreach() const {
  for (auto [index, channel] : llvm::enumerate(graph.channels)) {
    int filler = -1;
    bool drained = false;
    for (auto [role, program] : llvm::enumerate(graph.roles)) {
      const Uses &use = uses[role][index];
      for (auto [begin, end] :
           {std::pair(Point::acquire, Point::publish), {Point::take, Point::free}}) {
        size_t held = use.at(begin).size(), passed = use.at(end).size();
        if (held != passed)
          return llvm::formatv("{0} executes {1} on `{2}` {3} times and {4} {5} times per round; "
                               "the numbers must be equal",
                               program.name, nameOf(begin), channel.name, held, nameOf(end), passed)
              .str();
        for (auto [first, second] : llvm::zip(use.at(begin), use.at(end)))
          if (first > second)
            return llvm::formatv("{0} executes {1} on slot {2} of `{3}` before {4}", program.name,
                                 nameOf(end), nodes[first].ordinal, channel.name, nameOf(begin))
                .str();
      }
      if (!use.at(Point::acquire).empty()) {
        if (filler >= 0)
          return llvm::formatv("`{0}` is filled by {1} and by {2}; only one role may fill it",
                               channel.name, graph.roles[filler].name, program.name)
              .str();
        filler = role;
      }
      drained |= !use.at(Point::take).empty();
    }
    if (filler < 0 && !drained)
      continue;
    if (filler < 0 || !drained)
      return llvm::formatv("no role {1} `{0}`", channel.name, drained ? "fills" : "drains").str();
    size_t filled = uses[filler][index].at(Point::acquire).size();
    for (auto [role, program] : llvm::enumerate(graph.roles)) {
      size_t taken = uses[role][index].at(Point::take).size();
      if (taken != 0 && taken != filled)
        return llvm::formatv("{0} fills {1} slots of `{2}` per round and {3} takes {4}; the "
                             "numbers must be equal",
                             graph.roles[filler].name, filled, channel.name, program.name, taken)
            .str();
    }
    if (channel.filled < 0 || channel.filled > channel.depth)
      return llvm::formatv("`{0}` has {1} slots, but {2} are full at the start", channel.name,
                           channel.depth, channel.filled)
          .str();
  }
  return std::nullopt;
}

void Unrolled::connect() {
  for (unsigned node = 1; node < nodes.size(); ++node)
    if (nodes[node - 1].role == nodes[node].role)
      after[node - 1].push_back(node);
  // Action n of `later` needs action n - `lead` of `earlier`. If n < `lead`, that action belongs to
  // the previous round; the edge has a token and cannot block this round, so it is omitted.
  auto add = [&](const std::vector<unsigned> &earlier, const std::vector<unsigned> &later,
                 int64_t lead) {
    for (int64_t n = lead; n < int64_t(later.size()); ++n)
      after[earlier[n - lead]].push_back(later[n]);
  };
  for (auto [index, channel] : llvm::enumerate(graph.channels))
    for (auto &filler : uses)
      for (auto &drainer : uses) {
        if (filler[index].at(Point::acquire).empty() || drainer[index].at(Point::take).empty())
          continue;
        add(filler[index].at(Point::publish), drainer[index].at(Point::take), channel.filled);
        add(drainer[index].at(Point::free), filler[index].at(Point::acquire),
            channel.depth - channel.filled);
      }
}

/// Topological sorting leaves the nodes that lie on cycles or are reachable from a cycle. A
/// breadth-first search then finds the shortest cycle through each of them.
std::optional<std::vector<unsigned>> Unrolled::smallestCycle() const {
  std::vector<unsigned> before(nodes.size(), 0);
  for (auto &next : after)
    for (unsigned node : next)
      ++before[node];
  std::deque<unsigned> ready;
  for (unsigned node = 0; node < nodes.size(); ++node)
    if (before[node] == 0)
      ready.push_back(node);
  size_t done = 0;
  for (; !ready.empty(); ready.pop_front(), ++done)
    for (unsigned node : after[ready.front()])
      if (--before[node] == 0)
        ready.push_back(node);
  if (done == nodes.size())
    return std::nullopt;

  std::vector<unsigned> best;
  // A long loop repeats the same cycle many times, so 256 start nodes are enough.
  unsigned looked = 0;
  for (unsigned start = 0; start < nodes.size() && looked < 256; ++start) {
    if (before[start] == 0)
      continue;
    ++looked;
    std::vector<int> from(nodes.size(), -1);
    std::deque<unsigned> queue{start};
    bool found = false;
    while (!queue.empty() && !found) {
      unsigned node = queue.front();
      queue.pop_front();
      for (unsigned next : after[node]) {
        if (next == start) {
          std::vector<unsigned> cycle;
          for (int step = node; step != int(start); step = from[step])
            cycle.push_back(step);
          cycle.push_back(start);
          std::reverse(cycle.begin(), cycle.end());
          if (best.empty() || cycle.size() < best.size())
            best = cycle;
          found = true;
          break;
        }
        if (from[next] < 0 && before[next] != 0) {
          from[next] = node;
          queue.push_back(next);
        }
      }
    }
  }
  return best;
}

std::string Unrolled::describe(const std::vector<unsigned> &cycle) const {
  std::string text;
  unsigned waits = 0;
  for (size_t i = 0; i < cycle.size(); ++i) {
    const Node &earlier = nodes[cycle[i]], &later = nodes[cycle[(i + 1) % cycle.size()]];
    // Skip edges that only express the program order of a role.
    bool sameProgram = earlier.role == later.role && cycle[i] + 1 == cycle[(i + 1) % cycle.size()];
    if (sameProgram)
      continue;
    text += llvm::formatv("{0}{1} waits in {2} {3} of `{4}` for {5}'s {6} {7}", waits++ ? ", " : "",
                          graph.roles[later.role].name, nameOf(later.action.point), later.ordinal,
                          graph.channels[later.action.channel].name, graph.roles[earlier.role].name,
                          nameOf(earlier.action.point), earlier.ordinal)
                .str();
  }
  return "deadlock: " + text;
}

} // namespace

std::optional<std::string> findDeadlock(const ChannelGraph &graph) {
  Unrolled round(graph);
  if (std::optional<std::string> breach = round.findBreach())
    return breach;
  round.connect();
  if (std::optional<std::vector<unsigned>> cycle = round.smallestCycle())
    return round.describe(*cycle);
  return std::nullopt;
}

} // namespace tilewright::pipeline
