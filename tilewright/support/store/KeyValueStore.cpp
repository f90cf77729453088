#include "tilewright/support/store/KeyValueStore.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/store/WholeFile.h"
#include "tilewright/support/text/Hex.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>
#include <unistd.h>

namespace tilewright {

static Status timedOut(std::string_view key) {
  return Status(Code::deadlineExceeded,
                concat("key '", key, "' was not written to the key-value store in time"));
}

Status MemoryKeyValueStore::put(std::string_view key, std::string_view value) {
  {
    std::lock_guard lock(mutex);
    values.insert_or_assign(std::string(key), std::string(value));
  }
  written.notify_all();
  return Status();
}

Result<std::string> MemoryKeyValueStore::get(std::string_view key, Deadline deadline) {
  std::unique_lock lock(mutex);
  auto found = values.end();
  if (!written.wait_until(lock, deadline,
                          [&] { return (found = values.find(key)) != values.end(); }))
    return timedOut(key);
  return found->second;
}

Result<std::optional<std::string>> MemoryKeyValueStore::tryGet(std::string_view key) {
  std::lock_guard lock(mutex);
  auto found = values.find(key);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

/// Escapes the key: keys contain slashes, which file names cannot.
std::string DirectoryKeyValueStore::pathOf(std::string_view key) const {
  std::string path = directory + "/";
  for (char c : key)
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-')
      path += c;
    else
      path += concat('_', hexDigits(static_cast<unsigned char>(c), 2));
  return path;
}

Status DirectoryKeyValueStore::put(std::string_view key, std::string_view value) {
  static std::atomic<uint64_t> count = 0;
  const std::string path = pathOf(key);
  const std::string temporary = concat(path, ".", getpid(), ".", count++, "~");
  {
    std::ofstream file(temporary, std::ios::binary);
    file.write(value.data(), static_cast<std::streamsize>(value.size()));
    file.close();
    if (file && std::rename(temporary.c_str(), path.c_str()) == 0)
      return Status();
  }
  const int reason = errno;
  std::remove(temporary.c_str());
  return Status(Code::unavailable, concat("cannot write '", path, "' for key '", key,
                                          "' of the key-value store: ", std::strerror(reason)));
}

Result<std::optional<std::string>> DirectoryKeyValueStore::tryGet(std::string_view key) {
  return readWholeFile(pathOf(key));
}

Result<std::string> DirectoryKeyValueStore::get(std::string_view key, Deadline deadline) {
  std::chrono::microseconds pause(50);
  while (true) {
    TILEWRIGHT_ASSIGN(std::optional<std::string> value, tryGet(key));
    if (value)
      return *std::move(value);
    if (std::chrono::steady_clock::now() >= deadline)
      return timedOut(key);
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(2000));
  }
}

} // namespace tilewright
