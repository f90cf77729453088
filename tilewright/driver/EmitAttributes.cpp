#include "tilewright/driver/EmitAttributes.h"

#include "tilewright/interpret/Types.h"
#include "tilewright/support/Concat.h"

#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace mlir;

namespace tilewright::driver {

template <typename T>
static artifact::Elements elementsOf(numerics::ElementType type, ArrayRef<T> values) {
  artifact::Elements elements{type, /*isScalar=*/false, {}};
  elements.bytes.resize(values.size() * sizeof(T));
  std::memcpy(elements.bytes.data(), values.data(), elements.bytes.size());
  return elements;
}

static Result<artifact::AttributeValue> toValue(StringRef name, Attribute attribute) {
  using numerics::ElementType;
  auto refuse = [&](StringRef why) {
    std::string text;
    llvm::raw_string_ostream(text) << attribute;
    return Status(Error::planAttribute,
                  concat("attribute '", name.str(), "' is ", text, ", ", why.str()));
  };
  if (auto text = dyn_cast<StringAttr>(attribute))
    return artifact::AttributeValue(text.str());
  if (auto dictionary = dyn_cast<DictionaryAttr>(attribute)) {
    TILEWRIGHT_ASSIGN(std::vector<artifact::Attribute> inner, toAttributes(dictionary));
    return artifact::AttributeValue(std::move(inner));
  }
  if (auto integers = dyn_cast<DenseI64ArrayAttr>(attribute))
    return artifact::AttributeValue(elementsOf(ElementType::i64, integers.asArrayRef()));
  if (auto integers = dyn_cast<DenseI32ArrayAttr>(attribute))
    return artifact::AttributeValue(elementsOf(ElementType::i32, integers.asArrayRef()));
  if (auto integers = dyn_cast<DenseI16ArrayAttr>(attribute))
    return artifact::AttributeValue(elementsOf(ElementType::i16, integers.asArrayRef()));
  if (auto integers = dyn_cast<DenseI8ArrayAttr>(attribute))
    return artifact::AttributeValue(elementsOf(ElementType::i8, integers.asArrayRef()));
  if (auto booleans = dyn_cast<DenseBoolArrayAttr>(attribute))
    return artifact::AttributeValue(elementsOf(ElementType::pred, booleans.asArrayRef()));
  if (auto reals = dyn_cast<DenseF32ArrayAttr>(attribute))
    return artifact::AttributeValue(elementsOf(ElementType::f32, reals.asArrayRef()));
  if (auto reals = dyn_cast<DenseF64ArrayAttr>(attribute))
    return artifact::AttributeValue(elementsOf(ElementType::f64, reals.asArrayRef()));
  if (auto elements = dyn_cast<ElementsAttr>(attribute)) {
    interpret::Context context;
    TILEWRIGHT_ASSIGN(interpret::Tensor tensor, interpret::constantTensor(elements, context));
    artifact::Elements made{tensor.type(), /*isScalar=*/false, {}};
    made.bytes.assign(tensor.data(), tensor.data() + tensor.byteCount());
    return artifact::AttributeValue(std::move(made));
  }
  // Convert a number like a tensor of one element, so that only one function encodes elements.
  if (isa<IntegerAttr, FloatAttr>(attribute)) {
    Type type = cast<TypedAttr>(attribute).getType();
    if (type.isIndex())
      type = IntegerType::get(type.getContext(), 64),
      attribute = IntegerAttr::get(type, cast<IntegerAttr>(attribute).getInt());
    if (!interpret::elementTypeOf(type))
      return refuse("whose type cannot be passed to a handler");
    TILEWRIGHT_ASSIGN(
        artifact::AttributeValue value,
        toValue(name, DenseElementsAttr::get(RankedTensorType::get({}, type), attribute)));
    std::get<artifact::Elements>(value).isScalar = true;
    return value;
  }
  return refuse("which is not a string, a number, an array of numbers or a dictionary");
}

Result<std::vector<artifact::Attribute>> toAttributes(DictionaryAttr dictionary) {
  std::vector<artifact::Attribute> attributes;
  for (NamedAttribute named : dictionary) {
    TILEWRIGHT_ASSIGN(artifact::AttributeValue value,
                      toValue(named.getName().getValue(), named.getValue()));
    attributes.push_back({named.getName().str(), std::move(value)});
  }
  return attributes;
}

} // namespace tilewright::driver
