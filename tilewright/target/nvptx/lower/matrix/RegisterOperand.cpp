// Matmuls whose left operand is in registers. Either the operand has a prologue: threads read it
// from a slot (SlotLoads.cpp) and compute it piece by piece with the matmul. If the right operand
// has one, too, another role computes it in the same way, and writes it to a slot. Or it is an
// ordinary tile, such as the weights of attention, which are computed from the result of another
// matmul.
#include "tilewright/target/nvptx/lower/matrix/SlotPrologue.h"

#include "tilewright/support/Concat.h"
#include "tilewright/target/nvptx/lower/matrix/WgmmaInstruction.h"

#include "mlir/IR/TypeUtilities.h"

#include <set>

using namespace llvm;

namespace tilewright::nvptx {

using sm::Axis;

// --- The prologue ---

void RegisterOperandLowering::deferPrologues(sm::RoleOp role) {
  deferred.clear();
  rawTiles.clear();
  viewRegisters.clear();
  role.getBody().walk([&](mlir::Operation *user) {
    auto mma = dyn_cast<sm::MmaOp>(user);
    auto copy = dyn_cast<sm::CopyOp>(user);
    if (!mma && !(copy && isToSlot(copy)))
      return;
    Value operand = mma ? mma.getLhs() : copy.getSource();
    if (!isa<mlir::RankedTensorType>(operand.getType()))
      return;
    SmallVector<mlir::Operation *> open{operand.getDefiningOp()}, found;
    while (!open.empty()) {
      mlir::Operation *op = open.pop_back_val();
      if (!op || op->getBlock() != user->getBlock() || !isa<tile::MapOp, tile::ViewOp>(op) ||
          !deferred.insert(op).second)
        continue;
      found.push_back(op);
      for (Value input : op->getOperands())
        open.push_back(input.getDefiningOp());
    }
    // Compute only prologues that read a slot together with the product.
    if (none_of(found, [](mlir::Operation *op) {
          return any_of(op->getOperands(), [](Value operand) {
            auto copy = operand.getDefiningOp<sm::CopyOp>();
            return copy && isFromSlot(copy);
          });
        })) {
      for (mlir::Operation *op : found)
        deferred.erase(op);
      return;
    }
    // Ops that also have other users are not deferred, but emitted in place.
    for (bool isChanged = true; isChanged;) {
      isChanged = false;
      for (mlir::Operation *op : found)
        if (deferred.contains(op) && any_of(op->getUsers(), [&](mlir::Operation *other) {
              return other != user && !deferred.contains(other);
            })) {
          deferred.erase(op);
          isChanged = true;
        }
    }
    for (mlir::Operation *op : found)
      if (auto view = dyn_cast<tile::ViewOp>(op); view && deferred.contains(op)) {
        auto sourceType = cast<mlir::RankedTensorType>(view.getSource().getType());
        auto type = cast<mlir::RankedTensorType>(view.getType());
        std::optional<sm::ViewMap> map =
            sm::viewMapOf(view.getMap(), type.getShape(), sourceType.getShape());
        std::optional<SmallVector<int64_t>> registers;
        if (map)
          registers = sm::registersOfView(sm::layoutOf(type).getValue(),
                                          sm::layoutOf(sourceType).getValue(), *map);
        if (!registers)
          return kernel.refuse(
              view,
              "moves elements between threads in a matmul's prologue, which is not supported");
        viewRegisters[op] = std::move(*registers);
      }
  });
}

// --- The product ---

Value packWord(ThreadBuilder &b, ArrayRef<Lanes> elements, Type type) {
  Type stored = type.isBF16() ? b.bf16Type : type.isF16() ? b.f16Type : b.i8Type;
  Value vector = b.poisonOf(b.vectorOf(stored, unsigned(elements.size())));
  for (auto [i, lanes] : enumerate(elements)) {
    Value part = stored.isInteger() ? b.encode(lanes.value, type) : b.narrow(lanes.value, stored);
    vector = b.insertElement(vector, part, unsigned(i));
  }
  return b.bitcast(vector, b.i32Type);
}

/// The instructions of a matmul whose left operand is in registers.
struct RegisterOperandLowering::RegisterProduct {
  RegisterOperandLowering &group;
  sm::MmaOp mma;
  wgmma::Kind kind;
  wgmma::OperandWalk walk;                   // of the right operand
  int64_t sums = 0, columns = 0, blocks = 0; // per thread, per instruction, blocks of 64 rows
  int64_t steps = 0, packed = 0;             // instructions along K, elements in a word
  RawTile *source = nullptr; // the words of the left operand's slot, if it has a prologue

