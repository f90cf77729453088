// Constraints of composite, custom_call, infeed, send and recv. SymbolUses.cpp checks their
// symbols.
#include "tilewright/dialect/stablehlo/Collectives.h"
#include "tilewright/dialect/stablehlo/ReplicaGroups.h"
#include "tilewright/dialect/stablehlo/ops/CallOps.h"
#include "tilewright/dialect/stablehlo/verify/VerifyRules.h"

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tilewright::stablehlo;

//===----------------------------------------------------------------------===//
// composite
//===----------------------------------------------------------------------===//

/// Whether `name` begins with a letter and consists of at least two words separated by dots, such
/// as `chlo.top_k`.
static bool isNamespacedName(StringRef name) {
  auto [space, rest] = name.split('.');
  auto isWord = [](StringRef word, StringRef alsoAllowed) {
    return !word.empty() && llvm::all_of(word, [&](char c) {
      return llvm::isAlnum(c) || c == '_' || alsoAllowed.contains(c);
    });
  };
  if (!isWord(space, "") || !llvm::isAlpha(space.front()))
    return false;
  do {
    StringRef word;
    std::tie(word, rest) = rest.split('.');
    if (!isWord(word, "$"))
      return false;
  } while (!rest.empty());
  return !name.ends_with(".");
}

