#include "tilewright/transform/tile/collectives/BuildCollective.h"

#include "tilewright/dialect/tile/WindowOps.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/tile/collectives/CollectiveBuilder.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace tilewright::tile {

using numerics::CollectiveKind;
using numerics::ReductionKind;

namespace {

/// Each method emits the body of one kind. Tile `t` of the data belongs to worker `t mod workers`.
struct Collectives : CollectiveBuilder {
  using CollectiveBuilder::CollectiveBuilder;

  /// Each rank sends a tile to all others and waits for theirs. Two buffers are used alternately: a
  /// rank that has passed the next barrier knows that no rank still reads the current buffer.
  void allReduceOneShot() {
    Value in = plain({wanted.count}), out = plain({wanted.count});
    const int64_t each = numerics::stagingBytes / elementBytes();
    Value staging = window({wanted.points, 2, wanted.ranks, each});
    Value signals = addSignals();
    finishArguments();
    Value me = rankOf(signals);
    forTiles(point(), wanted.points, wanted.count, each, [&](Value offset, int64_t size) {
      Value parity =
          index(b.getAffineDimExpr(0) % 2, {EpochOp::create(b, loc, signals).getResult()});
      Value own = load(in, {offset}, {size});
      Value sent = view(own, {1, 1, 1, 1, size});
      forPeers(me,
               [&](Value peer) { store(sent, staging, {peer, point(), parity, me, constant(0)}); });
      barrier(signals);
      Value sum = combineParts([&](Value rank) {
        return load(staging, {me, point(), parity, rank, constant(0)}, {1, 1, 1, 1, size});
      });
      store(view(sum, {size}), out, {offset});
    });
  }

  /// Each rank combines a part of the elements and sends the result to all others.
  void allReduceDirect() {
    Value in = window({wanted.count}), out = window({wanted.count}), signals = addSignals();
    finishArguments();
    Value me = rankOf(signals);
    barrier(signals);
    forTiles(workerOf(me), wanted.points * wanted.ranks, wanted.count, tileElements(),
             [&](Value offset, int64_t size) {
               Value sum =
                   combineParts([&](Value rank) { return load(in, {rank, offset}, {1, size}); });
               forPeers(me, [&](Value peer) { store(sum, out, {peer, offset}); });
             });
    barrier(signals);
  }

  void allReduceMulticast() {
    const int64_t count = paddedCount();
    Value in = window({count}), out = window({count}), signals = addSignals();
    finishArguments();
    Value me = rankOf(signals);
    barrier(signals);
    forTiles(workerOf(me), wanted.points * wanted.ranks, count, tileElements(),
             [&](Value offset, int64_t size) {
               storeParts(reduceParts(in, {offset}, {1, size}), out, {offset});
             });
    barrier(signals);
  }

  void allGather() {
    Value in = plain({wanted.count}), out = window({wanted.ranks, wanted.count});
    Value signals = addSignals();
    finishArguments();
    Value me = rankOf(signals);
    barrier(signals);
    forTiles(point(), wanted.points, wanted.count, tileElements(), [&](Value offset, int64_t size) {
      Value tile = view(load(in, {offset}, {size}), {1, 1, size});
      sendToAll(tile, out, me, {me, offset});
    });
    barrier(signals);
  }

  void reduceScatter() {
    Value in = window({wanted.ranks, wanted.count}), out = plain({wanted.count});
    Value signals = addSignals();
    finishArguments();
    Value me = rankOf(signals);
    barrier(signals);
    forTiles(point(), wanted.points, wanted.count, tileElements(), [&](Value offset, int64_t size) {
      Value sum = wanted.form == CollectiveForm::multicast
                      ? reduceParts(in, {me, offset}, {1, 1, size})
                      : combineParts(
                            [&](Value rank) { return load(in, {rank, me, offset}, {1, 1, size}); });
      store(view(sum, {size}), out, {offset});
    });
    barrier(signals);
  }

  void allToAll() {
    Value in = plain({wanted.ranks, wanted.count});
    Value out = window({wanted.ranks, wanted.count}), signals = addSignals();
    finishArguments();
    Value me = rankOf(signals);
    barrier(signals);
    forPeers(me, [&](Value peer) {
      forTiles(point(), wanted.points, wanted.count, tileElements(),
               [&](Value offset, int64_t size) {
                 Value tile = view(load(in, {peer, offset}, {1, size}), {1, 1, size});
                 store(tile, out, {peer, me, offset});
               });
    });
    barrier(signals);
  }