  /// Refuses the matmul and returns nullopt if wgmma does not support it.
  static std::optional<RegisterProduct> find(RegisterOperandLowering &group, sm::MmaOp mma);

  int64_t perStep() const { return 4 * packed; } // elements of a thread per instruction
  /// Whether the layouts of the left operand and of the result are those of the instruction.
  bool fits();
  /// Waits until at most `left` wgmma groups are in flight. Returns the raw data that `registers`
  /// of the left operand are computed from, as results of the wait.
  RawTile waitForRegisters(ArrayRef<unsigned> registers, int64_t left);
  /// The registers of the left operand for the steps [from, to) along K, in the order of the
  /// instructions.
  SmallVector<unsigned> registersOf(int64_t from, int64_t to) const;
  /// The words of a tile that has no prologue.
  SmallVector<Value> wordsOf(Value tile);
  /// Computes these registers and packs them into words.
  SmallVector<Value> packRegisters(ArrayRef<unsigned> registers, RawTile raw);
  /// Multiplies the steps [from, to) along K. Without `acc` the sum starts at zero.
  Tile multiply(int64_t from, int64_t to, ArrayRef<Value> words, const Tile *acc);
};

std::optional<RegisterOperandLowering::RegisterProduct>
RegisterOperandLowering::RegisterProduct::find(RegisterOperandLowering &group, sm::MmaOp mma) {
  auto no = [&](std::string_view why) -> std::optional<RegisterProduct> {
    group.kernel.refuse(mma, why);
    return std::nullopt;
  };
  auto lhs = cast<mlir::RankedTensorType>(mma.getLhs().getType());
  auto rhs = dyn_cast<sm::BufferType>(mma.getRhs().getType());
  auto type = cast<mlir::RankedTensorType>(mma.getResult().getType());
  Type element = lhs.getElementType();
  if (mma.getAtom() != sm::Atom::wgmma || group.all.chip.matrix != MatrixUnit::wgmma || !rhs)
    return no("is not a wgmma with its right operand in a buffer");
  std::optional<wgmma::Kind> kind = wgmma::kindOf(element, type.getElementType());
  std::optional<wgmma::OperandWalk> walk = wgmma::walkOf(rhs, 1);
  if (!kind || element != rhs.getElementType())
    return no("multiplies types that wgmma does not support");
  if (element.isF32())
    return no(
        "has a left operand of f32 in registers, which is not supported: only the copy engine "
        "rounds operands of wgmma to tf32");
  if (!walk || (!kind->hasOrder && !walk->kInner))
    return no(concat("has a right operand that wgmma does not support: ",
                     rhs.getLayout().getValue().str()));
  const sm::Layout &layout = sm::layoutOf(type).getValue(), &left = sm::layoutOf(lhs).getValue();
  RegisterProduct product{.group = group, .mma = mma, .kind = *kind, .walk = *walk};
  product.sums = layout.extent(Axis::reg);
  product.columns = layout.cover(1) / clusterDigit(layout, 1);
  product.steps = left.cover(1) / kind->depth;
  product.packed = 32 / int64_t(element.getIntOrFloatBitWidth());
  if (!product.fits())
    return no(concat("has register layouts that wgmma does not support: ", left.str(), " and ",
                     layout.str()));
  product.source = group.sourceOf(mma.getLhs());
  return product;
}

bool RegisterOperandLowering::RegisterProduct::fits() {
  auto lhs = cast<mlir::RankedTensorType>(mma.getLhs().getType());
  const ThreadLayout &result = group.kernel.threadsOf(mma.getResult().getType()),
                     &side = group.kernel.threadsOf(lhs);
  const sm::Layout &layout = result.layout, &left = side.layout;
  const int64_t groups = layout.extent(Axis::group);
  const int64_t rows = layout.cover(0) / clusterDigit(layout, 0) / groups;
  const int64_t perBlock = columns / 2;
  blocks = rows / 64;
  if (rows % 64 != 0 || columns % 8 != 0 || columns > 256 || sums != blocks * perBlock ||
      left.cover(1) % kind.depth != 0 || left.extent(Axis::reg) != blocks * steps * perStep() ||
      left.cover(1) != lhs.getShape()[1] || !group.kernel.currentRole ||
      int64_t(group.kernel.currentRole.getWarps()) != 4 * groups ||
      side.forms[0].terms != result.forms[0].terms)
    return false;
  // The rows of a thread's registers must match those of the accumulator, and K must match the
  // instruction.
  for (int64_t reg = 0; reg < left.extent(Axis::reg); ++reg) {
    const int64_t block = reg / (steps * perStep()), step = reg / perStep() % steps,
                  inside = reg % perStep(), half = inside / packed % 2;
    if (side.constant(0, unsigned(reg)) !=
            result.constant(0, unsigned(block * perBlock + 2 * half)) ||
        side.constant(1, unsigned(reg)) !=
            step * kind.depth + inside / (2 * packed) * kind.depth / 2 + inside % packed)
      return false;
  }
  return true;
}

RawTile *RegisterOperandLowering::sourceOf(Value tile) {
  SmallVector<Value> open{tile};
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (auto found = rawTiles.find(value); found != rawTiles.end())
      return &found->second;
    if (mlir::Operation *op = value.getDefiningOp(); op && deferred.contains(op))
      append_range(open, op->getOperands());
  }
  return nullptr;
}

