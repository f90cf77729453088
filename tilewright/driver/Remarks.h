// Remarks: the optimizations that stages applied or missed, and why.
#ifndef TILEWRIGHT_DRIVER_REMARKS_H
#define TILEWRIGHT_DRIVER_REMARKS_H

#include "mlir/IR/MLIRContext.h"

#include <string>
#include <vector>

namespace tilewright::driver {

/// One decision of a stage.
struct Remark {
  bool isMissed = false; // an optimization was not applied
  std::string stage;     // the category: "fuse", "tile"
  std::string text;      // "stablehlo.add does not join stablehlo.dot_general"
  std::string reason;
  std::string consumer, producer; // of a fusion: op, type and iteration space of the two
  std::string place, producerPlace;
  std::string kernel; // of a decision for one kernel: its name
  std::string tile,
      layout; // of a layout: the tile's size, "64x32", and what stands in #sm.layout<…>
};

/// "missed fuse: …", the two values, their locations and the reason, each on its own line.
std::string toString(const Remark &remark);

/// Collects the remarks of `context` into `remarks`, in the order in which they are emitted, until
/// it is destroyed.
///
///   RemarkCollector collect(*module.getContext(), report.remarks);
class RemarkCollector {
public:
  RemarkCollector(mlir::MLIRContext &context, std::vector<Remark> &remarks);
  ~RemarkCollector();
  RemarkCollector(const RemarkCollector &) = delete;
  RemarkCollector &operator=(const RemarkCollector &) = delete;

private:
  mlir::MLIRContext &context;
};

} // namespace tilewright::driver

#endif // TILEWRIGHT_DRIVER_REMARKS_H
