// Prints the tables of artifacts as test/import/decode.py does, so that the two
// decoders can be compared.
//
//   ArtifactTables FILE            the tables
//   ArtifactTables --sum FILE…     one line a file: the size and checksum of the tables
//   ArtifactTables --again FILE…   one line a file: whether writing and reading again gives the
//   same ArtifactTables --write FILE TO writes what was read

#include "tilewright/import/bytecode/AttrLayout.h"
#include "tilewright/import/bytecode/Reader.h"
#include "tilewright/import/bytecode/Writer.h"
#include "tilewright/support/Concat.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

using namespace tilewright;
using namespace tilewright::bytecode;

static uint32_t crc32(std::span<const std::byte> bytes) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> t{};
    for (uint32_t i = 0; i < 256; ++i) {
      t[i] = i;
      for (int bit = 0; bit < 8; ++bit)
        t[i] = (t[i] >> 1) ^ (t[i] & 1 ? 0xEDB88320u : 0);
    }
    return t;
  }();
  uint32_t crc = ~0u;
  for (std::byte b : bytes)
    crc = (crc >> 8) ^ table[(crc ^ static_cast<uint8_t>(b)) & 0xFF];
  return ~crc;
}

static std::string sum(std::span<const std::byte> bytes) {
  char text[64];
  std::snprintf(text, sizeof(text), "%zu:%08x", bytes.size(), crc32(bytes));
  return text;
}
static std::string sum(std::string_view text) { return sum(std::as_bytes(std::span(text))); }

template <typename List> static std::string list(const List &items) {
  std::string text = "[";
  for (const auto &item : items) {
    if (text.size() > 1)
      text += ',';
    text += std::to_string(item);
  }
  return text + "]";
}
static std::string id(uint32_t value) { return value == absent ? "-" : std::to_string(value); }

static std::string ids(std::span<const uint32_t> values) {
  std::string text = "[";
  for (uint32_t value : values)
    text += (text.size() > 1 ? "," : "") + id(value);
  return text + "]";
}

static std::string show(const Module &m, const Type &type) {
  std::string text = std::string(nameOf(type.dialect)) + " ";
  switch (type.kind) {
  case TypeKind::integer:
    return text + concat("integer ",
                         type.signedness == Signedness::signless        ? "signless "
                         : type.signedness == Signedness::signedInteger ? "signed "
                                                                        : "unsigned ",
                         type.width);
  case TypeKind::real:
    return text + concat("real ", spelling(type.element));
  case TypeKind::index:
    return text + "index";
  case TypeKind::none:
    return text + "none";
  case TypeKind::token:
    return text + "token";
  case TypeKind::witness:
    return text + "witness";
  case TypeKind::complex:
    return text + concat("complex ", type.inner);
  case TypeKind::tensor:
    return text +
           concat("tensor ", list(m.numbersIn(type.dims)), " ", type.inner, " ", id(type.encoding));
  case TypeKind::unrankedTensor:
    return text + concat("unrankedTensor ", type.inner);
  case TypeKind::buffer:
    return text + concat("buffer ", list(m.numbersIn(type.dims)), " ", type.inner);
  case TypeKind::tuple:
    return text + concat("tuple ", list(m.typesIn(type.types)));
  case TypeKind::future:
    return text + concat("future ", list(m.typesIn(type.types)));
  case TypeKind::function:
    return text +
           concat("function ", list(m.typesIn(type.types)), " ", list(m.typesIn(type.results)));
  case TypeKind::quantized:
  case TypeKind::quantizedPerAxis: {
    const Quantization &q = m.quantizations[type.quantization];
    return text + concat(type.kind == TypeKind::quantized ? "quantized " : "quantizedPerAxis ",
                         q.flags, " ", q.storage, " ", q.expressed, " ", q.storageMin, " ",
                         q.storageMax, " ", q.axis, " ", list(m.numbersIn(q.scales)), " ",
                         list(m.numbersIn(q.zeroPoints)));
  }
  }
  return text;
}

