// Lets the Python tests call tilewright/numerics: one command line on stdin,
// then its raw bytes; the raw result on stdout. A process instead of a shared
// library, so that the same tests run under the sanitizers.
//
//   convert FROM TO COUNT\n   COUNT elements of FROM        → COUNT elements of TO
//   saturate TO COUNT\n       COUNT doubles                 → COUNT elements of TO
#include "tilewright/numerics/Convert.h"
#include "tilewright/numerics/Float.h"

#include <cstdio>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

using namespace tilewright::numerics;

namespace {

using Bytes = std::vector<std::byte>;

Bytes readBytes(size_t count) {
  Bytes bytes(count);
  std::cin.read(reinterpret_cast<char *>(bytes.data()), static_cast<std::streamsize>(count));
  return bytes;
}

void writeBytes(const Bytes &bytes) {
  std::cout.write(reinterpret_cast<const char *>(bytes.data()),
                  static_cast<std::streamsize>(bytes.size()));
  std::cout.flush();
}

/// The next word of a command as an element type; the test that misspells one
/// learns it from the message.
ElementType readType(std::istream &line) {
  std::string name;
  line >> name;
  std::optional<ElementType> type = elementTypeNamed(name);
  if (!type)
    std::cerr << "no element type named '" << name << "'\n";
  return type.value_or(ElementType::pred);
}

Bytes runConvert(std::istream &line) {
  const ElementType from = readType(line), to = readType(line);
  size_t count = 0;
  line >> count;
  const Bytes source = readBytes(count * storageBytes(from));
  Bytes result(count * storageBytes(to));
  convert(from, source.data(), to, result.data(), count);
  return result;
}

Bytes runSaturate(std::istream &line) {
  const ElementType to = readType(line);
  size_t count = 0;
  line >> count;
  const Bytes source = readBytes(count * sizeof(double));
  Bytes result(count * storageBytes(to));
  for (size_t i = 0; i < count; ++i) {
    double value;
    std::memcpy(&value, source.data() + i * sizeof(double), sizeof(double));
    const uint64_t bits = encodeSaturating(to, value);
    std::memcpy(result.data() + i * storageBytes(to), &bits, storageBytes(to));
  }
  return result;
}

} // namespace

int main() {
  std::ios::sync_with_stdio(false);
  for (std::string text; std::getline(std::cin, text);) {
    std::istringstream line(text);
    std::string command;
    line >> command;
    if (command == "convert") {
      writeBytes(runConvert(line));
    } else if (command == "saturate") {
      writeBytes(runSaturate(line));
    } else {
      std::cerr << "unknown command '" << command << "'\n";
      return 1;
    }
  }
  return 0;
}
