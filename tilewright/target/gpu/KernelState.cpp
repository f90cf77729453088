#include "tilewright/target/gpu/KernelState.h"

#include "tilewright/support/Concat.h"

#include <numeric>

using namespace llvm;

namespace tilewright::gpu {

using sm::Axis;

void KernelState::refuse(mlir::Operation *op, std::string_view why) {
  std::string text;
  raw_string_ostream stream(text);
  stream << "'" << op->getName() << "' at " << op->getLoc() << " ";
  b.fail(Status(Error::gpuTileOp, concat(text, why)));
}

void KernelState::barrier() {
  // Barrier 0 belongs to the whole CTA; each role has its own.
  if (currentRole)
    b.machine.roleBarrier(b, 1 + firstWarp / 4, threadCount());
  else
    b.machine.barrier(b);
}

void KernelState::beginSharedWrites() {
  if (mayBeRead)
    barrier();
  mayBeRead = false;
}

void KernelState::beginSharedReads() {
  barrier();
  mayBeRead = true;
}

Value KernelState::once(function_ref<Value()> emit) {
  mlir::OpBuilder::InsertionGuard guard(b.op);
  b.moveToEntry();
  return emit();
}

int64_t KernelState::warpCount() {
  return int64_t(currentRole ? currentRole.getWarps() : op.getWarps());
}

int64_t KernelState::clusterSize() { return op.getClusterSizes()[0]; }

Value KernelState::ctaRank() { return b.machine.clusterRank(b); }

Value KernelState::axis(Axis axis) {
  return axis == Axis::lane ? b.bitAnd(thread, b.i32(warpSize() - 1))
                            : b.lshr(thread, b.i32(Log2_64(uint64_t(warpSize()))));
}

Value KernelState::digitOf(const sm::IndexTerm &term) {
  if (term.axis == Axis::cta) {
    Value digit = term.stride == 1 ? ctaRank() : b.udiv(ctaRank(), b.i32(term.stride));
    return term.stride * term.size >= clusterSize() ? digit : b.urem(digit, b.i32(term.size));
  }
  // Lanes are the low bits of the thread id, so digits of lanes and warps are digits of the thread
  // id.
  const int64_t stride = term.axis == Axis::lane ? term.stride : term.stride * warpSize();
  const int64_t end = threadCount();
  Value digit = stride == 1 ? thread : b.udiv(thread, b.i32(stride));
  return stride * term.size >= end ? digit : b.urem(digit, b.i32(term.size));
}

const ThreadLayout &KernelState::threadsOf(Type type) {
  sm::LayoutAttr attribute = sm::layoutOf(type);
  std::unique_ptr<ThreadLayout> &known = threadLayouts[attribute];
  if (known)
    return *known;
  known = std::make_unique<ThreadLayout>(attribute.getValue());
  ThreadLayout &threads = *known;
  if (!threads.layout.getFlips().empty())
    refuse(op, concat("has a tile in registers whose layout has flips, ", threads.layout.str(),
                      "; only memory layouts may have flips"));
  if (threads.layout.extent(Axis::lane) != warpSize())
    refuse(op, concat("has layouts for warps of ", threads.layout.extent(Axis::lane),
                      " lanes, but ", b.machine.limits.chip, " has ", warpSize()));
  for (const sm::IndexForm &form : threads.forms) {
    int64_t most = 0, divisor = 0;
    for (const sm::IndexTerm &term : form.terms) {
      most += (term.size - 1) * term.weight;
      divisor = std::gcd(divisor, term.weight);
    }
    threads.most.push_back(most);
    threads.divisor.push_back(divisor);
    threads.base.push_back(once([&]() -> Value {
      Value sum = nullptr;
      for (const sm::IndexTerm &term : form.terms) {
        Value part = b.mul(digitOf(term), b.i32(term.weight), neverWraps);
        sum = sum ? b.add(sum, part, neverWraps) : part;
      }
      return sum;
    }));
  }
  threads.isFirst = once([&]() -> Value {
    Value all = nullptr;
    for (Axis axis : {Axis::lane, Axis::warp, Axis::cta})
      for (const sm::IndexTerm &term : threads.copies(axis)) {
        Value isZero = b.equal(digitOf(term), b.i32(0));
        all = all ? b.bitAnd(all, isZero) : isZero;
      }
    return all;
  });
  return threads;
}

SplitOffset KernelState::offsetOfThread(ArrayRef<int64_t> bytes, int64_t constant) {
  int64_t reach = 0;
  for (int64_t part : bytes)
    reach |= part;
  // Bits of the constant that no thread's offset contains can be added; the others must be xor-ed.
  const int64_t tied = constant & reach;
  std::vector<int64_t> key(bytes.begin(), bytes.end());
  key.push_back(tied);
  auto [known, isNew] = linearOffsets.try_emplace({thread.getAsOpaquePointer(), key});
  if (isNew)
    known->second = once([&]() -> Value {
      // Group the bits that are shifted by the same distance.
      std::map<int, uint32_t> masks;
      for (auto [from, part] : enumerate(bytes))
        for (int to = 0; to < 31; ++to)
          if (part >> to & 1)
            masks[to - int(from)] |= uint32_t(1) << from;
      Value sum = b.i32(tied);
      for (auto [shift, mask] : masks) {
        Value part = b.bitAnd(thread, b.i32(mask));
        part = shift >= 0 ? b.shl(part, b.i32(shift)) : b.lshr(part, b.i32(-shift));
        sum = b.bitXor(sum, part);
      }
      return sum;
    });
  return {known->second, constant & ~reach};
}

} // namespace tilewright::gpu
