// How large types and attributes are when nothing in them is shared.
#ifndef TILEWRIGHT_IMPORT_PARTCOUNT_H
#define TILEWRIGHT_IMPORT_PARTCOUNT_H

#include "tilewright/import/bytecode/Module.h"
#include "tilewright/support/Options.h"
#include "tilewright/support/Status.h"

#include <vector>

namespace tilewright {

/// In the tables, entries share parts: forty tuples of two, each made of the
/// one before, take a few bytes and are a type of 10^12 parts to whoever prints
/// or walks it; a list of a million numbers is stored once and verified with
/// each operation that refers to it. This counts what visiting everything would
/// visit, and stops at import.max-parts.
class PartCount {
public:
  PartCount(const bytecode::Module &tables, const ImportOptions &options);

  /// Adds the attributes and result types of an operation to the total.
  ///  - limitParts: now it is too much.
  Status charge(const bytecode::Operation &op);

  /// Saturating; computed once for each entry.
  uint64_t ofType(bytecode::TypeId id);
  uint64_t ofAttribute(bytecode::AttrId id);

private:
  uint64_t countType(const bytecode::Type &type);
  uint64_t countAttribute(const bytecode::Attr &attr);
  uint64_t ofAttributes(bytecode::Range range);
  uint64_t ofTypes(bytecode::Range range);

  const bytecode::Module &tables;
  const uint64_t limit;
  uint64_t total = 0;
  std::vector<uint64_t> types, attributes;
};

} // namespace tilewright

#endif // TILEWRIGHT_IMPORT_PARTCOUNT_H
