#include "tilewright/target/amdgcn/lower/Mfma.h"

#include "tilewright/dialect/lane/LaneDialect.h"
#include "tilewright/dialect/sm/InstructionLayouts.h"
#include "tilewright/support/Concat.h"
#include "tilewright/target/gpu/thread/Fragments.h"

#include <set>

using namespace llvm;

namespace tilewright::amdgcn {

using gpu::Fragments;
using mlir::Type;
using mlir::Value;

static Type elementOf(Value tile) {
  return cast<mlir::RankedTensorType>(tile.getType()).getElementType();
}

static std::string_view eightBitName(Type type) {
  return isa<mlir::Float8E4M3FNType>(type) ? "fp8" : isa<mlir::Float8E5M2Type>(type) ? "bf8" : "";
}

std::optional<MfmaLowering::Instruction> MfmaLowering::instructionFor(Type left, Type right,
                                                                      Type sum) {
  const bool isWide = chip.wideMatrix;
  // The instruction computes the transposed product, so its first operand is the right one.
  if (const auto first = eightBitName(right), second = eightBitName(left);
      isWide && !first.empty() && !second.empty() && sum.isF32())
    return Instruction{concat("llvm.amdgcn.mfma.f32.16x16x32.", first, ".", second), 8, b.i64Type};
  if (left != right)
    return std::nullopt;
  if (left.isF16() && sum.isF32())
    return isWide ? Instruction{"llvm.amdgcn.mfma.f32.16x16x32.f16", 8, b.vectorOf(left, 8)}
                  : Instruction{"llvm.amdgcn.mfma.f32.16x16x16f16", 4, b.vectorOf(left, 4)};
  if (left.isBF16() && sum.isF32())
    return isWide
               ? Instruction{"llvm.amdgcn.mfma.f32.16x16x32.bf16", 8, b.vectorOf(left, 8)}
               : Instruction{"llvm.amdgcn.mfma.f32.16x16x16bf16.1k", 4, b.vectorOf(b.i16Type, 4)};
  if (left.isF32() && sum.isF32())
    return Instruction{"llvm.amdgcn.mfma.f32.16x16x4f32", 1, left};
  if (left.isF64() && sum.isF64())
    return Instruction{"llvm.amdgcn.mfma.f64.16x16x4f64", 1, left};
  if (left.isInteger(8) && sum.isInteger(32))
    return isWide ? Instruction{"llvm.amdgcn.mfma.i32.16x16x64.i8", 16, b.vectorOf(b.i32Type, 4)}
                  : Instruction{"llvm.amdgcn.mfma.i32.16x16x32.i8", 8, b.i64Type};
  return std::nullopt;
}

Value MfmaLowering::storedOf(Value value, Type element) {
  auto decode = value.getDefiningOp<lane::DecodeOp>();
  return decode && decode.getElement() == element ? decode.getStored() : b.encode(value, element);
}

SmallVector<Value> MfmaLowering::pack(const Instruction &instruction, ArrayRef<unsigned> registers,
                                      Value value) {
  auto type = cast<mlir::RankedTensorType>(value.getType());
  const gpu::ThreadLayout &threads = kernel.threadsOf(type);
  const gpu::Tile &tile = kernel.tiles[value];
  Type element = type.getElementType();
  const bool isPlain = element.isF32() || element.isF64();
  SmallVector<Value> operands;
  for (size_t first = 0; first < registers.size(); first += size_t(instruction.elements)) {
    SmallVector<Value> parts;
    for (unsigned reg : registers.slice(first, size_t(instruction.elements))) {
      Value part = isPlain ? tile[reg].value : storedOf(tile[reg].value, element);
      parts.push_back(gpu::zeroOutside(b, part, threads, type.getShape(), reg));
    }
    Value operand = parts.front();
    if (parts.size() > 1) {
      operand = b.poisonOf(b.vectorOf(operand.getType(), unsigned(parts.size())));
      for (auto [i, part] : enumerate(parts))
        operand = b.insertElement(operand, part, unsigned(i));
    }
    operands.push_back(b.bitcast(operand, instruction.operand));
  }
  return operands;
}

void MfmaLowering::dot(tile::DotOp dot) {
  if (dot.getLhsScale())
    return scaledDot(dot);
  const Type sumType = elementOf(dot.getResult());
  std::optional<Instruction> instruction =
      instructionFor(elementOf(dot.getLhs()), elementOf(dot.getRhs()), sumType);
  if (dot.getTf32() || !instruction)
    return kernel.refuse(dot,
                         concat("has operands that MFMA of ", chip.name, " does not multiply"));
  const int64_t bits = elementOf(dot.getLhs()).getIntOrFloatBitWidth();
  using namespace sm::instruction;
  const Fragments left = gpu::fragmentsOf(kernel.threadsOf(dot.getLhs().getType()), mfmaA(bits));
  const Fragments right = gpu::fragmentsOf(kernel.threadsOf(dot.getRhs().getType()), mfmaB(bits));
  const Fragments sums = gpu::fragmentsOf(kernel.threadsOf(dot.getResult().getType()), mfmaC(bits));
  std::map<SmallVector<int64_t>, SmallVector<Value>> ofLeft, ofRight;
  for (const auto &[place, registers] : left)
    ofLeft[place] = pack(*instruction, registers, dot.getLhs());
  for (const auto &[place, registers] : right)
    ofRight[place] = pack(*instruction, registers, dot.getRhs());

  gpu::Tile result = kernel.tiles[dot.getAcc()];
  std::map<SmallVector<int64_t>, Value> vectors;
  Type vector = b.vectorOf(sumType, 4);
  for (const auto &[place, registers] : sums) {
    Value &sum = vectors[place] = b.poisonOf(vector);
    for (auto [i, reg] : enumerate(registers))
      sum = b.insertElement(sum, result[reg].value, unsigned(i));
  }
  // Make depth the outermost loop, so that consecutive instructions are independent.
  std::set<int64_t> depths;
  for (const auto &[place, operands] : ofLeft)
    depths.insert(place.back());
  const size_t steps = ofLeft.begin()->second.size();
  for (int64_t k : depths)
    for (size_t step = 0; step < steps; ++step)
      for (auto &[place, sum] : vectors) {
        SmallVector<int64_t> atLeft(place), atRight(place);
        atLeft.back() = k;
        atRight[place.size() - 2] = k;
        sum = b.intrinsic(vector, instruction->name,
                          {ofRight.at(atRight)[step], ofLeft.at(atLeft)[step], sum, b.i32(0),
                           b.i32(0), b.i32(0)});
      }
  for (const auto &[place, registers] : sums)
    for (auto [i, reg] : enumerate(registers))
      result[reg].value = b.extractElement(vectors[place], unsigned(i));
  kernel.tiles[dot.getResult()] = std::move(result);
}

} // namespace tilewright::amdgcn
