// Message: the messages of the membership protocol.
#ifndef TILEWRIGHT_COLLECTIVE_MEMBERSHIP_MESSAGE_H
#define TILEWRIGHT_COLLECTIVE_MEMBERSHIP_MESSAGE_H

#include "tilewright/collective/membership/Places.h"
#include "tilewright/collective/membership/View.h"

#include <compare>
#include <optional>
#include <span>

namespace tilewright::collective::membership {

/// The number of an attempt to agree on the next view, as in Paxos. The higher ballot wins.
struct Ballot {
  uint64_t round = 0; // zero: none
  size_t place = 0;   // of its leader
  auto operator<=>(const Ballot &) const = default;
};

struct Message {
  enum Type : uint8_t {
    alive,     // heartbeat
    here,      // connected to all others, before the first view
    cancelled, // there will be no first view: `reason`
    revoke,    // the epoch is over: `reason`; in a large job also `accused` of the sender
    accuse,    // to the leader: `accused` and `ended` of the sender; implies revoke
    prepare,   // follow `ballot`? `members` are those of the epoch; implies revoke
    promise,   // yes; `accepted` and `members` are what was accepted before, if anything
    refuse,    // no; `accepted` is the ballot that the sender follows
    propose,   // accept `members` as the next view?
    accept,    // yes
    view,      // decided: `epoch`, `members`; `reason` why the epoch before is over
    out,       // the receiver does not belong to `epoch`
    leaving,   // the sender leaves in good order
  };
  Type type = alive;
  uint64_t epoch = 0; // of the sender
  /// A message that intermediate processes forward: the places of its sender and its receiver.
  /// Heartbeats are never forwarded.
  struct Route {
    size_t from = 0, to = 0, hops = 0;
  };
  std::optional<Route> route;
  Ballot ballot, accepted;
  Places members, accused, ended;
  Reason reason;
};
constexpr Message::Type lastMessageType = Message::leaving;

std::vector<std::byte> encode(const Message &message);
/// Empty if the bytes are not a valid message.
std::optional<Message> decode(std::span<const std::byte> bytes);

} // namespace tilewright::collective::membership

#endif // TILEWRIGHT_COLLECTIVE_MEMBERSHIP_MESSAGE_H
