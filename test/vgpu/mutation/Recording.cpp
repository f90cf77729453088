#include "Recording.h"

#include "tilewright/support/Concat.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <sys/mman.h>

namespace tilewright::vgpu::mutation {

static Result<std::string> contentOf(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return Status(Code::notFound, concat(path, " is missing"));
  return std::string(std::istreambuf_iterator<char>(in), {});
}

static std::vector<std::byte> bytesOf(const std::string &hex) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

Result<Recording> Recording::read(const std::string &path) {
  Recording recording;
  TILEWRIGHT_ASSIGN(recording.text, contentOf(path + ".ptx"));
  TILEWRIGHT_ASSIGN(const std::string memory, contentOf(path + ".memory"));
  const auto *first = reinterpret_cast<const std::byte *>(memory.data());
  recording.before.assign(first, first + memory.size());
  TILEWRIGHT_ASSIGN(const std::string launch, contentOf(path + ".launch"));
  std::istringstream lines(launch);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string what, hex;
    words >> what;
    auto three = [&](std::array<uint32_t, 3> &sizes) { words >> sizes[0] >> sizes[1] >> sizes[2]; };
    if (what == "kernel")
      words >> recording.kernel;
    else if (what == "chip")
      words >> recording.chip;
    else if (what == "checks")
      words >> recording.checks;
    else if (what == "grid")
      three(recording.grid);
    else if (what == "block")
      three(recording.block);
    else if (what == "cluster")
      three(recording.cluster);
    else if (what == "shared")
      words >> recording.dynamicSharedBytes;
    else if (what == "cooperative")
      words >> recording.isCooperative;
    else if (what == "memory")
      words >> recording.address;
    else if (what == "parameter" && words >> hex)
      recording.parameters.push_back(bytesOf(hex));
    if (!words)
      return Status(Code::invalidArgument,
                    concat(path, ".launch: a line that is not known: ", line));
  }
  return recording;
}

Status Recording::restore() const {
  // The recorder's fixed address range, which is unused in every process.
  void *at = mmap(reinterpret_cast<void *>(address), before.size(), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (at == MAP_FAILED)
    return Status(Code::internal, concat("no memory at ", address));
  std::memcpy(at, before.data(), before.size());
  return Status();
}

} // namespace tilewright::vgpu::mutation
