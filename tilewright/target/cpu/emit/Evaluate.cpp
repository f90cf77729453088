// Evaluates elements of tiles at an index.
#include "tilewright/target/cpu/emit/LoopEmitter.h"
#include "tilewright/target/lanes/RegionEmitter.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace llvm;

namespace tilewright::cpu {

void LoopEmitter::remember(Key key, Element element) {
  memo[key] = element;
  memoKeys[element.level].push_back(key);
}

void LoopEmitter::forget(unsigned level) {
  for (size_t i = level; i < memoKeys.size(); ++i) {
    for (Key key : memoKeys[i])
      memo.erase(key);
    memoKeys[i].clear();
  }
}

Lanes LoopEmitter::widened(Element element) {
  if (element.isVector || vectorLanes == 1)
    return element.lanes;
  at(element.level);
  return b.splat(element.lanes, vectorLanes);
}

LoopEmitter::Element LoopEmitter::evaluate(mlir::Value tile, mlir::AffineMap map, bool ignoreHome) {
  Key key{tile, map};
  if (auto found = memo.find(key); found != memo.end())
    return found->second;
  Element element;
  auto home = kernel.homes.find(tile);
  mlir::Operation *op = tile.getDefiningOp();
  if (home != kernel.homes.end() && !ignoreHome) {
    if (!home->second.buffer)
      return {home->second.element, 0, false};
    element = evaluateLoad(home->second.buffer, bufferAccess(tile, map), {});
  } else if (auto load = dyn_cast_or_null<tile::LoadOp>(op)) {
    element =
        evaluateLoad(kernel.pointerTo(load.getSource()), loadAccess(load, map), load.getPadding());
  } else if (auto view = dyn_cast_or_null<tile::ViewOp>(op)) {
    element = evaluate(view.getSource(), simplifyMap(view.getMap().compose(map), sizes));
  } else if (auto mapOp = dyn_cast_or_null<tile::MapOp>(op)) {
    return evaluateMap(mapOp, tile, map);
  } else if (auto gather = dyn_cast_or_null<tile::GatherOp>(op)) {
    element = evaluateGather(gather, map);
  } else if (auto iota = dyn_cast_or_null<tile::IotaOp>(op)) {
    element = evaluateIota(iota, map);
  } else {
    std::string text;
    raw_string_ostream stream(text);
    if (op)
      stream << "'" << op->getName() << "' at " << op->getLoc();
    else
      stream << "a block argument of tensor type";
    b.fail(Status(
        Error::cpuTileOp,
        text + " cannot be read as a tile; the CPU target supports tile ops, scf.for and scf.if"));
    element.lanes.value =
        PoisonValue::get(b.computeType(mlir::getElementTypeOrSelf(tile.getType())));
  }
  remember(key, element);
  return element;
}

LoopEmitter::Element LoopEmitter::evaluateMap(tile::MapOp op, mlir::Value result,
                                              mlir::AffineMap map) {
  SmallVector<Element> operands;
  unsigned level = 0;
  bool isVector = false;
  for (mlir::Value input : op.getInputs()) {
    operands.push_back(evaluate(input, map));
    level = std::max(level, operands.back().level);
    isVector |= operands.back().isVector;
  }
  SmallVector<Lanes> arguments;
  for (Element operand : operands)
    arguments.push_back(isVector ? widened(operand) : operand.lanes);
  at(level);
  SmallVector<Lanes, 2> results =
      lanes::emitBlock(b, op.getBody().front(), arguments, isVector ? vectorLanes : 1);
  Element wanted;
  for (auto [value, lanes] : zip_equal(op.getResults(), results)) {
    Element element{lanes, level, isVector};
    remember({value, map}, element);
    if (value == result)
      wanted = element;
  }
  return wanted;
}

LoopEmitter::Element LoopEmitter::evaluateGather(tile::GatherOp op, mlir::AffineMap map) {
  auto source = cast<mlir::MemRefType>(op.getSource().getType());
  unsigned level = 0;
  bool isVector = false;
  SmallVector<Element> indices;
  for (mlir::Value index : op.getIndices()) {
    indices.push_back(evaluate(index, map));
    level = std::max(level, indices.back().level);
    isVector |= indices.back().isVector;
  }
  // If only the last index varies between lanes, and its values are consecutive, the elements are
  // consecutive in memory.
  const bool isContiguous = isVector && indices.back().first &&
                            llvm::none_of(ArrayRef(indices).drop_back(),
                                          [](const Element &index) { return index.isVector; });
  SmallVector<Value *> parts;
  for (Element index : indices)
    parts.push_back(isContiguous ? index.first ? index.first : index.lanes.value
                                 : (isVector ? widened(index) : index.lanes).value);
  at(level);
  Value *address = nullptr;
  for (auto [part, size] : zip_equal(parts, source.getShape()))
    address =
        address ? b.ir.CreateAdd(b.ir.CreateMul(address, b.integer(address, size)), part) : part;
  if (!address)
    address = b.i64(0);
  Value *pointer = kernel.pointerTo(op.getSource());
  if (isContiguous)
    return {b.load(source.getElementType(), pointer, address, vectorLanes, laneMask), level, true};
  if (isVector)
    return {b.gather(source.getElementType(), pointer, address, laneMask), level, true};
  return {b.load(source.getElementType(), pointer, address, 1, nullptr), level, false};
}

LoopEmitter::Element LoopEmitter::evaluateIota(tile::IotaOp op, mlir::AffineMap map) {
  IndexForm form(sizes.size());
  form.add(IndexForm::of(map.getResult(op.getDim()), sizes), op.getStride(), sizes);
  LaneIndex position = emitIndex(form);
  mlir::Type type = mlir::getElementTypeOrSelf(op.getType());
  Type *compute = b.computeType(type);
  Value *offset = kernel.scalars.lookup(op.getOffset()).value;
  at(position.level);
  if (position.isGather) {
    Value *sum = b.ir.CreateAdd(position.index, b.splat(offset, vectorLanes));
    return {{b.ir.CreateSExtOrTrunc(sum, b.vectorOf(compute, vectorLanes))}, position.level, true};
  }
  Value *first = b.ir.CreateSExtOrTrunc(b.ir.CreateAdd(position.index, offset), compute);
  if (!position.stride)
    return {{first}, position.level, false};
  SmallVector<Constant *> steps;
  for (unsigned lane = 0; lane < vectorLanes; ++lane)
    steps.push_back(
        ConstantInt::get(compute, uint64_t(position.stride * int64_t(lane)), true, true));
  Value *wide = b.splat(first, vectorLanes);
  return {{b.ir.CreateAdd(wide, ConstantVector::get(steps))},
          position.level,
          true,
          position.stride == 1 ? first : nullptr};
}

/// Emits an affine expression of the loops, for the first lane or for all lanes.
Value *LoopEmitter::emitExpr(mlir::AffineExpr expr, bool asVector) {
  unsigned lanes = asVector ? vectorLanes : 1;
  Type *type = b.vectorOf(b.ir.getInt64Ty(), lanes);
  if (auto constant = dyn_cast<mlir::AffineConstantExpr>(expr))
    return ConstantInt::get(type, uint64_t(constant.getValue()), true);
  if (auto dim = dyn_cast<mlir::AffineDimExpr>(expr)) {
    for (Loop &loop : loops) {
      if (loop.dim != dim.getPosition())
        continue;
      Value *iv = b.splat(loop.iv, lanes);
      return loop.isVector && asVector ? b.ir.CreateAdd(iv, b.laneNumbers(lanes)) : iv;
    }
    return ConstantInt::get(type, 0);
  }
  auto binary = cast<mlir::AffineBinaryOpExpr>(expr);
  // A vector of joined dimensions begins with the first element of the inner one.
  if (asVector && joined && lanes % shortSize == 0 &&
      expr == mlir::getAffineDimExpr(*joined, expr.getContext()) % shortSize) {
    SmallVector<uint64_t> elements;
    for (unsigned lane = 0; lane < lanes; ++lane)
      elements.push_back(lane % shortSize);
    return ConstantDataVector::get(b.ir.getContext(), elements);
  }
  Value *left = emitExpr(binary.getLHS(), asVector), *right = emitExpr(binary.getRHS(), asVector);
  switch (expr.getKind()) {
  case mlir::AffineExprKind::Add:
    return b.ir.CreateAdd(left, right);
  case mlir::AffineExprKind::Mul:
    return b.ir.CreateMul(left, right);
  default:
    break;
  }
  // If the dividend is not negative and fits in 32 bits, divide in 32 bits, where a division by a
  // constant becomes a vector multiplication.
  bool isDivision = expr.getKind() == mlir::AffineExprKind::FloorDiv;
  auto [low, high] = IndexForm::of(binary.getLHS(), sizes).range(sizes);
  if (low >= 0 && high < (int64_t(1) << 31)) {
    Type *narrow = b.vectorOf(b.ir.getInt32Ty(), lanes);
    Value *x = b.ir.CreateTrunc(left, narrow), *y = b.ir.CreateTrunc(right, narrow);
    return b.ir.CreateZExt(isDivision ? b.ir.CreateUDiv(x, y) : b.ir.CreateURem(x, y), type);
  }
  Value *remainder = b.ir.CreateSRem(left, right);
  Value *isBelow = b.ir.CreateICmpSLT(remainder, Constant::getNullValue(type));
  remainder = b.ir.CreateSelect(isBelow, b.ir.CreateAdd(remainder, right), remainder);
  return isDivision ? b.ir.CreateSDiv(b.ir.CreateSub(left, remainder), right) : remainder;
}

LoopEmitter::LaneIndex LoopEmitter::emitIndex(const IndexForm &form) {
  LaneIndex position;
  position.index = b.i64(form.constant);
  for (unsigned i = 0; i < loops.size(); ++i) {
    int64_t coefficient = form.coefficients[loops[i].dim];
    if (!coefficient)
      continue;
    position.level = i + 1;
    at(position.level);
    // Each partial sum is emitted at the level of its last loop, so nothing is left to hoist.
    Value *step = coefficient == 1
                      ? loops[i].iv
                      : b.ir.CreateMul(loops[i].iv, b.i64(coefficient), "", true, true);
    auto *zero = dyn_cast<ConstantInt>(position.index);
    position.index = zero && zero->isZero() ? step : b.ir.CreateAdd(position.index, step);
    if (loops[i].isVector)
      position.stride = coefficient;
  }
  for (auto [expr, factor] : form.rest) {
    bool asVector = false;
    unsigned level = 0;
    for (unsigned i = 0; i < loops.size(); ++i) {
      if (expr.isFunctionOfDim(loops[i].dim)) {
        level = i + 1;
        asVector |= loops[i].isVector;
      }
    }
    position.level = std::max(position.level, level);
    if (asVector && !position.isGather) {
      at(position.level);
      Value *lanes = b.splat(position.index, vectorLanes);
      if (position.stride)
        lanes = b.ir.CreateAdd(lanes, b.ir.CreateMul(b.laneNumbers(vectorLanes),
                                                     b.splat(b.i64(position.stride), vectorLanes)));
      position.index = lanes;
      position.isGather = true;
    }
    at(position.level);
    Value *term = emitExpr(expr, position.isGather);
    position.index = b.ir.CreateAdd(position.index, b.ir.CreateMul(term, b.integer(term, factor)));
  }
  return position;
}

/// For each lane, whether all checks hold; empty if there is nothing to check.
LoopEmitter::Element LoopEmitter::maskOf(ArrayRef<Check> checks) {
  Element mask;
  for (const Check &check : checks) {
    if (isImplied(check))
      continue;
    IndexForm form(sizes.size());
    form.add(check.form, check.stride, sizes);
    LaneIndex position = emitIndex(form);
    Value *offset = kernel.scalars.lookup(check.offset).value;
    unsigned level = std::max(position.level, mask.level);
    at(level);
    bool isVector = position.isGather || position.stride;
    Value *index = position.index;
    if (isVector && !position.isGather)
      index = b.ir.CreateAdd(
          b.splat(index, vectorLanes),
          b.ir.CreateMul(b.laneNumbers(vectorLanes), b.splat(b.i64(position.stride), vectorLanes)));
    index = b.ir.CreateAdd(index, isVector ? b.splat(offset, vectorLanes) : offset);
    // As an unsigned number, a negative index exceeds the size.
    Value *inside = b.ir.CreateICmpULT(index, b.integer(index, check.size));
    if (!mask.lanes.value) {
      mask = {{inside}, level, isVector};
      continue;
    }
    Value *before = mask.lanes.value;
    if (isVector != mask.isVector)
      (isVector ? before : inside) = b.splat(isVector ? before : inside, vectorLanes);
    mask = {{b.ir.CreateAnd(before, inside)}, level, isVector || mask.isVector};
  }
  return mask;
}

/// Whether all lanes are loaded, and each element for `shortSize` adjacent ones.
bool LoopEmitter::isRepeated(const Access &access) {
  if (!joined || laneMask || vectorLanes % shortSize || !access.checks.empty() ||
      access.form.rest.size() != 1 || access.form.coefficients[*joined] != 0)
    return false;
  auto [expr, factor] = access.form.rest.front();
  return factor == 1 &&
         expr == mlir::getAffineDimExpr(*joined, expr.getContext()).floorDiv(shortSize) &&
         llvm::any_of(loops, [&](const Loop &loop) { return loop.dim == joined && loop.isVector; });
}

LoopEmitter::Element LoopEmitter::evaluateRepeatedLoad(Value *pointer, const Access &access) {
  IndexForm first = access.form;
  first.rest.clear();
  LaneIndex position = emitIndex(first);
  Value *index = position.index;
  at(0);
  for (auto [value, stride] : access.offsets) {
    Value *offset = b.ir.CreateMul(kernel.scalars.lookup(value).value, b.i64(stride));
    at(position.level);
    index = b.ir.CreateAdd(index, offset);
    at(0);
  }
  unsigned level = position.level;
  for (unsigned i = 0; i < loops.size(); ++i)
    if (loops[i].dim == joined) {
      level = std::max(level, i + 1);
      at(level);
      index = b.ir.CreateAdd(index, b.ir.CreateUDiv(loops[i].iv, b.i64(shortSize)));
    }
  const unsigned count = vectorLanes / shortSize;
  Lanes lanes = b.load(access.type, pointer, index, count, nullptr);
  if (count == 1)
    return {b.splat(lanes, vectorLanes), level, true};
  SmallVector<int> repeated;
  for (unsigned lane = 0; lane < vectorLanes; ++lane)
    repeated.push_back(int(lane / shortSize));
  lanes.value = b.ir.CreateShuffleVector(lanes.value, repeated);
  if (lanes.imag)
    lanes.imag = b.ir.CreateShuffleVector(lanes.imag, repeated);
  return {lanes, level, true};
}

LoopEmitter::Element LoopEmitter::evaluateLoad(Value *pointer, const Access &access,
                                               mlir::Value padding) {
  if (isRepeated(access))
    return evaluateRepeatedLoad(pointer, access);
  LaneIndex position = emitIndex(access.form);
  Element inside = maskOf(access.checks);
  Value *offset = nullptr;
  if (!access.offsets.empty()) {
    at(0);
    for (auto [value, stride] : access.offsets) {
      Value *part = b.ir.CreateMul(kernel.scalars.lookup(value).value, b.i64(stride));
      offset = offset ? b.ir.CreateAdd(offset, part) : part;
    }
  }
  bool isVector = position.isGather || position.stride || inside.isVector;
  unsigned level = std::max(position.level, inside.level);
  at(level);
  Value *index = position.index;
  if (offset)
    index = b.ir.CreateAdd(index, position.isGather ? b.splat(offset, vectorLanes) : offset);
  Value *mask = inside.lanes.value;
  if (isVector) {
    if (mask && !inside.isVector)
      mask = b.splat(mask, vectorLanes);
    if (laneMask)
      mask = mask ? b.ir.CreateAnd(mask, laneMask) : laneMask;
  }
  Lanes lanes;
  if (!isVector) {
    lanes = b.load(access.type, pointer, index, 1, mask);
  } else if (!position.isGather && position.stride == 1) {
    lanes = b.load(access.type, pointer, index, vectorLanes, mask);
  } else if (!position.isGather && position.stride == -1 && !mask) {
    lanes = b.load(access.type, pointer, b.ir.CreateSub(index, b.i64(int64_t(vectorLanes) - 1)),
                   vectorLanes, nullptr);
    lanes.value = b.ir.CreateVectorReverse(lanes.value);
    if (lanes.imag)
      lanes.imag = b.ir.CreateVectorReverse(lanes.imag);
  } else if (!position.isGather) {
    lanes = b.loadStrided(access.type, pointer, index, position.stride, vectorLanes, mask);
  } else {
    lanes = b.gather(access.type, pointer, index, mask);
  }
  if (inside.lanes.value && padding) {
    Lanes outside = kernel.scalars.lookup(padding);
    lanes = b.select(mask, lanes, isVector ? b.splat(outside, vectorLanes) : outside);
  }
  return {lanes, level, isVector};
}

bool LoopEmitter::isAligned(const Access &access) {
  // The processor combines two stores of half a line; smaller stores are not worth it.
  constexpr int64_t line = 64, least = 32;
  const int64_t element = lanes::storageBytes(access.type);
  if (b.isComplex(access.type) || element * vectorLanes < least || line % element)
    return false;
  const int64_t elements = std::min<int64_t>(line / element, vectorLanes);
  bool isAligned = access.form.constant % elements == 0;
  for (const Loop &loop : loops)
    isAligned &= loop.isVector || access.form.coefficients[loop.dim] % elements == 0;
  for (auto [expr, factor] : access.form.rest)
    isAligned &= factor % elements == 0;
  for (auto [offset, stride] : access.offsets) {
    int64_t divisor = 1; // that the offset is known to have
    if (auto constant = offset.getDefiningOp<mlir::arith::ConstantIndexOp>())
      divisor = constant.value() ? std::abs(constant.value()) : elements;
    else if (auto apply = offset.getDefiningOp<mlir::affine::AffineApplyOp>())
      divisor = apply.getAffineMap().getResult(0).getLargestKnownDivisor();
    isAligned &= divisor * stride % elements == 0;
  }
  return isAligned;
}

void LoopEmitter::storeTo(Value *pointer, const Access &access, Lanes value, bool isStreamed) {
  LaneIndex position = emitIndex(access.form);
  Element inside = maskOf(access.checks);
  at(0);
  Value *offset = nullptr;
  for (auto [index, stride] : access.offsets) {
    Value *part = b.ir.CreateMul(kernel.scalars.lookup(index).value, b.i64(stride));
    offset = offset ? b.ir.CreateAdd(offset, part) : part;
  }
  at(currentLevel);
  unsigned lanes = b.lanesOf(value.value);
  Value *index = position.index;
  if (offset)
    index = b.ir.CreateAdd(index, position.isGather ? b.splat(offset, lanes) : offset);
  Value *mask = inside.lanes.value;
  if (lanes > 1) {
    if (mask && !inside.isVector)
      mask = b.splat(mask, lanes);
    if (laneMask)
      mask = mask ? b.ir.CreateAnd(mask, laneMask) : laneMask;
  }
  if (lanes == 1 || (!position.isGather && position.stride == 1)) {
    const bool streams = isStreamed && lanes == vectorLanes && !mask && isAligned(access);
    kernel.hasStreamed |= streams;
    b.store(value, access.type, pointer, index, mask, streams);
    return;
  }
  if (!position.isGather)
    index = b.ir.CreateAdd(
        b.splat(index, lanes),
        b.ir.CreateMul(b.laneNumbers(lanes), b.splat(b.i64(position.stride), lanes)));
  b.scatter(value, access.type, pointer, index, mask);
}

} // namespace tilewright::cpu
