#include "tilewright/target/nvptx/lower/PtxMachine.h"

#include "tilewright/support/Concat.h"

using namespace llvm;

namespace tilewright::nvptx {

PtxMachine::PtxMachine(const Chip &chip)
    : Machine({.chip = chip.name,
               .warpSize = Chip::warpSize,
               .threadsPerBlock = Chip::threadsPerBlock,
               .sharedBytes = chip.sharedPerBlockOptin,
               .sharedBanks = 32,
               .gridX = Chip::gridX,
               .gridYZ = Chip::gridY,
               .variableSpace = 0}) {}

// --- Threads ---

Value PtxMachine::threadId(ThreadBuilder &b) const { return b.make<NVVM::ThreadIdXOp>(b.i32Type); }

Value PtxMachine::blockId(ThreadBuilder &b, unsigned dim) const {
  return dim == 0   ? b.make<NVVM::BlockIdXOp>(b.i32Type).getResult()
         : dim == 1 ? b.make<NVVM::BlockIdYOp>(b.i32Type).getResult()
                    : b.make<NVVM::BlockIdZOp>(b.i32Type).getResult();
}

Value PtxMachine::clusterRank(ThreadBuilder &b) const { return b.make<NVVM::ClusterId>(b.i32Type); }

void PtxMachine::barrier(ThreadBuilder &b) const { b.make<NVVM::BarrierOp>(); }

void PtxMachine::roleBarrier(ThreadBuilder &b, int64_t number, int64_t threads) const {
  b.make<NVVM::BarrierOp>(mlir::TypeRange(), b.i32(number), b.i32(threads),
                          NVVM::BarrierReductionAttr(), Value());
}

void PtxMachine::warpBarrier(ThreadBuilder &b) const { b.make<NVVM::SyncWarpOp>(b.i32(-1)); }

// --- Lanes of a warp ---

static Value shuffle(ThreadBuilder &b, NVVM::ShflKind kind, Value word, Value operand) {
  return b.make<NVVM::ShflOp>(b.i32Type, b.i32(-1), word, operand, b.i32(31), kind,
                              mlir::UnitAttr());
}

Value PtxMachine::shuffleXor(ThreadBuilder &b, Value word, int64_t mask) const {
  return shuffle(b, NVVM::ShflKind::bfly, word, b.i32(mask));
}

Value PtxMachine::shuffleFrom(ThreadBuilder &b, Value word, Value from) const {
  return shuffle(b, NVVM::ShflKind::idx, word, from);
}

Value PtxMachine::ballot(ThreadBuilder &b, Value condition) const {
  return b.assembly(b.i32Type, "vote.sync.ballot.b32 $0, $1, 0xffffffff;", "=r,b", {condition});
}

Value PtxMachine::lanesWithKey(ThreadBuilder &b, Value key, int64_t) const {
  return b.assembly(b.i32Type, "match.any.sync.b32 $0, $1, 0xffffffff;", "=r,r", {key});
}

Value PtxMachine::isAmong(ThreadBuilder &b, uint64_t lanes, Value lane) const {
  return b.trunc(b.lshr(b.i32(int64_t(lanes)), lane), b.i1Type);
}

// --- Atomic accesses ---

/// An address operand with an immediate offset.
static std::string at(unsigned operand, int64_t offset) {
  return offset ? concat("[$", operand, "+", offset, "]") : concat("[$", operand, "]");
}

static std::string_view constraintOf(Type type) { return bitsOf(type) == 64 ? "l" : "r"; }

Value PtxMachine::loadRelaxed(ThreadBuilder &b, Type type, Value address, int64_t offset) const {
  return b.assembly(type,
                    concat("ld.relaxed.gpu.global.b", bitsOf(type), " $0, ", at(1, offset), ";"),
                    concat("=", constraintOf(type), ",l,~{memory}"), {address});
}

void PtxMachine::storeRelaxedIf(ThreadBuilder &b, Value isOn, Value value, Value address,
                                int64_t offset) const {
  Type type = value.getType();
  b.assembly({}, concat("@$0 st.relaxed.gpu.global.b", bitsOf(type), " ", at(1, offset), ", $2;"),
             concat("b,l,", constraintOf(type), ",~{memory}"), {isOn, address, value});
}

Value PtxMachine::fetchAdd(ThreadBuilder &b, Value address, int64_t offset, int64_t add) const {
  return b.assembly(b.i32Type,
                    concat("atom.relaxed.gpu.global.add.u32 $0, ", at(1, offset), ", ", add, ";"),
                    "=r,l,~{memory}", {address});
}

/// The name of the instruction, and the letter of its type.
static std::pair<std::string_view, std::string_view> nameOf(Combination combination) {
  switch (combination) {
  case Combination::add:
    return {"add", "u"};
  case Combination::bitAnd:
    return {"and", "b"};
  case Combination::bitOr:
    return {"or", "b"};
  case Combination::bitXor:
    return {"xor", "b"};
  case Combination::minSigned:
    return {"min", "s"};
  case Combination::maxSigned:
    return {"max", "s"};
  case Combination::minUnsigned:
    return {"min", "u"};
  case Combination::maxUnsigned:
    return {"max", "u"};
  }
  llvm_unreachable("unknown combination");
}

void PtxMachine::combineIf(ThreadBuilder &b, Value isOn, Combination combination, Value value,
                           Value pointer) const {
  const auto [name, letter] = nameOf(combination);
  Type type = value.getType();
  b.plainAssembly(
      {}, concat("@$0 red.relaxed.gpu.global.", name, ".", letter, bitsOf(type), " [$1], $2;"),
      concat("b,l,", constraintOf(type), ",~{memory}"),
      {isOn, b.ptrToInt(pointer, b.i64Type), value});
}

void fenceAsyncProxy(ThreadBuilder &b) {
  b.make<NVVM::FenceProxyOp>(
      NVVM::ProxyKind::async_shared,
      NVVM::SharedSpaceAttr::get(b.op.getContext(), NVVM::SharedSpace::shared_cta));
}

} // namespace tilewright::nvptx
