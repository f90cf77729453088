// Remarks: what the stages say about what they did and what they left alone.
#ifndef TILEWRIGHT_DRIVER_REMARKS_H
#define TILEWRIGHT_DRIVER_REMARKS_H

#include "mlir/IR/MLIRContext.h"

#include <string>
#include <vector>

namespace tilewright::driver {

/// One decision of a stage.
struct Remark {
  bool isMissed = false; // something was left as it was
  std::string stage;     // the category: "fuse", "tile"
  std::string text;      // "stablehlo.add does not join stablehlo.dot_general"
  std::string reason;
  std::string consumer, producer; // of a join: op, type and space of the two
  std::string place, producerPlace;
};

/// "missed fuse: …", the two values, where they are, and the reason, each on a line.
std::string toString(const Remark &remark);

/// Collects the remarks of `context` into `remarks`, in the order they are made, as long as it
/// lives.
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
