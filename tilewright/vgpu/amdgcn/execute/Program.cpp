#include "tilewright/vgpu/amdgcn/execute/Program.h"

#include "tilewright/support/BytesAt.h"
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/amdgcn/watch/Listing.h"

#include <algorithm>
#include <cstring>
#include <elf.h>

namespace tilewright::vgpu::amdgcn {

// -- Programs

/// The code from `address` on, as dwords; empty if there is no code.
static std::span<const uint32_t> codeAt(const CodeObject &object, uint64_t address) {
  for (const Segment &segment : object.segments)
    if (segment.isExecutable && address >= segment.address &&
        address - segment.address < segment.bytes.size() && address % 4 == 0) {
      const auto bytes = segment.bytes.subspan(address - segment.address);
      return {reinterpret_cast<const uint32_t *>(bytes.data()), bytes.size() / 4};
    }
  return {};
}

static bool hasTarget(const Op &op) {
  const auto operands = op.instruction.row->operands();
  return !operands.empty() && operands.back().kind == Kind::label;
}
static uint64_t targetOf(const Op &op) {
  const int64_t offset = static_cast<int16_t>(op.instruction.operands().back().value);
  return op.address + 4 + static_cast<uint64_t>(offset * 4);
}
static bool endsBlock(const Op &op) {
  const std::string_view name = op.instruction.row->name;
  return name == "s_endpgm" || name == "s_branch" || name == "s_setpc_b64";
}
static bool jumpsAnywhere(const Op &op) {
  const std::string_view name = op.instruction.row->name;
  return name == "s_setpc_b64" || name == "s_swappc_b64";
}

Result<std::unique_ptr<Program>> Program::make(const LoadedObject &object, const Kernel &kernel) {
  auto program = std::make_unique<Program>();
  const CodeObject &code = object.object();
  program->base = object.loadAddress();
  std::vector<uint64_t> open = {kernel.entry};
  bool hasAllFunctions = false;
  while (!open.empty()) {
    uint64_t address = open.back();
    open.pop_back();
    while (!program->byAddress.contains(address)) {
      const auto instruction = decode(codeAt(code, address), code.chip);
      if (!instruction)
        return Status(Error::vgpuBinary,
                      concat("kernel '", kernel.name, "': the bytes at ", address,
                             " of the code object are not an instruction of ", nameOf(code.chip)));
      Result<Op> op = makeOp(*instruction, address, code.chip);
      if (!op.isOk())
        return std::move(op).takeStatus().during(
            concat("loading kernel '", kernel.name, "', at ", address, " of the code object"));
      program->byAddress.emplace(address, static_cast<uint32_t>(program->ops.size()));
      program->ops.push_back(*op);
      const Op &added = program->ops.back();
      if (hasTarget(added))
        open.push_back(targetOf(added));
      if (jumpsAnywhere(added) && !hasAllFunctions) {
        hasAllFunctions = true;
        for (const Symbol &symbol : code.symbols)
          if (symbol.isFunction && !code.find(symbol.name))
            open.push_back(symbol.address);
      }
      if (endsBlock(added))
        break;
      address += 4u * added.instruction.dwords;
    }
  }
  program->first = program->byAddress.at(kernel.entry);
  for (Op &op : program->ops) {
    if (hasTarget(op))
      op.target = program->byAddress.at(targetOf(op));
    const auto next = program->byAddress.find(op.address + 4u * op.instruction.dwords);
    op.next = next == program->byAddress.end() ? 0 : next->second;
  }
  return program;
}

std::optional<uint32_t> Program::find(uint64_t address) const {
  const auto found = byAddress.find(address - base);
  return found == byAddress.end() ? std::nullopt : std::optional(found->second);
}

// -- Objects

/// Applies the relocations of all tables of type RELA. A linked object has only relative ones.
Status LoadedObject::relocate() {
  constexpr uint32_t relative64 = 13; // R_AMDGPU_RELATIVE64
  const std::span<const std::byte> bytes = found.bytes;
  // readCodeObject has checked that the headers are in the file.
  const auto header = *valueAt<Elf64_Ehdr>(bytes, 0);
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const auto section =
        *valueAt<Elf64_Shdr>(bytes, header.e_shoff + uint64_t(i) * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_RELA || (section.sh_flags & SHF_ALLOC) == 0)
      continue;
    const std::span<const std::byte> table = code.sections[i].bytes;
    for (size_t at = 0; at + sizeof(Elf64_Rela) <= table.size(); at += sizeof(Elf64_Rela)) {
      const auto relocation = *valueAt<Elf64_Rela>(table, at);
      if (ELF64_R_TYPE(relocation.r_info) != relative64)
        return Status(Error::vgpuBinary,
                      concat("the code object has a relocation of type ",
                             ELF64_R_TYPE(relocation.r_info), ", expected ", relative64,
                             " (R_AMDGPU_RELATIVE64); link it with ld.lld -shared"));
      if (relocation.r_offset > memoryBytes || memoryBytes - relocation.r_offset < 8)
        return Status(Error::vgpuBinary,
                      concat("damaged code object: a relocation of ", relocation.r_offset,
                             " is outside its ", memoryBytes, " bytes"));
      const uint64_t value = loadAddress() + static_cast<uint64_t>(relocation.r_addend);
      std::memcpy(memory.get() + relocation.r_offset, &value, sizeof value);
    }
  }
  return Status();
}

