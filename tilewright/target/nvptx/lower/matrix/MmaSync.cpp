// Matmuls of tiles in registers by warp-level matrix instructions (mma.sync).
#include "tilewright/dialect/exec/ScaledOps.h"
#include "tilewright/dialect/sm/InstructionLayouts.h"
#include "tilewright/support/Concat.h"
#include "tilewright/target/gpu/thread/Fragments.h"
#include "tilewright/target/nvptx/lower/KernelLowering.h"

using namespace llvm;

namespace tilewright::nvptx {

/// One instruction: its name, and the layouts of its fragments.
struct MmaSyncLowering::Instruction {
  std::string name; // "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
  sm::Layout a, b, c;
  int64_t bits; // of an element of a and b
};

/// The block scales of a product: words of four scales, by the number of their 32 rows in thread
/// 0's warp; none if the product has no scales.
struct MmaSyncLowering::Scales {
  std::map<int64_t, Value> lhs, rhs;
  int64_t byte = 0; // of the first scale in a word
};

static StringRef nameOf(Type type) {
  if (type.isF16())
    return "f16";
  if (type.isBF16())
    return "bf16";
  if (isa<mlir::Float8E4M3FNType>(type))
    return "e4m3";
  if (isa<mlir::Float8E5M2Type>(type))
    return "e5m2";
  if (type.isInteger(8))
    return "s8";
  return type.isF64() ? "f64" : "";
}

std::optional<MmaSyncLowering::Instruction> MmaSyncLowering::instructionFor(Type left, Type right,
                                                                            Type sum, bool isTf32) {
  const std::string a = isTf32 ? "tf32" : nameOf(left).str();
  const std::string b = isTf32 ? "tf32" : nameOf(right).str();
  const int64_t bits = left.getIntOrFloatBitWidth();
  const bool isWhole = left.isInteger(8);
  const StringRef c = left.isF64() ? "f64" : isWhole ? "s32" : "f32";
  const bool fits = left.isF64() ? sum.isF64() : isWhole ? sum.isInteger(32) : sum.isF32();
  if (a.empty() || b.empty() || !fits || bits != int64_t(right.getIntOrFloatBitWidth()) ||
      (left != right && bits != 8))
    return std::nullopt;
  const sm::Layout layoutA = sm::instruction::mmaA(bits), layoutB = sm::instruction::mmaB(bits),
                   layoutC = sm::instruction::mmaC(bits);
  return Instruction{concat("mma.sync.aligned.m", layoutC.cover(0), "n", layoutC.cover(1), "k",
                            layoutA.cover(1), ".row.col.", c.str(), ".", a, ".", b, ".", c.str()),
                     layoutA, layoutB, layoutC, bits};
}

/// Two elements of 4 bits in a byte are distributed like one element of 8 bits.
std::optional<MmaSyncLowering::Instruction> MmaSyncLowering::scaledInstructionFor(sm::MmaOp mma) {
  const auto block = int64_t(*mma.getBlock());
  const Type left = *mma.getLhsType(), right = *mma.getRhsType(), scale = *mma.getScaleType();
  std::optional<exec::ScaledKind> kind = exec::scaledKindOf(left, right, scale, block);
  if (!kind)
    return std::nullopt;
  const bool hasE8M0 = isa<mlir::Float8E8M0FNUType>(scale);
  auto name = [&](Type type) { return kind->bits == 4 ? std::string("e2m1") : nameOf(type).str(); };
  return Instruction{concat("mma.sync.aligned.m16n8k", kind->depth(), ".row.col.kind::",
                            kind->bits == 8 ? "mxf8f6f4"
                            : hasE8M0       ? "mxf4"
                                            : "mxf4nvf4",
                            ".block_scale.scale_vec::", kind->depth() / block, "X.f32.", name(left),
                            ".", name(right), ".f32.", hasE8M0 ? "ue8m0" : "ue4m3"),
                     sm::instruction::mmaA(8), sm::instruction::mmaB(8), sm::instruction::mmaC(8),
                     8};
}

/// Like fragmentsOf(), for any assignment of rows and columns whose registers are in blocks of the
/// instruction's size. The position of a block is that of its first element.
static Fragments blocksOf(const ThreadLayout &threads, const sm::Layout &atom) {
  Fragments found;
  const auto size = static_cast<unsigned>(atom.extent(sm::Axis::reg));
  for (unsigned first = 0; first + size <= threads.registers(); first += size) {
    SmallVector<int64_t> place;
    for (size_t dim = 0; dim < threads.forms.size(); ++dim)
      place.push_back(threads.constant(dim, first));
    for (unsigned reg = first; reg < first + size; ++reg)
      found[place].push_back(reg);
  }
  return found;
}

SmallVector<Value> MmaSyncLowering::packFragment(const Tile &tile, ArrayRef<unsigned> registers,
                                                 Value value, bool isTf32) {
  auto type = cast<mlir::RankedTensorType>(value.getType());
  const ThreadLayout &threads = kernel.threadsOf(type);
  Type element = type.getElementType();
  SmallVector<Value> parts;
  if (all.fragments.isInWords(value)) {
    // The tile already consists of the words that the fragment load produced, with zeros outside of
    // the tile.
    const unsigned inWord = 32 / element.getIntOrFloatBitWidth();
    for (size_t first = 0; first < registers.size(); first += inWord) {
      Value word = tile[registers[first] / inWord].value;
      if (isTf32)
        word = b.make<NVVM::ConvertFloatToTF32Op>(b.i32Type, b.bitcast(word, b.f32Type),
                                                  NVVM::FPRoundingMode::RNA);
      parts.push_back(word);
    }
    return parts;
  }
  for (unsigned reg : registers) {
    Value part = element.isF64() || isTf32 ? tile[reg].value : b.encode(tile[reg].value, element);
    part = zeroOutside(b, part, threads, type.getShape(), reg);
    if (isTf32)
      part = b.make<NVVM::ConvertFloatToTF32Op>(b.i32Type, part, NVVM::FPRoundingMode::RNA);
    parts.push_back(part);
  }
  const unsigned bits = parts.front().getType().getIntOrFloatBitWidth();
  if (bits >= 32)
    return parts;
  SmallVector<Value> words;
  for (size_t first = 0; first < parts.size(); first += 32 / bits) {
    Type vectorType = b.vectorOf(b.intType(bits), 32 / bits);
    Value vector = b.poisonOf(vectorType);
    for (unsigned i = 0; i < 32 / bits; ++i)
      vector = b.insertElement(vector, b.bitcast(parts[first + i], b.intType(bits)), unsigned(i));
    words.push_back(b.bitcast(vector, b.i32Type));
  }
  return words;
}

void MmaSyncLowering::dot(tile::DotOp dot) {
  auto element = [](Value tile) {
    return cast<mlir::RankedTensorType>(tile.getType()).getElementType();
  };
  std::optional<Instruction> instruction = instructionFor(
      element(dot.getLhs()), element(dot.getRhs()), element(dot.getResult()), dot.getTf32());
  if (dot.getLhsScale() || !instruction)
    return kernel.refuse(dot, "has operands that mma.sync does not support");
  multiplyTiles(*instruction, dot.getLhs(), dot.getRhs(), dot.getAcc(), dot.getResult(),
                dot.getTf32(), {});
}

/// The words of a group of scales: a register's row is the thread's plus a multiple of 32.
static std::map<int64_t, Value> scaleWords(KernelState &kernel, Value scales) {
  const ThreadLayout &threads = kernel.threadsOf(scales.getType());
  std::map<int64_t, Value> words;
  for (unsigned word = 0; word < threads.registers() / 4; ++word)
    words[threads.constant(1, 4 * word) % 16 / 4] = kernel.tiles[scales][word].value;
  return words;
}

void MmaSyncLowering::mma(sm::MmaOp mma) {
  auto lhs = dyn_cast<mlir::RankedTensorType>(mma.getLhs().getType()),
       rhs = dyn_cast<mlir::RankedTensorType>(mma.getRhs().getType());
  if (!lhs || !rhs)
    return kernel.refuse(
        mma, "has an operand in a buffer, but mma_sync requires registers; copy it with "
             "`ldmatrix` or `ld`");
  const Type sum = cast<mlir::RankedTensorType>(mma.getResult().getType()).getElementType();
  const bool isTf32 = lhs.getElementType().isF32();
  Scales scales;
  std::optional<Instruction> instruction;
  if (mma.getBlock()) {
    if (all.chip.matrix != MatrixUnit::mma || !all.chip.rates || all.chip.rates->f4 == 0)
      return kernel.refuse(mma, concat("multiplies with scales in registers, which ", all.chip.name,
                                       " cannot; chips from sm_120a on can"));
    for (Value scale : {mma.getLhsScale(), mma.getRhsScale()})
      if (!all.fragments.isInWords(scale) || kernel.threadsOf(scale.getType()).layout.cover(0) != 4)
        return kernel.refuse(
            mma, "must have scales of 4 lines of 128 bytes that were loaded from a buffer (`ld`)");
    instruction =
        lhs.getElementTypeBitWidth() == 8 && rhs.getElementTypeBitWidth() == 8 && sum.isF32()
            ? scaledInstructionFor(mma)
            : std::nullopt;
    scales = {scaleWords(kernel, mma.getLhsScale()), scaleWords(kernel, mma.getRhsScale()),
              int64_t(mma.getFirstBlock().value_or(0))};
  } else {
    instruction = instructionFor(lhs.getElementType(), rhs.getElementType(), sum, isTf32);
  }
  if (!instruction)
    return kernel.refuse(mma, "has operands that mma.sync does not support");
  multiplyTiles(*instruction, mma.getLhs(), mma.getRhs(), mma.getAcc(), mma.getResult(), isTf32,
                scales);
}

/// The text of a group of scales: its word, the first scale's byte, and the lanes that have the
/// rows' words, as a number below 2 (of pairs) for rows of lhs and below 4 for columns of rhs.
static std::string scaleOperand(size_t number, int64_t byte, int64_t lanes) {
  return concat(", {$", number, "}, {", byte, ", ", lanes, "}");
}

/// Emits one instruction. Uses inline assembly, because LLVM has a separate intrinsic for each
/// combination of shapes and types. `scales` is the text after the sums, whose operands are the
/// last ones.
static Value multiply(ThreadBuilder &b, StringRef name, ArrayRef<Value> operands, size_t left,
                      size_t right, size_t sums, Type sumType, StringRef scales) {
  auto letter = [](Type type) { return type.isF64() ? "d" : type.isF32() ? "f" : "r"; };
  std::string constraints, text = name.str();
  for (size_t i = 0; i < sums; ++i)
    constraints += concat(i ? "," : "", "=", letter(sumType));
  size_t number = 0;
  auto group = [&](size_t count) {
    text += number ? ", {" : " {";
    for (size_t i = 0; i < count; ++i)
      text += concat(i ? ", $" : "$", number++);
    text += "}";
  };
  for (size_t count : {sums, left, right, sums})
    group(count);
  text += concat(scales.str(), ";");
  for (Value operand : operands)
    constraints += concat(",", letter(operand.getType()));
  return b.pureAssembly(b.structOf(SmallVector<Type>(sums, sumType)), text, constraints, operands);
}

void MmaSyncLowering::multiplyTiles(const Instruction &instruction, Value lhs, Value rhs, Value acc,
                                    Value result, bool isTf32, const Scales &scales) {
  auto fragments = isa<sm::MmaOp>(result.getDefiningOp()) ? blocksOf : fragmentsOf;
  const Fragments left = fragments(kernel.threadsOf(lhs.getType()), instruction.a);
  const Fragments right = fragments(kernel.threadsOf(rhs.getType()), instruction.b);
  const Fragments sums = fragments(kernel.threadsOf(result.getType()), instruction.c);
  std::map<SmallVector<int64_t>, SmallVector<Value>> words[2];
  for (const auto &[place, registers] : left)
    words[0][place] = packFragment(kernel.tiles[lhs], registers, lhs, isTf32);
  for (const auto &[place, registers] : right)
    words[1][place] = packFragment(kernel.tiles[rhs], registers, rhs, isTf32);

  Type sumType = b.computeType(cast<mlir::RankedTensorType>(result.getType()).getElementType());
  Tile sum = acc ? kernel.tiles[acc]
                 : Tile(kernel.threadsOf(result.getType()).registers(), Lanes{b.zero(sumType)});
  // Make depth the outermost loop, so that consecutive instructions are independent.
  std::set<int64_t> depths;
  for (const auto &[place, registers] : left)
    depths.insert(place.back());
  for (int64_t k : depths)
    for (const auto &[place, registers] : sums) {
      SmallVector<int64_t> atLeft(place), atRight(place);
      atLeft.back() = k;
      atRight[place.size() - 2] = k;
      SmallVector<Value> operands = words[0][atLeft];
      llvm::append_range(operands, words[1][atRight]);
      for (unsigned reg : registers)
        operands.push_back(sum[reg].value);
      std::string scaleText;
      if (!scales.lhs.empty()) {
        const int64_t row = place[place.size() - 2], column = place.back();
        const size_t number = registers.size() + operands.size();
        operands.append({scales.lhs.at(row / 32), scales.rhs.at(column / 32)});
        scaleText = scaleOperand(number, scales.byte, row % 32 / 16) +
                    scaleOperand(number + 1, scales.byte, column % 32 / 8);
      }
      Value made = multiply(b, instruction.name, operands, words[0][atLeft].size(),
                            words[1][atRight].size(), registers.size(), sumType, scaleText);
      for (auto [i, reg] : llvm::enumerate(registers))
        sum[reg].value = b.extractValue(made, static_cast<unsigned>(i));
    }
  kernel.tiles[result] = std::move(sum);
}

} // namespace tilewright::nvptx
