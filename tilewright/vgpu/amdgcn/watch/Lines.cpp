#include "tilewright/vgpu/amdgcn/watch/Lines.h"

#include "tilewright/support/BytesAt.h"
#include "tilewright/support/Concat.h"

#include <cstring>

namespace tilewright::vgpu::amdgcn {

using Bytes = std::span<const std::byte>;

namespace {
/// Reads consecutive numbers. Beyond the end it returns 0.
class Reader {
public:
  explicit Reader(Bytes bytes) : bytes(bytes) {}

  bool isAtEnd() const { return at >= bytes.size(); }
  size_t position() const { return at; }
  void skipTo(size_t position) { at = std::max(at, position); }
  template <typename T> T take() {
    const std::optional<T> value = valueAt<T>(bytes, at);
    at = value ? at + sizeof(T) : bytes.size();
    return value.value_or(T());
  }
  uint64_t takeUnsigned() {
    uint64_t value = 0;
    for (unsigned shift = 0; !isAtEnd(); shift += 7) {
      const auto byte = take<uint8_t>();
      if (shift < 64)
        value |= uint64_t(byte & 127) << shift;
      if ((byte & 128) == 0)
        break;
    }
    return value;
  }
  int64_t takeSigned() {
    uint64_t value = 0;
    for (unsigned shift = 0; !isAtEnd();) {
      const auto byte = take<uint8_t>();
      if (shift < 64)
        value |= uint64_t(byte & 127) << shift;
      shift += 7;
      if ((byte & 128) != 0)
        continue;
      if ((byte & 64) != 0 && shift < 64)
        value |= ~uint64_t(0) << shift;
      break;
    }
    return static_cast<int64_t>(value);
  }
  std::string_view takeString() {
    const std::string_view text = stringAt(bytes, at);
    at += text.size() + 1;
    return text;
  }
  static std::string_view stringAt(Bytes bytes, uint64_t at) {
    if (at >= bytes.size())
      return {};
    const char *text = reinterpret_cast<const char *>(bytes.data()) + at;
    return {text, strnlen(text, bytes.size() - at)};
  }

private:
  Bytes bytes;
  size_t at = 0;
};
} // namespace

/// Reads one table after the other.
class LineReader {
public:
  LineReader(const CodeObject &object, Lines &lines) : lines(lines) {
    for (const Section &section : object.sections) {
      if (section.name == ".debug_line")
        tables = section.bytes;
      else if (section.name == ".debug_line_str")
        lineStrings = section.bytes;
      else if (section.name == ".debug_str")
        strings = section.bytes;
    }
  }

  void readAll() {
    for (size_t at = 0; at + 4 <= tables.size();) {
      const uint64_t bytes = *valueAt<uint32_t>(tables, at);
      constexpr uint64_t firstReserved = 0xfffffff0u; // lengths of 64 bits follow it
      if (bytes >= firstReserved || bytes > tables.size() - at - 4)
        return;
      readTable(tables.subspan(at + 4, bytes));
      at += 4 + bytes;
    }
  }

private:
  struct Header {
    uint16_t version = 0;
    uint8_t minimumBytes = 1, lineRange = 1, firstSpecial = 1;
    int8_t lineBase = 0;
    std::vector<uint8_t> operandCounts; // of the standard opcodes
    std::vector<uint32_t> files;        // in lines.files, by the number in the table
  };

  // Version 5: the contents of a list's entries, and their encodings.
  enum Content : uint64_t { path = 1, directoryIndex = 2 };
  enum Form : uint64_t {
    data2 = 5,
    data4 = 6,
    data8 = 7,
    string = 8,
    block = 9,
    data1 = 11,
    strp = 14,
    udata = 15,
    data16 = 30,
    lineStrp = 31,
  };
  struct Entry {
    std::string_view name;
    uint64_t directory = 0;
  };

  uint32_t addFile(std::string_view directory, std::string_view name) {
    lines.files.push_back(name.starts_with('/') || directory.empty()
                              ? std::string(name)
                              : concat(directory, "/", name));
    return static_cast<uint32_t>(lines.files.size() - 1);
  }

  /// Returns false if the form is unknown: then the position of the next value is unknown, too.
  bool readForm(Reader &reader, uint64_t form, std::string_view &text, uint64_t &number) const {
    switch (form) {
    case string:
      text = reader.takeString();
      return true;
    case lineStrp:
      text = Reader::stringAt(lineStrings, reader.take<uint32_t>());
      return true;
    case strp:
      text = Reader::stringAt(strings, reader.take<uint32_t>());
      return true;
    case data1:
      number = reader.take<uint8_t>();
      return true;
    case data2:
      number = reader.take<uint16_t>();
      return true;
    case data4:
      number = reader.take<uint32_t>();
      return true;
    case data8:
      number = reader.take<uint64_t>();
      return true;
    case udata:
      number = reader.takeUnsigned();
      return true;
    case data16: // a checksum
      reader.skipTo(reader.position() + 16);
      return true;
    case block: {
      const uint64_t bytes = reader.takeUnsigned();
      reader.skipTo(reader.position() + std::min<uint64_t>(bytes, tables.size()));
      return true;
    }
    default:
      return false;
    }
  }

  bool readEntries(Reader &reader, std::vector<Entry> &entries) const {
    std::vector<std::pair<uint64_t, uint64_t>> formats(reader.take<uint8_t>());
    for (auto &[content, form] : formats) {
      content = reader.takeUnsigned();
      form = reader.takeUnsigned();
    }
    for (uint64_t count = reader.takeUnsigned(); count > 0 && !reader.isAtEnd(); --count) {
      Entry &entry = entries.emplace_back();
      for (const auto &[content, form] : formats) {
        std::string_view text;
        uint64_t number = 0;
        if (!readForm(reader, form, text, number))
          return false;
        if (content == path)
          entry.name = text;
        else if (content == directoryIndex)
          entry.directory = number;
      }
    }
    return true;
  }

