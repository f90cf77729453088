// PartCount: the size of types and attributes when a shared part counts once per use.
#ifndef TILEWRIGHT_IMPORT_PARTCOUNT_H
#define TILEWRIGHT_IMPORT_PARTCOUNT_H

#include "tilewright/import/bytecode/Module.h"
#include "tilewright/support/Options.h"
#include "tilewright/support/Status.h"

#include <vector>

namespace tilewright {

/// Entries of the tables share parts: forty pairs, each of which contains the previous one twice,
/// take a few bytes but are a type of 10^12 parts to code that prints or traverses it. A list of a
/// million numbers is stored once but verified with each operation that refers to it. PartCount
/// counts the parts that a full traversal visits, and fails above import.max-parts.
class PartCount {
public:
  PartCount(const bytecode::Module &tables, const ImportOptions &options);

  /// Adds the attributes and result types of an operation to the total.
  ///  - limitParts: the total exceeds import.max-parts.
  Status charge(const bytecode::Operation &op);

  /// The number of parts, saturating; computed once per entry.
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
