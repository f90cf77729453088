#include "tilewright/transform/distribute/reshard/ReshardSearch.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <tuple>

namespace tilewright::distribute {
namespace {

using Ids = FactorIds;
using Lists = llvm::SmallVector<Ids, 4>;

/// With more factors, a search tries only steps that bring factors to their places in the target.
constexpr size_t maxTried = 4;
/// After visiting this many placements, a search becomes greedy; after twice as many it gives up.
constexpr size_t maxVisited = 2000, maxVisitedDirected = 100;

/// The quantities to minimise, the most important first: elements sent by one device (in units in
/// which they are integers), exchanges that send, steps, and the factors that these move.
struct Price {
  int64_t wire = 0;
  int sends = 0, steps = 0;
  auto operator<=>(const Price &) const = default;
  Price operator+(const Price &other) const {
    return {wire + other.wire, sends + other.sends, steps + other.steps};
  }
};

/// Shortest path by A*.
class Search {
public:
  explicit Search(const ReshardProblem &problem) : problem(problem) {
    isDirected = problem.sizes.size() > maxTried;
    for (int64_t size : problem.sizes)
      unit *= size;
    targets.resize(problem.sizes.size(), {-1, 0});
    for (size_t dim = 0; dim < problem.to.dims.size(); ++dim)
      for (size_t at = 0; at < problem.to.dims[dim].size(); ++at)
        targets[problem.to.dims[dim][at]] = {static_cast<int>(dim), at};
    for (size_t dim = 0; dim < problem.dims.size(); ++dim)
      for (const Placement *end : {&problem.from, &problem.to})
        isEven &= paddedOf(dim, end->dims[dim]) == problem.dims[dim].size;
  }

  std::vector<ReshardStep> run() {
    nodes.reserve(64);
    const std::vector<ReshardStep> direct = throughReplicated();
    for (const ReshardStep &step : direct)
      bound = bound + priceOf(step);
    reach(-1, {ExchangeKind::slice, problem.from, {}, 0}, Price());
    size_t visited = 0;
    while (!queue.empty()) {
      const Entry entry = queue.top();
      queue.pop();
      const auto index = static_cast<size_t>(entry.node);
      if (nodes[index].price != nodes[index].known->second)
        continue; // a cheaper path was found since
      if (nodes[index].step.to == problem.to)
        return pathTo(entry.node);
      const size_t limit = isDirected ? maxVisitedDirected : maxVisited;
      if (++visited == limit)
        beGreedy();
      if (visited > 2 * limit)
        break;
      const Placement at = nodes[index].step.to;
      soFar = nodes[index].price;
      forEachStep(at, [&](const Step &step) { reach(entry.node, step, soFar + priceOf(step)); });
    }
    return direct;
  }

private:
  /// A step that may be taken. Most are not, so it refers to what it consists of.
  struct Step {
    ExchangeKind kind;
    const Placement &to;
    const Ids &group;
    double wireElements;
  };
  struct Node {
    ReshardStep step;
    Price price;
    int parent;
    const llvm::StringMapEntry<Price> *known; // the price of the best path to the placement
  };
  struct Entry {
    Price estimate; // of the whole path
    int node;
    bool operator<(const Entry &other) const { // the top of the queue is the largest
      return std::tie(estimate, node) > std::tie(other.estimate, other.node);
    }
  };
  using Visit = llvm::function_ref<void(const Step &)>;

  int64_t wireOf(double elements) const {
    return std::llround(elements * static_cast<double>(unit));
  }
  template <typename AnyStep> Price priceOf(const AnyStep &step) const {
    const bool sends = step.kind != ExchangeKind::slice && step.kind != ExchangeKind::open;
    return {wireOf(step.wireElements), sends, 1 + static_cast<int>(step.group.size())};
  }

  static llvm::SmallString<32> keyOf(const Placement &placement) {
    llvm::SmallString<32> key;
    for (const Ids &list : placement.dims) {
      key.append(list.begin(), list.end());
      key.push_back('\xff');
    }
    key.append(placement.unreduced.begin(), placement.unreduced.end());
    return key;
  }

  /// Whether a step that sends this many elements makes the path more expensive than a known one.
  bool isTooDear(double wireElements) const {
    return soFar.wire + wireOf(wireElements) > bound.wire;
  }

