// Converts a tile to another layout: by renaming registers, by shuffles, or through shared memory.
#include "tilewright/target/gpu/KernelLowering.h"

#include "tilewright/support/Concat.h"
#include "tilewright/target/gpu/thread/MemoryAccess.h"
#include "tilewright/target/gpu/thread/Shuffle.h"
#include "tilewright/target/gpu/thread/TransposedRead.h"

#include <map>

using namespace llvm;

namespace tilewright::gpu {

using sm::Axis;

namespace {

/// The element that each register of each thread holds, as a row-major index in the tile.
struct Elements {
  Elements(const ThreadLayout &threads, ArrayRef<int64_t> shape)
      : threads(threads), shape(shape), bases(threads.threadIndices()) {}
  /// Returns -1 if the register's element is outside of the tile.
  int64_t at(unsigned reg, size_t thread) const {
    int64_t element = 0;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      const int64_t index = bases[thread][dim] + threads.constant(dim, reg);
      if (index >= shape[dim])
        return -1;
      element = element * shape[dim] + index;
    }
    return element;
  }
  const ThreadLayout &threads;
  ArrayRef<int64_t> shape;
  std::vector<SmallVector<int64_t>> bases;
};

} // namespace

// --- Renaming registers ---

/// Whether each thread's elements begin at the same index in both layouts.
static bool haveSameThreads(const ThreadLayout &from, const ThreadLayout &to) {
  auto sortedTerms = [](const sm::IndexForm &form) {
    SmallVector<sm::IndexTerm> terms = form.terms;
    llvm::sort(terms, [](const sm::IndexTerm &x, const sm::IndexTerm &y) {
      return std::tuple(x.axis, x.stride) < std::tuple(y.axis, y.stride);
    });
    return terms;
  };
  return all_of(zip_equal(from.forms, to.forms), [&](const auto &forms) {
    return sortedTerms(std::get<0>(forms)) == sortedTerms(std::get<1>(forms));
  });
}

/// For each register of `to`, the register of `from` with the same element; nullopt for an element
/// that is outside of the tile. Fails if a thread does not hold all its elements, or the mapping is
/// not the same for all threads.
static std::optional<SmallVector<std::optional<unsigned>>>
renamedRegisters(const ThreadLayout &from, const ThreadLayout &to, ArrayRef<int64_t> shape) {
  if (!haveSameThreads(from, to))
    return std::nullopt;
  std::map<std::vector<int64_t>, unsigned> held;
  for (unsigned reg = 0; reg < from.registers(); ++reg)
    held.try_emplace(from.constants(reg), reg);
  SmallVector<std::optional<unsigned>> sources(to.registers());
  for (unsigned reg = 0; reg < to.registers(); ++reg) {
    auto found = held.find(to.constants(reg));
    if (found != held.end())
      sources[reg] = found->second;
    else if (!to.isDead(reg, shape))
      return std::nullopt;
  }
  return sources;
}

// --- Through shared memory ---

/// The number of shared-memory wavefronts for a warp to move a tile with these strides: for each
/// instruction, the maximum number of words that a single one of the banks must deliver.
static int64_t wavefronts(const Elements &elements, ArrayRef<int64_t> strides, int64_t bytes,
                          int64_t count, const std::optional<TransposedRead> &transposed,
                          const Machine::Limits &limits) {
  int64_t sum = 0;
  const ThreadLayout &threads = elements.threads;
  // Each instruction moves `count` elements per lane. An access of more words than there are banks
  // is executed in phases, a part of the warp at a time.
  const int64_t width = count * bytes, lanes = limits.warpSize, banks = limits.sharedBanks;
  const int64_t phases = std::max<int64_t>(1, lanes * (width / 4) / banks);
  for (unsigned reg = 0; reg < threads.registers(); reg += unsigned(count)) {
    for (int64_t phase = 0; phase < phases; ++phase) {
      std::map<int64_t, std::vector<int64_t>> rows; // of each bank
      for (int64_t lane = phase * lanes / phases; lane < (phase + 1) * lanes / phases; ++lane) {
        int64_t address = 0;
        for (size_t dim = 0; dim < strides.size(); ++dim)
          address +=
              (elements.bases[size_t(lane)][dim] + threads.constant(dim, reg)) * strides[dim];
        if (transposed)
          address += transposed->rowOf(lane) * strides[transposed->row] +
                     transposed->columnOf(lane) - lane % TransposedRead::lanes;
        for (int64_t word = address * bytes / 4; word <= (address * bytes + width - 1) / 4;
             ++word) {
          std::vector<int64_t> &bank = rows[word % banks];
          if (!is_contained(bank, word))
            bank.push_back(word);
        }
      }
      size_t most = 1;
      for (auto &[bank, words] : rows)
        most = std::max(most, words.size());
      sum += int64_t(most);
    }
  }
  return sum;
}

