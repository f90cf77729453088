// BackwardOrder: orders the steps of a block such that every collective starts as late as possible.
#ifndef TILEWRIGHT_PREDICT_BACKWARDORDER_H
#define TILEWRIGHT_PREDICT_BACKWARDORDER_H

#include "tilewright/predict/Order.h"

namespace tilewright::predict {

/// Schedules the steps of a block backward in time. A done comes directly before the first step
/// that needs it, and its start as long before that as the collective and those behind it in its
/// lane take, if there is enough to compute in between. So the collectives of a lane are in the
/// order in which they are needed, which a schedule forward in time does not know.
/// `isOneAtATime`: a lane has one collective between start and done, so that the next done comes
/// behind that start.
std::vector<unsigned> backwardOrder(const OrderProblem &problem, bool isOneAtATime);

} // namespace tilewright::predict

#endif // TILEWRIGHT_PREDICT_BACKWARDORDER_H
