// Forms: whether NCCL or one of our own kernels executes a collective among GPUs fastest.
#ifndef TILEWRIGHT_PREDICT_FORMS_H
#define TILEWRIGHT_PREDICT_FORMS_H

#include "tilewright/numerics/CollectiveKernel.h"
#include "tilewright/predict/Price.h"

#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace tilewright::predict {

using numerics::CollectiveForm;

/// The price of a collective in one form of our kernels, or by NCCL.
struct FormPrice {
  std::optional<CollectiveForm> form; // empty: NCCL
  double seconds = 0;
};
/// "one-shot", …, or "nccl"
std::string_view nameOf(const FormPrice &price);

/// The prices of all forms that exist, cheapest first. `bytes` is the size of the whole tensor, as
/// in secondsOf(). Ranks can access each other's memory only inside one domain of the innermost
/// level; elsewhere NCCL is the only form. docs/design/symmetric-kernels.md describes the forms.
std::vector<FormPrice> pricesOf(const Cluster &cluster, CollectiveKind kind, double bytes,
                                const GroupShape &shape, bool hasMulticast);

/// Decides which collectives our own kernels execute faster than NCCL, among GPUs with the same
/// chip in one domain, according to the tables. Sums keep the order of the group, so multicast is
/// not considered. Thread-safe.
class FormChoice {
public:
  /// `chip` is a compute capability, "sm_90a". Without tables for the chip NCCL is always chosen.
  explicit FormChoice(std::string_view chip);
  /// `operandBytes` is the size of one rank's operand.
  bool prefersOwn(CollectiveKind kind, double operandBytes, int64_t ranks);

private:
  const std::string name; // of the clusters of this chip; empty without tables
  std::mutex mutex;
  std::map<int64_t, std::optional<Cluster>> clusters; // by number of ranks; guarded by mutex
};

} // namespace tilewright::predict

#endif // TILEWRIGHT_PREDICT_FORMS_H
