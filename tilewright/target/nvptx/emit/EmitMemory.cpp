// Moves tiles between memory and registers: uses vector accesses for contiguous registers with
// provably aligned addresses, and predicates for elements that may be out of bounds.
#include "tilewright/target/nvptx/emit/KernelEmitter.h"

#include "tilewright/support/Concat.h"

#include "llvm/IR/InlineAsm.h"

#include <numeric>

using namespace llvm;

namespace tilewright::nvptx {

/// The widest access. The runtime aligns allocations to at least this.
constexpr int64_t maxBytes = 16;

static SmallVector<int64_t> rowMajor(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * shape[dim];
  return strides;
}

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

static bool divides(int64_t count, int64_t number) { return number % count == 0; }

SmallVector<KernelEmitter::Chunk> KernelEmitter::chunksOf(const ThreadLayout &threads,
                                                          const StridedView &view,
                                                          ArrayRef<int64_t> shape) {
  // Group registers by the constant part of the address; copies of an element share an entry. An
  // out-of-bounds index may have the same address as another element, but needs its own predicate,
  // so it goes to `others`.
  std::map<int64_t, SmallVector<unsigned, 1>> byConstant;
  std::map<std::vector<int64_t>, std::pair<int64_t, SmallVector<unsigned, 1>>> others;
  auto indexOf = [&](unsigned reg) {
    std::vector<int64_t> index;
    for (size_t dim = 0; dim < shape.size(); ++dim)
      index.push_back(threads.constant(dim, reg));
    return index;
  };
  for (unsigned reg = 0; reg < threads.registers(); ++reg) {
    if (threads.isDead(reg, shape))
      continue;
    int64_t constant = 0;
    for (size_t dim = 0; dim < shape.size(); ++dim)
      constant += threads.constant(dim, reg) * view.strides[dim];
    SmallVector<unsigned, 1> &here = byConstant[constant];
    if (here.empty() || indexOf(here.front()) == indexOf(reg)) {
      here.push_back(reg);
    } else {
      auto &other = others[indexOf(reg)];
      other.first = constant;
      other.second.push_back(reg);
    }
  }
  // The largest known divisor of the variable part of the address.
  int64_t variable = view.divisor;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    variable = std::gcd(variable, threads.divisor[dim] * std::abs(view.strides[dim]));
  // Whether `count` elements from here are all in bounds or all out of bounds.
  auto isUniform = [&](std::map<int64_t, SmallVector<unsigned, 1>>::iterator first, int64_t count) {
    SmallVector<unsigned> registers;
    auto at = first;
    for (int64_t i = 0; i < count; ++i, ++at)
      registers.push_back(at->second.front());
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      const int64_t constant = threads.constant(dim, registers[0]);
      bool isEqual = true, isRun = divides(count, constant) && divides(count, threads.divisor[dim]);
      bool isAlive = true;
      for (int64_t i = 0; i < count; ++i) {
        const int64_t here = threads.constant(dim, registers[size_t(i)]);
        isEqual &= here == constant;
        isRun &= here == constant + i;
        isAlive &= here + threads.most[dim] < shape[dim];
      }
      if (isEqual)
        continue;
      if (!isAlive && !(isRun && divides(count, shape[dim])))
        return false;
      for (const StridedView::Check &check : view.checks)
        if (check.dim == dim && !(isRun && check.stride == 1 && divides(count, check.size) &&
                                  divides(count, check.divisor)))
          return false;
    }
    return true;
  };
  const int64_t bytes = lanes::storageBytes(view.elementType);
  SmallVector<Chunk> chunks;
  for (auto at = byConstant.begin(); at != byConstant.end();) {
    int64_t run = 1;
    for (auto next = std::next(at); next != byConstant.end() && next->first == at->first + run;
         ++next)
      ++run;
    // Element sizes that are not a power of two are never vectorized.
    int64_t count = isPowerOf2_64(uint64_t(bytes)) ? maxBytes / bytes : 1;
    while (count > 1 && !(count <= run && divides(count, variable) && divides(count, at->first) &&
                          isUniform(at, count)))
      count /= 2;
    Chunk chunk{{}, at->first};
    for (int64_t i = 0; i < std::max<int64_t>(count, 1); ++i, ++at)
      chunk.elements.push_back(at->second);
    chunks.push_back(std::move(chunk));
  }
  for (auto &[index, other] : others)
    chunks.push_back(Chunk{{other.second}, other.first});
  return chunks;
}

