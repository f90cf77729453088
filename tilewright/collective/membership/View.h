// View: the members of a job in one epoch, and why an epoch ended.
#ifndef TILEWRIGHT_COLLECTIVE_MEMBERSHIP_VIEW_H
#define TILEWRIGHT_COLLECTIVE_MEMBERSHIP_VIEW_H

#include "tilewright/collective/ProgressEngine.h"

namespace tilewright::collective::membership {

/// Why an epoch is over, for callers that were in a collective. Unknown fields keep their defaults.
struct Reason {
  int64_t process = -1;   // the one to blame
  int64_t rank = -1;      // the one that failed
  std::string collective; // where: "'all_reduce.3' (all_reduce, order 3)"
  std::string place;      // "train.py:41"
  std::string text;       // what happened: "its process has ended"
  bool hasLeft = false;   // left in good order: collectives in progress with it may still complete

  static Reason of(int64_t process, std::string text) {
    return {process, -1, {}, {}, std::move(text)};
  }
  /// "process 2, rank 2 in 'all_reduce.3' at train.py:41: its process has ended"
  std::string toString() const;
  /// Also lists the ranks of `process` if the failed rank is unknown.
  std::string toString(const Membership &job) const;
  bool operator==(const Reason &) const = default;
};

/// A view that all its members have agreed on. The views of a job are numbered without gaps, and
/// each is a subset of the previous one.
struct View {
  uint64_t epoch = 0;
  std::vector<int64_t> members; // processes, ascending

  bool has(int64_t process) const;
  /// The membership to connect engines with: `job`, which lists the ranks of all processes, with
  /// this view's epoch and without the ranks of evicted processes.
  Membership membershipOf(Membership job) const;
  /// The ranks of `job` whose processes are members, for RunMembership::members.
  std::vector<int64_t> ranksOf(const Membership &job) const;
  bool operator==(const View &) const = default;
};

} // namespace tilewright::collective::membership

#endif // TILEWRIGHT_COLLECTIVE_MEMBERSHIP_VIEW_H
