#include "tilewright/collective/membership/Message.h"
#include "tilewright/collective/membership/Bytes.h"

namespace tilewright::collective::membership {

/// More processes than a job can have; so that a wrong number takes no memory.
static constexpr uint64_t mostPlaces = uint64_t(1) << 22;

static void write(Writer &writer, const Places &places) {
  uint32_t words = 0;
  places.forEach([&](size_t place) { words = static_cast<uint32_t>(place / 64 + 1); });
  std::vector<uint64_t> bits(words);
  places.forEach([&](size_t place) { bits[place / 64] |= uint64_t(1) << (place % 64); });
  writer.number(words);
  for (uint64_t word : bits)
    writer.number(word);
}

static Places readPlaces(Reader &reader) {
  Places places;
  const auto words = reader.number<uint32_t>();
  if (words > mostPlaces / 64 || words * sizeof(uint64_t) > reader.left())
    reader.isOk = false;
  for (uint32_t i = 0; reader.isOk && i < words; ++i) {
    const auto word = reader.number<uint64_t>();
    for (size_t bit = 0; bit < 64; ++bit)
      if (word >> bit & 1)
        places.add(i * size_t(64) + bit);
  }
  return places;
}

std::vector<std::byte> encode(const Message &message) {
  Writer writer;
  writer.number(message.type);
  writer.number(message.epoch);
  if (message.type == Message::alive) // most are
    return std::move(writer.bytes);
  for (const Ballot &ballot : {message.ballot, message.accepted}) {
    writer.number(ballot.round);
    writer.number(static_cast<uint64_t>(ballot.place));
  }
  for (const Places *places : {&message.members, &message.accused, &message.ended})
    write(writer, *places);
  writer.number(message.reason.process);
  writer.number(message.reason.rank);
  writer.text(message.reason.collective);
  writer.text(message.reason.place);
  writer.text(message.reason.text);
  return std::move(writer.bytes);
}

std::optional<Message> decode(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  Message message;
  message.type = reader.number<Message::Type>();
  message.epoch = reader.number<uint64_t>();
  if (message.type > lastMessageType)
    return std::nullopt;
  if (message.type != Message::alive) {
    for (Ballot *ballot : {&message.ballot, &message.accepted}) {
      ballot->round = reader.number<uint64_t>();
      ballot->place = reader.number<uint64_t>();
      reader.isOk &= ballot->place < mostPlaces;
    }
    for (Places *places : {&message.members, &message.accused, &message.ended})
      *places = readPlaces(reader);
    message.reason.process = reader.number<int64_t>();
    message.reason.rank = reader.number<int64_t>();
    message.reason.collective = reader.text();
    message.reason.place = reader.text();
    message.reason.text = reader.text();
  }
  if (!reader.isOk || reader.left() != 0)
    return std::nullopt;
  return message;
}

} // namespace tilewright::collective::membership
