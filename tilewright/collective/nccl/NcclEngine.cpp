#include "tilewright/collective/nccl/NcclEngine.h"
#include "tilewright/collective/nccl/NcclCommunicator.h"
#include "tilewright/support/Concat.h"

namespace tilewright::collective::nccl {

Result<std::unique_ptr<NcclEngine>> NcclEngine::connect(const Membership &membership,
                                                        KeyValueStore &store, DeviceAccess &access,
                                                        const Options &options) {
  TILEWRIGHT_ASSIGN(const Library *library, Library::load(options.library));
  return connect(*library, membership, store, access, options);
}

std::unique_ptr<NcclEngine> NcclEngine::connect(const Library &library,
                                                const Membership &membership, KeyValueStore &store,
                                                DeviceAccess &access, const Options &options) {
  return std::unique_ptr<NcclEngine>(
      new NcclEngine(std::make_shared<Job>(library, membership, store, access, options)));
}

NcclEngine::~NcclEngine() = default;

std::string NcclEngine::version() const { return job->nccl.versionText(); }

bool NcclEngine::canReduce(ReductionKind operation, ElementType element) const {
  return job->nccl.typeOf(element) && operationOf(operation, element);
}

Result<std::vector<std::unique_ptr<DeviceCommunicator>>>
NcclEngine::prepare(const std::vector<int64_t> &members, std::span<const DeviceClique> cliques,
                    Deadline deadline) {
  TILEWRIGHT_ASSIGN(std::vector<Job::LocalSeats> seats, job->prepare(members, cliques, deadline));
  std::vector<std::unique_ptr<DeviceCommunicator>> communicators;
  for (Job::LocalSeats &each : seats)
    communicators.push_back(std::make_unique<NcclCommunicator>(
        job, std::move(each), static_cast<int64_t>(members.size())));
  return communicators;
}

Result<std::byte *> NcclEngine::allocate(int64_t rank, size_t bytes) {
  TILEWRIGHT_TRY(job->access.makeCurrent(rank));
  void *data = nullptr;
  TILEWRIGHT_TRY(job->nccl.check(job->nccl.MemAlloc(&data, bytes), "MemAlloc"));
  return static_cast<std::byte *>(data);
}

void NcclEngine::free(int64_t rank, std::byte *data) {
  if (job->access.makeCurrent(rank).isOk())
    (void)job->nccl.MemFree(data);
}

void NcclEngine::revoke(const std::string &why) { job->fail(why); }

Result<std::unique_ptr<DeviceEngine>> NcclEngine::shrink(const std::vector<int64_t> &without,
                                                         uint64_t epoch, KeyValueStore &store,
                                                         Deadline deadline) {
  if (!job->failure.isSet())
    job->fail(concat("ranks ", listed(without), " have left"));
  Membership rest = job->membership;
  rest.epoch = epoch;
  for (int64_t rank : without)
    if (rank >= 0 && rank < static_cast<int64_t>(rest.processOfRank.size()))
      rest.processOfRank[static_cast<size_t>(rank)] = -1;
  auto next = std::make_shared<Job>(job->nccl, std::move(rest), store, job->access, job->options);
  TILEWRIGHT_TRY(next->shrinkFrom(*job, deadline));
  return std::unique_ptr<DeviceEngine>(new NcclEngine(std::move(next)));
}

} // namespace tilewright::collective::nccl
