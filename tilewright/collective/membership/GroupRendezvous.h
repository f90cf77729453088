// GroupRendezvous: the initial rendezvous, in which all processes of a job connect to each other.
#ifndef TILEWRIGHT_COLLECTIVE_MEMBERSHIP_GROUPRENDEZVOUS_H
#define TILEWRIGHT_COLLECTIVE_MEMBERSHIP_GROUPRENDEZVOUS_H

#include "tilewright/collective/membership/Connection.h"
#include "tilewright/collective/membership/Group.h"

namespace tilewright::collective::membership {

/// The listening sockets of a process: one for this host, one for other hosts.
class GroupListener {
public:
  Status open(const std::string &address);
  /// The addresses to publish in the key-value store.
  std::string note(const std::string &host) const;
  int local() const { return localSocket.get(); }
  int remote() const { return remoteSocket.get(); }
  uint64_t secret() const { return key; }

  /// Rejects all pending connections with the current epoch of this job, `epoch`.
  void rejectPending(uint64_t epoch);
  void beat(); // closes rejected connections after a while

private:
  Descriptor localSocket, remoteSocket;
  std::string localName, remoteName;
  uint64_t key = 0;
  struct Rejected {
    std::unique_ptr<Descriptor> socket;
    int beats = 0;
  };
  std::vector<Rejected> rejected;
};

/// Connects to all other processes of the job; the result is indexed by place. A process connects
/// to lower places and accepts connections from higher places.
///  - ranksNotConnected (E6032), rankFenced (E6033)
Result<std::vector<std::unique_ptr<Connection>>> connectAll(const Group::Config &config,
                                                            GroupListener &listener,
                                                            KeyValueStore &store,
                                                            Deadline deadline);

} // namespace tilewright::collective::membership

#endif // TILEWRIGHT_COLLECTIVE_MEMBERSHIP_GROUPRENDEZVOUS_H
