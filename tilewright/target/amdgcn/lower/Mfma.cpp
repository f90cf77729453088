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
                                                                      Type sum, int64_t size) {
  const bool isWide = chip.wideMatrix;
  // The depth of an instruction of 32x32 is half of that of 16x16.
  auto make = [&](std::string_view sums, int64_t depth, std::string_view rest, int64_t elements,
                  Type operand) {
    return Instruction{concat("llvm.amdgcn.mfma.", sums, ".", size, "x", size, "x",
                              size == 32 ? depth / 2 : depth, rest),
                       elements, operand};
  };
  // The instruction computes the transposed product, so its first operand is the right one.
  if (const auto first = eightBitName(right), second = eightBitName(left);
      isWide && !first.empty() && !second.empty() && sum.isF32())
    return make("f32", 32, concat(".", first, ".", second), 8, b.i64Type);
  if (left != right)
    return std::nullopt;
  if (left.isF16() && sum.isF32())
    return isWide ? make("f32", 32, ".f16", 8, b.vectorOf(left, 8))
                  : make("f32", 16, "f16", 4, b.vectorOf(left, 4));
  if (left.isBF16() && sum.isF32())
    return isWide ? make("f32", 32, ".bf16", 8, b.vectorOf(left, 8))
                  : make("f32", 16, "bf16.1k", 4, b.vectorOf(b.i16Type, 4));
  if (left.isF32() && sum.isF32())
    return make("f32", 4, "f32", 1, left);
  if (left.isF64() && sum.isF64() && size == 16)
    return make("f64", 4, "f64", 1, left);
  if (left.isInteger(8) && sum.isInteger(32))
    return isWide ? make("i32", 64, ".i8", 16, b.vectorOf(b.i32Type, 4))
                  : make("i32", 32, ".i8", 8, b.i64Type);
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

/// The rows of the instruction that computes these sums: a row of each is in consecutive lanes.
static int64_t sizeOf(const gpu::ThreadLayout &sums) {
  const size_t rows = sums.forms.size() - 2;
  return any_of(sums.digits(rows, sm::Axis::lane),
                [](const sm::IndexTerm &term) { return term.stride == 1 && term.size == 32; })
             ? 32
             : 16;
}

/// The order along k of a left operand. The right one has the same.
static sm::instruction::MfmaDepth depthOf(const gpu::ThreadLayout &lhs, int64_t bits,
                                          int64_t size) {
  using sm::instruction::MfmaDepth;
  const size_t k = lhs.forms.size() - 1;
  const bool isOfSums = bits < 32 && lhs.constant(k, 4) == lhs.constant(k, 0) + 256 / size;
  return isOfSums ? MfmaDepth::ofSums : MfmaDepth::consecutive;
}

void MfmaLowering::dot(tile::DotOp dot) {
  if (dot.getLhsScale())
    return scaledDot(dot);
  const Type sumType = elementOf(dot.getResult());
  const gpu::ThreadLayout &ofSums = kernel.threadsOf(dot.getResult().getType());
  const int64_t size = sizeOf(ofSums);
  std::optional<Instruction> instruction =
      instructionFor(elementOf(dot.getLhs()), elementOf(dot.getRhs()), sumType, size);
  if (dot.getTf32() || !instruction)
    return kernel.refuse(dot,
                         concat("has operands that MFMA of ", chip.name, " does not multiply"));
  const int64_t bits = elementOf(dot.getLhs()).getIntOrFloatBitWidth();
  using namespace sm::instruction;
  const gpu::ThreadLayout &lhs = kernel.threadsOf(dot.getLhs().getType());
  const MfmaDepth depth = depthOf(lhs, bits, size);
  const Fragments left = gpu::fragmentsOf(lhs, mfmaA(bits, depth, size));
  const Fragments right =
      gpu::fragmentsOf(kernel.threadsOf(dot.getRhs().getType()), mfmaB(bits, depth, size));
  const Fragments sums = gpu::fragmentsOf(ofSums, mfmaC(bits, size));
  std::map<SmallVector<int64_t>, SmallVector<Value>> ofLeft, ofRight;
  for (const auto &[place, registers] : left)
    ofLeft[place] = pack(*instruction, registers, dot.getLhs());
  for (const auto &[place, registers] : right)
    ofRight[place] = pack(*instruction, registers, dot.getRhs());

  gpu::Tile result = kernel.tiles[dot.getAcc()];
  std::map<SmallVector<int64_t>, Value> vectors;
  Type vector = b.vectorOf(sumType, size == 32 ? 16 : 4);
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

// --- Products of packed tiles ---

/// The registers of a lane in one accumulator.
static constexpr unsigned sumsOfFragment = 4;

void MfmaLowering::packSums(Value tile) {
  if (isPacked(tile))
    return;
  const gpu::Tile elements = kernel.tiles[tile];
  gpu::Tile vectors;
  for (size_t first = 0; first < elements.size(); first += sumsOfFragment) {
    Value sum = b.poisonOf(b.vectorOf(elements[first].value.getType(), sumsOfFragment));
    for (unsigned i = 0; i < sumsOfFragment; ++i)
      sum = b.insertElement(sum, elements[first + i].value, i);
    vectors.push_back({sum});
  }
  kernel.tiles[tile] = std::move(vectors);
  markPacked(tile);
}

void MfmaLowering::unpack(Value tile) {
  if (!packed.erase(tile))
    return;
  gpu::Tile elements;
  for (gpu::Lanes vector : kernel.tiles[tile])
    for (unsigned i = 0; i < sumsOfFragment; ++i)
      elements.push_back({b.extractElement(vector.value, i)});
  kernel.tiles[tile] = std::move(elements);
}

SmallVector<Value> MfmaLowering::divide(const Instruction &instruction, int64_t bits,
                                        Value fragment) {
  const auto words = unsigned(instruction.elements * bits / 32);
  SmallVector<Value> operands;
  for (unsigned first = 0; first < 4; first += words) {
    Value part = fragment;
    if (words == 1)
      part = b.extractElement(fragment, first);
    else if (words == 2) {
      part = b.poisonOf(b.vectorOf(b.i32Type, 2));
      for (unsigned i = 0; i < 2; ++i)
        part = b.insertElement(part, b.extractElement(fragment, first + i), i);
    }
    operands.push_back(b.bitcast(part, instruction.operand));
  }
  return operands;
}

void MfmaLowering::mma(sm::MmaOp mma) {
  const Value lhs = mma.getLhs(), rhs = mma.getRhs(), acc = mma.getAcc();
  if (mma.getBlock() || !acc || !isPacked(lhs) || !isPacked(rhs))
    return kernel.refuse(mma, "must add a product of fragments from LDS to sums, without scales");
  const Type sumType = elementOf(mma.getResult());
  std::optional<Instruction> instruction =
      instructionFor(elementOf(lhs), elementOf(rhs), sumType, 16);
  if (!instruction)
    return kernel.refuse(mma,
                         concat("has operands that MFMA of ", chip.name, " does not multiply"));
  const auto bits = int64_t(elementOf(lhs).getIntOrFloatBitWidth());
  using namespace sm::instruction;
  auto vectorsOf = [&](Value tile, const sm::Layout &atom) {
    std::map<SmallVector<int64_t>, unsigned> vectors;
    const auto size = unsigned(atom.extent(sm::Axis::reg));
    for (const auto &[place, registers] : gpu::fragmentsOf(kernel.threadsOf(tile.getType()), atom))
      vectors[place] = registers.front() / size;
    return vectors;
  };
  packSums(acc);
  gpu::Tile sums = kernel.tiles[acc];
  std::map<SmallVector<int64_t>, SmallVector<Value>> ofLeft, ofRight;
  for (const auto &[place, number] : vectorsOf(lhs, mfmaA(bits)))
    ofLeft[place] = divide(*instruction, bits, kernel.tiles[lhs][number].value);
  for (const auto &[place, number] : vectorsOf(rhs, mfmaB(bits)))
    ofRight[place] = divide(*instruction, bits, kernel.tiles[rhs][number].value);
  const size_t steps = ofLeft.begin()->second.size();
  for (size_t step = 0; step < steps; ++step)
    for (const auto &[place, number] : vectorsOf(mma.getResult(), mfmaC(bits))) {
      Value &sum = sums[number].value;
      sum = b.intrinsic(sum.getType(), instruction->name,
                        {ofRight.at({0, place[1]})[step], ofLeft.at({place[0], 0})[step], sum,
                         b.i32(0), b.i32(0), b.i32(0)});
    }
  kernel.tiles[mma.getResult()] = std::move(sums);
  markPacked(mma.getResult());
  // LLVM would move the loads of later steps in front of the products, for which there are not
  // enough registers, and the products behind the next barrier. It does not become an instruction.
  b.intrinsic({}, "llvm.amdgcn.sched.barrier", {b.i32(0)});
}

} // namespace tilewright::amdgcn
