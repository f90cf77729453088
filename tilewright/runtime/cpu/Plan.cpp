#include "tilewright/runtime/cpu/Plan.h"

#include "tilewright/runtime/cpu/object/ObjectCode.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <atomic>
#include <map>

namespace tilewright::runtime::cpu {
namespace {

using namespace artifact;

/// Shared by all programs of the process, so that identities are unique.
std::atomic<uint64_t> nextCollective = 1;

class PlanBuilder {
public:
  PlanBuilder(const Executable &executable, const ObjectCode *code, PrepareLibrary *prepareLibrary,
              CustomCallResolver *customCalls)
      : executable(executable), object(code), prepareLibrary(prepareLibrary),
        customCalls(customCalls) {}

  Result<Plan> build() {
    for (const Kernel &kernel : executable.kernels) {
      TILEWRIGHT_ASSIGN(void *function, functionNamed(kernel.symbol));
      kernels.push_back(reinterpret_cast<KernelFunction *>(function));
    }
    TILEWRIGHT_TRY(addBlock(0));
    plan.code.push_back({.op = Op::end});
    return std::move(plan);
  }

private:
  Result<void *> functionNamed(const std::string &symbol) const {
    void *function = object ? object->find(symbol) : nullptr;
    if (!function)
      return Status(Error::kernelMissing,
                    concat("the object code does not define '", symbol,
                           "', which the plan calls; compile the program again"));
    return function;
  }
  Result<std::span<const Body>> bodiesNamed(const std::vector<std::string> &symbols) {
    std::vector<Body> &bodies = plan.bodies.emplace_back();
    for (const std::string &symbol : symbols) {
      TILEWRIGHT_ASSIGN(void *function, functionNamed(symbol));
      bodies.push_back(reinterpret_cast<Body>(function));
    }
    return std::span<const Body>(bodies);
  }
  std::span<const TensorType> typesOf(std::span<const Operand> operands) {
    std::vector<TensorType> &types = plan.types.emplace_back();
    for (const Operand &operand : operands)
      types.push_back(executable.types[operand.type]);
    return types;
  }

  /// Adds the instructions of a block, and recursively of the blocks nested in it.
  Status addBlock(Index block) {
    for (const Step &step : executable.blocks[block].steps) {
      current = static_cast<uint32_t>(plan.steps.size());
      plan.steps.push_back(&step);
      TILEWRIGHT_TRY(std::visit([this](const auto &action) { return add(action); }, step.action));
    }
    return Status();
  }

  Instruction &emit(Op op) {
    Instruction &instruction = plan.code.emplace_back();
    instruction.op = op;
    instruction.step = current;
    instruction.buffers = static_cast<uint32_t>(plan.pointers.size());
    return instruction;
  }
  void point(const Slice &slice) { plan.pointers.push_back({slice.allocation, slice.offset}); }
  Instruction &emit(Op op, std::span<const Operand> operands, std::span<const Operand> results) {
    Instruction &instruction = emit(op);
    instruction.operandCount = static_cast<uint32_t>(operands.size());
    instruction.resultCount = static_cast<uint32_t>(results.size());
    for (const Operand &operand : operands)
      point(operand.slice);
    for (const Operand &result : results)
      point(result.slice);
    return instruction;
  }
  uint32_t here() const { return static_cast<uint32_t>(plan.code.size()); }

  Status add(const LaunchStep &launch) {
    const Kernel &kernel = executable.kernels[launch.kernel];
    if (kernel.grid == 0)
      return Status();
    // Assume that an item of unknown cost is expensive enough for its own thread.
    const int64_t cost = kernel.itemCost ? kernel.itemCost : inlineNanoseconds;
    const bool isSmall = kernel.grid == 1 || kernel.grid < inlineNanoseconds / cost;
    Instruction &instruction = emit(isSmall ? Op::launch : Op::launchParallel);
    instruction.function = kernels[launch.kernel];
    instruction.count = kernel.grid;
    instruction.grain = std::max<int64_t>(1, inlineNanoseconds / 2 / cost);
    instruction.scratchBytes = kernel.scratchBytes;
    for (const Slice &slice : launch.buffers)
      point(slice);
    return Status();
  }

