#include "tilewright/target/amdgcn/lower/AmdMachine.h"

#include "tilewright/target/gpu/thread/MemoryAccess.h"
#include "tilewright/target/gpu/thread/ThreadBuilder.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace llvm;

namespace tilewright::amdgcn {

namespace LLVM = mlir::LLVM;
using mlir::Block;

AmdMachine::AmdMachine(const Chip &chip)
    : Machine({.chip = chip.name,
               .warpSize = Chip::waveSize,
               .threadsPerBlock = Chip::threadsPerBlock,
               .sharedBytes = chip.ldsPerUnit,
               .sharedBanks = chip.ldsBanks,
               // A launch counts its threads along x, not its workgroups, in 32 bits.
               .gridX = (int64_t(1) << 32) / Chip::threadsPerBlock - 1,
               .gridYZ = Chip::gridY,
               .variableSpace = 5,
               .transposedBytes = chip.loadsWideToLds ? 8 : 0,
               .hasMaximumOfThree = true,
               .prefersWideReads = true,
               .offsetConstants = 4096}) {}

// --- Threads ---

Value AmdMachine::threadId(ThreadBuilder &b) const {
  return b.intrinsic(b.i32Type, "llvm.amdgcn.workitem.id.x", {});
}

Value AmdMachine::blockId(ThreadBuilder &b, unsigned dim) const {
  static constexpr const char *names[] = {
      "llvm.amdgcn.workgroup.id.x", "llvm.amdgcn.workgroup.id.y", "llvm.amdgcn.workgroup.id.z"};
  return b.intrinsic(b.i32Type, names[dim], {});
}

// KernelLowering refuses kernels with clusters and roles.
Value AmdMachine::clusterRank(ThreadBuilder &b) const { return b.i32(0); }
void AmdMachine::roleBarrier(ThreadBuilder &b, int64_t, int64_t) const { barrier(b); }

/// A barrier between two fences: the accesses before it are complete, and no access behind it has
/// begun. The fences make LLVM wait, as s_barrier itself waits for no access.
static void fenced(ThreadBuilder &b, StringRef scope, StringRef barrier) {
  b.make<LLVM::FenceOp>(LLVM::AtomicOrdering::release, scope);
  b.intrinsic({}, barrier, {});
  b.make<LLVM::FenceOp>(LLVM::AtomicOrdering::acquire, scope);
}

void AmdMachine::barrier(ThreadBuilder &b) const {
  fenced(b, "workgroup", "llvm.amdgcn.s.barrier");
}

// LDS performs the accesses of a wave in their order; this keeps LLVM from changing it.
void AmdMachine::warpBarrier(ThreadBuilder &b) const {
  fenced(b, "wavefront", "llvm.amdgcn.wave.barrier");
}

Value AmdMachine::uniform(ThreadBuilder &b, Value value) const {
  Type type = value.getType();
  const unsigned bits = gpu::bitsOf(type);
  Value raw = type.isInteger() ? value : b.bitcast(value, b.intType(bits));
  auto first = [&](Value word) {
    return b.intrinsic(b.i32Type, "llvm.amdgcn.readfirstlane.i32", {word});
  };
  if (bits <= 32) {
    raw = b.trunc(first(b.zext(raw, b.i32Type)), b.intType(bits));
  } else if (bits == 64) {
    Value low = b.zext(first(b.trunc(raw, b.i32Type)), b.i64Type);
    Value high = b.zext(first(b.trunc(b.lshr(raw, b.i64(32)), b.i32Type)), b.i64Type);
    raw = b.bitOr(low, b.shl(high, b.i64(32)));
  } else {
    return value;
  }
  return type.isInteger() ? raw : b.bitcast(raw, type);
}

// --- Lanes of a wave ---

/// The control of a DPP instruction that reads the lane `own ^ mask`, if there is one.
static std::optional<int64_t> dppOf(int64_t mask) {
  auto quad = [](int64_t a, int64_t b, int64_t c, int64_t d) {
    return a | b << 2 | c << 4 | d << 6;
  };
  switch (mask) {
  case 1:
    return quad(1, 0, 3, 2);
  case 2:
    return quad(2, 3, 0, 1);
  case 3:
    return quad(3, 2, 1, 0);
  case 7:
    return 0x141; // row_half_mirror
  case 8:
    return 0x128; // row_ror:8
  case 15:
    return 0x140; // row_mirror
  default:
    return std::nullopt;
  }
}

Value AmdMachine::shuffleXor(ThreadBuilder &b, Value word, int64_t mask) const {
  if (std::optional<int64_t> control = dppOf(mask))
    return b.intrinsic(
        b.i32Type, "llvm.amdgcn.update.dpp.i32",
        {b.poisonOf(b.i32Type), word, b.i32(*control), b.i32(15), b.i32(15), b.truth(true)});
  // ds_swizzle permutes groups of 32 lanes; its pattern has an AND, an OR and an XOR mask of 5
  // bits.
  if (mask < 32)
    return b.intrinsic(b.i32Type, "llvm.amdgcn.ds.swizzle", {word, b.i32(mask << 10 | 31)});
  // Workgroups have one dimension, so the low bits of the thread's number are its lane.
  return shuffleFrom(b, word, b.bitXor(threadId(b), b.i32(mask)));
}

Value AmdMachine::shuffleFrom(ThreadBuilder &b, Value word, Value from) const {
  // The address is in bytes, modulo the size of a wave.
  return b.intrinsic(b.i32Type, "llvm.amdgcn.ds.bpermute", {b.shl(from, b.i32(2)), word});
}

Value AmdMachine::ballot(ThreadBuilder &b, Value condition) const {
  return b.intrinsic(b.i64Type, "llvm.amdgcn.ballot.i64", {condition});
}

Value AmdMachine::lanesWithKey(ThreadBuilder &b, Value key, int64_t bits) const {
  Value lanes = b.i64(-1);
  for (int64_t bit = 0; bit < bits; ++bit) {
    Value isSet = b.trunc(b.lshr(key, b.i32(bit)), b.i1Type);
    Value all = ballot(b, isSet);
    lanes = b.bitAnd(lanes, b.select(isSet, all, b.bitXor(all, b.i64(-1))));
  }
  return lanes;
}

Value AmdMachine::isAmong(ThreadBuilder &b, uint64_t lanes, Value lane) const {
  return b.trunc(b.lshr(b.i64(int64_t(lanes)), b.zext(lane, b.i64Type)), b.i1Type);
}

// --- Accesses of some threads ---

/// Emits `body` in a block that only threads for which `isOn` holds execute. It returns values,
/// which the others replace by `otherwise`.
static SmallVector<Value> onlyIf(ThreadBuilder &b, Value isOn, ArrayRef<Value> otherwise,
                                 llvm::function_ref<SmallVector<Value>()> body) {
  SmallVector<Type> types;
  for (Value value : otherwise)
    types.push_back(value.getType());
  Block *inside = b.newBlock(), *after = b.newBlock(types);
  b.branchIf(isOn, inside, after, {}, otherwise);
  b.moveTo(inside);
  const SmallVector<Value> made = body();
  b.branch(after, made);
  b.moveTo(after);
  return llvm::to_vector_of<Value>(after->getArguments());
}

SmallVector<Value> AmdMachine::loadIf(ThreadBuilder &b, Type type, unsigned parts, Value address,
                                      Value isOn, ArrayRef<Value> outside) const {
  const unsigned bits = gpu::bitsOf(type), words = bits * parts / 32;
  if (bits >= 32 || bits * parts % 32 != 0)
    return onlyIf(b, isOn, outside,
                  [&] { return gpu::loadParts(b, type, parts, address, nullptr, {}); });
  // Join narrow elements as the words that hold them: LLVM would take them apart and join each.
  Type vector = b.vectorOf(type, parts), joined = b.vectorOf(b.i32Type, words);
  Value fill = b.poisonOf(vector);
  for (auto [i, part] : enumerate(outside))
    fill = b.insertElement(fill, part, unsigned(i));
  auto split = [&](Value whole) {
    SmallVector<Value> values;
    for (unsigned i = 0; i < words; ++i)
      values.push_back(b.extractElement(whole, i));
    return values;
  };
  const SmallVector<Value> found = onlyIf(b, isOn, split(b.bitcast(fill, joined)), [&] {
    return split(b.load(joined, address, bits / 8 * parts));
  });
  Value whole = b.poisonOf(joined);
  for (auto [i, word] : enumerate(found))
    whole = b.insertElement(whole, word, unsigned(i));
  whole = b.bitcast(whole, vector);
  SmallVector<Value> result;
  for (unsigned i = 0; i < parts; ++i)
    result.push_back(b.extractElement(whole, i));
  return result;
}

void AmdMachine::storeIf(ThreadBuilder &b, ArrayRef<Value> parts, Value address, Value isOn) const {
  onlyIf(b, isOn, {}, [&]() -> SmallVector<Value> {
    gpu::storeParts(b, parts, address, nullptr);
    return {};
  });
}

SmallVector<Value> AmdMachine::loadTransposed(ThreadBuilder &b, Type type, Value address) const {
  const bool isWord = gpu::bitsOf(type) == 16;
  Type words = isWord ? b.vectorOf(b.i16Type, 4) : b.vectorOf(b.i32Type, 2);
  Value read = b.intrinsic(
      words, isWord ? "llvm.amdgcn.ds.read.tr16.b64.v4i16" : "llvm.amdgcn.ds.read.tr8.b64.v2i32",
      {address});
  const unsigned count = isWord ? 4 : 8;
  Value elements = b.bitcast(read, b.vectorOf(type, count));
  SmallVector<Value> parts;
  for (unsigned i = 0; i < count; ++i)
    parts.push_back(b.extractElement(elements, i));
  return parts;
}

// --- Atomic accesses ---

/// LLVM's name for the scope of a device.
static constexpr const char *device = "agent";

static Value pointerAt(ThreadBuilder &b, Value address, int64_t offset) {
  Value sum = offset ? b.add(address, b.i64(offset)) : address;
  return b.make<LLVM::IntToPtrOp>(b.pointerIn(1), sum);
}

Value AmdMachine::loadRelaxed(ThreadBuilder &b, Type type, Value address, int64_t offset) const {
  return b.make<LLVM::LoadOp>(type, pointerAt(b, address, offset), gpu::bitsOf(type) / 8,
                              /*isVolatile=*/false, /*isNonTemporal=*/false, /*isInvariant=*/false,
                              /*isInvariantGroup=*/false, LLVM::AtomicOrdering::monotonic, device);
}

void AmdMachine::storeRelaxedIf(ThreadBuilder &b, Value isOn, Value value, Value address,
                                int64_t offset) const {
  onlyIf(b, isOn, {}, [&]() -> SmallVector<Value> {
    b.make<LLVM::StoreOp>(value, pointerAt(b, address, offset), gpu::bitsOf(value.getType()) / 8,
                          /*isVolatile=*/false, /*isNonTemporal=*/false,
                          /*isInvariantGroup=*/false, LLVM::AtomicOrdering::monotonic, device);
    return {};
  });
}

Value AmdMachine::fetchAdd(ThreadBuilder &b, Value address, int64_t offset, int64_t add) const {
  return b.make<LLVM::AtomicRMWOp>(LLVM::AtomicBinOp::add, pointerAt(b, address, offset),
                                   b.i32(add), LLVM::AtomicOrdering::monotonic, device);
}

static LLVM::AtomicBinOp operationOf(gpu::Combination combination) {
  switch (combination) {
  case gpu::Combination::add:
    return LLVM::AtomicBinOp::add;
  case gpu::Combination::bitAnd:
    return LLVM::AtomicBinOp::_and;
  case gpu::Combination::bitOr:
    return LLVM::AtomicBinOp::_or;
  case gpu::Combination::bitXor:
    return LLVM::AtomicBinOp::_xor;
  case gpu::Combination::minSigned:
    return LLVM::AtomicBinOp::min;
  case gpu::Combination::maxSigned:
    return LLVM::AtomicBinOp::max;
  case gpu::Combination::minUnsigned:
    return LLVM::AtomicBinOp::umin;
  case gpu::Combination::maxUnsigned:
    return LLVM::AtomicBinOp::umax;
  }
  llvm_unreachable("unknown combination");
}

void AmdMachine::combineIf(ThreadBuilder &b, Value isOn, gpu::Combination combination, Value value,
                           Value pointer) const {
  onlyIf(b, isOn, {}, [&]() -> SmallVector<Value> {
    b.make<LLVM::AtomicRMWOp>(operationOf(combination), pointer, value,
                              LLVM::AtomicOrdering::monotonic, device);
    return {};
  });
}

} // namespace tilewright::amdgcn
