// DeviceRanks: a device engine as an engine on host memory, so that the tests of ../conformance and
// ../testing can use it.
#ifndef TILEWRIGHT_COLLECTIVE_NCCL_TESTING_DEVICERANKS_H
#define TILEWRIGHT_COLLECTIVE_NCCL_TESTING_DEVICERANKS_H

#include "tilewright/collective/nccl/testing/Gpus.h"

#include <map>
#include <mutex>

namespace tilewright::collective::nccl::test {

/// Copies operands to a GPU, queues the collective, waits for the stream and copies results back. A
/// form that the device engine does not know is all operands of the group, gathered by the device
/// engine, from which the host computes the result in the order of the group.
///
/// All ranks call the same cliques in the same order, so each is prepared when it is first used.
class DeviceRanks final : public Engine {
public:
  DeviceRanks(std::unique_ptr<DeviceEngine> engine, Gpus &gpus, std::chrono::nanoseconds timeout)
      : gpus(gpus), timeout(timeout), engine(std::move(engine)) {}

  Result<std::unique_ptr<Communicator>> join(const RunMembership &own) override;
  void revoke(const std::string &why) override { engine->revoke(why); }
  DeviceEngine &device() { return *engine; }

  /// The communicator of a rank of the program for a clique.
  Result<DeviceCommunicator *> communicator(const std::vector<int64_t> &members, int64_t rank,
                                            const DeviceClique &clique);

  Gpus &gpus;
  const std::chrono::nanoseconds timeout;

private:
  struct Key {
    std::vector<int64_t> members;
    std::vector<std::vector<int64_t>> groups;
    bool isPairs;
    auto operator<=>(const Key &) const = default;
  };
  const std::unique_ptr<DeviceEngine> engine;
  std::mutex mutex;
  std::map<Key, std::vector<std::unique_ptr<DeviceCommunicator>>> prepared; // guarded by mutex
};

} // namespace tilewright::collective::nccl::test

#endif // TILEWRIGHT_COLLECTIVE_NCCL_TESTING_DEVICERANKS_H
