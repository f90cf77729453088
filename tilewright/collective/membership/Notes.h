// Notes: what the members of a view have written for each other.
#ifndef TILEWRIGHT_COLLECTIVE_MEMBERSHIP_NOTES_H
#define TILEWRIGHT_COLLECTIVE_MEMBERSHIP_NOTES_H

#include "tilewright/collective/membership/View.h"

#include <span>

namespace tilewright::collective::membership {

/// Every process has all notes of its epoch; those of later ones are kept for when it gets there.
/// Thread-safe.
class Notes {
public:
  void put(uint64_t epoch, std::string key, std::string value);
  /// Waits for the key, until the epoch is over.
  ///  - epochOver (E6042), deadlineExceeded
  Result<std::string> get(uint64_t epoch, std::string_view key, Deadline deadline);
  Result<std::optional<std::string>> tryGet(uint64_t epoch, std::string_view key);
  Status check(uint64_t epoch, std::string_view key);

  /// Nothing of this epoch, or an earlier one, is needed any more.
  void end(uint64_t epoch, const Reason &reason);

private:
  Status over(uint64_t epoch, std::string_view key) const;
  std::mutex mutex;
  std::condition_variable changed;
  // guarded by mutex:
  std::map<uint64_t, std::map<std::string, std::string, std::less<>>> values; // by epoch
  uint64_t next = 0; // the first epoch that is not over
  std::string why;   // the last one is
};

/// A note as it is sent.
std::vector<std::byte> encodeNote(uint64_t epoch, std::string_view key, std::string_view value);
struct Note {
  uint64_t epoch = 0;
  std::string key, value;
};
std::optional<Note> decodeNote(std::span<const std::byte> bytes);

} // namespace tilewright::collective::membership

#endif // TILEWRIGHT_COLLECTIVE_MEMBERSHIP_NOTES_H
