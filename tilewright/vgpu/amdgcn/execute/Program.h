// A kernel as a list of operations, and its code object in memory.
#ifndef TILEWRIGHT_VGPU_AMDGCN_EXECUTE_PROGRAM_H
#define TILEWRIGHT_VGPU_AMDGCN_EXECUTE_PROGRAM_H

#include "tilewright/vgpu/amdgcn/CodeObject.h"
#include "tilewright/vgpu/amdgcn/execute/Op.h"

#include <mutex>
#include <unordered_map>

namespace tilewright::vgpu::amdgcn {

class Listing;
class LoadedObject;

/// The instructions that a kernel can reach: those after its entry, and all functions of the object
/// if it jumps to an address in registers.
class Program {
public:
  /// - vgpuUnimplemented: an instruction cannot be executed; the message names it and its place.
  /// - vgpuBinary: bytes that are not an instruction.
  static Result<std::unique_ptr<Program>> make(const LoadedObject &object, const Kernel &kernel);

  const Op &operator[](uint32_t number) const { return ops[number]; }
  uint32_t entry() const { return first; }
  /// For tests that change a kernel. The kernel's listing must not have been made yet.
  std::span<Op> edit() { return ops; }
  uint32_t size() const { return static_cast<uint32_t>(ops.size()); }
  uint32_t numberOf(const Op &op) const { return static_cast<uint32_t>(&op - ops.data()); }
  /// The operation at an address in memory; nullopt if the kernel cannot reach it.
  std::optional<uint32_t> find(uint64_t address) const;
  uint64_t loadAddress() const { return base; }

private:
  std::vector<Op> ops;
  std::unordered_map<uint64_t, uint32_t> byAddress; // of the code object
  uint64_t base = 0;
  uint32_t first = 0;
};

/// A code object in memory: its segments are loaded and relocated, its kernels can be launched.
///
///   TILEWRIGHT_ASSIGN(auto object, LoadedObject::load(bytes));
///   TILEWRIGHT_ASSIGN(const Program *program, object->program("add"));
class LoadedObject {
public:
  LoadedObject();
  ~LoadedObject();
  /// Loads the code object in `file`, which may be a bundle; `file` may be freed afterwards. With a
  /// chip, it must be for that chip.
  ///  - vgpuBinary, vgpuChip: as readCodeObject, or a relocation is of an unknown kind.
  static Result<std::unique_ptr<LoadedObject>> load(std::span<const std::byte> file,
                                                    std::optional<Chip> chip = std::nullopt);

  const CodeObject &object() const { return code; }
  /// Decodes a kernel when it is used first. Thread-safe.
  ///  - vgpuSymbol: there is no such kernel.
  Result<const Program *> program(std::string_view kernel);
  /// The same for observers; the kernel must have a program. Thread-safe.
  const Listing &listing(std::string_view kernel);
  uint64_t loadAddress() const { return reinterpret_cast<uint64_t>(memory.get()); }
  MemoryRange range() const { return {loadAddress(), loadAddress() + memoryBytes}; }

private:
  Status relocate();

  std::vector<std::byte> file;
  FoundCode found;
  CodeObject code;
  std::unique_ptr<std::byte[]> memory;
  uint64_t memoryBytes = 0;
  std::mutex mutex;
  struct LoadedKernel {
    std::string_view name;
    std::unique_ptr<Program> program;
    std::unique_ptr<Listing> listing; // made by the first observed launch
  };
  std::vector<LoadedKernel> loaded; // guarded by mutex
};

} // namespace tilewright::vgpu::amdgcn

#endif // TILEWRIGHT_VGPU_AMDGCN_EXECUTE_PROGRAM_H
