// Products with block scales by MFMA (v_mfma_scale_f32_16x16x128_f8f6f4).
#include "tilewright/target/amdgcn/lower/Mfma.h"

#include "tilewright/dialect/exec/ScaledOps.h"
#include "tilewright/dialect/sm/InstructionLayouts.h"
#include "tilewright/support/Concat.h"
#include "tilewright/target/gpu/thread/Fragments.h"

#include "mlir/IR/Matchers.h"

#include <set>

using namespace llvm;

namespace tilewright::amdgcn {

using gpu::Fragments;
using mlir::Type;
using mlir::Value;

/// A block of 16 rows of a side of a product, and the number of an instruction along its depth.
using OfSide = std::pair<int64_t, int64_t>;

/// The instruction's code of a format.
static int64_t formatOf(Type type) {
  return isa<mlir::Float8E4M3FNType>(type) ? 0 : isa<mlir::Float8E5M2Type>(type) ? 1 : 4;
}

/// Four bytes as a word. If they are a part of a vector that was loaded, takes its word, because
/// LLVM does not find all of these by itself.
static Value wordOf(gpu::ThreadBuilder &b, ArrayRef<Value> bytes) {
  Value source;
  int64_t first = 0;
  for (auto [i, byte] : enumerate(bytes)) {
    auto extract = byte.getDefiningOp<mlir::LLVM::ExtractElementOp>();
    APInt position;
    if (!extract || !mlir::matchPattern(extract.getPosition(), mlir::m_ConstantInt(&position)) ||
        (i > 0 && extract.getVector() != source)) {
      source = nullptr;
      break;
    }
    if (i == 0)
      source = extract.getVector(), first = position.getSExtValue();
    if (position.getSExtValue() != first + int64_t(i)) {
      source = nullptr;
      break;
    }
  }
  if (source && first % 4 == 0) {
    const auto words = unsigned(cast<mlir::VectorType>(source.getType()).getNumElements() / 4);
    return b.extractElement(b.bitcast(source, b.vectorOf(b.i32Type, words)), unsigned(first / 4));
  }
  Value vector = b.poisonOf(b.vectorOf(b.intType(8), 4));
  for (auto [i, byte] : enumerate(bytes))
    vector = b.insertElement(vector, byte, unsigned(i));
  return b.bitcast(vector, b.i32Type);
}

/// The operand of each instruction. A lane holds 16 bytes of a row in each fragment: all of an
/// operand of 4-bit elements, half of one of bytes.
MfmaLowering::OfBlocks MfmaLowering::packBytes(Value tile, bool isLeft, int64_t bits) {
  using namespace sm::instruction;
  auto type = cast<mlir::RankedTensorType>(tile.getType());
  const gpu::ThreadLayout &threads = kernel.threadsOf(type);
  std::map<OfSide, SmallVector<Value>> bytes;
  for (const auto &[place, registers] : gpu::fragmentsOf(threads, isLeft ? mfmaA(8) : mfmaB(8))) {
    const int64_t row = isLeft ? place[0] : place[1], part = isLeft ? place[1] : place[0];
    for (unsigned reg : registers) {
      Value part8 = storedOf(kernel.tiles[tile][reg].value, type.getElementType());
      bytes[{row, bits == 8 ? part / 2 : part}].push_back(
          gpu::zeroOutside(b, part8, threads, type.getShape(), reg));
    }
  }
  std::map<OfSide, Value> operands;
  for (const auto &[block, parts] : bytes) {
    Value vector = b.poisonOf(b.vectorOf(b.i32Type, unsigned(parts.size()) / 4));
    for (size_t first = 0; first < parts.size(); first += 4)
      vector =
          b.insertElement(vector, wordOf(b, ArrayRef(parts).slice(first, 4)), unsigned(first / 4));
    operands[block] = vector;
  }
  return operands;
}

/// The scales of each instruction's operand, in the lowest byte. The lanes of a row hold words of
/// its four scales, of which each group of 16 lanes provides one.
MfmaLowering::OfBlocks MfmaLowering::packScales(Value scales, const OfBlocks &of) {
  const gpu::ThreadLayout &threads = kernel.threadsOf(scales.getType());
  const gpu::Tile &tile = kernel.tiles[scales];
  Value shift = kernel.once([&] {
    Value group = b.lshr(kernel.axis(sm::Axis::lane), b.i32(4));
    return b.shl(group, b.i32(3));
  });
  std::map<OfSide, Value> words;
  for (unsigned first = 0; first < threads.registers(); first += 4) {
    // See Candidates.cpp: byte 16 (16 h + r) + 4 j + s of a group is scale s of row 32 j + 16 h +
    // r.
    const int64_t line = threads.constant(2, first), column = threads.constant(3, first);
    const OfSide block{2 * (column % 16 / 4) + line % 4 / 2, line / 4};
    if (!of.contains(block))
      continue;
    SmallVector<Value> bytes;
    for (unsigned i = 0; i < 4; ++i)
      bytes.push_back(tile[first + i].value);
    words[block] = b.lshr(wordOf(b, bytes), shift);
  }
  return words;
}

void MfmaLowering::scaledDot(tile::DotOp dot) {
  const Type leftType = *dot.getLhsType(), rightType = *dot.getRhsType();
  std::optional<exec::ScaledKind> kind =
      dot.getBlock() && chip.wideMatrix
          ? exec::scaledKindOf(leftType, rightType, *dot.getScaleType(), int64_t(*dot.getBlock()))
          : std::nullopt;
  if (!kind || !isa<mlir::Float8E8M0FNUType>(*dot.getScaleType()))
    return kernel.refuse(
        dot, concat("has scales that MFMA of ", chip.name,
                    " does not apply; gfx950 applies e8m0 scales for blocks of 32 elements"));
  const std::map<OfSide, Value> left = packBytes(dot.getLhs(), true, kind->bits),
                                right = packBytes(dot.getRhs(), false, kind->bits),
                                leftScales = packScales(dot.getLhsScale(), left),
                                rightScales = packScales(dot.getRhsScale(), right);
  const Fragments sums =
      gpu::fragmentsOf(kernel.threadsOf(dot.getResult().getType()), sm::instruction::mfmaC(8));
  gpu::Tile result = kernel.tiles[dot.getAcc()];
  Type vector = b.vectorOf(b.f32Type, 4);
  std::map<SmallVector<int64_t>, Value> vectors;
  for (const auto &[place, registers] : sums) {
    Value &sum = vectors[place] = b.poisonOf(vector);
    for (auto [i, reg] : enumerate(registers))
      sum = b.insertElement(sum, result[reg].value, unsigned(i));
  }
  std::set<int64_t> depths;
  for (const auto &[block, operand] : left)
    depths.insert(block.second);
  // The instruction computes the transposed product, so its first operand is the right one. Make
  // depth the outermost loop, so that consecutive instructions are independent.
  for (int64_t k : depths)
    for (auto &[place, sum] : vectors) {
      const OfSide atLeft{place[0], k}, atRight{place[1], k};
      sum = b.intrinsic(vector, "llvm.amdgcn.mfma.scale.f32.16x16x128.f8f6f4",
                        {right.at(atRight), left.at(atLeft), sum, b.i32(formatOf(rightType)),
                         b.i32(formatOf(leftType)), b.i32(0), rightScales.at(atRight), b.i32(0),
                         leftScales.at(atLeft)});
    }
  // LLVM 22 does not know that this instruction is convergent: it would move one whose result is
  // only stored, and the code of its operands, into the block of the lanes that store. Code without
  // instructions reads the sums here, in the registers where they are.
  for (const auto &[place, registers] : sums) {
    Value sum = b.pureAssembly(vector, "", "=^VA,0", {vectors[place]});
    for (auto [i, reg] : enumerate(registers))
      result[reg].value = b.extractElement(sum, unsigned(i));
  }
  kernel.tiles[dot.getResult()] = std::move(result);
}

} // namespace tilewright::amdgcn