  /// Each rank sends rows to its own slots at the receivers, which move them to their final
  /// positions. This happens in rounds, because a slot has room for `slotRows` rows. All ranks take
  /// as many rounds as the longest range of any rank needs. Two buffers are used alternately, as in
  /// allReduceOneShot().
  void raggedAllToAll() {
    const int64_t entries = wanted.ranks * wanted.ranges;
    Value in = plain({wanted.rowsIn, wanted.count});
    Value lists = plain({4, entries}, b.getI64Type());
    Value out = plain({wanted.rowsOut, wanted.count});
    Value slots = window({2, wanted.ranks, wanted.ranges, wanted.slotRows, wanted.count});
    Value counts = window({wanted.points, 2, wanted.ranks}, b.getI64Type());
    Value signals = addSignals();
    finishArguments();
    Value me = rankOf(signals);
    AffineExpr n, m;
    bindDims(b.getContext(), n, m);
    auto parity = [&] { return index(n % 2, {EpochOp::create(b, loc, signals).getResult()}); };
    auto fact = [&](int64_t list, Value entry) { return element(lists, {constant(list), entry}); };

    Value longest = largest(entries, [&](Value entry) { return fact(1, entry); });
    Value own = index(n.ceilDiv(wanted.slotRows), {longest});
    Value buffer = parity();
    forPeers(me, [&](Value peer) {
      store(tileOf(own, {1, 1, 1, 1}, b.getI64Type()), counts, {peer, point(), buffer, me});
    });
    barrier(signals);
    Value rounds = largest(
        wanted.ranks, [&](Value rank) { return element(counts, {me, point(), buffer, rank}); });

    forEach(constant(0), rounds, [&](Value round) {
      Value first = index(n * wanted.slotRows, {round}), turn = parity();
      /// The rows, from the first one on, that this point handles in this round, of a range of
      /// `size` rows.
      auto forRows = [&](Value size,
                         function_ref<void(Value row, Value slot, Value, int64_t)> body) {
        Value end = smaller(size, index(n + wanted.slotRows, {first}));
        forEach(
            index(n + m, {first, point()}), end,
            [&](Value row) {
              Value slot = index(n - m, {row, first});
              forTiles(constant(0), 1, wanted.count, tileElements(),
                       [&](Value offset, int64_t size) { body(row, slot, offset, size); });
            },
            wanted.points);
      };
      // Begin with the next rank, so that ranks do not all send to the same one.
      forEach(constant(0), constant(entries), [&](Value number) {
        Value entry = index((n + m * wanted.ranges) % entries, {number, me});
        Value peer = index(n.floorDiv(wanted.ranges), {entry});
        Value range = index(n % wanted.ranges, {entry}), from = fact(0, entry);
        forRows(fact(1, entry), [&](Value row, Value slot, Value offset, int64_t size) {
          Value tile = load(in, {index(n + m, {from, row}), offset}, {1, size});
          store(view(tile, {1, 1, 1, 1, 1, size}), slots, {peer, turn, me, range, slot, offset});
        });
      });
      barrier(signals);
      forEach(constant(0), constant(entries), [&](Value entry) {
        Value sender = index(n.floorDiv(wanted.ranges), {entry});
        Value range = index(n % wanted.ranges, {entry}), to = fact(2, entry);
        forRows(fact(3, entry), [&](Value row, Value slot, Value offset, int64_t size) {
          Value tile = load(slots, {me, turn, sender, range, slot, offset}, {1, 1, 1, 1, 1, size});
          store(view(tile, {1, size}), out, {index(n + m, {to, row}), offset});
        });
      });
    });
  }

  /// The first rank sends its operand to all.
  void broadcast() {
    Value in = plain({wanted.count}), out = window({wanted.count}), signals = addSignals();
    finishArguments();
    Value me = rankOf(signals);
    barrier(signals);
    forTiles(onlyOn(me, 0, point()), wanted.points, wanted.count, tileElements(),
             [&](Value offset, int64_t size) {
               Value tile = view(load(in, {offset}, {size}), {1, size});
               sendToAll(tile, out, me, {offset});
             });
    barrier(signals);
  }

