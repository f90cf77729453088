// Matmuls whose left operand has a prologue: threads read the operand from a slot and pass it to
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

/// One access to a slot: `bytes` bytes at `offset`, and the registers of the consecutive elements
/// that it reads.
namespace {
struct SlotAccess {
  int64_t offset, bytes;
  SmallVector<unsigned> registers;
};
} // namespace

/// Groups elements that are contiguous for every thread into accesses of at most 16 bytes. `ofBits`
/// has the offset that each bit of the thread id contributes, `offsets` the offset of each
/// register.
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
    return refuse(copy, concat("must read a whole slot into the registers of warpgroups, got ",
                               fragments.str(), " from ", memory.str()));
  const bool isMatrix = copy.getEngine() == sm::Engine::ldmatrix;
  const bool kInner = byteOf(buffer, {0, 1}) == bytes, pairsRows = isMatrix && bytes == 1;
  // The offset that each bit of the thread id contributes. A lane's bits select the element that it
  // reads or, for ldmatrix, the row whose address it provides: row i mod 8 of matrix i / 8 for lane
  // i.
  SmallVector<int64_t> ofBits;
  for (int64_t bit = 0; bit < 5; ++bit) {
    const int64_t along = int64_t(1) << bit;
    SmallVector<int64_t> index{0, along}; // rows of a transposed matrix go along K
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
  raw.positions.resize(size_t(registers));
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
    // Each ldmatrix loads four matrices with rows of 16 bytes: 16 rows by 16 elements, or 16 by 32
    // for bytes along M.
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
      RawTile::BitPosition &position = raw.positions[size_t(reg)];
      if (pairsRows)
        position = {found->second + unsigned(inDepth / 8), unsigned(inDepth % 2 * 16 + inRow * 8)};
      else
        position = {found->second + unsigned(inDepth / 8 * 2 + inRow / 8),
                    unsigned(inDepth % 2 * 16)};
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
        raw.positions[reg] = {first + unsigned(bit / 32), unsigned(bit % 32)};
      }
    }
  }
  // Decode now only for other users; a matmul decodes each element when it needs it.
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
  const RawTile::BitPosition at = raw.positions[reg];
  Value *word = raw.words[at.word];
  const bool isE4m3 = isa<mlir::Float8E4M3FNType>(type);
  if (isE4m3 || isa<mlir::Float8E5M2Type>(type)) {
    // The instruction converts two elements at once.
    Lanes &pair = known[{word, at.bit / 16}];
    if (!pair.value) {
      Value *bytes = ir.CreateTrunc(ir.CreateLShr(word, i32(at.bit / 16 * 16)), ir.getInt16Ty());
      pair.value = ir.CreateIntrinsic(FixedVectorType::get(ir.getHalfTy(), 2),
                                      isE4m3 ? Intrinsic::nvvm_e4m3x2_to_f16x2_rn
                                             : Intrinsic::nvvm_e5m2x2_to_f16x2_rn,
                                      {bytes});
    }
    return {ir.CreateFPExt(ir.CreateExtractElement(pair.value, uint64_t(at.bit % 16 / 8)),
                           ir.getFloatTy())};
  }
  Value *bits = at.bit ? ir.CreateLShr(word, i32(at.bit)) : word;
  Type *stored = b.storageType(type);
  if (stored->isFloatTy())
    return {b.decode(ir.CreateBitCast(bits, stored), type)};
  return {b.decode(ir.CreateTrunc(bits, stored), type)};
}

// --- The prologue ---

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
    // Ops that also have other users are not deferred, but emitted in place.
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
          return refuse(
              view,
              "moves elements between threads in a matmul's prologue, which is not supported");
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

/// Packs elements into one word of the instruction.
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
  if (mma.getAtom() != sm::Atom::wgmma || chip.matrix != MatrixUnit::wgmma || !rhs)
    return no("is not a wgmma with its right operand in a buffer");
  std::optional<wgmma::Kind> kind = wgmma::kindOf(element, type.getElementType());
  std::optional<wgmma::OperandWalk> walk = wgmma::walkOf(rhs, 1);
  if (!kind || element != rhs.getElementType())
    return no("multiplies types that wgmma does not support");
  if (!walk || (!kind->hasOrder && !walk->kInner))
    return no(concat("has a right operand that wgmma does not support: ",
                     rhs.getLayout().getValue().str()));
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
  // The rows of a thread's registers must match those of the accumulator, and K must match the
  // instruction.
  for (int64_t reg = 0; fits && reg < left.extent(Axis::reg); ++reg) {
    const int64_t block = reg / (product.steps * perStep), step = reg / perStep % product.steps,
                  inside = reg % perStep, half = inside / packed % 2;
    fits = side.constant(0, unsigned(reg)) ==
               sums.constant(0, unsigned(block * perBlock + 2 * half)) &&
           side.constant(1, unsigned(reg)) ==
               step * kind->depth + inside / (2 * packed) * kind->depth / 2 + inside % packed;
  }
  if (!fits)
    return no(concat("has register layouts that wgmma does not support: ", left.str(), " and ",
                     layout.str()));
  // Find the slot that the operand is read from.
  for (SmallVector<mlir::Value> open{mma.getLhs()}; !open.empty() && !product.source;) {
    mlir::Value value = open.pop_back_val();
    if (auto found = rawTiles.find(value); found != rawTiles.end())
      product.source = &found->second;
    else if (mlir::Operation *op = value.getDefiningOp(); op && deferred.contains(op))
      append_range(open, op->getOperands());
  }
  if (!product.source)
    return no("has a left operand in registers, which must be loaded from a slot");
  return product;
}

KernelEmitter::RawTile KernelEmitter::waitForRegisters(sm::MmaOp mma,
                                                       const RegisterProduct &product,
                                                       ArrayRef<unsigned> registers, int64_t left) {
  RawTile raw = *product.source;
  std::set<unsigned> words;
  for (unsigned reg : registers)
    if (std::optional<unsigned> found = rawRegister(mma.getLhs(), reg))
      words.insert(raw.positions[*found].word);
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
  // Split K into two pieces: the tensor core reads the registers of one while the threads compute
  // the other. More pieces would only add waits.
  const int64_t pieces = std::min<int64_t>(2, product->steps);
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const int64_t from = product->steps * piece / pieces,
                  to = product->steps * (piece + 1) / pieces;
    SmallVector<unsigned> registers; // in the order of the instructions
    for (int64_t step = from; step < to; ++step)
      for (int64_t block = 0; block < product->blocks; ++block)
        for (int64_t i = 0; i < product->perStep(); ++i)
          registers.push_back(unsigned((block * product->steps + step) * product->perStep() + i));
    // This iteration overwrites the registers of the previous one, so wait until the previous MMAs
    // have read them: all MMAs except the pieces issued since. Make the raw data operands of the
    // wait, so that no instruction computes from them before it.
    RawTile raw =
        isFirst ? *product->source : waitForRegisters(mma, *product, registers, pieces - 1);
    KnownRegisters known;
    SmallVector<Value *> words;
    for (size_t first = 0; first < registers.size(); first += size_t(product->packed)) {
      SmallVector<Lanes> elements;
      // Use zero for rows outside of the tile.
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
