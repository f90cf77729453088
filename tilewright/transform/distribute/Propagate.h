// Propagate: the shardings that follow from those of the parameters.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_PROPAGATE_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_PROPAGATE_H

#include "tilewright/transform/distribute/ShardingGraph.h"

namespace tilewright::distribute {

/// Fixes the shardings of results for which the program has none. Such a result has the sharding
/// that reaches it in program order from parameters and constraints: the output of a sharded batch
/// is sharded, also after an op that needs the dimension whole, such as a sort, and a weight that
/// was replicated stays replicated after its update, although a sharded one would be cheaper to
/// compute.
void fixResults(ShardingGraph &graph);

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_PROPAGATE_H
