// ScalarCalls: operations for which generated code has no instructions.
#ifndef TILEWRIGHT_RUNTIME_CPU_OBJECT_SCALARCALLS_H
#define TILEWRIGHT_RUNTIME_CPU_OBJECT_SCALARCALLS_H

#include "tilewright/numerics/scalar/Operations.h"

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tilewright::runtime::cpu {

/// An operation on one combination of types. Object code passes the address of a record to
/// tw_scalar_call and never reads the record itself.
struct ScalarRecord {
  numerics::Operation operation;
  uint8_t arity;
  numerics::ElementType operands[3], result;
};

/// The records that an executable refers to, created when it is loaded. The object code refers to a
/// record by an external symbol:
///
///   tw_scalar_record.<operation>.<operand type>.<result type>
///   tw_scalar_record.divide.c64.c64
///
/// with the names of ScalarOp (Operations.def) and ElementType (ElementTypes.def). Records live as
/// long as this object.
class ScalarRecords {
public:
  /// Null if the name is not of this form or the operation is not defined.
  const ScalarRecord *find(std::string_view symbol);

private:
  std::unordered_map<std::string, const ScalarRecord *> byName;
  std::deque<ScalarRecord> records; // a deque keeps addresses stable
};

} // namespace tilewright::runtime::cpu

extern "C" {
/// `*out = operation(*a, *b, *c)` for one element, each operand in its storage type, at any
/// alignment. Operands beyond the operation's arity are not read and may be null. The first operand
/// of select is a pred; the second and third of reducePrecision are i32.
void tw_scalar_call(const tilewright::runtime::cpu::ScalarRecord *record, const void *a,
                    const void *b, const void *c, void *out);
/// Like tw_scalar_call(), for `count` contiguous elements; `out` may be one of the operands.
void tw_scalar_calls(const tilewright::runtime::cpu::ScalarRecord *record, const void *a,
                     const void *b, const void *c, void *out, int64_t count);
}

#endif // TILEWRIGHT_RUNTIME_CPU_OBJECT_SCALARCALLS_H
