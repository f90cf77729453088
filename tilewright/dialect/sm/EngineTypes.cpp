// The types of buffers and channels, and the syntax that ODS cannot express.
#include "tilewright/dialect/sm/SmDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace tilewright::sm;

Type BufferType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type element;
  StringRef space;
  LayoutAttr layout;
  SMLoc place;
  if (parser.parseLess() || parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(element) || parser.parseComma() || parser.getCurrentLocation(&place) ||
      parser.parseKeyword(&space) || parser.parseComma())
    return {};
  std::optional<Space> kind = symbolizeSpace(space);
  if (!kind) {
    parser.emitError(place, "expected `shared` or `tensor`, got ") << space;
    return {};
  }
  if (parser.parseCustomAttributeWithFallback(layout) || parser.parseGreater())
    return {};
  return BufferType::getChecked([&] { return parser.emitError(parser.getNameLoc()); },
                                parser.getContext(), ArrayRef<int64_t>(shape), element, *kind,
                                layout);
}

void BufferType::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printDimensionList(getShape());
  printer << "x" << getElementType() << ", " << stringifySpace(getSpace()) << ", ";
  printer.printStrippedAttrOrType(getLayout());
  printer << ">";
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape, Type element, Space space,
                                 LayoutAttr layout) {
  if (!element.isIntOrFloat())
    return emitError() << "a buffer must have an integer or float element type, got " << element;
  if (failed(layout.verifyEncoding(shape, element, emitError)))
    return failure();
  for (Axis axis : {Axis::reg, Axis::lane, Axis::warp, Axis::group})
    if (layout.getValue().extent(axis) != 1)
      return emitError() << "a buffer must have a memory layout, got a layout with axis "
                         << nameOf(axis);
  bool tensorAxes = layout.getValue().extent(Axis::tmemLane) > 1 ||
                    layout.getValue().extent(Axis::tmemColumn) > 1;
  if (tensorAxes != (space == Space::tensor) && layout.getValue().extent(Axis::offset) > 1)
    return emitError() << "a buffer in " << stringifySpace(space)
                       << " memory must have a layout of " << stringifySpace(space)
                       << " memory, got " << layout;
  return success();
}

int64_t BufferType::getBytes() const {
  const Layout &layout = getLayout().getValue();
  int64_t elements = layout.extent(Axis::offset);
  if (Pad pad = layout.getPad(); pad.interval)
    elements += (elements - 1) / pad.interval * pad.amount;
  // An element of less than a byte occupies a whole byte, as in memory.
  const int64_t bits = std::max<int64_t>(8, getElementType().getIntOrFloatBitWidth());
  return elements * bits / 8;
}

Type ChannelType::parse(AsmParser &parser) {
  SmallVector<BufferType> buffers;
  if (parser.parseLess())
    return {};
  if (succeeded(parser.parseOptionalGreater()))
    return ChannelType::get(parser.getContext(), {});
  if (parser.parseCommaSeparatedList(
          [&] { return parser.parseCustomTypeWithFallback(buffers.emplace_back()); }) ||
      parser.parseGreater())
    return {};
  return ChannelType::get(parser.getContext(), buffers);
}

void ChannelType::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleaveComma(getBuffers(), printer,
                        [&](BufferType buffer) { printer.printStrippedAttrOrType(buffer); });
  printer << ">";
}

//===- Acquire, take ------------------------------------------------------===//

static LogicalResult inferBuffers(ValueRange operands, SmallVectorImpl<Type> &types) {
  auto channel =
      operands.size() == 1 ? dyn_cast<ChannelType>(operands[0].getType()) : ChannelType();
  if (!channel)
    return failure();
  llvm::append_range(types, channel.getBuffers());
  return success();
}

LogicalResult AcquireOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                          ValueRange operands, DictionaryAttr, OpaqueProperties,
                                          RegionRange, SmallVectorImpl<Type> &types) {
  return inferBuffers(operands, types);
}

