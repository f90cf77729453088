#include "tilewright/vgpu/ptx/Printer.h"

#include "tilewright/support/text/Hex.h"
#include "tilewright/vgpu/ptx/InstructionTable.h"

#include <cstring>

namespace tilewright::vgpu::ptx {

namespace {

std::string hex(uint64_t value, unsigned digits) {
  return hexDigits(value, digits, HexCase::upper);
}

class Writer {
public:
  explicit Writer(const Module &module) : module(module) {}

  void writeModule();
  void writeInstruction(const Function &function, const Instruction &instruction);

  std::string out;

private:
  template <typename... Parts> void write(const Parts &...parts) { (append(parts), ...); }
  void append(std::string_view text) { out += text; }
  void append(char c) { out += c; }
  template <typename Number>
    requires std::is_integral_v<Number>
  void append(Number number) {
    out += std::to_string(number);
  }

  void writeLinkage(Linkage linkage);
  void writeVariable(const Variable &variable);
  void writeInitializer(const Variable &variable, size_t level, uint64_t &offset);
  void writeValue(const Variable &variable, uint64_t offset);
  void writeFunction(const Function &function);
  void writeParameters(std::span<const uint32_t> parameters);
  void writePerformance(const Performance &performance);
  void writeItem(const Function &function, const Item &item);
  void writeLocation(const SourceLocation &location);
  void writePrototype(const Prototype &prototype);
  void writeOperand(const Function &function, const Operand &operand);
  void writeElements(const Function &function, const Operand &operand, size_t from = 0);
  void writeOffset(uint64_t offset);
  void writeNumber(const Operand &operand);

