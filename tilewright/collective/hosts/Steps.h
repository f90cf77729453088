// Steps: collectives over several hosts as collectives within hosts and between them.
#ifndef TILEWRIGHT_COLLECTIVE_HOSTS_STEPS_H
#define TILEWRIGHT_COLLECTIVE_HOSTS_STEPS_H

#include "tilewright/collective/messages/Messages.h"
#include "tilewright/collective/shm/ShmHost.h"

namespace tilewright::collective::hosts {

/// The members of a channel by host, as seen by one member, and the channels of its steps.
class Levels final : public ChannelData {
public:
  Levels(const OrderedChannel &channel, const std::vector<std::string> &hostOfRank);

  OrderedChannel flat;          // all members
  OrderedChannel within, again; // the members on this host, for the first and the last step
  OrderedChannel leaders;       // the first member of each host
  OrderedChannel rail; // the members with this member's place on their hosts; only if `each` > 0
  bool isLeader = false;
  size_t each = 0; // members on each host; 0 if hosts have differently many
  /// The members, host by host; the identity if all members of a host are consecutive.
  std::vector<size_t> byHost;
  bool isInOrder = true; // `byHost` is the identity
};

/// The transports that the steps use, and the one in which the current step waits.
struct Transports {
  shm::Host &host;
  messages::Messages &mesh;
  bool &isOnWire;
};

/// Executes a collective whose members are on several hosts. `mayRegroup`: the terms of a sum may
/// be added host by host.
std::unique_ptr<Operation> makeSteps(Transports transports, OrderedChannel &channel, Levels &levels,
                                     const CollectiveRequest &request, bool mayRegroup);

} // namespace tilewright::collective::hosts

#endif // TILEWRIGHT_COLLECTIVE_HOSTS_STEPS_H
