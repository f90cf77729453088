#include "tilewright/driver/Stages.h"

#include "tilewright/interpret/Types.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

using namespace mlir;

namespace tilewright::driver {

namespace {

/// Passes as spans of the timeline, inside that of their stage.
class PassTracer final : public PassInstrumentation {
public:
  void runBeforePass(Pass *pass, Operation *) override {
    // What only hands functions to other passes has no name of its own.
    spans.push_back(pass->getArgument().empty()
                        ? nullptr
                        : std::make_unique<trace::Span>("pass", pass->getArgument()));
  }
  void runAfterPass(Pass *, Operation *) override { end(); }
  void runAfterPassFailed(Pass *, Operation *) override { end(); }

private:
  void end() {
    spans.pop_back();
    trace::countResidentBytes();
  }
  std::vector<std::unique_ptr<trace::Span>> spans; // innermost last
};

} // namespace

Stages::Stages(ModuleOp module, const CompileRequest &request, int count)
    : module(module), request(request), count(count),
      handler(module.getContext(), [this](Diagnostic &diagnostic) {
        std::string place = interpret::placeOf(diagnostic.getLocation());
        std::string text = diagnostic.str();
        for (Diagnostic &note : diagnostic.getNotes())
          text += concat("\n  note: ", note.str());
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
          errors.push_back(place.empty() ? text : concat(text, "\n  at ", place));
        return success();
      }) {
  const CompileOptions &options = request.options.compile;
  if (request.wantsRemarks || !options.dumpDir.empty() || !options.remarks.empty())
    collector.emplace(*module.getContext(), remarks);
}

Stages::~Stages() {
  collector.reset();
  const std::string &stage = request.options.compile.remarks;
  for (const Remark &remark : remarks)
    if (stage == "all" || stage == remark.stage)
      llvm::errs() << toString(remark);
  if (request.report && request.wantsRemarks)
    request.report->remarks = std::move(remarks);
}

Status Stages::run(const char *stage, llvm::function_ref<void(OpPassManager &)> build) {
  return run(stage, [&]() -> Status {
    PassManager passes(module.getContext(), ModuleOp::getOperationName());
    // Assertions are off in the MLIR we link, so the verifier is what finds a broken pass.
    passes.enableVerifier(request.options.compile.verify);
    if (trace::isOn())
      passes.addInstrumentation(std::make_unique<PassTracer>());
    build(passes);
    if (succeeded(passes.run(module)))
      return {};
    return Status(Error::compileStage, "");
  });
}

Status Stages::run(const char *stage, llvm::function_ref<Status()> work) {
  if (request.progress)
    request.progress(stage, static_cast<double>(done) / count);
  ++done;
  trace::countResidentBytes();
  trace::Span span("compile", stage);
  auto begin = std::chrono::steady_clock::now();
  Status status = work();
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return finish(stage, seconds, std::move(status));
}

Status Stages::finish(const char *stage, double seconds, Status status) {
  if (!status.isOk()) {
    if (status.error() != Error::compileStage)
      return std::move(status).during(concat("compiling, in stage ", stage));
    std::string message = concat("stage '", stage, "' could not go on: ");
    for (const std::string &error : errors)
      message += error + "\n";
    if (errors.empty())
      message += "it gave no reason\n";
    message += lastDump.empty()
                   ? "  replay: compile again with --compile.dump-dir=DIR to keep its input"
                   : concat("  replay: its input is ", lastDump);
    return Status(Error::compileStage, std::move(message));
  }
  trace::countResidentBytes();
  if (request.report) {
    StageReport report{stage, seconds, 0};
    module.walk([&](Operation *) { ++report.ops; });
    request.report->stages.push_back(std::move(report));
  }
  return dump(stage);
}

/// Writes or extends a file of the dump. A full disk must not end the process.
static Status writeDump(const std::string &folder, const std::string &path, bool append,
                        llvm::function_ref<void(llvm::raw_ostream &)> print) {
  std::error_code failure = llvm::sys::fs::create_directories(folder);
  if (!failure) {
    llvm::raw_fd_ostream file(path, failure,
                              append ? llvm::sys::fs::OF_Append : llvm::sys::fs::OF_None);
    if (!failure) {
      print(file);
      file.close();
      failure = file.error();
      // Or the stream ends the process when it is destroyed.
      file.clear_error();
    }
  }
  if (failure)
    return Status(Error::fileUnwritable,
                  concat("cannot write the dump '", path, "': ", failure.message(),
                         "; make room or choose another --compile.dump-dir"));
  return {};
}

Status Stages::dump(const char *stage) {
  const std::string &folder = request.options.compile.dumpDir;
  if (folder.empty())
    return {};
  std::string path = llvm::formatv("{0}/{1,0+2}-{2}.mlir", folder, done, stage).str();
  TILEWRIGHT_TRY(writeDump(folder, path, /*append=*/false, [&](llvm::raw_ostream &out) {
    OpPrintingFlags flags;
    flags.elideLargeElementsAttrs(64).enableDebugInfo(true, /*prettyForm=*/false);
    module->print(out, flags);
  }));
  lastDump = path;
  return dumpRemarks();
}

Status Stages::dumpRemarks() {
  const std::string &folder = request.options.compile.dumpDir;
  const bool isFirst = done == 1;
  if (remarks.size() == dumpedRemarks && !isFirst)
    return {};
  return writeDump(folder, folder + "/remarks.txt", /*append=*/!isFirst,
                   [&](llvm::raw_ostream &out) {
                     for (; dumpedRemarks < remarks.size(); ++dumpedRemarks)
                       out << toString(remarks[dumpedRemarks]);
                   });
}

} // namespace tilewright::driver
