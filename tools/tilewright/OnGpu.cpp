#include "tools/tilewright/OnGpu.h"

#include "tilewright/runtime/LoadedExecutable.h"
#include "tilewright/runtime/cuda/CudaBackend.h"
#include "tools/tilewright/DeviceTensors.h"

#include <numeric>

using namespace tilewright::interpret;

namespace tilewright::tools {

Result<std::unique_ptr<runtime::Client>> openGpu(const Options &options) {
  TILEWRIGHT_ASSIGN(runtime::cuda::DriverOptions driver,
                    runtime::cuda::driverOptionsOf(options.compile.target));
  runtime::ClientOptions client;
  client.runtime = options.runtime;
  return runtime::cuda::createClient(client, driver);
}

Result<RuntimeValues> runOnGpu(artifact::Executable executable, const RuntimeValues &inputs,
                               const Options &options, runtime::Client &client, Donate donate) {
  TILEWRIGHT_ASSIGN(runtime::DeviceAssignment assignment, client.defaultAssignment(1, 1));
  TILEWRIGHT_ASSIGN(
      std::shared_ptr<runtime::LoadedExecutable> program,
      client.load(std::make_shared<const artifact::Executable>(std::move(executable)), assignment));

  runtime::Memory &memory = program->addressableDevices().front()->defaultMemory();
  TILEWRIGHT_ASSIGN(const auto owned, toDevice(inputs, memory));
  const std::vector<runtime::Buffer *> arguments = pointersTo(owned);
  const std::span<runtime::Buffer *const> forDevice[] = {arguments};
  runtime::ExecuteOptions execute;
  std::vector<int64_t> kept(donate == Donate::nothing ? arguments.size() : 0);
  std::iota(kept.begin(), kept.end(), 0);
  execute.nonDonatable = kept;
  TILEWRIGHT_ASSIGN(runtime::Execution execution, program->execute(forDevice, execute));
  Context context(options.interpret);
  RuntimeValues outputs;
  for (const std::unique_ptr<runtime::Buffer> &result : execution.results.front()) {
    TILEWRIGHT_ASSIGN(Tensor tensor, toTensor(*result, context));
    outputs.emplace_back(std::move(tensor));
  }
  // Wait, because a program without results can fail too.
  TILEWRIGHT_TRY(execution.done.front().await());
  return outputs;
}

} // namespace tilewright::tools
