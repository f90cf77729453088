// transform/distribute: partitions a program for many devices (SPMD).
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_PASSES_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_PASSES_H

#include "tilewright/numerics/Mesh.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

#include <vector>

namespace tilewright::distribute {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tilewright/transform/distribute/Passes.h.inc"

/// The number of replicas and partitions for which a program is divided.
struct DistributeOptions {
  std::vector<numerics::MeshAxis> mesh; // if empty, the program's own
  /// 0 means the number in the module's attributes mhlo.num_replicas and mhlo.num_partitions.
  int64_t replicas = 0, partitions = 0;
  int64_t memoryLimit = 0; // bytes that a device may hold; 0 for no limit
};

/// Adds all passes of the stage; runs on a module. `addPreparation` adds passes that inline calls,
/// because shardings propagate through a single function, and simplify what is left: a value that
/// the result does not depend on must not be sent. The caller provides them, because stages do not
/// include each other. With a single partition there is nothing to prepare or split.
void buildDistributePipeline(mlir::OpPassManager &passes, const DistributeOptions &options,
                             llvm::function_ref<void(mlir::OpPassManager &)> addPreparation);

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_PASSES_H
