// A product whose left side is computed on its way: read from a slot by the threads, and given to
// wgmma in registers.
#include "tilewright/target/nvptx/emit/KernelEmitter.h"

#include "tilewright/support/Concat.h"
#include "tilewright/target/nvptx/emit/Wgmma.h"

#include "llvm/IR/IntrinsicsNVPTX.h"

#include <numeric>

using namespace llvm;

namespace tilewright::nvptx {

using sm::Axis;

bool KernelEmitter::isFromSlot(sm::CopyOp copy) {
  return copy.getResult() && isa<sm::BufferType>(copy.getSource().getType()) &&
         (copy.getEngine() == sm::Engine::ld || copy.getEngine() == sm::Engine::ldmatrix);
}

// --- From a slot to registers ---

namespace {

/// Where the elements of a slot's buffer are, in bytes. Indices and offsets are made of bits, and a
/// swizzle flips bits by others, so an offset is the XOR of a thread's part and a register's.
struct SlotPlaces {
  const sm::Layout &memory;
  int64_t bytes;                   // of an element
  SmallVector<int64_t> threadBits; // what each bit of the thread's number flips
  int64_t threadMask = 0;

  int64_t offset(ArrayRef<int64_t> index) const {
    return memory.apply(index)[Axis::offset] * bytes;
  }
  void addBit(ArrayRef<int64_t> index) {
    threadBits.push_back(offset(index));
    threadMask |= threadBits.back();
  }
};

/// One access: the bytes of `words` words from `offset` on.
struct SlotAccess {
  int64_t offset, bytes;
  SmallVector<unsigned> registers; // whose elements are there, one after another
};

} // namespace

/// Which elements lie together for every thread, at most 16 bytes of them.
static SmallVector<SlotAccess> accessesOf(const SlotPlaces &places, const sm::Layout &fragments) {
  std::map<int64_t, unsigned> byOffset;
  for (int64_t reg = 0; reg < fragments.extent(Axis::reg); ++reg)
    byOffset[places.offset(*fragments.indexOf(reg, 0))] = unsigned(reg);
  int64_t alignment = 16;
  for (int64_t flipped : places.threadBits)
    alignment = std::gcd(alignment, flipped);
  SmallVector<SlotAccess> accesses;
  for (auto at = byOffset.begin(); at != byOffset.end();) {
    int64_t run = 1;
    for (auto next = std::next(at);
         next != byOffset.end() && next->first == at->first + run * places.bytes; ++next)
      ++run;
    int64_t count = std::max<int64_t>(alignment / places.bytes, 1);
    while (count > 1 && (count > run || at->first % (count * places.bytes) != 0))
      count /= 2;
    SlotAccess access{at->first, count * places.bytes, {}};
    for (int64_t i = 0; i < count; ++i, ++at)
      access.registers.push_back(at->second);
    accesses.push_back(std::move(access));
  }
  return accesses;
}

void KernelEmitter::emitSlotLoad(sm::CopyOp copy) {
  IRBuilder<> &ir = b.ir;
  auto buffer = cast<sm::BufferType>(copy.getSource().getType());
  auto type = cast<mlir::RankedTensorType>(copy.getResult().getType());
  const sm::Layout &fragments = sm::layoutOf(type).getValue();
  SlotPlaces places{buffer.getLayout().getValue(), lanes::storageBytes(type.getElementType()), {}};
  const int64_t groups = fragments.extent(Axis::group), registers = fragments.extent(Axis::reg);
  if (type.getRank() != 2 || fragments.cover(0) != places.memory.cover(0) ||
      fragments.cover(1) != places.memory.cover(1) || !copy.getSourceOffsets().empty() ||
      fragments.extent(Axis::warp) != 4)
    return refuse(copy, concat("reads a slot in registers that are none of a group's: ",
                               fragments.str(), " of ", places.memory.str()));
  const bool isMatrix = copy.getEngine() == sm::Engine::ldmatrix;
  const bool kInner = places.offset({0, 1}) == places.bytes;
  const bool pairsRows = isMatrix && places.bytes == 1;
  // Bits of the lane: of the element that it reads, or of the row whose address it gives.
  for (int64_t bit = 0; bit < 5; ++bit) {
    const int64_t along = int64_t(1) << bit;
    if (!isMatrix)
      places.addBit(*fragments.indexOf(0, along));
    else if (pairsRows)
      places.addBit({0, along});
    else if (kInner)
      places.addBit(bit < 4 ? SmallVector<int64_t>{along, 0} : SmallVector<int64_t>{0, 8});
    else
      places.addBit(bit == 3   ? SmallVector<int64_t>{8, 0}
                    : bit == 4 ? SmallVector<int64_t>{0, 8}
                               : SmallVector<int64_t>{0, along});
  }
  for (int64_t warp : {1, 2})
    places.addBit(*fragments.indexOf(0, 0, warp));
  for (int64_t group = 1; group < groups; group *= 2)
    places.addBit(*fragments.indexOf(0, 0, 0, group));

  Value *own = once([&]() -> Value * {
    Value *all = i32(0);
    for (auto [bit, flipped] : enumerate(places.threadBits)) {
      Value *isOn = ir.CreateAnd(ir.CreateLShr(thread, i32(int64_t(bit))), i32(1));
      all = ir.CreateXor(all, ir.CreateMul(isOn, i32(flipped)));
    }
    return all;
  });
  // Slots begin at multiples of what a swizzle repeats after.
  constexpr int64_t turn = 1024;
  Value *base = ir.CreateAdd(buffers[copy.getSource()].address, own);
  std::map<int64_t, Value *> flippedBases;
  auto addressOf = [&](int64_t offset) -> std::pair<Value *, int64_t> {
    const int64_t flipped = offset & places.threadMask;
    Value *&known = flippedBases[flipped];
    if (!known)
      known = flipped == 0     ? base
              : flipped < turn ? ir.CreateXor(base, i32(flipped))
                               : ir.CreateAdd(buffers[copy.getSource()].address,
                                              ir.CreateXor(own, i32(flipped)));
    return {known, offset & ~places.threadMask};
  };

  RawTile raw;
  raw.parts.resize(size_t(registers));
  auto read = [&](StringRef instruction, int64_t words, int64_t offset) {
    auto [address, constant] = addressOf(offset);
    std::string list, constraints;
    for (int64_t i = 0; i < words; ++i) {
      list += concat(i ? ", $" : "$", i);
      constraints += "=r,";
    }
    if (words > 1 || isMatrix)
      list = concat("{", list, "}");
    Type *result = ir.getInt32Ty();
    if (words > 1)
      result = StructType::get(ir.getContext(), SmallVector<Type *>(size_t(words), result));
    Value *all = assembly(result,
                          concat(instruction.str(), " ", list, ", [$", words,
                                 constant ? concat("+", constant) : "", "];"),
                          constraints + "r,~{memory}", {address});
    const auto first = unsigned(raw.words.size());
    for (unsigned i = 0; i < words; ++i)
      raw.words.push_back(words == 1 ? all : ir.CreateExtractValue(all, i));
    return first;
  };
  if (isMatrix) {
    // The element of the first lane's row tells each register's word: rows of 16 bytes.
    std::map<std::pair<int64_t, int64_t>, unsigned> starts;
    const int64_t depth = pairsRows ? 32 : 16;
    for (int64_t reg = 0; reg < registers; ++reg) {
      SmallVector<int64_t> index = *fragments.indexOf(reg, 0);
      const int64_t row = index[0] / 16 * 16, k = index[1] / depth * depth;
      auto [found, isNew] = starts.try_emplace({row, k}, 0);
      if (isNew)
        found->second =
            read(concat("ldmatrix.sync.aligned.m8n8.x4", kInner ? "" : ".trans", ".shared.b16"), 4,
                 places.offset({row, k}));
      const int64_t inRow = index[0] - row, inDepth = index[1] - k;
      RawTile::Part &part = raw.parts[size_t(reg)];
      if (pairsRows)
        part = {found->second + unsigned(inDepth / 8), unsigned(inDepth % 2 * 16 + inRow * 8)};
      else
        part = {found->second + unsigned(inDepth / 8 * 2 + inRow / 8), unsigned(inDepth % 2 * 16)};
    }
  } else {
    for (const SlotAccess &access : accessesOf(places, fragments)) {
      const int64_t words = std::max<int64_t>(1, access.bytes / 4);
      const unsigned first = read(
          access.bytes < 4 ? concat("ld.shared.u", access.bytes * 8)
                           : concat("ld.shared.", words > 1 ? concat("v", words, ".") : "", "b32"),
          words, access.offset);
      for (auto [i, reg] : enumerate(access.registers)) {
        const int64_t bit = int64_t(i) * places.bytes * 8;
        raw.parts[reg] = {first + unsigned(bit / 32), unsigned(bit % 32)};
      }
    }
  }
  // Somebody other than the product, which decodes what it needs when it needs it.
  if (any_of(copy.getResult().getUsers(), [&](mlir::Operation *user) {
        return !deferred.contains(user) && !isa<sm::MmaOp>(user);
      })) {
    KnownRegisters known;
    Tile tile;
    for (unsigned reg = 0; reg < registers; ++reg)
      tile.push_back(decodeRaw(raw, reg, type.getElementType(), known));
    tiles[copy.getResult()] = std::move(tile);
  }
  rawTiles[copy.getResult()] = std::move(raw);
}

Lanes KernelEmitter::decodeRaw(RawTile &raw, unsigned reg, mlir::Type type, KnownRegisters &known) {
  IRBuilder<> &ir = b.ir;
  const RawTile::Part part = raw.parts[reg];
  Value *word = raw.words[part.word];
  const bool isE4m3 = isa<mlir::Float8E4M3FNType>(type);
  if (isE4m3 || isa<mlir::Float8E5M2Type>(type)) {
    // Two at once, which is what the instruction does.
    Lanes &pair = known[{word, part.bit / 16}];
    if (!pair.value) {
      Value *bytes = ir.CreateTrunc(ir.CreateLShr(word, i32(part.bit / 16 * 16)), ir.getInt16Ty());
      pair.value = ir.CreateIntrinsic(FixedVectorType::get(ir.getHalfTy(), 2),
                                      isE4m3 ? Intrinsic::nvvm_e4m3x2_to_f16x2_rn
                                             : Intrinsic::nvvm_e5m2x2_to_f16x2_rn,
                                      {bytes});
    }
    return {ir.CreateFPExt(ir.CreateExtractElement(pair.value, uint64_t(part.bit % 16 / 8)),
                           ir.getFloatTy())};
  }
  Value *bits = part.bit ? ir.CreateLShr(word, i32(part.bit)) : word;
  Type *stored = b.storageType(type);
  if (stored->isFloatTy())
    return {b.decode(ir.CreateBitCast(bits, stored), type)};
  return {b.decode(ir.CreateTrunc(bits, stored), type)};
}

// --- What is computed on the way ---

void KernelEmitter::deferPrologues(sm::RoleOp role) {
  deferred.clear();
  rawTiles.clear();
  viewRegisters.clear();
  role.getBody().walk([&](sm::MmaOp mma) {
    if (!isa<mlir::RankedTensorType>(mma.getLhs().getType()))
      return;
    SmallVector<mlir::Operation *> open{mma.getLhs().getDefiningOp()}, found;
    while (!open.empty()) {
      mlir::Operation *op = open.pop_back_val();
      if (!op || op->getBlock() != mma->getBlock() || !isa<tile::MapOp, tile::ViewOp>(op) ||
          !deferred.insert(op).second)
        continue;
      found.push_back(op);
      for (mlir::Value operand : op->getOperands())
        open.push_back(operand.getDefiningOp());
    }
    // What somebody else needs too is emitted where it stands.
    for (bool isChanged = true; isChanged;) {
      isChanged = false;
      for (mlir::Operation *op : found)
        if (deferred.contains(op) && any_of(op->getUsers(), [&](mlir::Operation *user) {
              return user != mma && !deferred.contains(user);
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
          return refuse(view, "moves elements between threads on the way to a product");
        viewRegisters[op] = std::move(*registers);
      }
  });
}

Lanes KernelEmitter::deferredRegister(mlir::Value value, unsigned reg, RawTile &raw,
                                      KnownRegisters &known) {
  mlir::Operation *op = value.getDefiningOp();
  if (rawTiles.contains(value))
    return decodeRaw(raw, reg, mlir::getElementTypeOrSelf(value), known);
  if (!op || !deferred.contains(op))
    return tiles[value][reg];
  auto [found, isNew] = known.try_emplace({value.getAsOpaquePointer(), reg});
  if (!isNew)
    return found->second;
  Lanes result;
  if (auto view = dyn_cast<tile::ViewOp>(op)) {
    const int64_t source = viewRegisters[op][reg];
    result = source < 0 ? poison(view.getType().getElementType())
                        : deferredRegister(view.getSource(), unsigned(source), raw, known);
  } else {
    auto map = cast<tile::MapOp>(op);
    SmallVector<Lanes> operands;
    for (mlir::Value input : map.getInputs())
      operands.push_back(deferredRegister(input, reg, raw, known));
    SmallVector<Lanes> results(lanes::emitBlock(b, map.getBody().front(), operands, 1));
    for (auto [made, lane] : zip_equal(map.getResults(), results)) {
      known[{made.getAsOpaquePointer(), reg}] = lane;
      if (made == value)
        result = lane;
    }
  }
  known[{value.getAsOpaquePointer(), reg}] = result;
  return result;
}

std::optional<unsigned> KernelEmitter::rawRegister(mlir::Value value, unsigned reg) {
  if (rawTiles.contains(value))
    return reg;
  mlir::Operation *op = value.getDefiningOp();
  if (!op || !deferred.contains(op))
    return std::nullopt;
  if (auto view = dyn_cast<tile::ViewOp>(op)) {
    const int64_t source = viewRegisters[op][reg];
    return source < 0 ? std::nullopt : rawRegister(view.getSource(), unsigned(source));
  }
  for (mlir::Value input : op->getOperands())
    if (std::optional<unsigned> found = rawRegister(input, reg))
      return found;
  return std::nullopt;
}

// --- The product ---

/// Elements as one word of the instruction's.
static Value *packWord(LaneBuilder &b, ArrayRef<Lanes> elements, mlir::Type type) {
  IRBuilder<> &ir = b.ir;
  Type *stored = type.isBF16() ? ir.getBFloatTy() : type.isF16() ? ir.getHalfTy() : ir.getInt8Ty();
  Value *vector = PoisonValue::get(FixedVectorType::get(stored, unsigned(elements.size())));
  for (auto [i, lanes] : enumerate(elements)) {
    Value *part;
    if (stored->isIntegerTy())
      part = b.encode(lanes.value, type);
    else if (auto *wide = dyn_cast<FPExtInst>(lanes.value);
             wide && wide->getOperand(0)->getType() == stored)
      part = wide->getOperand(0);
    else
      part = ir.CreateFPTrunc(lanes.value, stored);
    vector = ir.CreateInsertElement(vector, part, uint64_t(i));
  }
  return ir.CreateBitCast(vector, ir.getInt32Ty());
}

void KernelEmitter::emitMmaFromRegisters(sm::MmaOp mma) {
  IRBuilder<> &ir = b.ir;
  auto lhs = cast<mlir::RankedTensorType>(mma.getLhs().getType());
  auto rhs = dyn_cast<sm::BufferType>(mma.getRhs().getType());
  auto type = cast<mlir::RankedTensorType>(mma.getResult().getType());
  mlir::Type element = lhs.getElementType();
  if (mma.getAtom() != sm::Atom::wgmma || chip.matrix != "wgmma" || !rhs)
    return refuse(mma, "is no wgmma with its right side in a buffer");
  std::optional<wgmma::Kind> kind = wgmma::kindOf(element, type.getElementType());
  std::optional<wgmma::OperandWalk> c = wgmma::walkOf(rhs, 1);
  if (!kind || element != rhs.getElementType())
    return refuse(mma, "multiplies types that wgmma does not take");
  if (!c || (!kind->hasOrder && !c->kInner))
    return refuse(mma, concat("has a right side that wgmma does not take: ",
                              rhs.getLayout().getValue().str()));
  const sm::Layout &layout = sm::layoutOf(type).getValue(), &left = sm::layoutOf(lhs).getValue();
  const int64_t registers = layout.extent(Axis::reg), groups = layout.extent(Axis::group);
  const int64_t rows = layout.cover(0) / clusterDigit(layout, 0) / groups,
                columns = layout.cover(1) / clusterDigit(layout, 1);
  const int64_t blocks = rows / 64, perBlock = columns / 2, steps = left.cover(1) / kind->depth;
  const int64_t packed = 32 / element.getIntOrFloatBitWidth(), perStep = 4 * packed;
  const ThreadLayout &sums = threadsOf(type), &side = threadsOf(lhs);
  bool fits =
      rows % 64 == 0 && columns % 8 == 0 && columns <= 256 && registers == blocks * perBlock &&
      left.cover(1) % kind->depth == 0 && left.extent(Axis::reg) == blocks * steps * perStep &&
      left.cover(1) == lhs.getShape()[1] && currentRole &&
      int64_t(currentRole.getWarps()) == 4 * groups && side.forms[0].terms == sums.forms[0].terms;
  // The rows of a thread's registers are the accumulator's, and K is where the instruction has it.
  for (int64_t reg = 0; fits && reg < left.extent(Axis::reg); ++reg) {
    const int64_t block = reg / (steps * perStep), step = reg / perStep % steps,
                  inside = reg % perStep, half = inside / packed % 2;
    fits = side.constant(0, unsigned(reg)) ==
               sums.constant(0, unsigned(block * perBlock + 2 * half)) &&
           side.constant(1, unsigned(reg)) ==
               step * kind->depth + inside / (2 * packed) * kind->depth / 2 + inside % packed;
  }
  if (!fits)
    return refuse(
        mma, concat("has registers that are none of wgmma's: ", left.str(), " and ", layout.str()));

  // The slot that the side comes from.
  RawTile *source = nullptr;
  for (SmallVector<mlir::Value> open{mma.getLhs()}; !open.empty() && !source;) {
    mlir::Value value = open.pop_back_val();
    if (auto found = rawTiles.find(value); found != rawTiles.end())
      source = &found->second;
    else if (mlir::Operation *op = value.getDefiningOp(); op && deferred.contains(op))
      append_range(open, op->getOperands());
  }
  if (!source)
    return refuse(mma, "has a left side in registers that does not come from a slot");

  Value *start = ir.CreateLShr(buffers[mma.getRhs()].address, 4);
  Value *low = ir.CreateOr(ir.CreateAnd(start, i32(0x3FFF)), i32(c->lead << 16));
  const bool isFirst = !mma.getAcc();
  const bool isInteger = type.getElementType().isInteger();
  Type *sumType = b.computeType(type.getElementType());
  Tile tile;
  if (!isFirst)
    tile = tiles[mma.getAcc()];
  // Two pieces along K: while the tensor core has the registers of one, the other's are computed.
  // More would only be more waits.
  const int64_t pieces = std::min<int64_t>(2, steps);
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const int64_t from = steps * piece / pieces, to = steps * (piece + 1) / pieces;
    RawTile raw = *source;
    // An iteration's registers are those of the one before, whose product must have read them: all
    // but the pieces that were issued since. What they are computed from goes through the wait, so
    // that nothing is computed before it.
    if (!isFirst) {
      std::set<unsigned> words;
      for (int64_t block = 0; block < blocks; ++block)
        for (int64_t reg = from * perStep; reg < to * perStep; ++reg) {
          auto number = unsigned(block * steps * perStep + reg);
          if (std::optional<unsigned> found = rawRegister(mma.getLhs(), number))
            words.insert(raw.parts[*found].word);
        }
      std::string constraints;
      SmallVector<Value *> through;
      for (unsigned word : words) {
        constraints += through.empty() ? "=r" : ",=r";
        through.push_back(raw.words[word]);
      }
      for (size_t i = 0; i < through.size(); ++i)
        constraints += concat(",", i);
      Value *all = assembly(
          StructType::get(ir.getContext(), SmallVector<Type *>(through.size(), ir.getInt32Ty())),
          concat("wgmma.wait_group.sync.aligned ", pieces - 1, ";"), constraints + ",~{memory}",
          through);
      for (auto [i, word] : enumerate(words))
        raw.words[word] = ir.CreateExtractValue(all, unsigned(i));
    }
    KnownRegisters known;
    SmallVector<Value *> words;
    for (int64_t step = from; step < to; ++step)
      for (int64_t block = 0; block < blocks; ++block)
        for (int64_t word = 0; word < 4; ++word) {
          SmallVector<Lanes> elements;
          bool isDead = false;
          for (int64_t i = 0; i < packed; ++i) {
            const auto reg = unsigned((block * steps + step) * perStep + word * packed + i);
            isDead |= side.isDead(reg, lhs.getShape());
            if (!isDead)
              elements.push_back(deferredRegister(mma.getLhs(), reg, raw, known));
          }
          words.push_back(isDead ? i32(0) : packWord(b, elements, element));
        }
    std::string text = "{\n.reg .b64 c;\n.reg .b32 cl;\n.reg .pred on, off;\nsetp.eq.b32 on, 0, "
                       "0;\nsetp.ne.b32 off, 0, 0;\nwgmma.fence.sync.aligned;\n";
    const bool isZero = isFirst && piece == 0;
    const size_t rhsOperand = size_t(registers), firstWord = rhsOperand + 1;
    size_t word = firstWord;
    for (int64_t step = from; step < to; ++step)
      for (int64_t block = 0; block < blocks; ++block, word += 4) {
        text += concat("add.u32 cl, $", rhsOperand, ", ", c->step * step, ";\n");
        text += "mov.b64 c, {cl, 0x40000040};\n";
        text += concat("wgmma.mma_async.sync.aligned.m64n", columns, "k", kind->depth, ".",
                       kind->types, " {");
        for (int64_t i = 0; i < perBlock; ++i)
          text += concat(i ? ", $" : "$", block * perBlock + i);
        text += concat("}, {$", word, ", $", word + 1, ", $", word + 2, ", $", word + 3, "}, c, ",
                       isZero && step == from ? "off" : "on");
        if (kind->hasSigns)
          text += ", 1, 1";
        if (kind->hasOrder)
          text += c->kInner ? ", 0" : ", 1";
        text += ";\n";
      }
    text += "wgmma.commit_group.sync.aligned;\n}";
    std::string constraints;
    for (int64_t i = 0; i < registers; ++i)
      constraints += concat(i ? "," : "", isZero ? "=&" : "=", isInteger ? "r" : "f");
    SmallVector<Value *> operands{low};
    append_range(operands, words);
    for (size_t i = 0; i < operands.size(); ++i)
      constraints += ",r";
    if (!isZero)
      for (int64_t i = 0; i < registers; ++i) {
        constraints += concat(",", i);
        operands.push_back(tile[size_t(i)].value);
      }
    Value *sum =
        assembly(StructType::get(ir.getContext(), SmallVector<Type *>(size_t(registers), sumType)),
                 text, constraints + ",~{memory}", operands);
    tile.clear();
    for (unsigned i = 0; i < registers; ++i)
      tile.push_back({ir.CreateExtractValue(sum, i)});
  }
  tiles[mma.getResult()] = std::move(tile);
  inFlight.insert(mma.getResult());
  countProducts(mma, pieces);
}

} // namespace tilewright::nvptx
