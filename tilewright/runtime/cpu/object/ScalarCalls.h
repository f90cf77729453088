// ScalarCalls: operations that generated code has no instructions for.
#ifndef TILEWRIGHT_RUNTIME_CPU_OBJECT_SCALARCALLS_H
#define TILEWRIGHT_RUNTIME_CPU_OBJECT_SCALARCALLS_H

#include "tilewright/interpret/scalar/Operations.h"

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tilewright::runtime::cpu {

/// One operation for one pair of types. Object code has the address of a record
/// and hands it to tw_scalar_call; it never looks inside.
struct ScalarRecord {
  interpret::Operation operation;
  uint8_t arity;
  numerics::ElementType operands[3], result;
};

/// The records that an executable refers to, made when it is loaded. The name
/// of one is an external symbol of the object code:
///
///   tw_scalar_record.<operation>.<operand type>.<result type>
///   tw_scalar_record.divide.c64.c64
///
/// with the names of ScalarOp (Operations.def) and ElementType (ElementTypes.def).
/// Records live as long as this object.
class ScalarRecords {
public:
  /// Null if the name is not of this form or the operation is not defined.
  const ScalarRecord *find(std::string_view symbol);

private:
  std::unordered_map<std::string, const ScalarRecord *> byName;
  std::deque<ScalarRecord> records; // addresses stay
};

} // namespace tilewright::runtime::cpu

extern "C" {
/// `*out = operation(*a, *b, *c)`: one element each, of its storage type, at any
/// address. Operands beyond the operation's arity are not read and may be null.
/// The first operand of select is a pred; the second and third of reducePrecision
/// are i32.
void tw_scalar_call(const tilewright::runtime::cpu::ScalarRecord *record, const void *a,
                    const void *b, const void *c, void *out);
/// The same for `count` neighbours in each; `out` may be one of the operands.
void tw_scalar_calls(const tilewright::runtime::cpu::ScalarRecord *record, const void *a,
                     const void *b, const void *c, void *out, int64_t count);
}

#endif // TILEWRIGHT_RUNTIME_CPU_OBJECT_SCALARCALLS_H
