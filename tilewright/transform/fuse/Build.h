// Builds exec.fusion ops from groups.
#ifndef TILEWRIGHT_TRANSFORM_FUSE_BUILD_H
#define TILEWRIGHT_TRANSFORM_FUSE_BUILD_H

#include "tilewright/transform/fuse/Groups.h"

namespace tilewright::fuse {

/// Replaces the members of each group by one exec.fusion and sorts the block.
void buildFusions(mlir::Block &block, Groups &groups);

} // namespace tilewright::fuse

#endif // TILEWRIGHT_TRANSFORM_FUSE_BUILD_H