LogicalResult CompositeOp::verify() {
  if (!isNamespacedName(getName())) { // composite_c1
    InFlightDiagnostic diag = emitOpError()
                              << "name must be a namespace and a name separated by a dot, got \""
                              << getName() << "\"";
    diag.attachNote() << "for example \"my_namespace.my_op\"";
    return diag;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// custom_call
//===----------------------------------------------------------------------===//

/// Checks that there is one layout for each of `types`, a permutation of its dimensions.
static LogicalResult verifyLayouts(Operation *op, StringRef kind, TypeRange types,
                                   ArrayAttr layouts) {
  if (types.size() != layouts.size())
    return op->emitOpError() << "must have one layout for each " << kind << ", got "
                             << layouts.size() << " for " << types.size();
  for (auto [index, type, attr] : llvm::enumerate(types, layouts)) {
    if (isa<TupleType>(type))
      continue; // the op cannot express the layouts of its elements
    auto shaped = dyn_cast<ShapedType>(type);
    int64_t rank = shaped && shaped.hasRank() ? shaped.getRank() : 0;
    auto layout = cast<DenseIntElementsAttr>(attr);
    llvm::SmallBitVector seen(rank);
    bool isPermutation = layout.getType().getRank() == 1 && layout.getType().getDimSize(0) == rank;
    if (isPermutation)
      for (const APInt &dim : layout.getValues<APInt>()) {
        isPermutation = dim.ult(rank) && !seen.test(dim.getZExtValue());
        if (!isPermutation)
          break;
        seen.set(dim.getZExtValue());
      }
    if (!isPermutation)
      return op->emitOpError() << "layout of " << kind << " " << index << " must list each of its "
                               << rank << " dimensions once, got " << layout;
  }
  return success();
}

/// The part of `type` that the tuple indices `indices` select, or null if an index is out of range.
static Type tuplePart(Type type, ArrayRef<int64_t> indices) {
  for (int64_t index : indices) {
    auto tuple = dyn_cast<TupleType>(type);
    if (!tuple || index < 0 || index >= static_cast<int64_t>(tuple.size()))
      return {};
    type = tuple.getType(index);
  }
  return type;
}

/// Checks that an alias connects two existing parts of the same type.
static LogicalResult verifyAlias(CustomCallOp op, OutputOperandAliasAttr alias) {
  int64_t operand = alias.getOperandIndex();
  if (operand < 0 || operand >= static_cast<int64_t>(op.getInputs().size()))
    return op.emitOpError() << "operand_index of an alias must be the index of an operand, in [0, "
                            << op.getInputs().size() << "), got " << operand;
  Type input = tuplePart(op.getInputs()[operand].getType(), alias.getOperandTupleIndices());
  if (!input)
    return op.emitOpError() << "operand_tuple_indices of an alias must select a part of operand "
                            << operand << ", got " << shapeText(alias.getOperandTupleIndices());
  // Several results are treated as a tuple.
  Type results = op.getNumResults() == 1
                     ? op.getResult(0).getType()
                     : Type(TupleType::get(op.getContext(), op.getResultTypes()));
  Type output = tuplePart(results, alias.getOutputTupleIndices());
  if (!output)
    return op.emitOpError()
           << "output_tuple_indices of an alias must select a part of the results, got "
           << shapeText(alias.getOutputTupleIndices());
  if (input != output)
    return op.emitOpError() << "an alias must connect parts of the same type, got " << input
                            << " and " << output;
  return success();
}

/// Written as a custom call, but treated as an op of the program: all stages know its shapes.
static LogicalResult verifyRaggedAllToAll(CustomCallOp op) {
  if (op->getNumOperands() != 6 || op->getNumResults() != 1)
    return op.emitOpError() << "@ragged_all_to_all must have 6 operands and 1 result, got "
                            << op->getNumOperands() << " and " << op->getNumResults();
  SmallVector<RankedTensorType> types;
  for (Type type : op->getOperandTypes()) {
    types.push_back(dyn_cast<RankedTensorType>(type));
    if (!types.back() || !types.back().hasStaticShape())
      return op.emitOpError() << "@ragged_all_to_all must have operands of static shapes, got "
                              << type;
  }
  if (types[0].getRank() == 0 || types[1].getRank() == 0 || types[1] != op.getResult(0).getType() ||
      types[0].getElementType() != types[1].getElementType() ||
      types[0].getShape().drop_front() != types[1].getShape().drop_front())
    return op.emitOpError() << "@ragged_all_to_all must send rows of the result's type, got "
                            << types[0] << ", " << types[1] << " and " << op.getResult(0).getType();
  for (RankedTensorType list : ArrayRef(types).drop_front(2))
    if (list.getRank() != 1 || list.getDimSize(0) < 1 || !list.getElementType().isInteger() ||
        list.getElementTypeBitWidth() < 8 || list.getDimSize(0) != types[2].getDimSize(0))
      return op.emitOpError() << "@ragged_all_to_all must have four lists of the same length with "
                                 "integers of at least 8 bits, got "
                              << types[2] << " and " << list;
  DictionaryAttr config = raggedConfigOf(op);
  auto groups = config ? config.getAs<DenseIntElementsAttr>("replica_groups") : nullptr;
  if (!groups || !groups.getElementType().isInteger(64))
    return op.emitOpError() << "@ragged_all_to_all must have replica_groups, 64-bit integers, in "
                               "its backend_config";
  FailureOr<std::optional<int64_t>> size =
      verifyReplicaGroups(op, groups, GroupRules::equalAndComplete);
  if (failed(size))
    return failure();
  if (*size && types[2].getDimSize(0) % **size != 0)
    return op.emitOpError() << "@ragged_all_to_all must have lists whose length is a multiple of "
                               "the size of a group, got "
                            << types[2].getDimSize(0) << " and " << **size;
  return success();
}

LogicalResult CustomCallOp::verify() {
  if (isRaggedAllToAll(*this) && failed(verifyRaggedAllToAll(*this)))
    return failure();
  if (getOperandLayoutsAttr() || getResultLayoutsAttr()) {
    if (!getOperandLayoutsAttr() || !getResultLayoutsAttr())
      return emitOpError() << "must have both operand_layouts and result_layouts or neither, got "
                           << (getOperandLayoutsAttr() ? "operand_layouts" : "result_layouts")
                           << " only";
    TypeRange results = getResultTypes();
    if (results.size() == 1)
      if (auto tuple = dyn_cast<TupleType>(results.front()))
        results = tuple.getTypes();
    if (failed(verifyLayouts(*this, "operand", getOperandTypes(), getOperandLayoutsAttr())) ||
        failed(verifyLayouts(*this, "result", results, getResultLayoutsAttr())))
      return failure();
  }
  if (ArrayAttr aliases = getOutputOperandAliasesAttr())
    for (auto alias : aliases.getAsRange<OutputOperandAliasAttr>())
      if (failed(verifyAlias(*this, alias)))
        return failure();
  Attribute config = getBackendConfigAttr();
  bool isTyped = getApiVersion() == CustomCallApiVersion::API_VERSION_TYPED_FFI;
  if (config && isTyped != isa<DictionaryAttr>(config)) {
    InFlightDiagnostic diag = emitOpError()
                              << "backend_config must be a " << (isTyped ? "dictionary" : "string")
                              << " for api_version " << static_cast<uint32_t>(getApiVersion())
                              << ", got " << config;
    diag.attachNote() << "api_version 4 requires a dictionary, earlier versions a string";
    return diag;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// infeed, send, recv
//===----------------------------------------------------------------------===//

/// Checks that the results are any number of tensors followed by a token.
static LogicalResult verifyTensorsThenToken(Operation *op) {
  if (op->getNumResults() == 0) // infeed_c1
    return op->emitOpError() << "must have at least one result, the token, got none";
  for (auto [index, type] : llvm::enumerate(op->getResultTypes())) {
    bool isLast = index + 1 == op->getNumResults();
    if (isLast && !isa<TokenType>(type)) // infeed_c3
      return op->emitOpError() << "last result must be a token, got " << type;
    if (!isLast && !isa<RankedTensorType>(type)) // infeed_c2
      return op->emitOpError() << "results before the token must be tensors, got " << type
                               << " as result " << index;
  }
  return success();
}

LogicalResult InfeedOp::verify() {
  if (failed(verifyTensorsThenToken(*this)))
    return failure();
  ArrayAttr layout = getLayoutAttr();
  if (!layout)
    return success();
  if (layout.size() != getNumResults() - 1)
    return emitOpError() << "must have one layout for each tensor, got " << layout.size() << " for "
                         << getNumResults() - 1;
  for (Attribute entry : layout) {
    auto dims = dyn_cast<ArrayAttr>(entry);
    if (!dims || !llvm::all_of(dims, llvm::IsaPred<IntegerAttr>))
      return emitOpError() << "a layout must be an array of integers, got " << entry;
  }
  return success();
}

namespace {
/// The channel types, as numbered in artifacts.
enum ChannelType : int64_t { deviceToDevice = 1, deviceToHost = 2, hostToDevice = 3 };
} // namespace

LogicalResult SendOp::verify() {
  // send_c1, send_c2, send_c3, send_c4
  if (auto pairs = getSourceTargetPairsAttr();
      pairs && failed(verifySourceTargetPairs(*this, pairs)))
    return failure();
  int64_t expected = getIsHostTransfer() ? deviceToHost : deviceToDevice;
  if (getChannelHandle().getType() != expected) // send_c5
    return emitOpError() << "channel type must be " << expected
                         << (getIsHostTransfer() ? " (device to host)" : " (device to device)")
                         << " to match is_host_transfer, got " << getChannelHandle().getType();
  return success();
}

LogicalResult RecvOp::verify() {
  // recv_c1, recv_c2, recv_c3, recv_c4
  if (auto pairs = getSourceTargetPairsAttr();
      pairs && failed(verifySourceTargetPairs(*this, pairs)))
    return failure();
  // recv_c5: the specification requires device to host here. Producers write host to device, the
  // actual direction; both are accepted.
  int64_t type = getChannelHandle().getType();
  bool isRight =
      getIsHostTransfer() ? type == deviceToHost || type == hostToDevice : type == deviceToDevice;
  if (!isRight)
    return emitOpError() << "channel type must be "
                         << (getIsHostTransfer() ? "3 (host to device)" : "1 (device to device)")
                         << " to match is_host_transfer, got " << type;
  return verifyTensorsThenToken(*this);
}
