#include "tilewright/runtime/cpu/object/ScalarCalls.h"

#include <algorithm>
#include <optional>

namespace tilewright::runtime::cpu {

using numerics::ElementType;
using numerics::Operation;
using numerics::Scalar;
using numerics::ScalarOp;

static std::optional<ScalarOp> operationNamed(std::string_view name) {
  static constexpr std::string_view names[] = {
#define TILEWRIGHT_SCALAR_OP(name, arity) #name,
#include "tilewright/numerics/scalar/Operations.def"
  };
  const auto *found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names))
    return std::nullopt;
  return static_cast<ScalarOp>(found - std::begin(names));
}

/// Finds a type by its C++ name, which contains only characters that are valid in symbols.
static std::optional<ElementType> typeNamed(std::string_view name) {
  static constexpr std::string_view names[] = {
#define TILEWRIGHT_ELEMENT_TYPE(name, spelling, kind, bits) #name,
#include "tilewright/numerics/ElementTypes.def"
  };
  const auto *found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names))
    return std::nullopt;
  return static_cast<ElementType>(found - std::begin(names));
}

static std::optional<ScalarRecord> recordNamed(std::string_view symbol) {
  constexpr std::string_view prefix = "tw_scalar_record.";
  if (!symbol.starts_with(prefix))
    return std::nullopt;
  symbol.remove_prefix(prefix.size());
  const size_t first = symbol.find('.'), second = symbol.find('.', first + 1);
  if (first == symbol.npos || second == symbol.npos)
    return std::nullopt;
  const std::optional<ScalarOp> op = operationNamed(symbol.substr(0, first));
  const std::optional<ElementType> operand =
      typeNamed(symbol.substr(first + 1, second - first - 1));
  const std::optional<ElementType> result = typeNamed(symbol.substr(second + 1));
  if (!op || !operand || !result)
    return std::nullopt;
  // The table of operations accepts any result type for these, so check it here.
  if (*op == ScalarOp::toBits && *result != numerics::resultTypeOf(*op, *operand))
    return std::nullopt;
  if (*op == ScalarOp::fromBits && *operand != numerics::resultTypeOf(ScalarOp::toBits, *result))
    return std::nullopt;
  const Operation operation = numerics::operationFor(*op, *operand, *result);
  if (!operation)
    return std::nullopt;
  ScalarRecord record{operation,
                      static_cast<uint8_t>(numerics::arityOf(*op)),
                      {*operand, *operand, *operand},
                      *result};
  if (*op == ScalarOp::select)
    record.operands[0] = ElementType::pred;
  if (*op == ScalarOp::reducePrecision)
    record.operands[1] = record.operands[2] = ElementType::i32;
  return record;
}

const ScalarRecord *ScalarRecords::find(std::string_view symbol) {
  auto [place, isNew] = byName.try_emplace(std::string(symbol), nullptr);
  if (isNew)
    if (std::optional<ScalarRecord> record = recordNamed(symbol))
      place->second = &records.emplace_back(*record);
  return place->second;
}

} // namespace tilewright::runtime::cpu

using namespace tilewright::numerics;
using tilewright::runtime::cpu::ScalarRecord;

void tw_scalar_call(const ScalarRecord *record, const void *a, const void *b, const void *c,
                    void *out) {
  const void *const addresses[3] = {a, b, c};
  Scalar operands[3];
  for (unsigned i = 0; i < record->arity; ++i)
    operands[i] = loadScalar(record->operands[i], static_cast<const std::byte *>(addresses[i]));
  storeScalar(record->result, static_cast<std::byte *>(out),
              record->operation(operands[0], operands[1], operands[2]));
}

void tw_scalar_calls(const ScalarRecord *record, const void *a, const void *b, const void *c,
                     void *out, int64_t count) {
  // Process blocks, because loading many contiguous elements at once is much faster than one at a
  // time.
  constexpr int64_t pieceSize = 64;
  const void *const addresses[3] = {a, b, c};
  Scalar operands[3][pieceSize], results[pieceSize];
  for (int64_t begin = 0; begin < count; begin += pieceSize) {
    const int64_t size = std::min(pieceSize, count - begin);
    for (unsigned i = 0; i < record->arity; ++i)
      loadScalars(record->operands[i],
                  static_cast<const std::byte *>(addresses[i]) +
                      begin * tilewright::numerics::storageBytes(record->operands[i]),
                  size, operands[i]);
    for (int64_t i = 0; i < size; ++i)
      results[i] = record->operation(operands[0][i], operands[1][i], operands[2][i]);
    storeScalars(record->result,
                 static_cast<std::byte *>(out) +
                     begin * tilewright::numerics::storageBytes(record->result),
                 size, results);
  }
}
