#include "tilewright/vgpu/driver/observe/ObserveCount.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/count/Counter.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace tilewright::vgpu::driver {

/// A kernel name that is usable as a file name; names of C++ kernels may be very long.
static std::string fileName(std::string_view kernel) {
  std::string name(kernel.substr(0, 100));
  for (char &c : name)
    if (c == '/' || c == '\0')
      c = '_';
  return name;
}

/// Writes a file. Only prints a failure: counting must not make a launch fail.
static void writeFile(const std::filesystem::path &path, const std::string &text) {
  std::FILE *file = std::fopen(path.c_str(), "wb");
  const bool isWritten = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (!file || std::fclose(file) != 0 || !isWritten)
    std::fprintf(stderr, "vgpu: cannot write %s: %s\n", path.c_str(), std::strerror(errno));
}

namespace {
class Counting final : public Observation {
public:
  explicit Counting(const LaunchFacts &facts)
      : counter({.hasTimeline = !facts.counts.empty()}), folder(facts.counts),
        stem(concat(facts.number, '-', fileName(facts.kernel))) {}

  machine::Observer &observer() override { return counter; }

  Status finished(Status status) override {
    // A launch that was rejected has no counts.
    if (counter.report().kernel.empty())
      return status;
    if (folder.empty()) {
      std::fputs(counter.report().toText().c_str(), stderr);
      return status;
    }
    std::error_code ignored;
    std::filesystem::create_directories(folder, ignored);
    writeFile(folder / (stem + ".counts.txt"), counter.report().toText());
    writeFile(folder / (stem + ".counts.json"), counter.report().toJson());
    writeFile(folder / (stem + ".trace.json"), counter.timeline());
    return status;
  }

private:
  count::Counter counter;
  const std::filesystem::path folder;
  const std::string stem;
};
} // namespace

std::unique_ptr<Observation> startCounting(const LaunchFacts &facts) {
  return std::make_unique<Counting>(facts);
}

} // namespace tilewright::vgpu::driver
