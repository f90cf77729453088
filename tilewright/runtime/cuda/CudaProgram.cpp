#include "tilewright/runtime/cuda/CudaProgram.h"
#include "tilewright/runtime/DeviceCollectives.h"
#include "tilewright/runtime/cuda/CommandBuffer.h"
#include "tilewright/runtime/cuda/Conditions.h"
#include "tilewright/runtime/cuda/CudaCall.h"
#include "tilewright/runtime/cuda/CudaCollective.h"
#include "tilewright/runtime/cuda/CudaModule.h"
#include "tilewright/runtime/cuda/Transfer.h"
#include "tilewright/runtime/cuda/libraries/LibraryProduct.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace tilewright::runtime::cuda {
namespace {

using artifact::Executable;
using artifact::Index;
using artifact::Slice;

std::string describe(const artifact::Step &step) {
  return step.location.empty() ? concat("'", step.name, "'")
                               : concat("'", step.name, "' (", step.location, ")");
}

/// The library kernel that returns the number of the rank, the only one that GPUs have. Null for
/// any other library kernel.
const artifact::RankIdCall *rankIdOf(const Executable &executable,
                                     const artifact::LibraryStep &step) {
  return std::get_if<artifact::RankIdCall>(&executable.libraries[step.library].call);
}

/// Describes a step that GPUs cannot run; empty if they can.
std::string unsupported(const Executable &executable, const artifact::Step &step) {
  const auto *library = std::get_if<artifact::LibraryStep>(&step.action);
  if (!library || rankIdOf(executable, *library))
    return "";
  return concat("the library kernel '", nameOf(executable.libraries[library->library].call), "'");
}

/// Rejects unsupported steps at load time; the message names the user's line.
Status checkSteps(const Executable &executable) {
  for (const artifact::Block &block : executable.blocks)
    for (const artifact::Step &step : block.steps)
      if (std::string what = unsupported(executable, step); !what.empty())
        return Status(Error::cudaStep,
                      concat("'", executable.name, "' has ", what, " at ", describe(step),
                             ", which GPUs cannot run yet; run it on the CPU "
                             "(TILEWRIGHT_TARGET=cpu), or remove the operation"));
  return Status();
}

/// The custom calls of a program, by step.
using Calls = std::map<const artifact::CustomCallStep *, std::unique_ptr<CudaCall>>;

/// A program on one device. Not thread-safe: only the thread that runs the current task of the
/// device's stream uses it.
class Instance {
public:
  Instance(const Executable &executable, const Calls &calls, const CudaCollectives &collectives,
           const ProgramDevice &place, std::shared_ptr<libraries::GpuLibraries> gpuLibraries)
      : executable(executable), calls(calls), collectives(collectives), place(place),
        gpu(*place.gpu), gpuLibraries(std::move(gpuLibraries)) {}

  Status load(ThreadPool &pool) {
    TILEWRIGHT_TRY(gpu.isUsable());
    const ContextScope scope(gpu);
    TILEWRIGHT_ASSIGN(module, CudaModule::load(executable, gpu));
    auto name = std::make_shared<const std::string>(executable.name);
    activity = std::make_shared<const std::string>(concat("running '", *name, "' on ", gpu.text()));
    if (!executable.constants.empty()) {
      TILEWRIGHT_ASSIGN(constants, place.device->defaultMemory().allocate(
                                       executable.constants.size(), {"constants", nullptr, name}));
      TILEWRIGHT_TRY(upload(gpu, constants.data(), executable.constants.data(),
                            executable.constants.size(), pool)
                         .await());
    }
    TILEWRIGHT_TRY(loadConditions(name));
    TILEWRIGHT_TRY(loadRankIds(name, pool));
    TILEWRIGHT_TRY(chooseLibraries(name));
    if (!collectives.isEmpty())
      TILEWRIGHT_TRY(gpu.createCollectives());
    blocks.resize(executable.blocks.size());
    plan(0);
    if (!hasHostControlFlow)
      return Status();
    TILEWRIGHT_ASSIGN(answer, place.device->memoryOfKind(pinnedHostKind)
                                  ->allocate(sizeof(int32_t), {"predicate", nullptr, name}));
    return Status();
  }

