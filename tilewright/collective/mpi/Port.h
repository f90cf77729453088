// Port: the process's only access to MPI, shared by all its transports.
#ifndef TILEWRIGHT_COLLECTIVE_MPI_PORT_H
#define TILEWRIGHT_COLLECTIVE_MPI_PORT_H

#include "tilewright/collective/messages/Messages.h"
#include "tilewright/collective/mpi/Library.h"

#include <deque>
#include <list>

namespace tilewright::collective::mpi {

/// The destination of a message. Messages to an address that is no longer attached are dropped, so
/// an epoch can end without any MPI call.
struct Address {
  uint64_t job = 0, epoch = 0;
  int64_t process = 0; // numbered by the job
  auto operator<=>(const Address &) const = default;
};

/// Receives the messages for one address. The thread that drives the Port calls it.
class Receiver {
public:
  virtual ~Receiver() = default;
  virtual void take(const messages::Header &header, std::span<const std::byte> bytes) = 0;
  /// Called when MPI has failed for good.
  virtual void broken(const std::string &why) = 0;
};

/// Initializes MPI if the program has not, and in that case finalizes it when the process exits.
/// All messages use MPI_COMM_WORLD with one tag: creating a communicator is collective, and would
/// wait without a timeout for processes that may be dead. The port never cancels an MPI operation,
/// because MPI may refuse. Instead it owns the buffers that MPI accesses, and keeps them until MPI
/// is done with them. Thread-safe.
class Port {
public:
  ///  - carrierUnavailable (E6060): the library cannot be loaded, or MPI does not support several
  ///    threads.
  ///  - ranksNotConnected (E6032): MPI_Init did not return in time, for example because a process
  ///    of the world does not call it.
  static Result<Port *> open(const std::string &library, Deadline deadline);
  Port(const Port &) = delete;
  Port &operator=(const Port &) = delete;

  /// In MPI_COMM_WORLD.
  int rank() const { return ownRank; }
  int size() const { return worldSize; }
  std::string version() const;

  void attach(const Address &address, Receiver &receiver);
  /// No callback of the receiver runs after this returns.
  void detach(const Address &address);

  /// Sends to an address in the process with rank `to` of MPI_COMM_WORLD. Copies; does not block.
  Status send(int to, const Address &address, const messages::Header &header,
              std::span<const std::byte> bytes);
  /// Tells the port that a rank has failed, so that this process does not wait long for it at exit.
  void noteFailure();
  /// The number of messages sent from this address that MPI has not finished sending.
  size_t underWay(const Address &from) const;
  /// Drives MPI and delivers the messages that have arrived; returns true if there were any.
  /// Callers must not hold a lock that a receiver takes.
  bool progress();

private:
  /// Precedes each message.
  struct Envelope {
    Address to, from;
    messages::Header header;
  };
  struct Send {
    Address from;
    std::vector<std::byte> bytes;
    abi::Request request;
  };
  struct Receive {
    std::vector<std::byte> bytes;
    abi::Request request;
    bool isDone = false;
  };

  explicit Port(const Library &library) : mpi(library) {}
  class Life;
  bool isBegun() const;
  Status begin();
  void end();
  bool isOver() const;
  Status post(int to, const Envelope &envelope, std::span<const std::byte> bytes);
  int advance(std::vector<std::pair<int, Receive>> &whole);
  void give(int source, const Receive &receive);
  void answer(int source, const Envelope &hello);

  const Library &mpi;
  int ownRank = 0, worldSize = 0;

  /// Serializes delivery. Lock order: before `mutex`.
  std::mutex delivering;
  std::map<Address, Receiver *> receivers; // guarded by delivering

  mutable std::mutex mutex; // serializes all calls into MPI
  // guarded by mutex:
  std::list<Send> sends;
  std::vector<int64_t> sentTo;                 // number of messages, by rank in MPI_COMM_WORLD
  int64_t taken = 0;                           // number of messages received
  bool hasFailed = false;                      // see noteFailure()
  std::map<int, std::deque<Receive>> receives; // by source, in the order of arrival
};

} // namespace tilewright::collective::mpi

#endif // TILEWRIGHT_COLLECTIVE_MPI_PORT_H
