// Port: this process's one way into MPI, which all its carriers share.
#ifndef TILEWRIGHT_COLLECTIVE_MPI_PORT_H
#define TILEWRIGHT_COLLECTIVE_MPI_PORT_H

#include "tilewright/collective/messages/Messages.h"
#include "tilewright/collective/mpi/Library.h"

#include <deque>
#include <list>

namespace tilewright::collective::mpi {

/// To whom a message goes. Messages to an address that is not here any more are thrown away: so an
/// epoch ends without a word to MPI.
struct Address {
  uint64_t job = 0, epoch = 0;
  int64_t process = 0; // as the job counts them
  auto operator<=>(const Address &) const = default;
};

/// Gets what comes for one address. Called by whoever turns the port.
class Receiver {
public:
  virtual ~Receiver() = default;
  virtual void take(const messages::Header &header, std::span<const std::byte> bytes) = 0;
  /// MPI does not work any more.
  virtual void broken(const std::string &why) = 0;
};

/// Begins MPI if nobody has, and ends it with the process if so. All messages are MPI_COMM_WORLD's
/// with one tag, because to make a communicator is collective, and waits without a deadline for
/// processes that may be dead. MPI is not asked to stop what it has begun, which it could refuse:
/// what it reads or writes is ours, and stays until it is done. Thread-safe.
class Port {
public:
  ///  - carrierUnavailable (E6060): no such library, or MPI does not let several threads in.
  ///  - ranksNotConnected (E6032): MPI does not begin in time, as if not all processes of its world
  ///    begin it.
  static Result<Port *> open(const std::string &library, Deadline deadline);
  Port(const Port &) = delete;
  Port &operator=(const Port &) = delete;

  /// In MPI's world.
  int rank() const { return ownRank; }
  int size() const { return worldSize; }
  std::string version() const;

  void attach(const Address &address, Receiver &receiver);
  /// After this nothing is given to it.
  void detach(const Address &address);

  /// To the address in a process, by its rank in MPI's world. Copies; does not wait.
  Status send(int to, const Address &address, const messages::Header &header,
              std::span<const std::byte> bytes);
  /// Messages that were sent to the address and have not left.
  size_t underWay(const Address &from) const;
  /// Gives out what has come; whether there was something. Never with a lock that a receiver takes.
  bool turn();

private:
  /// In front of a message.
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

  /// Held by whoever gives messages out, so that they keep their order. Before the other.
  std::mutex turning;
  std::map<Address, Receiver *> receivers; // guarded by turning

  mutable std::mutex mutex; // of all calls into MPI
  // guarded by mutex:
  std::list<Send> sends;
  std::vector<int64_t> sentTo;                 // messages, by rank in MPI's world
  int64_t taken = 0;                           // messages that have come
  std::map<int, std::deque<Receive>> receives; // by source, in the order of their coming
};

} // namespace tilewright::collective::mpi

#endif // TILEWRIGHT_COLLECTIVE_MPI_PORT_H
