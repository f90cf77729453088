#include "tilewright/runtime/cpu/Program.h"

#include "tilewright/artifact/Check.h"
#include "tilewright/runtime/cpu/Machine.h"
#include "tilewright/support/Concat.h"

#include <cstring>
#include <new>

namespace tilewright::runtime::cpu {

using namespace artifact;

Result<std::shared_ptr<Program>> Program::load(std::shared_ptr<const Executable> executable,
                                               const LoadOptions &options) {
  TILEWRIGHT_TRY(checkExecutable(*executable));
  std::shared_ptr<Program> program(new Program);
  program->source = std::move(executable);
  if (!program->source->objects.empty()) {
    TILEWRIGHT_TRY(checkMachine(program->source->target));
    TILEWRIGHT_ASSIGN(program->code,
                      ObjectCode::load(program->source->objects, [&](std::string_view symbol) {
                        return program->records.find(symbol);
                      }));
  }
  TILEWRIGHT_ASSIGN(program->plan, makePlan(*program->source, program->code.get(),
                                            options.prepareLibrary, options.customCalls));
  return program;
}

/// Scratch memory for one call of a kernel. Kernels do not call each other, so one block per thread
/// is enough.
static std::byte *scratchOfThread(int64_t bytes) {
  struct Scratch {
    std::byte *data = nullptr;
    int64_t size = 0;
    ~Scratch() { ::operator delete(data, std::align_val_t(bufferAlignment)); }
  };
  static thread_local Scratch scratch;
  if (bytes == 0)
    return nullptr;
  if (scratch.size < bytes) {
    ::operator delete(scratch.data, std::align_val_t(bufferAlignment));
    scratch.data = static_cast<std::byte *>(
        ::operator new(static_cast<size_t>(bytes), std::align_val_t(bufferAlignment)));
    scratch.size = bytes;
  }
  return scratch.data;
}

/// Copies of at least this size are split over the pool, in pieces of `copyGrain` bytes.
static constexpr int64_t parallelCopyBytes = 1 << 20, copyGrain = 1 << 18;

static void copyBytes(ThreadPool &pool, const std::byte *from, std::byte *to, int64_t bytes) {
  if (from == to)
    return;
  const bool overlaps = from < to + bytes && to < from + bytes;
  if (overlaps || bytes < parallelCopyBytes) {
    std::memmove(to, from, static_cast<size_t>(bytes));
    return;
  }
  pool.parallelFor(bytes, copyGrain, [&](int64_t begin, int64_t end) {
    std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
  });
}

/// Interprets the instructions of one run.
class Program::Execution {
public:
  Execution(const Plan &plan, Frame &frame, RunContext &context)
      : plan(plan), frame(frame), context(context) {}

