#include "tilewright/transform/distribute/Choose.h"

#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/transform/distribute/Memory.h"
#include "tilewright/transform/distribute/MinCut.h"
#include "tilewright/transform/distribute/Modes.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace tilewright::distribute {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

class Chooser {
public:
  Chooser(const ShardingGraph &graph, Prices &prices)
      : graph(graph), prices(prices), modes(graph, prices), now(graph.nodes.size()),
        isDirty(graph.nodes.size(), true), wants(graph.values.size()),
        computed(graph.values.size()), memoryPrices(graph.values.size()) {
    for (const GraphValue &value : graph.values)
      types.push_back(prices.typeOf(value.value.getType()));
    double largest = 0;
    for (int type : types)
      largest = std::max(largest, prices.bytesOf(type));
    prices.fitTo(largest);
    for (int node = 0; node < count(); ++node) {
      Choice nothing;
      nothing.loops.resize(nodeAt(node).rule.loops.size());
      now[at(node)] = &modes.makeOne(node, std::move(nothing));
    }
    whole = now;
  }

  Choices run(double memoryLimit) {
    std::vector<MeshAxisRef> axes;
    for (const auto &mesh : graph.meshes)
      for (size_t axis = 0; axis < mesh->mesh().axes.size(); ++axis)
        if (mesh->mesh().axes[axis].size > 1 && isUsed({mesh, axis}))
          axes.push_back({mesh, axis});
    for (const MeshAxisRef &axis : axes) {
      modes.activate(axis);
      place(axis, /*isNew=*/true);
    }
    improve(axes);
    // Place the axes again: prices differ once all of them are placed.
    if (axes.size() > 1)
      placeAgain(axes);
    improveInRounds(axes);
    Choices choices;
    std::optional<Memory> memory;
    if (memoryLimit > 0) {
      memory.emplace(graph, prices, types);
      choices.peakBytes = fitInto(memoryLimit, axes, *memory);
    }
    relax();
    choices.price = total();
    if (memory)
      choices.copyOf = memory->copiesOf(placed(), drops);
    for (const Mode *mode : now)
      choices.nodes.push_back(mode->choice);
    return choices;
  }

private:
  static size_t at(int number) { return static_cast<size_t>(number); }
  int count() const { return static_cast<int>(graph.nodes.size()); }
  const GraphNode &nodeAt(int node) const { return graph.nodes[at(node)]; }

  void placeAgain(const std::vector<MeshAxisRef> &axes) {
    for (const MeshAxisRef &axis : axes)
      place(axis, /*isNew=*/false);
    improve(axes);
  }

  void improveInRounds(const std::vector<MeshAxisRef> &axes) {
    constexpr int maxRounds = 4;
    for (int round = 0; round < maxRounds; ++round) {
      bool changes = false;
      for (const MeshAxisRef &axis : axes)
        changes |= withdraw(axis);
      changes |= improveTogether(axes);
      if (!changes)
        break;
      improve(axes);
    }
  }

  //===- Memory -----------------------------------------------------------===//

  /// While the plan holds more than `limit` bytes at a time, raises the price of what it holds at
  /// the peak and chooses again. A copy that is idle at the peak is dropped instead, if making it
  /// again is cheaper. Takes the first plan that fits; if none does, the one that holds the least.
  /// Returns the bytes that this plan holds.
  double fitInto(double limit, const std::vector<MeshAxisRef> &axes, const Memory &memory) {
    Memory::Peak peak = memory.peakOf(placed(), drops);
    double least = peak.bytes;
    std::vector<const Mode *> best = now;
    Memory::Drops bestDrops;
    // The price of holding a byte, in bytes sent. The lowest one only decides between plans that
    // send nearly the same; the highest one outweighs an exchange in each iteration of a long loop.
    for (double price = 1.0 / 16; peak.bytes > limit && price <= 1 << 16; price *= 4) {
      memory.dropIdle(peak, limit, placed(), drops, [&](const Memory::Copy &copy, double bytes) {
        return againPrice(copy.value, copy.sharding) <= price * bytes;
      });
      for (const Memory::Copy &copy : peak.copies)
        memoryPrices[at(copy.value)].push_back({copy.sharding, price});
      isScarce = true;
      isFinal.clear();
      settle();
      isDirty.assign(isDirty.size(), true);
      placeAgain(axes);
      improveInRounds(axes);
      peak = memory.peakOf(placed(), drops);
      if (peak.bytes < least) {
        least = peak.bytes;
        best = now;
        bestDrops = drops;
      }
    }
    now = std::move(best);
    drops = std::move(bestDrops);
    memoryPrices.assign(memoryPrices.size(), {});
    isScarce = !drops.empty();
    isFinal.clear();
    return least;
  }

