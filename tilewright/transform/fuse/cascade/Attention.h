// Attention: a cascade of maximum, sum and product that becomes one op.
#ifndef TILEWRIGHT_TRANSFORM_FUSE_CASCADE_ATTENTION_H
#define TILEWRIGHT_TRANSFORM_FUSE_CASCADE_ATTENTION_H

#include "tilewright/dialect/exec/SoftmaxOps.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/transform/fuse/cascade/Cascade.h"

namespace tilewright::cascade {

/// Whether a cascade begins and ends with a product, so that a reader may expect it to become
/// attention.
bool looksLikeAttention(const Cascade &cascade);

/// Whether a cascade has a maximum and two more reductions, as that of gradients of attention,
/// which may be sums over queries alone.
bool mayBeGradients(const Cascade &cascade);

/// Replaces a cascade by `exec.softmax_dot`, after which no tensor has an element for each query
/// and key; its ops are erased. Other products that read the weights become
/// `exec.softmax_dot_backward`. Returns null, and the reason in `why`, if that is not possible.
/// Other cascades of the block are not valid afterwards.
exec::SoftmaxDotOp replaceByAttention(Cascade &cascade, bool isGpu, std::string &why);

/// Adds the product of weights and values to a program that computes only gradients of attention,
/// because they read it in their one kernel: a sum over keys for each row is, by associativity, the
/// product of two rows of width elements. Returns null, and adds nothing, if the program has that
/// product already, or no gradient with a sum for each row.
stablehlo::DotGeneralOp addUnreadResult(Cascade &cascade);

} // namespace tilewright::cascade

#endif // TILEWRIGHT_TRANSFORM_FUSE_CASCADE_ATTENTION_H
