#include "tilewright/collective/KeyValueStore.h"

#include "tilewright/support/Concat.h"

namespace tilewright::collective {

Status InMemoryKeyValueStore::put(std::string_view key, std::string_view value) {
  std::lock_guard lock(mutex);
  if (!values.try_emplace(std::string(key), value).second)
    return Status(Code::alreadyExists, concat("the key '", key, "' has a value already"));
  changed.notify_all();
  return Status();
}

Result<std::string> InMemoryKeyValueStore::get(std::string_view key, Deadline deadline) {
  std::unique_lock lock(mutex);
  auto found = values.end();
  if (!changed.wait_until(lock, deadline,
                          [&] { return (found = values.find(key)) != values.end(); }))
    return Status(Code::deadlineExceeded, concat("nobody put the key '", key, "'"));
  return found->second;
}

Result<std::optional<std::string>> InMemoryKeyValueStore::tryGet(std::string_view key) {
  std::lock_guard lock(mutex);
  auto found = values.find(key);
  return found == values.end() ? std::optional<std::string>() : found->second;
}

} // namespace tilewright::collective
