// Fragments of matrix instructions from shared memory: by ldmatrix, and word by word where it
// cannot turn them.
#include "tilewright/target/nvptx/emit/KernelEmitter.h"

#include "tilewright/dialect/sm/BankConflicts.h"
#include "tilewright/support/Concat.h"

#include "mlir/IR/Matchers.h"

using namespace llvm;

namespace tilewright::nvptx {

using sm::Axis;

namespace {

/// What a bit of the thread's number adds to the index of what it holds.
struct BitStep {
  size_t dim = 0;
  int64_t step = 0;
};

/// One for each bit of the thread's number, lanes first; nothing if sizes are no powers of two.
std::optional<SmallVector<BitStep>> stepsOf(const ThreadLayout &threads, int64_t threadCount) {
  SmallVector<BitStep> steps;
  steps.resize(Log2_64_Ceil(uint64_t(threadCount)));
  for (auto [dim, form] : enumerate(threads.forms))
    for (const sm::IndexTerm &term : form.terms) {
      if (!isPowerOf2_64(uint64_t(term.size)) || !isPowerOf2_64(uint64_t(term.stride)) ||
          (term.axis != Axis::lane && term.axis != Axis::warp))
        return std::nullopt;
      const size_t first = Log2_64(uint64_t(term.stride)) + (term.axis == Axis::warp ? 5 : 0);
      for (int64_t bit = 1, at = 0; bit < term.size; bit *= 2, ++at) {
        if (first + size_t(at) >= steps.size())
          return std::nullopt;
        steps[first + size_t(at)] = {dim, term.weight * bit};
      }
    }
  return steps;
}

} // namespace

void KernelEmitter::emitFragment(sm::CopyOp copy) {
  auto buffer = dyn_cast<sm::BufferType>(copy.getSource().getType());
  auto type = copy.getResult() ? dyn_cast<mlir::RankedTensorType>(copy.getResult().getType())
                               : mlir::RankedTensorType();
  if (!buffer || !type || buffer.getShape().size() != 2)
    return refuse(copy, "is no copy of a matrix from a buffer to registers, which is what ldmatrix "
                        "and ld are");
  const sm::Layout &layout = buffer.getLayout().getValue();
  const ThreadLayout &threads = threadsOf(type);
  const auto bits = int64_t(type.getElementTypeBitWidth());
  const int64_t packed = 32 / std::max<int64_t>(bits, 1);
  auto no = [&] {
    refuse(copy, concat("gives ", threads.layout.str(), " of ", layout.str(),
                        ", which is no fragment of a matrix instruction"));
  };
  std::optional<SmallVector<BitStep>> steps = stepsOf(threads, warpCount() * chip.warpSize);
  if (!steps || !sm::isLinear(layout) || layout.extent(Axis::cta) != 1 || packed < 1 ||
      packed > 4 || threads.registers() % packed != 0)
    return no();
  // Four lanes go along a row of the fragment, eight along the rows.
  const size_t along = (*steps)[0].dim, across = 1 - along;
  for (size_t bit = 0; bit < 5; ++bit) {
    const BitStep &step = (*steps)[bit];
    if (bit < 2 ? step.dim != along || step.step != packed << bit
                : step.dim != across || step.step != int64_t(1) << (bit - 2))
      return no();
  }
  // The part of the buffer begins at a constant, at a multiple of its own size.
  SmallVector<int64_t> origin(2, 0);
  for (auto [dim, offset] : enumerate(copy.getSourceOffsets())) {
    APInt value;
    if (!mlir::matchPattern(offset, mlir::m_ConstantInt(&value)) ||
        value.getSExtValue() % threads.layout.cover(int64_t(dim)) != 0)
      return refuse(copy, "begins at an offset that is no constant multiple of the tile's size");
    origin[dim] = value.getSExtValue();
  }
  for (size_t dim = 0; dim < 2; ++dim)
    if (origin[dim] + threads.layout.cover(int64_t(dim)) > layout.cover(int64_t(dim)))
      return no();
  auto unit = [&](size_t dim, int64_t step) {
    SmallVector<int64_t> index(2, 0);
    index[dim] = step;
    return byteOf(buffer, index);
  };
  const unsigned words = threads.registers() / unsigned(packed);
  SmallVector<int64_t> byteOfWord;
  for (unsigned word = 0; word < words; ++word) {
    SmallVector<int64_t> index(origin);
    for (size_t dim = 0; dim < 2; ++dim)
      index[dim] += threads.constant(dim, word * unsigned(packed));
    for (unsigned part = 1; part < packed; ++part)
      if (threads.constant(along, word * unsigned(packed) + part) !=
          threads.constant(along, word * unsigned(packed)) + part)
        return no();
    byteOfWord.push_back(byteOf(buffer, index));
  }
  // Rows of a stored matrix are 16 bytes in one piece.
  auto inRows = [&](size_t dim) {
    for (int64_t step = 1; step * bits < 128; step *= 2)
      if (unit(dim, step) != step * bits / 8)
        return false;
    return true;
  };
  const bool isTransposed = !inRows(along);
  const bool byMatrix = copy.getEngine() == sm::Engine::ldmatrix;
  if (byMatrix ? isTransposed && (bits != 16 || !inRows(across)) : packed != 1)
    return no();

  IRBuilder<> &ir = b.ir;
  Value *base = buffers[copy.getSource()].address;
  Tile tile(words, Lanes{});
  SmallVector<int64_t> ofBits;
  for (const BitStep &step : *steps)
    ofBits.push_back(step.step ? unit(step.dim, step.step) : 0);
  if (!byMatrix) {
    for (unsigned word = 0; word < words; ++word) {
      const SplitOffset at = offsetOfThread(ofBits, byteOfWord[word]);
      tile[word] = {assembly(ir.getInt32Ty(), concat("ld.shared.b32 $0, [$1+", at.constant, "];"),
                             "=r,r,~{memory}", {ir.CreateAdd(base, at.varying)})};
    }
  }
  // Lane i gives the address of row i mod 8 of matrix i / 8, whatever it receives.
  const size_t rows = isTransposed ? along : across;
  for (unsigned bit = 0; bit < 3; ++bit)
    ofBits[bit] = unit(rows, int64_t(1) << bit);
  for (unsigned word = 0; byMatrix && word < words;) {
    auto apart = [&](unsigned other) { return byteOfWord[word] ^ byteOfWord[word + other]; };
    unsigned count = 1;
    if (word + 4 <= words && (apart(1) ^ apart(2)) == apart(3))
      count = 4;
    else if (word + 2 <= words)
      count = 2;
    ofBits[3] = count > 1 ? apart(1) : 0;
    ofBits[4] = count > 2 ? apart(2) : 0;
    const SplitOffset at = offsetOfThread(ofBits, byteOfWord[word]);
    std::string list, constraints;
    for (unsigned i = 0; i < count; ++i) {
      list += concat(i ? ", $" : "$", i);
      constraints += "=r,";
    }
    Type *result =
        count == 1 ? static_cast<Type *>(ir.getInt32Ty())
                   : StructType::get(ir.getContext(), SmallVector<Type *>(count, ir.getInt32Ty()));
    Value *got =
        assembly(result,
                 concat("ldmatrix.sync.aligned.m8n8.x", count, isTransposed ? ".trans" : "",
                        ".shared.b16 {", list, "}, [$", count, "+", at.constant, "];"),
                 constraints + "r,~{memory}", {ir.CreateAdd(base, at.varying)});
    for (unsigned i = 0; i < count; ++i)
      tile[word + i] = {count == 1 ? got : ir.CreateExtractValue(got, i)};
    word += count;
  }
  tiles[copy.getResult()] = std::move(tile);
  wordTiles.insert(copy.getResult());
}

void KernelEmitter::unpackWords(mlir::Value value) {
  if (!wordTiles.contains(value))
    return;
  wordTiles.erase(value);
  IRBuilder<> &ir = b.ir;
  mlir::Type element = cast<mlir::RankedTensorType>(value.getType()).getElementType();
  Type *stored = b.storageType(element);
  const unsigned bits = stored->getPrimitiveSizeInBits(), packed = 32 / bits;
  Tile elements;
  for (Lanes word : tiles[value])
    for (unsigned part = 0; part < packed; ++part) {
      Value *piece =
          ir.CreateTrunc(ir.CreateLShr(word.value, i32(part * bits)), ir.getIntNTy(bits));
      elements.push_back({b.decode(ir.CreateBitCast(piece, stored), element)});
    }
  tiles[value] = std::move(elements);
}

} // namespace tilewright::nvptx
