#include "tilewright/plugin/ffi/Call.h"

#include <algorithm>

namespace tilewright::plugin::ffi {

using artifact::Attribute;
using artifact::Elements;
using numerics::ElementType;

XLA_FFI_DataType toDataType(ElementType type) {
  switch (type) {
  case ElementType::pred:
    return XLA_FFI_DataType_PRED;
  case ElementType::i2:
    return XLA_FFI_DataType_S2;
  case ElementType::i4:
    return XLA_FFI_DataType_S4;
  case ElementType::i8:
    return XLA_FFI_DataType_S8;
  case ElementType::i16:
    return XLA_FFI_DataType_S16;
  case ElementType::i32:
    return XLA_FFI_DataType_S32;
  case ElementType::i64:
    return XLA_FFI_DataType_S64;
  case ElementType::ui2:
    return XLA_FFI_DataType_U2;
  case ElementType::ui4:
    return XLA_FFI_DataType_U4;
  case ElementType::ui8:
    return XLA_FFI_DataType_U8;
  case ElementType::ui16:
    return XLA_FFI_DataType_U16;
  case ElementType::ui32:
    return XLA_FFI_DataType_U32;
  case ElementType::ui64:
    return XLA_FFI_DataType_U64;
  case ElementType::f4E2M1FN:
    return XLA_FFI_DataType_F4E2M1FN;
  case ElementType::f8E3M4:
    return XLA_FFI_DataType_F8E3M4;
  case ElementType::f8E4M3:
    return XLA_FFI_DataType_F8E4M3;
  case ElementType::f8E4M3FN:
    return XLA_FFI_DataType_F8E4M3FN;
  case ElementType::f8E4M3FNUZ:
    return XLA_FFI_DataType_F8E4M3FNUZ;
  case ElementType::f8E4M3B11FNUZ:
    return XLA_FFI_DataType_F8E4M3B11FNUZ;
  case ElementType::f8E5M2:
    return XLA_FFI_DataType_F8E5M2;
  case ElementType::f8E5M2FNUZ:
    return XLA_FFI_DataType_F8E5M2FNUZ;
  case ElementType::f8E8M0FNU:
    return XLA_FFI_DataType_F8E8M0FNU;
  case ElementType::bf16:
    return XLA_FFI_DataType_BF16;
  case ElementType::f16:
    return XLA_FFI_DataType_F16;
  case ElementType::f32:
    return XLA_FFI_DataType_F32;
  case ElementType::f64:
    return XLA_FFI_DataType_F64;
  case ElementType::c64:
    return XLA_FFI_DataType_C64;
  case ElementType::c128:
    return XLA_FFI_DataType_C128;
  default:
    return XLA_FFI_DataType_INVALID;
  }
}

Attributes::Attributes(const std::vector<Attribute> &attributes) : attrs(fill(attributes)) {}

XLA_FFI_Attrs Attributes::fill(const std::vector<Attribute> &attributes) {
  // Handlers look up attributes by their position in the sorted list of names.
  std::vector<const Attribute *> sorted;
  for (const Attribute &attribute : attributes)
    sorted.push_back(&attribute);
  std::sort(sorted.begin(), sorted.end(),
            [](const Attribute *a, const Attribute *b) { return a->name < b->name; });

  std::vector<XLA_FFI_AttrType> kinds;
  std::vector<XLA_FFI_ByteSpan *> keys;
  std::vector<void *> contents;
  auto keep = [this](const std::string &text) {
    const std::string &kept = texts.emplace_back(text);
    return &spans.emplace_back(XLA_FFI_ByteSpan{kept.data(), kept.size()});
  };
  for (const Attribute *attribute : sorted) {
    keys.push_back(keep(attribute->name));
    if (auto *text = std::get_if<std::string>(&attribute->value)) {
      kinds.push_back(XLA_FFI_AttrType_STRING);
      contents.push_back(keep(*text));
    } else if (auto *elements = std::get_if<Elements>(&attribute->value)) {
      std::vector<std::byte> &bytes = values.emplace_back(elements->bytes);
      XLA_FFI_DataType type = toDataType(elements->type);
      if (elements->isScalar) {
        kinds.push_back(XLA_FFI_AttrType_SCALAR);
        contents.push_back(&scalars.emplace_back(XLA_FFI_Scalar{type, bytes.data()}));
      } else {
        size_t count = bytes.size() / numerics::storageBytes(elements->type);
        kinds.push_back(XLA_FFI_AttrType_ARRAY);
        contents.push_back(&arrays.emplace_back(XLA_FFI_Array{type, count, bytes.data()}));
      }
    } else {
      kinds.push_back(XLA_FFI_AttrType_DICTIONARY);
      XLA_FFI_Attrs nested = fill(std::get<std::vector<Attribute>>(attribute->value));
      contents.push_back(&dictionaries.emplace_back(nested));
    }
  }

  XLA_FFI_Attrs frame = {};
  frame.struct_size = XLA_FFI_Attrs_STRUCT_SIZE;
  frame.size = static_cast<int64_t>(sorted.size());
  frame.types = types.emplace_back(std::move(kinds)).data();
  frame.names = names.emplace_back(std::move(keys)).data();
  frame.attrs = pointers.emplace_back(std::move(contents)).data();
  return frame;
}

} // namespace tilewright::plugin::ffi