  void readFiles(Reader &reader, Header &header) {
    auto addAll = [&](const std::vector<Entry> &directories, const std::vector<Entry> &files) {
      for (const Entry &file : files)
        header.files.push_back(
            addFile(file.directory < directories.size() ? directories[file.directory].name : "",
                    file.name));
    };
    std::vector<Entry> directories, files;
    if (header.version >= 5) {
      if (readEntries(reader, directories) && readEntries(reader, files))
        addAll(directories, files);
      return;
    }
    // Numbers begin with 1; directory 0 is the compilation directory, which is not in the table.
    directories.emplace_back();
    files.emplace_back();
    for (std::string_view name = reader.takeString(); !name.empty(); name = reader.takeString())
      directories.push_back({name});
    for (std::string_view name = reader.takeString(); !name.empty(); name = reader.takeString()) {
      files.push_back({name, reader.takeUnsigned()});
      reader.takeUnsigned(); // time
      reader.takeUnsigned(); // length
    }
    addAll(directories, files);
  }

  void readTable(Bytes bytes) {
    Reader reader(bytes);
    Header header;
    header.version = reader.take<uint16_t>();
    if (header.version < 2 || header.version > 5)
      return;
    if (header.version >= 5)
      reader.take<uint16_t>(); // sizes of addresses and segment selectors
    const auto headerBytes = reader.take<uint32_t>();
    const size_t program = reader.position() + headerBytes;
    header.minimumBytes = reader.take<uint8_t>();
    if (header.version >= 4)
      reader.take<uint8_t>(); // operations of an instruction
    reader.take<uint8_t>();   // whether rows begin as statements
    header.lineBase = reader.take<int8_t>();
    header.lineRange = reader.take<uint8_t>();
    header.firstSpecial = reader.take<uint8_t>();
    if (header.lineRange == 0 || header.firstSpecial == 0)
      return;
    for (unsigned opcode = 1; opcode < header.firstSpecial; ++opcode)
      header.operandCounts.push_back(reader.take<uint8_t>());
    readFiles(reader, header);
    reader.skipTo(program);
    runProgram(reader, header);
  }

  struct State {
    uint64_t address = 0, file = 1;
    int64_t line = 1;
  };

  void addRow(const Header &header, const State &state, bool isEnd) {
    const bool isKnown = !isEnd && state.file < header.files.size() && state.line > 0;
    lines.rows[state.address] =
        isKnown ? Lines::Row{header.files[state.file], static_cast<uint32_t>(state.line)}
                : Lines::Row{.isEnd = isEnd};
  }

  void runExtended(Reader &reader, const Header &header, State &state) {
    enum { endSequence = 1, setAddress = 2 };
    const uint64_t bytes = reader.takeUnsigned();
    const size_t end = reader.position() + std::min<uint64_t>(bytes, tables.size());
    switch (reader.take<uint8_t>()) {
    case endSequence:
      addRow(header, state, true);
      state = {};
      break;
    case setAddress:
      state.address = reader.take<uint64_t>();
      break;
    default:
      break;
    }
    reader.skipTo(end);
  }

  /// Skips opcodes that do not change a row, by their number of operands.
  void runStandard(Reader &reader, const Header &header, State &state, uint8_t opcode) {
    enum { copy = 1, advancePc, advanceLine, setFile, constAddPc = 8, fixedAdvancePc = 9 };
    switch (opcode) {
    case copy:
      addRow(header, state, false);
      break;
    case advancePc:
      state.address += reader.takeUnsigned() * header.minimumBytes;
      break;
    case advanceLine:
      state.line = static_cast<int64_t>(static_cast<uint64_t>(state.line) +
                                        static_cast<uint64_t>(reader.takeSigned()));
      break;
    case setFile:
      state.file = reader.takeUnsigned();
      break;
    case constAddPc:
      state.address +=
          uint64_t((255u - header.firstSpecial) / header.lineRange) * header.minimumBytes;
      break;
    case fixedAdvancePc:
      state.address += reader.take<uint16_t>();
      break;
    default:
      for (unsigned i = 0; i < header.operandCounts[opcode - 1u]; ++i)
        reader.takeUnsigned();
    }
  }

  void runProgram(Reader &reader, const Header &header) {
    State state;
    while (!reader.isAtEnd()) {
      const auto opcode = reader.take<uint8_t>();
      if (opcode == 0) {
        runExtended(reader, header, state);
      } else if (opcode < header.firstSpecial) {
        runStandard(reader, header, state, opcode);
      } else {
        const unsigned adjusted = opcode - header.firstSpecial;
        state.address += uint64_t(adjusted / header.lineRange) * header.minimumBytes;
        state.line += header.lineBase + static_cast<int>(adjusted % header.lineRange);
        addRow(header, state, false);
      }
    }
  }

  Lines &lines;
  Bytes tables, lineStrings, strings;
};

Lines Lines::read(const CodeObject &object) {
  Lines lines;
  LineReader(object, lines).readAll();
  return lines;
}

machine::SourceLine Lines::find(uint64_t address) const {
  auto row = rows.upper_bound(address);
  if (row == rows.begin())
    return {};
  --row;
  // Code without a line of its own belongs to the line before it.
  while (row->second.line == 0 && !row->second.isEnd && row != rows.begin())
    --row;
  return row->second.line == 0 ? machine::SourceLine()
                               : machine::SourceLine{files[row->second.file], row->second.line};
}

} // namespace tilewright::vgpu::amdgcn
