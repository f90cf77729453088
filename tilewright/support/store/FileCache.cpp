#include "tilewright/support/store/FileCache.h"

#include "tilewright/support/Concat.h"
#include "tilewright/support/Fingerprint.h"
#include "tilewright/support/store/Descriptor.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <sys/stat.h>

namespace tilewright {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// A cache file consists of this line, the fingerprint and the content. The number is the format
// version.
static constexpr std::string_view heading = "tilewright cache 1\n";
static constexpr size_t contentAt = heading.size() + sizeof(Fingerprint);
// No other program uses these suffixes, so files with them may be deleted.
static constexpr std::string_view suffix = ".tilewright", temporarySuffix = ".tilewright-part";
/// The age after which a temporary file is deleted: its process must have been killed, because no
/// write takes this long.
static constexpr auto abandonedAfter = 1h;
/// A larger file is treated as damaged, before memory is allocated for it.
static constexpr int64_t maxFile = int64_t(16) << 30;

/// Includes the name, so that a renamed file is not mistaken for other content.
static Fingerprint fingerprintOf(std::string_view name, std::span<const std::byte> content) {
  const Fingerprint both[2] = {tilewright::fingerprintOf(std::as_bytes(std::span(name))),
                               tilewright::fingerprintOf(content)};
  return tilewright::fingerprintOf(std::as_bytes(std::span(both)));
}

std::optional<std::vector<std::byte>> FileCache::load(std::string_view name) const {
  const fs::path path = folder / concat(name, suffix);
  // O_NONBLOCK, because opening a FIFO would otherwise wait for a writer.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat facts;
  if (!file.isOpen() || fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode) ||
      facts.st_size > maxFile)
    return std::nullopt;
  const auto size = static_cast<size_t>(facts.st_size);
  char found[heading.size()];
  Fingerprint stored;
  std::vector<std::byte> content(size - std::min(size, contentAt));
  if (size >= contentAt && transferAll(::read, file, found, sizeof found) &&
      transferAll(::read, file, stored.data(), stored.size()) &&
      transferAll(::read, file, content.data(), content.size()) &&
      heading == std::string_view(found, sizeof found) && stored == fingerprintOf(name, content)) {
    futimens(file.get(),
             nullptr); // marks it as used now; fails, without harm, on another user's file
    return content;
  }
  std::error_code ignored;
  fs::remove(path, ignored);
  return std::nullopt;
}

Status FileCache::store(std::string_view name, std::span<const std::byte> content) const {
  const auto failure = [&](std::string_view what, const fs::path &path, int error) {
    return Status(Error::cacheUnwritable,
                  concat("cannot ", what, " '", path.string(), "': ", std::strerror(error),
                         "; programs are not cached; set compile.cache-dir to a writable folder"));
  };
  // Do not store content that would displace most other files.
  if (maxBytes > 0 && static_cast<int64_t>(content.size()) > maxBytes / 2)
    return Status();
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return failure("create the folder", folder, error.value());
  // Containers may have the same host name and process id, so the name is random.
  std::random_device random;
  const fs::path temporary =
      folder / concat(name, ".", (uint64_t(random()) << 32) | random(), temporarySuffix);
  {
    const Descriptor file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (!file.isOpen())
      return failure("create", temporary, errno);
    const Fingerprint fingerprint = fingerprintOf(name, content);
    if (!transferAll(::write, file, heading.data(), heading.size()) ||
        !transferAll(::write, file, fingerprint.data(), fingerprint.size()) ||
        !transferAll(::write, file, content.data(), content.size())) {
      const int why = errno;
      fs::remove(temporary, error);
      return failure("write", temporary, why);
    }
  }
  fs::rename(temporary, folder / concat(name, suffix), error);
  if (error) {
    const int why = error.value();
    fs::remove(temporary, error);
    return failure("rename", temporary, why);
  }
  deleteLeastRecentlyUsed();
  return Status();
}

void FileCache::deleteLeastRecentlyUsed() const {
  struct Entry {
    fs::path path;
    fs::file_time_type used;
    int64_t bytes;
  };
  std::vector<Entry> entries;
  int64_t total = 0;
  std::error_code error;
  // Other processes may delete entries meanwhile; an entry that is gone is skipped.
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    Entry entry{at->path(), at->last_write_time(gone), 0};
    if (!gone)
      entry.bytes = static_cast<int64_t>(at->file_size(gone));
    if (gone)
      continue;
    const fs::path extension = entry.path.extension();
    if (extension == temporarySuffix &&
        entry.used + abandonedAfter < fs::file_time_type::clock::now())
      fs::remove(entry.path, gone);
    if (extension != suffix) // not a file of the cache
      continue;
    total += entry.bytes;
    entries.push_back(std::move(entry));
  }
  if (maxBytes <= 0 || total <= maxBytes)
    return;
  std::ranges::sort(entries, {}, &Entry::used);
  // Free more than necessary, so that not every store has to delete files.
  const int64_t aim = maxBytes - maxBytes / 10;
  for (const Entry &entry : entries) {
    if (total <= aim)
      return;
    if (fs::remove(entry.path, error)) // or another process did, or it is another user's
      total -= entry.bytes;
  }
}

} // namespace tilewright
