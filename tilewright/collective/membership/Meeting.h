// Meeting: how the processes of a job connect to each other, once.
#ifndef TILEWRIGHT_COLLECTIVE_MEMBERSHIP_MEETING_H
#define TILEWRIGHT_COLLECTIVE_MEMBERSHIP_MEETING_H

#include "tilewright/collective/membership/Connection.h"
#include "tilewright/collective/membership/Group.h"

namespace tilewright::collective::membership {

/// Where others come to: a socket for those of this host, and one for those of others.
class Door {
public:
  Status open(const std::string &address);
  /// For the key-value store.
  std::string note(const std::string &host) const;
  int local() const { return localSocket.get(); }
  int remote() const { return remoteSocket.get(); }
  uint64_t secret() const { return key; }

  /// Tells all who stand outside that the others have `epoch`, and lets them go.
  void turnAway(uint64_t epoch);
  void beat(); // forgets those who do not go

private:
  Descriptor localSocket, remoteSocket;
  std::string localName, remoteName;
  uint64_t key = 0;
  struct Visitor {
    std::unique_ptr<Descriptor> socket;
    int beats = 0;
  };
  std::vector<Visitor> visitors;
};

/// Connects to all other processes of the offer, by place; to those before this one, and those
/// after it come.
///  - ranksNotConnected (E6032), rankFenced (E6033)
Result<std::vector<std::unique_ptr<Connection>>>
connectAll(const Group::Offer &offer, Door &door, KeyValueStore &store, Deadline deadline);

} // namespace tilewright::collective::membership

#endif // TILEWRIGHT_COLLECTIVE_MEMBERSHIP_MEETING_H
