// PassLog: prints the decisions of passes and their reasons, for debugging the compiler. MLIR's own
// debug output needs an LLVM with assertions, which Debian's is not.
#ifndef TILEWRIGHT_INTERPRET_PASSLOG_H
#define TILEWRIGHT_INTERPRET_PASSLOG_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <string>
#include <vector>

namespace tilewright::interpret {

/// While it exists, prints the decisions of the passes in `passes` on the ops of `context`, or of
/// all contexts if that is null, each on its own line:
///
///   PassLog log(module.getContext(), "fuse-group,simplify", llvm::errs());
///
///   fuse-group: 'stablehlo.add' at model.py:12:8: joins 'stablehlo.exponential': …
///
/// `passes` is a comma-separated list of passes ("fuse-group") and stages ("fuse", all of whose
/// passes are printed), or "all". The destructor names the entries for which nothing was printed.
///
/// Thread-safe: passes may run on several threads.
class PassLog {
public:
  PassLog(mlir::MLIRContext *context, llvm::StringRef passes, llvm::raw_ostream &out);
  ~PassLog();
  PassLog(const PassLog &) = delete;
  PassLog &operator=(const PassLog &) = delete;

  /// Whether there is any log; costs one relaxed load.
  static bool isOn() { return count.load(std::memory_order_relaxed) > 0; }

  /// Whether a log prints the decisions of `pass` on the ops of `context`.
  static bool isOn(llvm::StringRef pass, mlir::MLIRContext *context);

  /// Prints "pass: subject: text" to the logs that want it.
  static void print(llvm::StringRef pass, mlir::MLIRContext *context, llvm::StringRef subject,
                    llvm::StringRef text);

  /// Prints a decision about `op`. Use TILEWRIGHT_LOG, which builds no text without a log.
  template <typename... Parts>
  static void write(llvm::StringRef pass, mlir::Operation *op, const Parts &...parts) {
    if (!isOn(pass, op->getContext()))
      return;
    std::string text;
    llvm::raw_string_ostream out(text);
    (out << ... << parts);
    printFor(pass, op, text);
  }

private:
  struct Entry {
    std::string name;
    bool isUsed = false;
  };
  static void printFor(llvm::StringRef pass, mlir::Operation *op, llvm::StringRef text);
  /// The entry that selects `pass`; null if no entry does.
  Entry *entryFor(llvm::StringRef pass, mlir::MLIRContext *of);

  static std::atomic<int> count; // of logs

  mlir::MLIRContext *const context;
  std::vector<Entry> entries;
  llvm::raw_ostream &out;
};

} // namespace tilewright::interpret

/// Logs one decision of a pass: what it is about, what was decided, and why.
///
///   TILEWRIGHT_LOG("fuse-split-reduce", reduce, "is not split: it has ", count, " results");
#define TILEWRIGHT_LOG(pass, op, ...)                                                              \
  do {                                                                                             \
    if (::tilewright::interpret::PassLog::isOn())                                                  \
      ::tilewright::interpret::PassLog::write(pass, op, __VA_ARGS__);                              \
  } while (false)

#endif // TILEWRIGHT_INTERPRET_PASSLOG_H
