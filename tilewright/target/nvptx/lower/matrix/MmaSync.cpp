// Matmuls of tiles in registers by warp-level matrix instructions (mma.sync).
#include "tilewright/dialect/sm/InstructionLayouts.h"
#include "tilewright/support/Concat.h"
#include "tilewright/target/nvptx/lower/KernelLowering.h"

using namespace llvm;

namespace tilewright::nvptx {

namespace {

/// One instruction: its name, and the layouts of its fragments.
struct Instruction {
  std::string name; // "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
  sm::Layout a, b, c;
  int64_t bits; // of an element of a and b
};

StringRef nameOf(Type type) {
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

std::optional<Instruction> instructionFor(Type left, Type right, Type sum, bool isTf32) {
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

/// Maps the position of each fragment in the tile to its registers, in the instruction's order.
using Fragments = std::map<SmallVector<int64_t>, SmallVector<unsigned>>;

Fragments fragmentsOf(const ThreadLayout &threads, const sm::Layout &atom) {
  Fragments found;
  const size_t rank = threads.forms.size();
  for (unsigned reg = 0; reg < threads.registers(); ++reg) {
    // Thread 0's element determines the fragment and the position in it, because every thread adds
    // the same index offset in all fragments.
    SmallVector<int64_t> place, inside;
    for (size_t dim = 0; dim < rank; ++dim) {
      const int64_t index = threads.constant(dim, reg);
      if (dim + 2 < rank) {
        place.push_back(index);
        continue;
      }
      const int64_t size = atom.cover(static_cast<int64_t>(dim + 2 - rank));
      place.push_back(index / size);
      inside.push_back(index % size);
    }
    auto at = static_cast<size_t>(atom.apply(inside)[sm::Axis::reg]);
    SmallVector<unsigned> &registers = found[place];
    registers.resize(static_cast<size_t>(atom.extent(sm::Axis::reg)));
    registers[at] = reg;
  }
  return found;
}

/// Like fragmentsOf(), for any assignment of rows and columns whose registers are in blocks of the
/// instruction's size. The position of a block is that of its first element.
Fragments blocksOf(const ThreadLayout &threads, const sm::Layout &atom) {
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

} // namespace

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
    // Registers outside of the tile have arbitrary values. Zero them, because the product would add
    // them.
    if (!threads.isAlive(reg, type.getShape())) {
      Value zero = b.zero(part.getType());
      part = threads.isDead(reg, type.getShape())
                 ? zero
                 : b.select(isInside(b, threads, StridedView{}, type.getShape(), reg), part, zero);
    }
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
  if (dot.getLhsScale() ||
      !multiplyTiles(dot.getLhs(), dot.getRhs(), dot.getAcc(), dot.getResult(), dot.getTf32()))
    kernel.refuse(dot, "has operands that mma.sync does not support");
}

void MmaSyncLowering::mma(sm::MmaOp mma) {
  auto lhs = dyn_cast<mlir::RankedTensorType>(mma.getLhs().getType());
  if (!lhs || !isa<mlir::RankedTensorType>(mma.getRhs().getType()))
    return kernel.refuse(
        mma, "has an operand in a buffer, but mma_sync requires registers; copy it with "
             "`ldmatrix` or `ld`");
  if (!multiplyTiles(mma.getLhs(), mma.getRhs(), mma.getAcc(), mma.getResult(),
                     lhs.getElementType().isF32()))
    kernel.refuse(mma, "has operands that mma.sync does not support");
}

/// Emits one instruction. Uses inline assembly, because LLVM has a separate intrinsic for each
/// combination of shapes and types.
static Value multiply(ThreadBuilder &b, StringRef name, ArrayRef<Value> operands, size_t left,
                      size_t right, size_t sums, Type sumType) {
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
  text += ";";
  for (Value operand : operands)
    constraints += concat(",", letter(operand.getType()));
  return b.pureAssembly(b.structOf(SmallVector<Type>(sums, sumType)), text, constraints, operands);
}

bool MmaSyncLowering::multiplyTiles(Value lhs, Value rhs, Value acc, Value result, bool isTf32) {
  auto element = [](Value tile) {
    return cast<mlir::RankedTensorType>(tile.getType()).getElementType();
  };
  std::optional<Instruction> instruction =
      instructionFor(element(lhs), element(rhs), element(result), isTf32);
  if (!instruction)
    return false;
  auto fragments = isa<sm::MmaOp>(result.getDefiningOp()) ? blocksOf : fragmentsOf;
  const Fragments left = fragments(kernel.threadsOf(lhs.getType()), instruction->a);
  const Fragments right = fragments(kernel.threadsOf(rhs.getType()), instruction->b);
  const Fragments sums = fragments(kernel.threadsOf(result.getType()), instruction->c);
  std::map<SmallVector<int64_t>, SmallVector<Value>> words[2];
  for (const auto &[place, registers] : left)
    words[0][place] = packFragment(kernel.tiles[lhs], registers, lhs, isTf32);
  for (const auto &[place, registers] : right)
    words[1][place] = packFragment(kernel.tiles[rhs], registers, rhs, isTf32);

  Type sumType = b.computeType(element(result));
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
      Value made = multiply(b, instruction->name, operands, words[0][atLeft].size(),
                            words[1][atRight].size(), registers.size(), sumType);
      for (auto [i, reg] : llvm::enumerate(registers))
        sum[reg].value = b.extractValue(made, static_cast<unsigned>(i));
    }
  kernel.tiles[result] = std::move(sum);
  return true;
}

} // namespace tilewright::nvptx
