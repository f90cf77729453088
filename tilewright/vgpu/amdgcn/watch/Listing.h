// A kernel of a code object in the form in which observers name its instructions.
#ifndef TILEWRIGHT_VGPU_AMDGCN_WATCH_LISTING_H
#define TILEWRIGHT_VGPU_AMDGCN_WATCH_LISTING_H

#include "tilewright/vgpu/amdgcn/execute/Program.h"
#include "tilewright/vgpu/amdgcn/watch/Lines.h"
#include "tilewright/vgpu/amdgcn/watch/WaitStates.h"

namespace tilewright::vgpu::amdgcn {

/// Observers see a kernel as one function whose operations have the same numbers as the program's.
/// They are never executed: their addresses identify the instructions.
class Listing final : public machine::Program {
public:
  Listing(const amdgcn::Program &program, std::string_view kernel, const CodeObject &object);

  const machine::Op *opOf(const Op &op) const { return entry().code.data() + program.numberOf(op); }
  const HazardTraits &traitsOf(const Op &op) const { return traits[program.numberOf(op)]; }
  machine::SourceLine sourceLineOf(const machine::DecodedFunction &function,
                                   size_t index) const override;
  machine::Place placeOf(const machine::DecodedFunction &function, size_t index) const override;

private:
  const amdgcn::Program &program;
  const Lines lines;
  std::vector<HazardTraits> traits; // by the number of the operation
};

} // namespace tilewright::vgpu::amdgcn

#endif // TILEWRIGHT_VGPU_AMDGCN_WATCH_LISTING_H
