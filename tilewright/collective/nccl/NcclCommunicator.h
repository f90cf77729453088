// NcclCommunicator: one rank's collectives of one program, queued by NCCL.
#ifndef TILEWRIGHT_COLLECTIVE_NCCL_NCCLCOMMUNICATOR_H
#define TILEWRIGHT_COLLECTIVE_NCCL_NCCLCOMMUNICATOR_H

#include "tilewright/collective/nccl/Job.h"

namespace tilewright::collective::nccl {

class NcclCommunicator final : public DeviceCommunicator {
public:
  NcclCommunicator(std::shared_ptr<Job> job, Job::LocalSeats seats, int64_t size);
  ~NcclCommunicator() override;

  int64_t rank() const override { return own.rank; }
  int64_t size() const override { return ranks; }
  Status enqueue(const Call &call, size_t clique, DeviceStream stream) override;
  Status beginGroup() override;
  Status endGroup() override;
  Status check() override;
  Status registerMemory(std::byte *data, size_t bytes) override;
  Status deregisterMemory(std::byte *data) override;
  Result<void *> registerWindow(size_t clique, std::byte *data, size_t bytes,
                                Deadline deadline) override;

private:
  Status queue(const Call &call, const Seat &seat, DeviceStream stream);
  Status queueTensor(const Call &call, const Tensor &tensor, const Seat &seat, DeviceStream stream);
  Status permute(const Call &call, const Seat &seat, DeviceStream stream);
  Status allToAll(const Tensor &tensor, const Seat &seat, DeviceStream stream);
  Status ragged(const Call &call, const Seat &seat, DeviceStream stream);
  Status copy(const Tensor &tensor, DeviceStream stream);
  Status send(const std::byte *from, size_t bytes, int64_t to, Comm &comm, DeviceStream stream);
  Status receive(std::byte *to, size_t bytes, int64_t from, Comm &comm, DeviceStream stream);
  Status nccl(std::string_view function, Comm &comm, const LocalRank::Body &body);
  /// Runs `body` in a group; the group must be ended even after a failure.
  Status inGroup(const std::function<Status()> &body);
  /// Fails the engine: the other ranks wait for something that this rank did not queue.
  Status failWith(Status status);

  const std::shared_ptr<Job> job;
  const Job::LocalSeats own;
  const int64_t ranks;
  std::vector<Comm *> comms; // of all seats, each once
  std::vector<std::byte *> registered;
};

} // namespace tilewright::collective::nccl

#endif // TILEWRIGHT_COLLECTIVE_NCCL_NCCLCOMMUNICATOR_H
