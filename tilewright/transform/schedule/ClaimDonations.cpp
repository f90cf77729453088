#include "tilewright/transform/schedule/Passes.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace tilewright::schedule {

#define GEN_PASS_DEF_CLAIMDONATIONSPASS
#include "tilewright/transform/schedule/Passes.h.inc"

namespace {

constexpr llvm::StringLiteral aliasOf = "exec.alias_of";

struct ClaimDonations : impl::ClaimDonationsPassBase<ClaimDonations> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    Builder builder(&getContext());
    SmallVector<bool> taken(function.getNumResults());
    auto claim = [&](unsigned result, unsigned parameter) {
      taken[result] = true;
      function.setResultAttr(result, aliasOf, builder.getI64IntegerAttr(parameter));
    };

    SmallVector<unsigned> donors;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      if (auto named = function.getArgAttrOfType<IntegerAttr>(i, "tf.aliasing_output")) {
        uint64_t result = named.getValue().getZExtValue();
        if (result < taken.size() && !taken[result] &&
            function.getResultTypes()[result] == function.getArgumentTypes()[i])
          claim(result, i);
      } else if (auto donor = function.getArgAttrOfType<BoolAttr>(i, "jax.buffer_donor");
                 donor && donor.getValue()) {
        donors.push_back(i);
      }
    }
    // One map from type to free results keeps this linear for a thousand parameters.
    llvm::DenseMap<Type, SmallVector<unsigned>> freeResults;
    for (unsigned i = function.getNumResults(); i-- > 0;)
      if (!taken[i])
        freeResults[function.getResultTypes()[i]].push_back(i);
    for (unsigned donor : donors)
      if (auto it = freeResults.find(function.getArgumentTypes()[donor]);
          it != freeResults.end() && !it->second.empty())
        claim(it->second.pop_back_val(), donor);
  }
};

} // namespace
} // namespace tilewright::schedule
