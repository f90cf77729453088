#include "tilewright/collective/membership/Message.h"
#include "tilewright/support/Archive.h"

namespace tilewright::collective::membership {

/// Limit on the number of processes in a message, above that of any job; bounds the memory that a
/// malformed message can allocate.
static constexpr uint64_t maxPlaces = uint64_t(1) << 22;

/// Encoded as runs of places: the members of a view form few runs, and so do suspects.
static void field(ByteWriter &writer, const Places &places) {
  std::vector<std::pair<size_t, size_t>> runs; // [first, last]
  places.forEach([&](size_t place) {
    if (!runs.empty() && runs.back().second + 1 == place)
      runs.back().second = place;
    else
      runs.emplace_back(place, place);
  });
  writer.number(runs.size());
  for (const auto &[first, last] : runs) {
    writer.number(first);
    writer.number(last);
  }
}

static void field(ByteReader &reader, Places &places) {
  const size_t runs = reader.cursor.count("runs of processes");
  if (runs > maxPlaces)
    return reader.cursor.fail("has more processes than a job can have");
  size_t next = 0;
  for (size_t i = 0; i < runs; ++i) {
    size_t first = 0, last = 0;
    reader.number(first);
    reader.number(last);
    if (first < next || last < first || last >= maxPlaces)
      return reader.cursor.fail("has processes that are not in ascending order");
    for (size_t place = first; place <= last; ++place)
      places.add(place);
    next = last + 1;
  }
}

static void setRoute(Message &message, const Message::Route &route) { message.route = route; }
static void setRoute(const Message &, const Message::Route &) {}

template <typename Archive> static void fields(Archive &archive, Field<Archive, Message> &message) {
  archive.enumeration(message.type, lastMessageType + 1);
  archive.number(message.epoch);
  if (message.type == Message::alive) // most messages are heartbeats
    return;
  bool isRouted = message.route.has_value();
  archive.number(isRouted);
  if (isRouted) {
    Message::Route route = message.route.value_or(Message::Route());
    archive.number(route.from);
    archive.number(route.to);
    archive.number(route.hops);
    setRoute(message, route);
  }
  for (auto *ballot : {&message.ballot, &message.accepted}) {
    archive.number(ballot->round);
    archive.number(ballot->place);
  }
  for (auto *places : {&message.members, &message.accused, &message.ended})
    field(archive, *places);
  archive.integer(message.reason.process);
  archive.integer(message.reason.rank);
  archive.text(message.reason.collective);
  archive.text(message.reason.place);
  archive.text(message.reason.text);
  archive.number(message.reason.hasLeft);
}

std::vector<std::byte> encode(const Message &message) {
  ByteWriter writer;
  fields(writer, message);
  return std::move(writer.out);
}

std::optional<Message> decode(std::span<const std::byte> bytes) {
  ByteReader reader(bytes, "a message", Error::ranksNotConnected,
                    "run the same version in all processes");
  Message message;
  fields(reader, message);
  if (!reader.finish().isOk() || message.ballot.place >= maxPlaces ||
      message.accepted.place >= maxPlaces ||
      (message.route && std::max(message.route->from, message.route->to) >= maxPlaces))
    return std::nullopt;
  return message;
}

} // namespace tilewright::collective::membership
