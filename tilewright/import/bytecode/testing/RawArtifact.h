// RawArtifact: writes artifacts byte by byte, valid or invalid, for tests.
#ifndef TILEWRIGHT_IMPORT_BYTECODE_TESTING_RAWARTIFACT_H
#define TILEWRIGHT_IMPORT_BYTECODE_TESTING_RAWARTIFACT_H

#include "tilewright/import/bytecode/Bytes.h"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace tilewright::bytecode {

/// An operation's bytes. Set the fields it has; encoding derives the mask from them.
struct RawOp {
  uint64_t name = 0;
  uint64_t location = 0;
  int attributes = -1;
  int properties = -1;
  std::vector<uint64_t> results = {}, operands = {};
  /// A use-list order, written between operands and regions; sets its bit in the mask.
  Bytes useListOrder = {};
  /// The number of regions and their bytes.
  uint64_t regionCount = 0;
  bool isolated = false;
  Bytes regions = {};
  /// Additional bits to set in the mask although nothing follows.
  unsigned extraMask = 0;

  Bytes encode() const;
};

/// A region with one block: its values, argument types and operations.
Bytes rawRegion(uint64_t values, std::vector<uint64_t> arguments, std::vector<Bytes> ops);

/// The parts of an artifact. sample() returns a valid one to start from.
struct RawArtifact {
  struct Entry {
    uint64_t dialect;
    Bytes bytes;
    bool custom = true;
  };
  struct Name {
    uint64_t dialect;
    uint64_t string;
    bool registered = true;
  };

  uint64_t version = 6;
  std::string producer = "StableHLO_v1.17.0";
  std::vector<std::string> strings;
  std::vector<uint64_t> dialects;
  std::vector<Name> names;
  std::vector<Entry> attrs, types;
  std::vector<Bytes> properties;
  Bytes ir;

  uint64_t string(std::string text);
  uint64_t attr(uint64_t dialect, Bytes bytes);
  uint64_t type(uint64_t dialect, Bytes bytes);
  uint64_t name(uint64_t dialect, std::string text);
  uint64_t propertyList(std::initializer_list<uint64_t> attrs);

  Bytes dialectSection() const;
  Bytes entrySection() const;
  Bytes entrySizeSection() const;
  Bytes stringSection() const;
  Bytes propertySection() const;
  /// Magic, version and producer.
  Bytes header() const;
  std::string encode() const;

  /// Puts `ops` into the body of @main(tensor<2xf32>). The body has `values` values, including the
  /// argument.
  void setBody(uint64_t values, std::vector<Bytes> ops);

  // The contents of sample(): value 0 is the argument, 1 the constant, 2 the sum.
  static constexpr uint64_t builtin = 0, vhlo = 1, sdy = 2;
  static constexpr uint64_t f32 = 0, tensor = 1, functionType = 2, i64 = 3;
  static constexpr uint64_t unknown = 0, emptyArray = 1, functionTypeAttr = 2, mainName = 3,
                            emptyString = 4, constantValue = 5;
  static constexpr uint64_t moduleOp = 0, funcOp = 1, addOp = 2, constantOp = 3, returnOp = 4;
  static RawArtifact sample();

  static Bytes constant() {
    return RawOp{.name = constantOp, .properties = 1, .results = {tensor}}.encode();
  }
  static Bytes add(uint64_t lhs, uint64_t rhs) {
    return RawOp{.name = addOp, .results = {tensor}, .operands = {lhs, rhs}}.encode();
  }
  static Bytes ret(uint64_t value) { return RawOp{.name = returnOp, .operands = {value}}.encode(); }
};

} // namespace tilewright::bytecode

#endif // TILEWRIGHT_IMPORT_BYTECODE_TESTING_RAWARTIFACT_H
