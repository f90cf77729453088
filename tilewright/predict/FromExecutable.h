// FromExecutable: the simulator's program of a compiled executable and its communication plan.
#ifndef TILEWRIGHT_PREDICT_FROMEXECUTABLE_H
#define TILEWRIGHT_PREDICT_FROMEXECUTABLE_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/plan/CommPlan.h"
#include "tilewright/predict/Price.h"
#include "tilewright/predict/Program.h"

#include <string>
#include <vector>

namespace tilewright::predict {

/// The class of each rank: ranks differ if they take different arms of a branch that depends on the
/// rank, or if one takes part in an exchange (as source, as target) and the other does not.
struct RankClasses {
  std::vector<int64_t> representatives; // a rank of each class
  std::vector<int64_t> sizes;           // ranks of each class
};
RankClasses classesOf(const collective::CommPlan &plan);

/// The shape of the slowest group of a clique.
GroupShape shapeOf(const Cluster &cluster, const collective::CommPlan &plan,
                   const collective::CliqueSpec &clique);

struct PricedProgram {
  Program program;
  /// Assumptions that the prediction rests on: a loop of unknown length, a call of unknown cost.
  std::vector<std::string> remarks;
};

/// Prices every step of an executable on a cluster. For a branch that is decided at run time, the
/// most expensive arm counts; a loop of unknown length counts as one iteration.
///  - clusterMismatch (E0031): the cluster has too few ranks.
///  - commPlanEncoding, commPlanInvalid (E6010, E6011): the executable's plan is damaged.
Result<PricedProgram> priceProgram(const artifact::Executable &executable, const Cluster &cluster);

} // namespace tilewright::predict

#endif // TILEWRIGHT_PREDICT_FROMEXECUTABLE_H
