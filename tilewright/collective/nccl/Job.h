// Job: the state that an NCCL engine shares with its communicators.
#ifndef TILEWRIGHT_COLLECTIVE_NCCL_JOB_H
#define TILEWRIGHT_COLLECTIVE_NCCL_JOB_H

#include "tilewright/collective/nccl/LocalRank.h"
#include "tilewright/collective/nccl/NcclEngine.h"

#include <set>

namespace tilewright::collective::nccl {

/// The role of a program's rank in a clique.
struct Seat {
  Comm *comm = nullptr; // null if the rank communicates with no other rank
  /// Ranks of the program, in the order of the group; for pairs, all ranks. Empty if the rank is in
  /// no group.
  std::vector<int64_t> group;
  size_t mine = 0; // this rank's position in `group`
  bool isPairs = false;
  std::vector<std::vector<int64_t>> pairs; // {source, target} of a permute
};

/// Communicators by clique, for all ranks of this process. Thread-safe.
class Job {
public:
  Job(const Library &library, Membership membership, KeyValueStore &store, DeviceAccess &access,
      NcclEngine::Options options);
  ~Job();

  /// The seats of a program's ranks in this process, indexed by rank, then by clique.
  struct LocalSeats {
    int64_t rank; // in the program
    LocalRank *local;
    std::vector<Seat> seats;
  };
  Result<std::vector<LocalSeats>> prepare(const std::vector<int64_t> &members,
                                          std::span<const DeviceClique> cliques, Deadline deadline);
  /// Sets the engine's failure, if it is the first, and revokes all communicators. If the calling
  /// thread has a group open, the revocation is delayed to the group's end.
  void fail(const std::string &why);
  /// Takes over the communicators of a revoked job, excluding ranks that are not in this job, if
  /// all processes still have them: a communicator may have failed while only some ranks were
  /// making it.
  Status shrinkFrom(Job &old, Deadline deadline);
  LocalRank *localRank(int64_t rank);

  const Library &nccl;
  const Membership membership;
  KeyValueStore &store;
  DeviceAccess &access;
  const NcclEngine::Options options;
  FailureBox failure;

private:
  using Groups = std::vector<std::vector<int64_t>>;
  /// One communicator for each local rank, in the order of Program::locals; null for a rank that is
  /// in no group, or alone in its group.
  using Comms = std::vector<Comm *>;
  /// The communicators of one list of members.
  struct Program {
    std::vector<int64_t> members; // the engine's ranks, by rank of the program
    std::vector<int64_t> locals;  // ranks of the program that this process owns
    /// A communicator of all ranks, which is only split and never used otherwise: nothing but time
    /// orders loading and running, so a collective and a split of the same communicator could meet
    /// in different orders.
    Comms parents;
    std::map<std::pair<uint8_t, Groups>, Comms> splits; // by lane and groups
    uint64_t prepared = 0;                              // number of prepare()

    int64_t memberOf(size_t local) const { return members[static_cast<size_t>(locals[local])]; }
  };

  /// The way in which all local ranks of a program make a communicator together.
  struct Making {
    std::string_view function;
    Comms parents; // empty for the first communicator
    std::function<bool(size_t local)> hasMember = [](size_t) { return true; };
    std::function<abi::ncclResult_t(size_t local, abi::ncclComm_t parent, abi::ncclComm_t *into)>
        make;
  };

  abi::ncclConfig_t config() const;
  std::string keyOf(const Program &program) const;
  Status initialize(Program &program, Deadline deadline);
  Result<std::vector<abi::ncclUniqueId>> uniqueIds(const Program &program, Deadline deadline);
  Result<const Comms *> split(Program &program, uint8_t lane, const Groups &groups,
                              Deadline deadline);
  /// Makes a communicator for all local ranks in one NCCL group, then waits for all ranks.
  Result<Comms> makeAll(const Program &program, const Making &making, Deadline deadline);
  Program &programOf(const std::vector<int64_t> &members);
  Result<std::vector<LocalSeats>> prepareNow(const std::vector<int64_t> &members,
                                             std::span<const DeviceClique> cliques,
                                             Deadline deadline);
  /// Of a revoked job: the programs whose communicators all processes can shrink, by the hash of
  /// their members. Each process reads one key; the first process reads one for each process.
  Result<std::set<uint64_t>> agreeOnShrinking(const Job &old, Deadline deadline);
  /// The members of a program that are in this job.
  std::vector<int64_t> membersLeft(const Program &program) const;
  Status announce(const Program &program, std::span<const DeviceClique> cliques);
  /// Looks up in the store which processes do not take part in a prepare(), and appends them to the
  /// message of `why`.
  Status explain(const Program &program, std::span<const DeviceClique> cliques, Status why);

  std::vector<std::unique_ptr<LocalRank>> ranks; // ascending

  /// Held while a group contains communicators of several ranks, so that fail() does not free them.
  /// Lock order: before the locks of ranks.
  std::mutex grouping;
  /// Serializes prepare(). Lock order: before `grouping`.
  std::mutex preparing;
  std::vector<std::unique_ptr<Program>> programs; // guarded by preparing; in the order of creation
};

} // namespace tilewright::collective::nccl

#endif // TILEWRIGHT_COLLECTIVE_NCCL_JOB_H
