// View: who belongs to a job in one epoch, and why an epoch ended.
#ifndef TILEWRIGHT_COLLECTIVE_MEMBERSHIP_VIEW_H
#define TILEWRIGHT_COLLECTIVE_MEMBERSHIP_VIEW_H

#include "tilewright/collective/Driver.h"

namespace tilewright::collective::membership {

/// Why an epoch is over, for whoever was in the middle of something. What is not known is left out.
struct Reason {
  int64_t process = -1;   // that is to blame
  int64_t rank = -1;      // that failed
  std::string collective; // where: "'all_reduce.3' (all_reduce, order 3)"
  std::string place;      // "train.py:41"
  std::string text;       // what happened: "its process has ended"

  static Reason of(int64_t process, std::string text) {
    return {process, -1, {}, {}, std::move(text)};
  }
  /// "process 2, rank 2 in 'all_reduce.3' at train.py:41: its process has ended"
  std::string toString() const;
  /// With the ranks of `process`, if it is not known which one failed.
  std::string toString(const Membership &job) const;
  bool operator==(const Reason &) const = default;
};

/// All who are in one have agreed on it. Those of a job are numbered without gaps, and each has no
/// members that the one before did not have.
struct View {
  uint64_t epoch = 0;
  std::vector<int64_t> members; // processes, ascending

  bool has(int64_t process) const;
  /// What engines connect for: `job`, whose ranks live with all processes, in this epoch and
  /// without the ranks of those who are out.
  Membership membershipOf(Membership job) const;
  /// The ranks of `job` whose processes are members: a seat's `members`.
  std::vector<int64_t> ranksOf(const Membership &job) const;
  bool operator==(const View &) const = default;
};

} // namespace tilewright::collective::membership

#endif // TILEWRIGHT_COLLECTIVE_MEMBERSHIP_VIEW_H
