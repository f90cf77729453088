#include "tilewright/collective/membership/Notes.h"
#include "tilewright/support/Archive.h"

namespace tilewright::collective::membership {

bool Notes::put(uint64_t epoch, std::string key, std::string value) {
  bool isNew = false;
  {
    std::lock_guard lock(mutex);
    if (epoch < next)
      return false;
    isNew = values[epoch].insert_or_assign(std::move(key), std::move(value)).second;
  }
  changed.notify_all();
  return isNew;
}

Status Notes::over(uint64_t epoch, std::string_view key) const {
  return Status(Error::epochOver,
                concat("epoch ", epoch, " ended while waiting for '", key,
                       "': ", epoch + 1 == next ? why : "the other members have moved on"));
}

Status Notes::check(uint64_t epoch, std::string_view key) {
  std::lock_guard lock(mutex);
  return epoch < next ? over(epoch, key) : Status();
}

Result<std::optional<std::string>> Notes::tryGet(uint64_t epoch, std::string_view key) {
  std::lock_guard lock(mutex);
  if (epoch < next)
    return over(epoch, key);
  const auto &all = values[epoch];
  const auto found = all.find(key);
  return found == all.end() ? std::nullopt : std::optional(found->second);
}

Result<std::string> Notes::get(uint64_t epoch, std::string_view key, Deadline deadline) {
  std::unique_lock lock(mutex);
  std::optional<std::string> found;
  changed.wait_until(lock, deadline, [&] {
    if (epoch < next)
      return true;
    const auto &all = values[epoch];
    if (const auto place = all.find(key); place != all.end())
      found = place->second;
    return found.has_value();
  });
  if (found)
    return *std::move(found);
  if (epoch < next)
    return over(epoch, key);
  return Status(Code::deadlineExceeded,
                concat("timed out waiting for a member to write '", key, "' in epoch ", epoch));
}

void Notes::end(uint64_t epoch, const Reason &reason) {
  {
    std::lock_guard lock(mutex);
    if (epoch < next)
      return;
    next = epoch + 1;
    why = reason.toString();
    values.erase(values.begin(), values.lower_bound(next));
  }
  changed.notify_all();
}

std::vector<std::byte> encodeNote(uint64_t epoch, std::string_view key, std::string_view value) {
  ByteWriter writer;
  writer.number(epoch);
  writer.bytes(std::as_bytes(std::span(key)));
  writer.bytes(std::as_bytes(std::span(value)));
  return std::move(writer.out);
}

std::optional<Note> decodeNote(std::span<const std::byte> bytes) {
  ByteReader reader(bytes, "a note", Error::ranksNotConnected,
                    "run the same version in all processes");
  Note note;
  reader.number(note.epoch);
  reader.text(note.key);
  reader.text(note.value);
  return reader.finish().isOk() ? std::optional(std::move(note)) : std::nullopt;
}

} // namespace tilewright::collective::membership