  void reach(int parent, const Step &step, const Price &price) {
    // One more exchange may move all remaining factors; a further step with one factor covers the
    // rest.
    const int64_t lacks = missing(step.to);
    Price estimate = price + Price{lacks, lacks > 0, step.to == problem.to ? 0 : 2};
    if (estimate > bound)
      return;
    if (step.to == problem.to)
      bound = std::min(bound, price);
    if (isGreedy)
      estimate.wire = misplacedIn(step.to);
    auto [found, isNew] = best.try_emplace(keyOf(step.to), price);
    if (!isNew && found->second <= price)
      return;
    found->second = price;
    queue.push({estimate, static_cast<int>(nodes.size())});
    nodes.push_back({{step.kind, step.to, step.group, step.wireElements}, price, parent, &*found});
  }

  /// Makes the search prefer placements close to the target to cheap ones.
  void beGreedy() {
    isGreedy = true;
    std::priority_queue<Entry> reordered;
    for (; !queue.empty(); queue.pop()) {
      Entry entry = queue.top();
      entry.estimate = nodes[static_cast<size_t>(entry.node)].price;
      entry.estimate.wire = misplacedIn(nodes[static_cast<size_t>(entry.node)].step.to);
      reordered.push(entry);
    }
    queue = std::move(reordered);
  }
  /// The number of factors that are not where the target has them.
  int64_t misplacedIn(const Placement &at) const {
    return static_cast<int64_t>(movedBetween(at, problem.to).size());
  }

  std::vector<ReshardStep> pathTo(int last) const {
    std::vector<ReshardStep> path;
    for (int at = last; nodes[static_cast<size_t>(at)].parent >= 0;
         at = nodes[static_cast<size_t>(at)].parent)
      path.push_back(nodes[static_cast<size_t>(at)].step);
    std::reverse(path.begin(), path.end());
    // Slices are found one factor at a time.
    std::vector<ReshardStep> merged;
    for (ReshardStep &step : path) {
      if (!merged.empty() && merged.back().kind == step.kind && step.wireElements == 0 &&
          (step.kind == ExchangeKind::slice || step.kind == ExchangeKind::open)) {
        merged.back().to = std::move(step.to);
        merged.back().group.insert(merged.back().group.end(), step.group.begin(), step.group.end());
      } else {
        merged.push_back(std::move(step));
      }
    }
    return merged;
  }

  int64_t countOf(const Ids &ids) const {
    int64_t count = 1;
    for (uint8_t id : ids)
      count *= problem.sizes[id];
    return count;
  }
  int64_t shardsOf(size_t dim, const Ids &list) const {
    return problem.dims[dim].shards * countOf(list);
  }
  int64_t paddedOf(size_t dim, const Ids &list) const {
    const int64_t shards = shardsOf(dim, list);
    return llvm::divideCeil(static_cast<uint64_t>(problem.dims[dim].size),
                            static_cast<uint64_t>(shards)) *
           shards;
  }
  /// The number of elements that one device holds.
  int64_t elementsOf(const Placement &placement) const {
    int64_t elements = 1;
    for (size_t dim = 0; dim < placement.dims.size(); ++dim)
      elements *= paddedOf(dim, placement.dims[dim]) / shardsOf(dim, placement.dims[dim]);
    return elements;
  }

  /// Whether the shards of a dimension may change in this way: either the borders of the new shards
  /// are borders of the old ones, or the dimension is whole before or after. The dimension is
  /// padded as in one of the two shardings.
  bool canChange(size_t dim, const Ids &before, const Ids &after) const {
    if (before == after)
      return true;
    const int64_t size = problem.dims[dim].size, shards = shardsOf(dim, after);
    return (size % shards == 0 || shards == shardsOf(dim, problem.from.dims[dim]) ||
            shards == shardsOf(dim, problem.to.dims[dim])) &&
           (paddedOf(dim, before) == paddedOf(dim, after) || shards == 1 ||
            shardsOf(dim, before) == 1);
  }
  bool canChange(const Lists &before, const Lists &after) const {
    for (size_t dim = 0; dim < before.size(); ++dim)
      if (!canChange(dim, before[dim], after[dim]))
        return false;
    return true;
  }

  bool isOpenInTarget(uint8_t id) const { return llvm::is_contained(problem.to.unreduced, id); }

