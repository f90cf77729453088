// Moves tiles between memory and registers: uses vector accesses for contiguous registers with
// provably aligned addresses, and predicates for elements that may be out of bounds.
#include "tilewright/target/nvptx/emit/KernelEmitter.h"

#include "tilewright/target/nvptx/emit/MemoryAccess.h"

#include <numeric>

using namespace llvm;

namespace tilewright::nvptx {

StridedView KernelEmitter::viewOf(mlir::Value whole, mlir::ValueRange offsets,
                                  std::optional<ArrayRef<int64_t>> strides,
                                  std::optional<ArrayRef<bool>> inBounds) {
  auto type = cast<mlir::MemRefType>(whole.getType());
  ArrayRef<int64_t> shape = type.getShape();
  SmallVector<int64_t> steps = rowMajor(shape);
  StridedView view{
      .base = memory.lookup(whole), .elementType = type.getElementType(), .strides = {}};
  view.isWide = type.getNumElements() * lanes::storageBytes(type.getElementType()) > 0x7FFFFFFF;
  Type *word = view.isWide ? b.ir.getInt64Ty() : b.ir.getInt32Ty();
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    const int64_t stride = strides ? (*strides)[dim] : 1;
    view.strides.push_back(steps[dim] * stride);
    Value *offset = scalars.lookup(offsets[dim]).value;
    const int64_t divisor = sm::divisorOf(offsets[dim]);
    if (divisor != 0) {
      Value *part = b.ir.CreateMul(b.ir.CreateTrunc(offset, word),
                                   ConstantInt::get(word, uint64_t(steps[dim])));
      view.offset = view.offset ? b.ir.CreateAdd(view.offset, part) : part;
      view.divisor = std::gcd(view.divisor, divisor * steps[dim]);
    }
    if (inBounds && !(*inBounds)[dim])
      view.checks.push_back({dim, divisor == 0 ? nullptr : offset, divisor, stride, shape[dim]});
  }
  return view;
}

Value *KernelEmitter::addressOf(const ThreadLayout &threads, const StridedView &view,
                                int64_t constant) {
  IRBuilder<> &ir = b.ir;
  const int64_t bytes = lanes::storageBytes(view.elementType);
  Type *word = view.isWide ? ir.getInt64Ty() : ir.getInt32Ty();
  // Compute the part that depends only on the thread once for all accesses with the same strides.
  std::vector<int64_t> key(view.strides.begin(), view.strides.end());
  key.push_back(bytes * (view.isWide ? -1 : 1));
  auto [known, isNew] = threadOffsets.try_emplace({&threads, key}, nullptr);
  if (isNew)
    known->second = once([&]() -> Value * {
      Value *sum = nullptr;
      for (size_t dim = 0; dim < threads.base.size(); ++dim)
        if (Value *base = threads.base[dim]) {
          Value *part =
              ir.CreateMul(ir.CreateZExtOrTrunc(base, word),
                           ConstantInt::get(word, uint64_t(view.strides[dim] * bytes), true));
          sum = sum ? ir.CreateAdd(sum, part) : part;
        }
      return sum;
    });
  Value *offset = known->second;
  if (view.offset) {
    Value *uniform = ir.CreateMul(view.offset, ConstantInt::get(word, uint64_t(bytes)));
    offset = offset ? ir.CreateAdd(uniform, offset) : uniform;
  }
  Value *address = view.base;
  if (offset)
    address = ir.CreateGEP(ir.getInt8Ty(), address, ir.CreateSExt(offset, ir.getInt64Ty()));
  if (constant != 0)
    address = ir.CreateGEP(ir.getInt8Ty(), address, b.i64(constant * bytes));
  return address;
}

// --- Tiles ---