  /// The price of making a copy of a value again.
  double againPrice(int value, int sharding) {
    const int from = computed[at(value)];
    return from == sharding
               ? 0
               : prices.reshard(types[at(value)], from, sharding) * graph.values[at(value)].repeats;
  }

  /// The sharding of each value as it is computed, and of each use.
  std::vector<Memory::Placed> placed() {
    settle();
    std::vector<Memory::Placed> placed;
    for (auto [value, give] : llvm::zip_equal(graph.values, computed)) {
      Memory::Placed &one = placed.emplace_back(Memory::Placed{give, {}});
      for (const GraphValue::Use &use : value.uses)
        one.wanted.push_back(now[at(use.node)]->wants[use.in]);
    }
    return placed;
  }

  /// The price of holding a value with a sharding where memory is scarce.
  double scarcePrice(int value, int sharding) {
    if (!isScarce)
      return 0;
    double price = 0;
    for (auto [one, ofByte] : memoryPrices[at(value)])
      if (one == sharding)
        price += ofByte;
    double sum = price == 0 ? 0 : price * prices.shardBytes(types[at(value)], sharding);
    if (auto dropped = drops.find({value, sharding}); dropped != drops.end())
      sum += againPrice(value, sharding) * static_cast<double>(dropped->second.size());
    return sum;
  }
  double workPrice(int node, const Mode &mode) {
    double price = mode.work;
    if (!isScarce)
      return price;
    for (auto [value, give] : llvm::zip_equal(nodeAt(node).outs, mode.gives))
      price += scarcePrice(value, give);
    return price;
  }

  /// Whether the program shards anything along the axis. Otherwise nothing is sharded along it,
  /// although that might be cheaper: its author wants the devices to compute the same.
  bool isUsed(const MeshAxisRef &axis) const {
    auto names = [&](const Axes &axes) {
      return llvm::any_of(axes,
                          [&](const numerics::AxisRef &one) { return one.axis == axis.axis; });
    };
    auto shards = [&](const Sharding &sharding) {
      return sharding.mesh == axis.mesh &&
             (names(sharding.unreduced) || llvm::any_of(sharding.dims, names));
    };
    return llvm::any_of(graph.nodes, [&](const GraphNode &node) {
      return shards(node.outerIn) || shards(node.outerOut) ||
             (node.isFixed && node.mesh == axis.mesh &&
              (names(node.fixedOpen) || llvm::any_of(node.fixed, names)));
    });
  }

  double routePrice(int value) {
    double &price = routed[at(value)];
    if (std::isnan(price))
      price = computeRoutePrice(value);
    return price;
  }

  double computeRoutePrice(int value) {
    SmallVector<int, 4> distinct;
    for (auto [sharding, uses] : wants[at(value)].list())
      if (sharding != computed[at(value)])
        distinct.push_back(sharding);
    if (distinct.empty())
      return 0;
    double held = 0;
    for (int sharding : distinct)
      held += heldPrice(value, sharding);
    return prices.route(types[at(value)], computed[at(value)], distinct).price *
               graph.values[at(value)].repeats +
           held;
  }

  /// The price of holding a value in a sharding other than the computed one while a loop that uses
  /// it runs.
  double heldPrice(int value, int sharding) {
    const GraphValue &made = graph.values[at(value)];
    const double read = made.isHeld ? prices.shardBytes(types[at(value)], sharding) *
                                          prices.ratios.held * made.repeats
                                    : 0;
    return read + scarcePrice(value, sharding);
  }

  /// The price of converting a value to another sharding for one use.
  double reshardPrice(int value, int from, int to) {
    return from == to
               ? 0
               : prices.reshard(types[at(value)], from, to) * graph.values[at(value)].repeats +
                     heldPrice(value, to);
  }

