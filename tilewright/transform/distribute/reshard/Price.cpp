#include "tilewright/transform/distribute/reshard/Price.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/Hashing.h"

using namespace mlir;

namespace tilewright::distribute {

static size_t hashOf(const Axes &axes) {
  size_t hash = axes.size();
  for (const numerics::AxisRef &axis : axes)
    hash = llvm::hash_combine(hash, axis.axis, axis.preSize, axis.size);
  return hash;
}

int Prices::intern(const Sharding &sharding) {
  size_t hash = 0;
  if (!sharding.isReplicated()) {
    hash = llvm::hash_combine(sharding.mesh.get(), hashOf(sharding.unreduced));
    for (const Axes &axes : sharding.dims)
      hash = llvm::hash_combine(hash, hashOf(axes));
  }
  for (auto [at, end] = numbers.equal_range(hash); at != end; ++at)
    if (table[static_cast<size_t>(at->second)] == sharding)
      return at->second;
  const auto number = static_cast<int>(table.size());
  table.push_back(sharding);
  numbers.emplace(hash, number);
  return number;
}

int Prices::typeOf(Type type) {
  auto [entry, isNew] = typeNumbers.try_emplace(type, -1);
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!isNew || !tensor || !tensor.hasStaticShape())
    return entry->second;
  Type element = tensor.getElementType();
  auto complex = dyn_cast<ComplexType>(element);
  const double bits = complex ? 2.0 * complex.getElementType().getIntOrFloatBitWidth()
                              : (element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 32.0);
  const double bytes = std::max(bits, 8.0) / 8;
  entry->second = static_cast<int>(types.size());
  types.push_back(
      {tensor.getShape().vec(), static_cast<double>(tensor.getNumElements()) * bytes, bytes});
  reshards.emplace_back();
  return entry->second;
}

void Prices::fitTo(double largestBytes) {
  ratios.message = std::min(ratios.message, largestBytes / 64);
  ratios.openOp = std::min(ratios.openOp, largestBytes / (1 << 16));
}

double Prices::shardBytes(int type, int sharding) const {
  double bytes = bytesOf(type);
  for (const Axes &axes : (*this)[sharding].dims)
    bytes /= static_cast<double>(countOf(axes));
  return bytes;
}

/// The price if every axis moves from `from` to `to` in a simple way: dimensions keep their outer
/// axes and either lose or gain inner ones. This covers nearly all pairs; without it,
/// planReshard()'s search would take most of the compile time. nullopt for all other pairs.
static std::optional<double> simplePrice(const Sharding &from, const Sharding &to, double bytes,
                                         double message) {
  double sliced = 1, gathered = 1, moved = 1, scattered = 1, reduced = 1;
  auto has = [](const Axes &axes, const numerics::AxisRef &axis) {
    return llvm::is_contained(axes, axis);
  };
  Axes leaving, arriving;
  bool hasOrder = false; // several axes leave a dimension or arrive in it
  const size_t rank =
      std::max(from.isReplicated() ? 0 : from.dims.size(), to.isReplicated() ? 0 : to.dims.size());
  for (size_t dim = 0; dim < rank; ++dim) {
    const Axes &before = from.along(dim), &after = to.along(dim);
    size_t shared = 0;
    while (shared < before.size() && shared < after.size() && before[shared] == after[shared])
      ++shared;
    if (shared < before.size() && shared < after.size())
      return std::nullopt;
    hasOrder |= after.size() - shared > 1 || before.size() - shared > 1;
    leaving.insert(leaving.end(), before.begin() + static_cast<std::ptrdiff_t>(shared),
                   before.end());
    arriving.insert(arriving.end(), after.begin() + static_cast<std::ptrdiff_t>(shared),
                    after.end());
    bytes /= static_cast<double>(countOf(before));
  }
  const Axes open = from.isReplicated() ? Axes() : from.unreduced;
  const Axes opened = to.isReplicated() ? Axes() : to.unreduced;
  if (!open.empty() && !opened.empty() && from.combine != to.combine)
    return std::nullopt;
  auto clashes = [&](const numerics::AxisRef &axis, const Axes &others) {
    return llvm::any_of(others, [&](const numerics::AxisRef &other) {
      return !(other == axis) && numerics::overlap(axis, other);
    });
  };
  for (const numerics::AxisRef &axis : arriving) {
    if (clashes(axis, leaving) || clashes(axis, open))
      return std::nullopt;
    (has(leaving, axis) ? moved
     : has(open, axis)  ? scattered
                        : sliced) *= static_cast<double>(axis.size);
  }
  for (const numerics::AxisRef &axis : leaving) {
    if (clashes(axis, opened))
      return std::nullopt;
    if (!has(arriving, axis))
      gathered *= static_cast<double>(axis.size);
  }
  // Devices make shards and copies into terms of a sum without an exchange.
  if (llvm::all_of(leaving, [&](const numerics::AxisRef &axis) { return has(opened, axis); }) &&
      llvm::all_of(open, [&](const numerics::AxisRef &axis) { return has(opened, axis); }) &&
      llvm::none_of(opened, [&](const numerics::AxisRef &axis) {
        return clashes(axis, arriving) || clashes(axis, leaving) || clashes(axis, open);
      }))
    return 0;
  // Newly opened axes may save other exchanges, so the bound below does not hold.
  if (llvm::any_of(opened, [&](const numerics::AxisRef &axis) { return !has(open, axis); }))
    return std::nullopt;
  for (const numerics::AxisRef &axis : open) {
    if (clashes(axis, opened))
      return std::nullopt;
    if (!has(opened, axis) && !has(arriving, axis))
      reduced *= static_cast<double>(axis.size);
  }
  // A combination of exchanges may require an order in which axes cannot leave or enter dimensions.
  // Also, moves are cheaper while a sum is scattered.
  if ((hasOrder && (moved > 1 || scattered > 1)) || (reduced > 1 && moved > 1) ||
      ((gathered > 1 || reduced > 1) && !opened.empty()))
    return std::nullopt;
  double price = 0;
  auto send = [&](double count, double factor) {
    if (count > 1)
      price += message + factor * bytes * (count - 1) / count;
  };
  bytes /= sliced;
  send(scattered, 1);
  bytes /= scattered;
  send(moved, 1);
  send(reduced, 2);
  bytes *= gathered;
  send(gathered, 1);
  return price;
}

