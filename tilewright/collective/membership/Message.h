// Message: what processes say to each other about who belongs to their job.
#ifndef TILEWRIGHT_COLLECTIVE_MEMBERSHIP_MESSAGE_H
#define TILEWRIGHT_COLLECTIVE_MEMBERSHIP_MESSAGE_H

#include "tilewright/collective/membership/Places.h"
#include "tilewright/collective/membership/View.h"

#include <compare>
#include <span>

namespace tilewright::collective::membership {

/// An attempt to agree on the next view. Of two, the higher one counts.
struct Ballot {
  uint64_t round = 0; // zero: none
  size_t place = 0;   // of who leads it
  auto operator<=>(const Ballot &) const = default;
};

struct Message {
  enum Type : uint8_t {
    alive,     // nothing else to say
    here,      // connected to all others, before the first view
    cancelled, // there will be no first view: `reason`
    revoke,    // the epoch is over: `reason`
    accuse,    // to who should lead: `accused` and `ended` of the sender; implies revoke
    prepare,   // follow `ballot`? `members` are those of the epoch; implies revoke
    promise,   // yes; `accepted`, `members` are what was accepted before, if anything was
    refuse,    // no; `accepted` is the ballot that is followed
    propose,   // accept `members` as the next view?
    accept,    // yes
    view,      // was agreed on: `epoch`, `members`; `reason` why the one before is over
    out,       // whoever gets this does not belong to `epoch`
    leaving,   // the sender goes in good order
  };
  Type type = alive;
  uint64_t epoch = 0; // of the sender
  Ballot ballot, accepted;
  Places members, accused, ended;
  Reason reason;
};
constexpr Message::Type lastMessageType = Message::leaving;

std::vector<std::byte> encode(const Message &message);
/// Nothing if these bytes are no message.
std::optional<Message> decode(std::span<const std::byte> bytes);

} // namespace tilewright::collective::membership

#endif // TILEWRIGHT_COLLECTIVE_MEMBERSHIP_MESSAGE_H
