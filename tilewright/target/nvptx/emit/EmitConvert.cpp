// Converts a tile to another layout: by renaming registers, by shuffles, or through shared memory.
#include "tilewright/support/Concat.h"
#include "tilewright/target/nvptx/emit/KernelEmitter.h"

#include <numeric>

using namespace llvm;

namespace tilewright::nvptx {

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

/// The number of shared-memory wavefronts for a warp to move a tile with these strides: for each
/// instruction, the maximum number of words that a single one of the 32 banks must deliver.
static int64_t wavefronts(const Elements &elements, ArrayRef<int64_t> strides, int64_t bytes,
                          int64_t count, unsigned registers) {
  int64_t sum = 0;
  const ThreadLayout &threads = elements.threads;
  // Each instruction moves `count` elements per lane. A 16-byte access is executed in four phases,
  // a quarter of the warp at a time.
  const int64_t width = count * bytes, phases = std::max<int64_t>(1, width / 4);
  for (unsigned reg = 0; reg < registers; reg += unsigned(count)) {
    for (int64_t phase = 0; phase < phases; ++phase) {
      std::map<int64_t, std::vector<int64_t>> rows; // of each bank
      for (int64_t lane = phase * 32 / phases; lane < (phase + 1) * 32 / phases; ++lane) {
        int64_t address = 0;
        for (size_t dim = 0; dim < strides.size(); ++dim)
          address +=
              (elements.bases[size_t(lane)][dim] + threads.constant(dim, reg)) * strides[dim];
        for (int64_t word = address * bytes / 4; word <= (address * bytes + width - 1) / 4;
             ++word) {
          std::vector<int64_t> &bank = rows[word % 32];
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

void KernelEmitter::emitConvert(sm::ConvertOp convert) {
  auto type = cast<mlir::RankedTensorType>(convert.getType());
  ArrayRef<int64_t> shape = type.getShape();
  const ThreadLayout &from = threadsOf(convert.getSource().getType()), &to = threadsOf(type);
  if (!b.failure.isOk())
    return;
  if (convert.getMap())
    return rearrange(convert, from, to);

  // If each thread already holds its elements, and the register mapping is the same for all
  // threads, only rename registers.
  auto sameThreads = [&] {
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      auto a = from.forms[dim].terms, c = to.forms[dim].terms;
      auto less = [](const sm::IndexTerm &x, const sm::IndexTerm &y) {
        return std::tuple(x.axis, x.stride) < std::tuple(y.axis, y.stride);
      };
      llvm::sort(a, less), llvm::sort(c, less);
      if (a != c)
        return false;
    }
    return true;
  };
  if (sameThreads()) {
    std::map<std::vector<int64_t>, unsigned> held;
    auto index = [&](const ThreadLayout &threads, unsigned reg) {
      std::vector<int64_t> result;
      for (size_t dim = 0; dim < shape.size(); ++dim)
        result.push_back(threads.constant(dim, reg));
      return result;
    };
    for (unsigned reg = 0; reg < from.registers(); ++reg)
      held.try_emplace(index(from, reg), reg);
    const Tile source = tiles[convert.getSource()];
    Tile result;
    bool isComplete = true;
    for (unsigned reg = 0; reg < to.registers(); ++reg) {
      auto found = held.find(index(to, reg));
      const bool isDead = to.isDead(reg, shape);
      isComplete &= isDead || found != held.end();
      result.push_back(found == held.end() ? poison(type.getElementType()) : source[found->second]);
    }
    if (isComplete) {
      tiles[convert.getResult()] = std::move(result);
      return;
    }
  }

  // In a role, only shuffles are supported, not conversions through shared memory.
  if (currentRole) {
    if (!convertByShuffles(convert, from, to, INT64_MAX))
      refuse(convert, tilewright::concat(
                          "moves elements between warps of a role, which is not supported: from ",
                          from.layout.str(), " to ", to.layout.str()));
    return;
  }

  // Choose the layout in shared memory: rows along one dimension, padded so that writes and reads
  // have few bank conflicts.
  const int64_t bytes = lanes::storageBytes(type.getElementType());
  const Elements source(from, shape), target(to, shape);
  SmallVector<int64_t> best;
  bool bestFits = false;
  int64_t bestCost = INT64_MAX, bestCount = 0;
  for (size_t fastest = 0; fastest < std::max<size_t>(shape.size(), 1); ++fastest) {
    for (int64_t pad : {0, 1, 2, 4, 8, 16}) {
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
      StridedView view{nullptr, type.getElementType(), strides};
      int64_t cost = 0;
      for (const Elements *side : {&source, &target}) {
        int64_t count = 1;
        // Use the widest access to estimate the cost.
        for (const Chunk &chunk : chunksOf(side->threads, view, shape))
          count = std::max<int64_t>(count, int64_t(chunk.elements.size()));
        cost += wavefronts(*side, strides, bytes, count, side->threads.registers());
      }
      const bool fits = step * bytes <= chip.sharedPerBlockOptin;
      if (std::tuple(!fits, cost, step) < std::tuple(!bestFits, bestCost, bestCount)) {
        bestFits = fits;
        best = strides;
        bestCost = cost;
        bestCount = step;
      }
    }
    if (shape.empty())
      break;
  }
  // The cost of the two CTA barriers of a round trip through shared memory.
  constexpr int64_t barrierCost = 30;
  if (!convertByShuffles(convert, from, to, bestCost + barrierCost))
    convertByMemory(convert, from, to, best, bestCount);
}

/// Writes the source to shared memory in row-major order; each thread then reads its elements at
/// the indices that the map gives.
void KernelEmitter::rearrange(sm::ConvertOp convert, const ThreadLayout &from,
                              const ThreadLayout &to) {
  IRBuilder<> &ir = b.ir;
  auto type = cast<mlir::RankedTensorType>(convert.getType()),
       sourceType = cast<mlir::RankedTensorType>(convert.getSource().getType());
  mlir::Type element = type.getElementType();
  const int64_t bytes = lanes::storageBytes(element);
  mlir::AffineMap map = *convert.getMap();
  SmallVector<int64_t> strides(size_t(sourceType.getRank()), 1);
  for (size_t dim = strides.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * sourceType.getDimSize(unsigned(dim));
  SharedMemory::Buffer buffer = shared.allocate(sourceType.getNumElements() * bytes, 16, convert);
  StridedView view{shared.address(buffer), element, strides};
  beginSharedWrites();
  storeTile(tiles[convert.getSource()], from, view, sourceType.getShape());
  beginSharedReads();
  Type *stored = b.storageType(element);
  const unsigned each = b.isComplex(element) ? 2 : 1;
  const SmallVector<Value *, 2> zero(each, Constant::getNullValue(stored));
  Tile result;
  for (unsigned reg = 0; reg < to.registers(); ++reg) {
    result.push_back(poison(element));
    if (to.isDead(reg, type.getShape()))
      continue;
    SmallVector<Value *> index;
    for (size_t dim = 0; dim < size_t(type.getRank()); ++dim) {
      Value *constant = b.i64(to.constant(dim, reg));
      index.push_back(to.base[dim]
                          ? ir.CreateAdd(ir.CreateZExt(to.base[dim], ir.getInt64Ty()), constant)
                          : constant);
    }
    Value *offset = b.i64(0);
    for (auto [expr, stride] : zip_equal(map.getResults(), strides))
      offset =
          ir.CreateAdd(offset, ir.CreateMul(lanes::emitAffine(b, expr, index, {}), b.i64(stride)));
    Value *address = ir.CreateGEP(ir.getInt8Ty(), view.base, ir.CreateMul(offset, b.i64(bytes)));
    SmallVector<Value *> parts =
        load(stored, each, address, isInside(to, StridedView{}, type.getShape(), reg), zero);
    result.back() = each == 2 ? Lanes{parts[0], parts[1]} : Lanes{b.decode(parts[0], element)};
  }
  tiles[convert.getResult()] = std::move(result);
  shared.release(buffer);
}

void KernelEmitter::convertByMemory(sm::ConvertOp convert, const ThreadLayout &from,
                                    const ThreadLayout &to, ArrayRef<int64_t> strides,
                                    int64_t elements) {
  auto type = cast<mlir::RankedTensorType>(convert.getType());
  mlir::Type element = type.getElementType();
  SharedMemory::Buffer buffer =
      shared.allocate(elements * lanes::storageBytes(element), 16, convert);
  StridedView view{shared.address(buffer), element, SmallVector<int64_t>(strides)};
  beginSharedWrites();
  storeTile(tiles[convert.getSource()], from, view, type.getShape());
  beginSharedReads();
  tiles[convert.getResult()] = loadTile(to, view, type.getShape(), {});
  shared.release(buffer);
}

/// For each lane, the lane and register that one result register is copied from.
namespace {
struct Route {
  int64_t lane[32], reg[32];
  bool isKnown[32] = {};
};
} // namespace

bool KernelEmitter::convertByShuffles(sm::ConvertOp convert, const ThreadLayout &from,
                                      const ThreadLayout &to, int64_t sharedCost) {
  IRBuilder<> &ir = b.ir;
  auto type = cast<mlir::RankedTensorType>(convert.getType());
  // Each register costs at least one shuffle per 32 bits.
  Type *held = b.computeType(type.getElementType());
  const int64_t words =
      (held->getPrimitiveSizeInBits() > 32 ? 2 : 1) * (b.isComplex(type.getElementType()) ? 2 : 1);
  if (int64_t(to.registers()) * words > sharedCost)
    return false;
  ArrayRef<int64_t> shape = type.getShape();
  const Elements source(from, shape), target(to, shape);
  const auto warps = size_t(warpCount());
  std::vector<Route> routes(to.registers());
  for (size_t warp = 0; warp < warps; ++warp) {
    DenseMap<int64_t, std::pair<int64_t, int64_t>> holders; // first lane and register
    DenseMap<std::pair<int64_t, int64_t>, int64_t> own;     // (lane, element) to register
    for (unsigned reg = 0; reg < from.registers(); ++reg)
      for (int64_t lane = 0; lane < 32; ++lane)
        if (int64_t element = source.at(reg, warp * 32 + size_t(lane)); element >= 0) {
          holders.try_emplace(element, lane, reg);
          own.try_emplace({lane, element}, reg);
        }
    for (unsigned reg = 0; reg < to.registers(); ++reg)
      for (int64_t lane = 0; lane < 32; ++lane) {
        const int64_t element = target.at(reg, warp * 32 + size_t(lane));
        if (element < 0)
          continue;
        auto holder = holders.find(element);
        if (holder == holders.end())
          return false;
        auto [fromLane, fromReg] = holder->second;
        if (auto mine = own.find({lane, element}); mine != own.end())
          fromLane = lane, fromReg = mine->second;
        Route &route = routes[reg];
        if (route.isKnown[lane] && (route.lane[lane] != fromLane || route.reg[lane] != fromReg))
          return false;
        route.isKnown[lane] = true;
        route.lane[lane] = fromLane;
        route.reg[lane] = fromReg;
      }
  }
  // The source lane must be an xor-linear function of the bits of the lane, so that code can
  // compute it.
  struct Linear {
    int64_t constant = 0, bits[5] = {};
    bool isOwn = true;
  };
  SmallVector<Linear> lanesFrom(routes.size());
  int64_t cost = 0;
  for (auto [route, linear] : zip_equal(routes, lanesFrom)) {
    SmallVector<int64_t> registers;
    for (int64_t lane = 0; lane < 32; ++lane) {
      if (!route.isKnown[lane])
        continue;
      if (!is_contained(registers, route.reg[lane]))
        registers.push_back(route.reg[lane]);
      linear.isOwn &= route.lane[lane] == lane;
    }
    if (linear.isOwn) {
      cost += int64_t(registers.size()) - 1; // selects
      continue;
    }
    cost += int64_t(registers.size()) * words;
    // Lanes whose element is out of bounds can read from any lane; extend the linear function to
    // them.
    if (!route.isKnown[0])
      return false;
    linear.constant = route.lane[0];
    for (int bit = 0; bit < 5; ++bit)
      linear.bits[bit] = route.isKnown[1 << bit] ? route.lane[1 << bit] ^ linear.constant : 0;
    for (int64_t lane = 0; lane < 32; ++lane) {
      int64_t expected = linear.constant;
      for (int bit = 0; bit < 5; ++bit)
        if (lane >> bit & 1)
          expected ^= linear.bits[bit];
      if (route.isKnown[lane] && expected != route.lane[lane])
        return false;
    }
  }
  if (cost > sharedCost)
    return false;

  const Tile values = tiles[convert.getSource()];
  Value *lane = axis(Axis::lane);
  Tile result;
  for (auto [route, linear] : zip_equal(routes, lanesFrom)) {
    Value *fromLane = i32(linear.constant);
    if (!linear.isOwn)
      for (int bit = 0; bit < 5; ++bit)
        if (linear.bits[bit]) {
          Value *isSet = ir.CreateICmpNE(ir.CreateAnd(lane, i32(1 << bit)), i32(0));
          fromLane = ir.CreateXor(fromLane, ir.CreateSelect(isSet, i32(linear.bits[bit]), i32(0)));
        }
    std::map<int64_t, uint32_t> users; // register to the mask of lanes that need it
    for (int64_t each = 0; each < 32; ++each)
      if (route.isKnown[each])
        users[route.reg[each]] |= uint32_t(1) << each;
    Lanes value = poison(type.getElementType());
    bool isFirst = true;
    for (auto [reg, wanted] : users) {
      Lanes got = values[size_t(reg)];
      if (!linear.isOwn)
        got = shuffleFrom(got, fromLane);
      if (isFirst) {
        value = got;
      } else {
        Value *isWanted = ir.CreateTrunc(ir.CreateLShr(i32(int64_t(wanted)), lane), ir.getInt1Ty());
        value = b.select(isWanted, got, value);
      }
      isFirst = false;
    }
    result.push_back(value);
  }
  tiles[convert.getResult()] = std::move(result);
  return true;
}

} // namespace tilewright::nvptx