namespace {
/// A place for a tile in shared memory: rows along one dimension, with padding between them.
struct PaddedRows {
  SmallVector<int64_t> strides;
  int64_t elements = 0;     // including the padding
  int64_t accesses = 0;     // if these matter
  int64_t cost = INT64_MAX; // in wavefronts, of the writes and the reads
  bool fits = false;        // in the shared memory of a CTA
  /// Lower is better.
  auto rank() const { return std::tuple(!fits, cost, accesses, elements); }
};
} // namespace

/// The strides of rows along dimension `fastest` that are `pad` elements apart, and the number of
/// elements that they cover.
static std::pair<SmallVector<int64_t>, int64_t> padRows(ArrayRef<int64_t> shape, size_t fastest,
                                                        int64_t pad) {
  SmallVector<int64_t> strides(shape.size(), 1);
  int64_t step = 1;
  if (!shape.empty()) {
    step = shape[fastest] + pad;
    for (size_t dim = shape.size(); dim-- > 0;)
      if (dim != fastest) {
        strides[dim] = step;
        step *= shape[dim];
      }
  }
  return {std::move(strides), step};
}

/// Chooses the rows such that writes and reads have few bank conflicts.
static PaddedRows choosePaddedRows(mlir::RankedTensorType type, const ThreadLayout &from,
                                   const ThreadLayout &to, const Machine::Limits &limits) {
  ArrayRef<int64_t> shape = type.getShape();
  const int64_t bytes = lanes::storageBytes(type.getElementType());
  const Elements source(from, shape), target(to, shape);
  PaddedRows best;
  for (size_t fastest = 0; fastest < std::max<size_t>(shape.size(), 1); ++fastest)
    for (int64_t pad : {0, 1, 2, 4, 8, 16}) {
      PaddedRows rows;
      rows.cost = 0;
      std::tie(rows.strides, rows.elements) = padRows(shape, fastest, pad);
      rows.fits = rows.elements * bytes <= limits.sharedBytes;
      const StridedView view{Value(), type.getElementType(), rows.strides};
      for (const Elements *side : {&source, &target}) {
        int64_t count = 1;
        // Use the widest access to estimate the cost.
        for (const Chunk &chunk : chunksOf(side->threads, view, shape))
          count = std::max<int64_t>(count, int64_t(chunk.elements.size()));
        std::optional<TransposedRead> transposed;
        if (side == &target && count == 1)
          transposed = findTransposedRead(to, rows.strides, shape, bytes, limits);
        if (transposed)
          count = transposed->count;
        if (limits.prefersWideReads)
          rows.accesses += side->threads.registers() / count;
        rows.cost += wavefronts(*side, rows.strides, bytes, count, transposed, limits);
      }
      if (rows.rank() < best.rank())
        best = std::move(rows);
    }
  return best;
}

