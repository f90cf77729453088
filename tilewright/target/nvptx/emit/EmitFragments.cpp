// Loads fragments of matrix instructions from shared memory: by ldmatrix, or word by word if
// ldmatrix cannot transpose them.
#include "tilewright/target/nvptx/emit/KernelEmitter.h"

#include "tilewright/dialect/sm/BankConflicts.h"
#include "tilewright/support/Concat.h"

#include "mlir/IR/Matchers.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace llvm;

namespace tilewright::nvptx {

using sm::Axis;

namespace {

/// The index offset that a bit of the thread id contributes.
struct BitStep {
  size_t dim = 0;
  int64_t step = 0;
};

/// The steps of all bits of the thread id, lanes first; nullopt if sizes are not powers of two.
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
    return refuse(
        copy,
        "must copy a matrix from a buffer to registers (ldmatrix and ld support nothing else)");
  const sm::Layout &layout = buffer.getLayout().getValue();
  const ThreadLayout &threads = threadsOf(type);
  const auto bits = int64_t(type.getElementTypeBitWidth());
  const int64_t packed = 32 / std::max<int64_t>(bits, 1);
  auto no = [&] {
    refuse(copy, concat("loads ", threads.layout.str(), " from ", layout.str(),
                        ", which is not a fragment of a matrix instruction"));
  };
  std::optional<SmallVector<BitStep>> steps = stepsOf(threads, warpCount() * Chip::warpSize);
  if (!steps || !sm::isLinear(layout) || layout.extent(Axis::cta) != 1 || packed < 1 ||
      packed > 4 || threads.registers() % packed != 0)
    return no();
  // Four lanes span a row of the fragment and eight lanes span the rows, or every other row if a
  // thread holds two adjacent rows (transposed bytes).
  const size_t along = (*steps)[0].dim, across = 1 - along;
  const int64_t apartRows = (*steps)[2].step;
  for (size_t bit = 0; bit < 5; ++bit) {
    const BitStep &step = (*steps)[bit];
    if (bit < 2 ? step.dim != along || step.step != packed << bit
                : step.dim != across || step.step != apartRows << (bit - 2))
      return no();
  }
  const bool isPaired = apartRows == 2 && bits == 8;
  if (apartRows != 1 && !isPaired)
    return no();
  // The copy's offset in the buffer must be a constant multiple of the tile's size.
  SmallVector<int64_t> origin(2, 0);
  for (auto [dim, offset] : enumerate(copy.getSourceOffsets())) {
    APInt value;
    if (!mlir::matchPattern(offset, mlir::m_ConstantInt(&value)) ||
        value.getSExtValue() % threads.layout.cover(int64_t(dim)) != 0)
      return refuse(copy, "must begin at an offset that is a constant multiple of the tile's size");
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
  // A row of an 8x8 matrix must be 16 contiguous bytes.
  auto inRows = [&](size_t dim) {
    for (int64_t step = 1; step * bits < 128; step *= 2)
      if (unit(dim, step) != step * bits / 8)
        return false;
    return true;
  };
  const bool isTransposed = !inRows(along);
  const bool byMatrix = copy.getEngine() == sm::Engine::ldmatrix;
  if (isPaired   ? !byMatrix || !isTransposed || !inRows(across)
      : byMatrix ? isTransposed && (bits != 16 || !inRows(across))
                 : packed != 1)
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
  // For ldmatrix, lane i provides the address of row i mod 8 of matrix i / 8, independent of the
  // elements that it receives.
  auto loadMatrices = [&](unsigned count, const SplitOffset &at) {
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
    SmallVector<Value *, 4> parts;
    for (unsigned i = 0; i < count; ++i)
      parts.push_back(count == 1 ? got : ir.CreateExtractValue(got, i));
    return parts;
  };
  if (isPaired) {
    // A transposed matrix of byte pairs gives each lane two depths of two adjacent rows. To get
    // four consecutive depths, the first matrix has depths 0, 1, 4, 5, … and the second has 2, 3,
    // 6, 7, ….
    static constexpr int64_t depths[] = {1, 4, 8, 2, 16};
    for (size_t bit = 0; bit < 5; ++bit)
      ofBits[bit] = unit(along, depths[bit]);
    std::map<int64_t, unsigned> wordAt;
    for (unsigned word = 0; word < words; ++word)
      wordAt[byteOfWord[word]] = word;
    for (unsigned word = 0; word < words; ++word) {
      // Load each block once, at its first word: two adjacent rows and both halves of the depth.
      const int64_t first = byteOfWord[word], next = unit(across, 1), half = unit(along, 16);
      if ((first & next) != 0 || tile[word].value)
        continue;
      auto found = [&](int64_t byte) { return wordAt.find(byte); };
      auto other = found(first ^ next), deep = found(first ^ half),
           deepOther = found(first ^ half ^ next);
      if (other == wordAt.end() || deep == wordAt.end() || deepOther == wordAt.end())
        return no();
      auto parts = loadMatrices(4, offsetOfThread(ofBits, first));
      auto bytes = [&](size_t from, int64_t selector) {
        return Lanes{ir.CreateIntrinsic(ir.getInt32Ty(), Intrinsic::nvvm_prmt,
                                        {parts[from], parts[from + 1], i32(selector)})};
      };
      tile[word] = bytes(0, 0x6420);
      tile[other->second] = bytes(0, 0x7531);
      tile[deep->second] = bytes(2, 0x6420);
      tile[deepOther->second] = bytes(2, 0x7531);
    }
  }
  const size_t rows = isTransposed ? along : across;
  for (unsigned bit = 0; bit < 3 && !isPaired; ++bit)
    ofBits[bit] = unit(rows, int64_t(1) << bit);
  for (unsigned word = 0; byMatrix && !isPaired && word < words;) {
    auto apart = [&](unsigned other) { return byteOfWord[word] ^ byteOfWord[word + other]; };
    unsigned count = 1;
    if (word + 4 <= words && (apart(1) ^ apart(2)) == apart(3))
      count = 4;
    else if (word + 2 <= words)
      count = 2;
    ofBits[3] = count > 1 ? apart(1) : 0;
    ofBits[4] = count > 2 ? apart(2) : 0;
    auto parts = loadMatrices(count, offsetOfThread(ofBits, byteOfWord[word]));
    for (Value *part : parts)
      tile[word++] = {part};
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
