#include "tilewright/target/cpu/emit/AttentionEmitter.h"

#include "tilewright/target/cpu/emit/BodyEmitter.h"
#include "tilewright/target/lanes/MathFunctions.h"
#include "tilewright/target/lanes/RegionEmitter.h"

#include <limits>
#include <optional>

using namespace llvm;

namespace tilewright::cpu {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// The exponent below which a weight is 0. The exponential would be subnormal, and instructions
/// with subnormal results take a hundred times as long; the scores of masked elements are all below
/// it.
constexpr double smallestExponent = -87.0;

/// An input of the score function and how it is indexed.
struct Input {
  Value *base;
  mlir::Type type;
  int64_t rowStride, columnStride;
  Lanes ofRow = {}; // the element of the row, if there is only one
};

/// The common part of all functions: loops over a block, and arguments of the scalar function.
class BlockEmitter {
public:
  BlockEmitter(LaneBuilder &builder, mlir::func::FuncOp body, Function *function)
      : b(builder), ir(builder.ir), body(body), rowBegin(function->getArg(1)),
        columnBegin(function->getArg(3)) {
    rows = ir.CreateSub(function->getArg(2), rowBegin);
    columns = ir.CreateSub(function->getArg(4), columnBegin);
    auto strides = body->getAttrOfType<mlir::DenseI64ArrayAttr>(scoreAttribute).asArrayRef();
    const size_t count = strides.size() / 2;
    for (size_t i = 0; i < count; ++i) {
      Value *base = ir.CreateLoad(ir.getPtrTy(),
                                  ir.CreateConstGEP1_64(ir.getPtrTy(), function->getArg(0), i));
      inputs.push_back({base, body.getArgumentTypes()[body.getNumArguments() - count + i],
                        strides[2 * i], strides[2 * i + 1]});
    }
    lanes = std::max(1u, b.machine.vectorBytes / 4);
  }

  LaneBuilder &b;
  IRBuilder<> &ir;
  mlir::func::FuncOp body;
  Value *rowBegin, *columnBegin, *rows, *columns;
  SmallVector<Input> inputs;
  unsigned lanes;

  /// Loads the values that are constant along a row.
  Value *beginRow(Value *rowNumber) {
    Value *row = ir.CreateAdd(rowBegin, rowNumber);
    for (Input &input : inputs)
      if (input.columnStride == 0)
        input.ofRow =
            b.load(input.type, input.base, ir.CreateMul(row, b.i64(input.rowStride)), 1, nullptr);
    return row;
  }

  void eachColumns(function_ref<void(const Columns &)> step) {
    cpu::eachColumns(b, columns, lanes, step);
  }

  /// Computes the results of the scalar function; `arguments` are those that precede the number of
  /// the query.
  SmallVector<Value *, 2> call(Value *row, const Columns &at, SmallVector<Lanes> arguments) {
    Type *word = ir.getInt32Ty();
    Value *column = ir.CreateAdd(columnBegin, at.done);
    arguments.push_back({b.splat(ir.CreateTrunc(row, word), at.width)});
    Value *key = b.splat(ir.CreateTrunc(column, word), at.width);
    if (at.width > 1)
      key = ir.CreateAdd(key, ir.CreateTrunc(b.laneNumbers(at.width), b.vectorOf(word, at.width)));
    arguments.push_back({key});
    for (const Input &input : inputs) {
      if (input.columnStride == 0) {
        arguments.push_back(b.splat(input.ofRow, at.width));
        continue;
      }
      Value *index = ir.CreateAdd(ir.CreateMul(row, b.i64(input.rowStride)), column);
      arguments.push_back(b.load(input.type, input.base, index, at.width, at.mask));
    }
    SmallVector<Lanes, 2> results =
        lanes::emitBlock(b, body.getBody().front(), arguments, at.width);
    SmallVector<Value *, 2> values;
    for (const Lanes &result : results)
      values.push_back(b.splat(result, at.width).value);
    return values;
  }
};

/// Emits ScoreFunction::Update.
class UpdateEmitter {
public:
  UpdateEmitter(LaneBuilder &builder, mlir::func::FuncOp body)
      : b(builder), ir(builder.ir), single(mlir::Float32Type::get(body.getContext())),
        weightType(body->getAttrOfType<mlir::TypeAttr>(weightAttribute).getValue()) {
    Type *pointer = ir.getPtrTy(), *word = ir.getInt64Ty();
    function = beginFunction(b, body,
                             FunctionType::get(ir.getVoidTy(),
                                               {pointer, word, word, word, word, pointer, word,
                                                pointer, word, pointer, pointer, pointer},
                                               false));
    block.emplace(b, body, function);
  }

