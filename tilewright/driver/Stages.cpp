#include "tilewright/driver/Stages.h"

#include "tilewright/dialect/source/Source.h"
#include "tilewright/interpret/StopAt.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"

#include "mlir/IR/Action.h"
#include "mlir/IR/Unit.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

using namespace mlir;

namespace tilewright::driver {

namespace {

/// Records passes as spans of the timeline, inside the span of their stage.
class PassTracer final : public PassInstrumentation {
public:
  void runBeforePass(Pass *pass, Operation *) override {
    // Adaptor passes, which only run other passes on functions, have no argument name.
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
    : module(module), request(request), limit(WorkLimit::current()), count(count),
      handler(module.getContext(), [this](Diagnostic &diagnostic) {
        std::string place = source::placeOf(diagnostic.getLocation());
        std::string text = diagnostic.str();
        for (Diagnostic &note : diagnostic.getNotes())
          text += concat("\n  note: ", note.str());
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
          errors.push_back(place.empty() ? text : concat(text, "\n  at ", place));
        else if (diagnostic.getSeverity() == DiagnosticSeverity::Warning && this->request.warn)
          this->request.warn(
              Status(Code::invalidArgument, place.empty() ? text : concat(text, "\n  at ", place)));
        return success();
      }) {
  const CompileOptions &options = request.options.compile;
  if (request.wantsRemarks || !options.dumpDir.empty() || !options.remarks.empty())
    collector.emplace(*module.getContext(), remarks);
  if (!options.logPasses.empty())
    log.emplace(module.getContext(), options.logPasses, llvm::errs());
  if (limit)
    watchLimit();
}

void Stages::watchLimit() {
  module.getContext()->registerActionHandler(
      [this](llvm::function_ref<void()> run, const tracing::Action &action) {
        if (!limit->isReached()) {
          if (auto *execution = dyn_cast<PassExecutionAction>(&action))
            if (StringRef name = execution->getPass().getArgument(); !name.empty())
              lastPass = name;
          return run();
        }
        if (limit->isNoted())
          return;
        for (IRUnit unit : action.getContextIRUnits())
          if (auto *op = dyn_cast_if_present<Operation *>(unit))
            limit->noteStop(interpret::describe(op));
      });
}

Stages::~Stages() {
  if (limit)
    module.getContext()->registerActionHandler(nullptr);
  collector.reset();
  const std::string &stage = request.options.compile.remarks;
  for (const Remark &remark : remarks)
    if (stage == "all" || stage == remark.stage)
      llvm::errs() << toString(remark);
  if (request.report && request.wantsRemarks)
    request.report->remarks = std::move(remarks);
}

Status Stages::run(const char *stage, llvm::function_ref<void(OpPassManager &)> build) {
  return run(stage, [&] { return runPasses(build); });
}

Status Stages::runPasses(llvm::function_ref<void(OpPassManager &)> build) {
  PassManager passes(module.getContext(), ModuleOp::getOperationName());
  // The MLIR that we link has no assertions, so only the verifier detects a broken pass. The
  // verifier cannot be interrupted, so with a work limit it runs once per stage instead of after
  // every pass.
  const bool verifies = request.options.compile.verify;
  passes.enableVerifier(verifies && !limit);
  if (trace::isOn())
    passes.addInstrumentation(std::make_unique<PassTracer>());
  build(passes);
  TILEWRIGHT_TRY(addReproducer(passes));
  if (failed(passes.run(module)))
    return Status(Error::compileStage, "");
  if (verifies && limit && !limit->isReached() && failed(verify(module)))
    return Status(Error::compileStage, "");
  return {};
}

Status Stages::run(const char *stage, llvm::function_ref<Status()> work) {
  if (request.progress)
    request.progress(stage, static_cast<double>(done) / count);
  if (done == 0)
    TILEWRIGHT_TRY(dump("input"));
  ++done;
  hasReproducer = false;
  trace::countResidentBytes();
  trace::Span span("compile", stage);
  lastPass = "";
  if (limit)
    limit->enter(stage);
  auto begin = std::chrono::steady_clock::now();
  const bool isLate = limit && limit->isReached();
  if (isLate)
    limit->noteStop("its beginning");
  Status status = isLate ? Status() : work();
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return finish(stage, seconds, std::move(status));
}

/// The error that a diagnostic names at its beginning, followed by the part of the compiler that
/// reports it: "E4070 target: …", "E2002 simplify: …".
static std::optional<Error> errorNamedBy(llvm::StringRef text) {
  const auto [id, rest] = text.split(' ');
  if (!llvm::all_of(rest.split(": ").first, llvm::isAlpha))
    return std::nullopt;
  for (Error error : allErrors())
    if (id == idOf(error))
      return error;
  return std::nullopt;
}

Status Stages::finish(const char *stage, double seconds, Status status) {
  // Report the limit: other failures may be consequences of skipped passes.
  if (limit && limit->isReached()) {
    limit->noteStop(lastPass.empty() ? "its end" : concat("pass ", lastPass.str()));
    return limit->status();
  }
  if (!status.isOk()) {
    if (status.error() != Error::compileStage)
      return std::move(status).during(concat("compiling, in stage ", stage));
    // A pass whose failure has its own error page begins the diagnostic with that error's id.
    Error failure = Error::compileStage;
    std::string message = concat("stage '", stage, "' failed: ");
    if (const auto known = errors.empty() ? std::nullopt : errorNamedBy(errors.front())) {
      failure = *known;
      message.clear();
    }
    for (const std::string &error : errors) {
      const auto known = errorNamedBy(error);
      message += concat(known == failure ? std::string_view(error).substr(error.find(": ") + 2)
                                         : std::string_view(error),
                        "\n");
    }
    if (errors.empty())
      message += "it gave no reason\n";
    message += howToReplay();
    return Status(failure, std::move(message));
  }
  trace::countResidentBytes();
  if (request.report) {
    StageReport report{stage, seconds, 0};
    module.walk([&](Operation *) { ++report.ops; });
    request.report->stages.push_back(std::move(report));
  }
  return dump(stage);
}

/// Writes or appends to a dump file. A full disk must not terminate the process.
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
      // The stream's destructor terminates the process if an error is still set.
      file.clear_error();
    }
  }
  if (failure)
    return Status(Error::fileUnwritable,
                  concat("cannot write the dump '", path, "': ", failure.message(),
                         "; make room or choose another --compile.dump-dir"));
  return {};
}

/// Options of this compilation that differ from their defaults, as flags, except the dump folder.
static std::string flagsOf(const Options &options) {
  std::string flags;
  for (const std::string &option : options.changed())
    if (!option.starts_with("compile.dump-dir"))
      flags += concat(" --", option);
  return flags;
}

std::string Stages::howToReplay() const {
  if (lastDump.empty())
    return "  replay: compile again with --compile.dump-dir=DIR to keep its input";
  if (hasReproducer)
    return concat("  replay: tilewright-opt --run-reproducer ", lastDump);
  return concat("  replay: tilewright compile ", request.options.compile.dumpDir, "/00-input.mlir",
                flagsOf(request.options));
}

Status Stages::dump(const char *stage) {
  const std::string &folder = request.options.compile.dumpDir;
  if (folder.empty())
    return {};
  std::string path = llvm::formatv("{0}/{1,0+2}-{2}.mlir", folder, done, stage).str();
  TILEWRIGHT_TRY(writeDump(folder, path, /*append=*/false, [&](llvm::raw_ostream &out) {
    if (done == 0)
      out << "// tilewright compile " << path << flagsOf(request.options) << "\n";
    // Print constants in full, large ones in hexadecimal: the program is incomplete without them.
    module->print(out, OpPrintingFlags().enableDebugInfo(true, /*prettyForm=*/false));
    out << "\n";
  }));
  lastDump = path;
  return done == 0 ? Status() : dumpRemarks();
}

Status Stages::addReproducer(PassManager &passes) {
  if (lastDump.empty())
    return {};
  std::string pipeline;
  llvm::raw_string_ostream text(pipeline);
  passes.printAsTextualPipeline(text);
  // Write the resource in the format of MLIR's own reproducers.
  TILEWRIGHT_TRY(writeDump(
      request.options.compile.dumpDir, lastDump, /*append=*/true, [&](llvm::raw_ostream &out) {
        out << "{-#\n  external_resources: {\n    mlir_reproducer: {\n      pipeline: ";
        out << '"';
        llvm::printEscapedString(pipeline, out);
        out << "\",\n      disable_threading: true,\n      verify_each: "
            << (request.options.compile.verify ? "true" : "false") << "\n    }\n  }\n#-}\n";
      }));
  hasReproducer = true;
  return {};
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
