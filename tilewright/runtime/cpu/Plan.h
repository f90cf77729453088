// Plan: the blocks of an executable as one list of instructions with jumps,
// which is what a run walks through.
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
using PrepareLibrary = Result<std::unique_ptr<LibraryKernel>>(const LibraryCall &call);

enum class Op : uint8_t {
  launch,           // function on all of [0, count), here
  launchParallel,   // the same, split over the pool
  library,          // libraries[index]
  customCall,       // customCalls[index]
  copy,             // count bytes
  storeRank,        // count 0 the replica, 1 the partition, as ui32
  collectiveStart,  // collectives[index]
  collectiveFinish, //
  collectiveRun,    // both at once
  enter,            // a loop or branch begins: for the tracer
  leave,            // and ends
  jump,             // to target
  repeat,           // the same, back to the start of a loop
  exitUnless,       // to target if the byte is 0
  setCounter,       // counters[index] = count
  countDown,        // to target if counters[index] is 0; else one less
  chooseByPred,     // to target + 1 if the byte is 0, else to target
  chooseByIndex,    // to target + the i32, or + count - 1 if it is out of range
  end,
};

struct Instruction {
  Op op = Op::end;
  uint32_t step = 0;    // whose: an index into Plan::steps
  uint32_t buffers = 0; // its first pointer: operands, then results
  uint32_t target = 0;  // an instruction
  uint32_t index = 0;
  uint32_t operandCount = 0, resultCount = 0;
  int64_t count = 0, grain = 1, scratchBytes = 0;
  KernelFunction *function = nullptr;
};

/// Where a pointer comes from: the base of an allocation, plus an offset.
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

  // What instructions refer to, with the types that they were prepared for.
  std::vector<std::shared_ptr<LibraryKernel>> libraries;
  std::vector<std::unique_ptr<CustomCall>> customCalls;
  std::deque<Collective> collectives;
  std::deque<std::vector<TensorType>> types;
  std::deque<std::vector<Body>> bodies;
};

/// A launch that probably takes less than this runs on the thread that launches:
/// waking another one costs about as much.
inline constexpr int64_t inlineNanoseconds = 5000;

/// Looks up every kernel, body, library kernel and handler. The executable has
/// been checked; it and `code` outlive the plan.
///  - kernelMissing: the object code does not define a function.
///  - customCallUnknown: nobody registered a handler.
///  - what `prepareLibrary` and handlers say.
Result<Plan> makePlan(const artifact::Executable &executable, const ObjectCode *code,
                      PrepareLibrary *prepareLibrary, CustomCallResolver *customCalls);

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_PLAN_H
