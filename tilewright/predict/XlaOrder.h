// XlaOrder: the order that XLA's GPU compiler would give the steps of a block, for comparison.
#ifndef TILEWRIGHT_PREDICT_XLAORDER_H
#define TILEWRIGHT_PREDICT_XLAORDER_H

#include "tilewright/predict/Order.h"

namespace tilewright::predict {

/// Without the latency-hiding scheduler: the program order, with each start directly after the last
/// of its operands and each done directly before the first of its users.
std::vector<unsigned> xlaOrder(const OrderProblem &problem);

/// With it: list scheduling from the end of the program to its begin. Among the steps whose users
/// are all placed, it takes a done if its lane is idle (one collective in flight for each lane),
/// then the step that stalls least, a start that frees a lane for which a done waits, the deepest
/// in collectives, the one that makes more steps ready, the last in the program.
///
/// The model knows the true time of every step, as XLA's estimates would be at best. It has no
/// memory limit, annotations or profile, and never splits, combines or pipelines a collective.
std::vector<unsigned> xlaLatencyHidingOrder(const OrderProblem &problem);

} // namespace tilewright::predict

#endif // TILEWRIGHT_PREDICT_XLAORDER_H
