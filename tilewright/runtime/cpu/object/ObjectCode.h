// ObjectCode: callable machine code from relocatable files.
#ifndef TILEWRIGHT_RUNTIME_CPU_OBJECT_OBJECTCODE_H
#define TILEWRIGHT_RUNTIME_CPU_OBJECT_OBJECTCODE_H

#include "tilewright/support/Status.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tilewright::runtime::cpu {

/// Returns the address of a symbol that object code refers to but does not define; null if it is
/// unknown.
using SymbolResolver = std::function<const void *(std::string_view name)>;

/// Relocatable files in memory, linked with each other: code is executable but not writable,
/// constants are read-only, data is writable. The destructor frees the memory, so this object must
/// outlive every pointer into it.
///
///   TILEWRIGHT_ASSIGN(auto code, ObjectCode::load(executable.objects, resolver));
///   auto *kernel = reinterpret_cast<Kernel *>(code->find("fusion_0"));
///
/// Immutable after load, so it may be used from several threads.
class ObjectCode {
public:
  /// A global symbol that one file defines is visible in all of them; any other definition
  /// overrides a weak one. `resolver` is called for symbols that no file defines and
  /// findRuntimeSymbol (RuntimeSymbols.h) does not find.
  ///  - objectFormat: see ElfView.
  ///  - objectMalformed: see ElfView; or two files define the same symbol.
  ///  - objectUnsupported: a section or relocation that compiled kernels do not have.
  ///  - objectSymbol: an undefined function.
  ///  - objectMemory: the system cannot allocate memory for code.
  static Result<std::unique_ptr<ObjectCode>> load(std::span<const std::vector<std::byte>> files,
                                                  const SymbolResolver &resolver = {});
  ~ObjectCode();
  ObjectCode(const ObjectCode &) = delete;
  ObjectCode &operator=(const ObjectCode &) = delete;

  /// The global function of this name, or null.
  void *find(std::string_view function) const;

  /// Bytes of mapped memory, for reports.
  size_t mappedBytes() const { return size; }

private:
  ObjectCode() = default;
  friend class ObjectLinker;

  std::byte *memory = nullptr;
  size_t size = 0;
  std::unordered_map<std::string, void *> functions;
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_OBJECT_OBJECTCODE_H