  const Module &module;
};

void Writer::writeModule() {
  write(".version ", module.version / 10, '.', module.version % 10, "\n.target sm_",
        module.target.architecture);
  if (module.target.suffix)
    write(module.target.suffix);
  for (StringId option : module.target.options)
    write(", ", module.name(option));
  write("\n.address_size ", module.addressSize, "\n\n");
  for (const ModuleItem &item : module.items) {
    switch (item.kind) {
    case ModuleItemKind::variable:
      writeVariable(module.variables[item.index]);
      write(";\n");
      break;
    case ModuleItemKind::function:
      writeFunction(module.functions[item.index]);
      break;
    case ModuleItemKind::file: {
      const SourceFile &file = module.files[item.index];
      write(".file ", file.number, " \"", module.name(file.name), '"');
      if (file.timestamp)
        write(", ", *file.timestamp);
      if (file.size)
        write(", ", *file.size);
      write('\n');
      break;
    }
    case ModuleItemKind::section: {
      const Section &section = module.sections[item.index];
      write(".section ", module.name(section.name), "\n{", section.text, "}\n");
      break;
    }
    case ModuleItemKind::alias: {
      const Symbol &symbol = module.symbols[item.index];
      write(".alias ", module.name(symbol.name), ", ",
            module.name(module.symbols[symbol.aliasOf].name), ";\n");
      break;
    }
    case ModuleItemKind::pragma:
      write(".pragma \"", module.name(item.index), "\";\n");
      break;
    }
  }
}

void Writer::writeLinkage(Linkage linkage) {
  switch (linkage) {
  case Linkage::internal:
    break;
  case Linkage::visible:
    write(".visible ");
    break;
  case Linkage::external:
    write(".extern ");
    break;
  case Linkage::weak:
    write(".weak ");
    break;
  case Linkage::common:
    write(".common ");
    break;
  }
}

void Writer::writeVariable(const Variable &variable) {
  writeLinkage(variable.linkage);
  write('.', spellingOf(variable.space), ' ');
  if (variable.managed || variable.unified) {
    write(".attribute(");
    if (variable.managed)
      write(".managed", variable.unified ? ", " : "");
    if (variable.unified)
      write(".unified(", (*variable.unified)[0], ", ", (*variable.unified)[1], ")");
    write(") ");
  }
  if (variable.alignmentWritten)
    write(".align ", variable.alignment, ' ');
  if (variable.vector > 1)
    write(".v", unsigned(variable.vector), ' ');
  write('.', spellingOf(variable.type), ' ');
  if (variable.pointer) {
    write(".ptr ");
    if (variable.pointerSpace != Modifier::none)
      write('.', spellingOf(variable.pointerSpace), ' ');
    if (variable.pointerAlignment)
      write(".align ", variable.pointerAlignment, ' ');
  }
  write(module.name(variable.name));
  for (size_t i = 0; i < variable.dimensions.size(); ++i) {
    if (i == 0 && variable.dimensions[0] == 0)
      write("[]");
    else
      write('[', variable.dimensions[i], ']');
  }
  if (!variable.initialised)
    return;
  write(" = ");
  uint64_t offset = 0;
  if (variable.dimensions.empty() && variable.vector == 1)
    writeValue(variable, 0);
  else
    writeInitializer(variable, 0, offset);
}

/// Writes only the values that were in the text; all others are zero.
void Writer::writeInitializer(const Variable &variable, size_t level, uint64_t &offset) {
  size_t levels = variable.dimensions.size() + (variable.vector > 1 ? 1 : 0);
  uint64_t count =
      level < variable.dimensions.size() ? variable.dimensions[level] : variable.vector;
  write('{');
  for (uint64_t i = 0; i < count && offset < variable.bytes.size(); ++i) {
    if (i > 0)
      write(", ");
    if (level + 1 < levels) {
      writeInitializer(variable, level + 1, offset);
    } else {
      writeValue(variable, offset);
      offset += (bitsOf(variable.type) + 7) / 8;
    }
  }
  write('}');
}

void Writer::writeValue(const Variable &variable, uint64_t offset) {
  for (const Relocation &relocation : variable.relocations) {
    if (relocation.offset != offset)
      continue;
    if (relocation.mask)
      write("0x", hex(relocation.mask, 16), '(');
    write(relocation.generic ? "generic(" : "", module.name(module.symbols[relocation.symbol].name),
          relocation.generic ? ")" : "");
    writeOffset(static_cast<uint64_t>(relocation.addend));
    if (relocation.mask)
      write(')');
    return;
  }
  uint64_t value = 0;
  uint64_t width = (bitsOf(variable.type) + 7) / 8;
  std::memcpy(&value, variable.bytes.data() + offset, width);
  if (variable.type == Modifier::f32)
    write("0f", hex(value, 8));
  else if (variable.type == Modifier::f64)
    write("0d", hex(value, 16));
  else
    write(value);
}

void Writer::writeParameters(std::span<const uint32_t> parameters) {
  write('(');
  for (size_t i = 0; i < parameters.size(); ++i) {
    write(i ? ",\n\t" : "\n\t");
    writeVariable(module.variables[parameters[i]]);
  }
  write("\n)");
}

void Writer::writePerformance(const Performance &performance) {
  auto triple = [this](std::string_view name, const std::array<uint32_t, 3> &values) {
    if (values[0])
      write('.', name, ' ', values[0], ", ", values[1], ", ", values[2], '\n');
  };
  auto single = [this](std::string_view name, uint32_t value) {
    if (value)
      write('.', name, ' ', value, '\n');
  };
  triple("maxntid", performance.maxntid);
  triple("reqntid", performance.reqntid);
  triple("reqnctapercluster", performance.reqnctapercluster);
  single("minnctapersm", performance.minnctapersm);
  single("maxnctapersm", performance.maxnctapersm);
  single("maxnreg", performance.maxnreg);
  single("maxclusterrank", performance.maxclusterrank);
  if (performance.explicitcluster)
    write(".explicitcluster\n");
  if (performance.blocksareclusters)
    write(".blocksareclusters\n");
  if (performance.noreturn)
    write(".noreturn\n");
  if (performance.abiPreserve)
    write(".abi_preserve ", *performance.abiPreserve, '\n');
  if (performance.abiPreserveControl)
    write(".abi_preserve_control ", *performance.abiPreserveControl, '\n');
  for (StringId pragma : performance.pragmas)
    write(".pragma \"", module.name(pragma), "\";\n");
}

void Writer::writeFunction(const Function &function) {
  writeLinkage(function.linkage);
  write(function.entry ? ".entry " : ".func ");
  if (!function.returns.empty()) {
    writeParameters(function.returns);
    write(' ');
  }
  write(module.name(function.name));
  if (!function.parameters.empty() || !function.entry)
    writeParameters(function.parameters);
  write('\n');
  writePerformance(function.performance);
  if (!function.defined) {
    write(";\n\n");
    return;
  }
  write("{\n");
  for (const Item &item : function.items)
    writeItem(function, item);
  write("}\n\n");
}

void Writer::writeItem(const Function &function, const Item &item) {
  switch (item.kind) {
  case ItemKind::instruction:
    write('\t');
    writeInstruction(function, function.instructions[item.index]);
    write(";\n");
    break;
  case ItemKind::label:
    write(module.name(function.labels[item.index].name), ":\n");
    break;
  case ItemKind::registers: {
    const RegisterGroup &group = function.groups[item.index];
    write("\t.reg ");
    if (group.vector > 1)
      write(".v", unsigned(group.vector), ' ');
    write('.', spellingOf(group.type), ' ', module.name(group.name));
    if (group.parametrised)
      write('<', group.count, '>');
    write(";\n");
    break;
  }
  case ItemKind::variable:
    write('\t');
    writeVariable(module.variables[item.index]);
    write(";\n");
    break;
  case ItemKind::scopeBegin:
    write("\t{\n");
    break;
  case ItemKind::scopeEnd:
    write("\t}\n");
    break;
  case ItemKind::location:
    writeLocation(module.locations[item.index]);
    break;
  case ItemKind::pragma:
    write("\t.pragma \"", module.name(item.index), "\";\n");
    break;
  case ItemKind::branchTargets:
  case ItemKind::callTargets: {
    bool calls = item.kind == ItemKind::callTargets;
    const TargetList &list = (calls ? function.callTargets : function.branchTargets)[item.index];
    write(module.name(list.name), calls ? ": .calltargets " : ": .branchtargets ");
    for (size_t i = 0; i < list.targets.size(); ++i)
      write(i ? ", " : "", calls ? module.name(module.symbols[list.targets[i]].name)
                                 : module.name(function.labels[list.targets[i]].name));
    write(";\n");
    break;
  }
  case ItemKind::prototype:
    writePrototype(function.prototypes[item.index]);
    break;
  }
}

void Writer::writeLocation(const SourceLocation &location) {
  write("\t.loc ", location.file, ' ', location.line, ' ', location.column);
  if (location.functionLabel != noString) {
    write(", function_name ", module.name(location.functionLabel));
    if (location.functionOffset)
      write('+', location.functionOffset);
  }
  if (location.inlined)
    write(", inlined_at ", location.inlinedFile, ' ', location.inlinedLine, ' ',
          location.inlinedColumn);
  write('\n');
}

void Writer::writePrototype(const Prototype &prototype) {
  auto list = [this](const std::vector<Variable> &variables) {
    write('(');
    for (size_t i = 0; i < variables.size(); ++i) {
      write(i ? ", " : "");
      writeVariable(variables[i]);
    }
    write(')');
  };
  write(module.name(prototype.name), ": .callprototype ");
  if (!prototype.returns.empty()) {
    list(prototype.returns);
    write(' ');
  }
  write("_ ");
  list(prototype.parameters);
  if (prototype.noreturn)
    write(" .noreturn");
  write(";\n");
}

void Writer::writeInstruction(const Function &function, const Instruction &instruction) {
  if (instruction.guarded)
    write(instruction.guardNegated ? "@!" : "@", module.registerName(function, instruction.guard),
          ' ');
  write(rowOf(instruction).opcode);
  for (Modifier modifier : instruction.mods())
    write('.', spellingOf(modifier));
  std::string_view before = " ";
  for (const Operand &operand : function.operandsOf(instruction)) {
    write(before);
    writeOperand(function, operand);
    before = ", ";
  }
}

void Writer::writeOffset(uint64_t offset) {
  if (offset >> 63)
    write("+-", 0 - offset);
  else if (offset != 0)
    write('+', offset);
}

void Writer::writeNumber(const Operand &operand) {
  switch (operand.number) {
  case NumberKind::integer:
    write(static_cast<int64_t>(operand.value));
    break;
  case NumberKind::unsignedInteger:
    write(operand.value, operand.value >> 63 ? "" : "U");
    break;
  case NumberKind::f32:
    write("0f", hex(operand.value, 8));
    break;
  case NumberKind::f64:
    write("0d", hex(operand.value, 16));
    break;
  }
}

void Writer::writeElements(const Function &function, const Operand &operand, size_t from) {
  std::span<const Operand> elements = function.elementsOf(operand);
  for (size_t i = from; i < elements.size(); ++i) {
    write(i > from ? ", " : "");
    writeOperand(function, elements[i]);
  }
}

void Writer::writeOperand(const Function &function, const Operand &operand) {
  if (operand.negated)
    write('!');
  switch (operand.kind) {
  case OperandKind::none:
    break;
  case OperandKind::reg:
    write(module.registerName(function, operand.index));
    break;
  case OperandKind::special: {
    auto special = static_cast<SpecialRegister>(operand.index);
    write(spellingOf(special));
    if (special == SpecialRegister::pm || special == SpecialRegister::envreg)
      write(operand.value & 0xff, operand.value & 0x100 ? "_64" : "");
    break;
  }
  case OperandKind::immediate:
    writeNumber(operand);
    break;
  case OperandKind::symbol:
    write(module.name(module.symbols[operand.index].name));
    writeOffset(operand.value);
    break;
  case OperandKind::label:
    write(module.name(function.labels[operand.index].name));
    break;
  case OperandKind::labels:
    write(module.name(function.branchTargets[operand.index].name));
    break;
  case OperandKind::targets:
    write(module.name(function.callTargets[operand.index].name));
    break;
  case OperandKind::prototype:
    write(module.name(function.prototypes[operand.index].name));
    break;
  case OperandKind::sink:
    write('_');
    break;
  case OperandKind::vector:
    write('{');
    writeElements(function, operand);
    write('}');
    break;
  case OperandKind::pair:
    writeOperand(function, function.elementsOf(operand)[0]);
    write('|');
    writeOperand(function, function.elementsOf(operand)[1]);
    break;
  case OperandKind::list:
    write('(');
    writeElements(function, operand);
    write(')');
    break;
  case OperandKind::address:
  case OperandKind::tensor:
    write('[');
    writeOperand(function, function.elementsOf(operand)[0]);
    writeOffset(operand.value);
    if (operand.kind == OperandKind::tensor) {
      write(", {");
      writeElements(function, operand, 1);
      write('}');
    }
    write(']');
    if (operand.unified)
      write(".unified");
    break;
  }
  if (operand.component != Operand::noComponent)
    write('.', "xyzw"[operand.component]);
}

} // namespace

std::string print(const Module &module) {
  Writer writer(module);
  writer.writeModule();
  return std::move(writer.out);
}

std::string print(const Module &module, const Function &function, const Instruction &instruction) {
  Writer writer(module);
  writer.writeInstruction(function, instruction);
  return std::move(writer.out);
}

} // namespace tilewright::vgpu::ptx
