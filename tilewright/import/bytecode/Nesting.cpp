// Nesting: checks that no entry contains itself and that none nests deeper than import.max-nesting.

#include "tilewright/import/bytecode/Entries.h"

#include "tilewright/support/Concat.h"

#include <algorithm>

namespace tilewright::bytecode {
namespace {

/// Visits references depth first, without recursion, and computes the height of each entry: one
/// more than the greatest height of the entries it refers to.
class NestingCheck {
public:
  NestingCheck(const References &references, size_t typeCount, const ImportOptions &options)
      : references(references), typeCount(typeCount),
        limit(static_cast<uint64_t>(std::max<int64_t>(options.maxNesting, 0))),
        heights(references.ends.size(), 0) {}

  Status run() {
    for (uint32_t entry = 0; entry < heights.size(); ++entry)
      if (heights[entry] == 0)
        TILEWRIGHT_TRY(visit(entry));
    return Status();
  }

private:
  static constexpr uint32_t open = UINT32_MAX;
  struct Frame {
    uint32_t entry;
    uint32_t height;
    size_t next;
  };

  size_t beginOf(uint32_t entry) const { return entry ? references.ends[entry - 1] : 0; }
  std::string nameOf(uint32_t entry) const {
    return entry < typeCount ? concat("type ", entry) : concat("attribute ", entry - typeCount);
  }

  Status visit(uint32_t root) {
    TILEWRIGHT_TRY(enter(root));
    while (!path.empty()) {
      Frame &frame = path.back();
      if (frame.next == references.ends[frame.entry]) {
        heights[frame.entry] = frame.height;
        uint32_t height = frame.height;
        path.pop_back();
        TILEWRIGHT_TRY(contain(height));
        continue;
      }
      uint32_t child = references.targets[frame.next++];
      if (heights[child] == open)
        return Status(Error::entryCycle,
                      concat(nameOf(child), " contains itself through ", nameOf(frame.entry),
                             "; export the artifact again"));
      if (heights[child] == 0)
        TILEWRIGHT_TRY(enter(child));
      else
        TILEWRIGHT_TRY(contain(heights[child]));
    }
    return Status();
  }

  Status enter(uint32_t entry) {
    heights[entry] = open;
    path.push_back({entry, 1, beginOf(entry)});
    return path.size() > limit ? tooDeep(path.size(), path.front().entry) : Status();
  }

  /// Records that the entry at the end of the path contains an entry of `height`.
  Status contain(uint32_t height) {
    if (path.empty())
      return Status();
    Frame &frame = path.back();
    frame.height = std::max(frame.height, height + 1);
    return frame.height > limit ? tooDeep(frame.height, frame.entry) : Status();
  }

  Status tooDeep(size_t height, uint32_t entry) const {
    return Status(Error::limitNesting,
                  concat(nameOf(entry), " is nested at least ", height, " deep, but the limit is ",
                         limit, "; raise import.max-nesting"));
  }

  const References &references;
  const size_t typeCount;
  const uint64_t limit;
  std::vector<uint32_t> heights;
  std::vector<Frame> path;
};

} // namespace

Status checkNesting(const References &references, size_t typeCount, const ImportOptions &options) {
  return NestingCheck(references, typeCount, options).run();
}

} // namespace tilewright::bytecode
