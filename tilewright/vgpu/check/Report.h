// The findings of the checks, as text, JSON or SARIF.
#ifndef TILEWRIGHT_VGPU_CHECK_REPORT_H
#define TILEWRIGHT_VGPU_CHECK_REPORT_H

#include "tilewright/support/Status.h"
#include "tilewright/vgpu/machine/Program.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::vgpu::check {

enum class FindingKind : uint8_t {
  race,          // conflicting accesses without a happens-before order
  missingFence,  // ordered, but not for the other proxy
  uninitialised, // a read of memory that was never written
  bounds,        // outside of every allocation
  barrier,       // a barrier used in a way that PTX does not define
  registers,     // an access to a register of an operation that is in flight
  unfinished,    // an asynchronous operation that no thread waited for
  deadlock,
  waitStates, // too few instructions between two that use the same registers
};
/// The name of a kind, such as "race" or "missing-fence"; also the name of its rule in SARIF.
std::string_view nameOf(FindingKind kind);
/// Describes a kind in one sentence.
std::string_view describe(FindingKind kind);

using SourceLocation = machine::Place;

/// One of the accesses of a finding.
struct Party {
  SourceLocation location;
  std::string what;  // "write by", "asynchronous read issued by"
  std::string actor; // "block [0, 0, 0] warp 1 lane 3"
};

struct Finding {
  FindingKind kind = FindingKind::race;
  std::string kernel;
  std::string message; // one line: the error
  std::string where;   // "shared memory of block [0, 0, 0], offset 0x40", empty if there is none
  std::string value;   // the value in memory, empty if not known
  std::string fix;     // what usually helps
  std::vector<Party> parties; // the later access first
};

/// Collects findings without duplicates: findings of the same kind at the same locations are
/// counted. Thread-safe.
class Report {
public:
  explicit Report(size_t limit) : limit(limit) {}

  struct Counted {
    Finding finding;
    uint64_t count = 1;
    uint8_t weight = 0;
  };

  /// Identifies a finding, by numbers that the caller chose for the program and for the two source
  /// locations.
  struct Key {
    FindingKind kind;
    uint64_t program, source, other;
    auto operator<=>(const Key &) const = default;
  };
  /// Whether the caller must build the finding and add it: it is new, or it replaces the finding
  /// with the same key because its `weight` is greater (accesses by different blocks weigh more
  /// than those of one warp). Otherwise counts a repetition.
  bool countOrReserve(const Key &key, uint8_t weight = 0);
  void add(Finding finding, const Key &key, uint8_t weight = 0);

  bool isEmpty() const;
  /// The number of findings in findings().
  size_t size() const;
  /// How often a finding was added or replaced.
  uint64_t changeCount() const;
  /// The number of wrong accesses and operations, including repetitions.
  uint64_t total() const;
  /// The findings in order of first appearance, at most `limit`.
  std::vector<Counted> findings() const;

  /// Describes the findings from number `first` on.
  std::string text(size_t first = 0) const;
  std::string json() const;
  /// SARIF 2.1.0.
  std::string sarif() const;

private:
  const size_t limit;
  mutable std::mutex mutex;
  std::map<Key, size_t> byKey; // guarded by mutex; index in all
  std::vector<Counted> all;    // guarded by mutex
  uint64_t beyond = 0;         // guarded by mutex: kinds of finding past the limit
  uint64_t changes = 0;        // guarded by mutex
};

enum class ReportFormat : uint8_t { text, json, sarif };
/// Writes to a file, or to stderr if `path` is empty.
///  - checkReport: the file cannot be written.
Status write(const Report &report, ReportFormat format, const std::string &path);

} // namespace tilewright::vgpu::check

#endif // TILEWRIGHT_VGPU_CHECK_REPORT_H