Tile KernelEmitter::loadTile(const ThreadLayout &threads, const StridedView &view,
                             ArrayRef<int64_t> shape, Lanes outside) {
  mlir::Type type = view.elementType;
  Type *stored = b.storageType(type);
  const unsigned each = b.isComplex(type) ? 2 : 1;
  SmallVector<Value *, 2> fill;
  if (outside.value) {
    fill.push_back(each == 2 ? outside.value : b.encode(outside.value, type));
    if (each == 2)
      fill.push_back(outside.imag);
  } else {
    fill.assign(each, Constant::getNullValue(stored));
  }
  Tile tile(threads.registers(), b.poison(type));
  for (const Chunk &chunk : chunksOf(threads, view, shape)) {
    const auto count = unsigned(chunk.elements.size());
    SmallVector<Value *> fills;
    for (unsigned i = 0; i < count; ++i)
      append_range(fills, fill);
    Value *isOn = isInside(b, threads, view, shape, chunk.elements[0][0]);
    SmallVector<Value *> parts = loadParts(b.ir, stored, count * each,
                                           addressOf(threads, view, chunk.constant), isOn, fills);
    for (unsigned i = 0; i < count; ++i) {
      Lanes value = each == 2 ? Lanes{parts[2 * i], parts[2 * i + 1]}
                              : Lanes{b.decode(parts[i], type), nullptr};
      for (unsigned reg : chunk.elements[i])
        tile[reg] = value;
    }
  }
  return tile;
}

void KernelEmitter::storeTile(const Tile &tile, const ThreadLayout &threads,
                              const StridedView &view, ArrayRef<int64_t> shape) {
  mlir::Type type = view.elementType;
  for (const Chunk &chunk : chunksOf(threads, view, shape)) {
    SmallVector<Value *> parts;
    for (const auto &registers : chunk.elements) {
      Lanes value = tile[registers[0]];
      if (value.imag)
        parts.append({value.value, value.imag});
      else
        parts.push_back(b.encode(value.value, type));
    }
    Value *isOn = isInside(b, threads, view, shape, chunk.elements[0][0]);
    if (threads.isFirst)
      isOn = isOn ? b.ir.CreateAnd(isOn, threads.isFirst) : threads.isFirst;
    storeParts(b.ir, parts, addressOf(threads, view, chunk.constant), isOn);
  }
}

void KernelEmitter::emitLoad(tile::LoadOp load) {
  auto type = cast<mlir::RankedTensorType>(load.getType());
  StridedView view =
      viewOf(load.getSource(), load.getOffsets(), load.getStrides(), load.getInBounds());
  Lanes outside = load.getPadding() ? scalars.lookup(load.getPadding()) : Lanes{};
  tiles[load.getResult()] = loadTile(threadsOf(type), view, type.getShape(), outside);
}

void KernelEmitter::emitStore(tile::StoreOp store) {
  auto type = cast<mlir::RankedTensorType>(store.getTile().getType());
  StridedView view =
      viewOf(store.getTarget(), store.getOffsets(), store.getStrides(), store.getInBounds());
  storeTile(tiles[store.getTile()], threadsOf(type), view, type.getShape());
}

void KernelEmitter::emitGather(tile::GatherOp gather) {
  IRBuilder<> &ir = b.ir;
  auto type = cast<mlir::RankedTensorType>(gather.getType());
  auto whole = cast<mlir::MemRefType>(gather.getSource().getType());
  const ThreadLayout &threads = threadsOf(type);
  const SmallVector<int64_t> strides = rowMajor(whole.getShape());
  mlir::Type element = whole.getElementType();
  Type *stored = b.storageType(element);
  const unsigned each = b.isComplex(element) ? 2 : 1;
  const int64_t bytes = lanes::storageBytes(element);
  StridedView nowhere{};
  Tile result;
  std::map<std::vector<Value *>, unsigned> known; // rows that several registers share
  for (unsigned reg = 0; reg < threads.registers(); ++reg) {
    result.push_back(b.poison(element));
    if (threads.isDead(reg, type.getShape()))
      continue;
    Value *isOn = isInside(b, threads, nowhere, type.getShape(), reg);
    std::vector<Value *> key = {isOn};
    Value *offset = b.i64(0);
    for (auto [indices, stride] : zip_equal(gather.getIndices(), strides)) {
      key.push_back(tiles[indices][reg].value);
      offset = ir.CreateAdd(offset, ir.CreateMul(key.back(), b.i64(stride * bytes)));
    }
    auto [found, isNew] = known.try_emplace(key, reg);
    if (!isNew) {
      result.back() = result[found->second];
      continue;
    }
    Value *address = ir.CreateGEP(ir.getInt8Ty(), memory.lookup(gather.getSource()), offset);
    SmallVector<Value *, 2> zero(each, Constant::getNullValue(stored));
    SmallVector<Value *> parts = loadParts(b.ir, stored, each, address, isOn, zero);
    result.back() = each == 2 ? Lanes{parts[0], parts[1]} : Lanes{b.decode(parts[0], element)};
  }
  tiles[gather.getResult()] = std::move(result);
}

} // namespace tilewright::nvptx