  void emit() {
    b.loop(block->rows, [&](Value *row) { emitRow(row); });
    ir.CreateRetVoid();
  }

private:
  LaneBuilder &b;
  IRBuilder<> &ir;
  mlir::Type single, weightType;
  Function *function = nullptr;
  std::optional<BlockEmitter> block;

  Value *number(double value) { return ConstantFP::get(ir.getFloatTy(), value); }
  Value *greater(Value *a, Value *c) { return ir.CreateSelect(ir.CreateFCmpOGT(a, c), a, c); }
  /// Replaces a number that is not finite by 0.
  Value *finite(Value *value) {
    Value *size = b.intrinsic(Intrinsic::fabs, {value});
    return ir.CreateSelect(ir.CreateFCmpOLT(size, number(infinity)), value, number(0));
  }
  /// exp(x) for x of at most 0, and 0 where it is too small; NaN propagates.
  Value *weightOf(Value *x) {
    Value *isSmall = ir.CreateFCmpOLT(x, b.real(x, smallestExponent));
    Value *weight = lanes::expSingle(b, ir.CreateSelect(isSmall, b.real(x, 0), x));
    return ir.CreateSelect(isSmall, b.real(x, 0), weight);
  }

  /// Combines the lanes of a vector accumulator and the accumulator for single columns.
  Value *joined(Value *wide, Value *narrow, bool isMaximum) {
    Value *lanes = ir.CreateLoad(b.vectorOf(ir.getFloatTy(), block->lanes), wide);
    Value *one = ir.CreateLoad(ir.getFloatTy(), narrow);
    if (block->lanes == 1)
      return isMaximum ? greater(lanes, one) : ir.CreateFAdd(lanes, one);
    if (isMaximum)
      return greater(ir.CreateFPMaxReduce(lanes), one);
    auto *sum = cast<Instruction>(ir.CreateFAddReduce(number(0), lanes));
    sum->setHasAllowReassoc(true);
    return ir.CreateFAdd(sum, one);
  }

