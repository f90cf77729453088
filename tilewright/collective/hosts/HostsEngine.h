// HostsEngine: collectives between processes on several hosts.
#ifndef TILEWRIGHT_COLLECTIVE_HOSTS_HOSTSENGINE_H
#define TILEWRIGHT_COLLECTIVE_HOSTS_HOSTSENGINE_H

#include "tilewright/collective/messages/Messages.h"
#include "tilewright/collective/shm/ShmEngine.h"

namespace tilewright::collective::hosts {

/// A name that is equal for processes that can share memory: same kernel and same network
/// namespace.
std::string nameOfThisHost();

/// An engine that uses shared memory within a host and messages between hosts. Collectives over
/// several hosts are hierarchical (Steps.h). So each of h hosts sends 2(h-1)/h times the size of a
/// tensor in an all_reduce, however many ranks it has.
class HostsEngine final : public Engine {
public:
  /// How sums of floats are associated. In both modes all ranks get the same bits in every run.
  enum class Sums {
    byHost,       // first within each host, then between the hosts
    inGroupOrder, // rank after rank; sends as many times more bytes as a host has ranks
  };
  /// The transport between hosts.
  enum class Between {
    best, // UCX if every process has it and an RDMA device, else TCP
    tcp,  // faster than UCX over TCP, and needs no library
    ucx,
    mpi, // for processes that one mpiexec started, on sites that allow nothing else
  };
  struct Options {
    Between between = Between::best;
    std::string mpiLibrary = "libmpi_abi.so.1"; // with MPI's standard ABI
    std::string host = nameOfThisHost();
    Sums sums = Sums::byHost;
    size_t arenaBytes = size_t(16) << 30;
    std::string address; // as tcp::Mesh::Options
    std::chrono::nanoseconds timeout = std::chrono::seconds(120);
    std::chrono::nanoseconds connectTimeout = std::chrono::seconds(60);
    bool hasProgressThread = true;
    bool canSpin = true; // between hosts; within a host, the number of cores and ranks decides
  };
  ///  - ranksNotConnected (E6032), rankFenced (E6033), sharedMemoryExhausted (E6031)
  ///  - carrierUnavailable (E6060): UCX or MPI was requested and is not available.
  static Result<std::unique_ptr<HostsEngine>> connect(const Membership &membership,
                                                      KeyValueStore &store, const Options &options);
  ~HostsEngine() override;

  Result<std::unique_ptr<Communicator>> join(const RunMembership &own) override;
  void revoke(const std::string &why) override;
  shm::Arena &arena();
  std::shared_ptr<OperandMemory> operandMemory() override;
  /// Bytes that this process has sent to other processes.
  messages::Traffic traffic();

  class Job; // state that the ranks of a process share; HostsEngine.cpp

private:
  explicit HostsEngine(std::shared_ptr<Job> job);
  const std::shared_ptr<Job> job;
};

/// "best", "tcp" and so on; empty if the name is unknown.
std::string_view nameOf(HostsEngine::Between between);
std::optional<HostsEngine::Between> betweenNamed(std::string_view name);

} // namespace tilewright::collective::hosts

#endif // TILEWRIGHT_COLLECTIVE_HOSTS_HOSTSENGINE_H
