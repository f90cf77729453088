#include "tilewright/runtime/cpu/object/ScalarCalls.h"

#include "tilewright/runtime/cpu/object/ObjectCode.h"
#include "tilewright/runtime/cpu/object/testing/Object.h"

#include "gtest/gtest.h"

#include <complex>

using namespace tilewright;
using namespace tilewright::runtime::cpu;

TEST(ScalarCalls, RecordsAreNamedByOperationAndTypes) {
  ScalarRecords records;
  EXPECT_NE(records.find("tw_scalar_record.divide.c64.c64"), nullptr);
  EXPECT_EQ(records.find("tw_scalar_record.divide.c64.c64"),
            records.find("tw_scalar_record.divide.c64.c64"));
  EXPECT_NE(records.find("tw_scalar_record.convert.f8E4M3FN.i4"), nullptr);
  EXPECT_NE(records.find("tw_scalar_record.complex.f32.c64"), nullptr);
  EXPECT_NE(records.find("tw_scalar_record.compareLt.bf16.pred"), nullptr);
  EXPECT_NE(records.find("tw_scalar_record.fromBits.ui32.f32"), nullptr);
  for (const char *wrong :
       {"", "tw_scalar_record.", "tw_scalar_record.divide", "tw_scalar_record.divide.c64",
        "tw_scalar_record.divide.c64.f32", "tw_scalar_record.divide.c64.c64.c64",
        "tw_scalar_record.gossip.f32.f32", "tw_scalar_record.add.complex<f32>.c64",
        "tw_scalar_record.fromBits.f32.f32", "tw_scalar_record.toBits.f32.c128",
        "tw_scalar_record.bitAnd.f32.f32", "expf"})
    EXPECT_EQ(records.find(wrong), nullptr) << wrong;
}

TEST(ScalarCalls, EveryDefinedOperationHasARecord) {
  static constexpr const char *types[] = {
#define TILEWRIGHT_ELEMENT_TYPE(name, spelling, kind, bits) #name,
#include "tilewright/numerics/ElementTypes.def"
  };
  ScalarRecords records;
  int count = 0;
  for (const char *operand : types)
    for (const char *result : types)
      for (const char *op : {"add", "convert", "select", "isFinite"})
        if (const ScalarRecord *record = records.find(std::string("tw_scalar_record.") + op + "." +
                                                      operand + "." + result)) {
          // Eight zero elements; the arrays are large enough for every type.
          std::byte zeros[8 * 16] = {}, out[8 * 16];
          tw_scalar_calls(record, zeros, zeros, zeros, out, 8);
          ++count;
        }
  EXPECT_GT(count, 31 * 31);
}

TEST(ScalarCalls, PrecisionsAreIntegers) {
  ScalarRecords records;
  const ScalarRecord *record = records.find("tw_scalar_record.reducePrecision.f32.f32");
  ASSERT_NE(record, nullptr);
  const float value = 1.0f + 1.0f / 1024;
  const int32_t exponent = 8, mantissa = 7;
  float out = 0;
  tw_scalar_call(record, &value, &exponent, &mantissa, &out);
  EXPECT_EQ(out, 1.0f);
}

TEST(ScalarCalls, CompiledCodeCallsThem) {
  ScalarRecords records;
  const std::vector<std::byte> file = compileForTest(R"(
        extern const char divide __asm__("tw_scalar_record.divide.c64.c64");
        extern const char select __asm__("tw_scalar_record.select.f32.f32");
        extern const char tan8 __asm__("tw_scalar_record.tan.f8E5M2.f8E5M2");
        void tw_scalar_call(const void *, const void *, const void *, const void *, void *);
        void tw_scalar_calls(const void *, const void *, const void *, const void *, void *, long);
        void quotient(const void *a, const void *b, void *out) { tw_scalar_call(&divide, a, b, 0, out); }
        void choose(const void *p, const void *a, const void *b, void *out, long n) {
          tw_scalar_calls(&select, p, a, b, out, n); }
        void small(const void *a, void *out) { tw_scalar_call(&tan8, a, 0, 0, out); }
      )");
  Result<std::unique_ptr<ObjectCode>> object =
      ObjectCode::load({&file, 1}, [&](std::string_view name) { return records.find(name); });
  ASSERT_TRUE(object.isOk()) << std::move(object).takeStatus().toString();

  std::complex<float> a(3, 4), b(0, 2), c;
  reinterpret_cast<void (*)(const void *, const void *, void *)>((*object)->find("quotient"))(
      &a, &b, &c);
  EXPECT_EQ(c, std::complex<float>(2, -1.5));

  uint8_t flags[200];
  float yes[200], no[200], out[200];
  for (int i = 0; i < 200; ++i)
    flags[i] = i % 3 == 0, yes[i] = i, no[i] = -i;
  reinterpret_cast<void (*)(const void *, const void *, const void *, void *, long)>(
      (*object)->find("choose"))(flags, yes, no, out, 200);
  for (int i = 0; i < 200; ++i)
    EXPECT_EQ(out[i], i % 3 == 0 ? i : -i);
  uint8_t zero = 0, result = 1;
  reinterpret_cast<void (*)(const void *, void *)>((*object)->find("small"))(&zero, &result);
  EXPECT_EQ(result, 0);
}
