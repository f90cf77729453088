#include "tilewright/target/gpu/thread/Fragments.h"

using namespace llvm;

namespace tilewright::gpu {

Fragments fragmentsOf(const ThreadLayout &threads, const sm::Layout &atom) {
  Fragments found;
  const size_t rank = threads.forms.size();
  for (unsigned reg = 0; reg < threads.registers(); ++reg) {
    // Thread 0's element determines the fragment and the position in it, because every thread adds
    // the same index offset in all fragments.
    SmallVector<int64_t> place, inside;
    for (size_t dim = 0; dim < rank; ++dim) {
      const int64_t index = threads.constant(dim, reg);
      if (dim + 2 < rank) {
        place.push_back(index);
        continue;
      }
      const int64_t size = atom.cover(static_cast<int64_t>(dim + 2 - rank));
      place.push_back(index / size);
      inside.push_back(index % size);
    }
    auto at = static_cast<size_t>(atom.apply(inside)[sm::Axis::reg]);
    SmallVector<unsigned> &registers = found[place];
    registers.resize(static_cast<size_t>(atom.extent(sm::Axis::reg)));
    registers[at] = reg;
  }
  return found;
}

Value zeroOutside(ThreadBuilder &b, Value part, const ThreadLayout &threads,
                  ArrayRef<int64_t> shape, unsigned reg) {
  if (threads.isAlive(reg, shape))
    return part;
  Value zero = b.zero(part.getType());
  return threads.isDead(reg, shape)
             ? zero
             : b.select(isInside(b, threads, StridedView{}, shape, reg), part, zero);
}

} // namespace tilewright::gpu
