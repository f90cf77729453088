// Reads tiles from slots of channels into registers, for matmuls whose left operand has a prologue.
#include "tilewright/target/nvptx/lower/KernelLowering.h"

#include "tilewright/dialect/sm/BankConflicts.h"
#include "tilewright/support/Concat.h"

#include <numeric>

using namespace llvm;

namespace tilewright::nvptx {

using sm::Axis;

bool isToSlot(sm::CopyOp copy) {
  if (!copy.getTarget() || copy.getEngine() != sm::Engine::st)
    return false;
  auto buffer = dyn_cast<sm::BufferType>(copy.getTarget().getType());
  return buffer && mlir::ShapedType::getNumElements(buffer.getShape()) > 1;
}

bool isFromSlot(sm::CopyOp copy) {
  return copy.getResult() && isa<sm::BufferType>(copy.getSource().getType()) &&
         (copy.getEngine() == sm::Engine::ld || copy.getEngine() == sm::Engine::ldmatrix);
}

Lanes decodeRaw(ThreadBuilder &b, const RawTile &raw, unsigned reg, Type type,
                KnownRegisters &known) {
  const RawTile::BitPosition at = raw.positions[reg];
  Value word = raw.words[at.word];
  const bool isE4m3 = isa<mlir::Float8E4M3FNType>(type);
  if (isE4m3 || isa<mlir::Float8E5M2Type>(type)) {
    // The instruction converts two elements at once.
    Lanes &pair = known[{word.getAsOpaquePointer(), at.bit / 16}];
    if (!pair.value) {
      Value bytes = b.trunc(b.lshr(word, b.i32(at.bit / 16 * 16)), b.i16Type);
      pair.value = b.make<NVVM::ConvertF8x2ToF16x2Op>(b.vectorOf(b.f16Type, 2),
                                                      b.bitcast(bytes, b.vectorOf(b.i8Type, 2)),
                                                      /*relu=*/false, type);
    }
    return {b.fpext(b.extractElement(pair.value, unsigned(at.bit % 16 / 8)), b.f32Type)};
  }
  Value bits = at.bit ? b.lshr(word, b.i32(at.bit)) : word;
  Type stored = b.storageType(type);
  if (stored.isF32())
    return {b.decode(b.bitcast(bits, stored), type)};
  return {b.decode(b.trunc(bits, stored), type)};
}

/// Groups elements that are contiguous for every thread into accesses of at most 16 bytes. `ofBits`
/// has the offset that each bit of the thread id contributes, `offsets` the offset of each
/// register.
static SmallVector<SlotAccess> grouped(ArrayRef<int64_t> ofBits, ArrayRef<int64_t> offsets,
                                       int64_t elementBytes) {
  std::map<int64_t, SmallVector<unsigned>> byOffset;
  for (auto [reg, offset] : enumerate(offsets))
    byOffset[offset].push_back(unsigned(reg));
  int64_t alignment = 16;
  for (int64_t flipped : ofBits)
    alignment = std::gcd(alignment, flipped);
  SmallVector<SlotAccess> accesses;
  for (auto at = byOffset.begin(); at != byOffset.end();) {
    int64_t run = 1;
    for (auto next = std::next(at);
         next != byOffset.end() && next->first == at->first + run * elementBytes; ++next)
      ++run;
    int64_t count = std::max<int64_t>(alignment / elementBytes, 1);
    while (count > 1 && (count > run || at->first % (count * elementBytes) != 0))
      count /= 2;
    SlotAccess access{at->first, count * elementBytes, {}};
    for (int64_t i = 0; i < count; ++i, ++at)
      access.registers.push_back(at->second);
    accesses.push_back(std::move(access));
  }
  return accesses;
}

/// The index that each bit of a thread id contributes to that of its elements: bits of the lane,
/// the warp and the warpgroup.
static SmallVector<SmallVector<int64_t>> indicesOfBits(const sm::Layout &fragments) {
  SmallVector<SmallVector<int64_t>> indices;
  for (int64_t lane = 1; lane < 32; lane *= 2)
    indices.push_back(*fragments.indexOf(0, lane));
  for (int64_t warp : {1, 2})
    indices.push_back(*fragments.indexOf(0, 0, warp));
  for (int64_t group = 1; group < fragments.extent(Axis::group); group *= 2)
    indices.push_back(*fragments.indexOf(0, 0, 0, group));
  return indices;
}

SlotAccesses accessesOf(sm::BufferType buffer, const sm::Layout &fragments) {
  SlotAccesses all;
  for (const SmallVector<int64_t> &index : indicesOfBits(fragments))
    all.ofBits.push_back(byteOf(buffer, index));
  SmallVector<int64_t> offsets;
  for (int64_t reg = 0; reg < fragments.extent(Axis::reg); ++reg)
    offsets.push_back(byteOf(buffer, *fragments.indexOf(reg, 0)));
  all.accesses = grouped(all.ofBits, offsets, lanes::storageBytes(buffer.getElementType()));
  return all;
}

/// Whether the offset of the sum of two indices is the xor of their offsets.
static bool isXor(sm::BufferType buffer, ArrayRef<int64_t> left, ArrayRef<int64_t> right) {
  const SmallVector<int64_t> sum{left[0] + right[0], left[1] + right[1]};
  return byteOf(buffer, sum) == (byteOf(buffer, left) ^ byteOf(buffer, right));
}

bool isWholeSlot(const sm::Layout &fragments, sm::BufferType buffer) {
  const sm::Layout &memory = buffer.getLayout().getValue();
  if (fragments.rank() != 2 || memory.rank() != 2 || fragments.cover(0) != memory.cover(0) ||
      fragments.cover(1) != memory.cover(1) || fragments.extent(Axis::warp) != 4 ||
      !fragments.getFlips().empty())
    return false;
  if (sm::isLinear(memory) && sm::isLinear(fragments))
    return true;
  // Sizes that are not powers of two are possible where no thread's bits reach them.
  const SmallVector<SmallVector<int64_t>> bits = indicesOfBits(fragments);
  for (size_t i = 0; i < bits.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (!isXor(buffer, bits[i], bits[j]))
        return false;
  for (int64_t reg = 0; reg < fragments.extent(Axis::reg); ++reg) {
    const SmallVector<int64_t> index = *fragments.indexOf(reg, 0);
    if (!all_of(bits, [&](ArrayRef<int64_t> bit) { return isXor(buffer, index, bit); }))
      return false;
  }
  return true;
}

struct RegisterOperandLowering::SlotLoad {
  RegisterOperandLowering &group;
  sm::CopyOp copy;
  sm::BufferType buffer;
  mlir::RankedTensorType type;
  const sm::Layout fragments; // of the registers
  const int64_t bytes;        // of an element
  const bool isMatrix;        // by ldmatrix
  const bool kInner;          // K is contiguous in the slot
  const bool pairsRows;       // ldmatrix moves pairs of bytes of adjacent rows
  RawTile raw;

  SlotLoad(RegisterOperandLowering &group, sm::CopyOp copy)
      : group(group), copy(copy), buffer(cast<sm::BufferType>(copy.getSource().getType())),
        type(cast<mlir::RankedTensorType>(copy.getResult().getType())),
        fragments(sm::layoutOf(type).getValue()), bytes(lanes::storageBytes(type.getElementType())),
        isMatrix(copy.getEngine() == sm::Engine::ldmatrix), kInner(byteOf(buffer, {0, 1}) == bytes),
        pairsRows(isMatrix && bytes == 1) {}

  unsigned registers() const { return unsigned(fragments.extent(Axis::reg)); }
  /// Adds words to `raw`. Returns the number of the first.
  unsigned add(ArrayRef<Value> words) {
    const auto first = unsigned(raw.words.size());
    append_range(raw.words, words);
    return first;
  }
  Value address() { return group.kernel.buffers[copy.getSource()].address; }
  SmallVector<int64_t> findRowOffsets();
  void readMatrices();
  void readElements();
};

SmallVector<int64_t> RegisterOperandLowering::SlotLoad::findRowOffsets() {
  SmallVector<int64_t> ofBits;
  // A lane's bits select the row whose address it provides to ldmatrix: row i mod 8 of matrix i / 8
  // for lane i.
  for (int64_t bit = 0; bit < 5; ++bit) {
    const int64_t along = int64_t(1) << bit;
    SmallVector<int64_t> index{0, along}; // rows of a transposed matrix go along K
    if (!pairsRows && (bit == 3 || (kInner && bit < 3)))
      index = {along, 0};
    else if (!pairsRows && bit == 4)
      index = {0, 8};
    ofBits.push_back(byteOf(buffer, index));
  }
  for (int64_t warp : {1, 2})
    ofBits.push_back(byteOf(buffer, *fragments.indexOf(0, 0, warp)));
  for (int64_t group = 1; group < fragments.extent(Axis::group); group *= 2)
    ofBits.push_back(byteOf(buffer, *fragments.indexOf(0, 0, 0, group)));
  return ofBits;
}

/// Each ldmatrix loads four matrices with rows of 16 bytes: 16 rows by 16 elements, or 16 by 32 for
/// bytes along M.
void RegisterOperandLowering::SlotLoad::readMatrices() {
  const SmallVector<int64_t> ofBits = findRowOffsets();
  std::map<std::pair<int64_t, int64_t>, unsigned> starts;
  const int64_t depth = pairsRows ? 32 : 16;
  for (unsigned reg = 0; reg < registers(); ++reg) {
    const SmallVector<int64_t> index = *fragments.indexOf(reg, 0);
    const int64_t row = index[0] / 16 * 16, k = index[1] / depth * depth;
    auto [found, isNew] = starts.try_emplace({row, k}, 0);
    if (isNew)
      found->second =
          add(nvptx::readMatrices(group.b, 4, !kInner, address(),
                                  group.kernel.offsetOfThread(ofBits, byteOf(buffer, {row, k}))));
    const int64_t inRow = index[0] - row, inDepth = index[1] - k;
    RawTile::BitPosition &position = raw.positions[reg];
    if (pairsRows)
      position = {found->second + unsigned(inDepth / 8), unsigned(inDepth % 2 * 16 + inRow * 8)};
    else
      position = {found->second + unsigned(inDepth / 8 * 2 + inRow / 8),
                  unsigned(inDepth % 2 * 16)};
  }
}

/// Each ld loads elements that are contiguous for every thread.
void RegisterOperandLowering::SlotLoad::readElements() {
  const SlotAccesses all = accessesOf(buffer, fragments);
  for (const SlotAccess &access : all.accesses) {
    const unsigned first = add(readWords(group.b, access.bytes, address(),
                                         group.kernel.offsetOfThread(all.ofBits, access.offset)));
    for (auto [i, registers] : enumerate(access.registers)) {
      const int64_t bit = int64_t(i) * bytes * 8;
      for (unsigned reg : registers)
        raw.positions[reg] = {first + unsigned(bit / 32), unsigned(bit % 32)};
    }
  }
}

void RegisterOperandLowering::load(sm::CopyOp copy) {
  const sm::Layout &fragments = sm::layoutOf(copy.getResult().getType()).getValue();
  auto buffer = cast<sm::BufferType>(copy.getSource().getType());
  if (!copy.getSourceOffsets().empty() || !isWholeSlot(fragments, buffer))
    return kernel.refuse(copy,
                         concat("must read a whole slot into the registers of warpgroups, got ",
                                fragments.str(), " from ", buffer.getLayout().getValue().str()));
  SlotLoad load(*this, copy);
  load.raw.positions.resize(load.registers());
  if (load.isMatrix)
    load.readMatrices();
  else
    load.readElements();
  // Decode now only if there are other users; a matmul decodes each element when it needs it.
  if (any_of(copy.getResult().getUsers(), [&](mlir::Operation *user) {
        return !deferred.contains(user) && !isa<sm::MmaOp>(user);
      })) {
    KnownRegisters known;
    Tile tile;
    for (unsigned reg = 0; reg < load.registers(); ++reg)
      tile.push_back(decodeRaw(b, load.raw, reg, load.type.getElementType(), known));
    kernel.tiles[copy.getResult()] = std::move(tile);
  }
  rawTiles[copy.getResult()] = std::move(load.raw);
}

void RegisterOperandLowering::writeSlot(sm::CopyOp copy,
                                        function_ref<Value(ArrayRef<unsigned> registers)> wordOf) {
  const sm::Layout &fragments = sm::layoutOf(copy.getSource().getType()).getValue();
  auto buffer = cast<sm::BufferType>(copy.getTarget().getType());
  Type element = buffer.getElementType();
  const SlotAccesses all = isWholeSlot(fragments, buffer) && copy.getTargetOffsets().empty()
                               ? accessesOf(buffer, fragments)
                               : SlotAccesses();
  auto isOfWords = [](const SlotAccess &access) { return access.bytes % 4 == 0; };
  if (all.accesses.empty() || !all_of(all.accesses, isOfWords))
    return kernel.refuse(copy,
                         concat("must write a whole slot from the registers of warpgroups, "
                                "words of each at once, got ",
                                fragments.str(), " to ", buffer.getLayout().getValue().str()));
  // Elements are computed where they are stored, so that few of them are in registers at once.
  const size_t packed = 4 / size_t(lanes::storageBytes(element));
  for (const SlotAccess &access : all.accesses) {
    const auto count = unsigned(access.bytes / 4);
    Value words = b.poisonOf(b.vectorOf(b.i32Type, count));
    for (unsigned word = 0; word < count; ++word) {
      SmallVector<unsigned> registers;
      for (size_t i = 0; i < packed; ++i)
        registers.push_back(access.registers[word * packed + i].front());
      words = b.insertElement(words, wordOf(registers), word);
    }
    const SplitOffset at = kernel.offsetOfThread(all.ofBits, access.offset);
    Value address = b.sharedPointer(b.add(kernel.buffers[copy.getTarget()].address, at.varying));
    b.store(words, b.advance(address, at.constant), unsigned(access.bytes));
  }
}

} // namespace tilewright::nvptx
