// PackPairs: one instruction for two f32 (v_pk_fma_f32, v_pk_mul_f32, v_pk_add_f32) instead of two.
#ifndef TILEWRIGHT_TARGET_AMDGCN_PACKPAIRS_H
#define TILEWRIGHT_TARGET_AMDGCN_PACKPAIRS_H

#include "llvm/IR/PassManager.h"

namespace tilewright::amdgcn {

/// Joins equal operations on two neighbours of a vector. Sums of MFMA are such vectors, and LLVM's
/// vectorizer does not look behind functions that have no vector form, such as exponentials.
struct PackPairsPass : llvm::PassInfoMixin<PackPairsPass> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

} // namespace tilewright::amdgcn

#endif // TILEWRIGHT_TARGET_AMDGCN_PACKPAIRS_H