  /// A lower bound for the wire from here. Devices that differ only in factors along which the
  /// target is unreduced form a group, whose terms together are the target shard; without such
  /// factors a group is one device. The bound is what the worst placed group lacks, shared among
  /// its members.
  int64_t missing(const Placement &at) const {
    const int64_t members = countOf(problem.to.unreduced);
    if (members > 1 && !isEven)
      return 0;
    const int64_t wanted = elementsOf(problem.to) * unit;
    Ids terms; // factors along which other groups hold terms
    llvm::copy_if(at.unreduced, std::back_inserter(terms),
                  [&](uint8_t id) { return !isOpenInTarget(id); });
    if (!terms.empty())
      return members == 1 && isEven ? sentForSum(at, countOf(terms), wanted) : wanted / members;
    int64_t present = wanted;
    for (size_t dim = 0; dim < at.dims.size(); ++dim) {
      const Ids &here = at.dims[dim], &there = problem.to.dims[dim];
      size_t shared = 0;
      while (shared < here.size() && shared < there.size() && here[shared] == there[shared])
        ++shared;
      if (shared == here.size())
        continue;
      if (shared < there.size() && !isOpenInTarget(here[shared]))
        return wanted / members; // some group holds nothing of its target shard
      int64_t shares = 1; // into which groups divide what the target shards divide into `parts`
      for (uint8_t id : llvm::drop_begin(here, shared))
        shares *= isOpenInTarget(id) ? 1 : problem.sizes[id];
      int64_t parts = 1;
      for (uint8_t id : llvm::drop_begin(there, shared))
        parts *= problem.sizes[id];
      if (shares > parts)
        present = present / shares * parts;
    }
    return (wanted - present) / members;
  }

  /// A lower bound for a sum of `terms` terms. Slicing by the free factors reduces the elements
  /// that a device holds; only a reduction reduces them further. It sends all but one part, and
  /// that part is gathered to the target shard.
  int64_t sentForSum(const Placement &at, int64_t terms, int64_t wanted) const {
    const int64_t least = elementsOf(at) * (unit / countOf(freeIn(at))), part = least / terms;
    return least - part + std::max<int64_t>(0, wanted - part);
  }

  Ids freeIn(const Placement &placement) const {
    llvm::SmallBitVector isUsed(static_cast<unsigned>(problem.sizes.size()));
    for (const Ids &list : placement.dims)
      for (uint8_t id : list)
        isUsed[id] = true;
    for (uint8_t id : placement.unreduced)
      isUsed[id] = true;
    Ids free;
    for (unsigned id = 0; id < isUsed.size(); ++id)
      if (!isUsed[id])
        free.push_back(static_cast<uint8_t>(id));
    return free;
  }

  static void openAlong(Placement &placement, uint8_t id) {
    placement.unreduced.insert(llvm::lower_bound(placement.unreduced, id), id);
  }

  void forEachStep(const Placement &at, Visit visit) const {
    forEachLocal(at, visit);
    forEachGather(at, visit);
    forEachReduction(at, visit);
    forEachPermute(at, visit);
  }

  void forEachLocal(const Placement &at, Visit visit) const {
    for (uint8_t id : freeIn(at)) {
      for (size_t dim = 0; dim < at.dims.size(); ++dim) {
        Placement next = at;
        next.dims[dim].push_back(id);
        if (mayPlace(id, dim, at.dims[dim], at.dims[dim].size()) &&
            canChange(dim, at.dims[dim], next.dims[dim]))
          visit({ExchangeKind::slice, next, {id}, 0});
      }
      if (isOpenInTarget(id)) {
        Placement next = at;
        openAlong(next, id);
        visit({ExchangeKind::open, next, {id}, 0});
      }
    }
    // A shard is a term of the whole tensor, with zeros outside of the shard.
    for (size_t dim = 0; dim < at.dims.size(); ++dim)
      if (!at.dims[dim].empty() && isOpenInTarget(at.dims[dim].back())) {
        Placement next = at;
        const uint8_t id = at.dims[dim].back();
        next.dims[dim].pop_back();
        openAlong(next, id);
        if (canChange(dim, at.dims[dim], next.dims[dim]))
          visit({ExchangeKind::open, next, {id}, 0});
      }
  }

  /// Whether a factor may be inserted at position `at` of a dimension's `list`.
  bool mayPlace(uint8_t id, size_t dim, const Ids &list, size_t at) const {
    if (!isDirected)
      return true;
    auto isBefore = [&](uint8_t one, uint8_t other) {
      return targets[one].first == static_cast<int>(dim) && targets[one] < targets[other];
    };
    return targets[id].first == static_cast<int>(dim) && (at == 0 || isBefore(list[at - 1], id)) &&
           (at == list.size() || isBefore(id, list[at]));
  }