  /// Records the shardings that all nodes currently want and give.
  void settle() {
    routed.assign(graph.values.size(), unknown);
    for (Wants &list : wants)
      list.clear();
    for (int node = 0; node < count(); ++node) {
      for (auto [value, want] : llvm::zip_equal(nodeAt(node).inValues, now[at(node)]->wants))
        wants[at(value)].add(want, 1);
      for (auto [value, give] : llvm::zip_equal(nodeAt(node).outs, now[at(node)]->gives))
        computed[at(value)] = give;
    }
  }

  double total() {
    settle();
    double price = 0;
    for (int node = 0; node < count(); ++node)
      price += workPrice(node, *now[at(node)]);
    for (int value = 0; value < static_cast<int>(graph.values.size()); ++value)
      price += routePrice(value);
    return price;
  }

  //===- Dynamic programming ----------------------------------------------===//

  struct Offer { // a sharding in which a value can be computed, and its price
    int sharding;
    double price;
  };
  struct Offers {
    SmallVector<Offer, 4> all;
    double least = infinite;
    SmallVector<Offer, 4> asked; // the results of offeredPrice()
  };

  /// The lowest price of having `value` in sharding `want`. All uses share the price of computing
  /// the value in the cheapest way; a use that wants another way pays only the difference. Uses
  /// also share an exchange, but only some of them will want the same sharding. `isShared`: another
  /// use has decided to want the same sharding and pays for the exchange.
  double priceOf(int value, int want, bool isShared) {
    return (isShared ? 0 : offeredPrice(value, want)) +
           offers[at(value)].least / usesOf[at(graph.values[at(value)].maker)];
  }

  /// The least that a use pays for wanting this sharding and not the cheapest one.
  double offeredPrice(int value, int want) {
    Offers &list = offers[at(value)];
    for (const Offer &one : list.asked)
      if (one.sharding == want)
        return one.price;
    const double uses = std::sqrt(static_cast<double>(graph.values[at(value)].uses.size()));
    double best = infinite;
    for (const Offer &offer : list.all)
      best = std::min(best,
                      offer.price - list.least + reshardPrice(value, offer.sharding, want) / uses);
    list.asked.push_back({want, best});
    return best;
  }

  void forward() {
    for (int node = 0; node < count(); ++node) {
      std::vector<double> &price = reaching[at(node)];
      price.assign(options[at(node)]->size(), 0);
      for (auto [mode, cost] : llvm::zip_equal(*options[at(node)], price)) {
        cost = workPrice(node, mode);
        for (auto [value, want] : llvm::zip_equal(nodeAt(node).inValues, mode.wants))
          cost += operandPrice(node, value, want, /*isDecoding=*/false);
      }
      for (auto [out, value] : llvm::enumerate(nodeAt(node).outs)) {
        Offers &list = offers[at(value)];
        list = Offers();
        for (auto [mode, cost] : llvm::zip_equal(*options[at(node)], price)) {
          list.least = std::min(list.least, cost);
          auto *found = llvm::find_if(
              list.all, [&](const Offer &offer) { return offer.sharding == mode.gives[out]; });
          if (found == list.all.end())
            list.all.push_back({mode.gives[out], cost});
          else
            found->price = std::min(found->price, cost);
        }
      }
    }
  }

  double operandPrice(int node, int value, int want, bool isDecoding) {
    // The node of a carried value comes before the value that the loop's body returns.
    if (graph.values[at(value)].maker >= node)
      return isDecoding ? reshardPrice(value, computed[at(value)], want) : 0;
    const bool isShared = isDecoding && wants[at(value)].contain(want);
    return priceOf(value, want, isShared);
  }

  /// Decides nodes from the last to the first: takes for each node the mode that is cheapest to
  /// reach, given what its uses have decided to want.
  void decode() {
    for (Wants &list : wants)
      list.clear();
    for (int node = count() - 1; node >= 0; --node) {
      double best = infinite;
      size_t chosen = 0;
      SmallVector<std::tuple<int, int, double>, 8> onward; // price of values by what they are given
      auto onwardPrice = [&](int value, int give) {
        for (auto [one, sharding, price] : onward)
          if (one == value && sharding == give)
            return price;
        const double price = computeRoutePrice(value) + returnPrice(node, value, give);
        onward.emplace_back(value, give, price);
        return price;
      };
      for (auto [number, mode] : llvm::enumerate(*options[at(node)])) {
        double price = workPrice(node, mode);
        for (auto [value, want] : llvm::zip_equal(nodeAt(node).inValues, mode.wants))
          price += operandPrice(node, value, want, /*isDecoding=*/true);
        for (auto [value, give] : llvm::zip_equal(nodeAt(node).outs, mode.gives)) {
          computed[at(value)] = give;
          price += onwardPrice(value, give);
        }
        if (price < best) {
          best = price;
          chosen = number;
        }
      }
      now[at(node)] = &(*options[at(node)])[chosen];
      for (auto [value, give] : llvm::zip_equal(nodeAt(node).outs, now[at(node)]->gives))
        computed[at(value)] = give;
      for (auto [value, want] : llvm::zip_equal(nodeAt(node).inValues, now[at(node)]->wants))
        wants[at(value)].add(want, 1);
    }
  }

