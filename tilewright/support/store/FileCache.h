// FileCache: a folder that caches content that is expensive to compute.
#ifndef TILEWRIGHT_SUPPORT_STORE_FILECACHE_H
#define TILEWRIGHT_SUPPORT_STORE_FILECACHE_H

#include "tilewright/support/Status.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

/// Files by name in one folder. Threads, processes and hosts may share the folder without locks:
///
///  - a file is written under a temporary name and renamed, so a reader sees all of it or none;
///  - a file holds a fingerprint of its name and content; a file that was truncated, modified or
///    renamed is deleted instead of used;
///  - deleting a file that another process reads does not affect the reader.
///
/// The name must identify everything that the content depends on: callers use a cryptographic hash.
/// The fingerprint does not protect against malicious content: share a folder only with users whose
/// programs you would run.
class FileCache {
public:
  /// If the files exceed `maxBytes` in total, the least recently used ones are deleted; 0 means no
  /// limit. The first store() creates the folder.
  FileCache(std::filesystem::path folder, int64_t maxBytes)
      : folder(std::move(folder)), maxBytes(maxBytes) {}

  /// The content that was stored under this name, or nullopt if there is none or it is damaged.
  std::optional<std::vector<std::byte>> load(std::string_view name) const;

  /// Stores content under a name; replaces earlier content.
  ///  - cacheUnwritable: the folder cannot be created or written; callers may ignore this.
  Status store(std::string_view name, std::span<const std::byte> content) const;

private:
  void deleteLeastRecentlyUsed() const;

  const std::filesystem::path folder;
  const int64_t maxBytes;
};

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_STORE_FILECACHE_H