void RegisterOperandLowering::store(sm::CopyOp copy) {
  RawTile *source = sourceOf(copy.getSource());
  Prologue prologue(*this, source ? *source : RawTile());
  writeSlot(copy, [&](ArrayRef<unsigned> registers) {
    return prologue.emitWord(copy.getSource(), registers);
  });
}

std::optional<unsigned> RegisterOperandLowering::rawRegister(Value value, unsigned reg) {
  if (rawTiles.contains(value))
    return reg;
  mlir::Operation *op = value.getDefiningOp();
  if (!op || !deferred.contains(op))
    return std::nullopt;
  if (auto view = dyn_cast<tile::ViewOp>(op)) {
    const int64_t from = viewRegisters[op][reg];
    return from < 0 ? std::nullopt : rawRegister(view.getSource(), unsigned(from));
  }
  for (Value input : op->getOperands())
    if (std::optional<unsigned> found = rawRegister(input, reg))
      return found;
  return std::nullopt;
}

RawTile RegisterOperandLowering::RegisterProduct::waitForRegisters(ArrayRef<unsigned> registers,
                                                                   int64_t left) {
  ThreadBuilder &b = group.b;
  RawTile raw = *source;
  std::set<unsigned> words;
  for (unsigned reg : registers)
    if (std::optional<unsigned> found = group.rawRegister(mma.getLhs(), reg))
      words.insert(raw.positions[*found].word);
  std::string constraints;
  SmallVector<Value> through;
  for (unsigned word : words) {
    constraints += through.empty() ? "=r" : ",=r";
    through.push_back(raw.words[word]);
  }
  for (size_t i = 0; i < through.size(); ++i)
    constraints += concat(",", i);
  Value all = b.assembly(b.structOf(SmallVector<Type>(through.size(), b.i32Type)),
                         concat("wgmma.wait_group.sync.aligned ", left, ";"),
                         constraints + ",~{memory}", through);
  for (auto [i, word] : enumerate(words))
    raw.words[word] = b.extractValue(all, unsigned(i));
  return raw;
}

