// Loads fragments of matrix instructions from shared memory: by ldmatrix, or word by word if
// ldmatrix cannot transpose them.
#include "tilewright/target/nvptx/lower/KernelLowering.h"

#include "tilewright/dialect/sm/BankConflicts.h"
#include "tilewright/support/Concat.h"

#include "mlir/IR/Matchers.h"

#include <numeric>

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

/// The load of one tile. Four lanes span a row of a fragment and eight lanes span the rows, or
/// every other row if a thread holds two adjacent rows (transposed bytes).
struct FragmentsLowering::FragmentLoad {
  FragmentsLowering &group;
  sm::CopyOp copy;
  ThreadBuilder &b = group.b;
  sm::BufferType buffer;
  const ThreadLayout &threads;
  int64_t bits;                         // of an element
  int64_t packed;                       // elements of a word
  SmallVector<BitStep> steps = {};      // of the bits of the thread id
  size_t along = 0, across = 0;         // the dimensions of a fragment's rows, and across them
  bool isPaired = false;                // a thread holds two adjacent rows
  bool isTransposed = false;            // `along` is not the contiguous dimension of the buffer
  SmallVector<int64_t> byteOfWord = {}; // in thread 0
  SmallVector<int64_t> ofBits = {};     // the bytes that each bit of the thread id contributes
  Tile tile = {};

  /// Each returns false if the tile is not a fragment of a matrix instruction.
  bool findLanes();
  bool findWords(ArrayRef<int64_t> origin);
  bool isSupported();
  /// Emit the instructions. loadPairs() returns false if the words are not whole blocks.
  void loadWords();
  bool loadPairs();
  void loadMatrices();

  bool isByMatrix() { return copy.getEngine() == sm::Engine::ldmatrix; }
  unsigned words() const { return threads.registers() / unsigned(packed); }
  /// The bytes between two elements that are `step` apart in one dimension.
  int64_t bytesBetween(size_t dim, int64_t step) const {
    SmallVector<int64_t> index(2, 0);
    index[dim] = step;
    return byteOf(buffer, index);
  }
  /// Whether 16 bytes along a dimension, a row of an 8x8 matrix, are contiguous.
  bool isInRows(size_t dim) const {
    for (int64_t step = 1; step * bits < 128; step *= 2)
      if (bytesBetween(dim, step) != step * bits / 8)
        return false;
    return true;
  }
  Value address() { return group.kernel.buffers[copy.getSource()].address; }
  SmallVector<Value, 4> readMatrices(unsigned count, int64_t byte) {
    return nvptx::readMatrices(b, count, isTransposed, address(),
                               group.kernel.offsetOfThread(ofBits, byte));
  }
};

bool FragmentsLowering::FragmentLoad::findLanes() {
  const sm::Layout &layout = buffer.getLayout().getValue();
  std::optional<SmallVector<BitStep>> found =
      stepsOf(threads, group.kernel.warpCount() * Chip::warpSize);
  if (!found || !sm::isLinear(layout) || layout.extent(Axis::cta) != 1 || packed < 1 ||
      packed > 4 || threads.registers() % packed != 0)
    return false;
  steps = std::move(*found);
  if (!isByMatrix()) {
    // Each lane may read words from anywhere. Words of several elements are contiguous.
    along = threads.registers() > 1 && threads.constant(0, 1) != threads.constant(0, 0) ? 0 : 1;
    across = 1 - along;
    return true;
  }
  along = steps[0].dim;
  across = 1 - along;
  const int64_t apartRows = steps[2].step;
  for (size_t bit = 0; bit < 5; ++bit)
    if (bit < 2 ? steps[bit].dim != along || steps[bit].step != packed << bit
                : steps[bit].dim != across || steps[bit].step != apartRows << (bit - 2))
      return false;
  isPaired = apartRows == 2 && bits == 8;
  return apartRows == 1 || isPaired;
}