  Result<Event> run(const ProgramRun &run) {
    TILEWRIGHT_TRY(gpu.isUsable());
    if (!collectives.isEmpty() && !run.ranks)
      return Status(Error::runCollectives,
                    concat("'", executable.name, "' has collectives for ", executable.replicas,
                           " replicas and ", executable.partitions,
                           " partitions, but runs without the communicators of its ranks"));
    CudaQueue &queue = gpu.programs();
    queue.awaitRoom();
    const ContextScope scope(gpu);
    CudaRun state(gpu, run);
    findAddresses(state);
    Status status = submit(state, 0);
    Result<Event> done = queue.record(activity);
    if (status.isOk() && done.isOk()) {
      state.keepUntil(*done);
      return *std::move(done); // the event reports the failure of a program that has already failed
    }
    // The caller may free memory when this returns, so wait for all submitted work.
    const bool isRecorded = done.isOk();
    if (status.isOk())
      status = std::move(done).takeStatus();
    if (!collectives.isEmpty()) {
      // Collectives that were submitted may wait for ranks that never join.
      run.ranks->fail(status);
      for (const auto &[id, ended] : state.started)
        gpu.collectives().drop(ended);
      gpu.collectives().drain();
    }
    queue.drain();
    if (!isRecorded)
      queue.synchronize();
    // A lost device reports the same error for all work. This program caused it only if all earlier
    // work succeeded, which is known after the drain.
    if (status.error() == Error::cudaKernelFailed && !state.blamesLibrary)
      if (Status lost = gpu.fail(copyOf(status), activity.get()); lost.error() != status.error())
        return lost;
    return status;
  }

  /// Whether a run only submits commands: the host reads no predicates and calls no handlers.
  bool isStraight() const {
    return !hasHostControlFlow && calls.empty() && collectives.isEmpty() && products.empty();
  }

private:
  /// A part of a block: commands, a call of a handler, a product that a library computes, the start
  /// or end of a collective, or a loop or branch that the device cannot run by itself, because the
  /// host has to read its predicate. A call is not a host node of a graph: CUDA forbids such a node
  /// from calling the driver, which a handler may do, and a node cannot fail. A collective is not
  /// in a graph, because the addresses in its nodes could not be changed and a revoked engine could
  /// not be replaced.
  struct Segment {
    std::unique_ptr<CommandBuffer> commands;
    const CudaCall *call = nullptr;
    libraries::LibraryProduct *product = nullptr;
    const CudaCollective *start = nullptr, *done = nullptr;
    const artifact::WhileStep *loop = nullptr;
    const artifact::BranchStep *branch = nullptr;
  };

  /// Loads the kernels with which the device runs the program's loops and branches, if the driver
  /// supports that.
  Status loadConditions(const std::shared_ptr<const std::string> &name) {
    size_t loops = 0, branches = 0;
    for (const artifact::Block &block : executable.blocks)
      for (const artifact::Step &step : block.steps) {
        loops += std::holds_alternative<artifact::WhileStep>(step.action);
        branches += std::holds_alternative<artifact::BranchStep>(step.action);
      }
    if (loops + branches == 0)
      return Status();
    TILEWRIGHT_ASSIGN(conditions, Conditions::load(gpu));
    if (conditions && loops > 0) {
      TILEWRIGHT_ASSIGN(counters, place.device->defaultMemory().allocate(
                                      loops * sizeof(uint64_t), {"counters", nullptr, name}));
    }
    return Status();
  }

