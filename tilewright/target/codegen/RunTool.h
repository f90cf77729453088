// Runs programs of a toolchain, such as an assembler or a linker, on temporary files.
#ifndef TILEWRIGHT_TARGET_CODEGEN_RUNTOOL_H
#define TILEWRIGHT_TARGET_CODEGEN_RUNTOOL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace tilewright::codegen {

/// A temporary file; the destructor deletes it.
class Temporary {
public:
  explicit Temporary(llvm::StringRef suffix);
  ~Temporary();
  Temporary(const Temporary &) = delete;
  Temporary &operator=(const Temporary &) = delete;

  llvm::StringRef path() const { return name; }
  /// The content; empty if the file cannot be read.
  std::string text() const;
  /// Returns whether everything was written.
  bool write(llvm::StringRef text) const;

private:
  llvm::SmallString<128> name;
};

struct Ran {
  int exitCode;
  std::string output;
};

/// Runs a program for at most two minutes or until the thread's work limit is reached; returns
/// stdout and stderr.
Ran runTool(llvm::StringRef program, llvm::ArrayRef<llvm::StringRef> arguments);

} // namespace tilewright::codegen

#endif // TILEWRIGHT_TARGET_CODEGEN_RUNTOOL_H