  template <bool isTraced> Status run() {
    std::byte **const table = frame.table.data();
    for (const Instruction *at = plan.code.data();;) {
      switch (at->op) {
      case Op::launch: {
        Traced<isTraced> traced(*this, *at);
        at->function(reinterpret_cast<void *const *>(table + at->buffers), 0, at->count,
                     at->scratchBytes ? scratchOfThread(at->scratchBytes) : nullptr);
        break;
      }
      case Op::launchParallel: {
        Traced<isTraced> traced(*this, *at);
        context.pool.parallelFor(at->count, at->grain, [&](int64_t begin, int64_t end) {
          at->function(reinterpret_cast<void *const *>(table + at->buffers), begin, end,
                       at->scratchBytes ? scratchOfThread(at->scratchBytes) : nullptr);
        });
        break;
      }
      case Op::launchLoop: {
        std::byte *scratch = at->scratchBytes ? scratchOfThread(at->scratchBytes) : nullptr;
        for (int64_t i = 0; i < at->grain; ++i) {
          if (isCancelled())
            return fail(cancelled(), *at);
          Traced<isTraced> traced(*this, *at);
          at->function(reinterpret_cast<void *const *>(table + at->buffers), 0, at->count, scratch);
        }
        break;
      }
      case Op::copy: {
        Traced<isTraced> traced(*this, *at);
        copyBytes(context.pool, table[at->buffers], table[at->buffers + 1], at->count);
        break;
      }
      case Op::library: {
        Traced<isTraced> traced(*this, *at);
        if (Status status =
                plan.libraries[at->index]->run({operandsOf(*at), resultsOf(*at), context.pool,
                                                context.replica, context.partition});
            !status.isOk())
          return fail(std::move(status), *at);
        break;
      }
      case Op::enter:
        if constexpr (isTraced)
          context.tracer->begin(*plan.steps[at->step]);
        break;
      case Op::leave:
        if constexpr (isTraced)
          context.tracer->end(*plan.steps[at->step]);
        break;
      case Op::repeat:
        if (isCancelled())
          return fail(cancelled(), *at);
        [[fallthrough]];
      case Op::jump:
        at = instruction(at->target);
        continue;
      case Op::exitUnless:
        if (*table[at->buffers] != std::byte(0))
          break;
        at = instruction(at->target);
        continue;
      case Op::setCounter:
        frame.counters[at->index] = at->count;
        break;
      case Op::countDown:
        if (frame.counters[at->index]-- != 0)
          break;
        at = instruction(at->target);
        continue;
      case Op::chooseByPred:
        at = instruction(at->target + (*table[at->buffers] == std::byte(0)));
        continue;
      case Op::chooseByIndex: {
        int32_t choice = 0;
        std::memcpy(&choice, table[at->buffers], sizeof choice);
        if (choice < 0 || choice >= at->count)
          choice = static_cast<int32_t>(at->count - 1);
        at = instruction(at->target + static_cast<uint32_t>(choice));
        continue;
      }
      case Op::end:
        return Status();
      default: {
        Traced<isTraced> traced(*this, *at);
        if (Status status = runRare(*at); !status.isOk())
          return fail(std::move(status), *at);
      }
      }
      ++at;
    }
  }

private:
  /// Reports a step to the tracer; compiles to nothing if `isTraced` is false.
  template <bool isTraced> struct Traced {
    Traced(Execution &, const Instruction &) {}
  };

  const Instruction *instruction(uint32_t number) const { return &plan.code[number]; }

  bool isCancelled() const {
    return context.cancel && context.cancel->load(std::memory_order_relaxed);
  }
  static Status cancelled() { return Status(Error::runCancelled, "the run was cancelled"); }

  std::span<const std::byte *const> operandsOf(const Instruction &at) const {
    return {frame.table.data() + at.buffers, at.operandCount};
  }
  std::span<std::byte *const> resultsOf(const Instruction &at) const {
    return {frame.table.data() + at.buffers + at.operandCount, at.resultCount};
  }

  Status runRare(const Instruction &at) {
    switch (at.op) {
    case Op::customCall:
      return plan.customCalls[at.index]->run({operandsOf(at), resultsOf(at), context.pool,
                                              context.runId, context.device, context.userContext});
    case Op::collectiveStart:
      ++underWay;
      return context.collectives->start(plan.collectives[at.index], operandsOf(at), resultsOf(at));
    case Op::collectiveRun: {
      ++underWay;
      TILEWRIGHT_TRY(
          context.collectives->run(plan.collectives[at.index], operandsOf(at), resultsOf(at)));
      --underWay;
      return Status();
    }
    case Op::collectiveFinish:
      TILEWRIGHT_TRY(context.collectives->finish(plan.collectives[at.index]));
      --underWay;
      return Status();
    default:
      return Status(Code::internal, "unknown instruction in the plan");
    }
  }

  Status fail(Status status, const Instruction &at) {
    if (underWay != 0)
      context.collectives->abandon();
    const Step &step = *plan.steps[at.step];
    return std::move(status).during(step.location.empty()
                                        ? concat("running ", step.name)
                                        : concat("running ", step.name, " (", step.location, ")"));
  }

