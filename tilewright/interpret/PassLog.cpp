#include "tilewright/interpret/PassLog.h"

#include "tilewright/interpret/StopAt.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <mutex>

namespace tilewright::interpret {

std::atomic<int> PassLog::count = 0;

namespace {
/// Guards the list of logs, their entries and their streams.
std::mutex &mutexOfLogs() {
  static std::mutex mutex;
  return mutex;
}

std::vector<PassLog *> &logs() {
  static std::vector<PassLog *> all;
  return all;
}
} // namespace

PassLog::PassLog(mlir::MLIRContext *context, llvm::StringRef passes, llvm::raw_ostream &out)
    : context(context), out(out) {
  llvm::SmallVector<llvm::StringRef> names;
  passes.split(names, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (llvm::StringRef name : names)
    if (!name.trim().empty())
      entries.push_back({name.trim().str()});
  const std::lock_guard lock(mutexOfLogs());
  logs().push_back(this);
  count.fetch_add(1, std::memory_order_relaxed);
}

PassLog::~PassLog() {
  const std::lock_guard lock(mutexOfLogs());
  count.fetch_sub(1, std::memory_order_relaxed);
  logs().erase(llvm::find(logs(), this));
  for (const Entry &entry : entries)
    if (!entry.isUsed)
      out << "compile.log-passes: no decision of '" << entry.name << "' was logged\n";
}

PassLog::Entry *PassLog::entryFor(llvm::StringRef pass, mlir::MLIRContext *of) {
  if (context && context != of)
    return nullptr;
  auto selects = [&](const Entry &entry) {
    llvm::StringRef rest = pass;
    return entry.name == "all" ||
           (rest.consume_front(entry.name) && (rest.empty() || rest.front() == '-'));
  };
  auto found = llvm::find_if(entries, selects);
  return found == entries.end() ? nullptr : &*found;
}

bool PassLog::isOn(llvm::StringRef pass, mlir::MLIRContext *context) {
  const std::lock_guard lock(mutexOfLogs());
  return llvm::any_of(logs(), [&](PassLog *log) { return log->entryFor(pass, context); });
}

void PassLog::print(llvm::StringRef pass, mlir::MLIRContext *context, llvm::StringRef subject,
                    llvm::StringRef text) {
  const std::lock_guard lock(mutexOfLogs());
  for (PassLog *log : logs())
    if (Entry *entry = log->entryFor(pass, context)) {
      entry->isUsed = true;
      log->out << pass << ": " << subject << ": " << text << "\n";
    }
}

void PassLog::printFor(llvm::StringRef pass, mlir::Operation *op, llvm::StringRef text) {
  print(pass, op->getContext(), describe(op), text);
}

} // namespace tilewright::interpret
