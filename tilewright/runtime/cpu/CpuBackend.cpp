#include "tilewright/runtime/cpu/CpuBackend.h"
#include "tilewright/runtime/cpu/HostMemory.h"

namespace tilewright::runtime::cpu {

namespace {

class CpuBackend final : public Backend {
public:
  explicit CpuBackend(const RuntimeOptions &options) : options(options) {}

  std::string name() const override { return "cpu"; }
  std::string version() const override { return "tilewright cpu"; }
  std::vector<DeviceDescription> devices() const override {
    return std::vector<DeviceDescription>(static_cast<size_t>(options.devices), {"cpu", {}});
  }
  std::unique_ptr<RawMemory> rawMemory(std::string_view) override {
    return std::make_unique<HostMemory>(options.prefault);
  }
  bool isHostMemory(std::string_view) const override { return true; }
  int64_t defaultMemoryLimit() const override { return availableMemory() / 10 * 9; }
  Result<std::unique_ptr<DeviceProgram>>
  load(std::shared_ptr<const artifact::Executable> executable, ThreadPool &pool) override;

private:
  const RuntimeOptions options;
};

Result<std::unique_ptr<DeviceProgram>> CpuBackend::load(std::shared_ptr<const artifact::Executable>,
                                                        ThreadPool &) {
  return Status(Code::unimplemented, "programs for the CPU cannot be loaded yet");
}

} // namespace

std::unique_ptr<Backend> createBackend(const CpuBackendOptions &options) {
  return std::make_unique<CpuBackend>(options.runtime);
}

Result<std::unique_ptr<Client>> createClient(const ClientOptions &options) {
  return Client::create(options, createBackend({options.runtime}));
}

} // namespace tilewright::runtime::cpu
