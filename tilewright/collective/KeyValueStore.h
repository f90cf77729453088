// KeyValueStore: where processes that do not know each other yet leave notes.
#ifndef TILEWRIGHT_COLLECTIVE_KEYVALUESTORE_H
#define TILEWRIGHT_COLLECTIVE_KEYVALUESTORE_H

#include "tilewright/support/Status.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright::collective {

/// When a wait ends, whatever happened. Every wait here has one.
using Deadline = std::chrono::steady_clock::time_point;
inline Deadline after(std::chrono::nanoseconds patience) {
  return std::chrono::steady_clock::now() + patience;
}

/// Small values under names, seen by all processes of a job. Its three calls are those of PJRT's
/// callbacks, so that of JAX fits as it is. A key is written once. Thread-safe.
class KeyValueStore {
public:
  virtual ~KeyValueStore() = default;
  virtual Status put(std::string_view key, std::string_view value) = 0;
  /// Waits for the key.
  ///  - deadlineExceeded: nobody wrote it in time.
  virtual Result<std::string> get(std::string_view key, Deadline deadline) = 0;
  /// The value, or nothing if there is none yet.
  virtual Result<std::optional<std::string>> tryGet(std::string_view key) = 0;
};

/// Between the threads of one process.
class MemoryKeyValueStore final : public KeyValueStore {
public:
  Status put(std::string_view key, std::string_view value) override;
  Result<std::string> get(std::string_view key, Deadline deadline) override;
  Result<std::optional<std::string>> tryGet(std::string_view key) override;

private:
  std::mutex mutex;
  std::condition_variable written;
  std::map<std::string, std::string, std::less<>> values; // guarded by mutex
};

/// Between processes that share a directory: a file for each key, moved into place when it is
/// whole. The caller makes the directory and removes it.
class DirectoryKeyValueStore final : public KeyValueStore {
public:
  explicit DirectoryKeyValueStore(std::string directory) : directory(std::move(directory)) {}
  Status put(std::string_view key, std::string_view value) override;
  Result<std::string> get(std::string_view key, Deadline deadline) override;
  Result<std::optional<std::string>> tryGet(std::string_view key) override;

private:
  std::string pathOf(std::string_view key) const;
  const std::string directory;
};

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_KEYVALUESTORE_H