  Status add(const LibraryStep &step) {
    const artifact::Library &library = executable.libraries[step.library];
    // Share one kernel between calls of the same library with the same types, such as those of each
    // layer of a model.
    std::vector<Index> key = {step.library, static_cast<Index>(step.operands.size())};
    for (const Operand &operand : step.operands)
      key.push_back(operand.type);
    for (const Operand &result : step.results)
      key.push_back(result.type);
    auto [place, isNew] = prepared.try_emplace(std::move(key), here());
    if (isNew) {
      LibrarySignature types;
      TILEWRIGHT_ASSIGN(types.bodies, bodiesNamed(library.bodies));
      types.operands = typesOf(step.operands);
      types.results = typesOf(step.results);
      Result<std::unique_ptr<LibraryKernel>> kernel = prepareLibrary(library.call, types);
      if (!kernel.isOk())
        return std::move(kernel).takeStatus().during(concat("loading ", describe()));
      place->second = static_cast<uint32_t>(plan.libraries.size());
      plan.libraries.push_back(*std::move(kernel));
    }
    emit(Op::library, step.operands, step.results).index = place->second;
    return Status();
  }

  Status add(const CustomCallStep &step) {
    const CustomCallSite site{&step, typesOf(step.operands), typesOf(step.results)};
    std::unique_ptr<CustomCall> call;
    if (customCalls) {
      Result<std::unique_ptr<CustomCall>> found = customCalls->prepare(site);
      if (!found.isOk())
        return std::move(found).takeStatus().during(concat("loading ", describe()));
      call = *std::move(found);
    }
    if (!call)
      return Status(Error::customCallUnknown,
                    concat("no handler is registered for custom call '", step.target,
                           "' (API version ", step.apiVersion, ") of ", describe(),
                           "; register it before the program is loaded, in JAX with "
                           "jax.ffi.register_ffi_target"));
    emit(Op::customCall, step.operands, step.results).index =
        static_cast<uint32_t>(plan.customCalls.size());
    plan.customCalls.push_back(std::move(call));
    return Status();
  }

  Status add(const CopyStep &copy) {
    if (copy.from == copy.to || copy.from.bytes == 0)
      return Status();
    emit(Op::copy).count = copy.from.bytes;
    point(copy.from);
    point(copy.to);
    return Status();
  }

  Status add(const WhileStep &loop) {
    const bool isCounted = loop.tripCount >= 0;
    const uint32_t counter = plan.counters, mine = current;
    emit(Op::enter);
    if (isCounted) {
      ++plan.counters;
      Instruction &set = emit(Op::setCounter);
      set.index = counter;
      set.count = loop.tripCount;
    }
    const uint32_t start = here();
    if (!isCounted)
      TILEWRIGHT_TRY(addBlock(loop.condition));
    current = mine;
    const uint32_t test = here();
    emit(isCounted ? Op::countDown : Op::exitUnless).index = counter;
    if (!isCounted)
      point(loop.predicate);
    TILEWRIGHT_TRY(addBlock(loop.body));
    current = mine;
    if (isCounted && here() == test + 2 && plan.code.back().op == Op::launch) {
      // Only the launch stays, without setCounter and countDown.
      plan.code.back().op = Op::launchLoop;
      plan.code.back().grain = loop.tripCount;
      plan.code.erase(plan.code.end() - 3, plan.code.end() - 1);
      --plan.counters;
      emit(Op::leave);
      return Status();
    }
    emit(Op::repeat).target = start;
    plan.code[test].target = here();
    emit(Op::leave);
    return Status();
  }