/// The fields of an attribute in the order of Attr: a, b, list.
static std::string show(const Module &m, const Attr &attr) {
  // The last layout of a kind has all fields that any layout of that kind has.
  const AttrLayout *layout = nullptr;
  for (const AttrLayout &row : attrLayouts())
    if (row.kind == attr.kind)
      layout = &row;
  bool hasA = false, hasB = false, literal = false;
  std::string lists;
  std::span<const Range> items;
  size_t item = 0;
  for (const Field &field : layout->all()) {
    hasA |= field.slot == Slot::a;
    hasB |= field.slot == Slot::b;
    literal |= field.wire == Wire::literal || field.wire == Wire::arrayLiteral;
    if (field.slot == Slot::item)
      items = m.listsIn(attr.list);
    if (field.slot != Slot::list && field.slot != Slot::item)
      continue;
    Range range = field.slot == Slot::item ? items[item++] : attr.list;
    bool attrs = field.wire == Wire::attrs || field.wire == Wire::pairs;
    lists += " " + (attrs ? list(m.attrsIn(range)) : list(m.numbersIn(range)));
  }
  std::string text(nameOf(attr.kind));
  if (hasA)
    text += " " + id(attr.a);
  if (hasB)
    text += " " + (literal ? sum(m.literals[attr.b].bytes) : id(attr.b));
  return text + lists;
}

static void showOps(const Module &m, OpId begin, OpId end, std::string indent, std::string &out) {
  for (OpId place = begin; place != end; place = m.operations[place].end) {
    const Operation &op = m.operations[place];
    out += concat(indent, m.rowOf(op).fullName(), " loc ", op.location, " attributes ",
                  id(op.attributes), " properties ",
                  m.bytecodeVersion < 5 ? "[]" : ids(m.propertiesOf(op)), " operands ",
                  list(m.operandsOf(op)), " results [");
    for (uint32_t i = 0; i < op.resultCount; ++i)
      out += concat(i ? "," : "", op.firstResult + i, ":", m.valueTypes[op.firstResult + i]);
    out += "]\n";
    for (const Region &region : m.regionsOf(op)) {
      if (!region.hasBlock) {
        out += indent + "  region without block\n";
        continue;
      }
      out += indent + "  region [";
      for (uint32_t i = 0; i < region.argumentCount; ++i)
        out += concat(i ? "," : "", region.firstArgument + i, ":",
                      m.valueTypes[region.firstArgument + i], "@",
                      id(m.attrsIn(region.argumentLocations)[i]));
      out += "]\n";
      showOps(m, region.firstOp, region.endOp, indent + "  ", out);
    }
  }
}

static std::string show(const Module &m) {
  std::string out =
      concat("producer ", m.producer.toString(), " bytecode ", m.bytecodeVersion, "\n");
  for (size_t i = 0; i < m.strings.size(); ++i)
    out += concat("string ", i, " ", sum(m.strings[i]), "\n");
  for (size_t i = 0; i < m.types.size(); ++i)
    out += concat("type ", i, " ", show(m, m.types[i]), "\n");
  for (size_t i = 0; i < m.attrs.size(); ++i)
    out += concat("attr ", i, " ", show(m, m.attrs[i]), "\n");
  showOps(m, 0, static_cast<OpId>(m.operations.size()), "", out);
  return out;
}

static std::string contentOf(const char *path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

/// Whether writing `module` and reading it again gives the same module.
static std::string again(const Module &module) {
  Result<std::string> bytes = write(module);
  if (!bytes.isOk())
    return std::move(bytes).takeStatus().toString();
  Result<Module> second = read(std::as_bytes(std::span(*bytes)), ImportOptions());
  if (!second.isOk())
    return std::move(second).takeStatus().toString();
  return show(*second) == show(module) ? "same" : "differs";
}

int main(int argc, char **argv) {
  std::string_view mode = argc > 1 && argv[1][0] == '-' ? argv[1] : "";
  for (int i = mode.empty() ? 1 : 2; i < argc; ++i) {
    std::string bytes = contentOf(argv[i]);
    Result<Module> module = read(std::as_bytes(std::span(bytes)), ImportOptions());
    if (!module.isOk()) {
      std::printf("%s: %s\n", argv[i], std::move(module).takeStatus().toString().c_str());
      continue;
    }
    if (mode == "--again") {
      std::printf("%s %s\n", argv[i], again(*module).c_str());
    } else if (mode == "--write") {
      std::ofstream(argv[++i], std::ios::binary) << *write(*module);
    } else {
      std::string text = show(*module);
      if (mode == "--sum")
        std::printf("%s %s\n", argv[i], sum(text).c_str());
      else
        std::fputs(text.c_str(), stdout);
    }
  }
  return 0;
}
