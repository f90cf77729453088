// Scopes: maps the value numbers of the file to ValueIds.
#ifndef TILEWRIGHT_IMPORT_BYTECODE_SCOPES_H
#define TILEWRIGHT_IMPORT_BYTECODE_SCOPES_H

#include "tilewright/import/bytecode/Module.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tilewright::bytecode {

/// The regions that are open at one point of the file. A region declares how many values it
/// defines. Their numbers in the file continue those of the enclosing region, and start at 0 in an
/// isolated operation.
class Scopes {
public:
  /// Opens a region of `count` values whose ids begin at `firstId`.
  void open(uint64_t count, ValueId firstId) {
    uint64_t first = regions.size() == isolatedAt ? 0 : regions.back().endNumber;
    regions.push_back({first, first + count, firstId, 0, 0});
  }
  void close() { regions.pop_back(); }

  /// Hides all regions that are open until the matching leaveIsolated().
  size_t enterIsolated() { return std::exchange(isolatedAt, regions.size()); }
  void leaveIsolated(size_t outer) { isolatedAt = outer; }

  bool empty() const { return regions.empty(); }
  /// The number of declared values of the innermost region that have no id yet.
  uint64_t unnamed() const {
    return regions.back().endNumber - regions.back().firstNumber - regions.back().named;
  }
  /// Assigns ids to the next `count` values of the innermost region; they can be used only after
  /// show(count).
  ValueId name(uint64_t count) {
    ValueId id = regions.back().firstId + static_cast<ValueId>(regions.back().named);
    regions.back().named += count;
    return id;
  }
  void show(uint64_t count) { regions.back().shown += count; }

  enum class Lookup : uint8_t { found, notYetDefined, noSuchNumber };
  Lookup find(uint64_t number, ValueId &id) const {
    if (regions.size() == isolatedAt || number >= regions.back().endNumber)
      return Lookup::noSuchNumber;
    // Most operands come from the innermost region.
    const Open *region = &regions.back();
    if (number < region->firstNumber)
      region =
          &*std::upper_bound(regions.begin() + static_cast<ptrdiff_t>(isolatedAt), regions.end(),
                             number, [](uint64_t n, const Open &r) { return n < r.endNumber; });
    uint64_t place = number - region->firstNumber;
    if (place >= region->shown)
      return Lookup::notYetDefined;
    id = region->firstId + static_cast<ValueId>(place);
    return Lookup::found;
  }
  /// One past the largest number that can be used here.
  uint64_t limit() const { return regions.size() == isolatedAt ? 0 : regions.back().endNumber; }

private:
  struct Open {
    uint64_t firstNumber, endNumber;
    ValueId firstId;
    uint64_t named, shown;
  };
  std::vector<Open> regions;
  size_t isolatedAt = 0;
};

} // namespace tilewright::bytecode

#endif // TILEWRIGHT_IMPORT_BYTECODE_SCOPES_H