LoadedObject::LoadedObject() = default;
LoadedObject::~LoadedObject() = default;

Result<std::unique_ptr<LoadedObject>> LoadedObject::load(std::span<const std::byte> bytes,
                                                         std::optional<Chip> chip) {
  constexpr uint64_t maxBytes = uint64_t(1) << 32;
  auto object = std::make_unique<LoadedObject>();
  object->file.assign(bytes.begin(), bytes.end());
  TILEWRIGHT_ASSIGN(object->found, findCodeObject(object->file, chip));
  TILEWRIGHT_ASSIGN(object->code, readCodeObject(object->found.bytes));
  if (chip && object->code.chip != *chip)
    return Status(Error::vgpuChip, concat("the code object is for ", nameOf(object->code.chip),
                                          ", but the GPU is a ", nameOf(*chip),
                                          "; compile with --offload-arch=", nameOf(*chip),
                                          ", or choose another chip"));
  for (const Segment &segment : object->code.segments) {
    if (segment.address > maxBytes || segment.memoryBytes > maxBytes - segment.address)
      return Status(Error::vgpuBinary,
                    concat("damaged code object: segments must end below ", maxBytes,
                           ", got one of ", segment.memoryBytes, " bytes at ", segment.address));
    object->memoryBytes = std::max(object->memoryBytes, segment.address + segment.memoryBytes);
  }
  object->memory = std::make_unique<std::byte[]>(object->memoryBytes + 16);
  for (const Segment &segment : object->code.segments)
    if (!segment.bytes.empty())
      std::memcpy(object->memory.get() + segment.address, segment.bytes.data(),
                  segment.bytes.size());
  TILEWRIGHT_TRY(object->relocate());
  return object;
}

Result<const Program *> LoadedObject::program(std::string_view name) {
  std::lock_guard lock(mutex);
  for (const LoadedKernel &one : loaded)
    if (one.name == name)
      return one.program.get();
  const Kernel *kernel = code.find(name);
  if (!kernel)
    return Status(Error::vgpuSymbol, concat("the code object has no kernel '", name, "'"));
  TILEWRIGHT_ASSIGN(std::unique_ptr<Program> made, Program::make(*this, *kernel));
  loaded.push_back({kernel->name, std::move(made), nullptr});
  return loaded.back().program.get();
}

const Listing &LoadedObject::listing(std::string_view name) {
  std::lock_guard lock(mutex);
  LoadedKernel &one = *std::find_if(loaded.begin(), loaded.end(),
                                    [&](const LoadedKernel &any) { return any.name == name; });
  if (!one.listing)
    one.listing = std::make_unique<Listing>(*one.program, one.name, code);
  return *one.listing;
}

} // namespace tilewright::vgpu::amdgcn
