#include "tilewright/import/ArtifactFile.h"

#include "tilewright/support/Concat.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tilewright {
namespace {

/// A file descriptor that its destructor closes.
struct Descriptor {
  explicit Descriptor(int fd) : fd(fd) {}
  ~Descriptor() {
    if (fd >= 0)
      ::close(fd);
  }
  Descriptor(const Descriptor &) = delete;
  int fd;
};

Status unreadable(const std::string &path, std::string_view what) {
  return Status(Error::artifactUnreadable,
                concat("cannot ", what, " '", path, "': ", std::strerror(errno),
                       "; check the path and its permissions"));
}

Status tooLarge(const std::string &path, int64_t limit) {
  return Status(Error::limitBytes, concat("'", path, "' has more than ", limit,
                                          " bytes; raise import.max-bytes to read it"));
}

/// Reads a pipe or a device to its end, at most `limit` bytes.
Result<std::vector<std::byte>> readToEnd(int fd, const std::string &path, int64_t limit) {
  std::vector<std::byte> bytes;
  std::vector<std::byte> chunk(size_t(1) << 16);
  while (true) {
    ssize_t got = ::read(fd, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return unreadable(path, "read");
    if (got == 0)
      return bytes;
    if (got > limit - static_cast<int64_t>(bytes.size()))
      return tooLarge(path, limit);
    bytes.insert(bytes.end(), chunk.begin(), chunk.begin() + got);
  }
}

} // namespace

ArtifactFile::ArtifactFile(std::vector<std::byte> bytes, std::string name)
    : label(std::move(name)) {
  auto owned = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  content = *owned;
  keeper = std::move(owned);
}

ArtifactFile::ArtifactFile(std::string_view bytes, std::string name)
    : ArtifactFile(
          [&] {
            auto raw = std::as_bytes(std::span(bytes.data(), bytes.size()));
            return std::vector<std::byte>(raw.begin(), raw.end());
          }(),
          std::move(name)) {}

Result<ArtifactFile> ArtifactFile::open(const std::string &path, const ImportOptions &options) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd < 0)
    return unreadable(path, "open");
  struct stat facts;
  if (::fstat(file.fd, &facts) != 0)
    return unreadable(path, "examine");

  // mmap rejects an empty file, so read it like a pipe.
  if (!S_ISREG(facts.st_mode) || facts.st_size == 0) {
    TILEWRIGHT_ASSIGN(std::vector<std::byte> bytes, readToEnd(file.fd, path, options.maxBytes));
    return ArtifactFile(std::move(bytes), path);
  }
  if (facts.st_size > options.maxBytes)
    return tooLarge(path, options.maxBytes);

  auto size = static_cast<size_t>(facts.st_size);
  void *start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (start == MAP_FAILED)
    return unreadable(path, "map");
  std::shared_ptr<const void> keeper(
      start, [size](const void *mapped) { ::munmap(const_cast<void *>(mapped), size); });
  return ArtifactFile(std::move(keeper), std::span(static_cast<const std::byte *>(start), size),
                      path);
}

} // namespace tilewright
