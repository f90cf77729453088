// Plan: the blocks of an executable as one list of instructions with jumps, which a run interprets.
#ifndef TILEWRIGHT_RUNTIME_CPU_PLAN_H
#define TILEWRIGHT_RUNTIME_CPU_PLAN_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/runtime/cpu/RunContext.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace tilewright::runtime::cpu {

class ObjectCode;

using KernelFunction = void(void *const *buffers, int64_t begin, int64_t end, std::byte *scratch);
using PrepareLibrary = Result<std::unique_ptr<LibraryKernel>>(const artifact::LibraryCall &call,
                                                              const LibrarySignature &types);

enum class Op : uint8_t {
  launch,           // runs function on [0, count), on this thread
  launchParallel,   // the same, split over the thread pool
  launchLoop,       // the same as launch, `grain` times: the only step of a loop that counts
  library,          // libraries[index]
  customCall,       // customCalls[index]
  copy,             // copies count bytes
  collectiveStart,  // collectives[index]
  collectiveFinish, //
  collectiveRun,    // start and finish
  enter,            // a loop or branch begins; for the tracer
  leave,            // a loop or branch ends
  jump,             // to target
  repeat,           // a jump back to the start of a loop
  exitUnless,       // jumps to target if the predicate byte is 0
  setCounter,       // counters[index] = count
  countDown,        // jumps to target if counters[index] is 0; else decrements it
  chooseByPred,     // jumps to target + 1 if the predicate byte is 0, else to target
  chooseByIndex,    // jumps to target + the i32, or to target + count - 1 if out of range
  end,
};

struct Instruction {
  Op op = Op::end;
  uint32_t step = 0;    // the step it belongs to: an index into Plan::steps
  uint32_t buffers = 0; // index of its first pointer: operands, then results
  uint32_t target = 0;  // index of an instruction
  uint32_t index = 0;
  uint32_t operandCount = 0, resultCount = 0;
  int64_t count = 0, grain = 1, scratchBytes = 0;
  KernelFunction *function = nullptr;
};

/// How a run computes a pointer: the base of an allocation plus an offset.
struct PointerSource {
  artifact::Index allocation;
  int64_t offset;
};

struct Plan {
  std::vector<Instruction> code;
  std::vector<const artifact::Step *> steps;
  std::vector<PointerSource> pointers; // of all instructions, in order
  uint32_t counters = 0;
  bool hasCollectives = false;

  // Objects that instructions refer to, looked up when the program is loaded.
  std::vector<std::shared_ptr<LibraryKernel>> libraries;
  std::vector<std::unique_ptr<CustomCall>> customCalls;
  std::deque<Collective> collectives;
  std::deque<std::vector<TensorType>> types;
  std::deque<std::vector<Body>> bodies;
};

/// A launch with an estimate below this runs on the launching thread only: waking another thread
/// takes about as long.
inline constexpr int64_t inlineNanoseconds = 5000;

/// Looks up every kernel, body, library kernel and handler. The executable must have been checked;
/// it and `code` must outlive the plan.
///  - kernelMissing: the object code does not define a function.
///  - customCallUnknown: no handler is registered.
///  - any failure of `prepareLibrary` and of handlers.
Result<Plan> makePlan(const artifact::Executable &executable, const ObjectCode *code,
                      PrepareLibrary *prepareLibrary, CustomCallResolver *customCalls);

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_PLAN_H
