// A product whose left side is computed on its way: read from a slot by the threads, and given to
// wgmma in registers.
#include "tilewright/target/nvptx/emit/KernelEmitter.h"

#include "tilewright/dialect/sm/BankConflicts.h"
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

/// What one access reads: bytes from an offset on, with the elements of these registers one after
/// another.
namespace {
struct SlotAccess {
  int64_t offset, bytes;
  SmallVector<unsigned> registers;
};
} // namespace

/// Which elements lie together for every thread, at most 16 bytes of them. `ofBits` is what each
/// bit of the thread's number adds to the offset, `offsets` what each register does.
static SmallVector<SlotAccess> accessesOf(ArrayRef<int64_t> ofBits, ArrayRef<int64_t> offsets,
                                          int64_t elementBytes) {
  std::map<int64_t, unsigned> byOffset;
  for (auto [reg, offset] : enumerate(offsets))
    byOffset[offset] = unsigned(reg);
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

void KernelEmitter::emitSlotLoad(sm::CopyOp copy) {
  IRBuilder<> &ir = b.ir;
  auto buffer = cast<sm::BufferType>(copy.getSource().getType());
  auto type = cast<mlir::RankedTensorType>(copy.getResult().getType());
  const sm::Layout &fragments = sm::layoutOf(type).getValue(),
                   &memory = buffer.getLayout().getValue();
  const int64_t bytes = lanes::storageBytes(type.getElementType());
  const int64_t registers = fragments.extent(Axis::reg);
  if (type.getRank() != 2 || fragments.cover(0) != memory.cover(0) ||
      fragments.cover(1) != memory.cover(1) || !copy.getSourceOffsets().empty() ||
      fragments.extent(Axis::warp) != 4 || !sm::isLinear(memory) || !sm::isLinear(fragments))
    return refuse(copy, concat("reads a slot in registers that are none of a group's: ",
                               fragments.str(), " of ", memory.str()));
  const bool isMatrix = copy.getEngine() == sm::Engine::ldmatrix;
  const bool kInner = byteOf(buffer, {0, 1}) == bytes, pairsRows = isMatrix && bytes == 1;
  // What bits of the thread's number add. Those of the lane: to the element that it reads, or to
  // the row whose address it gives, which is row i mod 8 of matrix i / 8 for lane i.
  SmallVector<int64_t> ofBits;
  for (int64_t bit = 0; bit < 5; ++bit) {
    const int64_t along = int64_t(1) << bit;
    SmallVector<int64_t> index{0, along}; // rows of a turned matrix go along K
    if (!isMatrix)
      index = *fragments.indexOf(0, along);
    else if (!pairsRows && (bit == 3 || (kInner && bit < 3)))
      index = {along, 0};
    else if (!pairsRows && bit == 4)
      index = {0, 8};
    ofBits.push_back(byteOf(buffer, index));
  }
  for (int64_t warp : {1, 2})
    ofBits.push_back(byteOf(buffer, *fragments.indexOf(0, 0, warp)));
  for (int64_t group = 1; group < fragments.extent(Axis::group); group *= 2)
    ofBits.push_back(byteOf(buffer, *fragments.indexOf(0, 0, 0, group)));

  RawTile raw;
  raw.parts.resize(size_t(registers));
  auto read = [&](const std::string &instruction, int64_t words, int64_t offset) {
    const SplitOffset at = offsetOfThread(ofBits, offset);
    std::string list, constraints;
    for (int64_t i = 0; i < words; ++i) {
      list += concat(i ? ", $" : "$", i);
      constraints += "=r,";
    }
    Type *result = ir.getInt32Ty();
    if (words > 1)
      result = StructType::get(ir.getContext(), SmallVector<Type *>(size_t(words), result));
    Value *all = assembly(result,
                          concat(instruction, " ", words > 1 ? concat("{", list, "}") : list,
                                 ", [$", words, "+", at.constant, "];"),
                          constraints + "r,~{memory}",
                          {ir.CreateAdd(buffers[copy.getSource()].address, at.varying)});
    const auto first = unsigned(raw.words.size());
    for (unsigned i = 0; i < words; ++i)
      raw.words.push_back(words == 1 ? all : ir.CreateExtractValue(all, i));
    return first;
  };
  if (isMatrix) {
    // Four matrices with rows of 16 bytes: 16 rows by 16 elements, or of bytes along M 16 by 32.
    std::map<std::pair<int64_t, int64_t>, unsigned> starts;
    const int64_t depth = pairsRows ? 32 : 16;
    for (int64_t reg = 0; reg < registers; ++reg) {
      const SmallVector<int64_t> index = *fragments.indexOf(reg, 0);
      const int64_t row = index[0] / 16 * 16, k = index[1] / depth * depth;
      auto [found, isNew] = starts.try_emplace({row, k}, 0);
      if (isNew)
        found->second =
            read(concat("ldmatrix.sync.aligned.m8n8.x4", kInner ? "" : ".trans", ".shared.b16"), 4,
                 byteOf(buffer, {row, k}));
      const int64_t inRow = index[0] - row, inDepth = index[1] - k;
      RawTile::Part &part = raw.parts[size_t(reg)];
      if (pairsRows)
        part = {found->second + unsigned(inDepth / 8), unsigned(inDepth % 2 * 16 + inRow * 8)};
      else
        part = {found->second + unsigned(inDepth / 8 * 2 + inRow / 8), unsigned(inDepth % 2 * 16)};
    }
  } else {
    SmallVector<int64_t> offsets;
    for (int64_t reg = 0; reg < registers; ++reg)
      offsets.push_back(byteOf(buffer, *fragments.indexOf(reg, 0)));
    for (const SlotAccess &access : accessesOf(ofBits, offsets, bytes)) {
      const int64_t words = std::max<int64_t>(1, access.bytes / 4);
      const std::string instruction = access.bytes < 4 ? concat("ld.shared.u", access.bytes * 8)
                                      : words == 1     ? std::string("ld.shared.b32")
                                                       : concat("ld.shared.v", words, ".b32");
      const unsigned first = read(instruction, words, access.offset);
      for (auto [i, reg] : enumerate(access.registers)) {
        const int64_t bit = int64_t(i) * bytes * 8;
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

std::optional<KernelEmitter::RegisterProduct> KernelEmitter::registerProduct(sm::MmaOp mma) {
  auto no = [&](std::string_view why) -> std::optional<RegisterProduct> {
    refuse(mma, why);
    return std::nullopt;
  };
  auto lhs = cast<mlir::RankedTensorType>(mma.getLhs().getType());
  auto rhs = dyn_cast<sm::BufferType>(mma.getRhs().getType());
  auto type = cast<mlir::RankedTensorType>(mma.getResult().getType());
  mlir::Type element = lhs.getElementType();
  if (mma.getAtom() != sm::Atom::wgmma || chip.matrix != "wgmma" || !rhs)
    return no("is no wgmma with its right side in a buffer");
  std::optional<wgmma::Kind> kind = wgmma::kindOf(element, type.getElementType());
  std::optional<wgmma::OperandWalk> walk = wgmma::walkOf(rhs, 1);
  if (!kind || element != rhs.getElementType())
    return no("multiplies types that wgmma does not take");
  if (!walk || (!kind->hasOrder && !walk->kInner))
    return no(
        concat("has a right side that wgmma does not take: ", rhs.getLayout().getValue().str()));
  const sm::Layout &layout = sm::layoutOf(type).getValue(), &left = sm::layoutOf(lhs).getValue();
  RegisterProduct product{.kind = *kind, .walk = *walk};
  const int64_t groups = layout.extent(Axis::group);
  const int64_t rows = layout.cover(0) / clusterDigit(layout, 0) / groups;
  product.sums = layout.extent(Axis::reg);
  product.columns = layout.cover(1) / clusterDigit(layout, 1);
  product.blocks = rows / 64;
  product.steps = left.cover(1) / kind->depth;
  product.packed = 32 / int64_t(element.getIntOrFloatBitWidth());
  const int64_t perBlock = product.columns / 2, packed = product.packed,
                perStep = product.perStep();
  const ThreadLayout &sums = threadsOf(type), &side = threadsOf(lhs);
  bool fits = rows % 64 == 0 && product.columns % 8 == 0 && product.columns <= 256 &&
              product.sums == product.blocks * perBlock && left.cover(1) % kind->depth == 0 &&
              left.extent(Axis::reg) == product.blocks * product.steps * perStep &&
              left.cover(1) == lhs.getShape()[1] && currentRole &&
              int64_t(currentRole.getWarps()) == 4 * groups &&
              side.forms[0].terms == sums.forms[0].terms;
  // The rows of a thread's registers are the accumulator's, and K is where the instruction has it.
  for (int64_t reg = 0; fits && reg < left.extent(Axis::reg); ++reg) {
    const int64_t block = reg / (product.steps * perStep), step = reg / perStep % product.steps,
                  inside = reg % perStep, half = inside / packed % 2;
    fits = side.constant(0, unsigned(reg)) ==
               sums.constant(0, unsigned(block * perBlock + 2 * half)) &&
           side.constant(1, unsigned(reg)) ==
               step * kind->depth + inside / (2 * packed) * kind->depth / 2 + inside % packed;
  }
  if (!fits)
    return no(
        concat("has registers that are none of wgmma's: ", left.str(), " and ", layout.str()));
  // The slot that the side comes from.
  for (SmallVector<mlir::Value> open{mma.getLhs()}; !open.empty() && !product.source;) {
    mlir::Value value = open.pop_back_val();
    if (auto found = rawTiles.find(value); found != rawTiles.end())
      product.source = &found->second;
    else if (mlir::Operation *op = value.getDefiningOp(); op && deferred.contains(op))
      append_range(open, op->getOperands());
  }
  if (!product.source)
    return no("has a left side in registers that does not come from a slot");
  return product;
}

KernelEmitter::RawTile KernelEmitter::waitForRegisters(sm::MmaOp mma,
                                                       const RegisterProduct &product,
                                                       ArrayRef<unsigned> registers, int64_t left) {
  RawTile raw = *product.source;
  std::set<unsigned> words;
  for (unsigned reg : registers)
    if (std::optional<unsigned> found = rawRegister(mma.getLhs(), reg))
      words.insert(raw.parts[*found].word);
  std::string constraints;
  SmallVector<Value *> through;
  for (unsigned word : words) {
    constraints += through.empty() ? "=r" : ",=r";
    through.push_back(raw.words[word]);
  }
  for (size_t i = 0; i < through.size(); ++i)
    constraints += concat(",", i);
  Value *all = assembly(
      StructType::get(b.ir.getContext(), SmallVector<Type *>(through.size(), b.ir.getInt32Ty())),
      concat("wgmma.wait_group.sync.aligned ", left, ";"), constraints + ",~{memory}", through);
  for (auto [i, word] : enumerate(words))
    raw.words[word] = b.ir.CreateExtractValue(all, unsigned(i));
  return raw;
}

Tile KernelEmitter::multiplyPiece(sm::MmaOp mma, const RegisterProduct &product, int64_t from,
                                  int64_t to, ArrayRef<Value *> words, const Tile *acc) {
  IRBuilder<> &ir = b.ir;
  auto type = cast<mlir::RankedTensorType>(mma.getResult().getType());
  const bool isInteger = type.getElementType().isInteger();
  const int64_t sums = product.sums, perBlock = product.columns / 2;
  std::string text = "{\n.reg .b64 c;\n.reg .b32 cl;\n.reg .pred on, off;\nsetp.eq.b32 on, 0, "
                     "0;\nsetp.ne.b32 off, 0, 0;\nwgmma.fence.sync.aligned;\n";
  size_t word = size_t(sums) + 1;
  for (int64_t step = from; step < to; ++step)
    for (int64_t block = 0; block < product.blocks; ++block, word += 4) {
      text += concat("add.u32 cl, $", sums, ", ", product.walk.step * step,
                     ";\nmov.b64 c, {cl, 0x40000040};\n");
      text += concat("wgmma.mma_async.sync.aligned.m64n", product.columns, "k", product.kind.depth,
                     ".", product.kind.types, " {");
      for (int64_t i = 0; i < perBlock; ++i)
        text += concat(i ? ", $" : "$", block * perBlock + i);
      text += concat("}, {$", word, ", $", word + 1, ", $", word + 2, ", $", word + 3, "}, c, ",
                     !acc && step == from ? "off" : "on");
      if (product.kind.hasSigns)
        text += ", 1, 1";
      if (product.kind.hasOrder)
        text += product.walk.kInner ? ", 0" : ", 1";
      text += ";\n";
    }
  text += "wgmma.commit_group.sync.aligned;\n}";
  Value *start = ir.CreateLShr(buffers[mma.getRhs()].address, 4);
  SmallVector<Value *> operands{
      ir.CreateOr(ir.CreateAnd(start, i32(0x3FFF)), i32(product.walk.lead << 16))};
  append_range(operands, words);
  std::string constraints;
  for (int64_t i = 0; i < sums; ++i)
    constraints += concat(i ? "," : "", acc ? "=" : "=&", isInteger ? "r" : "f");
  for (size_t i = 0; i < operands.size(); ++i)
    constraints += ",r";
  for (int64_t i = 0; acc && i < sums; ++i) {
    constraints += concat(",", i);
    operands.push_back((*acc)[size_t(i)].value);
  }
  Type *sumType = b.computeType(type.getElementType());
  Value *all =
      assembly(StructType::get(ir.getContext(), SmallVector<Type *>(size_t(sums), sumType)), text,
               constraints + ",~{memory}", operands);
  Tile result;
  for (unsigned i = 0; i < sums; ++i)
    result.push_back({ir.CreateExtractValue(all, i)});
  return result;
}

void KernelEmitter::emitMmaFromRegisters(sm::MmaOp mma) {
  std::optional<RegisterProduct> product = registerProduct(mma);
  if (!product)
    return;
  auto lhs = cast<mlir::RankedTensorType>(mma.getLhs().getType());
  const ThreadLayout &side = threadsOf(lhs);
  const bool isFirst = !mma.getAcc();
  Tile sum;
  if (!isFirst)
    sum = tiles[mma.getAcc()];
  // Two pieces along K: while the tensor core has the registers of one, the other's are computed.
  // More would only be more waits.
  const int64_t pieces = std::min<int64_t>(2, product->steps);
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const int64_t from = product->steps * piece / pieces,
                  to = product->steps * (piece + 1) / pieces;
    SmallVector<unsigned> registers; // in the instructions' order
    for (int64_t step = from; step < to; ++step)
      for (int64_t block = 0; block < product->blocks; ++block)
        for (int64_t i = 0; i < product->perStep(); ++i)
          registers.push_back(unsigned((block * product->steps + step) * product->perStep() + i));
    // An iteration's registers are those of the one before, whose product must have read them: all
    // but the pieces that were issued since. What they are computed from goes through the wait, so
    // that nothing is computed before it.
    RawTile raw =
        isFirst ? *product->source : waitForRegisters(mma, *product, registers, pieces - 1);
    KnownRegisters known;
    SmallVector<Value *> words;
    for (size_t first = 0; first < registers.size(); first += size_t(product->packed)) {
      SmallVector<Lanes> elements;
      // Rows beyond the tile are nobody's.
      if (!side.isDead(registers[first], lhs.getShape()))
        for (int64_t i = 0; i < product->packed; ++i)
          elements.push_back(
              deferredRegister(mma.getLhs(), registers[first + size_t(i)], raw, known));
      words.push_back(elements.empty() ? i32(0) : packWord(b, elements, lhs.getElementType()));
    }
    sum = multiplyPiece(mma, *product, from, to, words, isFirst && piece == 0 ? nullptr : &sum);
  }
  tiles[mma.getResult()] = std::move(sum);
  inFlight.insert(mma.getResult());
  countProducts(mma, pieces);
}

} // namespace tilewright::nvptx
