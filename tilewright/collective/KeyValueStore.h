// KeyValueStore: what processes of a job tell each other before they have a connection.
#ifndef TILEWRIGHT_COLLECTIVE_KEYVALUESTORE_H
#define TILEWRIGHT_COLLECTIVE_KEYVALUESTORE_H

#include "tilewright/support/Status.h"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright::collective {

/// A moment after which nobody waits any more.
using Deadline = std::chrono::steady_clock::time_point;

/// Shared by all processes of a job; JAX's coordination service through PJRT's callbacks, or
/// another. Keys are text, values bytes; a key is written once and stays. Thread-safe.
class KeyValueStore {
public:
  virtual ~KeyValueStore() = default;

  /// - alreadyExists: the key has a value.
  virtual Status put(std::string_view key, std::string_view value) = 0;
  /// Waits for somebody to put it. PJRT counts whole milliseconds: at least one is asked for.
  ///  - deadlineExceeded: nobody did.
  virtual Result<std::string> get(std::string_view key, Deadline deadline) = 0;
  /// What is there now; nothing if there is none.
  virtual Result<std::optional<std::string>> tryGet(std::string_view key) = 0;
};

/// Between threads of one process: for tests, and for jobs of one process.
class InMemoryKeyValueStore final : public KeyValueStore {
public:
  Status put(std::string_view key, std::string_view value) override;
  Result<std::string> get(std::string_view key, Deadline deadline) override;
  Result<std::optional<std::string>> tryGet(std::string_view key) override;

private:
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, std::string, std::less<>> values; // guarded by mutex
};

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_KEYVALUESTORE_H
