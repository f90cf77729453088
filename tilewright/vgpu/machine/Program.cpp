#include "tilewright/vgpu/machine/Program.h"

#include "tilewright/support/Concat.h"
#include "tilewright/support/text/Hex.h"
#include "tilewright/vgpu/ptx/Module.h"
#include "tilewright/vgpu/ptx/Printer.h"

#include <functional>

namespace tilewright::vgpu::machine {

const DecodedFunction *functionOf(const Program &program, const Op *op) {
  for (const std::unique_ptr<DecodedFunction> &function : program.functions) {
    const Op *begin = function->code.data(), *end = begin + function->code.size();
    if (!std::less<>()(op, begin) && std::less<>()(op, end))
      return function.get();
  }
  return nullptr;
}

uint32_t instructionNumber(const Program &program, const Op *op) {
  const DecodedFunction *function = functionOf(program, op);
  if (!function)
    return program.instructionCount;
  const uint32_t index = function->instructions[static_cast<size_t>(op - function->code.data())];
  return index < function->source->instructions.size() ? function->firstInstruction + index
                                                       : program.instructionCount;
}

const ptx::Instruction &instructionAt(const Program &program, uint32_t number) {
  size_t i = program.functions.size() - 1;
  while (program.functions[i]->firstInstruction > number)
    --i;
  const DecodedFunction &function = *program.functions[i];
  return function.source->instructions[number - function.firstInstruction];
}

ptx::Position positionOf(const Program &program, const Op *op) {
  const uint32_t number = instructionNumber(program, op);
  return number < program.instructionCount ? instructionAt(program, number).position
                                           : ptx::Position();
}

SourceLine Program::sourceLineOf(const DecodedFunction &function, size_t index) const {
  const uint32_t number = function.instructions[index];
  if (number >= function.source->instructions.size())
    return {};
  const uint32_t at = function.source->instructions[number].location;
  if (at == ptx::noIndex)
    return {};
  const ptx::SourceLocation &location = module->locations[at];
  for (const ptx::SourceFile &file : module->files)
    if (file.number == location.file)
      return {module->name(file.name), location.line};
  return {};
}

Place Program::placeOf(const DecodedFunction &function, size_t index) const {
  const uint32_t number = function.instructions[index];
  if (number >= function.source->instructions.size()) {
    Place unknown;
    unknown.function = function.name;
    return unknown;
  }
  const ptx::Instruction &instruction = function.source->instructions[number];
  const SourceLine source = sourceLineOf(function, index);
  return {.function = function.name,
          .line = instruction.position.line,
          .file = std::string(source.file),
          .fileLine = source.line,
          .instruction = ptx::print(*module, *function.source, instruction)};
}

std::string describe(const Place &place) {
  std::string text = place.line == 0 && place.address != 0
                         ? concat(place.function, " at ", hexNumber(place.address))
                         : concat(place.function, ", line ", place.line);
  if (!place.file.empty())
    text += concat(" (", place.file, ":", place.fileLine, ")");
  return text;
}

std::string describePosition(const Program &program, const Op *op) {
  const DecodedFunction *function = functionOf(program, op);
  if (!function)
    return "an unknown location";
  return describe(program.placeOf(*function, static_cast<size_t>(op - function->code.data())));
}

} // namespace tilewright::vgpu::machine
