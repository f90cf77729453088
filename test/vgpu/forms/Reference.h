// The results of arithmetic instructions, written from PTX's specification and independent of the
// virtual GPU: plain integers, and floats rounded from exact values.
#ifndef TEST_VGPU_FORMS_REFERENCE_H
#define TEST_VGPU_FORMS_REFERENCE_H

#include "test/vgpu/forms/FormKernel.h"

#include <optional>

namespace tilewright::vgpu::forms {

/// Inputs of one execution: the bits of each operand that is read, in the order of the text,
/// without immediates. Predicates are 0 or 1. `carry` is CC.CF.
struct Inputs {
  uint64_t a = 0, b = 0, c = 0, d = 0, e = 0;
  bool carry = false;
};

/// The acceptable results.
struct Expected {
  bool isKnown = true; // false: PTX does not define the result
  uint64_t bits = 0;   // of the first result
  bool second = false; // the predicate after |, or the carry
  bool hasSecond = false;
  bool anyNan = false;            // any NaN of `type`
  bool anyZero = false;           // a zero of either sign
  double ulps = 0;                // tolerance in units of the last place of `type`
  Modifier type = Modifier::none; // of the result, if it is a float
};
Expected unknown();

Expected integerReference(const Form &form, const Inputs &in);
Expected floatReference(const Form &form, const Inputs &in);
Expected compareReference(const Form &form, const Inputs &in);
Expected convertReference(const Form &form, const Inputs &in);

// Floats.

enum class Mode { nearest, zero, down, up, away };
Mode modeOf(const Instruction &instruction);
/// The value of a float type's bits; exact.
long double valueOf(Modifier type, uint64_t bits);
/// An exact value in a float type, rounded once; NaN gives the canonical one.
uint64_t roundTo(Modifier type, long double value, Mode mode, bool isFinite = false);
uint64_t nanOf(Modifier type);
bool isNanOf(Modifier type, uint64_t bits);
/// Subnormals to zero.
uint64_t flushed(Modifier type, uint64_t bits);
/// The element type of packed types such as f16x2; other types are their own element type.
Modifier elementOf(Modifier type);
/// a + b, rounded to odd: rounding the result again to fewer bits is correct.
long double addOdd(long double a, long double b);

} // namespace tilewright::vgpu::forms

#endif // TEST_VGPU_FORMS_REFERENCE_H
