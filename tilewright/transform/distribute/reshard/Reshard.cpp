#include "tilewright/transform/distribute/reshard/Reshard.h"

#include "tilewright/support/Concat.h"
#include "tilewright/transform/distribute/reshard/ReshardSearch.h"

#include <algorithm>

namespace tilewright::distribute {
namespace {

using numerics::AxisRef;

/// With at most this number of prime factors, a search that moves them is sure to find the cheapest
/// plan. With more factors, a search that divides axes only where one of the two shardings does may
/// find a better one.
constexpr size_t maxPrimes = 4;

/// The positions at which an axis of the mesh is divided, as products of the factors to the left:
/// 1, 2, 8 for an axis of size 8 of which a sharding names the sub-axis (1)2.
using Cuts = std::vector<int64_t>;

template <typename Visit> void forEachRef(const Sharding &sharding, Visit visit) {
  for (const Axes &dim : sharding.dims)
    for (const AxisRef &ref : dim)
      visit(ref);
  for (const AxisRef &ref : sharding.unreduced)
    visit(ref);
}

void sortUnique(Cuts &cuts) {
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
}

bool isChain(const Cuts &cuts) {
  for (size_t i = 1; i < cuts.size(); ++i)
    if (cuts[i] % cuts[i - 1] != 0)
      return false;
  return true;
}

std::vector<Cuts> cutsOf(const Sharding &from, const Sharding &to) {
  std::vector<Cuts> cuts(from.mesh->mesh().axes.size());
  for (const Sharding *sharding : {&from, &to})
    forEachRef(*sharding, [&](const AxisRef &ref) {
      cuts[ref.axis].push_back(ref.preSize);
      cuts[ref.axis].push_back(ref.preSize * ref.size);
    });
  for (Cuts &axis : cuts)
    sortUnique(axis);
  return cuts;
}

/// Divides each piece between two cuts into prime factors.
void cutIntoPrimes(Cuts &cuts) {
  const Cuts coarse = cuts;
  for (size_t i = 1; i < coarse.size(); ++i) {
    int64_t at = coarse[i - 1];
    for (int64_t rest = coarse[i] / at, prime = 2; rest > 1;)
      if (rest % prime == 0) {
        rest /= prime;
        cuts.push_back(at *= prime);
      } else {
        ++prime;
      }
  }
  sortUnique(cuts);
}

/// Splits `axes` at the cuts.
Axes divided(const Axes &axes, const std::vector<Cuts> &cuts) {
  Axes factors;
  for (const AxisRef &ref : axes) {
    int64_t at = ref.preSize;
    for (int64_t cut : cuts[ref.axis])
      if (cut > at && cut <= ref.preSize * ref.size) {
        factors.push_back({ref.axis, at, cut / at});
        at = cut;
      }
  }
  return factors;
}

/// A reshard in terms of factors of axes (`atoms`). The leading factors that both shardings share
/// in a dimension stay where they are and are not part of the search.
class Reshard {
public:
  Reshard(const Sharding &from, const Sharding &to, llvm::ArrayRef<int64_t> shape,
          const std::vector<Cuts> &cuts)
      : from(from), to(to), shape(shape) {
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      Axes before = divided(from.along(dim), cuts), after = divided(to.along(dim), cuts);
      size_t shared = 0;
      while (shared < before.size() && shared < after.size() && before[shared] == after[shared])
        ++shared;
      // The borders between padded shards depend on the number of shards.
      if (before != after &&
          (from.padded(dim, shape[dim]) != shape[dim] || to.padded(dim, shape[dim]) != shape[dim]))
        shared = 0;
      kept.emplace_back(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(shared));
      start.dims.push_back(idsOf(llvm::ArrayRef(before).drop_front(shared)));
      goal.dims.push_back(idsOf(llvm::ArrayRef(after).drop_front(shared)));
    }
    start.unreduced = sortedIdsOf(divided(from.unreduced, cuts));
    goal.unreduced = sortedIdsOf(divided(to.unreduced, cuts));
  }

  size_t factors() const { return atoms.size(); }

  ReshardProblem problem() const {
    ReshardProblem problem{start, goal, {}, {}};
    for (const AxisRef &atom : atoms)
      problem.sizes.push_back(atom.size);
    for (size_t dim = 0; dim < shape.size(); ++dim)
      problem.dims.push_back({shape[dim], countOf(kept[dim])});
    return problem;
  }

  std::vector<Exchange> run(double elementBytes) const {
    std::vector<Exchange> exchanges;
    Sharding now = from;
    for (const ReshardStep &step : findReshard(problem())) {
      Exchange &made = exchanges.emplace_back();
      made.kind = step.kind;
      made.from = now;
      made.to = now = shardingOf(step.to);
      for (uint8_t id : step.group)
        made.axes.push_back(atoms[id]);
      made.axes = merged(made.axes);
      made.wireBytes = step.wireElements * elementBytes;
    }
    return exchanges;
  }

private:
  uint8_t idOf(const AxisRef &ref) {
    auto found = std::find(atoms.begin(), atoms.end(), ref);
    if (found == atoms.end())
      found = atoms.insert(found, ref);
    return static_cast<uint8_t>(found - atoms.begin());
  }
  FactorIds idsOf(llvm::ArrayRef<AxisRef> refs) {
    FactorIds ids;
    for (const AxisRef &ref : refs)
      ids.push_back(idOf(ref));
    return ids;
  }
  FactorIds sortedIdsOf(const Axes &refs) {
    FactorIds ids = idsOf(refs);
    std::sort(ids.begin(), ids.end());
    return ids;
  }

