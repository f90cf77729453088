#include "tilewright/support/Status.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tilewright;
using testing::HasSubstr;

static Result<int> half(int number) {
  if (number % 2)
    return Status(Code::invalidArgument, "odd");
  return number / 2;
}

static Result<int> quarter(int number) {
  TILEWRIGHT_ASSIGN(int once, half(number));
  TILEWRIGHT_ASSIGN(int twice, half(once));
  return twice;
}

TEST(Status, SuccessIsOnePointerWide) {
  EXPECT_EQ(sizeof(Status), sizeof(void *));
  EXPECT_TRUE(Status().isOk());
  EXPECT_EQ(Status().code(), Code::ok);
}

TEST(Status, FailurePassesThroughAssign) {
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_EQ(quarter(6).takeStatus().message(), "odd");
}

TEST(Status, ActivityIsPutBeforeTheReason) {
  Status status = Status(Code::internal, "lost").during("loading x");
  EXPECT_EQ(status.message(), "while loading x: lost");
}

TEST(Status, AnErrorPrintsItsIdStageAndPage) {
  std::string text = Status(Error::optionValue, "bad value").toString();
  EXPECT_THAT(text, HasSubstr("E0002 tools: bad value"));
  EXPECT_THAT(text, HasSubstr("more: tilewright explain E0002"));
}

TEST(Status, ACodeAlonePrintsItsName) {
  EXPECT_EQ(Status(Code::dataLoss, "gone").toString(), "DATA_LOSS: gone");
}