bool FragmentsLowering::FragmentLoad::findWords(ArrayRef<int64_t> origin) {
  const sm::Layout &layout = buffer.getLayout().getValue();
  for (size_t dim = 0; dim < 2; ++dim)
    if (origin[dim] + threads.layout.cover(int64_t(dim)) > layout.cover(int64_t(dim)))
      return false;
  for (unsigned word = 0; word < words(); ++word) {
    const unsigned first = word * unsigned(packed);
    SmallVector<int64_t> index(origin);
    for (size_t dim = 0; dim < 2; ++dim)
      index[dim] += threads.constant(dim, first);
    for (unsigned part = 1; part < packed; ++part)
      if (threads.constant(along, first + part) != threads.constant(along, first) + part)
        return false;
    byteOfWord.push_back(byteOf(buffer, index));
  }
  for (const BitStep &step : steps)
    ofBits.push_back(step.step ? bytesBetween(step.dim, step.step) : 0);
  isTransposed = !isInRows(along);
  return true;
}

/// Whether this load engine supports the tile.
bool FragmentsLowering::FragmentLoad::isSupported() {
  if (isPaired)
    return isByMatrix() && isTransposed && isInRows(across);
  if (isByMatrix())
    return !isTransposed || (bits == 16 && isInRows(across));
  for (int64_t part = 1; part < packed; ++part)
    if (bytesBetween(along, part) != part * bits / 8)
      return false;
  return true;
}

/// Each load reads one, two or four words that are contiguous for all threads.
void FragmentsLowering::FragmentLoad::loadWords() {
  int64_t alignment = 16;
  for (int64_t bytes : ofBits)
    alignment = std::gcd(alignment, bytes);
  for (unsigned word = 0; word < words();) {
    int64_t count = std::gcd(alignment, byteOfWord[word]) / 4;
    auto isRun = [&] {
      if (word + count > words())
        return false;
      for (int64_t i = 1; i < count; ++i)
        if (byteOfWord[size_t(word + i)] != byteOfWord[word] + 4 * i)
          return false;
      return true;
    };
    while (count > 1 && !isRun())
      count /= 2;
    for (Value part :
         readWords(b, 4 * count, address(), group.kernel.offsetOfThread(ofBits, byteOfWord[word])))
      tile[word++] = {part};
  }
}

/// A transposed matrix of byte pairs gives each lane two depths of two adjacent rows. To get four
/// consecutive depths, the first matrix has depths 0, 1, 4, 5, … and the second has 2, 3, 6, 7, ….
bool FragmentsLowering::FragmentLoad::loadPairs() {
  static constexpr int64_t depths[] = {1, 4, 8, 2, 16};
  for (size_t bit = 0; bit < 5; ++bit)
    ofBits[bit] = bytesBetween(along, depths[bit]);
  std::map<int64_t, unsigned> wordAt;
  for (unsigned word = 0; word < words(); ++word)
    wordAt[byteOfWord[word]] = word;
  const int64_t next = bytesBetween(across, 1), half = bytesBetween(along, 16);
  for (unsigned word = 0; word < words(); ++word) {
    // Load each block once, at its first word: two adjacent rows and both halves of the depth.
    const int64_t first = byteOfWord[word];
    if ((first & next) != 0 || tile[word].value)
      continue;
    auto other = wordAt.find(first ^ next), deep = wordAt.find(first ^ half),
         deepOther = wordAt.find(first ^ half ^ next);
    if (other == wordAt.end() || deep == wordAt.end() || deepOther == wordAt.end())
      return false;
    SmallVector<Value, 4> parts = readMatrices(4, first);
    auto bytes = [&](size_t from, int64_t selector) {
      return Lanes{b.intrinsic(b.i32Type, "llvm.nvvm.prmt",
                               {parts[from], parts[from + 1], group.b.i32(selector)})};
    };
    tile[word] = bytes(0, 0x6420);
    tile[other->second] = bytes(0, 0x7531);
    tile[deep->second] = bytes(2, 0x6420);
    tile[deepOther->second] = bytes(2, 0x7531);
  }
  return true;
}