  /// Copies the rank numbers to the device if the program reads them.
  Status loadRankIds(const std::shared_ptr<const std::string> &name, ThreadPool &pool) {
    for (const artifact::Library &library : executable.libraries)
      if (std::holds_alternative<artifact::RankIdCall>(library.call) && !rankIds.data()) {
        const uint32_t numbers[2] = {static_cast<uint32_t>(place.replica),
                                     static_cast<uint32_t>(place.partition)};
        TILEWRIGHT_ASSIGN(rankIds, place.device->defaultMemory().allocate(
                                       sizeof numbers, {"numbers of the rank", nullptr, name}));
        TILEWRIGHT_TRY(upload(gpu, rankIds.data(), reinterpret_cast<const std::byte *>(numbers),
                              sizeof numbers, pool)
                           .await());
      }
    return Status();
  }

  /// Asks the libraries which products of the program they compute.
  Status chooseLibraries(const std::shared_ptr<const std::string> &name) {
    if (!gpuLibraries || gpuLibraries->use() == libraries::Use::off)
      return Status();
    for (const artifact::ScaledProduct &product : artifact::scaledProductsOf(executable))
      for (const artifact::Block &block : executable.blocks)
        for (const artifact::Step &step : block.steps)
          if (const auto *launch = std::get_if<artifact::LaunchStep>(&step.action);
              launch && launch->kernel == product.kernel)
            TILEWRIGHT_TRY(chooseLibrary(step, *launch, product, name));
    return Status();
  }
  Status chooseLibrary(const artifact::Step &step, const artifact::LaunchStep &launch,
                       const artifact::ScaledProduct &product,
                       const std::shared_ptr<const std::string> &name) {
    libraries::Choice choice = gpuLibraries->choose(place.gpu, product);
    if (!choice.plan) {
      for (const std::string &refusal : choice.refusals)
        libraries::GpuLibraries::say(describe(step), refusal);
      return Status();
    }
    if (product.factor != artifact::none && !zero.data()) {
      TILEWRIGHT_ASSIGN(
          zero, place.device->defaultMemory().allocate(sizeof(float), {"zero", nullptr, name}));
      TILEWRIGHT_TRY(TILEWRIGHT_CUDA(gpu, cuMemsetD8Async, addressOf(zero.data()),
                                     static_cast<unsigned char>(0), sizeof(float),
                                     gpu.programs().stream()));
    }
    products[&launch] = std::make_unique<libraries::LibraryProduct>(
        step, product, std::move(choice), gpuLibraries->use(),
        Command(*executable.kernels[launch.kernel].gpu, module->function(launch.kernel),
                launch.buffers),
        addressOf(zero.data()));
    return Status();
  }

  /// Whether the device runs the block by itself: launches and copies, and loops and branches of
  /// such blocks.
  bool isForDevice(Index block) const {
    for (const artifact::Step &step : executable.blocks[block].steps) {
      if (const auto *loop = std::get_if<artifact::WhileStep>(&step.action)) {
        if (!isForDevice(*loop))
          return false;
      } else if (const auto *branch = std::get_if<artifact::BranchStep>(&step.action)) {
        if (!isForDevice(*branch))
          return false;
      } else if (const auto *start = std::get_if<artifact::CollectiveStartStep>(&step.action)) {
        if (collectives.at(start->id))
          return false;
      } else if (const auto *done = std::get_if<artifact::CollectiveDoneStep>(&step.action)) {
        if (collectives.at(done->id))
          return false;
      } else if (const auto *launch = std::get_if<artifact::LaunchStep>(&step.action)) {
        if (products.contains(launch))
          return false;
      } else if (std::holds_alternative<artifact::CustomCallStep>(step.action)) {
        return false;
      }
    }
    return true;
  }
  bool isForDevice(const artifact::WhileStep &loop) const {
    return conditions && isForDevice(loop.body) &&
           (loop.tripCount >= 0 || isForDevice(loop.condition));
  }
  bool isForDevice(const artifact::BranchStep &branch) const {
    return conditions && std::all_of(branch.blocks.begin(), branch.blocks.end(),
                                     [&](Index block) { return isForDevice(block); });
  }