  /// If the body of a loop returns the value: the least that the loop's node, which is decided
  /// later, must pay for it.
  double returnPrice(int node, int value, int give) {
    double sum = 0;
    for (const GraphValue::Use &use : graph.values[at(value)].uses) {
      if (use.node > node)
        continue;
      const std::vector<double> &price = reaching[at(use.node)];
      double least = infinite, lowest = infinite;
      for (auto [mode, cost] : llvm::zip_equal(*options[at(use.node)], price)) {
        lowest = std::min(lowest, cost);
        least = std::min(least, cost + reshardPrice(value, give, mode.wants[use.in]));
      }
      sum += least - lowest;
    }
    return sum;
  }

  /// Places an axis in all nodes. An axis that was already placed keeps its places, unless the new
  /// ones are cheaper in total.
  void place(const MeshAxisRef &axis, bool isNew) {
    options.assign(graph.nodes.size(), nullptr);
    reaching.resize(graph.nodes.size());
    offers.resize(graph.values.size());
    usesOf.assign(graph.nodes.size(), 0);
    for (const GraphValue &value : graph.values)
      usesOf[at(value.maker)] += static_cast<double>(value.uses.size());
    if (isNew)
      isFinal.clear();
    const double before = isNew ? infinite : total();
    for (int node = 0; node < count(); ++node)
      options[at(node)] = &modes.placing(node, *now[at(node)], axis);
    std::vector<const Mode *> old = now;
    forward();
    decode();
    if (total() > before) {
      now = std::move(old);
      settle();
    } else {
      isDirty.assign(isDirty.size(), true);
    }
  }

  /// Removes the axis from those nodes that are together cheaper without it. Dynamic programming
  /// shards too much, because it counts a price that several values share once for each of them.
  bool withdraw(const MeshAxisRef &axis) {
    std::vector<const Mode *> without;
    for (int node = 0; node < count(); ++node)
      without.push_back(&modes.placing(node, *now[at(node)], axis)[0]);
    return combine(without);
  }

  //===- Combining two plans ----------------------------------------------===//

  /// Gives each node either its present mode or its mode in `other`, such that the total price is
  /// lowest (a fusion move). A price depends on the mode of a value's maker and that of one user,
  /// so the best combination is a minimum cut.
  bool combine(const std::vector<const Mode *> &other) {
    settle();
    MinCut cut(graph.nodes.size());
    for (int node = 0; node < count(); ++node)
      cut.price(at(node), workPrice(node, *now[at(node)]), workPrice(node, *other[at(node)]));
    for (int value = 0; value < static_cast<int>(graph.values.size()); ++value)
      addRoutes(cut, value, other);
    std::vector<bool> takesOther = cut.solve();
    for (int node = 0; node < count(); ++node)
      if (takesOther[at(node)] && now[at(node)]->choice == other[at(node)]->choice)
        takesOther[at(node)] = false;
    // Keep each group of connected changes only if it is cheaper: the cut accounts for shared
    // exchanges only approximately.
    bool changes = false;
    for (int node = 0; node < count(); ++node)
      if (takesOther[at(node)])
        changes |= takeTogether(node, other, takesOther);
    return changes;
  }

