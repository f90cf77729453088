#include "tilewright/vgpu/machine/Program.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/ptx/Module.h"

#include <functional>

namespace tilewright::vgpu::machine {

static const ptx::Instruction *instructionOf(const Program &program, const Op *op,
                                             const DecodedFunction *&found) {
  for (const std::unique_ptr<DecodedFunction> &function : program.functions) {
    const Op *begin = function->code.data(), *end = begin + function->code.size();
    if (std::less<>()(op, begin) || !std::less<>()(op, end))
      continue;
    found = function.get();
    const uint32_t index = function->instructions[static_cast<size_t>(op - begin)];
    return index < function->source->instructions.size() ? &function->source->instructions[index]
                                                         : nullptr;
  }
  return nullptr;
}

uint32_t instructionNumber(const Program &program, const Op *op) {
  for (const std::unique_ptr<DecodedFunction> &function : program.functions) {
    const Op *begin = function->code.data(), *end = begin + function->code.size();
    if (std::less<>()(op, begin) || !std::less<>()(op, end))
      continue;
    const uint32_t index = function->instructions[static_cast<size_t>(op - begin)];
    return index < function->source->instructions.size() ? function->firstInstruction + index
                                                         : program.instructionCount;
  }
  return program.instructionCount;
}

const ptx::Instruction &instructionAt(const Program &program, uint32_t number) {
  size_t i = program.functions.size() - 1;
  while (program.functions[i]->firstInstruction > number)
    --i;
  const DecodedFunction &function = *program.functions[i];
  return function.source->instructions[number - function.firstInstruction];
}

ptx::Position positionOf(const Program &program, const Op *op) {
  const DecodedFunction *function = nullptr;
  const ptx::Instruction *instruction = instructionOf(program, op, function);
  return instruction ? instruction->position : ptx::Position();
}

std::string describePosition(const Program &program, const Op *op) {
  const DecodedFunction *function = nullptr;
  const ptx::Instruction *instruction = instructionOf(program, op, function);
  if (!instruction)
    return "an unknown location";
  std::string text = concat(function->name, ", line ", instruction->position.line);
  if (instruction->location != ptx::noIndex) {
    const ptx::SourceLocation &location = program.module->locations[instruction->location];
    for (const ptx::SourceFile &file : program.module->files)
      if (file.number == location.file)
        text += concat(" (", program.module->name(file.name), ":", location.line, ")");
  }
  return text;
}

} // namespace tilewright::vgpu::machine
