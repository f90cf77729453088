// Lets the Python tests call tilewright/numerics: one command line on stdin,
// then its raw bytes; the raw result on stdout. A process instead of a shared
// library, so that the same tests run under the sanitizers.
//
//   convert FROM TO COUNT\n   COUNT elements of FROM        → COUNT elements of TO
//   saturate TO COUNT\n       COUNT doubles                 → COUNT elements of TO
//   globalscale COUNT\n       COUNT f32                     → one f32
//   quantise FORMAT GLOBAL COUNT\n    COUNT f32           → elements, scales
//   dequantise FORMAT GLOBAL COUNT\n  elements, scales    → COUNT f32
//   dot FORMAT GLOBAL FORMAT GLOBAL TYPE COUNT\n  both rows → one TYPE
#include "tilewright/numerics/BlockScaling.h"
#include "tilewright/numerics/Convert.h"
#include "tilewright/numerics/Float.h"

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
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

/// Reads the next word of a command as an element type. For an unknown word prints a message, by
/// which a test finds its spelling mistake, and returns pred.
ElementType readType(std::istream &line) {
  std::string name;
  line >> name;
  std::optional<ElementType> type = elementTypeNamed(name);
  if (!type) {
    std::cerr << "no element type named '" << name << "'\n";
    std::exit(1);
  }
  return *type;
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

/// Reads an array that follows a command.
template <typename T> std::vector<T> readArray(size_t count) {
  std::vector<T> values(count);
  const Bytes bytes = readBytes(count * sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

template <typename T> void append(Bytes &bytes, const std::vector<T> &values) {
  const auto *data = reinterpret_cast<const std::byte *>(values.data());
  bytes.insert(bytes.end(), data, data + values.size() * sizeof(T));
}

/// The next two words: a block format and a global scale.
std::pair<BlockFormat, float> readFormat(std::istream &line) {
  std::string name, global;
  line >> name >> global;
  for (const BlockFormat &format : blockFormats)
    if (format.name == name)
      return {format, std::strtof(global.c_str(), nullptr)};
  std::cerr << "no block format named '" << name << "'\n";
  return {mxfp4, 1};
}

Bytes runGlobalScale(std::istream &line) {
  size_t count = 0;
  line >> count;
  Bytes result;
  append(result, std::vector<float>{globalScaleFor(readArray<float>(count))});
  return result;
}

Bytes runQuantise(std::istream &line) {
  const auto [format, global] = readFormat(line);
  size_t count = 0;
  line >> count;
  std::vector<uint8_t> elements(count), scales(format.blocksFor(count));
  quantise(format, readArray<float>(count), global, elements, scales);
  Bytes result;
  append(result, elements);
  append(result, scales);
  return result;
}

Bytes runDequantise(std::istream &line) {
  const auto [format, global] = readFormat(line);
  size_t count = 0;
  line >> count;
  const auto elements = readArray<uint8_t>(count);
  const auto scales = readArray<uint8_t>(format.blocksFor(count));
  std::vector<float> values(count);
  dequantise({format, elements, scales, global}, values);
  Bytes result;
  append(result, values);
  return result;
}

Bytes runDot(std::istream &line) {
  const auto [lhs, lhsGlobal] = readFormat(line);
  const auto [rhs, rhsGlobal] = readFormat(line);
  const ElementType type = readType(line);
  size_t count = 0;
  line >> count;
  const auto lhsElements = readArray<uint8_t>(count);
  const auto lhsScales = readArray<uint8_t>(lhs.blocksFor(count));
  const auto rhsElements = readArray<uint8_t>(count);
  const auto rhsScales = readArray<uint8_t>(rhs.blocksFor(count));
  const uint64_t bits = exactDot({lhs, lhsElements, lhsScales, lhsGlobal},
                                 {rhs, rhsElements, rhsScales, rhsGlobal}, type);
  Bytes result(storageBytes(type));
  std::memcpy(result.data(), &bits, result.size());
  return result;
}

} // namespace

int main() {
  std::ios::sync_with_stdio(false);
  const std::map<std::string_view, Bytes (*)(std::istream &)> commands = {
      {"convert", runConvert},   {"saturate", runSaturate},     {"globalscale", runGlobalScale},
      {"quantise", runQuantise}, {"dequantise", runDequantise}, {"dot", runDot}};
  for (std::string text; std::getline(std::cin, text);) {
    std::istringstream line(text);
    std::string command;
    line >> command;
    const auto found = commands.find(command);
    if (found == commands.end()) {
      std::cerr << "unknown command '" << command << "'\n";
      return 1;
    }
    writeBytes(found->second(line));
  }
  return 0;
}
