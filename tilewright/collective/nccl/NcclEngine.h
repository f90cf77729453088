// NcclEngine: collectives that GPUs execute, by NCCL.
#ifndef TILEWRIGHT_COLLECTIVE_NCCL_NCCLENGINE_H
#define TILEWRIGHT_COLLECTIVE_NCCL_NCCLENGINE_H

#include "tilewright/collective/DeviceCommunicator.h"
#include "tilewright/collective/ProgressEngine.h"

namespace tilewright::collective::nccl {

class Job;
struct Library;

/// The ranks of a job, one for each of its GPUs. `Membership` states which process owns which rank.
///
/// For each list of members that a program runs on, the engine initializes one communicator, whose
/// unique id the processes exchange through the key-value store. Those of cliques are split from
/// it, in the order of the program's list: ranks outside of a clique take part with
/// NCCL_SPLIT_NOCOLOR. Whether a communicator is made depends only on the programs that were loaded
/// before, never on the state of a rank.
class NcclEngine final : public DeviceEngine {
public:
  struct Options {
    std::string library = "libnccl.so.2";
    /// Number of thread blocks of a collective, at least and at most; 0: NCCL decides.
    int minChannels = 0, maxChannels = 0;
    /// NCCL's policy for thread blocks: 0 the default, 1 few, 2 copy engines if possible. From 2.27
    /// on.
    std::optional<int> ctaPolicy;
    /// Splits share memory and connections with the communicator of all ranks.
    bool sharesResources = true;
    /// The time limit of enqueue(), which waits for other ranks when a clique communicates for the
    /// first time.
    std::chrono::nanoseconds timeout = std::chrono::seconds(60);
    /// The number of ranks for each unique id: the ranks of a unique id all connect to one process.
    int64_t ranksPerId = 256;
  };

  /// Loads the library. Does not communicate; prepare() does. `store` and `access` must outlive the
  /// engine and its communicators. With one process, a MemoryKeyValueStore will do.
  ///  - carrierUnavailable (E6060)
  static Result<std::unique_ptr<NcclEngine>> connect(const Membership &membership,
                                                     KeyValueStore &store, DeviceAccess &access,
                                                     const Options &options);
  /// The same with a library that is already loaded.
  static std::unique_ptr<NcclEngine> connect(const Library &library, const Membership &membership,
                                             KeyValueStore &store, DeviceAccess &access,
                                             const Options &options);
  ~NcclEngine() override;

  std::string name() const override { return "nccl"; }
  std::string version() const override;
  bool canReduce(ReductionKind operation, ElementType element) const override;
  Result<std::vector<std::unique_ptr<DeviceCommunicator>>>
  prepare(const std::vector<int64_t> &members, std::span<const DeviceClique> cliques,
          Deadline deadline) override;
  Result<std::byte *> allocate(int64_t rank, size_t bytes) override;
  void free(int64_t rank, std::byte *data) override;
  void revoke(const std::string &why) override;
  /// Shrinks the communicators with ncclCommShrink, from 2.28.7 on. With an older library, the new
  /// engine begins without communicators.
  Result<std::unique_ptr<DeviceEngine>> shrink(const std::vector<int64_t> &without, uint64_t epoch,
                                               KeyValueStore &store, Deadline deadline) override;

private:
  explicit NcclEngine(std::shared_ptr<Job> job) : job(std::move(job)) {}
  const std::shared_ptr<Job> job; // shared with the communicators
};

} // namespace tilewright::collective::nccl

#endif // TILEWRIGHT_COLLECTIVE_NCCL_NCCLENGINE_H