  /// Visits all ways to append `ids` to the dimensions with `mayGain`, in every order.
  void forEachAppended(const Placement &start, const Ids &ids,
                       llvm::function_ref<bool(size_t)> mayGain,
                       llvm::function_ref<void(const Placement &)> visit) const {
    const Lists &lists = start.dims;
    Placement next = start;
    Lists &appended = next.dims;
    auto place = [&](const auto &self, size_t number) -> void {
      if (number == ids.size())
        return visit(next);
      for (size_t dim = 0; dim < lists.size(); ++dim) {
        if (!mayGain(dim))
          continue;
        for (size_t at = lists[dim].size(); at <= appended[dim].size(); ++at) {
          if (!mayPlace(ids[number], dim, appended[dim], at))
            continue;
          appended[dim].insert(appended[dim].begin() + static_cast<std::ptrdiff_t>(at),
                               ids[number]);
          self(self, number + 1);
          appended[dim].erase(appended[dim].begin() + static_cast<std::ptrdiff_t>(at));
        }
      }
    };
    place(place, 0);
  }

  /// All-gathers and all-to-alls: the last factors of some dimensions leave them.
  void forEachGather(const Placement &at, Visit visit) const {
    const int64_t elements = elementsOf(at);
    std::vector<size_t> leaving(at.dims.size(), 0);
    for (;;) {
      size_t dim = 0;
      while (dim < leaving.size() && leaving[dim] == at.dims[dim].size())
        leaving[dim++] = 0;
      if (dim == leaving.size())
        return;
      ++leaving[dim];

      Placement next = at;
      Ids group;
      for (size_t d = 0; d < leaving.size(); ++d) {
        auto begin = next.dims[d].end() - static_cast<std::ptrdiff_t>(leaving[d]);
        group.insert(group.end(), begin, next.dims[d].end());
        next.dims[d].erase(begin, next.dims[d].end());
      }
      if (!canChange(at.dims, next.dims))
        continue;
      const auto others = static_cast<double>(countOf(group) - 1);
      if (!isTooDear(static_cast<double>(elements) * others))
        visit({ExchangeKind::allGather, next, group, static_cast<double>(elements) * others});
      if (isTooDear(static_cast<double>(elements) * others / (others + 1)))
        continue; // padding only adds to it
      forEachAppended(
          next, group, [&](size_t d) { return leaving[d] == 0; },
          [&](const Placement &to) {
            if (canChange(at.dims, to.dims))
              visit({ExchangeKind::allToAll, to, group,
                     static_cast<double>(paddedElements(at, to.dims)) * others / (others + 1)});
          });
    }
  }

  /// The elements that one device holds after it has padded whole dimensions for new shards.
  int64_t paddedElements(const Placement &at, const Lists &next) const {
    int64_t elements = elementsOf(at);
    for (size_t dim = 0; dim < next.size(); ++dim)
      if (problem.dims[dim].size > 0 && shardsOf(dim, at.dims[dim]) == 1)
        elements = elements / problem.dims[dim].size * paddedOf(dim, next[dim]);
    return elements;
  }

  /// All-reduces and reduce-scatters of some of the unreduced factors. Even a factor that the
  /// target wants unreduced may be reduced and made unreduced again, if that makes the terms
  /// smaller.
  void forEachReduction(const Placement &at, Visit visit) const {
    std::vector<Ids> groups;
    if (isDirected) { // those that the target has in dimensions, and the others
      groups.resize(2);
      for (uint8_t id : at.unreduced)
        if (!llvm::is_contained(problem.to.unreduced, id))
          groups[targets[id].first < 0].push_back(id);
    } else {
      for (uint32_t chosen = 1; chosen < 1U << at.unreduced.size(); ++chosen) {
        Ids &group = groups.emplace_back();
        for (size_t i = 0; i < at.unreduced.size(); ++i)
          if (chosen >> i & 1)
            group.push_back(at.unreduced[i]);
      }
    }
    for (const Ids &group : groups) {
      if (group.empty())
        continue;
      Placement next = at;
      llvm::erase_if(next.unreduced, [&](uint8_t id) { return llvm::is_contained(group, id); });
      const auto members = static_cast<double>(countOf(group));
      const double share = (members - 1) / members,
                   sent = static_cast<double>(elementsOf(at)) * share;
      if (isTooDear(sent))
        continue;
      visit({ExchangeKind::allReduce, next, group, 2 * sent});
      forEachAppended(
          next, group, [](size_t) { return true; },
          [&](const Placement &to) {
            if (canChange(at.dims, to.dims))
              visit({ExchangeKind::reduceScatter, to, group,
                     static_cast<double>(paddedElements(at, to.dims)) * share});
          });
    }
  }

