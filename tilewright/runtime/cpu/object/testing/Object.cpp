#include "tilewright/runtime/cpu/object/testing/Object.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>

namespace tilewright::runtime::cpu {

static std::vector<std::byte> compile(std::string_view source, const std::string &flags) {
  std::string folder = (std::filesystem::temp_directory_path() / "tilewright-XXXXXX").string();
  if (!::mkdtemp(folder.data())) {
    std::perror("mkdtemp");
    std::abort();
  }
  std::ofstream(folder + "/test.c") << source;
  const std::string command = TILEWRIGHT_C_COMPILER
                              " -x c -std=c17 -O2 -fPIC -fno-stack-protector -ffreestanding -c " +
                              flags + " -o " + folder + "/test.o " + folder + "/test.c";
  if (std::system(command.c_str()) != 0) {
    std::fprintf(stderr, "failed: %s\n", command.c_str());
    std::abort();
  }
  std::ifstream file(folder + "/test.o", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  const auto *bytes = reinterpret_cast<const std::byte *>(text.data());
  return std::vector<std::byte>(bytes, bytes + text.size());
}

std::vector<std::byte> compileForTest(std::string_view source, const std::string &flags) {
  // Cache: tests of one file share sources.
  static std::map<std::pair<std::string, std::string>, std::vector<std::byte>> known;
  auto [place, isNew] = known.try_emplace({std::string(source), flags});
  if (isNew)
    place->second = compile(source, flags);
  return place->second;
}

} // namespace tilewright::runtime::cpu
