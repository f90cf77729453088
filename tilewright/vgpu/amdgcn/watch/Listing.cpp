#include "tilewright/vgpu/amdgcn/watch/Listing.h"

namespace tilewright::vgpu::amdgcn {

Listing::Listing(const amdgcn::Program &program, std::string_view kernel, const CodeObject &object)
    : program(program), lines(Lines::read(object)) {
  terms = {.block = "workgroup", .warp = "wave", .shared = "LDS"};
  auto function = std::make_unique<machine::DecodedFunction>();
  function->name = kernel;
  function->code.resize(program.size());
  functions.push_back(std::move(function));
  instructionCount = program.size();
  traits.reserve(program.size());
  for (uint32_t number = 0; number < program.size(); ++number)
    traits.push_back(HazardTraits::of(program[number]));
}

machine::SourceLine Listing::sourceLineOf(const machine::DecodedFunction &, size_t index) const {
  return lines.find(program[static_cast<uint32_t>(index)].address);
}

machine::Place Listing::placeOf(const machine::DecodedFunction &function, size_t index) const {
  const Op &op = program[static_cast<uint32_t>(index)];
  const machine::SourceLine line = lines.find(op.address);
  return {.function = function.name,
          .file = std::string(line.file),
          .fileLine = line.line,
          .instruction = toText(op.instruction),
          .address = op.address};
}

} // namespace tilewright::vgpu::amdgcn