  void plan(Index block) {
    std::vector<Segment> &segments = blocks[block];
    auto commands = [&]() -> CommandList & {
      if (segments.empty() || !segments.back().commands)
        segments.emplace_back().commands = std::make_unique<CommandBuffer>(gpu);
      return segments.back().commands->list();
    };
    for (const artifact::Step &step : executable.blocks[block].steps) {
      if (const auto *call = std::get_if<artifact::CustomCallStep>(&step.action)) {
        segments.emplace_back().call = calls.at(call).get();
      } else if (const auto *launch = std::get_if<artifact::LaunchStep>(&step.action);
                 launch && products.contains(launch)) {
        segments.emplace_back().product = products.at(launch).get();
      } else if (const auto *start = std::get_if<artifact::CollectiveStartStep>(&step.action);
                 start && collectives.at(start->id)) {
        segments.emplace_back().start = collectives.at(start->id);
      } else if (const auto *done = std::get_if<artifact::CollectiveDoneStep>(&step.action);
                 done && collectives.at(done->id)) {
        segments.emplace_back().done = collectives.at(done->id);
      } else if (const auto *loop = std::get_if<artifact::WhileStep>(&step.action);
                 loop && !isForDevice(*loop)) {
        segments.emplace_back().loop = loop;
        hasHostControlFlow = true;
        plan(loop->body);
        if (loop->tripCount < 0)
          plan(loop->condition);
      } else if (const auto *branch = std::get_if<artifact::BranchStep>(&step.action);
                 branch && !isForDevice(*branch)) {
        segments.emplace_back().branch = branch;
        hasHostControlFlow = true;
        for (Index inner : branch->blocks)
          plan(inner);
      } else {
        add(step, commands());
      }
    }
  }

  void add(Index block, CommandList &list) {
    for (const artifact::Step &step : executable.blocks[block].steps)
      add(step, list);
  }
  /// Adds a step that the device runs by itself.
  void add(const artifact::Step &step, CommandList &list) {
    if (const auto *launch = std::get_if<artifact::LaunchStep>(&step.action)) {
      const artifact::Kernel &kernel = executable.kernels[launch->kernel];
      if (kernel.grid > 0)
        list.add(Command(*kernel.gpu, module->function(launch->kernel), launch->buffers)).step =
            &step;
    } else if (const auto *copy = std::get_if<artifact::CopyStep>(&step.action)) {
      add(step, copy->to, copy->from, list);
    } else if (const auto *start = std::get_if<artifact::CollectiveStartStep>(&step.action)) {
      for (size_t i = 0; i < start->operands.size(); ++i) // of a single rank
        add(step, start->results[i].slice, start->operands[i].slice, list);
    } else if (const auto *library = std::get_if<artifact::LibraryStep>(&step.action)) {
      const auto *rank = rankIdOf(executable, *library);
      const size_t which = rank->kind == numerics::RankKind::partition ? 1 : 0;
      list.add(Command(library->results[0].slice,
                       addressOf(rankIds.data()) + which * sizeof(uint32_t)))
          .step = &step;
    } else if (const auto *loop = std::get_if<artifact::WhileStep>(&step.action)) {
      add(*loop, list);
    } else if (const auto *branch = std::get_if<artifact::BranchStep>(&step.action)) {
      add(*branch, list);
    }
  }
  /// Adds a copy.
  static void add(const artifact::Step &step, const Slice &to, const Slice &from,
                  CommandList &list) {
    if (to.bytes > 0 && from != to)
      list.add(Command(to, from)).step = &step;
  }
  void add(const artifact::WhileStep &loop, CommandList &list) {
    if (loop.tripCount == 0)
      return;
    CommandList::Conditional node{CU_GRAPH_COND_TYPE_WHILE, nullptr,
                                  std::make_unique<CommandList>()};
    if (loop.tripCount > 0) {
      // A loop in the condition of another loop appears twice in the graph, with the same counter.
      const size_t number = counterOf.try_emplace(&loop, counterOf.size()).first->second;
      const CUdeviceptr counter = addressOf(counters.data()) + sizeof(uint64_t) * number;
      node.set = std::make_unique<Command>(conditions->start(counter));
      add(loop.body, *node.body);
      node.setAgain =
          &node.body->add(conditions->setUntil(counter, static_cast<uint64_t>(loop.tripCount)));
    } else {
      add(loop.condition, list);
      node.set = std::make_unique<Command>(conditions->setIf(loop.predicate));
      add(loop.body, *node.body);
      add(loop.condition, *node.body);
      node.setAgain = &node.body->add(conditions->setIf(loop.predicate));
    }
    std::vector<CommandList::Conditional> nodes;
    nodes.push_back(std::move(node));
    list.add(std::move(nodes));
  }
  void add(const artifact::BranchStep &branch, CommandList &list) {
    std::vector<CommandList::Conditional> nodes;
    for (size_t i = 0; i < branch.blocks.size(); ++i) {
      auto body = std::make_unique<CommandList>();
      add(branch.blocks[i], *body);
      if (!body->isEmpty())
        nodes.push_back({CU_GRAPH_COND_TYPE_IF,
                         std::make_unique<Command>(conditions->setBranch(
                             branch.selector, branch.isPredicate, i, branch.blocks.size())),
                         std::move(body)});
    }
    list.add(std::move(nodes));
  }

