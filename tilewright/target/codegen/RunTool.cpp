#include "tilewright/target/codegen/RunTool.h"

#include "tilewright/support/WorkLimit.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <csignal>
#include <optional>
#include <thread>

using namespace llvm;

namespace tilewright::codegen {

Temporary::Temporary(StringRef suffix) { sys::fs::createTemporaryFile("tilewright", suffix, name); }

Temporary::~Temporary() { sys::fs::remove(name); }

std::string Temporary::text() const {
  auto buffer = MemoryBuffer::getFile(name);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

bool Temporary::write(StringRef text) const {
  std::error_code error;
  raw_fd_ostream stream(name, error);
  stream << text;
  stream.close();
  return !error && !stream.has_error();
}

static constexpr std::chrono::microseconds longestPause(10'000);

Ran runTool(StringRef program, ArrayRef<StringRef> arguments) {
  Temporary log("log");
  SmallVector<StringRef> all = {program};
  all.append(arguments.begin(), arguments.end());
  std::optional<StringRef> redirects[] = {StringRef(), log.path(), log.path()};
  std::string error;
  bool hasFailed = false;
  sys::ProcessInfo child =
      sys::ExecuteNoWait(program, all, std::nullopt, redirects, 0, &error, &hasFailed);
  if (hasFailed)
    return {-1, error};
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  for (auto pause = std::chrono::microseconds(500);; pause = std::min(pause * 2, longestPause)) {
    sys::ProcessInfo now = sys::Wait(child, 0, &error, nullptr, /*Polling=*/true);
    if (now.Pid != 0)
      return {now.ReturnCode, error.empty() ? log.text() : error};
    if (WorkLimit::mustStop() || std::chrono::steady_clock::now() > end) {
      ::kill(child.Pid, SIGKILL);
      sys::Wait(child, std::nullopt);
      return {-1,
              WorkLimit::mustStop() ? "it was stopped" : "it did not finish within two minutes"};
    }
    std::this_thread::sleep_for(pause);
  }
}

} // namespace tilewright::codegen
