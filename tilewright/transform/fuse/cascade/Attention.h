// Attention: a cascade of maximum, sum and product that becomes one op.
#ifndef TILEWRIGHT_TRANSFORM_FUSE_CASCADE_ATTENTION_H
#define TILEWRIGHT_TRANSFORM_FUSE_CASCADE_ATTENTION_H

#include "tilewright/dialect/exec/SoftmaxOps.h"
#include "tilewright/transform/fuse/cascade/Cascade.h"

namespace tilewright::cascade {

/// Whether a cascade begins and ends with a product, so that a reader may expect it to become
/// attention.
bool looksLikeAttention(const Cascade &cascade);

/// Replaces a cascade by `exec.softmax_dot`, after which no tensor has an element for each query
/// and key; its ops are erased. Other products that read the weights become
/// `exec.softmax_dot_backward`. Returns null, and the reason in `why`, if that is not possible.
/// Other cascades of the block are not valid afterwards.
exec::SoftmaxDotOp replaceByAttention(Cascade &cascade, bool isGpu, std::string &why);

} // namespace tilewright::cascade

#endif // TILEWRIGHT_TRANSFORM_FUSE_CASCADE_ATTENTION_H