  const Plan &plan;
  Frame &frame;
  RunContext &context;
  int64_t underWay = 0; // collectives that have started but not finished
};

template <> struct Program::Execution::Traced<true> {
  Traced(Execution &execution, const Instruction &at)
      : tracer(*execution.context.tracer), step(*execution.plan.steps[at.step]) {
    tracer.begin(step);
  }
  ~Traced() { tracer.end(step); }
  Tracer &tracer;
  const Step &step;
};

std::unique_ptr<Program::Frame> Program::takeFrame() const {
  {
    std::lock_guard lock(mutex);
    if (!idle.empty()) {
      std::unique_ptr<Frame> frame = std::move(idle.back());
      idle.pop_back();
      return frame;
    }
  }
  auto frame = std::make_unique<Frame>();
  frame->bases.resize(source->allocations.size());
  frame->table.resize(plan.pointers.size());
  frame->counters.resize(plan.counters);
  return frame;
}

void Program::giveBack(std::unique_ptr<Frame> frame) const {
  std::lock_guard lock(mutex);
  idle.push_back(std::move(frame));
}

Status Program::bind(Frame &frame, std::span<std::byte *const> parameters,
                     std::span<std::byte *const> results, const RunContext &context) const {
  if (parameters.size() != source->parameters.size() || results.size() != source->results.size())
    return Status(Error::runBuffers,
                  concat("'", source->name, "' has ", source->parameters.size(), " parameters and ",
                         source->results.size(), " results, got ", parameters.size(), " and ",
                         results.size(), " buffers"));
  for (size_t i = 0; i < source->allocations.size(); ++i) {
    const Allocation &allocation = source->allocations[i];
    std::byte *base = nullptr;
    switch (allocation.storage) {
    case Storage::parameter:
      base = parameters[allocation.index];
      break;
    case Storage::result:
      base = results[allocation.index];
      break;
    case Storage::constant:
      // Steps do not write to constants (artifact/Check.h).
      base = const_cast<std::byte *>(source->constants.data()) + allocation.index;
      break;
    case Storage::temporary:
      base = context.arenas[allocation.space];
      if (base)
        base += allocation.index;
      break;
    }
    if (allocation.bytes > 0 &&
        (!base || reinterpret_cast<uintptr_t>(base) % bufferAlignment != 0)) {
      constexpr std::string_view kinds[] = {"parameter", "result", "constant", "arena of space"};
      return Status(Error::runBuffers,
                    concat(kinds[static_cast<size_t>(allocation.storage)], " ",
                           allocation.storage == Storage::temporary ? uint64_t(allocation.space)
                                                                    : allocation.index,
                           " of '", source->name, "' needs a buffer aligned to ", bufferAlignment,
                           " bytes, got ", static_cast<const void *>(base)));
    }
    frame.bases[i] = base;
  }
  std::byte *const *bases = frame.bases.data();
  std::byte **table = frame.table.data();
  for (const PointerSource &pointer : plan.pointers)
    *table++ = bases[pointer.allocation] + pointer.offset;
  return Status();
}

Status Program::run(std::span<std::byte *const> parameters, std::span<std::byte *const> results,
                    RunContext &context) const {
  if (plan.hasCollectives && !context.collectives)
    return Status(Error::runCollectives,
                  concat("'", source->name, "' has collectives for ", source->replicas,
                         " replicas and ", source->partitions,
                         " partitions, but runs on a single device; run it on one device per "
                         "rank"));
  std::unique_ptr<Frame> frame = takeFrame();
  Status status = bind(*frame, parameters, results, context);
  if (status.isOk()) {
    Execution execution(plan, *frame, context);
    status = context.tracer ? execution.run<true>() : execution.run<false>();
  }
  giveBack(std::move(frame));
  return status;
}

} // namespace tilewright::runtime::cpu
