#include "tilewright/import/VerifyProgram.h"

#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/source/Source.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/ops/CallOps.h"
#include "tilewright/support/Concat.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/DenseMap.h"

#include <thread>

namespace tilewright {
namespace {

constexpr size_t maxReported = 5;
constexpr size_t maxMessageBytes = 2000;

/// Collects the verifier's diagnostics as text for a Status.
class Findings {
public:
  explicit Findings(mlir::MLIRContext &context)
      : context(context), printedOps(context.shouldPrintOpOnDiagnostic()),
        handler(&context, [this, thread = std::this_thread::get_id()](mlir::Diagnostic &found) {
          if (std::this_thread::get_id() != thread)
            return mlir::failure();
          add(found);
          return mlir::success();
        }) {
    // Do not print the operation: its region may contain a million others.
    context.printOpOnDiagnostic(false);
  }
  ~Findings() { context.printOpOnDiagnostic(printedOps); }

  std::string toString() const {
    if (count <= maxReported)
      return text;
    return concat(text, "\n  and ", count - maxReported, " more");
  }

private:
  void add(mlir::Diagnostic &found) {
    if (found.getSeverity() != mlir::DiagnosticSeverity::Error || ++count > maxReported)
      return;
    if (!text.empty())
      text += "\n";
    text += shortened(found.str());
    if (std::string source = source::placeAndNameOf(found.getLocation()); !source.empty())
      text += "\n  at " + source;
    for (mlir::Diagnostic &note : found.getNotes())
      text += "\n  note: " + shortened(note.str());
  }

  static std::string shortened(std::string words) {
    if (words.size() > maxMessageBytes)
      words = words.substr(0, maxMessageBytes) + " …";
    return words;
  }

  mlir::MLIRContext &context;
  bool printedOps;
  size_t count = 0;
  std::string text;
  mlir::ScopedDiagnosticHandler handler;
};

using Functions = llvm::SmallVector<mlir::func::FuncOp>;

/// Whether an imported module may have this op.
bool isKnown(mlir::Operation *op) {
  return llvm::isa_and_present<mlir::func::FuncDialect, stablehlo::StablehloDialect,
                               sdy::SdyDialect>(op->getDialect());
}

/// The functions that `function` calls, as indices into `functions`; the first op of another
/// dialect in `foreign`.
llvm::SmallVector<size_t> callees(mlir::func::FuncOp function,
                                  const llvm::DenseMap<mlir::StringAttr, size_t> &places,
                                  mlir::Operation *&foreign) {
  llvm::SmallVector<size_t> found;
  auto add = [&](mlir::Attribute reference) {
    auto symbol = llvm::dyn_cast_if_present<mlir::FlatSymbolRefAttr>(reference);
    if (auto place = symbol ? places.find(symbol.getAttr()) : places.end(); place != places.end())
      found.push_back(place->second);
  };
  function.walk([&](mlir::Operation *op) {
    if (!foreign && !isKnown(op))
      foreign = op;
    if (auto call = llvm::dyn_cast<mlir::func::CallOp>(op)) {
      add(call.getCalleeAttr());
    } else if (auto composite = llvm::dyn_cast<stablehlo::CompositeOp>(op)) {
      add(composite.getDecompositionAttr());
    } else if (auto custom = llvm::dyn_cast<stablehlo::CustomCallOp>(op)) {
      if (mlir::ArrayAttr called = custom.getCalledComputationsAttr())
        llvm::for_each(called, add);
    }
  });
  return found;
}

std::string nameOf(mlir::func::FuncOp function) { return function.getSymName().str(); }

Status cycle(const Functions &functions, llvm::ArrayRef<size_t> path, size_t again) {
  std::string trail;
  size_t first = llvm::find(path, again) - path.begin();
  for (size_t place : path.drop_front(first))
    trail += concat("@", nameOf(functions[place]), " calls ");
  return Status(Error::callsItself,
                concat("a function must not call itself: ", trail, "@", nameOf(functions[again]),
                       "; write the repetition as stablehlo.while"));
}

Status refuseForeign(mlir::Operation *op) {
  const std::string place = source::placeAndNameOf(op->getLoc());
  return Status(Error::programInvalid,
                concat("'", op->getName().getStringRef().str(), "'",
                       place.empty() ? "" : concat(" at ", place),
                       " is not an op of func, stablehlo or sdy, the dialects of a program"));
}

/// Depth first with an explicit stack: call chains may be as long as the file.
Status checkCalls(mlir::ModuleOp module) {
  Functions functions;
  llvm::DenseMap<mlir::StringAttr, size_t> places;
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    places[function.getSymNameAttr()] = functions.size();
    functions.push_back(function);
  }

  enum class Color : uint8_t { unseen, open, done };
  std::vector<Color> colors(functions.size(), Color::unseen);
  mlir::Operation *foreign = nullptr;
  struct Visit {
    llvm::SmallVector<size_t> callees;
    size_t next = 0;
  };
  for (size_t root = 0; root < functions.size(); ++root) {
    if (colors[root] != Color::unseen)
      continue;
    llvm::SmallVector<size_t> path = {root};
    std::vector<Visit> visits;
    visits.push_back({callees(functions[root], places, foreign)});
    colors[root] = Color::open;
    while (!visits.empty()) {
      Visit &visit = visits.back();
      if (visit.next == visit.callees.size()) {
        colors[path.pop_back_val()] = Color::done;
        visits.pop_back();
        continue;
      }
      size_t callee = visit.callees[visit.next++];
      if (colors[callee] == Color::open)
        return cycle(functions, path, callee);
      if (colors[callee] == Color::unseen) {
        colors[callee] = Color::open;
        path.push_back(callee);
        visits.push_back({callees(functions[callee], places, foreign)});
      }
    }
  }
  return foreign ? refuseForeign(foreign) : Status();
}

} // namespace

Status verifyProgram(mlir::ModuleOp module) {
  Findings findings(*module.getContext());
  if (mlir::failed(mlir::verify(module)))
    return Status(Error::programInvalid, findings.toString());
  return checkProgram(module);
}

Status checkProgram(mlir::ModuleOp module) {
  for (mlir::Operation &op : *module.getBody())
    if (!isKnown(&op))
      return refuseForeign(&op);
  return checkCalls(module);
}

} // namespace tilewright
