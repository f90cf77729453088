// Notes: the key-value pairs that the members of a view have published.
#ifndef TILEWRIGHT_COLLECTIVE_MEMBERSHIP_NOTES_H
#define TILEWRIGHT_COLLECTIVE_MEMBERSHIP_NOTES_H

#include "tilewright/collective/membership/View.h"

#include <span>

namespace tilewright::collective::membership {

/// The notes of all processes. Each process holds all notes of its epoch, and keeps notes of later
/// epochs until it enters them. Thread-safe.
class Notes {
public:
  /// Returns whether the key is new, in an epoch that is not over. In a large job only new keys are
  /// passed on, so a key must be written once.
  bool put(uint64_t epoch, std::string key, std::string value);
  /// Waits for the key until the deadline or the end of the epoch.
  ///  - epochOver (E6042), deadlineExceeded
  Result<std::string> get(uint64_t epoch, std::string_view key, Deadline deadline);
  Result<std::optional<std::string>> tryGet(uint64_t epoch, std::string_view key);
  Status check(uint64_t epoch, std::string_view key);

  /// Discards the notes of this epoch and of all earlier epochs.
  void end(uint64_t epoch, const Reason &reason);

private:
  Status over(uint64_t epoch, std::string_view key) const;
  std::mutex mutex;
  std::condition_variable changed;
  // guarded by mutex:
  std::map<uint64_t, std::map<std::string, std::string, std::less<>>> values; // by epoch
  uint64_t next = 0; // the first epoch that is not over
  std::string why;   // why the last epoch is over
};

/// The wire format of a note.
std::vector<std::byte> encodeNote(uint64_t epoch, std::string_view key, std::string_view value);
struct Note {
  uint64_t epoch = 0;
  std::string key, value;
};
std::optional<Note> decodeNote(std::span<const std::byte> bytes);

} // namespace tilewright::collective::membership

#endif // TILEWRIGHT_COLLECTIVE_MEMBERSHIP_NOTES_H