  /// Changes the node and those of `waiting` that are connected to it, if this lowers the price.
  bool takeTogether(int first, const std::vector<const Mode *> &other, std::vector<bool> &waiting) {
    std::vector<int> nodes = {first};
    llvm::SetVector<int> values;
    auto add = [&](int node) {
      if (node >= 0 && waiting[at(node)]) {
        waiting[at(node)] = false;
        nodes.push_back(node);
      }
    };
    waiting[at(first)] = false;
    for (size_t next = 0; next < nodes.size(); ++next) {
      const GraphNode &node = nodeAt(nodes[next]);
      for (ArrayRef<int> list : {ArrayRef<int>(node.inValues), ArrayRef<int>(node.outs)})
        for (int value : list)
          if (values.insert(value)) {
            add(graph.values[at(value)].maker);
            for (const GraphValue::Use &use : graph.values[at(value)].uses)
              add(use.node);
          }
    }
    auto price = [&] {
      double sum = 0;
      for (int node : nodes)
        sum += workPrice(node, *now[at(node)]);
      for (int value : values)
        sum += routePrice(value);
      return sum;
    };
    const double before = price();
    std::vector<const Mode *> old;
    for (int node : nodes) {
      old.push_back(now[at(node)]);
      set(node, *other[at(node)]);
    }
    if (price() < before * (1 - 1e-9)) {
      for (int node : nodes)
        markAround(node);
      return true;
    }
    for (auto [node, mode] : llvm::zip_equal(nodes, old))
      set(node, *mode);
    return false;
  }

  /// Adds the prices of resharding a value between the op that makes it and its uses.
  void addRoutes(MinCut &cut, int value, const std::vector<const Mode *> &other) {
    const GraphValue &made = graph.values[at(value)];
    if (made.maker < 0)
      return;
    const auto maker = at(made.maker), out = static_cast<size_t>(made.makerOut);
    const int gives[] = {now[maker]->gives[out], other[maker]->gives[out]};
    // Uses that want the same share an exchange.
    struct Group {
      int wants[2];
      SmallVector<size_t, 4> users;
    };
    SmallVector<Group, 4> groups;
    for (const GraphValue::Use &use : made.uses) {
      const int first = now[at(use.node)]->wants[use.in],
                second = other[at(use.node)]->wants[use.in];
      auto *group = llvm::find_if(groups, [&](const Group &one) {
        return one.wants[0] == first && one.wants[1] == second;
      });
      if (group == groups.end()) {
        groups.push_back({{first, second}, {}});
        group = std::prev(groups.end());
      }
      group->users.push_back(at(use.node));
    }
    for (const Group &group : groups) {
      double price[2][2];
      for (size_t give : {0, 1})
        for (size_t want : {0, 1})
          price[give][want] = reshardPrice(value, gives[give], group.wants[want]);
      if (price[0][0] == 0 && price[1][1] == 0 && !llvm::is_contained(group.users, maker)) {
        cut.priceIfAnyApart(maker, group.users, price[0][1], price[1][0]);
        continue;
      }
      const auto share = static_cast<double>(group.users.size());
      for (size_t user : group.users) {
        if (user == maker) {
          cut.price(maker, price[0][0] / share, price[1][1] / share);
          continue;
        }
        // Express the price as a constant, a term for each of the two nodes, and a term that
        // applies if they differ.
        cut.price(maker, price[0][0] / share, price[1][0] / share);
        cut.price(user, price[1][0] / share, price[1][1] / share);
        cut.priceIfApart(maker, user,
                         (price[0][1] + price[1][0] - price[0][0] - price[1][1]) / share);
      }
    }
  }

  //===- Local improvement ------------------------------------------------===//

  /// The part of the program's price that depends on a node's mode. Stops at `limit`: the result
  /// may then be too low, but not below `limit`.
  double around(int node, double limit = infinite) {
    double price = workPrice(node, *now[at(node)]);
    SmallVector<int, 6> seen;
    for (ArrayRef<int> values :
         {ArrayRef<int>(nodeAt(node).outs), ArrayRef<int>(nodeAt(node).inValues)})
      for (int value : values) {
        if (price >= limit)
          return price;
        if (!llvm::is_contained(seen, value)) {
          seen.push_back(value);
          price += routePrice(value);
        }
      }
    return price;
  }

  void set(int node, const Mode &mode) {
    for (auto [value, before, after] :
         llvm::zip_equal(nodeAt(node).inValues, now[at(node)]->wants, mode.wants))
      if (before != after) {
        wants[at(value)].add(before, -1);
        wants[at(value)].add(after, 1);
        routed[at(value)] = unknown;
      }
    for (auto [value, give] : llvm::zip_equal(nodeAt(node).outs, mode.gives))
      if (computed[at(value)] != give) {
        computed[at(value)] = give;
        routed[at(value)] = unknown;
      }
    now[at(node)] = &mode;
  }

