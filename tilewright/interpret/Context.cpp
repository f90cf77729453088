#include "tilewright/interpret/Context.h"

#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"

#include <new>

namespace tilewright::interpret {

static constexpr std::align_val_t bufferAlignment{64};

Context::Context(const InterpretOptions &options) : budget(std::make_shared<Budget>()) {
  budget->options = options;
}

Result<std::shared_ptr<std::byte>> Context::allocate(int64_t bytes) {
  const int64_t limit = budget->options.maxBytes;
  // Reserve the bytes before allocating, so that two ranks cannot both see room for the last
  // tensor. Comparing with the remainder instead of adding keeps a huge request from overflowing.
  int64_t live = budget->liveBytes.load(std::memory_order_relaxed);
  do {
    if (bytes > limit - live)
      return Status(Error::interpretBytes, concat("cannot allocate ", bytes, " bytes: ", live,
                                                  " bytes are in use and the limit is ", limit,
                                                  "; raise interpret.max-bytes"));
  } while (!budget->liveBytes.compare_exchange_weak(live, live + bytes));

  auto *memory = static_cast<std::byte *>(
      ::operator new(static_cast<size_t>(bytes), bufferAlignment, std::nothrow));
  if (!memory) {
    budget->liveBytes -= bytes;
    return Status(
        Error::interpretBytes,
        concat("cannot allocate ", bytes, " bytes: out of memory with ", live,
               " bytes in use; lower interpret.max-bytes to fail before memory runs out"));
  }
  int64_t peak = budget->peakBytes.load(std::memory_order_relaxed);
  while (peak < live + bytes && !budget->peakBytes.compare_exchange_weak(peak, live + bytes)) {
  }
  trace::counter("bytes in use", live + bytes);
  return std::shared_ptr<std::byte>(memory, [budget = budget, bytes](std::byte *memory) {
    ::operator delete(memory, bufferAlignment);
    trace::counter("bytes in use", budget->liveBytes -= bytes);
  });
}

Status Context::countSteps(int64_t steps) {
  const int64_t limit = budget->options.maxSteps;
  const int64_t before = budget->steps.fetch_add(steps, std::memory_order_relaxed);
  if (steps > limit - before)
    return Status(Error::interpretSteps,
                  concat("the op needs ", steps, " more scalar operations after ", before,
                         ", but the limit is ", limit,
                         "; raise interpret.max-steps if the program is known to terminate"));
  return Status();
}

} // namespace tilewright::interpret
