// Tensor memory whose rows are in the threads of a warpgroup, one row in each: what a product reads
// or writes between two others.
#include "tilewright/dialect/sm/InstructionLayouts.h"
#include "tilewright/support/Concat.h"
#include "tilewright/target/nvptx/lower/KernelLowering.h"
#include "tilewright/target/nvptx/lower/matrix/SlotLoad.h"

using namespace llvm;

namespace tilewright::nvptx {

/// The number of parts of the channel that a buffer belongs to.
static int64_t partsOf(Value buffer) {
  Value channel;
  if (auto take = buffer.getDefiningOp<sm::TakeOp>())
    channel = take.getChannel();
  else if (auto acquire = buffer.getDefiningOp<sm::AcquireOp>())
    channel = acquire.getChannel();
  auto op = channel ? channel.getDefiningOp<sm::ChannelOp>() : sm::ChannelOp();
  return op ? int64_t(op.getParts()) : 1;
}

bool Tcgen05Lowering::isOfRows(Value buffer, const sm::Layout &registers) const {
  auto type = cast<sm::BufferType>(buffer.getType());
  if (type.getSpace() != sm::Space::tensor || type.getShape().size() != 2)
    return false;
  const int64_t parts = partsOf(buffer), columns = type.getShape()[1];
  const std::optional<sm::Layout> memory =
      sm::instruction::tensorAccumulator(type.getShape()[0], columns, 1);
  return memory && type.getShape()[0] == 128 && memory->sameAs(type.getLayout().getValue()) &&
         kernel.currentRole && kernel.firstWarp % groupWarps == 0 &&
         kernel.warpCount() == groupWarps * parts && kernel.clusterSize() == 1 &&
         sm::instruction::tensorRows(columns, parts).sameAs(registers);
}

/// Calls `access` with the first column and the number of columns of each instruction.
static void divideColumns(int64_t columns, int64_t most,
                          function_ref<void(int64_t first, int64_t count)> access) {
  for (int64_t first = 0; first < columns;) {
    const auto count = std::min<int64_t>(most, int64_t(bit_floor(uint64_t(columns - first))));
    access(first, count);
    first += count;
  }
}

SmallVector<Value> Tcgen05Lowering::loadColumns(Value first, int64_t count) {
  Type type = count == 1 ? b.i32Type : b.vectorOf(b.i32Type, unsigned(count));
  Value loaded =
      b.make<NVVM::Tcgen05LdOp>(type, /*pack=*/false, NVVM::Tcgen05LdStShape::SHAPE_32X32B,
                                b.sharedPointer(first, tensorSpace), /*offset=*/Value());
  SmallVector<Value> words;
  for (int64_t i = 0; i < count; ++i)
    words.push_back(count == 1 ? loaded : b.extractElement(loaded, unsigned(i)));
  return words;
}

void Tcgen05Lowering::storeColumns(Value first, ArrayRef<Value> words) {
  Value vector = words.front();
  if (words.size() > 1) {
    vector = b.poisonOf(b.vectorOf(b.i32Type, unsigned(words.size())));
    for (auto [i, word] : enumerate(words))
      vector = b.insertElement(vector, word, unsigned(i));
  }
  b.make<NVVM::Tcgen05StOp>(/*unpack=*/false, NVVM::Tcgen05LdStShape::SHAPE_32X32B,
                            b.sharedPointer(first, tensorSpace), vector, /*offset=*/Value());
}

void Tcgen05Lowering::loadRows(sm::CopyOp copy) {
  auto buffer = cast<sm::BufferType>(copy.getSource().getType());
  Value base = quarterOf(copy.getSource(), /*groups=*/1);
  SmallVector<Value> words;
  divideColumns(tensorColumnsOf(buffer), 128, [&](int64_t first, int64_t count) {
    append_range(words, loadColumns(b.add(base, b.i32(first)), count));
  });
  Tile &tile = kernel.tiles[copy.getResult()];
  for (Value word : waitForLoads(words))
    tile.push_back({b.bitcast(word, b.computeType(buffer.getElementType()))});
}

void Tcgen05Lowering::storeRows(sm::CopyOp copy) {
  auto buffer = cast<sm::BufferType>(copy.getTarget().getType());
  const auto bits = int64_t(buffer.getElementType().getIntOrFloatBitWidth());
  const Tile &tile = kernel.tiles[copy.getSource()];
  SmallVector<Value> words;
  for (size_t reg = 0; reg < tile.size(); reg += size_t(32 / bits))
    words.push_back(bits == 32 ? b.bitcast(tile[reg].value, b.i32Type)
                               : packWord(b, ArrayRef(tile).slice(reg, size_t(32 / bits)),
                                          buffer.getElementType()));
  Value base = quarterOf(copy.getTarget(), /*groups=*/1);
  divideColumns(int64_t(words.size()), 128, [&](int64_t first, int64_t count) {
    storeColumns(b.add(base, b.i32(first)), ArrayRef(words).slice(size_t(first), size_t(count)));
  });
}

void Tcgen05Lowering::scale(sm::ScaleOp op) {
  const sm::BufferType buffer = op.getBuffer().getType();
  const int64_t columns = buffer.getShape()[1], parts = partsOf(op.getBuffer());
  const sm::Layout rows = sm::instruction::tensorRows(columns, parts);
  const std::optional<sm::Layout> expected = rows.reduce({1});
  const sm::Layout &given = sm::layoutOf(op.getFactors().getType()).getValue();
  if (!isOfRows(op.getBuffer(), rows) || !expected || !expected->sameAs(given))
    return kernel.refuse(op, concat("must multiply 128 rows for each warpgroup of its role, one in "
                                    "each thread, got factors of ",
                                    given.str()));
  Value factor = kernel.tiles[op.getFactors()].front().value;
  Value differs = b.make<mlir::LLVM::FCmpOp>(mlir::LLVM::FCmpPredicate::une, factor,
                                             b.real(factor.getType(), 1));
  Value any = b.make<NVVM::VoteSyncOp>(b.i1Type, b.i32(-1), differs, NVVM::VoteSyncKind::any);
  Block *some = b.newBlock(), *after = b.newBlock();
  b.branchIf(any, some, after);
  b.moveTo(some);
  Value base = quarterOf(op.getBuffer(), /*groups=*/1);
  // Few columns at a time, because the scores occupy most registers.
  divideColumns(columns, 16, [&](int64_t first, int64_t count) {
    Value at = b.add(base, b.i32(first));
    SmallVector<Value> words = waitForLoads(loadColumns(at, count));
    for (Value &word : words)
      word = b.bitcast(b.make<mlir::LLVM::FMulOp>(b.bitcast(word, factor.getType()), factor),
                       b.i32Type);
    storeColumns(at, words);
  });
  waitForStores();
  b.branch(after);
  b.moveTo(after);
}

} // namespace tilewright::nvptx
