#include "tilewright/collective/membership/Message.h"
#include "tilewright/support/Archive.h"

namespace tilewright::collective::membership {

/// Limit on the number of processes in a message, above that of any job; bounds the memory that a
/// malformed message can allocate.
static constexpr uint64_t maxPlaces = uint64_t(1) << 22;

static void field(ByteWriter &writer, const Places &places) {
  size_t words = 0;
  places.forEach([&](size_t place) { words = place / 64 + 1; });
  std::vector<uint64_t> bits(words);
  places.forEach([&](size_t place) { bits[place / 64] |= uint64_t(1) << (place % 64); });
  writer.number(words);
  for (uint64_t word : bits)
    writer.number(word);
}

static void field(ByteReader &reader, Places &places) {
  const size_t words = reader.cursor.count("words");
  if (words > maxPlaces / 64)
    return reader.cursor.fail("has more processes than a job can have");
  for (size_t i = 0; i < words; ++i) {
    uint64_t word = 0;
    reader.number(word);
    for (size_t bit = 0; bit < 64; ++bit)
      if (word >> bit & 1)
        places.add(i * 64 + bit);
  }
}

template <typename Archive> static void fields(Archive &archive, Field<Archive, Message> &message) {
  archive.enumeration(message.type, lastMessageType + 1);
  archive.number(message.epoch);
  if (message.type == Message::alive) // most messages are heartbeats
    return;
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
      message.accepted.place >= maxPlaces)
    return std::nullopt;
  return message;
}

} // namespace tilewright::collective::membership