  void emitRow(Value *rowNumber) {
    Value *row = block->beginRow(rowNumber);
    Value *tile = function->getArg(5), *weights = function->getArg(7);
    Value *ofTile = ir.CreateMul(rowNumber, function->getArg(6));
    Value *ofWeights = ir.CreateMul(rowNumber, function->getArg(8));
    Value *wide = b.slot(b.vectorOf(ir.getFloatTy(), block->lanes));
    Value *narrow = b.slot(ir.getFloatTy());
    auto start = [&](double value) {
      ir.CreateStore(b.splat(number(value), block->lanes), wide);
      ir.CreateStore(number(value), narrow);
    };
    auto accumulate = [&](const Columns &at, function_ref<Value *(Value *)> combine) {
      Value *slot = at.width == block->lanes ? wide : narrow;
      Value *before = ir.CreateLoad(b.vectorOf(ir.getFloatTy(), at.width), slot);
      ir.CreateStore(combine(before), slot);
    };

    start(-infinity);
    block->eachColumns([&](const Columns &at) {
      Value *index = ir.CreateAdd(ofTile, at.done);
      Lanes product = b.load(single, tile, index, at.width, at.mask);
      Value *score = block->call(row, at, {product})[0];
      b.store({score}, single, tile, index, at.mask);
      if (at.mask)
        score = ir.CreateSelect(at.mask, score, b.real(score, -infinity));
      accumulate(at, [&](Value *before) { return greater(before, score); });
    });
    auto stateAt = [&](unsigned argument) {
      return ir.CreateGEP(ir.getFloatTy(), function->getArg(argument), rowNumber);
    };
    Value *maximumAt = stateAt(9), *sumAt = stateAt(10), *factorAt = stateAt(11);
    Value *before = ir.CreateLoad(ir.getFloatTy(), maximumAt);
    Value *maximum = greater(before, joined(wide, narrow, /*isMaximum=*/true));
    Value *base = finite(maximum);
    Value *factor = ir.CreateSelect(ir.CreateFCmpOEQ(before, number(-infinity)), number(1),
                                    weightOf(ir.CreateFSub(finite(before), base)));
    ir.CreateStore(maximum, maximumAt);
    ir.CreateStore(factor, factorAt);

    start(0);
    block->eachColumns([&](const Columns &at) {
      Lanes score = b.load(single, tile, ir.CreateAdd(ofTile, at.done), at.width, at.mask);
      Value *weight = weightOf(ir.CreateFSub(score.value, b.splat(base, at.width)));
      Value *multiplied = weight;
      // The factor does not read the product; nothing else of the function is computed again.
      if (block->body.getNumResults() > 1)
        multiplied = ir.CreateFMul(weight, block->call(row, at, {score})[1]);
      b.store({b.round(multiplied, weightType)}, weightType, weights,
              ir.CreateAdd(ofWeights, at.done), at.mask);
      if (at.mask)
        weight = ir.CreateSelect(at.mask, weight, b.real(weight, 0));
      accumulate(at, [&](Value *sum) { return ir.CreateFAdd(sum, weight); });
    });
    Value *sum = ir.CreateFMul(ir.CreateLoad(ir.getFloatTy(), sumAt), factor);
    ir.CreateStore(ir.CreateFAdd(sum, joined(wide, narrow, /*isMaximum=*/false)), sumAt);
  }
};

/// Emits ScoreFunction::IsMasked: returns at the end of the first row with a visible element.
void emitIsMasked(LaneBuilder &b, mlir::func::FuncOp body) {
  IRBuilder<> &ir = b.ir;
  Type *word = ir.getInt64Ty();
  Function *function = beginFunction(
      b, body, FunctionType::get(ir.getInt1Ty(), {ir.getPtrTy(), word, word, word, word}, false));
  // The caller is compiled from C++, in which a bool is a byte.
  function->addRetAttr(Attribute::ZExt);
  BlockEmitter block(b, body, function);
  BasicBlock *visible = BasicBlock::Create(ir.getContext(), "", function);
  b.loop(block.rows, [&](Value *rowNumber) {
    Value *row = block.beginRow(rowNumber);
    Value *any = b.slot(ir.getInt1Ty());
    ir.CreateStore(ir.getFalse(), any);
    block.eachColumns([&](const Columns &at) {
      Value *isVisible = block.call(row, at, {})[0];
      if (at.mask)
        isVisible = ir.CreateAnd(isVisible, at.mask);
      Value *some = at.width == 1 ? isVisible : ir.CreateOrReduce(isVisible);
      ir.CreateStore(ir.CreateOr(ir.CreateLoad(ir.getInt1Ty(), any), some), any);
    });
    BasicBlock *next = BasicBlock::Create(ir.getContext(), "", function);
    ir.CreateCondBr(ir.CreateLoad(ir.getInt1Ty(), any), visible, next);
    ir.SetInsertPoint(next);
  });
  ir.CreateRet(ir.getTrue());
  ir.SetInsertPoint(visible);
  ir.CreateRet(ir.getFalse());
}

/// Emits GradientFunction::Compute.
void emitGradients(LaneBuilder &b, mlir::func::FuncOp body) {
  IRBuilder<> &ir = b.ir;
  Type *pointer = ir.getPtrTy(), *word = ir.getInt64Ty();
  Function *function = beginFunction(b, body,
                                     FunctionType::get(ir.getVoidTy(),
                                                       {pointer, word, word, word, word, pointer,
                                                        pointer, word, pointer, pointer, pointer},
                                                       false));
  auto types = body->getAttrOfType<mlir::ArrayAttr>(gradientAttribute);
  mlir::Type single = mlir::Float32Type::get(body.getContext());
  BlockEmitter block(b, body, function);
  b.loop(block.rows, [&](Value *rowNumber) {
    Value *row = block.beginRow(rowNumber);
    Value *ofTile = ir.CreateMul(rowNumber, function->getArg(7));
    Lanes rowDot = b.load(single, function->getArg(8), rowNumber, 1, nullptr);
    block.eachColumns([&](const Columns &at) {
      Value *index = ir.CreateAdd(ofTile, at.done);
      SmallVector<Lanes> arguments;
      for (unsigned argument : {5u, 6u})
        arguments.push_back(b.load(single, function->getArg(argument), index, at.width, at.mask));
      arguments.push_back(b.splat(rowDot, at.width));
      // Read all inputs before writing any result, because a result may be in the memory of a
      // product.
      for (auto [number, value] : enumerate(block.call(row, at, arguments))) {
        mlir::Type type = cast<mlir::TypeAttr>(types[number]).getValue();
        b.store({b.round(value, type)}, type, function->getArg(9 + unsigned(number)), index,
                at.mask);
      }
    });
  });
  ir.CreateRetVoid();
}

} // namespace

void emitScore(LaneBuilder &builder, mlir::func::FuncOp function) {
  if (function->hasAttr(weightAttribute))
    UpdateEmitter(builder, function).emit();
  else if (function->hasAttr(gradientAttribute))
    emitGradients(builder, function);
  else
    emitIsMasked(builder, function);
}

} // namespace tilewright::cpu
