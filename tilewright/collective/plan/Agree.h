// agree(): all processes of a job have the same communication plan, or none of them begins.
#ifndef TILEWRIGHT_COLLECTIVE_PLAN_AGREE_H
#define TILEWRIGHT_COLLECTIVE_PLAN_AGREE_H

#include "tilewright/collective/KeyValueStore.h"
#include "tilewright/collective/plan/CommPlan.h"

namespace tilewright::collective {

/// One process among those that load a program together.
struct Participant {
  /// Equal on all processes for one load and new for each: the name of the program and how many
  /// loads came before it. It must not depend on the plan.
  std::string load;
  int64_t process = 0, processes = 1;
};

/// Every process calls this at load, before anything runs, and all get the same answer.
///
/// Process 0 publishes its plan; each compares, hears from two others and tells one (a tree, so
/// that nobody reads more than three keys and 10^5 processes take 17 steps), and process 0
/// publishes the verdict. A refusal names the first process that differs, both fingerprints and
/// the first collective in which the plans differ.
///  - commPlanDiffers (E6013)
///  - keyValueMissing (E6014): a process did not come before the deadline; says which.
Status agree(const CommPlan &plan, const Participant &self, KeyValueStore &store,
             Deadline deadline);

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_PLAN_AGREE_H
