#include "tilewright/runtime/cpu/CpuBackend.h"
#include "tilewright/runtime/candidates/Candidates.h"
#include "tilewright/runtime/cpu/CpuCollectives.h"
#include "tilewright/runtime/cpu/HostMemory.h"
#include "tilewright/runtime/cpu/Program.h"
#include "tilewright/runtime/cpu/StepTracer.h"

#include <mutex>
#include <optional>

namespace tilewright::runtime::cpu {

namespace {

/// The estimated duration of all launches of the plan; 0 if some steps have no estimate.
int64_t estimate(const artifact::Executable &executable) {
  int64_t sum = 0;
  for (const artifact::Block &block : executable.blocks)
    for (const artifact::Step &step : block.steps) {
      if (const auto *launch = std::get_if<artifact::LaunchStep>(&step.action)) {
        const artifact::Kernel &kernel = executable.kernels[launch->kernel];
        int64_t cost = 0;
        if (__builtin_mul_overflow(kernel.itemCost, kernel.grid, &cost) ||
            __builtin_add_overflow(sum, cost, &sum))
          return 0;
      } else if (!std::holds_alternative<artifact::CopyStep>(step.action)) {
        return 0;
      }
    }
  return sum + 1;
}

class CpuProgram final : public DeviceProgram {
public:
  explicit CpuProgram(std::shared_ptr<Program> program)
      : program(std::move(program)), expected(estimate(this->program->executable())) {}

  Result<Event> run(const ProgramRun &run) override {
    RunContext context{.pool = run.pool};
    context.arenas[0] = run.arenas[0];
    context.arenas[1] = run.arenas[1];
    context.replica = run.replica;
    context.partition = run.partition;
    context.runId = run.runId;
    context.device = run.device;
    context.userContext = run.userContext;
    std::optional<CpuCollectives> collectives;
    if (run.communicator)
      context.collectives = &collectives.emplace(*run.communicator);
    std::optional<StepTracer> tracer;
    if (trace::isOn()) {
      std::call_once(liveOnce, [&] { live.emplace(program->executable()); });
      context.tracer = &tracer.emplace(*live);
    }
    TILEWRIGHT_TRY(program->run(run.parameters, run.results, context));
    return Event();
  }
  int64_t estimatedNanoseconds() const override { return expected; }
  int64_t codeBytes() const override { return static_cast<int64_t>(program->codeBytes()); }

private:
  const std::shared_ptr<Program> program;
  const int64_t expected;
  std::once_flag liveOnce; // computed only if tracing is on
  std::optional<LiveTemporaries> live;
};

class CpuBackend final : public Backend {
public:
  CpuBackend(const RuntimeOptions &options, std::shared_ptr<CustomCallResolver> customCalls)
      : options(options), customCalls(std::move(customCalls)) {
    if (options.tune || !options.tuningFile.empty())
      Candidates::ofProcess().set(Candidates::settingsOf(options));
  }

  std::string name() const override { return "cpu"; }
  std::string version() const override { return "tilewright cpu"; }
  std::vector<DeviceDescription> devices() const override {
    return std::vector<DeviceDescription>(static_cast<size_t>(options.devices), {"cpu", {}});
  }
  std::unique_ptr<RawMemory> rawMemory(std::string_view, size_t) override {
    return std::make_unique<HostMemory>(options.prefault);
  }
  bool isHostMemory(std::string_view) const override { return true; }
  int64_t defaultMemoryLimit(std::string_view, size_t) const override {
    return availableMemory() / 10 * 9;
  }
  Result<std::unique_ptr<DeviceProgram>>
  load(std::shared_ptr<const artifact::Executable> executable, std::span<const ProgramPlace>,
       ThreadPool &) override {
    LoadOptions load;
    load.customCalls = customCalls.get();
    TILEWRIGHT_ASSIGN(std::shared_ptr<Program> program, Program::load(std::move(executable), load));
    return std::unique_ptr<DeviceProgram>(std::make_unique<CpuProgram>(std::move(program)));
  }

private:
  const RuntimeOptions options;
  const std::shared_ptr<CustomCallResolver> customCalls;
};

} // namespace

std::unique_ptr<Backend> createBackend(const RuntimeOptions &options,
                                       std::shared_ptr<CustomCallResolver> customCalls) {
  return std::make_unique<CpuBackend>(options, std::move(customCalls));
}

Result<std::unique_ptr<Client>> createClient(const ClientOptions &options,
                                             std::shared_ptr<CustomCallResolver> customCalls) {
  return Client::create(options, createBackend(options.runtime, std::move(customCalls)));
}

} // namespace tilewright::runtime::cpu
