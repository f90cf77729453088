#include "tilewright/driver/Remarks.h"

#include "tilewright/dialect/source/Source.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/support/Concat.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace tilewright::driver {

namespace {

class Streamer final : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit Streamer(std::vector<Remark> &remarks) : remarks(remarks) {}

  void streamOptimizationRemark(const remark::detail::Remark &made) override {
    Remark &kept = remarks.emplace_back();
    kept.isMissed = made.getRemarkType() == llvm::remarks::Type::Missed;
    // The name of a pass, such as "tile-fusions", begins with its stage.
    kept.stage = made.getCategoryName().split('-').first.str();
    kept.place = source::placeOf(made.getLocation());
    for (const remark::detail::Remark::Arg &arg : made.getArgs()) {
      std::string *field = arg.key == "Remark"       ? &kept.text
                           : arg.key == "Reason"     ? &kept.reason
                           : arg.key == "Consumer"   ? &kept.consumer
                           : arg.key == "Producer"   ? &kept.producer
                           : arg.key == "ProducerAt" ? &kept.producerPlace
                           : arg.key == "Kernel"     ? &kept.kernel
                           : arg.key == "Tile"       ? &kept.tile
                           : arg.key == "Layout"     ? &kept.layout
                                                     : nullptr;
      if (field)
        *field = arg.val;
    }
  }

private:
  std::vector<Remark> &remarks;
};

} // namespace

RemarkCollector::RemarkCollector(MLIRContext &context, std::vector<Remark> &remarks)
    : context(context) {
  // In MLIR a remark kind without its own filter is off, even if `all` is set.
  const std::string any = ".*";
  const remark::RemarkCategories everything{any, any, any, any, any};
  // This fails only for streamers that open a file.
  (void)remark::enableOptimizationRemarks(context, std::make_unique<Streamer>(remarks),
                                          std::make_unique<remark::RemarkEmittingPolicyAll>(),
                                          everything);
}

RemarkCollector::~RemarkCollector() { context.setRemarkEngine(nullptr); }

std::string toString(const Remark &remark) {
  std::string out = concat(remark.isMissed ? "missed " : "done ", remark.stage, ": ",
                           remark.text.empty() ? remark.reason : remark.text, "\n");
  auto line = [&](const char *what, const std::string &value, const std::string &place) {
    if (!value.empty() || !place.empty())
      out += concat("  ", what, value,
                    place.empty()   ? ""
                    : value.empty() ? ""
                                    : " at ",
                    place, "\n");
  };
  if (remark.consumer.empty()) {
    line("at ", "", remark.place);
  } else {
    line("", remark.consumer, remark.place);
    line("", remark.producer, remark.producerPlace);
  }
  if (!remark.text.empty())
    line("reason: ", remark.reason, "");
  return out;
}

} // namespace tilewright::driver