LogicalResult TakeOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange operands,
                                       DictionaryAttr, OpaqueProperties, RegionRange,
                                       SmallVectorImpl<Type> &types) {
  return inferBuffers(operands, types);
}

//===- Mma ----------------------------------------------------------------===//

ParseResult MmaOp::parse(OpAsmParser &parser, OperationState &state) {
  StringRef word;
  SMLoc place = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<Atom> atom = symbolizeAtom(word);
  if (!atom)
    return parser.emitError(place, "expected `mma_sync`, `wgmma` or `tcgen05`, got ") << word;
  state.getOrAddProperties<Properties>().atom = AtomAttr::get(parser.getContext(), *atom);
  OpAsmParser::UnresolvedOperand lhs, rhs, acc, into, zero, lhsScale, rhsScale;
  bool hasAcc = false, hasInto = false, hasZero = false, hasScales = false;
  if (parser.parseOperand(lhs) || parser.parseComma() || parser.parseOperand(rhs))
    return failure();
  if (succeeded(parser.parseOptionalComma())) {
    hasAcc = true;
    if (parser.parseOperand(acc))
      return failure();
  } else if (succeeded(parser.parseOptionalKeyword("into"))) {
    hasInto = true;
    if (parser.parseOperand(into))
      return failure();
    if (succeeded(parser.parseOptionalKeyword("zero"))) {
      hasZero = true;
      if (parser.parseOperand(zero))
        return failure();
    }
  }
  if (succeeded(parser.parseOptionalKeyword("scales"))) {
    hasScales = true;
    if (parser.parseOperand(lhsScale) || parser.parseComma() || parser.parseOperand(rhsScale))
      return failure();
  }
  Type lhsType, rhsType, resultType, lhsScaleType, rhsScaleType;
  if (parser.parseOptionalAttrDict(state.attributes) || parser.parseColonType(lhsType) ||
      parser.parseComma() || parser.parseType(rhsType) ||
      (hasInto ? parser.parseComma() : parser.parseArrow()) || parser.parseType(resultType) ||
      (hasScales && (parser.parseComma() || parser.parseType(lhsScaleType) || parser.parseComma() ||
                     parser.parseType(rhsScaleType))))
    return failure();
  if (parser.resolveOperand(lhs, lhsType, state.operands) ||
      parser.resolveOperand(rhs, rhsType, state.operands) ||
      (hasAcc && parser.resolveOperand(acc, resultType, state.operands)) ||
      (hasInto && parser.resolveOperand(into, resultType, state.operands)) ||
      (hasZero && parser.resolveOperand(zero, parser.getBuilder().getI1Type(), state.operands)) ||
      (hasScales && (parser.resolveOperand(lhsScale, lhsScaleType, state.operands) ||
                     parser.resolveOperand(rhsScale, rhsScaleType, state.operands))))
    return failure();
  state.getOrAddProperties<Properties>().setOperandSegmentSizes(
      {1, 1, hasAcc, hasInto, hasZero, hasScales, hasScales});
  if (!hasInto)
    state.addTypes(resultType);
  return success();
}

void MmaOp::print(OpAsmPrinter &printer) {
  printer << " " << stringifyAtom(getAtom()) << " " << getLhs() << ", " << getRhs();
  if (getAcc())
    printer << ", " << getAcc();
  if (getInto())
    printer << " into " << getInto();
  if (getZero())
    printer << " zero " << getZero();
  if (getLhsScale())
    printer << " scales " << getLhsScale() << ", " << getRhsScale();
  printer.printOptionalAttrDict((*this)->getAttrs(), {"atom", "operandSegmentSizes"});
  printer << " : " << getLhs().getType() << ", " << getRhs().getType();
  if (getInto())
    printer << ", " << getInto().getType();
  else
    printer << " -> " << getResult().getType();
  if (getLhsScale())
    printer << ", " << getLhsScale().getType() << ", " << getRhsScale().getType();
}