void ConversionsLowering::convertByMemory(sm::ConvertOp convert, const ThreadLayout &from,
                                          const ThreadLayout &to, ArrayRef<int64_t> strides,
                                          int64_t elements) {
  auto type = cast<mlir::RankedTensorType>(convert.getType());
  Type element = type.getElementType();
  SharedMemory::Buffer buffer =
      kernel.shared.allocate(elements * lanes::storageBytes(element), 16, convert);
  StridedView view{kernel.shared.address(buffer), element, SmallVector<int64_t>(strides)};
  kernel.beginSharedWrites();
  all.memory.storeTile(kernel.tiles[convert.getSource()], from, view, type.getShape());
  kernel.beginSharedReads();
  std::optional<TransposedRead> transposed;
  if (chunksOf(to, view, type.getShape()).front().elements.size() == 1)
    transposed = findTransposedRead(to, strides, type.getShape(), lanes::storageBytes(element),
                                    b.machine.limits);
  kernel.tiles[convert.getResult()] = transposed
                                          ? all.memory.loadTransposed(to, view, *transposed)
                                          : all.memory.loadTile(to, view, type.getShape(), {});
  kernel.shared.release(buffer);
}

/// Writes the source to shared memory in row-major order; each thread then reads its elements at
/// the indices that the map gives.
void ConversionsLowering::rearrange(sm::ConvertOp convert, const ThreadLayout &from,
                                    const ThreadLayout &to) {
  auto type = cast<mlir::RankedTensorType>(convert.getType()),
       sourceType = cast<mlir::RankedTensorType>(convert.getSource().getType());
  Type element = type.getElementType();
  const int64_t bytes = lanes::storageBytes(element);
  mlir::AffineMap map = *convert.getMap();
  const SmallVector<int64_t> strides = rowMajor(sourceType.getShape());
  SharedMemory::Buffer buffer =
      kernel.shared.allocate(sourceType.getNumElements() * bytes, 16, convert);
  StridedView view{kernel.shared.address(buffer), element, strides};
  kernel.beginSharedWrites();
  all.memory.storeTile(kernel.tiles[convert.getSource()], from, view, sourceType.getShape());
  kernel.beginSharedReads();
  Type stored = b.storageType(element);
  const unsigned each = b.isComplex(element) ? 2 : 1;
  const SmallVector<Value, 2> zero(each, b.zero(stored));
  Tile result;
  for (unsigned reg = 0; reg < to.registers(); ++reg) {
    result.push_back(b.poison(element));
    if (to.isDead(reg, type.getShape()))
      continue;
    SmallVector<Value> index;
    for (size_t dim = 0; dim < size_t(type.getRank()); ++dim) {
      Value constant = b.i64(to.constant(dim, reg));
      index.push_back(to.base[dim] ? b.add(b.zext(to.base[dim], b.i64Type), constant) : constant);
    }
    Value offset = b.i64(0);
    for (auto [expr, stride] : zip_equal(map.getResults(), strides))
      offset = b.add(offset, b.mul(b.affine(expr, index, {}), b.i64(stride)));
    Value address = b.advance(view.base, b.mul(offset, b.i64(bytes)));
    SmallVector<Value> parts = loadParts(
        b, stored, each, address, isInside(b, to, StridedView{}, type.getShape(), reg), zero);
    result.back() = each == 2 ? Lanes{parts[0], parts[1]} : Lanes{b.decode(parts[0], element)};
  }
  kernel.tiles[convert.getResult()] = std::move(result);
  kernel.shared.release(buffer);
}

// --- By shuffles ---

namespace {

/// For each lane, the lane and register that one result register is copied from.
struct Route {
  SmallVector<int64_t> lane, reg;
  SmallVector<bool> isKnown;

  explicit Route(int64_t lanes)
      : lane(size_t(lanes)), reg(size_t(lanes)), isKnown(size_t(lanes), false) {}
  int64_t lanes() const { return int64_t(lane.size()); }

