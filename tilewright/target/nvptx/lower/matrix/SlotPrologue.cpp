#include "tilewright/target/nvptx/lower/matrix/SlotPrologue.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace llvm;

namespace tilewright::nvptx {

namespace arith = mlir::arith;

// --- One element ---

Lanes RegisterOperandLowering::Prologue::emitView(tile::ViewOp view, unsigned reg) {
  const int64_t source = group.viewRegisters[view][reg];
  return source < 0 ? group.b.poison(view.getType().getElementType())
                    : emit(view.getSource(), unsigned(source));
}

Lanes RegisterOperandLowering::Prologue::emitMap(tile::MapOp map, Value value, unsigned reg) {
  SmallVector<Lanes> operands;
  for (Value input : map.getInputs())
    operands.push_back(emit(input, reg));
  Lanes result;
  SmallVector<Lanes> results(group.b.apply(map.getBody().front(), operands));
  for (auto [made, lane] : zip_equal(map.getResults(), results)) {
    known[{made.getAsOpaquePointer(), reg}] = lane;
    if (made == value)
      result = lane;
  }
  return result;
}

Lanes RegisterOperandLowering::Prologue::emit(Value value, unsigned reg) {
  if (group.rawTiles.contains(value))
    return decodeRaw(group.b, raw, reg, mlir::getElementTypeOrSelf(value), known);
  mlir::Operation *op = value.getDefiningOp();
  if (!op || !group.deferred.contains(op))
    return group.kernel.tiles[value][reg];
  auto [found, isNew] = known.try_emplace({value.getAsOpaquePointer(), reg});
  if (!isNew)
    return found->second;
  auto view = dyn_cast<tile::ViewOp>(op);
  Lanes result = view ? emitView(view, reg) : emitMap(cast<tile::MapOp>(op), value, reg);
  known[{value.getAsOpaquePointer(), reg}] = result;
  return result;
}

// --- Two elements of bf16 ---

/// Whether bf16 has all values of a type.
static bool isInBf16(Type type) {
  auto real = dyn_cast<mlir::FloatType>(type);
  return real && (real.isBF16() || real.getWidth() <= 8);
}

/// The product, rounded to bf16. f32 has the product of two bf16 exactly, so that this is also what
/// is left of a product in f32.
static Value product(ThreadBuilder &b, Value left, Value right) {
  return left && right ? b.make<mlir::LLVM::FMulOp>(left, right).getResult() : Value();
}

Value RegisterOperandLowering::Prologue::pairOfMap(tile::MapOp map, Value value, Two registers) {
  const Block &body = map.getBody().front();
  std::map<const void *, Value> made;
  auto evaluate = [&](auto &self, Value inside) -> Value {
    auto [found, isNew] = made.try_emplace(inside.getAsOpaquePointer());
    if (!isNew)
      return found->second;
    Value pair;
    if (auto argument = dyn_cast<mlir::BlockArgument>(inside)) {
      if (argument.getOwner() == &body)
        pair = emitPair(map.getInputs()[argument.getArgNumber()], registers);
    } else if (auto wide = inside.getDefiningOp<arith::ExtFOp>()) {
      pair = self(self, wide.getIn());
    } else if (auto narrow = inside.getDefiningOp<arith::TruncFOp>()) {
      auto multiply = narrow.getIn().getDefiningOp<arith::MulFOp>();
      if (narrow.getType().isBF16() && multiply)
        pair = product(group.b, self(self, multiply.getLhs()), self(self, multiply.getRhs()));
      else if (narrow.getType().isBF16())
        pair = self(self, narrow.getIn());
    } else if (auto multiply = inside.getDefiningOp<arith::MulFOp>();
               multiply && inside.getType().isBF16()) {
      pair = product(group.b, self(self, multiply.getLhs()), self(self, multiply.getRhs()));
    }
    return made[inside.getAsOpaquePointer()] = pair;
  };
  const unsigned number = cast<mlir::OpResult>(value).getResultNumber();
  return evaluate(evaluate, map.getBody().front().getTerminator()->getOperand(number));
}

Value RegisterOperandLowering::Prologue::pairOfBytes(Value tile, Two registers) {
  Type type = mlir::getElementTypeOrSelf(tile);
  if (!isa<mlir::Float8E4M3FNType, mlir::Float8E5M2Type>(type))
    return {};
  ThreadBuilder &b = group.b;
  const RawTile::BitPosition first = raw.positions[registers.first],
                             second = raw.positions[registers.second];
  Value bytes;
  if (first.word == second.word && second.bit == first.bit + 8) {
    bytes = b.lshr(raw.words[first.word], b.i32(first.bit));
  } else {
    // Selects a byte of each word.
    const int64_t select = first.bit / 8 | (4 + second.bit / 8) << 4;
    bytes = b.intrinsic(b.i32Type, "llvm.nvvm.prmt",
                        {raw.words[first.word], raw.words[second.word], b.i32(select)});
  }
  Value both = b.make<NVVM::ConvertF8x2ToF16x2Op>(
      b.vectorOf(b.f16Type, 2), b.bitcast(b.trunc(bytes, b.i16Type), b.vectorOf(b.i8Type, 2)),
      /*relu=*/false, type);
  auto element = [&](unsigned at) { return b.fpext(b.extractElement(both, at), b.f32Type); };
  Value word = packWord(b, {Lanes{element(0)}, Lanes{element(1)}}, b.bf16Type);
  return b.bitcast(word, b.vectorOf(b.bf16Type, 2));
}

/// The bytes that a map takes elements of f4E2M1FN from, and the tile of their places; null if the
/// map does something else. tile-unpack-loads makes such maps.
static std::pair<Value, tile::IotaOp> unpackedBytes(tile::MapOp map) {
  Block &body = map.getBody().front();
  auto cast = body.getTerminator()->getOperand(0).getDefiningOp<arith::BitcastOp>();
  if (map.getNumResults() != 1 || map.getInputs().size() != 2 || !cast ||
      !isa<mlir::Float4E2M1FNType>(cast.getType()))
    return {};
  auto low = cast.getIn().getDefiningOp<arith::TruncIOp>();
  auto shifted = low ? low.getIn().getDefiningOp<arith::ShRUIOp>() : arith::ShRUIOp();
  auto wide = shifted ? shifted.getLhs().getDefiningOp<arith::ExtUIOp>() : arith::ExtUIOp();
  auto shift = shifted ? shifted.getRhs().getDefiningOp<arith::MulIOp>() : arith::MulIOp();
  auto place = shift ? shift.getLhs().getDefiningOp<arith::AndIOp>() : arith::AndIOp();
  APInt bits;
  if (!wide || !place || wide.getIn() != body.getArgument(1) ||
      place.getLhs() != body.getArgument(0) || !matchPattern(place.getRhs(), mlir::m_One()) ||
      !matchPattern(shift.getRhs(), mlir::m_ConstantInt(&bits)) || bits != 4)
    return {};
  auto places = map.getInputs()[0].getDefiningOp<tile::IotaOp>();
  return places ? std::pair(Value(map.getInputs()[1]), places) : std::pair<Value, tile::IotaOp>();
}

Value RegisterOperandLowering::Prologue::pairOfNibbles(tile::MapOp map, Two registers) {
  auto [bytes, places] = unpackedBytes(map);
  if (!bytes || !matchPattern(places.getOffset(), mlir::m_Zero()))
    return {};
  ThreadBuilder &b = group.b;
  // All threads must have the element of a register in the same half of its byte.
  const ThreadLayout &layout = group.kernel.threadsOf(map.getResult(0).getType());
  const auto dim = size_t(places.getDim());
  if (any_of(layout.forms[dim].terms,
             [](const sm::IndexTerm &term) { return term.weight % 2 != 0; }))
    return {};
  auto positionOf = [&](unsigned reg) -> std::optional<RawTile::BitPosition> {
    const std::optional<unsigned> from = group.rawRegister(bytes, reg);
    if (!from)
      return std::nullopt;
    const RawTile::BitPosition at = raw.positions[*from];
    return RawTile::BitPosition{at.word, at.bit + unsigned(layout.constant(dim, reg) % 2) * 4};
  };
  const auto first = positionOf(registers.first), second = positionOf(registers.second);
  if (!first || !second)
    return {};
  // Two elements whose bits are 16 apart are moved together: the sign, and the bits of exponent and
  // mantissa to the lowest bits of the exponent and the highest one of the mantissa. One product
  // with 2^12 + 2^6 shifts a nibble to both places, where its copies do not overlap.
  auto move = [&](Value word, unsigned bit, int64_t halves) {
    if (bit >= 8)
      word = b.lshr(word, b.i32(bit / 8 * 8));
    Value nibbles = b.bitAnd(word, b.i32((0xf << bit % 8) * halves));
    return b.bitAnd(b.mul(nibbles, b.i32(0x1040 >> bit % 8)), b.i32(0x81c0 * halves));
  };
  Value bits;
  if (first->word == second->word && second->bit == first->bit + 16)
    bits = move(raw.words[first->word], first->bit, 0x10001);
  else
    bits = b.bitOr(move(raw.words[first->word], first->bit, 1),
                   b.shl(move(raw.words[second->word], second->bit, 1), b.i32(16)));
  // The exponent of bf16 is 126 less than that, also of subnormal numbers.
  Value scale = b.bitcast(b.i32(0x7e807e80), b.vectorOf(b.bf16Type, 2));
  return product(b, b.bitcast(bits, b.vectorOf(b.bf16Type, 2)), scale);
}

Value RegisterOperandLowering::Prologue::makePair(Value value, Two registers) {
  if (!isInBf16(mlir::getElementTypeOrSelf(value)))
    return {};
  if (group.rawTiles.contains(value))
    return pairOfBytes(value, registers);
  ThreadBuilder &b = group.b;
  mlir::Operation *op = value.getDefiningOp();
  if (!op || !group.deferred.contains(op)) {
    const Tile &tile = group.kernel.tiles[value];
    Value word = packWord(b, {tile[registers.first], tile[registers.second]}, b.bf16Type);
    return b.bitcast(word, b.vectorOf(b.bf16Type, 2));
  }
  if (auto view = dyn_cast<tile::ViewOp>(op)) {
    const SmallVector<int64_t> &sources = group.viewRegisters[op];
    const int64_t first = sources[registers.first], second = sources[registers.second];
    return first < 0 || second < 0
               ? Value()
               : emitPair(view.getSource(), {unsigned(first), unsigned(second)});
  }
  auto map = cast<tile::MapOp>(op);
  if (Value pair = pairOfNibbles(map, registers))
    return pair;
  return pairOfMap(map, value, registers);
}

Value RegisterOperandLowering::Prologue::emitPair(Value value, Two registers) {
  const std::tuple key(value.getAsOpaquePointer(), registers.first, registers.second);
  if (auto found = pairs.find(key); found != pairs.end())
    return found->second;
  return pairs[key] = makePair(value, registers);
}

Value RegisterOperandLowering::Prologue::emitWord(Value tile, ArrayRef<unsigned> registers) {
  Type type = mlir::getElementTypeOrSelf(tile);
  mlir::Operation *op = tile.getDefiningOp();
  if (type.isBF16() && op && group.deferred.contains(op))
    if (Value pair = emitPair(tile, {registers[0], registers[1]}))
      return group.b.bitcast(pair, group.b.i32Type);
  SmallVector<Lanes> elements;
  for (unsigned reg : registers)
    elements.push_back(emit(tile, reg));
  return packWord(group.b, elements, type);
}

} // namespace tilewright::nvptx
