// The conformance suite on the engine of our own kernels.
#include "test/nvptx/collectives/Team.h"

#include "tilewright/collective/conformance/Kit.h"
#include "tilewright/collective/nccl/testing/DeviceRanks.h"
#include "tilewright/runtime/cuda/FindDriver.h"
#include "tilewright/runtime/cuda/symmetric/SymmetricEngine.h"

#include <map>
#include <mutex>
#include <numeric>

namespace tilewright::collective::conformance {

namespace {
using nccl::test::DeviceRanks;
using nccl::test::Gpus;
using runtime::cuda::CollectiveImage;
using runtime::cuda::SymmetricEngine;

/// Kernels are the same in all jobs of the process.
Result<CollectiveImage> compile(const numerics::CollectiveKernel &kernel) {
  static std::mutex mutex;
  static std::map<numerics::CollectiveKernel, CollectiveImage> known; // guarded by mutex
  std::lock_guard lock(mutex);
  auto found = known.find(kernel);
  if (found == known.end()) {
    TILEWRIGHT_ASSIGN(CollectiveImage image, nvptx::compileImage(kernel));
    found = known.emplace(kernel, std::move(image)).first;
  }
  return found->second;
}

/// All ranks in this process, one for each virtual GPU.
class SymmetricJob final : public Job {
public:
  static Result<std::unique_ptr<Job>> create(int64_t ranks, std::chrono::nanoseconds) {
    auto job = std::make_unique<SymmetricJob>();
    TILEWRIGHT_ASSIGN(auto api, runtime::cuda::findDriver(
                                    {.library = "", .virtualChip = "sm_90a", .devices = {}}));
    job->gpus = std::make_unique<Gpus>(ranks);
    std::vector<int> ordinals(static_cast<size_t>(ranks));
    std::iota(ordinals.begin(), ordinals.end(), 0);
    SymmetricEngine::Options options;
    options.windowBytes = size_t(256) << 10;
    options.points = 2;
    auto engine = SymmetricEngine::make(api, ordinals, *job->gpus, &compile, options);
    // Compiling and checking take longer than the suite allows a transport.
    job->ranks =
        std::make_unique<DeviceRanks>(std::move(engine), *job->gpus, std::chrono::minutes(10));
    return std::unique_ptr<Job>(std::move(job));
  }
  Engine &engine(int64_t) override { return *ranks; }

private:
  std::unique_ptr<Gpus> gpus;
  std::unique_ptr<DeviceRanks> ranks;
};
} // namespace

const std::vector<Kit> &kits() {
  static const std::vector<Kit> all = {{"OwnKernels", &SymmetricJob::create}};
  return all;
}

} // namespace tilewright::collective::conformance