  /// The other distributions of factors that preserve the product of every dimension.
  void forEachPermute(const Placement &at, Visit visit) const {
    Placement next{Lists(at.dims.size()), {}};
    llvm::SmallBitVector isUsed(static_cast<unsigned>(problem.sizes.size()));
    const auto elements = static_cast<double>(elementsOf(at));
    if (isTooDear(elements))
      return;
    // Fills the dimensions one after the other up to their products; the remaining factors, in
    // ascending order, are unreduced.
    auto fill = [&](const auto &self, size_t dim, int64_t rest) -> void {
      const bool isOpen = dim == at.dims.size();
      if (rest == 1) {
        if (!isOpen)
          self(self, dim + 1, countOf(dim + 1 < at.dims.size() ? at.dims[dim + 1] : at.unreduced));
        else if (!(next == at))
          visit({ExchangeKind::permute, next, movedBetween(at, next), elements});
        return;
      }
      Ids &list = isOpen ? next.unreduced : next.dims[dim];
      for (unsigned number = 0; number < isUsed.size(); ++number) {
        const auto id = static_cast<uint8_t>(number);
        if (isUsed[id] || rest % problem.sizes[id] != 0 ||
            (isOpen ? !list.empty() && list.back() > id : !mayPlace(id, dim, list, list.size())) ||
            (isOpen && isDirected && !llvm::is_contained(problem.to.unreduced, id)))
          continue;
        isUsed[id] = true;
        list.push_back(id);
        self(self, dim, rest / problem.sizes[id]);
        list.pop_back();
        isUsed[id] = false;
      }
    };
    fill(fill, 0, countOf(at.dims.empty() ? at.unreduced : at.dims[0]));
  }

  /// The factors that have different positions in the two placements.
  Ids movedBetween(const Placement &one, const Placement &two) const {
    auto placeOf = [](const Placement &in, uint8_t id) {
      for (size_t dim = 0; dim < in.dims.size(); ++dim)
        for (size_t i = 0; i < in.dims[dim].size(); ++i)
          if (in.dims[dim][i] == id)
            return std::pair(dim + 2, i);
      return std::pair<size_t, size_t>(llvm::is_contained(in.unreduced, id), 0);
    };
    Ids moved;
    for (size_t id = 0; id < problem.sizes.size(); ++id)
      if (placeOf(one, static_cast<uint8_t>(id)) != placeOf(two, static_cast<uint8_t>(id)))
        moved.push_back(static_cast<uint8_t>(id));
    return moved;
  }

  /// The path that always exists: reduce, gather, then slice.
  std::vector<ReshardStep> throughReplicated() const {
    std::vector<ReshardStep> path;
    Placement at = problem.from;
    Ids group;
    for (uint8_t id : at.unreduced)
      if (!llvm::is_contained(problem.to.unreduced, id))
        group.push_back(id);
    if (!group.empty()) {
      const auto members = static_cast<double>(countOf(group));
      const double sent = 2 * static_cast<double>(elementsOf(at)) * (members - 1) / members;
      llvm::erase_if(at.unreduced, [&](uint8_t id) { return llvm::is_contained(group, id); });
      path.push_back({ExchangeKind::allReduce, at, group, sent});
    }
    group.clear();
    const auto elements = static_cast<double>(elementsOf(at));
    for (Ids &list : at.dims) {
      group.insert(group.end(), list.begin(), list.end());
      list.clear();
    }
    if (!group.empty())
      path.push_back(
          {ExchangeKind::allGather, at, group, elements * static_cast<double>(countOf(group) - 1)});
    if (at.unreduced != problem.to.unreduced) {
      group.clear();
      for (uint8_t id : problem.to.unreduced)
        if (!llvm::is_contained(at.unreduced, id))
          group.push_back(id);
      at.unreduced = problem.to.unreduced;
      path.push_back({ExchangeKind::open, at, group, 0});
    }
    group.clear();
    for (const Ids &list : problem.to.dims)
      group.insert(group.end(), list.begin(), list.end());
    if (!group.empty())
      path.push_back({ExchangeKind::slice, problem.to, group, 0});
    return path;
  }