  /// Improves nodes whose neighbours have changed since they were last visited.
  void improve(const std::vector<MeshAxisRef> &axes) {
    settle();
    constexpr int maxSweeps = 6;
    for (int sweep = 0; sweep < maxSweeps; ++sweep) {
      bool changes = false;
      for (int step = 0; step < count(); ++step) {
        const int node = sweep % 2 == 0 ? count() - 1 - step : step;
        if (!isDirty[at(node)])
          continue;
        isDirty[at(node)] = false;
        if (improve(node, axes)) {
          changes = true;
          markAround(node);
        }
      }
      if (!changes)
        return;
    }
  }

  /// Remembers that the node has changed.
  void markAround(int node) {
    auto markUsers = [&](int value) {
      for (const GraphValue::Use &use : graph.values[at(value)].uses)
        isDirty[at(use.node)] = true;
    };
    isDirty[at(node)] = true;
    for (int value : nodeAt(node).inValues) {
      isDirty[at(graph.values[at(value)].maker)] = true;
      markUsers(value);
    }
    for (int value : nodeAt(node).outs)
      markUsers(value);
  }

  bool improve(int node, const std::vector<MeshAxisRef> &axes) {
    bool changes = false;
    for (const MeshAxisRef &axis : axes)
      changes |= improve(node, axis) < 0;
    if (axes.size() > 1)
      changes |= replicate(node);
    return changes;
  }

  /// Removes all axes from an op, if that is cheaper: when an operand is gathered for another use
  /// anyway, removing only one axis would merely add an exchange.
  bool replicate(int node) {
    const Mode &before = *now[at(node)];
    if (!nodeAt(node).isOp || nodeAt(node).isFixed || before.choice == whole[at(node)]->choice)
      return false;
    const double price = around(node);
    set(node, *whole[at(node)]);
    if (around(node) < price * (1 - 1e-9))
      return true;
    set(node, before);
    return false;
  }

  /// A number for everything on which the best mode of a node for an axis depends.
  uint64_t stateAround(int node, const MeshAxisRef &axis) const {
    uint64_t state = scattered(static_cast<uint64_t>(node)) + now[at(node)]->number;
    state = scattered(state) + modes.numberOf(axis);
    for (ArrayRef<int> values :
         {ArrayRef<int>(nodeAt(node).outs), ArrayRef<int>(nodeAt(node).inValues)})
      for (int value : values)
        state = scattered(scattered(state + static_cast<uint64_t>(computed[at(value)])) +
                          wants[at(value)].state());
    return state >> 1; // a DenseSet reserves the largest numbers
  }

  /// Gives a node its cheapest mode for an axis. Returns the change of the program's price.
  double improve(int node, const MeshAxisRef &axis) {
    const uint64_t state = stateAround(node, axis);
    if (isFinal.contains(state))
      return 0;
    const double before = around(node);
    double price = before;
    const Mode &now = *this->now[at(node)], *best = &now;
    for (const Mode &mode : modes.placing(node, now, axis)) {
      const double limit = price - 1e-9 * before;
      // Most modes are rejected here, without a price: even if nothing needs resharding, a mode
      // with this much work is not cheaper.
      if (mode.work >= limit || &mode == &now || mode.choice == now.choice)
        continue;
      set(node, mode);
      if (const double other = around(node, limit); other < limit) {
        price = other;
        best = &mode;
      }
    }
    set(node, *best);
    if (best == &now)
      isFinal.insert(state);
    return price - before;
  }

  //===- Chains of changes ------------------------------------------------===//

  /// Changes several nodes together where no single change lowers the price. A node next to a
  /// resharded value takes another mode; then its neighbours follow, and theirs, as long as each
  /// step lowers the price. The changes are kept if the price of the program falls.
  bool improveTogether(const std::vector<MeshAxisRef> &axes) {
    settle();
    bool changes = false;
    for (int node = 0; node < count(); ++node) {
      auto isResharded = [&](int value) { return routePrice(value) > 0; };
      if (llvm::none_of(nodeAt(node).inValues, isResharded) &&
          llvm::none_of(nodeAt(node).outs, isResharded))
        continue;
      for (const MeshAxisRef &axis : axes)
        changes |= improveFrom(node, axis);
    }
    return changes;
  }

