#include "tilewright/vgpu/driver/observe/Files.h"

#include "tilewright/support/Concat.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

namespace tilewright::vgpu::driver {

/// A kernel name that can be used as a file name; names of C++ kernels may be very long.
static std::string fileName(std::string_view kernel) {
  std::string name(kernel.substr(0, 100));
  for (char &c : name)
    if (c == '/' || c == '\0')
      c = '_';
  return name;
}

std::filesystem::path makeStem(const LaunchFacts &facts) {
  const std::filesystem::path folder(facts.counts);
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  return folder / concat(facts.number, '-', fileName(facts.kernel));
}

void writeFile(const std::filesystem::path &path, const std::string &text) {
  std::FILE *file = std::fopen(path.c_str(), "wb");
  const bool isWritten = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (!file || std::fclose(file) != 0 || !isWritten)
    std::fprintf(stderr, "vgpu: cannot write %s: %s\n", path.c_str(), std::strerror(errno));
}

} // namespace tilewright::vgpu::driver
