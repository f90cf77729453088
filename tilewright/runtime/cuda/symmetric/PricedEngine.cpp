#include "tilewright/runtime/cuda/symmetric/PricedEngine.h"

#include "tilewright/collective/Move.h"

#include <algorithm>

namespace tilewright::runtime::cuda {

using collective::Call;
using collective::DeviceClique;
using collective::DeviceCommunicator;
using collective::DeviceStream;
using collective::Kind;

namespace {

class PricedCommunicator final : public DeviceCommunicator {
public:
  /// `sizes` has the number of members of this rank's group for each clique.
  PricedCommunicator(std::unique_ptr<DeviceCommunicator> nccl,
                     std::unique_ptr<DeviceCommunicator> own, std::vector<int64_t> sizes,
                     CollectiveChoice prefersOwn)
      : nccl(std::move(nccl)), own(std::move(own)), sizes(std::move(sizes)),
        prefersOwn(std::move(prefersOwn)) {}

  int64_t rank() const override { return nccl->rank(); }
  int64_t size() const override { return nccl->size(); }

  Status enqueue(const Call &call, size_t clique, DeviceStream stream) override {
    return (isOwn(call, clique) ? own : nccl)->enqueue(call, clique, stream);
  }
  Status beginGroup() override {
    ++depth;
    return nccl->beginGroup();
  }
  Status endGroup() override {
    --depth;
    return nccl->endGroup();
  }
  Status check() override {
    TILEWRIGHT_TRY(nccl->check());
    return own->check();
  }
  Status registerMemory(std::byte *data, size_t bytes) override {
    return nccl->registerMemory(data, bytes);
  }
  Status deregisterMemory(std::byte *data) override { return nccl->deregisterMemory(data); }
  Result<void *> registerWindow(size_t clique, std::byte *data, size_t bytes,
                                Deadline deadline) override {
    return nccl->registerWindow(clique, data, bytes, deadline);
  }

private:
  bool isOwn(const Call &call, size_t clique) const {
    if (depth > 0 || call.kind == Kind::raggedAllToAll || clique >= sizes.size() ||
        sizes[clique] < 2)
      return false;
    size_t bytes = 0;
    for (const collective::Tensor &tensor : call.tensors)
      bytes += collective::inBytes(tensor);
    return prefersOwn(call.kind, static_cast<double>(bytes), sizes[clique]);
  }

  const std::unique_ptr<DeviceCommunicator> nccl, own;
  const std::vector<int64_t> sizes;
  const CollectiveChoice prefersOwn;
  int depth = 0; // of open groups
};

/// The number of members of the rank's group; 0 if the rank is in no group. A permute counts as a
/// message between two ranks on every rank, even on one without a partner, because all ranks must
/// choose the same engine.
int64_t groupSize(const DeviceClique &clique, int64_t rank, int64_t ranks) {
  if (clique.isPairs)
    return 2;
  if (clique.groups.empty())
    return ranks;
  for (const std::vector<int64_t> &group : clique.groups)
    if (std::find(group.begin(), group.end(), rank) != group.end())
      return static_cast<int64_t>(group.size());
  return 0;
}

} // namespace

Result<std::vector<std::unique_ptr<DeviceCommunicator>>>
PricedEngine::prepare(const std::vector<int64_t> &members, std::span<const DeviceClique> cliques,
                      Deadline deadline) {
  TILEWRIGHT_ASSIGN(auto byNccl, nccl->prepare(members, cliques, deadline));
  TILEWRIGHT_ASSIGN(auto byOwn, own->prepare(members, cliques, deadline));
  std::vector<std::unique_ptr<DeviceCommunicator>> both;
  for (size_t i = 0; i < byNccl.size(); ++i) {
    std::vector<int64_t> sizes;
    for (const DeviceClique &clique : cliques)
      sizes.push_back(groupSize(clique, byNccl[i]->rank(), static_cast<int64_t>(members.size())));
    both.push_back(std::make_unique<PricedCommunicator>(std::move(byNccl[i]), std::move(byOwn[i]),
                                                        std::move(sizes), prefersOwn));
  }
  return both;
}

} // namespace tilewright::runtime::cuda
