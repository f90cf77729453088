// Order: chooses the order in which the steps of a block run, so that collectives overlap with
// computation.
#ifndef TILEWRIGHT_PREDICT_ORDER_H
#define TILEWRIGHT_PREDICT_ORDER_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilewright::predict {

/// One step of a block.
struct OrderStep {
  enum class Kind : uint8_t {
    compute, // takes `time` of the device
    start,   // issues a collective that takes `time` in its lane; `partner` is its done
    done,    // waits for it; `partner` is its start
  };
  Kind kind = Kind::compute;
  double time = 0; // ns
  unsigned lane = 0;
  unsigned partner = 0;
  std::vector<unsigned> after;   // the steps that must come first, all with smaller numbers
  std::vector<unsigned> defines; // buffers
  std::vector<unsigned> reads;   // buffers; those of a start are read until its done
  bool isUrgent = false;         // a step of another block waits for its result
};

/// The steps of a block in program order, and the memory of their results.
struct OrderProblem {
  std::vector<OrderStep> steps;
  std::vector<int64_t> bytes;     // of each buffer
  std::vector<unsigned> returned; // buffers that stay live until the end of the block
  int64_t resident = 0;           // bytes that the program holds in any order
  /// Nanoseconds that the device loses if a collective overlaps with other steps, because another
  /// thread wakes up.
  double separation = 0;
};

/// The cost of an order.
struct OrderCost {
  double time = 0;    // ns until the last step has ended
  double exposed = 0; // of these, waiting in dones
  int64_t peak = 0;   // bytes of live buffers
};

/// Simulates an order: computation is sequential, and the collectives of a lane run one after the
/// other, concurrently with the computation.
OrderCost costOf(const OrderProblem &problem, const std::vector<unsigned> &order);

/// The order among several candidates that takes the least time, and whose peak is at most
/// `percent` percent of the program's memory above that of the program order. Returns the program
/// order unless another is faster. All ranks of a program compute the same order.
std::vector<unsigned> chooseOrder(const OrderProblem &problem, int64_t percent);

/// The cost of the best among a few orders, without a memory limit. Serves as an estimate while a
/// program is still being changed.
OrderCost quickCost(const OrderProblem &problem);

} // namespace tilewright::predict

#endif // TILEWRIGHT_PREDICT_ORDER_H
