#include "tools/tilewright/Files.h"

#include "tilewright/support/Concat.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <unistd.h>

namespace tilewright::tools {
namespace {

struct Close {
  void operator()(FILE *file) const { std::fclose(file); }
};
using File = std::unique_ptr<FILE, Close>;

Status unreadable(const std::string &path) {
  return Status(Error::fileUnreadable, concat(path, " could not be read: ", std::strerror(errno)));
}

} // namespace

Result<std::string> readFile(const std::string &path) {
  File file(std::fopen(path.c_str(), "rb"));
  if (!file)
    return unreadable(path);
  std::string text;
  char buffer[1 << 16];
  while (size_t got = std::fread(buffer, 1, sizeof(buffer), file.get()))
    text.append(buffer, got);
  if (std::ferror(file.get()))
    return unreadable(path);
  return text;
}

Status writeFile(const std::string &path,
                 std::initializer_list<std::span<const std::byte>> pieces) {
  std::string temporary = concat(path, ".", getpid(), ".tmp");
  auto failed = [&] {
    int reason = errno;
    std::remove(temporary.c_str());
    return Status(Error::fileUnwritable,
                  concat(path, " could not be written: ", std::strerror(reason)));
  };
  File file(std::fopen(temporary.c_str(), "wb"));
  if (!file)
    return failed();
  for (std::span<const std::byte> piece : pieces)
    if (std::fwrite(piece.data(), 1, piece.size(), file.get()) != piece.size())
      return failed();
  // A full disk may be reported only when fclose() flushes the buffer.
  if (std::fclose(file.release()) != 0)
    return failed();
  if (std::rename(temporary.c_str(), path.c_str()) != 0)
    return failed();
  return Status();
}

} // namespace tilewright::tools
