// Roles: which warps run which code, with how many registers, over which points.
#ifndef TILEWRIGHT_TARGET_NVPTX_LOWER_CHANNELS_ROLES_H
#define TILEWRIGHT_TARGET_NVPTX_LOWER_CHANNELS_ROLES_H

#include "tilewright/target/nvptx/GenerateCode.h"
#include "tilewright/target/nvptx/lower/OpGroup.h"

namespace tilewright::nvptx {

/// Whether a single thread runs the role and all others skip it, because the role only issues
/// copies or products in tensor memory.
bool isOfOneThread(sm::RoleOp role);
/// Whether a role, loop or branch multiplies matrices.
bool multiplies(mlir::Operation *op);
/// Whether the role does nothing: its warps only complete a warpgroup.
bool isIdle(sm::RoleOp role);

/// Emits the code of each role, which only the role's warps run. In a persistent kernel, that code
/// is inside a loop over the points of the grid.
class RolesLowering : public OpGroup {
public:
  explicit RolesLowering(KernelLowering &all) : OpGroup(all) {}

  /// Checks the register budget. Fails with E4058 if it is exceeded.
  void plan(const KernelInfo &info);
  void role(sm::RoleOp role);

private:
  void emit(sm::RoleOp role);
  void rounds(sm::RoleOp role);
  void changeRegisters(sm::RoleOp role);
  /// Begins, or ends, a warpgroup that several roles share.
  void beginGroup(sm::RoleOp role);
  void endGroup();

  int64_t launchRegisters = 0;
  bool changesRegisters = false;
  Block *afterGroup = nullptr; // of the warpgroup that the current role shares with others
};

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_LOWER_CHANNELS_ROLES_H
