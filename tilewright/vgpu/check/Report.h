// What the checks found, for people and for tools.
#ifndef TILEWRIGHT_VGPU_CHECK_REPORT_H
#define TILEWRIGHT_VGPU_CHECK_REPORT_H

#include "tilewright/support/Status.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::vgpu::check {

enum class FindingKind : uint8_t {
  race,          // conflicting accesses without order
  missingFence,  // ordered, but not for the other proxy
  uninitialised, // a read of what nobody has written
  bounds,        // outside of every allocation
  barrier,       // a barrier used in a way that PTX does not define
  registers,     // a register of a wgmma that is in flight
  unfinished,    // an asynchronous operation that nobody waited for
  deadlock,
};
/// "race", "missing-fence": also the rule's name in SARIF.
std::string_view nameOf(FindingKind kind);
/// What the kind means, in a sentence.
std::string_view describe(FindingKind kind);

/// Where in the program: the line of the PTX and, where `.loc` says so, of the source.
struct SourcePlace {
  std::string function;
  uint32_t line = 0;
  std::string file; // empty: not known
  uint32_t fileLine = 0;
  std::string instruction; // as text

  auto operator<=>(const SourcePlace &) const = default;
};

/// One side of a finding.
struct Party {
  SourcePlace place;
  std::string what; // "write by", "asynchronous read issued by"
  std::string who;  // "block [0, 0, 0] warp 1 lane 3"
};

struct Finding {
  FindingKind kind = FindingKind::race;
  std::string kernel;
  std::string message; // one line: what is wrong
  std::string where;   // "shared memory of block [0, 0, 0], offset 0x40", empty if there is none
  std::string value;   // what lay there, empty if not known
  std::string fix;     // what usually helps
  std::vector<Party> parties; // the later access first
};

/// Findings without doubles: those with the same kind at the same places are
/// counted. Thread-safe.
class Report {
public:
  explicit Report(size_t limit) : limit(limit) {}

  struct Counted {
    Finding finding;
    uint64_t count = 1;
  };

  /// Whether a finding of this kind at these places (numbers that the caller
  /// chose) is new; else it is counted. A new one is then made and added.
  bool countOrReserve(FindingKind kind, uint64_t program, uint64_t place, uint64_t other);
  void add(Finding finding, uint64_t program, uint64_t place, uint64_t other);

  bool isEmpty() const;
  /// How many findings() has.
  size_t size() const;
  /// Accesses and operations that were found wrong, with all repetitions.
  uint64_t total() const;
  /// In order of first appearance, at most `limit`.
  std::vector<Counted> findings() const;
  void clear();

  /// Those from the one with number `first` on.
  std::string text(size_t first = 0) const;
  std::string json() const;
  /// SARIF 2.1.0.
  std::string sarif() const;

private:
  struct Key {
    FindingKind kind;
    uint64_t program, place, other;
    auto operator<=>(const Key &) const = default;
  };
  const size_t limit;
  mutable std::mutex mutex;
  std::map<Key, size_t> byPlace; // guarded by mutex; index in all
  std::vector<Counted> all;      // guarded by mutex
  uint64_t beyond = 0;           // guarded by mutex: kinds of finding past the limit
};

enum class ReportFormat : uint8_t { text, json, sarif };
/// Writes to a file, or to stderr if `path` is empty.
///  - checkReport: the file cannot be written.
Status write(const Report &report, ReportFormat format, const std::string &path);

} // namespace tilewright::vgpu::check

#endif // TILEWRIGHT_VGPU_CHECK_REPORT_H
