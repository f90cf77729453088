// Tests attributes that import can build but text cannot express, so that lit cannot test them.
#include "tilewright/dialect/sdy/SdyDialect.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tilewright::sdy;
using testing::HasSubstr;

namespace {
class SdyAttrs : public testing::Test {
protected:
  SdyAttrs() { context.loadDialect<SdyDialect>(); }

  InFlightDiagnostic emitError() { return mlir::emitError(UnknownLoc::get(&context)); }

  MLIRContext context;
  std::string message;
  ScopedDiagnosticHandler handler{&context, [this](Diagnostic &diag) { message = diag.str(); }};
};
} // namespace

TEST_F(SdyAttrs, AReductionOutsideTheEnumerationIsRefused) {
  auto axis = AxisRefAttr::get(&context, "x", SubAxisInfoAttr());
  TensorShardingAttr sharding = TensorShardingAttr::getChecked(
      [&] { return emitError(); }, &context, Attribute(FlatSymbolRefAttr::get(&context, "mesh")),
      ArrayRef<DimensionShardingAttr>(), ArrayRef<AxisRefAttr>(), ArrayRef<AxisRefAttr>(axis),
      Reduction(7));

  EXPECT_FALSE(sharding);
  EXPECT_THAT(message, HasSubstr("reduction must be 0 (sum), 1 (max) or 2 (min), got 7"));
}

TEST_F(SdyAttrs, AShardingNeedsAMeshOrTheNameOfOne) {
  TensorShardingAttr sharding = TensorShardingAttr::getChecked(
      [&] { return emitError(); }, &context, Attribute(StringAttr::get(&context, "mesh")),
      ArrayRef<DimensionShardingAttr>(), ArrayRef<AxisRefAttr>(), ArrayRef<AxisRefAttr>(),
      Reduction::Sum);

  EXPECT_FALSE(sharding);
  EXPECT_THAT(message, HasSubstr("sharding must refer to a mesh or to the name of a mesh"));
}

TEST_F(SdyAttrs, ADimensionMappedToNoFactorIsRefused) {
  EXPECT_FALSE(
      DimMappingAttr::getChecked([&] { return emitError(); }, &context, ArrayRef<int64_t>()));
  EXPECT_THAT(message, HasSubstr("a dimension must be mapped to at least one factor, got none"));
}

TEST_F(SdyAttrs, MeshesThatSayTheSameAreTheSame) {
  MeshAxisAttr axis = MeshAxisAttr::get(&context, "x", 2);
  EXPECT_EQ(MeshAttr::get(&context, axis, {0, 1}), MeshAttr::get(&context, axis));
  EXPECT_NE(MeshAttr::get(&context, axis, {1, 0}), MeshAttr::get(&context, axis));
}