  Sharding shardingOf(const Placement &placement) const {
    Sharding sharding = from;
    sharding.combine = from.unreduced.empty() ? to.combine : from.combine;
    sharding.dims.clear();
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      Axes axes = kept[dim];
      for (uint8_t id : placement.dims[dim])
        axes.push_back(atoms[id]);
      sharding.dims.push_back(merged(axes));
    }
    Axes open;
    for (uint8_t id : placement.unreduced)
      open.push_back(atoms[id]);
    sharding.unreduced = ordered(open);
    return sharding;
  }

  const Sharding &from, &to;
  llvm::ArrayRef<int64_t> shape;
  std::vector<Axes> kept;
  Axes atoms;
  Placement start, goal;
};

/// `sharding` with a mesh and with dimensions, also if it is replicated.
Sharding spelledOut(Sharding sharding, const Sharding &other, size_t rank) {
  if (sharding.isReplicated())
    sharding = Sharding{other.mesh, {}, {}, sharding.combine};
  sharding.dims.resize(rank);
  sharding.unreduced = ordered(sharding.unreduced);
  return sharding;
}

} // namespace

llvm::StringRef toString(ExchangeKind kind) {
  switch (kind) {
  case ExchangeKind::slice:
    return "slice";
  case ExchangeKind::open:
    return "open";
  case ExchangeKind::permute:
    return "permute";
  case ExchangeKind::allToAll:
    return "all-to-all";
  case ExchangeKind::allGather:
    return "all-gather";
  case ExchangeKind::reduceScatter:
    return "reduce-scatter";
  case ExchangeKind::allReduce:
    return "all-reduce";
  }
  return "";
}

/// Visits the parts of a reshard that a search covers: either the whole reshard, or its two halves
/// before and after an intermediate sharding. `visit` gets both shardings and the positions at
/// which they divide the axes.
static void forEachLeg(
    const Sharding &first, const Sharding &last, size_t rank,
    llvm::function_ref<void(const Sharding &, const Sharding &, const std::vector<Cuts> &)> visit) {
  if (first == last)
    return;
  const Sharding from = spelledOut(first, last, rank), to = spelledOut(last, first, rank);
  auto through = [&](const Sharding &middle) {
    forEachLeg(from, middle, rank, visit);
    forEachLeg(middle, to, rank, visit);
  };
  if (from.mesh != to.mesh)
    return through(Sharding());
  if (!from.unreduced.empty() && !to.unreduced.empty() && from.combine != to.combine) {
    Sharding closed = from;
    closed.unreduced.clear();
    return through(closed);
  }
  const std::vector<Cuts> cuts = cutsOf(from, to);
  // If no factorization of an axis contains the sub-axes of both shardings, the value is replicated
  // along that axis in between.
  for (size_t axis = 0; axis < cuts.size(); ++axis)
    if (!isChain(cuts[axis])) {
      auto isOnAxis = [&](const AxisRef &ref) { return ref.axis == axis; };
      Sharding middle = from;
      for (Axes &dim : middle.dims)
        dim.erase(std::find_if(dim.begin(), dim.end(), isOnAxis), dim.end());
      llvm::erase_if(middle.unreduced, isOnAxis);
      return through(middle);
    }
  visit(from, to, cuts);
}

static std::vector<Cuts> primesOf(std::vector<Cuts> cuts) {
  for (Cuts &axis : cuts)
    cutIntoPrimes(axis);
  return cuts;
}

std::vector<Exchange> planReshard(const Sharding &first, const Sharding &last,
                                  llvm::ArrayRef<int64_t> shape, double elementBytes) {
  std::vector<Exchange> all;
  forEachLeg(first, last, shape.size(),
             [&](const Sharding &from, const Sharding &to, const std::vector<Cuts> &cuts) {
               const Reshard fine(from, to, shape, primesOf(cuts)), coarse(from, to, shape, cuts);
               std::vector<Exchange> plan = fine.run(elementBytes);
               if (fine.factors() > maxPrimes && coarse.factors() < fine.factors()) {
                 std::vector<Exchange> other = coarse.run(elementBytes);
                 if (std::pair(wireBytes(other), other.size()) <
                     std::pair(wireBytes(plan), plan.size()))
                   plan = std::move(other);
               }
               std::move(plan.begin(), plan.end(), std::back_inserter(all));
             });
  return all;
}

ReshardTraffic trafficOf(const Sharding &first, const Sharding &last, llvm::ArrayRef<int64_t> shape,
                         double elementBytes, KnownReshards &known) {
  ReshardTraffic all;
  forEachLeg(first, last, shape.size(),
             [&](const Sharding &from, const Sharding &to, const std::vector<Cuts> &cuts) {
               const Reshard fine(from, to, shape, primesOf(cuts));
               ReshardTraffic sent = known.find(fine.problem());
               if (fine.factors() > maxPrimes)
                 if (const Reshard coarse(from, to, shape, cuts); coarse.factors() < fine.factors())
                   if (const ReshardTraffic other = known.find(coarse.problem());
                       std::pair(other.amount, other.exchanges) <
                       std::pair(sent.amount, sent.exchanges))
                     sent = other;
               all.amount += sent.amount * elementBytes;
               all.exchanges += sent.exchanges;
             });
  return all;
}

double wireBytes(llvm::ArrayRef<Exchange> exchanges) {
  double bytes = 0;
  for (const Exchange &exchange : exchanges)
    bytes += exchange.wireBytes;
  return bytes;
}

std::string toString(llvm::ArrayRef<Exchange> exchanges) {
  std::string text;
  for (const Exchange &exchange : exchanges)
    text += concat(text.empty() ? "" : "; ", toString(exchange.kind).str(), " ",
                   toString(exchange.axes, *exchange.from.mesh), " -> ", exchange.to.toString());
  return text;
}

} // namespace tilewright::distribute