double Prices::reshard(int type, int from, int to) {
  if (from == to || type < 0)
    return 0;
  const uint64_t pair = static_cast<uint64_t>(from) << 32 | static_cast<uint64_t>(to);
  Recent &last =
      recent[(pair * 0x9E3779B97F4A7C15 + static_cast<uint64_t>(type) * 0xBF58476D1CE4E5B9) >>
             (64 - recentBits)];
  if (last.type != type || last.pair != pair) {
    auto [entry, isNew] = reshards[static_cast<size_t>(type)].try_emplace(pair, 0);
    if (isNew)
      entry->second = computeReshard(type, from, to);
    last = {pair, type, entry->second};
  }
  return last.price;
}

double Prices::computeReshard(int type, int from, int to) {
  const TensorType &tensor = types[static_cast<size_t>(type)];
  const Sharding &one = (*this)[from], &other = (*this)[to];
  if (one.isReplicated() || other.isReplicated() || one.mesh == other.mesh)
    if (std::optional<double> price = simplePrice(one, other, tensor.bytes, ratios.message))
      return *price;
  // What is sent is proportional to the elements if all devices together divide each dimension.
  auto dividesAll = [&](const Sharding &sharding) {
    return sharding.isReplicated() || llvm::all_of(tensor.shape, [&](int64_t size) {
             return size > 0 && size % sharding.mesh->mesh().size() == 0;
           });
  };
  if (!dividesAll(one) || !dividesAll(other)) {
    const ReshardTraffic sent = trafficOf(one, other, tensor.shape, tensor.elementBytes, known);
    return sent.amount + sent.exchanges * ratios.message;
  }
  const uint64_t pair = static_cast<uint64_t>(from) << 32 | static_cast<uint64_t>(to);
  auto [entry, isNew] = evenReshards.try_emplace(pair);
  if (isNew) {
    entry->second = trafficOf(one, other, tensor.shape, 1, known);
    entry->second.amount /= tensor.bytes / tensor.elementBytes;
  }
  return entry->second.amount * tensor.bytes + entry->second.exchanges * ratios.message;
}

Prices::Route Prices::route(int type, int computed, ArrayRef<int> wanted) {
  Route best{0, computed};
  SmallVector<double, 4> direct;
  for (int want : wanted)
    best.price += direct.emplace_back(reshard(type, computed, want));
  if (best.price == 0 || wanted.size() < 2)
    return best;
  // If several uses want different shards of a sum, gather the sum only once.
  for (auto [home, first] : llvm::zip_equal(wanted, direct)) {
    double price = first;
    for (auto [want, other] : llvm::zip_equal(wanted, direct))
      if (want != home)
        price += std::min(other, reshard(type, home, want));
    if (price < best.price)
      best = {price, home};
  }
  return best;
}

} // namespace tilewright::distribute
