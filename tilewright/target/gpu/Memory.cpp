// Moves tiles between memory and registers: uses vector accesses for contiguous registers with
// provably aligned addresses, and predicates for elements that may be out of bounds.
#include "tilewright/target/gpu/KernelLowering.h"

#include "tilewright/dialect/tile/WindowOps.h"
#include "tilewright/target/gpu/thread/MemoryAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>
#include <set>

using namespace llvm;

namespace tilewright::gpu {

StridedView MemoryLowering::viewOf(Value whole, mlir::ValueRange offsets, mlir::ValueRange origin,
                                   ArrayRef<int64_t> bounds,
                                   std::optional<ArrayRef<int64_t>> strides,
                                   std::optional<ArrayRef<bool>> inBounds) {
  auto type = cast<mlir::MemRefType>(whole.getType());
  ArrayRef<int64_t> shape = type.getShape();
  SmallVector<int64_t> steps = rowMajor(shape);
  // The first offset into a window chooses a part, which has its own address.
  const bool hasParts = tile::isWindow(type);
  StridedView view{.base = hasParts ? all.windowPart(whole, kernel.scalars.lookup(offsets[0]).value)
                                    : kernel.memory.lookup(whole),
                   .elementType = type.getElementType(),
                   .strides = {}};
  const int64_t elements = hasParts ? steps[0] : type.getNumElements();
  view.isWide = elements * lanes::storageBytes(type.getElementType()) > 0x7FFFFFFF;
  Type word = view.isWide ? b.i64Type : b.i32Type;
  auto advance = [&](mlir::Value by, size_t dim) {
    const int64_t divisor = sm::divisorOf(by);
    if (divisor == 0)
      return;
    Value part = b.mul(b.trunc(kernel.scalars.lookup(by).value, word), b.integer(word, steps[dim]));
    view.offset = view.offset ? b.add(view.offset, part) : part;
    view.divisor = std::gcd(view.divisor, divisor * steps[dim]);
  };
  if (hasParts)
    view.strides.push_back(0);
  for (size_t dim = hasParts ? 1 : 0; dim < shape.size(); ++dim) {
    const int64_t stride = strides ? (*strides)[dim] : 1;
    view.strides.push_back(steps[dim] * stride);
    advance(offsets[dim], dim);
    if (!origin.empty())
      advance(origin[dim], dim);
    const int64_t divisor = sm::divisorOf(offsets[dim]);
    if (inBounds && !(*inBounds)[dim])
      view.checks.push_back({dim,
                             divisor == 0 ? nullptr : kernel.scalars.lookup(offsets[dim]).value,
                             divisor, stride, bounds[dim]});
  }
  return view;
}

StridedView MemoryLowering::partView(Value window, mlir::ValueRange offsets) {
  auto type = cast<mlir::MemRefType>(window.getType());
  const SmallVector<int64_t> steps = rowMajor(type.getShape());
  StridedView view{.base = nullptr, .elementType = type.getElementType(), .strides = {0}};
  view.isWide = steps[0] * lanes::storageBytes(type.getElementType()) > 0x7FFFFFFF;
  Type word = view.isWide ? b.i64Type : b.i32Type;
  for (size_t dim = 1; dim < steps.size(); ++dim) {
    view.strides.push_back(steps[dim]);
    Value offset = offsets[dim - 1];
    const int64_t divisor = sm::divisorOf(offset);
    if (divisor == 0)
      continue;
    Value part =
        b.mul(b.trunc(kernel.scalars.lookup(offset).value, word), b.integer(word, steps[dim]));
    view.offset = view.offset ? b.add(view.offset, part) : part;
    view.divisor = std::gcd(view.divisor, divisor * steps[dim]);
  }
  return view;
}

Value MemoryLowering::addressOf(const ThreadLayout &threads, const StridedView &view,
                                int64_t constant) {
  const int64_t bytes = lanes::storageBytes(view.elementType);
  Type word = view.isWide ? b.i64Type : b.i32Type;
  // Compute the part that depends only on the thread once for all accesses with the same strides.
  std::vector<int64_t> key(view.strides.begin(), view.strides.end());
  key.push_back(bytes * (view.isWide ? -1 : 1));
  auto [known, isNew] = threadOffsets.try_emplace({&threads, key});
  if (isNew)
    known->second = kernel.once([&]() -> Value {
      Value sum = nullptr;
      for (size_t dim = 0; dim < threads.base.size(); ++dim)
        if (Value base = threads.base[dim]) {
          Value part = b.mul(b.zextOrTrunc(base, word), b.integer(word, view.strides[dim] * bytes));
          sum = sum ? b.add(sum, part) : part;
        }
      return sum;
    });
  Value offset = known->second;
  if (view.offset) {
    Value uniform = b.mul(view.offset, b.integer(word, bytes));
    offset = offset ? b.add(uniform, offset) : uniform;
  }
  Value address = view.base;
  int64_t rest = constant * bytes;
  // If all elements are in bounds, the first one is, too, so no part of the offset is negative.
  const int64_t reach = b.machine.limits.offsetConstants;
  const bool isUnsigned = reach > 0 && !view.isWide && view.checks.empty() && rest >= 0;
  if (isUnsigned && rest >= reach) {
    Value most = b.i32(rest / reach * reach);
    offset = offset ? b.add(offset, most) : most;
    rest %= reach;
  }
  if (offset)
    address =
        b.advance(address, isUnsigned ? b.zext(offset, b.i64Type) : b.sext(offset, b.i64Type));
  if (rest != 0)
    address = b.advance(address, rest);
  return address;
}

// --- Tiles ---

Tile MemoryLowering::loadTile(const ThreadLayout &threads, const StridedView &view,
                              ArrayRef<int64_t> shape, Lanes outside) {
  Type type = view.elementType;
  Type stored = b.storageType(type);
  const unsigned each = b.isComplex(type) ? 2 : 1;
  SmallVector<Value, 2> fill;
  if (outside.value) {
    fill.push_back(each == 2 ? outside.value : b.encode(outside.value, type));
    if (each == 2)
      fill.push_back(outside.imag);
  } else {
    fill.assign(each, b.zero(stored));
  }
  Tile tile(threads.registers(), b.poison(type));
  for (const Chunk &chunk : chunksOf(threads, view, shape)) {
    const auto count = unsigned(chunk.elements.size());
    SmallVector<Value> fills;
    for (unsigned i = 0; i < count; ++i)
      append_range(fills, fill);
    Value isOn = isInside(b, threads, view, shape, chunk.elements[0][0]);
    SmallVector<Value> parts =
        loadParts(b, stored, count * each, addressOf(threads, view, chunk.constant), isOn, fills);
    for (unsigned i = 0; i < count; ++i) {
      Lanes value =
          each == 2 ? Lanes{parts[2 * i], parts[2 * i + 1]} : Lanes{b.decode(parts[i], type)};
      for (unsigned reg : chunk.elements[i])
        tile[reg] = value;
    }
  }
  return tile;
}

Tile MemoryLowering::loadTransposed(const ThreadLayout &threads, const StridedView &view,
                                    const TransposedRead &read) {
  Type type = view.elementType;
  const int64_t bytes = lanes::storageBytes(type), rowBytes = view.strides[read.row] * bytes;
  Value moved = kernel.once(
      [&] { return transposedOffset(b, read, rowBytes, bytes, kernel.axis(sm::Axis::lane)); });
  StridedView block = view;
  block.base = b.advance(view.base, moved);
  Tile tile(threads.registers(), b.poison(type));
  for (unsigned first : read.first) {
    int64_t constant = 0;
    for (size_t dim = 0; dim < view.strides.size(); ++dim)
      constant += threads.constant(dim, first) * view.strides[dim];
    const SmallVector<Value> parts =
        b.machine.loadTransposed(b, b.storageType(type), addressOf(threads, block, constant));
    for (auto [i, part] : enumerate(parts))
      tile[first + unsigned(i)] = {b.decode(part, type)};
  }
  return tile;
}

void MemoryLowering::storeTile(const Tile &tile, const ThreadLayout &threads,
                               const StridedView &view, ArrayRef<int64_t> shape) {
  Type type = view.elementType;
  for (const Chunk &chunk : chunksOf(threads, view, shape)) {
    SmallVector<Value> parts;
    for (const auto &registers : chunk.elements) {
      Lanes value = tile[registers[0]];
      if (value.imag)
        parts.append({value.value, value.imag});
      else
        parts.push_back(b.encode(value.value, type));
    }
    Value isOn = isInside(b, threads, view, shape, chunk.elements[0][0]);
    if (threads.isFirst)
      isOn = isOn ? b.bitAnd(isOn, threads.isFirst) : threads.isFirst;
    storeParts(b, parts, addressOf(threads, view, chunk.constant), isOn);
  }
}

void MemoryLowering::load(tile::LoadOp load) {
  auto type = cast<mlir::RankedTensorType>(load.getType());
  StridedView view = viewOf(load.getSource(), load.getOffsets(), /*origin=*/{},
                            cast<mlir::MemRefType>(load.getSource().getType()).getShape(),
                            load.getStrides(), load.getInBounds());
  Lanes outside = load.getPadding() ? kernel.scalars.lookup(load.getPadding()) : Lanes{};
  kernel.tiles[load.getResult()] = loadTile(kernel.threadsOf(type), view, type.getShape(), outside);
}

void MemoryLowering::store(tile::StoreOp store) {
  auto type = cast<mlir::RankedTensorType>(store.getTile().getType());
  StridedView view = viewOf(store.getTarget(), store.getOffsets(), store.getOrigin(),
                            store.getBounds(), store.getStrides(), store.getInBounds());
  storeTile(kernel.tiles[store.getTile()], kernel.threadsOf(type), view, type.getShape());
}

void MemoryLowering::gather(tile::GatherOp gather) {
  auto type = cast<mlir::RankedTensorType>(gather.getType());
  auto whole = cast<mlir::MemRefType>(gather.getSource().getType());
  const ThreadLayout &threads = kernel.threadsOf(type);
  const SmallVector<int64_t> strides = rowMajor(whole.getShape());
  Type element = whole.getElementType();
  Type stored = b.storageType(element);
  const unsigned each = b.isComplex(element) ? 2 : 1;
  const int64_t bytes = lanes::storageBytes(element);
  StridedView nowhere{};
  Tile result;
  std::map<std::vector<const void *>, unsigned> known; // rows that several registers share
  for (unsigned reg = 0; reg < threads.registers(); ++reg) {
    result.push_back(b.poison(element));
    if (threads.isDead(reg, type.getShape()))
      continue;
    Value isOn = isInside(b, threads, nowhere, type.getShape(), reg);
    std::vector<const void *> key = {isOn.getAsOpaquePointer()};
    Value offset = b.i64(0);
    for (auto [indices, stride] : zip_equal(gather.getIndices(), strides)) {
      Value index = kernel.tiles[indices][reg].value;
      key.push_back(index.getAsOpaquePointer());
      offset = b.add(offset, b.mul(index, b.i64(stride * bytes)));
    }
    auto [found, isNew] = known.try_emplace(key, reg);
    if (!isNew) {
      result.back() = result[found->second];
      continue;
    }
    Value address = b.advance(kernel.memory.lookup(gather.getSource()), offset);
    SmallVector<Value, 2> zero(each, b.zero(stored));
    SmallVector<Value> parts = loadParts(b, stored, each, address, isOn, zero);
    result.back() = each == 2 ? Lanes{parts[0], parts[1]} : Lanes{b.decode(parts[0], element)};
  }
  kernel.tiles[gather.getResult()] = std::move(result);
}

void MemoryLowering::forEachPlace(mlir::RankedTensorType type, Value whole,
                                  mlir::ValueRange indices,
                                  function_ref<void(unsigned, Value, Value)> visit) {
  auto memory = cast<mlir::MemRefType>(whole.getType());
  const ThreadLayout &threads = kernel.threadsOf(type);
  const SmallVector<int64_t> strides = rowMajor(memory.getShape());
  const int64_t bytes = lanes::storageBytes(memory.getElementType());
  StridedView nowhere{};
  std::set<std::vector<int64_t>> done; // an element that several registers hold is written once
  for (unsigned reg = 0; reg < threads.registers(); ++reg) {
    if (threads.isDead(reg, type.getShape()) || !done.insert(threads.constants(reg)).second)
      continue;
    Value isOn = isInside(b, threads, nowhere, type.getShape(), reg);
    auto require = [&](Value condition) { isOn = isOn ? b.bitAnd(isOn, condition) : condition; };
    if (threads.isFirst)
      require(threads.isFirst);
    Value offset = b.i64(0);
    for (auto [each, size, stride] : zip_equal(indices, memory.getShape(), strides)) {
      Value index = kernel.tiles[each][reg].value;
      require(b.unsignedLess(index, b.i64(size))); // also rejects negative indices
      offset = b.add(offset, b.mul(index, b.i64(stride * bytes)));
    }
    visit(reg, b.advance(kernel.memory.lookup(whole), offset), isOn);
  }
}

void MemoryLowering::scatter(tile::ScatterOp scatter) {
  auto type = cast<mlir::RankedTensorType>(scatter.getTile().getType());
  forEachPlace(type, scatter.getTarget(), scatter.getIndices(),
               [&](unsigned reg, Value address, Value isOn) {
                 Lanes value = kernel.tiles[scatter.getTile()][reg];
                 SmallVector<Value, 2> parts;
                 if (value.imag)
                   parts = {value.value, value.imag};
                 else
                   parts = {b.encode(value.value, type.getElementType())};
                 storeParts(b, parts, address, isOn);
               });
}

/// How an op combines integers in memory, if an instruction does it.
static std::optional<Combination> combinationOf(mlir::Operation &op) {
  return TypeSwitch<mlir::Operation *, std::optional<Combination>>(&op)
      .Case([](mlir::arith::AddIOp) { return Combination::add; })
      .Case([](mlir::arith::AndIOp) { return Combination::bitAnd; })
      .Case([](mlir::arith::OrIOp) { return Combination::bitOr; })
      .Case([](mlir::arith::XOrIOp) { return Combination::bitXor; })
      .Case([](mlir::arith::MinSIOp) { return Combination::minSigned; })
      .Case([](mlir::arith::MaxSIOp) { return Combination::maxSigned; })
      .Case([](mlir::arith::MinUIOp) { return Combination::minUnsigned; })
      .Case([](mlir::arith::MaxUIOp) { return Combination::maxUnsigned; })
      .Default([](mlir::Operation *) { return std::nullopt; });
}

void MemoryLowering::update(tile::UpdateOp update) {
  auto type = cast<mlir::RankedTensorType>(update.getTile().getType());
  Type element = type.getElementType();
  Block &combiner = update.getCombiner().front();
  if (update.getAtomic()) {
    std::optional<Combination> combination = combinationOf(combiner.front());
    if (!combination)
      return kernel.refuse(update, "combines by an op for which there is no atomic instruction");
    forEachPlace(type, update.getTarget(), update.getIndices(),
                 [&](unsigned reg, Value address, Value isOn) {
                   b.machine.combineIf(b, isOn, *combination,
                                       kernel.tiles[update.getTile()][reg].value, address);
                 });
    return;
  }
  Type stored = b.storageType(element);
  const SmallVector<Value, 2> zero(b.isComplex(element) ? 2 : 1, b.zero(stored));
  forEachPlace(
      type, update.getTarget(), update.getIndices(), [&](unsigned reg, Value address, Value isOn) {
        SmallVector<Value> parts = loadParts(b, stored, unsigned(zero.size()), address, isOn, zero);
        Lanes old =
            parts.size() == 2 ? Lanes{parts[0], parts[1]} : Lanes{b.decode(parts[0], element)};
        Lanes sum = b.apply(combiner, {old, kernel.tiles[update.getTile()][reg]}).front();
        SmallVector<Value, 2> next;
        if (sum.imag)
          next = {sum.value, sum.imag};
        else
          next = {b.encode(sum.value, element)};
        storeParts(b, next, address, isOn);
      });
}

} // namespace tilewright::gpu
