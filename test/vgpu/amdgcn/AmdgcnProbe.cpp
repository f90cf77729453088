// Shows what the decoder of AMD's machine code does, for test_amdgcn.py and the fuzzer:
//
//   AmdgcnProbe random CHIP COUNT SEED    COUNT random instructions for each row and form:
//   dwords|text AmdgcnProbe forms CHIP                the number of rows and forms AmdgcnProbe text
//   CHIP                 decodes the dwords on each line of the standard input AmdgcnProbe seeds
//   FOLDER              writes inputs for the fuzzer
#include "tilewright/vgpu/amdgcn/testing/MakeObject.h"
#include "tilewright/vgpu/amdgcn/testing/RandomInstruction.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>

using namespace tilewright::vgpu::amdgcn;
using namespace tilewright::vgpu::amdgcn::testing;

static std::function<uint64_t(uint64_t)> generator(uint64_t seed) {
  return [engine = std::mt19937_64(seed)](uint64_t limit) mutable { return engine() % limit; };
}

static int printRandom(Chip chip, unsigned count, uint64_t seed) {
  auto random = generator(seed);
  for (const RowForm &form : formsOf(chip))
    for (unsigned i = 0; i < count; ++i) {
      const std::vector<uint32_t> words = randomEncoding(form, chip, random);
      if (words.empty()) {
        std::fprintf(stderr, "the decoder does not know %s\n", std::string(form.row->name).c_str());
        return 1;
      }
      for (uint32_t word : words)
        std::printf("%08x ", word);
      std::printf("|%s\n", toText(*decode(words, chip)).c_str());
    }
  return 0;
}

static int printText(Chip chip) {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream input(line);
    std::vector<uint32_t> words;
    for (uint32_t word; input >> std::hex >> word;)
      words.push_back(word);
    const auto instruction = decode(words, chip);
    std::puts(instruction ? toText(*instruction).c_str() : "unknown");
  }
  return 0;
}

static int writeSeeds(const std::filesystem::path &folder) {
  std::filesystem::create_directories(folder);
  auto random = generator(1);
  for (Chip chip : {Chip::gfx942, Chip::gfx950}) {
    const std::string name(nameOf(chip));
    std::vector<uint32_t> code;
    for (const RowForm &form : formsOf(chip))
      if (random(8) == 0)
        for (uint32_t word : randomEncoding(form, chip, random))
          code.push_back(word);
    const std::string object = makeObject({.machine = chip == Chip::gfx942 ? 0x4cu : 0x4fu,
                                           .code = code,
                                           .metadata = makeMetadata("add")});
    const std::pair<std::string, std::string> entries[] = {
        {"hipv4-amdgcn-amd-amdhsa--" + name, object}};
    std::ofstream(folder / (name + ".hsaco"), std::ios::binary) << object;
    std::ofstream(folder / (name + ".co"), std::ios::binary) << makeBundle(entries);
  }
  return 0;
}

int main(int argc, char **argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 2 && arguments[0] == "seeds")
    return writeSeeds(arguments[1]);
  const auto chip = arguments.size() > 1 ? findChip(arguments[1]) : std::nullopt;
  if (chip && arguments[0] == "random" && arguments.size() == 4)
    return printRandom(*chip, static_cast<unsigned>(std::stoul(arguments[2])),
                       std::stoull(arguments[3]));
  if (chip && arguments[0] == "text")
    return printText(*chip);
  if (chip && arguments[0] == "forms") {
    size_t rows = 0;
    for (const Row &row : table())
      rows += row.isOn(*chip);
    std::printf("%zu rows, %zu forms\n", rows, formsOf(*chip).size());
    return 0;
  }
  std::fputs("usage: AmdgcnProbe random CHIP COUNT SEED | forms CHIP | text CHIP | seeds FOLDER\n",
             stderr);
  return 2;
}