  /// Returns false if the lane already has a different source.
  bool add(size_t to, int64_t fromLane, int64_t fromReg) {
    if (isKnown[to] && (lane[to] != fromLane || reg[to] != fromReg))
      return false;
    isKnown[to] = true;
    lane[to] = fromLane;
    reg[to] = fromReg;
    return true;
  }
  /// Each source register, with the mask of the lanes that need it.
  std::map<int64_t, uint64_t> users() const {
    std::map<int64_t, uint64_t> masks;
    for (size_t to = 0; to < lane.size(); ++to)
      if (isKnown[to])
        masks[reg[to]] |= uint64_t(1) << to;
    return masks;
  }
};

/// The source lane as an xor-linear function of the bits of the lane, so that code can compute it.
struct SourceLane {
  int64_t constant = 0, bits[6] = {}; // of a lane's number
  bool isOwn = true;                  // all lanes read their own registers

  int64_t at(int64_t lane) const {
    int64_t from = constant;
    for (int bit = 0; bit < 6; ++bit)
      if (lane >> bit & 1)
        from ^= bits[bit];
    return from;
  }
};

} // namespace

/// Adds the sources of one warp's result registers. Returns false if another warp holds an element,
/// or a register has different sources than in other warps.
static bool addWarp(std::vector<Route> &routes, const Elements &source, const Elements &target,
                    size_t warp) {
  DenseMap<int64_t, std::pair<int64_t, int64_t>> holders; // first lane and register
  DenseMap<std::pair<int64_t, int64_t>, int64_t> own;     // (lane, element) to register
  const int64_t lanes = routes.empty() ? 0 : routes.front().lanes();
  const size_t first = warp * size_t(lanes); // thread
  for (unsigned reg = 0; reg < source.threads.registers(); ++reg)
    for (int64_t lane = 0; lane < lanes; ++lane)
      if (int64_t element = source.at(reg, first + size_t(lane)); element >= 0) {
        holders.try_emplace(element, lane, reg);
        own.try_emplace({lane, element}, reg);
      }
  for (unsigned reg = 0; reg < target.threads.registers(); ++reg)
    for (int64_t lane = 0; lane < lanes; ++lane) {
      const int64_t element = target.at(reg, first + size_t(lane));
      if (element < 0)
        continue;
      auto holder = holders.find(element);
      if (holder == holders.end())
        return false;
      auto [fromLane, fromReg] = holder->second;
      if (auto mine = own.find({lane, element}); mine != own.end())
        fromLane = lane, fromReg = mine->second;
      if (!routes[reg].add(size_t(lane), fromLane, fromReg))
        return false;
    }
  return true;
}

/// Returns nullopt if the source lane is not an xor-linear function.
static std::optional<SourceLane> sourceLaneOf(const Route &route) {
  SourceLane source;
  const auto lanes = size_t(route.lanes());
  for (size_t lane = 0; lane < lanes; ++lane)
    source.isOwn &= !route.isKnown[lane] || route.lane[lane] == int64_t(lane);
  if (source.isOwn)
    return source;
  // Lanes whose element is out of bounds can read from any lane; extend the linear function to
  // them.
  if (!route.isKnown[0])
    return std::nullopt;
  source.constant = route.lane[0];
  for (size_t bit = 0; size_t(1) << bit < lanes; ++bit)
    source.bits[bit] =
        route.isKnown[size_t(1) << bit] ? route.lane[size_t(1) << bit] ^ source.constant : 0;
  for (size_t lane = 0; lane < lanes; ++lane)
    if (route.isKnown[lane] && source.at(int64_t(lane)) != route.lane[lane])
      return std::nullopt;
  return source;
}

