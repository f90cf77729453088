#include "tilewright/target/cpu/emit/EpilogueEmitter.h"

#include "tilewright/target/cpu/emit/BodyEmitter.h"
#include "tilewright/target/lanes/RegionEmitter.h"

using namespace llvm;

namespace tilewright::cpu {

namespace {

/// A buffer of the epilogue and how it is indexed.
struct Buffer {
  Value *base;
  mlir::Type type;
  int64_t rowStride, columnStride;
  Lanes early = {}; // the element of the row, if there is only one

  Value *indexOf(LaneBuilder &b, Value *row, Value *column) const {
    Value *index = rowStride ? b.ir.CreateMul(row, b.i64(rowStride)) : b.i64(0);
    return columnStride ? b.ir.CreateAdd(index, column) : index;
  }
};

} // namespace

void emitEpilogue(LaneBuilder &b, mlir::func::FuncOp body) {
  IRBuilder<> &ir = b.ir;
  Type *pointer = ir.getPtrTy(), *word = ir.getInt64Ty();
  Function *function = beginFunction(
      b, body,
      FunctionType::get(ir.getVoidTy(), {pointer, word, word, word, word, pointer, word}, false));
  Value *rowBegin = function->getArg(1), *columnBegin = function->getArg(3);
  Value *tile = function->getArg(5), *tileStride = function->getArg(6);
  Value *rows = ir.CreateSub(function->getArg(2), rowBegin);
  Value *columns = ir.CreateSub(function->getArg(4), columnBegin);

  SmallVector<Buffer> buffers;
  auto strides = body->getAttrOfType<mlir::DenseI64ArrayAttr>(epilogueAttribute).asArrayRef();
  auto addBuffer = [&](mlir::Type type) {
    const size_t number = buffers.size();
    Value *base = ir.CreateLoad(pointer, ir.CreateConstGEP1_64(pointer, function->getArg(0),
                                                               static_cast<uint64_t>(number)));
    buffers.push_back({base, type, strides[2 * number], strides[2 * number + 1]});
  };
  mlir::Type sums = body.getArgumentTypes().front();
  for (mlir::Type type : body.getArgumentTypes().drop_front())
    addBuffer(type);
  const size_t inputs = buffers.size();
  for (mlir::Type type : body.getResultTypes())
    addBuffer(type);

  const auto lanes =
      std::max(1u, b.machine.vectorBytes / static_cast<unsigned>(lanes::storageBytes(sums)));
  auto emitColumns = [&](Value *row, Value *rowOfTile, const Columns &at) {
    const auto [done, width, mask] = at;
    Value *column = ir.CreateAdd(columnBegin, done);
    SmallVector<Lanes> arguments = {b.load(sums, tile, ir.CreateAdd(rowOfTile, done), width, mask)};
    for (const Buffer &input : ArrayRef(buffers).take_front(inputs))
      arguments.push_back(
          input.columnStride == 0
              ? b.splat(input.early, width)
              : b.load(input.type, input.base, input.indexOf(b, row, column), width, mask));
    // Read all inputs before writing any output, because they may alias.
    SmallVector<Lanes, 2> results = lanes::emitBlock(b, body.getBody().front(), arguments, width);
    for (auto [output, value] : zip(ArrayRef(buffers).drop_front(inputs), results))
      b.store(b.splat(value, width), output.type, output.base, output.indexOf(b, row, column),
              mask);
  };

  b.loop(rows, [&](Value *rowNumber) {
    Value *row = ir.CreateAdd(rowBegin, rowNumber);
    Value *rowOfTile = ir.CreateMul(rowNumber, tileStride);
    for (Buffer &input : MutableArrayRef(buffers).take_front(inputs))
      if (input.columnStride == 0)
        input.early = b.load(input.type, input.base, input.indexOf(b, row, nullptr), 1, nullptr);
    eachColumns(b, columns, lanes, [&](const Columns &at) { emitColumns(row, rowOfTile, at); });
  });
  ir.CreateRetVoid();
}

} // namespace tilewright::cpu
