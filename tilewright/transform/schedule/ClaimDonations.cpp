#include "tilewright/interpret/PassLog.h"
#include "tilewright/transform/schedule/BufferClasses.h"
#include "tilewright/transform/schedule/Passes.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace tilewright::schedule {

#define GEN_PASS_DEF_CLAIMDONATIONSPASS
#include "tilewright/transform/schedule/Passes.h.inc"

namespace {

/// Which parameters are donated, and which results have claimed a parameter.
class Claims {
public:
  explicit Claims(func::FuncOp function)
      : function(function), isTaken(function.getNumResults()), isGiven(function.getNumArguments()) {
  }

  bool isDonated(unsigned parameter) const {
    auto donor = function.getArgAttrOfType<BoolAttr>(parameter, "jax.buffer_donor");
    return namedResult(parameter) || (donor && donor.getValue());
  }

  /// The result that the caller wants in the parameter's memory; null if none.
  IntegerAttr namedResult(unsigned parameter) const {
    return function.getArgAttrOfType<IntegerAttr>(parameter, "tf.aliasing_output");
  }

  /// A result and a parameter of the same kind may share memory.
  using Kind = std::pair<Type, Attribute>;
  Kind kindOfResult(unsigned result) const {
    return kindOf(function.getResultTypes()[result],
                  function.getResultAttr(result, "mhlo.memory_kind"));
  }
  Kind kindOfParameter(unsigned parameter) const {
    return kindOf(function.getArgumentTypes()[parameter],
                  function.getArgAttr(parameter, "mhlo.memory_kind"));
  }

  /// Assigns the memory of the parameter to the result if the parameter is donated, their kinds
  /// match, and both are still free.
  void claim(unsigned result, unsigned parameter) {
    if (const char *why = refusal(result, parameter)) {
      TILEWRIGHT_LOG("schedule-claim-donations", function, "result ", result,
                     " does not take over parameter ", parameter, ": ", why);
      return;
    }
    TILEWRIGHT_LOG("schedule-claim-donations", function, "result ", result,
                   " takes over the memory of parameter ", parameter);
    isTaken[result] = isGiven[parameter] = true;
    function.setResultAttr(result, aliasOfAttr,
                           Builder(function.getContext()).getI64IntegerAttr(parameter));
  }

  bool isFree(unsigned result) const { return !isTaken[result]; }
  bool isUnclaimed(unsigned parameter) const { return isDonated(parameter) && !isGiven[parameter]; }

private:
  /// Why a result cannot take over the parameter's memory; null if it can.
  const char *refusal(unsigned result, unsigned parameter) const {
    if (result >= isTaken.size())
      return "the function does not have that many results";
    if (isTaken[result])
      return "the result has memory of another parameter";
    if (isGiven[parameter])
      return "another result has its memory";
    if (!isDonated(parameter))
      return "it is not donated";
    return kindOfResult(result) == kindOfParameter(parameter)
               ? nullptr
               : "their types or memory kinds differ";
  }

  Kind kindOf(Type type, Attribute memoryKind) const {
    return {type, memoryKind ? memoryKind : StringAttr::get(function.getContext(), "device")};
  }

  mutable func::FuncOp function;
  SmallVector<bool> isTaken, isGiven; // by result, by parameter
};

struct ClaimDonations : impl::ClaimDonationsPassBase<ClaimDonations> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    // Private functions are bodies of library calls; they have no plan.
    if (function.isPrivate() || function.isExternal())
      return;
    Claims claims(function);
    Block &body = function.getBody().front();
    // A parameter that is returned unchanged stays in place, even if the caller named another
    // result for it. This avoids copies, and which memory a result uses does not affect the
    // program's meaning.
    for (OpOperand &operand : body.getTerminator()->getOpOperands())
      if (auto parameter = dyn_cast<BlockArgument>(rootOf(operand.get()));
          parameter && parameter.getOwner() == &body)
        claims.claim(operand.getOperandNumber(), parameter.getArgNumber());
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (IntegerAttr named = claims.namedResult(i))
        claims.claim(static_cast<unsigned>(named.getValue().getLimitedValue(UINT32_MAX)), i);
    // Looking up free results by kind keeps this linear for thousands of parameters.
    llvm::DenseMap<Claims::Kind, SmallVector<unsigned>> freeResults;
    for (unsigned i = function.getNumResults(); i-- > 0;)
      if (claims.isFree(i))
        freeResults[claims.kindOfResult(i)].push_back(i);
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (claims.isUnclaimed(i))
        if (auto it = freeResults.find(claims.kindOfParameter(i));
            it != freeResults.end() && !it->second.empty())
          claims.claim(it->second.pop_back_val(), i);
  }
};

} // namespace
} // namespace tilewright::schedule