  void findAddresses(CudaRun &state) const {
    const ProgramRun &run = state.run;
    state.addresses.resize(executable.allocations.size());
    for (size_t i = 0; i < state.addresses.size(); ++i) {
      const artifact::Allocation &allocation = executable.allocations[i];
      const std::byte *start = nullptr;
      switch (allocation.storage) {
      case artifact::Storage::parameter:
        start = run.parameters[allocation.index];
        break;
      case artifact::Storage::result:
        start = run.results[allocation.index];
        break;
      case artifact::Storage::constant:
        start = constants.data() + allocation.index;
        break;
      case artifact::Storage::temporary:
        start = run.arenas[allocation.space] + allocation.index;
        break;
      }
      state.addresses[i] = addressOf(start);
    }
  }

  Status submit(CudaRun &run, Index block) {
    for (const Segment &segment : blocks[block]) {
      if (segment.commands)
        TILEWRIGHT_TRY(segment.commands->submit(run.addresses));
      else if (segment.call)
        TILEWRIGHT_TRY(segment.call->submit(run));
      else if (segment.product)
        TILEWRIGHT_TRY(segment.product->submit(run));
      else if (segment.start)
        TILEWRIGHT_TRY(segment.start->start(run));
      else if (segment.done)
        TILEWRIGHT_TRY(segment.done->finish(run));
      else if (segment.loop)
        TILEWRIGHT_TRY(submit(run, *segment.loop));
      else
        TILEWRIGHT_TRY(submit(run, *segment.branch));
    }
    return Status();
  }

  Status submit(CudaRun &run, const artifact::WhileStep &loop) {
    for (int64_t round = 0; loop.tripCount < 0 || round < loop.tripCount; ++round) {
      if (run.run.ranks)
        TILEWRIGHT_TRY(run.run.ranks->check());
      if (loop.tripCount < 0) {
        TILEWRIGHT_TRY(submit(run, loop.condition));
        TILEWRIGHT_TRY(readBack(run, loop.predicate, 1));
        if (*answer.data() == std::byte(0))
          return Status();
      }
      TILEWRIGHT_TRY(submit(run, loop.body));
    }
    return Status();
  }

  Status submit(CudaRun &run, const artifact::BranchStep &branch) {
    TILEWRIGHT_TRY(readBack(run, branch.selector, branch.isPredicate ? 1 : 4));
    if (branch.isPredicate)
      return submit(run, branch.blocks[*answer.data() == std::byte(0) ? 1 : 0]);
    int32_t choice = 0;
    std::memcpy(&choice, answer.data(), sizeof choice);
    const auto count = static_cast<int32_t>(branch.blocks.size());
    if (choice < 0 || choice >= count)
      choice = count - 1;
    return submit(run, branch.blocks[static_cast<size_t>(choice)]);
  }

