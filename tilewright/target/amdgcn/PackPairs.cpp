#include "tilewright/target/amdgcn/PackPairs.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"

#include <map>
#include <tuple>
#include <vector>

using namespace llvm;

namespace tilewright::amdgcn {
namespace {

/// An operand: an element of a vector, or a value that both operations have.
struct Source {
  llvm::Value *value;
  uint64_t element = 0;
  bool isElement = false;
};

/// An operation on f32 that has a packed form. Two of them are a pair if they differ only in that
/// one reads even elements and the other one those behind.
struct PairedOperation {
  Instruction *instruction = nullptr;
  SmallVector<Source, 3> sources;
  bool isOdd = false;

  /// The part that both operations of a pair have in common.
  auto key() const {
    std::vector<std::tuple<llvm::Value *, uint64_t, bool>> operands;
    for (const Source &source : sources)
      operands.emplace_back(source.value, source.element / 2, source.isElement);
    return std::tuple(instruction->getOpcode(), operands);
  }
};

std::optional<PairedOperation> operationOf(Instruction &instruction) {
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  const bool isFma = call && call->getIntrinsicID() == Intrinsic::fma;
  const unsigned opcode = instruction.getOpcode();
  if (!instruction.getType()->isFloatTy() ||
      !(isFma || opcode == Instruction::FMul || opcode == Instruction::FAdd))
    return std::nullopt;
  PairedOperation operation{&instruction, {}};
  bool hasElements = false;
  for (unsigned i = 0; i < (isFma ? 3 : 2); ++i) {
    Source source{instruction.getOperand(i)};
    auto *extract = dyn_cast<ExtractElementInst>(source.value);
    auto *index = extract ? dyn_cast<ConstantInt>(extract->getIndexOperand()) : nullptr;
    if (index && isa<llvm::FixedVectorType>(extract->getVectorOperandType())) {
      source = {extract->getVectorOperand(), index->getZExtValue(), true};
      const bool isOdd = source.element % 2 == 1;
      if (hasElements && isOdd != operation.isOdd)
        return std::nullopt;
      operation.isOdd = isOdd;
      hasElements = true;
    }
    operation.sources.push_back(source);
  }
  return hasElements ? std::optional(operation) : std::nullopt;
}

/// Replaces a pair, of which `first` comes first, by one operation in its place: it has all
/// operands of the other one.
void join(const PairedOperation &first, const PairedOperation &second) {
  IRBuilder<> b(first.instruction);
  SmallVector<llvm::Value *, 3> operands;
  for (auto [i, source] : enumerate(first.sources)) {
    const auto even = int(source.element / 2 * 2);
    // Its operand may be the element of a pair by now.
    operands.push_back(source.isElement
                           ? b.CreateShuffleVector(source.value, {even, even + 1})
                           : b.CreateVectorSplat(2, first.instruction->getOperand(unsigned(i))));
  }
  llvm::Value *pair = operands.size() == 3
                          ? b.CreateIntrinsic(Intrinsic::fma, operands[0]->getType(), operands)
                          : b.CreateBinOp(Instruction::BinaryOps(first.instruction->getOpcode()),
                                          operands[0], operands[1]);
  for (const PairedOperation *operation : {&first, &second})
    operation->instruction->replaceAllUsesWith(
        b.CreateExtractElement(pair, uint64_t(operation->isOdd)));
}

} // namespace

PreservedAnalyses PackPairsPass::run(Function &function, FunctionAnalysisManager &) {
  SmallVector<Instruction *> replaced;
  for (BasicBlock &block : function) {
    std::map<decltype(PairedOperation().key()), PairedOperation> single;
    SmallVector<std::pair<PairedOperation, PairedOperation>> pairs;
    for (Instruction &instruction : block)
      if (std::optional<PairedOperation> operation = operationOf(instruction)) {
        auto [known, isNew] = single.try_emplace(operation->key(), *operation);
        if (isNew || known->second.isOdd == operation->isOdd)
          continue;
        pairs.push_back({known->second, *operation});
        single.erase(known);
      }
    for (const auto &[first, second] : pairs) {
      join(first, second);
      replaced.append({first.instruction, second.instruction});
    }
  }
  for (Instruction *instruction : replaced)
    instruction->eraseFromParent();
  if (replaced.empty())
    return PreservedAnalyses::all();
  PreservedAnalyses preserved;
  preserved.preserveSet<CFGAnalyses>();
  return preserved;
}

} // namespace tilewright::amdgcn
