#include "tools/tilewright/input/Npy.h"

#include "tilewright/support/Concat.h"

#include <charconv>
#include <cstring>
#include <vector>

using namespace tilewright::numerics;

namespace tilewright::tools {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

Status malformed(std::string reason) {
  return Status(Error::npyMalformed, std::move(reason) + "; write the file with numpy.save");
}

/// The text after `'key':` in the header's Python dictionary.
Result<std::string_view> valueOf(std::string_view header, std::string_view key) {
  size_t at = header.find(concat("'", key, "':"));
  if (at == header.npos)
    return malformed(concat("the .npy header has no '", key, "'"));
  std::string_view rest = header.substr(at + key.size() + 3);
  return rest.substr(std::min(rest.find_first_not_of(' '), rest.size()));
}

Result<std::string> parseDescriptor(std::string_view header) {
  TILEWRIGHT_ASSIGN(std::string_view text, valueOf(header, "descr"));
  size_t end = text.find('\'', 1);
  if (text.empty() || text.front() != '\'' || end == text.npos)
    return malformed("the .npy header's 'descr' must be a single plain type");
  return std::string(text.substr(1, end - 1));
}

Result<Shape> parseShape(std::string_view header) {
  TILEWRIGHT_ASSIGN(std::string_view text, valueOf(header, "shape"));
  size_t end = text.find(')');
  if (text.empty() || text.front() != '(' || end == text.npos)
    return malformed("the .npy header's 'shape' must be a tuple");
  std::vector<int64_t> dims;
  const char *at = text.data() + 1, *stop = text.data() + end;
  while (at != stop) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    int64_t size = 0;
    auto [next, error] = std::from_chars(at, stop, size);
    if (error != std::errc())
      return malformed("the .npy header's 'shape' has an entry that is not a number");
    dims.push_back(size);
    at = next;
  }
  Result<Shape> shape = Shape::create(dims);
  if (!shape.isOk())
    return malformed(std::move(shape).takeStatus().message());
  return shape;
}

std::string descriptorOf(ElementType type) {
  size_t bytes = storageBytes(type);
  const char *order = bytes == 1 ? "|" : "<";
  switch (kindOf(type)) {
  case ElementKind::boolean:
    return "|b1";
  case ElementKind::complex:
    return concat("<c", bytes);
  case ElementKind::real:
    if (type == ElementType::f16 || type == ElementType::f32 || type == ElementType::f64)
      return concat("<f", bytes);
    return concat(order, "V", bytes);
  case ElementKind::signedInteger:
  case ElementKind::unsignedInteger:
    if (bitWidth(type) < 8)
      return "|V1";
    return concat(order, isSigned(type) ? "i" : "u", bytes);
  }
  return "";
}

} // namespace

Result<NpyArray> parseNpy(std::span<const std::byte> file) {
  std::string_view text(reinterpret_cast<const char *>(file.data()), file.size());
  if (!text.starts_with(magic) || text.size() < magic.size() + 4)
    return malformed("the file is not an .npy file");
  uint8_t major = static_cast<uint8_t>(file[magic.size()]);
  size_t lengthBytes = major == 1 ? 2 : 4, begin = magic.size() + 2 + lengthBytes;
  if (major < 1 || major > 3 || text.size() < begin)
    return malformed(concat("the .npy version must be 1 to 3, got ", major));
  uint32_t headerBytes = 0;
  std::memcpy(&headerBytes, file.data() + magic.size() + 2, lengthBytes);
  if (headerBytes > text.size() - begin)
    return malformed(concat("the .npy header declares ", headerBytes, " bytes, but only ",
                            text.size() - begin, " are left in the file"));
  std::string_view header = text.substr(begin, headerBytes);

  NpyArray array;
  TILEWRIGHT_ASSIGN(array.descriptor, parseDescriptor(header));
  TILEWRIGHT_ASSIGN(array.shape, parseShape(header));
  TILEWRIGHT_ASSIGN(std::string_view order, valueOf(header, "fortran_order"));
  if (!order.starts_with("False") && array.shape.rank() > 1)
    return malformed("the array is column-major; save numpy.ascontiguousarray of it");
  if (array.descriptor.starts_with(">"))
    return malformed("the array is big-endian; save it in native order");
  array.elements = file.subspan(begin + headerBytes);
  return array;
}

bool matches(std::string_view descriptor, ElementType type) {
  if (descriptor == descriptorOf(type))
    return true;
  std::string_view body = descriptor.substr(descriptor.empty() ? 0 : 1);
  if (body == "f1") // ml_dtypes' name for f8E5M2, which has the exponent of f16
    return type == ElementType::f8E5M2;
  return body == concat("V", storageBytes(type)) && storageBytes(type) <= 2;
}

std::string npyHeader(ElementType type, const Shape &shape) {
  std::string dims;
  for (int64_t size : shape.dims())
    dims += concat(size, ", ");
  if (shape.rank() > 1)
    dims.resize(dims.size() - 2); // a tuple of one keeps its comma
  std::string header = concat("{'descr': '", descriptorOf(type),
                              "', 'fortran_order': False, 'shape': (", dims, "), }");
  // NumPy aligns the elements to 64 bytes; the header ends in a newline.
  size_t before = magic.size() + 4;
  header.append(63 - (before + header.size()) % 64, ' ');
  header += '\n';
  uint16_t length = static_cast<uint16_t>(header.size());
  std::string file(magic);
  file += '\x01';
  file += '\0';
  file.append(reinterpret_cast<const char *>(&length), 2);
  return file + header;
}

} // namespace tilewright::tools
