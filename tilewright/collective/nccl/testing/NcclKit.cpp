#include "tilewright/collective/conformance/Kit.h"
#include "tilewright/collective/nccl/NcclEngine.h"
#include "tilewright/collective/nccl/testing/DeviceRanks.h"

namespace tilewright::collective::conformance {

namespace {
/// All ranks in this process, one for each virtual GPU.
class NcclJob final : public Job {
public:
  static Result<std::unique_ptr<Job>> create(int64_t ranks, std::chrono::nanoseconds timeout) {
    auto job = std::make_unique<NcclJob>();
    job->gpus = std::make_unique<nccl::test::Gpus>(ranks);
    Membership membership;
    membership.processOfRank.assign(static_cast<size_t>(ranks), 0);
    nccl::NcclEngine::Options options;
    options.library = nccl::test::ncclLibrary();
    options.timeout = timeout;
    TILEWRIGHT_ASSIGN(auto engine,
                      nccl::NcclEngine::connect(membership, job->store, *job->gpus, options));
    job->ranks = std::make_unique<nccl::test::DeviceRanks>(std::move(engine), *job->gpus, timeout);
    return std::unique_ptr<Job>(std::move(job));
  }
  Engine &engine(int64_t) override { return *ranks; }

private:
  MemoryKeyValueStore store;
  std::unique_ptr<nccl::test::Gpus> gpus;
  std::unique_ptr<nccl::test::DeviceRanks> ranks;
};
} // namespace

const std::vector<Kit> &kits() {
  static const std::vector<Kit> all = {{"VirtualGpus", &NcclJob::create}};
  return all;
}

} // namespace tilewright::collective::conformance