Value *KernelEmitter::isInside(const ThreadLayout &threads, const StridedView &view,
                               ArrayRef<int64_t> shape, unsigned reg) {
  IRBuilder<> &ir = b.ir;
  Value *all = nullptr;
  auto require = [&](Value *condition) { all = all ? ir.CreateAnd(all, condition) : condition; };
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    const int64_t constant = threads.constant(dim, reg);
    if (constant + threads.most[dim] >= shape[dim])
      require(ir.CreateICmpSLT(threads.base[dim], i32(shape[dim] - constant)));
  }
  for (const StridedView::Check &check : view.checks) {
    // 0 ≤ offset + (base + constant) * stride < size as one unsigned comparison. 32 bits suffice
    // for tensors below 2^31 bytes, because out-of-bounds offsets exceed the size only slightly.
    Type *word = view.isWide ? ir.getInt64Ty() : ir.getInt32Ty();
    auto number = [&](int64_t value) { return ConstantInt::get(word, uint64_t(value), true); };
    Value *index = nullptr;
    if (Value *base = threads.base[check.dim])
      index = ir.CreateMul(ir.CreateZExtOrTrunc(base, word), number(check.stride));
    if (check.offset) {
      Value *offset = ir.CreateTrunc(check.offset, word);
      index = index ? ir.CreateAdd(index, offset) : offset;
    }
    Value *constant = number(threads.constant(check.dim, reg) * check.stride);
    index = index ? ir.CreateAdd(index, constant) : constant;
    require(ir.CreateICmpULT(index, number(check.size)));
  }
  return all;
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

// --- Accesses ---

/// The words of an access: their number, type, and spelling in PTX and LLVM.
namespace {
struct Words {
  unsigned count;
  Type *type;
  std::string suffix, constraint;
};
} // namespace

static Words wordsOf(IRBuilder<> &ir, uint64_t bytes) {
  if (bytes == 1)
    return {1, ir.getInt16Ty(), ".b8", "h"};
  if (bytes == 2)
    return {1, ir.getInt16Ty(), ".b16", "h"};
  const unsigned count = unsigned(bytes / 4);
  return {count, ir.getInt32Ty(), count == 1 ? ".b32" : concat(".v", count, ".b32"), "r"};
}

static std::string_view spaceOf(Value *address) {
  return address->getType()->getPointerAddressSpace() == 3 ? ".shared" : ".global";
}

/// Converts values of the same type to words. fromWords() is the inverse.
static SmallVector<Value *> toWords(IRBuilder<> &ir, ArrayRef<Value *> parts, const Words &words) {
  Type *type = parts[0]->getType();
  if (type->isIntegerTy(8) && parts.size() == 1)
    return {ir.CreateZExt(parts[0], words.type)};
  Value *vector = parts[0];
  if (parts.size() > 1) {
    vector = PoisonValue::get(FixedVectorType::get(type, unsigned(parts.size())));
    for (auto [i, part] : enumerate(parts))
      vector = ir.CreateInsertElement(vector, part, uint64_t(i));
  }
  if (words.count == 1)
    return {ir.CreateBitCast(vector, words.type)};
  vector = ir.CreateBitCast(vector, FixedVectorType::get(words.type, words.count));
  SmallVector<Value *> result;
  for (unsigned i = 0; i < words.count; ++i)
    result.push_back(ir.CreateExtractElement(vector, uint64_t(i)));
  return result;
}

static SmallVector<Value *> fromWords(IRBuilder<> &ir, ArrayRef<Value *> words, Type *type,
                                      unsigned parts) {
  if (type->isIntegerTy(8) && parts == 1)
    return {ir.CreateTrunc(words[0], type)};
  Value *vector = words[0];
  if (words.size() > 1) {
    vector = PoisonValue::get(FixedVectorType::get(words[0]->getType(), unsigned(words.size())));
    for (auto [i, word] : enumerate(words))
      vector = ir.CreateInsertElement(vector, word, uint64_t(i));
  }
  if (parts == 1)
    return {ir.CreateBitCast(vector, type)};
  vector = ir.CreateBitCast(vector, FixedVectorType::get(type, parts));
  SmallVector<Value *> result;
  for (unsigned i = 0; i < parts; ++i)
    result.push_back(ir.CreateExtractElement(vector, uint64_t(i)));
  return result;
}

static std::string braced(unsigned count, unsigned first) {
  std::string list;
  for (unsigned i = 0; i < count; ++i)
    list += concat(i ? ", " : "", "$", first + i);
  return count == 1 ? list : concat("{", list, "}");
}

/// Splits an address into a register and an immediate offset.
static std::pair<Value *, std::string> splitAddress(IRBuilder<> &ir, Value *address) {
  int64_t constant = 0;
  if (auto *step = dyn_cast<GEPOperator>(address);
      step && step->getNumIndices() == 1 && step->getSourceElementType()->isIntegerTy(8))
    if (auto *number = dyn_cast<ConstantInt>(step->getOperand(1));
        number && isInt<31>(number->getSExtValue()) && isa<Instruction>(address)) {
      constant = number->getSExtValue();
      address = step->getPointerOperand();
    }
  return {ir.CreatePtrToInt(address, ir.getInt64Ty()), constant ? concat("+", constant) : ""};
}

