#include "tilewright/collective/membership/View.h"
#include "tilewright/support/Concat.h"

#include <algorithm>

namespace tilewright::collective::membership {

std::string Reason::toString() const {
  std::string result;
  if (process >= 0)
    result = concat("process ", process);
  if (rank >= 0)
    result += concat(result.empty() ? "" : ", ", "rank ", rank);
  if (!collective.empty())
    result += concat(result.empty() ? "" : " ", "in ", collective);
  if (!place.empty())
    result += concat(result.empty() ? "" : " ", "at ", place);
  return concat(result, result.empty() ? "" : ": ", text);
}

std::string Reason::toString(const Membership &job) const {
  if (rank >= 0 || process < 0 || job.ranksOf(process).empty())
    return toString();
  return concat(job.ranksText(process), " of ", toString());
}

bool View::has(int64_t process) const {
  return std::binary_search(members.begin(), members.end(), process);
}

Membership View::membershipOf(Membership job) const {
  job.epoch = epoch;
  for (int64_t &process : job.processOfRank)
    if (!has(process))
      process = -1;
  return job;
}

std::vector<int64_t> View::ranksOf(const Membership &job) const {
  std::vector<int64_t> ranks;
  for (size_t rank = 0; rank < job.processOfRank.size(); ++rank)
    if (has(job.processOfRank[rank]))
      ranks.push_back(static_cast<int64_t>(rank));
  return ranks;
}

} // namespace tilewright::collective::membership
