#include "tilewright/dialect/exec/ExecDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright;

template <typename Kind>
static FailureOr<Kind> parseName(AsmParser &parser, std::optional<Kind> (*named)(std::string_view),
                                 const char *what) {
  const SMLoc at = parser.getCurrentLocation();
  std::string name;
  if (failed(parser.parseKeywordOrString(&name)))
    return failure();
  if (std::optional<Kind> kind = named(name))
    return *kind;
  return parser.emitError(at, "unknown ") << what << " '" << name << "'";
}

// The textual IR writes collectives, reductions and the enumerators of library calls as keywords.
template <> struct mlir::FieldParser<numerics::CollectiveKind> {
  static FailureOr<numerics::CollectiveKind> parse(AsmParser &parser) {
    return parseName(parser, numerics::collectiveNamed, "collective");
  }
};
template <> struct mlir::FieldParser<numerics::ReductionKind> {
  static FailureOr<numerics::ReductionKind> parse(AsmParser &parser) {
    return parseName(parser, numerics::reductionNamed, "reduction");
  }
};
#define TILEWRIGHT_ENUMERATOR(enumerator, name)
#define TILEWRIGHT_LIBRARY_ENUM(Enum, ...)                                                         \
  template <> struct mlir::FieldParser<numerics::Enum> {                                           \
    static FailureOr<numerics::Enum> parse(AsmParser &parser) {                                    \
      return parseName(parser, numerics::enumNamed<numerics::Enum>, #Enum);                        \
    }                                                                                              \
  };
#include "tilewright/numerics/LibraryEnums.def"

namespace tilewright::numerics {
#define TILEWRIGHT_ENUMERATOR(enumerator, name)
#define TILEWRIGHT_LIBRARY_ENUM(Enum, ...)                                                         \
  static AsmPrinter &operator<<(AsmPrinter &printer, Enum value) {                                 \
    return printer << StringRef(nameOf(value));                                                    \
  }
#include "tilewright/numerics/LibraryEnums.def"

static AsmPrinter &operator<<(AsmPrinter &printer, CollectiveKind kind) {
  return printer << StringRef(nameOf(kind));
}
static AsmPrinter &operator<<(AsmPrinter &printer, ReductionKind kind) {
  return printer << StringRef(nameOf(kind));
}
} // namespace tilewright::numerics

#include "tilewright/dialect/exec/ExecDialect.cpp.inc"
#include "tilewright/dialect/exec/ExecEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "tilewright/dialect/exec/ExecAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "tilewright/dialect/exec/ExecOps.cpp.inc"

namespace tilewright::exec {

void ExecDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tilewright/dialect/exec/ExecAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tilewright/dialect/exec/ExecOps.cpp.inc"
      >();
  addLibraryOps();
}

LogicalResult FusionOp::verify() {
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("expects one block argument of the same type for each input, got ")
           << block.getArgumentTypes() << " for " << getInputs().getTypes();
  auto yield = cast<YieldOp>(block.getTerminator());
  if (yield.getValues().getTypes() != getResults().getTypes())
    return emitOpError("yields ") << yield.getValues().getTypes() << ", but its results have types "
                                  << getResults().getTypes();
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Operation *kernel = symbols.lookupNearestSymbolFrom(*this, getKernelAttr());
  if (!kernel)
    return emitOpError("launches '") << getKernel() << "', which is not in the module";
  return success();
}

} // namespace tilewright::exec