SmallVector<Value *> KernelEmitter::load(Type *type, unsigned parts, Value *address, Value *isOn,
                                         ArrayRef<Value *> outside) {
  IRBuilder<> &ir = b.ir;
  const uint64_t bytes = type->getPrimitiveSizeInBits() / 8 * parts;
  if (!isOn) {
    Type *vector = parts == 1 ? type : FixedVectorType::get(type, parts);
    Value *raw = ir.CreateAlignedLoad(vector, address, Align(bytes));
    if (parts == 1)
      return {raw};
    SmallVector<Value *> result;
    for (unsigned i = 0; i < parts; ++i)
      result.push_back(ir.CreateExtractElement(raw, uint64_t(i)));
    return result;
  }
  // A predicated instruction needs neither a branch nor a valid dummy address.
  Words words = wordsOf(ir, bytes);
  std::string constraints;
  for (unsigned i = 0; i < words.count; ++i)
    constraints += concat("=", words.constraint, ",");
  constraints += "b,l";
  auto [base, constant] = splitAddress(ir, address);
  SmallVector<Value *> operands = {isOn, base};
  for (unsigned i = 0; i < words.count; ++i)
    constraints += concat(",", i);
  append_range(operands, toWords(ir, outside, words));
  SmallVector<Type *> types;
  for (Value *operand : operands)
    types.push_back(operand->getType());
  Type *result = words.count == 1 ? words.type
                                  : StructType::get(ir.getContext(),
                                                    SmallVector<Type *>(words.count, words.type));
  InlineAsm *code =
      InlineAsm::get(FunctionType::get(result, types, false),
                     concat("@$", words.count, " ld", spaceOf(address), words.suffix, " ",
                            braced(words.count, 0), ", [$", words.count + 1, constant, "];"),
                     constraints, /*hasSideEffects=*/true);
  Value *raw = ir.CreateCall(code, operands);
  SmallVector<Value *> got;
  for (unsigned i = 0; i < words.count; ++i)
    got.push_back(words.count == 1 ? raw : ir.CreateExtractValue(raw, i));
  return fromWords(ir, got, type, parts);
}

void KernelEmitter::store(ArrayRef<Value *> parts, Value *address, Value *isOn) {
  IRBuilder<> &ir = b.ir;
  Type *type = parts[0]->getType();
  const uint64_t bytes = type->getPrimitiveSizeInBits() / 8 * parts.size();
  if (!isOn) {
    Value *raw = parts[0];
    if (parts.size() > 1) {
      raw = PoisonValue::get(FixedVectorType::get(type, unsigned(parts.size())));
      for (auto [i, part] : enumerate(parts))
        raw = ir.CreateInsertElement(raw, part, uint64_t(i));
    }
    ir.CreateAlignedStore(raw, address, Align(bytes));
    return;
  }
  Words words = wordsOf(ir, bytes);
  auto [base, constant] = splitAddress(ir, address);
  SmallVector<Value *> operands = {isOn, base};
  append_range(operands, toWords(ir, parts, words));
  std::string constraints = "b,l";
  SmallVector<Type *> types;
  for (Value *operand : operands)
    types.push_back(operand->getType());
  for (unsigned i = 0; i < words.count; ++i)
    constraints += concat(",", words.constraint);
  InlineAsm *code = InlineAsm::get(FunctionType::get(ir.getVoidTy(), types, false),
                                   concat("@$0 st", spaceOf(address), words.suffix, " [$1",
                                          constant, "], ", braced(words.count, 2), ";"),
                                   constraints + ",~{memory}", /*hasSideEffects=*/true);
  ir.CreateCall(code, operands);
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
  Tile tile(threads.registers(), poison(type));
  for (const Chunk &chunk : chunksOf(threads, view, shape)) {
    const auto count = unsigned(chunk.elements.size());
    SmallVector<Value *> fills;
    for (unsigned i = 0; i < count; ++i)
      append_range(fills, fill);
    Value *isOn = isInside(threads, view, shape, chunk.elements[0][0]);
    SmallVector<Value *> parts =
        load(stored, count * each, addressOf(threads, view, chunk.constant), isOn, fills);
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
    Value *isOn = isInside(threads, view, shape, chunk.elements[0][0]);
    if (threads.isFirst)
      isOn = isOn ? b.ir.CreateAnd(isOn, threads.isFirst) : threads.isFirst;
    store(parts, addressOf(threads, view, chunk.constant), isOn);
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
    result.push_back(poison(element));
    if (threads.isDead(reg, type.getShape()))
      continue;
    Value *isOn = isInside(threads, nowhere, type.getShape(), reg);
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
    SmallVector<Value *> parts = load(stored, each, address, isOn, zero);
    result.back() = each == 2 ? Lanes{parts[0], parts[1]} : Lanes{b.decode(parts[0], element)};
  }
  tiles[gather.getResult()] = std::move(result);
}

} // namespace tilewright::nvptx
