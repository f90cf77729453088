// HostsEngine: collectives between the processes of several hosts.
#ifndef TILEWRIGHT_COLLECTIVE_HOSTS_HOSTSENGINE_H
#define TILEWRIGHT_COLLECTIVE_HOSTS_HOSTSENGINE_H

#include "tilewright/collective/messages/Messages.h"
#include "tilewright/collective/shm/ShmEngine.h"

namespace tilewright::collective::hosts {

/// Equal for processes that can share memory: same kernel, same network namespace.
std::string nameOfThisHost();

/// Memory within a host, connections between them. An all_reduce over several hosts is done in
/// three steps: the ranks of each host, the first of each host with those of the others, and again
/// the ranks of each host. So 2 (h - 1) / h of a tensor leave a host, however many ranks it has.
class HostsEngine final : public Engine {
public:
  /// How sums of floats are associated. Either way all ranks have the same bits, each time.
  enum class Sums {
    byHost,       // those of a host first, then those of the hosts
    inGroupOrder, // one rank after the other, which costs as many times as a host has ranks
  };
  /// What carries messages between hosts.
  enum class Between {
    best, // UCX where every process has it and an RDMA device, else TCP
    tcp,  // faster than UCX over TCP, and needs nothing
    ucx,
    mpi, // of processes that one mpiexec started, where a site allows nothing else
  };
  struct Options {
    Between between = Between::best;
    std::string mpiLibrary = "libmpi_abi.so.1"; // with MPI's standard ABI
    std::string host = nameOfThisHost();
    Sums sums = Sums::byHost;
    size_t arenaBytes = size_t(16) << 30;
    std::string address; // as tcp::Mesh::Options
    std::chrono::nanoseconds patience = std::chrono::seconds(120);
    std::chrono::nanoseconds connectPatience = std::chrono::seconds(60);
    bool hasHelper = true;
    bool canSpin = true; // between hosts; within one it depends on cores and ranks
  };
  ///  - ranksNotConnected (E6032), rankFenced (E6033), sharedMemoryExhausted (E6031)
  ///  - carrierUnavailable (E6060): UCX or MPI was asked for and is not here.
  static Result<std::unique_ptr<HostsEngine>> connect(const Membership &membership,
                                                      KeyValueStore &store, const Options &options);
  ~HostsEngine() override;

  Result<std::unique_ptr<Communicator>> join(const Seat &seat) override;
  void revoke(const std::string &why) override;
  shm::Arena &arena();
  /// What this process has sent to others.
  messages::Traffic traffic();

  class Job; // what the ranks of a process share; HostsEngine.cpp

private:
  explicit HostsEngine(std::shared_ptr<Job> job);
  const std::shared_ptr<Job> job;
};

/// "best", "tcp" and so on; nothing for a name that is none.
std::string_view nameOf(HostsEngine::Between between);
std::optional<HostsEngine::Between> betweenNamed(std::string_view name);

} // namespace tilewright::collective::hosts

#endif // TILEWRIGHT_COLLECTIVE_HOSTS_HOSTSENGINE_H