SmallVector<unsigned> RegisterOperandLowering::RegisterProduct::registersOf(int64_t from,
                                                                            int64_t to) const {
  SmallVector<unsigned> registers;
  for (int64_t step = from; step < to; ++step)
    for (int64_t block = 0; block < blocks; ++block)
      for (int64_t i = 0; i < perStep(); ++i)
        registers.push_back(unsigned((block * steps + step) * perStep() + i));
  return registers;
}

SmallVector<Value> RegisterOperandLowering::RegisterProduct::wordsOf(Value tile) {
  const SmallVector<unsigned> registers = registersOf(0, steps);
  if (!group.all.fragments.isInWords(tile))
    return packRegisters(registers, {});
  SmallVector<Value> words;
  for (size_t first = 0; first < registers.size(); first += size_t(packed))
    words.push_back(group.kernel.tiles[tile][registers[first] / unsigned(packed)].value);
  return words;
}

SmallVector<Value>
RegisterOperandLowering::RegisterProduct::packRegisters(ArrayRef<unsigned> registers, RawTile raw) {
  auto lhs = cast<mlir::RankedTensorType>(mma.getLhs().getType());
  const ThreadLayout &side = group.kernel.threadsOf(lhs);
  Prologue prologue(group, std::move(raw));
  SmallVector<Value> words;
  for (size_t first = 0; first < registers.size(); first += size_t(packed)) {
    // Use zero for rows outside of the tile.
    if (side.isDead(registers[first], lhs.getShape())) {
      words.push_back(group.b.i32(0));
      continue;
    }
    words.push_back(prologue.emitWord(mma.getLhs(), registers.slice(first, size_t(packed))));
  }
  return words;
}

Tile RegisterOperandLowering::RegisterProduct::multiply(int64_t from, int64_t to,
                                                        ArrayRef<Value> words, const Tile *acc) {
  std::string text = "{\n.reg .b64 c;\n.reg .b32 cl;\n.reg .pred on, off;\nsetp.eq.b32 on, 0, "
                     "0;\nsetp.ne.b32 off, 0, 0;\nwgmma.fence.sync.aligned;\n";
  int64_t word = sums + 1; // number of the operand
  for (int64_t step = from; step < to; ++step)
    for (int64_t block = 0; block < blocks; ++block, word += 4) {
      text += concat("add.u32 cl, $", sums, ", ", walk.atStep(step),
                     ";\nmov.b64 c, {cl, 0x40000040};\n");
      const std::string left =
          concat("{$", word, ", $", word + 1, ", $", word + 2, ", $", word + 3, "}");
      text += wgmma::instruction(kind, columns, block, left, acc || step > from,
                                 walk.kInner ? ", 0" : ", 1");
    }
  text += "wgmma.commit_group.sync.aligned;\n}";
  SmallVector<Value> operands{
      wgmma::descriptor(group.b, group.kernel.buffers[mma.getRhs()].address, walk)};
  append_range(operands, words);
  return wgmma::emitGroup(group.b, mlir::getElementTypeOrSelf(mma.getResult()), sums, text,
                          operands, acc);
}