  /// Waits for the submitted work and copies the first bytes of a slice to `answer`.
  Status readBack(const CudaRun &run, const Slice &slice, size_t bytes) {
    ++CommandBuffer::predicatesRead;
    const CUstream stream = gpu.programs().stream();
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(
        gpu, cuMemcpyAsync, addressOf(answer.data()),
        run.addresses[slice.allocation] + static_cast<CUdeviceptr>(slice.offset), bytes, stream));
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(gpu, cuStreamSynchronize, stream));
    // A revoked collective ends without results, and this value may depend on them.
    return run.run.ranks ? run.run.ranks->check() : Status();
  }

  const Executable &executable;
  const Calls &calls;
  const CudaCollectives &collectives;
  const ProgramDevice place;
  CudaDevice &gpu;
  const std::shared_ptr<libraries::GpuLibraries> gpuLibraries;
  Allocator::Block constants, answer, counters, rankIds, zero;
  std::unique_ptr<Conditions> conditions; // null if the device cannot decide what runs
  std::map<const artifact::WhileStep *, size_t> counterOf; // of counted loops on the device
  std::unique_ptr<CudaModule> module;
  /// Launches whose products a library computes. Must be destroyed before the libraries' engines.
  std::map<const artifact::LaunchStep *, std::unique_ptr<libraries::LibraryProduct>> products;
  std::vector<std::vector<Segment>> blocks;
  bool hasHostControlFlow = false;
  std::shared_ptr<const std::string> activity;
};

class CudaProgram final : public DeviceProgram {
public:
  explicit CudaProgram(std::shared_ptr<const Executable> executable)
      : executable(std::move(executable)) {}

  Status load(std::span<const ProgramDevice> devices, CustomCallResolver *customCalls,
              ThreadPool &pool, const std::shared_ptr<libraries::GpuLibraries> &gpuLibraries) {
    TILEWRIGHT_TRY(checkSteps(*executable));
    for (const artifact::Block &block : executable->blocks)
      for (const artifact::Step &step : block.steps)
        if (const auto *call = std::get_if<artifact::CustomCallStep>(&step.action)) {
          TILEWRIGHT_ASSIGN(calls[call], CudaCall::prepare(*executable, step, customCalls));
        }
    TILEWRIGHT_TRY(collectives.prepare(*executable));
    for (const ProgramDevice &device : devices) {
      auto instance =
          std::make_unique<Instance>(*executable, calls, collectives, device, gpuLibraries);
      if (Status status = instance->load(pool); !status.isOk())
        return std::move(status).during(
            concat("loading '", executable->name, "' on ", device.gpu->text()));
      instances[device.device] = std::move(instance);
    }
    return Status();
  }

  Result<Event> run(const ProgramRun &run) override { return instances.at(run.device)->run(run); }
  /// Submitting commands to a device takes microseconds.
  int64_t estimatedNanoseconds() const override {
    return !instances.empty() && instances.begin()->second->isStraight() ? 1 : 0;
  }
  int64_t codeBytes() const override {
    return static_cast<int64_t>(executable->objectBytes() + executable->binary.size());
  }

  std::span<const collective::DeviceClique> deviceCliques() const override {
    return collectives.cliques();
  }

private:
  const std::shared_ptr<const Executable> executable;
  Calls calls;
  CudaCollectives collectives;
  std::map<const Device *, std::unique_ptr<Instance>> instances;
};

} // namespace

Result<std::unique_ptr<DeviceProgram>>
loadProgram(std::shared_ptr<const Executable> executable, std::span<const ProgramDevice> devices,
            CustomCallResolver *customCalls, ThreadPool &pool,
            std::shared_ptr<libraries::GpuLibraries> gpuLibraries) {
  auto program = std::make_unique<CudaProgram>(std::move(executable));
  TILEWRIGHT_TRY(program->load(devices, customCalls, pool, gpuLibraries));
  return std::unique_ptr<DeviceProgram>(std::move(program));
}

} // namespace tilewright::runtime::cuda