  const ReshardProblem &problem;
  int64_t unit = 1;
  Price bound, soFar; // of a path that is known, and of the path to the placement that is looked at
  bool isDirected = false, isGreedy = false;
  bool isEven = true;                          // neither sharding pads a dimension
  std::vector<std::pair<int, size_t>> targets; // of each factor: its dimension or -1, its place
  std::vector<Node> nodes;
  std::priority_queue<Entry> queue;
  llvm::StringMap<Price> best;
};

/// A normalised problem, which leaves out everything that does not affect the solution: the sizes
/// of dimensions that all factors together divide, dimensions that no factor divides, the order of
/// dimensions and the numbers of factors. Sending n elements in it means sending n * `scale` in the
/// original problem.
struct Reduced {
  ReshardProblem problem;
  double scale = 1;

  explicit Reduced(const ReshardProblem &whole) {
    int64_t all = 1;
    for (int64_t size : whole.sizes)
      all *= size;
    std::vector<std::tuple<Ids, Ids, int64_t, int64_t>> dims;
    for (size_t dim = 0; dim < whole.dims.size(); ++dim) {
      const Ids &from = whole.from.dims[dim], &to = whole.to.dims[dim];
      const auto [size, shards] = whole.dims[dim];
      const bool isSpare = from.empty() && to.empty();
      auto divides = [&](int64_t factor) { return size % (shards * factor) == 0; };
      if (divides(all)) {
        scale *= static_cast<double>(size / shards) / static_cast<double>(all);
        dims.emplace_back(from, to, all, 1);
      } else if (isSpare && llvm::none_of(whole.sizes, divides)) {
        scale *= static_cast<double>(
            llvm::divideCeil(static_cast<uint64_t>(size), static_cast<uint64_t>(shards)));
      } else {
        dims.emplace_back(from, to, size, shards);
      }
    }
    llvm::sort(dims);
    // A dimension that no factor divides before or after may be divided in between. One such
    // dimension is enough, because it has room for all factors.
    const std::tuple<Ids, Ids, int64_t, int64_t> spare({}, {}, all, 1);
    const auto spares = static_cast<int64_t>(llvm::count(dims, spare));
    for (int64_t more = 1; more < spares; ++more) {
      dims.erase(llvm::find(dims, spare));
      scale *= static_cast<double>(all);
    }
    std::vector<int> numbers(whole.sizes.size(), -1);
    auto renamed = [&](Ids ids) {
      for (uint8_t &id : ids) {
        if (numbers[id] < 0) {
          numbers[id] = static_cast<int>(problem.sizes.size());
          problem.sizes.push_back(whole.sizes[id]);
        }
        id = static_cast<uint8_t>(numbers[id]);
      }
      return ids;
    };
    for (auto &[from, to, size, shards] : dims) {
      problem.from.dims.push_back(renamed(from));
      problem.to.dims.push_back(renamed(to));
      problem.dims.push_back({size, shards});
    }
    problem.from.unreduced = renamed(whole.from.unreduced);
    problem.to.unreduced = renamed(whole.to.unreduced);
    llvm::sort(problem.from.unreduced);
    llvm::sort(problem.to.unreduced);
  }

  std::string key() const {
    std::string key;
    auto add = [&](const Ids &ids) {
      key.append(ids.begin(), ids.end());
      key.push_back('\xff');
    };
    auto addNumber = [&](int64_t number) {
      key += std::to_string(number);
      key.push_back(' ');
    };
    for (size_t dim = 0; dim < problem.dims.size(); ++dim) {
      add(problem.from.dims[dim]);
      add(problem.to.dims[dim]);
      addNumber(problem.dims[dim].size);
      addNumber(problem.dims[dim].shards);
    }
    add(problem.from.unreduced);
    add(problem.to.unreduced);
    for (int64_t size : problem.sizes)
      addNumber(size);
    return key;
  }
};

} // namespace

ReshardTraffic KnownReshards::find(const ReshardProblem &problem) {
  const Reduced reduced(problem);
  auto [found, isNew] = known.try_emplace(reduced.key());
  if (isNew)
    for (const ReshardStep &step : findReshard(reduced.problem)) {
      found->second.amount += step.wireElements;
      found->second.exchanges += step.wireElements > 0;
    }
  const auto [amount, exchanges] = found->second;
  return {amount * reduced.scale, reduced.scale > 0 ? exchanges : 0};
}

std::vector<ReshardStep> findReshard(const ReshardProblem &problem) {
  return Search(problem).run();
}

} // namespace tilewright::distribute