  bool improveFrom(int seed, const MeshAxisRef &axis) {
    const Mode &before = *now[at(seed)];
    const double price = around(seed);
    for (const Mode &mode : modes.placing(seed, before, axis)) {
      if (&mode == &before || mode.choice == before.choice)
        continue;
      set(seed, mode);
      double change = around(seed) - price;
      std::vector<std::pair<int, const Mode *>> undo;
      SmallVector<int, maxFollowers> queue;
      addNeighbours(seed, queue);
      for (size_t next = 0; next < queue.size(); ++next) {
        const int node = queue[next];
        if (node == seed)
          continue;
        const Mode *old = now[at(node)];
        const double gain = improve(node, axis);
        if (gain == 0)
          continue;
        change += gain;
        undo.push_back({node, old});
        addNeighbours(node, queue);
      }
      if (change < -1e-9 * price) {
        markAround(seed);
        for (auto [node, old] : undo)
          markAround(node);
        return true;
      }
      for (auto [node, old] : llvm::reverse(undo))
        set(node, *old);
      set(seed, before);
    }
    return false;
  }

  /// The nodes that make or use the values of a node, as long as the queue has room for them.
  static constexpr size_t maxFollowers = 32;
  void addNeighbours(int node, SmallVector<int, maxFollowers> &queue) {
    auto add = [&](int other) {
      if (queue.size() < maxFollowers && !llvm::is_contained(queue, other))
        queue.push_back(other);
    };
    for (int value : nodeAt(node).inValues) {
      add(graph.values[at(value)].maker);
      for (const GraphValue::Use &use : graph.values[at(value)].uses)
        add(use.node);
    }
    for (int value : nodeAt(node).outs)
      for (const GraphValue::Use &use : graph.values[at(value)].uses)
        add(use.node);
  }

  /// A constraint whose result is only used in finer shards gives these: a sum that is constrained
  /// to be replicated, and then sliced, becomes a reduce-scatter.
  void relax() {
    settle();
    for (int node = count() - 1; node >= 0; --node) {
      if (!isa_and_nonnull<sdy::ShardingConstraintOp>(nodeAt(node).op) ||
          nodeAt(node).outs.size() != 1)
        continue;
      const int value = nodeAt(node).outs[0], given = computed[at(value)];
      ArrayRef<Wants::Want> list = wants[at(value)].list();
      if (list.empty() || !prices[given].unreduced.empty())
        continue;
      Sharding finer = prices[list[0].sharding];
      for (auto [want, uses] : list)
        finer = finer.commonWith(prices[want]);
      if (!finer.isSharded() || !finer.unreduced.empty() || finer == prices[given] ||
          !(prices[given].isReplicated() || finer.refines(prices[given])))
        continue;
      Choice choice = now[at(node)]->choice;
      choice.mesh = finer.mesh;
      choice.loops = finer.dims;
      set(node, modes.makeOne(node, std::move(choice)));
    }
  }

  const ShardingGraph &graph;
  Prices &prices;
  Modes modes;
  std::vector<const Mode *> now, whole; // modes of all nodes: the plan, and without any axis
  std::vector<bool> isDirty;            // of each node: a neighbour has changed
  std::vector<int> types;               // of each value
  std::vector<Wants> wants;             // of each value
  std::vector<int> computed;            // sharding of each value
  std::vector<double> routed;           // routePrice() of each value; unknown after a change
  llvm::DenseSet<uint64_t> isFinal;     // states around a node that no mode of its own improves
  /// For each value: the shardings in which it was held at a peak, with a price for each byte.
  std::vector<SmallVector<std::pair<int, double>, 0>> memoryPrices;
  Memory::Drops drops;                            // copies that are made again
  bool isScarce = false;                          // there are prices of memory
  std::vector<const std::vector<Mode> *> options; // of each node, for the axis that is placed
  std::vector<std::vector<double>> reaching;      // the price up to each option
  std::vector<Offers> offers;                     // of each value
  std::vector<double> usesOf;                     // uses of a node's results
};

} // namespace

Choices choose(const ShardingGraph &graph, Prices &prices, int64_t memoryLimit) {
  return Chooser(graph, prices).run(static_cast<double>(memoryLimit));
}

} // namespace tilewright::distribute