  /// Each rank sends to its target. A rank to which no rank sends gets zeros.
  void permute() {
    Value in = plain({wanted.count}), out = window({wanted.count}), signals = addSignals();
    finishArguments();
    Value me = rankOf(signals);
    barrier(signals);
    std::vector<bool> gets(static_cast<size_t>(wanted.ranks));
    for (auto [from, to] : wanted.pairs) {
      gets[static_cast<size_t>(to)] = true;
      Value target = constant(to);
      forTiles(onlyOn(me, from, point()), wanted.points, wanted.count, tileElements(),
               [&](Value offset, int64_t size) {
                 store(view(load(in, {offset}, {size}), {1, size}), out, {target, offset});
               });
    }
    for (int64_t rank = 0; rank < wanted.ranks; ++rank)
      if (!gets[static_cast<size_t>(rank)])
        forTiles(onlyOn(me, rank, point()), wanted.points, wanted.count, tileElements(),
                 [&](Value offset, int64_t size) { store(zeros({1, size}), out, {me, offset}); });
    barrier(signals);
  }
};

/// Why the kernel cannot be built; empty if it can.
std::string refusalOf(const CollectiveKernel &wanted) {
  const bool reduces =
      wanted.kind == CollectiveKind::allReduce || wanted.kind == CollectiveKind::reduceScatter;
  if (wanted.ranks < 1 || wanted.points < 1 || wanted.count < 1)
    return concat("expects at least one rank, point and element, got ", wanted.ranks, ", ",
                  wanted.points, " and ", wanted.count);
  if (wanted.kind == CollectiveKind::raggedAllToAll &&
      (wanted.rowsIn < 1 || wanted.rowsOut < 1 || wanted.ranges < 1 || wanted.slotRows < 1))
    return concat("expects at least one row of each tensor and slot, and one range, got ",
                  wanted.rowsIn, ", ", wanted.rowsOut, ", ", wanted.slotRows, " and ",
                  wanted.ranges);
  if (wanted.form == CollectiveForm::oneShot && wanted.kind != CollectiveKind::allReduce)
    return concat("only all_reduce has a one-shot form, got ", nameOf(wanted.kind));
  if (reduces && !CollectiveBuilder::combines(wanted.element, wanted.operation))
    return concat("no kernel combines ", numerics::spelling(wanted.element), " by ",
                  nameOf(wanted.operation));
  if (wanted.form != CollectiveForm::multicast)
    return "";
  if (reduces && !CollectiveBuilder::interconnectCombines(wanted.element, wanted.operation))
    return concat("the interconnect does not combine ", numerics::spelling(wanted.element), " by ",
                  nameOf(wanted.operation));
  const int64_t bytes = wanted.count * static_cast<int64_t>(numerics::storageBytes(wanted.element));
  if (wanted.kind != CollectiveKind::allReduce && bytes % 16 != 0)
    return concat("the multicast form of ", nameOf(wanted.kind),
                  " needs a multiple of 16 bytes for each rank, got ", bytes);
  if (wanted.kind == CollectiveKind::allToAll || wanted.kind == CollectiveKind::permute ||
      wanted.kind == CollectiveKind::raggedAllToAll)
    return concat(nameOf(wanted.kind), " sends nothing to all ranks, so it has no multicast form");
  return "";
}

} // namespace

Result<KernelOp> buildCollective(ModuleOp module, const CollectiveKernel &wanted) {
  if (std::string why = refusalOf(wanted); !why.empty())
    return Status(Code::unimplemented, why);
  Collectives builder(module, wanted);
  switch (wanted.kind) {
  case CollectiveKind::allReduce:
    if (wanted.form == CollectiveForm::oneShot)
      builder.allReduceOneShot();
    else if (wanted.form == CollectiveForm::direct)
      builder.allReduceDirect();
    else
      builder.allReduceMulticast();
    break;
  case CollectiveKind::allGather:
    builder.allGather();
    break;
  case CollectiveKind::reduceScatter:
    builder.reduceScatter();
    break;
  case CollectiveKind::allToAll:
    builder.allToAll();
    break;
  case CollectiveKind::raggedAllToAll:
    builder.raggedAllToAll();
    break;
  case CollectiveKind::broadcast:
    builder.broadcast();
    break;
  case CollectiveKind::permute:
    builder.permute();
    break;
  case CollectiveKind::barrier:
    return Status(Code::unimplemented, "a barrier moves nothing; combine one element instead");
  }
  return builder.kernel;
}

} // namespace tilewright::tile