/// Loads one, two or four 8x8 matrices at a time. Lane i provides the address of row i mod 8 of
/// matrix i / 8, independent of the elements that it receives.
void FragmentsLowering::FragmentLoad::loadMatrices() {
  const size_t rows = isTransposed ? along : across;
  for (unsigned bit = 0; bit < 3; ++bit)
    ofBits[bit] = bytesBetween(rows, int64_t(1) << bit);
  for (unsigned word = 0; word < words();) {
    auto apart = [&](unsigned other) { return byteOfWord[word] ^ byteOfWord[word + other]; };
    unsigned count = 1;
    if (word + 4 <= words() && (apart(1) ^ apart(2)) == apart(3))
      count = 4;
    else if (word + 2 <= words())
      count = 2;
    ofBits[3] = count > 1 ? apart(1) : 0;
    ofBits[4] = count > 2 ? apart(2) : 0;
    for (Value part : readMatrices(count, byteOfWord[word]))
      tile[word++] = {part};
  }
}

/// The copy's offset in the buffer, which must be a constant multiple of the tile's size; otherwise
/// nullopt.
static std::optional<SmallVector<int64_t>> originOf(sm::CopyOp copy, const sm::Layout &tile) {
  SmallVector<int64_t> origin(2, 0);
  for (auto [dim, offset] : enumerate(copy.getSourceOffsets())) {
    APInt value;
    if (!mlir::matchPattern(offset, mlir::m_ConstantInt(&value)) ||
        value.getSExtValue() % tile.cover(int64_t(dim)) != 0)
      return std::nullopt;
    origin[dim] = value.getSExtValue();
  }
  return origin;
}

void FragmentsLowering::load(sm::CopyOp copy) {
  auto buffer = dyn_cast<sm::BufferType>(copy.getSource().getType());
  auto type = copy.getResult() ? dyn_cast<mlir::RankedTensorType>(copy.getResult().getType())
                               : mlir::RankedTensorType();
  if (!buffer || !type || buffer.getShape().size() != 2)
    return kernel.refuse(
        copy,
        "must copy a matrix from a buffer to registers (ldmatrix and ld support nothing else)");
  const auto bits = int64_t(type.getElementTypeBitWidth());
  FragmentLoad load{.group = *this,
                    .copy = copy,
                    .buffer = buffer,
                    .threads = kernel.threadsOf(type),
                    .bits = bits,
                    .packed = 32 / std::max<int64_t>(bits, 1)};
  auto no = [&] {
    kernel.refuse(copy, concat("loads ", load.threads.layout.str(), " from ",
                               buffer.getLayout().getValue().str(),
                               ", which is not a fragment of a matrix instruction"));
  };
  if (!load.findLanes())
    return no();
  std::optional<SmallVector<int64_t>> origin = originOf(copy, load.threads.layout);
  if (!origin)
    return kernel.refuse(copy,
                         "must begin at an offset that is a constant multiple of the tile's size");
  if (!load.findWords(*origin) || !load.isSupported())
    return no();
  load.tile.assign(load.words(), Lanes{});
  if (load.isPaired) {
    if (!load.loadPairs())
      return no();
  } else if (load.isByMatrix()) {
    load.loadMatrices();
  } else {
    load.loadWords();
  }
  kernel.tiles[copy.getResult()] = std::move(load.tile);
  wordTiles.insert(copy.getResult());
}

void FragmentsLowering::unpackWords(Value value) {
  if (!wordTiles.contains(value))
    return;
  wordTiles.erase(value);
  Type element = cast<mlir::RankedTensorType>(value.getType()).getElementType();
  Type stored = b.storageType(element);
  const unsigned bits = bitsOf(stored), packed = 32 / bits;
  Tile elements;
  for (Lanes word : kernel.tiles[value])
    for (unsigned part = 0; part < packed; ++part) {
      Value piece = b.trunc(b.lshr(word.value, b.i32(part * bits)), b.intType(bits));
      elements.push_back({b.decode(b.bitcast(piece, stored), element)});
    }
  kernel.tiles[value] = std::move(elements);
}

} // namespace tilewright::nvptx
