// Propagate: the shardings that follow from those of the parameters.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_PROPAGATE_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_PROPAGATE_H

#include "tilewright/transform/distribute/ShardingGraph.h"

namespace tilewright::distribute {

/// Fixes the shardings of results for which the program specifies none. Such a result gets the
/// sharding that propagates to it, in program order, from parameters and constraints. So the output
/// for a sharded batch is sharded, even after an op that needs the whole dimension, such as a sort.
/// And a weight that was replicated stays replicated after its update, although a sharded one would
/// be cheaper to compute.
void fixResults(ShardingGraph &graph);

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_PROPAGATE_H
