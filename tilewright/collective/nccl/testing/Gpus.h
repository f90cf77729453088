// Gpus: the GPUs of the process for tests, through the few functions of libcuda.so.1 that they
// need.
#ifndef TILEWRIGHT_COLLECTIVE_NCCL_TESTING_GPUS_H
#define TILEWRIGHT_COLLECTIVE_NCCL_TESTING_GPUS_H

#include "tilewright/collective/DeviceCommunicator.h"

namespace tilewright::collective::nccl::test {

/// Rank r of an engine has GPU r modulo the number of ranks in a process. The libraries are those
/// of the virtual GPUs, by the test's run path; with LD_LIBRARY_PATH those of the machine.
class Gpus final : public DeviceAccess {
public:
  /// `ranksEach`: ranks of a process, which are consecutive.
  explicit Gpus(int64_t ranksEach);
  ~Gpus() override;

  Status makeCurrent(int64_t rank) override;
  Status copy(DeviceStream stream, std::byte *to, const std::byte *from, size_t bytes) override;
  Status fillWithZeros(DeviceStream stream, std::byte *to, size_t bytes) override;

  // The device of the rank must be current.
  DeviceStream stream(int64_t rank) const { return streams[indexOf(rank)]; }
  Result<std::byte *> allocate(size_t bytes);
  void free(std::byte *data);
  /// Waits for the stream while `check` succeeds.
  Status wait(DeviceStream stream, const std::function<Status()> &check, Deadline deadline);

private:
  size_t indexOf(int64_t rank) const { return static_cast<size_t>(rank % ranksEach); }
  const int64_t ranksEach;
  std::vector<void *> contexts, streams;
};

/// The name of the NCCL library for these GPUs.
std::string ncclLibrary();

} // namespace tilewright::collective::nccl::test

#endif // TILEWRIGHT_COLLECTIVE_NCCL_TESTING_GPUS_H
