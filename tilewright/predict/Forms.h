// Forms: which way of doing a collective among GPUs is fastest: NCCL, or a kernel of our own.
#ifndef TILEWRIGHT_PREDICT_FORMS_H
#define TILEWRIGHT_PREDICT_FORMS_H

#include "tilewright/numerics/CollectiveKernel.h"
#include "tilewright/predict/Price.h"

#include <optional>

namespace tilewright::predict {

using numerics::CollectiveForm;

/// The price of a collective in one form of our kernels, or by NCCL.
struct FormPrice {
  std::optional<CollectiveForm> form; // empty: NCCL
  double seconds = 0;
};
/// "one-shot", …, or "nccl"
std::string_view nameOf(const FormPrice &price);

/// The prices of all forms that exist, cheapest first. `bytes` are those of the whole tensor, as in
/// secondsOf(). Only inside one domain of the innermost level ranks access each other's memory;
/// elsewhere NCCL is the only way. docs/design/symmetric-kernels.md describes the forms.
std::vector<FormPrice> pricesOf(const Cluster &cluster, CollectiveKind kind, double bytes,
                                const GroupShape &shape, bool hasMulticast);

} // namespace tilewright::predict

#endif // TILEWRIGHT_PREDICT_FORMS_H