/// Emits one result register: reads each source register from its lane, and selects among them by
/// lane.
static Lanes emitRoute(ThreadBuilder &b, const Route &route, const SourceLane &source,
                       const Tile &values, Type element, Value lane) {
  Value fromLane = b.i32(source.constant);
  for (int bit = 0; bit < 6 && !source.isOwn; ++bit)
    if (source.bits[bit]) {
      Value isSet = b.notEqual(b.bitAnd(lane, b.i32(1 << bit)), b.i32(0));
      Value flipped = b.select(isSet, b.i32(source.bits[bit]), b.i32(0));
      fromLane = b.bitXor(fromLane, flipped);
    }
  Lanes value = b.poison(element);
  bool isFirst = true;
  for (auto [reg, wanted] : route.users()) {
    Lanes got = values[size_t(reg)];
    if (!source.isOwn)
      got = shuffleFrom(b, got, fromLane);
    if (isFirst) {
      value = got;
    } else {
      value = b.select(b.machine.isAmong(b, wanted, lane), got, value);
    }
    isFirst = false;
  }
  return value;
}

bool ConversionsLowering::convertByShuffles(sm::ConvertOp convert, const ThreadLayout &from,
                                            const ThreadLayout &to, int64_t sharedCost) {
  auto type = cast<mlir::RankedTensorType>(convert.getType());
  Type element = type.getElementType();
  // Each register costs at least one shuffle per 32 bits.
  const int64_t words =
      (bitsOf(b.computeType(element)) > 32 ? 2 : 1) * (b.isComplex(element) ? 2 : 1);
  if (int64_t(to.registers()) * words > sharedCost)
    return false;
  const Elements source(from, type.getShape()), target(to, type.getShape());
  std::vector<Route> routes(to.registers(), Route(kernel.warpSize()));
  for (size_t warp = 0; warp < size_t(kernel.warpCount()); ++warp)
    if (!addWarp(routes, source, target, warp))
      return false;
  SmallVector<SourceLane> sourceLanes;
  int64_t cost = 0;
  for (const Route &route : routes) {
    std::optional<SourceLane> lane = sourceLaneOf(route);
    if (!lane)
      return false;
    const auto registers = int64_t(route.users().size());
    cost += lane->isOwn ? registers - 1 /* selects */ : registers * words;
    sourceLanes.push_back(*lane);
  }
  if (cost > sharedCost)
    return false;

  const Tile values = kernel.tiles[convert.getSource()];
  Value lane = kernel.axis(Axis::lane);
  Tile result;
  for (auto [route, sourceLane] : zip_equal(routes, sourceLanes))
    result.push_back(emitRoute(b, route, sourceLane, values, element, lane));
  kernel.tiles[convert.getResult()] = std::move(result);
  return true;
}

// --- The choice ---

void ConversionsLowering::convert(sm::ConvertOp convert) {
  auto type = cast<mlir::RankedTensorType>(convert.getType());
  const ThreadLayout &from = kernel.threadsOf(convert.getSource().getType()),
                     &to = kernel.threadsOf(type);
  if (!b.failure.isOk())
    return;
  if (convert.getMap())
    return rearrange(convert, from, to);

  if (auto sources = renamedRegisters(from, to, type.getShape())) {
    const Tile source = kernel.tiles[convert.getSource()];
    Tile result;
    for (std::optional<unsigned> reg : *sources)
      result.push_back(reg ? source[*reg] : b.poison(type.getElementType()));
    kernel.tiles[convert.getResult()] = std::move(result);
    return;
  }

  // In a role, only shuffles are supported, not conversions through shared memory.
  if (kernel.currentRole) {
    if (!convertByShuffles(convert, from, to, INT64_MAX))
      kernel.refuse(convert,
                    tilewright::concat(
                        "moves elements between warps of a role, which is not supported: from ",
                        from.layout.str(), " to ", to.layout.str()));
    return;
  }

  const PaddedRows rows = choosePaddedRows(type, from, to, b.machine.limits);
  // The cost of the two CTA barriers of a round trip through shared memory.
  constexpr int64_t barrierCost = 30;
  if (!convertByShuffles(convert, from, to, rows.cost + barrierCost))
    convertByMemory(convert, from, to, rows.strides, rows.elements);
}

} // namespace tilewright::gpu
