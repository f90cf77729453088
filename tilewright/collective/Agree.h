// agree(): verifies at load that all processes of a job have the same communication plan.
#ifndef TILEWRIGHT_COLLECTIVE_AGREE_H
#define TILEWRIGHT_COLLECTIVE_AGREE_H

#include "tilewright/plan/CommPlan.h"
#include "tilewright/support/store/KeyValueStore.h"

namespace tilewright::collective {

/// One of the processes that load a program together.
struct Participant {
  /// The key of this load: equal on all processes, and different for each load. It consists of the
  /// program's name and the number of loads before this one, and must not depend on the plan.
  std::string load;
  int64_t process = 0, processes = 1;
};

/// Compares the plans of all processes. Every process calls this at load, before the program runs;
/// all get the same verdict.
///
/// Process 0 publishes its plan. The processes form a binary tree: each compares its own plan,
/// reads the reports of its two children and publishes one report for its parent. Process 0
/// publishes the verdict. So no process reads more than five keys, and 10^5 processes need 17
/// steps. The error names the first process that differs, both fingerprints and the first
/// collective in which the plans differ.
///  - commPlanDiffers (E6013)
///  - keyValueMissing (E6014): a process did not report before the deadline; the message names it.
Status agree(const CommPlan &plan, const Participant &self, KeyValueStore &store,
             Deadline deadline);

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_AGREE_H
