// Collective kernels on several virtual GPUs: right, bit by bit, and without a report of any check.
// The order in which things happen comes from the environment, because a process has only one.
#include "test/nvptx/collectives/TeamTest.h"

#include "tilewright/support/Concat.h"

namespace tilewright::nvptx {
namespace {

using numerics::CollectiveKind;
using numerics::ElementType;
using numerics::ReductionKind;
using tile::CollectiveForm;
using tile::CollectiveKernel;

class Collectives : public TeamTest {
protected:
  static void tryKernel(CollectiveKernel wanted, int times = 2) {
    wanted.ranks = GetParam();
    SCOPED_TRACE(concat(nameOf(wanted.kind), " ", nameOf(wanted.form), " of ", wanted.count, " ",
                        numerics::spelling(wanted.element), " by ", nameOf(wanted.operation),
                        " among ", wanted.ranks, " with ", wanted.points, " points"));
    Result<GpuCode> code = compileCollective(wanted);
    ASSERT_TRUE(code.isOk()) << std::move(code).takeStatus().toString();
    EXPECT_EQ(team().run(wanted, *code, times, /*hasNeighbours=*/true), "");
  }
};

constexpr CollectiveForm everyForm[] = {CollectiveForm::oneShot, CollectiveForm::direct,
                                        CollectiveForm::multicast};

TEST_P(Collectives, AllReduceOfEveryForm) {
  for (CollectiveForm form : everyForm)
    for (ElementType type :
         {ElementType::f32, ElementType::f16, ElementType::bf16, ElementType::i32})
      for (int64_t count : {int64_t(1), int64_t(777), int64_t(5000)})
        tryKernel({.element = type, .form = form, .count = count, .points = 2});
}

TEST_P(Collectives, AllReduceOfSeveralRounds) {
  // More than one round of the staging, and a last tile that only one block has.
  for (CollectiveForm form : everyForm)
    tryKernel({.element = ElementType::bf16, .form = form, .count = 20'003, .points = 2});
}

TEST_P(Collectives, KernelsOfDifferentSizesShareSignalsAndStaging) {
  for (int64_t points : {1, 4, 3})
    for (int64_t count : {int64_t(9001), int64_t(64)})
      tryKernel({.form = CollectiveForm::oneShot, .count = count, .points = points}, 3);
}

TEST_P(Collectives, AllGather) {
  for (ElementType type : {ElementType::f32, ElementType::i8, ElementType::c128})
    for (int64_t count : {int64_t(1), int64_t(3001)})
      tryKernel({.kind = CollectiveKind::allGather, .element = type, .count = count, .points = 2});
  tryKernel({.kind = CollectiveKind::allGather,
             .element = ElementType::i8,
             .form = CollectiveForm::multicast,
             .count = 3008,
             .points = 2});
}

TEST_P(Collectives, ReduceScatter) {
  for (ElementType type : {ElementType::f32, ElementType::bf16, ElementType::i64})
    for (int64_t count : {int64_t(1), int64_t(1111)})
      tryKernel(
          {.kind = CollectiveKind::reduceScatter, .element = type, .count = count, .points = 2});
  for (ElementType type : {ElementType::f32, ElementType::f16})
    tryKernel({.kind = CollectiveKind::reduceScatter,
               .element = type,
               .form = CollectiveForm::multicast,
               .count = 1112,
               .points = 2});
}

TEST_P(Collectives, AllToAllAndRagged) {
  for (int64_t count : {int64_t(1), int64_t(1500)})
    tryKernel({.kind = CollectiveKind::allToAll,
               .element = ElementType::f16,
               .count = count,
               .points = 2});
  for (int64_t ranges : {1, 2})
    for (int64_t width : {int64_t(5), int64_t(640)})
      tryKernel({.kind = CollectiveKind::raggedAllToAll,
                 .element = ElementType::bf16,
                 .count = width,
                 .points = 2,
                 .rowsIn = 64,
                 .rowsOut = 64,
                 .ranges = ranges,
                 .slotRows = 4 / ranges + 1});
}

TEST_P(Collectives, BroadcastAndPermute) {
  const int64_t last = GetParam() - 1;
  for (int64_t count : {int64_t(1), int64_t(2300)}) {
    tryKernel({.kind = CollectiveKind::broadcast, .count = count, .points = 2});
    tryKernel({.kind = CollectiveKind::permute,
               .count = count,
               .points = 2,
               .pairs = {{0, last}, {last, 0}}});
    tryKernel({.kind = CollectiveKind::permute, .count = count, .points = 2, .pairs = {{0, 1}}});
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Collectives, ::testing::Values(2, 4, 8));

/// Every type and operation of collective/Reduction, on two devices.
class EveryType : public Collectives {};

TEST_P(EveryType, AllReduce) {
  for (size_t i = 0; i < numerics::elementTypeCount; ++i)
    for (ReductionKind operation :
         {ReductionKind::add, ReductionKind::multiply, ReductionKind::maximum,
          ReductionKind::minimum, ReductionKind::bitAnd, ReductionKind::bitOr,
          ReductionKind::bitXor}) {
      const auto type = static_cast<ElementType>(i);
      if (collective::combineFor(operation, type))
        tryKernel({.element = type, .operation = operation, .count = 37, .points = 1}, 1);
    }
}

INSTANTIATE_TEST_SUITE_P(Of, EveryType, ::testing::Values(2));

} // namespace
} // namespace tilewright::nvptx
