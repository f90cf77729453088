// KeyValueStore: the bootstrap store through which processes of a job find each other.
#ifndef TILEWRIGHT_SUPPORT_STORE_KEYVALUESTORE_H
#define TILEWRIGHT_SUPPORT_STORE_KEYVALUESTORE_H

#include "tilewright/support/Status.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright {

/// An absolute deadline; every wait takes one.
using Deadline = std::chrono::steady_clock::time_point;
inline Deadline after(std::chrono::nanoseconds timeout) {
  return std::chrono::steady_clock::now() + timeout;
}

/// A store of small values by key, visible to all processes of a job. Its three functions match
/// PJRT's key-value callbacks, so JAX's store can be used directly. Each key is written once.
/// Thread-safe.
class KeyValueStore {
public:
  virtual ~KeyValueStore() = default;
  virtual Status put(std::string_view key, std::string_view value) = 0;
  /// Waits until the key is written, and returns its value.
  ///  - deadlineExceeded: the key was not written in time.
  virtual Result<std::string> get(std::string_view key, Deadline deadline) = 0;
  /// The value; empty if the key has not been written yet.
  virtual Result<std::optional<std::string>> tryGet(std::string_view key) = 0;
};

/// A store for threads of one process.
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

/// A store for processes that share a directory: one file per key, renamed into place when
/// complete. The caller creates and removes the directory.
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

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_STORE_KEYVALUESTORE_H
