// DPP: the first source comes from another lane.
#ifndef TILEWRIGHT_VGPU_AMDGCN_EXECUTE_DPP_H
#define TILEWRIGHT_VGPU_AMDGCN_EXECUTE_DPP_H

#include "tilewright/vgpu/amdgcn/execute/Vector.h"

namespace tilewright::vgpu::amdgcn {

/// The lane whose value `lane` reads; nullopt if there is none.
std::optional<unsigned> dppSource(unsigned pattern, unsigned lane);

/// Moves the values of a source between lanes and points it to `buffer`. Returns the lanes that are
/// written: those of EXEC, of the rows and banks that are enabled, and whose source lane exists and
/// is active. With bound_ctrl, a missing source lane is 0 instead.
LaneMask applyDpp(const Wave &wave, const DppControl &dpp, const void *&source, LaneValues &buffer);

} // namespace tilewright::vgpu::amdgcn

#endif // TILEWRIGHT_VGPU_AMDGCN_EXECUTE_DPP_H
