#include "tools/tilewright/input/Inputs.h"

#include "tools/tilewright/input/Files.h"
#include "tools/tilewright/input/Npy.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <filesystem>

using namespace tilewright;
using namespace tilewright::interpret;
using namespace tilewright::numerics;
using namespace tilewright::tools;
using testing::HasSubstr;

static const Parameter matrix{ElementType::f32, {2, std::nullopt}};

TEST(Inputs, ValuesAreTypedInPlace) {
  Context context;
  Tensor tensor = *readInput("2x2xf32=1,-2.5,inf,4", matrix, context);
  EXPECT_EQ(tensor.toString(), "[[1, -2.5], [inf, 4]]");
}

TEST(Inputs, OneValueFillsTheTensor) {
  Context context;
  Tensor tensor = *readInput("3xi8=-7", {ElementType::i8, {3}}, context);
  EXPECT_EQ(tensor.toString(), "[-7, -7, -7]");
}

TEST(Inputs, LargeIntegersStayExact) {
  Context context;
  Tensor tensor =
      *readInput("2xui64=18446744073709551615,9007199254740993", {ElementType::ui64, {2}}, context);
  EXPECT_EQ(tensor.toString(), "[18446744073709551615, 9007199254740993]");
}

TEST(Inputs, NegativeZeroKeepsItsSign) {
  Context context;
  EXPECT_EQ(readInput("2xf32=-0,0", {ElementType::f32, {2}}, context)->toString(), "[-0, 0]");
  EXPECT_EQ(readInput("1xi32=-0", {ElementType::i32, {1}}, context)->toString(), "[0]");
}

TEST(Inputs, ANumberThatTheTypeDoesNotHaveIsRefused) {
  Context context;
  for (const auto &[text, type] : std::vector<std::pair<std::string, ElementType>>{
           {"1xi8=300", ElementType::i8},
           {"1xi8=-129", ElementType::i8},
           {"1xui8=-1", ElementType::ui8},
           {"1xui64=-1", ElementType::ui64},
           {"1xi64=9223372036854775808", ElementType::i64},
           {"1xi32=1.5", ElementType::i32},
           {"1xi32=nan", ElementType::i32},
           {"1xi1=2", ElementType::pred}})
    EXPECT_THAT(readInput(text, {type, {1}}, context).takeStatus().message(),
                HasSubstr("is not a value of"))
        << text;
  EXPECT_TRUE(readInput("1xi8=-128", {ElementType::i8, {1}}, context).isOk());
  EXPECT_TRUE(readInput("1xi4=1e0", {ElementType::i4, {1}}, context).isOk());
}

TEST(Inputs, MismatchNamesBothSides) {
  Context context;
  Status status = readInput("3x2xf32=0", matrix, context).takeStatus();
  EXPECT_EQ(status.error(), Error::inputMismatch);
  EXPECT_THAT(status.message(), HasSubstr("'3x2xf32' does not match the parameter 2x?xf32"));
}

TEST(Inputs, WrongNumberOfElementsIsNamed) {
  Context context;
  EXPECT_THAT(readInput("2x2xf32=1,2,3", matrix, context).takeStatus().message(),
              HasSubstr("element 3 of 4"));
  EXPECT_THAT(readInput("2x1xf32=1,2,3", matrix, context).takeStatus().message(),
              HasSubstr("more than 2 elements"));
}

TEST(Inputs, ATensorWrittenIsReadBack) {
  Context context;
  std::string path = testing::TempDir() + "tilewright-inputs.npy";
  Tensor tensor = *readInput("2x3xf32=1,2,3,4,5,6", matrix, context);
  ASSERT_TRUE(writeNpy(path, tensor).isOk());
  EXPECT_EQ(readInput(path, matrix, context)->toString(), tensor.toString());

  // The same file, cut: its header promises more than it holds.
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  EXPECT_EQ(readInput(path, matrix, context).takeStatus().error(), Error::npyMalformed);
  std::filesystem::remove(path);
}