  /// The choose instruction jumps into a table of jumps, one for each block; each block ends with a
  /// jump past the last block.
  Status add(const BranchStep &branch) {
    emit(Op::enter);
    const uint32_t mine = current, choice = here(), count = branch.blocks.size();
    emit(branch.isPredicate ? Op::chooseByPred : Op::chooseByIndex);
    point(branch.selector);
    plan.code[choice].target = here();
    plan.code[choice].count = count;
    for (uint32_t i = 0; i < count; ++i)
      emit(Op::jump);
    std::vector<uint32_t> ends;
    for (uint32_t i = 0; i < count; ++i) {
      plan.code[choice + 1 + i].target = here();
      TILEWRIGHT_TRY(addBlock(branch.blocks[i]));
      current = mine;
      ends.push_back(here());
      emit(Op::jump);
    }
    for (uint32_t end : ends)
      plan.code[end].target = here();
    emit(Op::leave);
    return Status();
  }

  Status add(const CollectiveStartStep &step) {
    plan.hasCollectives = true;
    const auto index = static_cast<uint32_t>(plan.collectives.size());
    TILEWRIGHT_ASSIGN(collective::Call call, callOf(step));
    Collective &collective = plan.collectives.emplace_back();
    collective.step = &step;
    collective.name = concat(nameOf(step.kind), ".", step.id);
    collective.call = std::move(call);
    collective.call.name = collective.name;
    if (step.kind == collective::Kind::raggedAllToAll)
      collective.listTypes = typesOf(step.operands).subspan(2);
    collectives[step.id] = index;
    emit(Op::collectiveStart, step.operands, step.results).index = index;
    return Status();
  }
  /// The part of a call that is the same in every run: everything except the pointers to the
  /// tensors. The caller sets the name.
  Result<collective::Call> callOf(const CollectiveStartStep &step) {
    const std::span<const TensorType> operands = typesOf(step.operands),
                                      results = typesOf(step.results);
    const bool isRagged = step.kind == collective::Kind::raggedAllToAll;
    // The engine writes results in the operands' element types.
    if (!isRagged &&
        !std::ranges::equal(operands, results, {}, &TensorType::element, &TensorType::element))
      return Status(Error::collectiveGroups,
                    concat(describe(), ": the ", results.size(),
                           " results of a collective must have the same element types as its ",
                           operands.size(), " operands"));
    TILEWRIGHT_ASSIGN(std::span<const Body> bodies, bodiesNamed(step.bodies));
    collective::Call call;
    call.kind = step.kind;
    call.order = step.order;
    call.groups = &step.groups;
    for (size_t i = 0; i < results.size(); ++i) // a ragged exchange has more operands
      call.tensors.push_back({operands[i].element, operands[i].dims, results[i].dims});
    call.dimension = step.dimension;
    call.splitDimension = step.splitDimension;
    call.reduction = {step.reduction, bodies.empty() ? nullptr : bodies.front()};
    call.place = plan.steps[current]->location;
    call.identity = nextCollective.fetch_add(1, std::memory_order_relaxed);
    return call;
  }
  Status add(const CollectiveDoneStep &step) {
    const uint32_t index = collectives[step.id];
    // If no step is between start and done, run the collective synchronously.
    if (Instruction &before = plan.code.back();
        before.op == Op::collectiveStart && before.index == index)
      before.op = Op::collectiveRun;
    else
      emit(Op::collectiveFinish).index = index;
    return Status();
  }

  std::string describe() const {
    const Step &step = *plan.steps[current];
    return step.location.empty() ? step.name : concat(step.name, " (", step.location, ")");
  }

  const Executable &executable;
  const ObjectCode *object;
  PrepareLibrary *prepareLibrary;
  CustomCallResolver *customCalls;
  Plan plan;
  uint32_t current = 0; // the step that emitted instructions belong to
  std::vector<KernelFunction *> kernels;
  std::map<std::vector<Index>, uint32_t> prepared;
  std::map<uint32_t, uint32_t> collectives; // by id
};

} // namespace

Result<Plan> makePlan(const Executable &executable, const ObjectCode *code,
                      PrepareLibrary *prepareLibrary, CustomCallResolver *customCalls) {
  return PlanBuilder(executable, code, prepareLibrary, customCalls).build();
}

} // namespace tilewright::runtime::cpu