void RegisterOperandLowering::mma(sm::MmaOp mma) {
  std::optional<RegisterProduct> product = RegisterProduct::find(*this, mma);
  if (!product)
    return;
  const bool isFirst = !mma.getAcc();
  Tile sum;
  if (!isFirst)
    sum = kernel.tiles[mma.getAcc()];
  if (!product->source) {
    sum = product->multiply(0, product->steps, product->wordsOf(mma.getLhs()),
                            isFirst ? nullptr : &sum);
    kernel.tiles[mma.getResult()] = std::move(sum);
    return all.wgmma.recordIssue(mma, 1);
  }
  // Split K into two pieces: the tensor core reads the registers of one while the threads compute
  // the other. More pieces would only add waits.
  const int64_t pieces = std::min<int64_t>(2, product->steps);
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const int64_t from = product->steps * piece / pieces,
                  to = product->steps * (piece + 1) / pieces;
    const SmallVector<unsigned> registers = product->registersOf(from, to);
    // This iteration overwrites the registers of the previous one, so wait until the previous MMAs
    // have read them: all MMAs except the pieces issued since. Make the raw data operands of the
    // wait, so that no instruction computes from them before it.
    RawTile raw = isFirst ? *product->source : product->waitForRegisters(registers, pieces - 1);
    const SmallVector<Value> words = product->packRegisters(registers, std::move(raw));
    sum = product->multiply(from, to, words, isFirst && piece == 0 ? nullptr : &sum);
  }
  kernel.tiles[mma.getResult()] = std::move(sum);
  all.wgmma.recordIssue(mma, pieces);
}

/// Whether all users of a tile, also through loops, are products that read it in registers.
static bool isOperandOnly(Value tile, llvm::DenseSet<Value> &seen) {
  if (!seen.insert(tile).second)
    return true;
  return all_of(tile.getUses(), [&](mlir::OpOperand &use) {
    mlir::Operation *user = use.getOwner();
    if (auto mma = dyn_cast<sm::MmaOp>(user))
      return mma.getAtom() == sm::Atom::wgmma && use.getOperandNumber() == 0;
    auto loop = isa<mlir::scf::YieldOp>(user) ? dyn_cast<mlir::scf::ForOp>(user->getParentOp())
                                              : dyn_cast<mlir::scf::ForOp>(user);
    if (!loop)
      return false;
    const unsigned first = isa<mlir::scf::YieldOp>(user) ? 0 : loop.getNumControlOperands();
    const unsigned at = use.getOperandNumber() - first;
    return isOperandOnly(loop.getRegionIterArg(at), seen) &&
           isOperandOnly(loop.getResult(at), seen);
  });
}

bool RegisterOperandLowering::isPacked(Value tile) {
  auto type = cast<mlir::RankedTensorType>(tile.getType());
  llvm::DenseSet<Value> seen;
  return kernel.currentRole && type.getElementType().isIntOrFloat() &&
         type.getElementTypeBitWidth() == 16 && type.getRank() == 2 && !tile.use_empty() &&
         isOperandOnly(tile, seen);
}

void RegisterOperandLowering::waitForReaders(mlir::ValueRange inputs) {
  std::string constraints;
  SmallVector<Value> through;
  for (Value input : inputs)
    for (Lanes lanes : kernel.tiles[input])
      if (lanes.value.getType().isF32()) {
        constraints += through.empty() ? "=f" : ",=f";
        through.push_back(lanes.value);
      }
  for (size_t i = 0; i < through.size(); ++i)
    constraints += concat(",", i);
  Value all =
      b.assembly(b.structOf(SmallVector<Type>(through.size(), b.f32Type)),
                 this->all.wgmma.waitForRegisterOperands(), constraints + ",~{memory}", through);
  unsigned at = 0;
  for (Value input : inputs)
    for (Lanes &lanes : kernel.tiles[input])
      if (lanes.value.getType().isF32())
        lanes.value = b.extractValue(all, at++);
}

void RegisterOperandLowering::pack(Value tile) {
  auto type = cast<mlir::RankedTensorType>(tile.getType());
  const ThreadLayout &threads = kernel.threadsOf(type);
  const Tile elements = kernel.tiles[tile];
  Tile words;
  for (unsigned reg = 0; reg < threads.registers(); reg += 2)
    words.push_back({threads.isDead(reg, type.getShape())
                         ? b.i32(0)
                         : packWord(b, {elements[reg], elements[reg + 1]}, type.getElementType())});
  kernel.tiles[tile] = std::move(words);
  all.fragments.markInWords(tile);
}

} // namespace tilewright::nvptx
