#include "tools/tilewright/input/Files.h"

#include "tilewright/support/Concat.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
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
  namespace fs = std::filesystem;
  std::error_code ignored;
  // A rename would replace a device, a pipe or a link by a file: write into the device or the pipe,
  // and replace the file that the link names.
  const fs::file_status status = fs::status(path, ignored);
  const bool isInPlace = fs::exists(status) && !fs::is_regular_file(status);
  fs::path target = path;
  for (int links = 0; !isInPlace && links < 40 && fs::is_symlink(target, ignored); ++links)
    target = target.parent_path() / fs::read_symlink(target, ignored);
  const std::string written = isInPlace ? path : concat(target.string(), ".", getpid(), ".tmp");
  auto failed = [&] {
    int reason = errno;
    if (!isInPlace)
      std::remove(written.c_str());
    return Status(Error::fileUnwritable,
                  concat(path, " could not be written: ", std::strerror(reason)));
  };
  File file(std::fopen(written.c_str(), "wb"));
  if (!file)
    return failed();
  for (std::span<const std::byte> piece : pieces)
    if (std::fwrite(piece.data(), 1, piece.size(), file.get()) != piece.size())
      return failed();
  // A full disk may be reported only when fclose() flushes the buffer.
  if (std::fclose(file.release()) != 0)
    return failed();
  if (!isInPlace && std::rename(written.c_str(), target.c_str()) != 0)
    return failed();
  return Status();
}

} // namespace tilewright::tools
