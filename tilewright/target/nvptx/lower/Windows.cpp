// Windows. The devices of a window synchronise by words in it: a release at system scope by one
// thread, after a barrier of its block, and an acquire by one thread, before a barrier of its
// block. Causality is transitive, so the accesses of all threads of both blocks are ordered.
#include "tilewright/target/nvptx/lower/Windows.h"

#include "tilewright/support/Concat.h"
#include "tilewright/target/nvptx/lower/KernelLowering.h"
#include "tilewright/target/nvptx/lower/RegisterList.h"

using namespace llvm;

namespace tilewright::nvptx {

namespace LLVM = mlir::LLVM;

/// Where the fields of the parameter are, in bytes.
constexpr int64_t rankField = 0, multicastField = 8, partsField = 16;

Type WindowsLowering::parameterType(mlir::MemRefType window) {
  return LLVM::LLVMArrayType::get(b.i64Type, unsigned(2 + window.getDimSize(0)));
}

Value WindowsLowering::field(Value window, Value bytes) {
  return b.load(b.i64Type, b.advance(kernel.memory.lookup(window), bytes));
}

Value WindowsLowering::part(Value window, Value rank) {
  if (tile::isOnHeap(window.getType())) // then the rank is this one
    return kernel.memory.lookup(window);
  Value bytes = b.add(b.mul(rank, b.i64(8)), b.i64(partsField));
  Value address = field(window, bytes);
  return LLVM::IntToPtrOp::create(b.op, b.location, b.pointerIn(1), address);
}

Value WindowsLowering::multicast(Value window) { return field(window, b.i64(multicastField)); }

Value WindowsLowering::rankOf(Value window) {
  if (tile::isOnHeap(window.getType()))
    return b.zext(b.call(b.i32Type, "nvshmem_my_pe", {}), b.i64Type, /*isNonNegative=*/true);
  return field(window, b.i64(rankField));
}

void WindowsLowering::rank(tile::RankOp op) {
  kernel.scalars[op.getResult()] = {rankOf(op.getWindow())};
}

Value WindowsLowering::point() {
  Value point = b.i64(0);
  for (auto [coordinate, size] : zip_equal(kernel.op.getCoordinates(), kernel.op.getGrid()))
    point = b.add(b.mul(point, b.i64(size)), kernel.scalars.lookup(coordinate).value);
  return point;
}

void WindowsLowering::where(Value condition, function_ref<void()> emit) {
  Block *then = b.newBlock(), *after = b.newBlock();
  b.branchIf(condition, then, after);
  b.moveTo(then);
  emit();
  b.branch(after);
  b.moveTo(after);
}

void WindowsLowering::spin(Value address, Value target) {
  Block *look = b.newBlock(), *after = b.newBlock();
  b.branch(look);
  b.moveTo(look);
  Value seen = b.assembly(b.i32Type, "ld.acquire.sys.global.b32 $0, [$1];", "=r,l,~{memory}",
                          {b.ptrToInt(address, b.i64Type)});
  b.branchIf(b.less(b.sub(seen, target), b.i32(0)), look, after);
  b.moveTo(after);
}

// For each rank, one thread sends this point's count to that rank and waits for the count of that
// rank. The thread keeps its own count in a separate word, so that it need not wait for another
// thread.
void WindowsLowering::barrier(tile::BarrierOp op) {
  if (kernel.currentRole)
    return kernel.refuse(op, "is in a role");
  Value signals = op.getSignals();
  const int64_t ranks = cast<mlir::MemRefType>(signals.getType()).getDimSize(0);
  if (ranks > kernel.warpCount() * Chip::warpSize)
    return kernel.refuse(op, concat("synchronises ", ranks, " ranks, but the kernel has only ",
                                    kernel.warpCount() * Chip::warpSize, " threads"));
  if (tile::isOnHeap(signals.getType())) {
    kernel.barrier();
    where(b.unsignedLess(kernel.thread, b.i32(ranks)), [&] { exchangeOnHeap(signals, ranks); });
    return kernel.barrier();
  }
  Value me = rankOf(signals);
  kernel.barrier();
  where(b.unsignedLess(kernel.thread, b.i32(ranks)), [&] {
    Value peer = b.zext(kernel.thread, b.i64Type, /*isNonNegative=*/true);
    Value words = b.mul(point(), b.i64(2 * ranks));
    auto word = [&](Value owner, Value number) {
      return b.elementOf(part(signals, owner), b.i32Type, b.add(words, number));
    };
    Value own = word(me, b.add(peer, b.i64(ranks)));
    Value count = b.add(b.load(b.i32Type, own), b.i32(1));
    b.store(count, own);
    where(b.notEqual(peer, me), [&] {
      b.assembly({}, "st.release.sys.global.b32 [$0], $1;", "l,r,~{memory}",
                 {b.ptrToInt(word(peer, me), b.i64Type), count});
      spin(word(me, peer), count);
    });
  });
  kernel.barrier();
}

void WindowsLowering::epoch(tile::EpochOp op) {
  Value signals = op.getSignals(), me = rankOf(signals);
  const int64_t ranks = cast<mlir::MemRefType>(signals.getType()).getDimSize(0);
  Value number = b.add(b.mul(point(), b.i64(2 * ranks)), b.add(me, b.i64(ranks)));
  Value count = b.load(b.i32Type, b.elementOf(part(signals, me), b.i32Type, number));
  kernel.scalars[op.getResult()] = {b.zext(count, b.i64Type)};
}

void WindowsLowering::signal(tile::SignalOp op) {
  Value flags = op.getFlags();
  const int64_t words = cast<mlir::MemRefType>(flags.getType()).getDimSize(2);
  kernel.barrier();
  where(b.equal(kernel.thread, b.i32(0)), [&] {
    Value number = b.mul(kernel.scalars.lookup(op.getFlag()).value, b.i64(words));
    Value address =
        b.elementOf(part(flags, kernel.scalars.lookup(op.getRank()).value), b.i32Type, number);
    b.assembly({}, "red.release.sys.global.add.u32 [$0], 1;", "l,~{memory}",
               {b.ptrToInt(address, b.i64Type)});
  });
}

void WindowsLowering::wait(tile::WaitOp op) {
  if (kernel.currentRole)
    return kernel.refuse(op, "is in a role");
  Value flags = op.getFlags();
  const int64_t words = cast<mlir::MemRefType>(flags.getType()).getDimSize(2);
  where(b.equal(kernel.thread, b.i32(0)), [&] {
    Value number = b.mul(kernel.scalars.lookup(op.getFlag()).value, b.i64(words));
    if (tile::isOnHeap(flags.getType())) {
      Value own = heapWord(flags, b.add(number, b.add(point(), b.i64(1))));
      Value target = b.add(b.load(b.i64Type, own), b.i64(int64_t(op.getCount())));
      b.store(target, own);
      return waitOnHeap(heapWord(flags, number), target);
    }
    Value first = b.elementOf(part(flags, rankOf(flags)), b.i32Type, number);
    Value own = b.elementOf(first, b.i32Type, b.add(point(), b.i64(1)));
    Value target = b.add(b.load(b.i32Type, own), b.i32(int64_t(op.getCount())));
    b.store(target, own);
    spin(first, target);
  });
  kernel.barrier();
}

// --- Access to all parts at once ---

namespace {
/// How an instruction of the interconnect accesses elements: 32-bit registers of `suffix`.
struct WireWords {
  unsigned count;
  std::string suffix;
};
} // namespace

/// Calls `visit` for each access of up to 16 bytes, with the address of its first element and the
/// condition (or null) under which this thread makes the access.
static void forEachAccess(KernelState &kernel, const ThreadLayout &threads, const StridedView &view,
                          ArrayRef<int64_t> shape,
                          function_ref<void(const Chunk &, Value isOn)> visit) {
  for (const Chunk &chunk : chunksOf(threads, view, shape))
    visit(chunk, isInside(kernel.b, threads, view, shape, chunk.elements[0][0]));
}

/// The words of an access of `count` elements; no words if there is no such instruction.
static WireWords wordsOf(Type element, int64_t count, StringRef kind, bool isUnsigned) {
  const unsigned bits = bitsOf(element);
  const auto words = unsigned(count * bits / 32);
  const std::string vector = words > 1 ? concat(".v", words) : std::string();
  if (bits == 16 && words >= 1)
    return {words, concat(vector, element.isF16() ? ".f16x2" : ".bf16x2")};
  if (element.isF32())
    return {words, concat(vector, ".f32")};
  if (element.isF64() && count == 1)
    return {1, ".f64"};
  if (isa<mlir::IntegerType>(element) && count == 1) {
    const bool isBits = kind == "and" || kind == "or" || kind == "xor";
    // 64-bit sums only exist as unsigned instructions; signed ones wrap in the same way.
    const char letter = isBits ? 'b' : isUnsigned || (kind == "add" && bits == 64) ? 'u' : 's';
    return {1, concat(".", std::string(1, letter), bits)};
  }
  return {0, ""};
}

/// The register of one word, by the type of an element.
static std::pair<Type, const char *> registerOf(ThreadBuilder &b, Type element) {
  if (element.isF32())
    return {b.f32Type, "f"};
  if (element.isF64())
    return {element, "d"};
  return {bitsOf(element) == 64 ? b.i64Type : b.i32Type, bitsOf(element) == 64 ? "l" : "r"};
}

/// The maximum number of elements per instruction: 16 bytes of floats, or a single integer.
static int64_t widest(Type element) {
  return isa<mlir::IntegerType>(element) || element.isF64() ? 1 : 128 / bitsOf(element);
}

void WindowsLowering::reduceParts(tile::ReducePartsOp op) {
  auto type = cast<mlir::RankedTensorType>(op.getType());
  Type element = type.getElementType();
  const ThreadLayout &threads = kernel.threadsOf(type);
  StridedView view = all.memory.partView(op.getWindow(), op.getOffsets());
  Value base = multicast(op.getWindow());
  view.base = LLVM::IntToPtrOp::create(b.op, b.location, b.pointerIn(1), base);
  Tile tile(threads.registers(), b.poison(element));
  forEachAccess(kernel, threads, view, type.getShape(), [&](const Chunk &chunk, Value isOn) {
    const auto elements = int64_t(chunk.elements.size());
    const int64_t step = std::min(elements, widest(element));
    for (int64_t from = 0; from < elements; from += step) {
      const WireWords words = wordsOf(element, step, op.getKind(), op.getIsUnsigned());
      if (words.count == 0)
        return kernel.refuse(op, concat("reads ", elements, " elements of ", bitsOf(element),
                                        " bits at once, for which there is no instruction; use an "
                                        "even number of columns for each thread"));
      auto [word, constraint] = registerOf(b, element);
      Value address = all.memory.addressOf(threads, view, chunk.constant + from);
      const bool isSmall = bitsOf(element) == 16;
      std::string constraints;
      for (unsigned i = 0; i < words.count; ++i)
        constraints += concat("=", constraint, ",");
      SmallVector<Value> operands = {b.ptrToInt(address, b.i64Type)};
      constraints += "l";
      std::string predicate;
      if (isOn) {
        predicate = concat("@$", words.count + 1, " ");
        constraints += ",b";
        operands.push_back(isOn);
      }
      Type result = words.count == 1 ? word : b.structOf(SmallVector<Type>(words.count, word));
      const std::string text =
          concat(predicate, "multimem.ld_reduce.relaxed.sys.global.", op.getKind().str(),
                 isSmall && op.getKind() == "add" ? ".acc::f32" : "", words.suffix, " ",
                 registerList(words.count, 0), ", [$", words.count, "];");
      Value raw = b.plainAssembly(result, text, constraints + ",~{memory}", operands);
      for (unsigned i = 0; i < words.count; ++i) {
        Value got = words.count == 1 ? raw : b.extractValue(raw, i);
        const unsigned each = isSmall ? 2 : 1;
        Value pair = isSmall ? b.bitcast(got, b.vectorOf(b.storageType(element), 2)) : got;
        for (unsigned part = 0; part < each; ++part) {
          Value value = isSmall ? b.extractElement(pair, part) : pair;
          const Lanes lanes{isSmall ? b.decode(value, element) : value};
          for (unsigned reg : chunk.elements[size_t(from) + i * each + part])
            tile[reg] = lanes;
        }
      }
    }
  });
  kernel.tiles[op.getResult()] = std::move(tile);
}

void WindowsLowering::storeParts(tile::StorePartsOp op) {
  auto type = cast<mlir::RankedTensorType>(op.getTile().getType());
  Type element = type.getElementType(), stored = b.storageType(element);
  const ThreadLayout &threads = kernel.threadsOf(type);
  StridedView view = all.memory.partView(op.getWindow(), op.getOffsets());
  Value base = multicast(op.getWindow());
  view.base = LLVM::IntToPtrOp::create(b.op, b.location, b.pointerIn(1), base);
  const Tile &tile = kernel.tiles[op.getTile()];
  const unsigned bits = bitsOf(stored);
  forEachAccess(kernel, threads, view, type.getShape(), [&](const Chunk &chunk, Value isOn) {
    // Whatever the type, the bits are treated as words: the instruction stores up to four of them
    // as f32.
    const auto bytes = unsigned(chunk.elements.size()) * bits / 8;
    if (bytes < 4 || b.isComplex(element))
      return kernel.refuse(op, concat("writes ", bytes,
                                      " bytes at once, but the interconnect "
                                      "multiplies stores of at least 4"));
    if (threads.isFirst)
      isOn = isOn ? b.bitAnd(isOn, threads.isFirst) : threads.isFirst;
    Value vector = b.poisonOf(b.vectorOf(stored, unsigned(chunk.elements.size())));
    for (auto [i, registers] : enumerate(chunk.elements))
      vector = b.insertElement(vector, b.encode(tile[registers[0]].value, element), unsigned(i));
    const unsigned words = bytes / 4;
    Value asWords = b.bitcast(vector, b.vectorOf(b.f32Type, words));
    SmallVector<Value> operands = {
        b.ptrToInt(all.memory.addressOf(threads, view, chunk.constant), b.i64Type)};
    std::string constraints = "l";
    for (unsigned i = 0; i < words; ++i) {
      operands.push_back(b.extractElement(asWords, i));
      constraints += ",f";
    }
    std::string predicate;
    if (isOn) {
      predicate = concat("@$", words + 1, " ");
      constraints += ",b";
      operands.push_back(isOn);
    }
    b.plainAssembly({},
                    concat(predicate, "multimem.st.relaxed.sys.global",
                           words > 1 ? concat(".v", words) : std::string(), ".f32 [$0], ",
                           registerList(words, 1), ";"),
                    constraints + ",~{memory}", operands);
  });
}

} // namespace tilewright::nvptx
