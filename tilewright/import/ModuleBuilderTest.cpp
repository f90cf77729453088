// Modules from handwritten tables: tables that decode but are not a valid program.
#include "tilewright/import/ModuleBuilder.h"
#include "tilewright/import/EntryBuilder.h"
#include "tilewright/import/Import.h"
#include "tilewright/import/VerifyProgram.h"
#include "tilewright/import/testing/Tables.h"

#include "mlir/IR/DialectResourceBlobManager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tilewright;
using bytecode::absent;
using bytecode::AttrKind;
using bytecode::LiteralForm;
using bytecode::Op;
using bytecode::TypeKind;
using numerics::ElementType;
using ::testing::AllOf;
using ::testing::HasSubstr;

namespace {

class ModuleBuilderTest : public ::testing::Test {
protected:
  ModuleBuilderTest() { loadImportDialects(context); }

  /// Builds and verifies, as importArtifact does after decoding.
  Status build() {
    EntryBuilder entries(context, tables.finish(), file);
    Result<mlir::OwningOpRef<mlir::ModuleOp>> built = ModuleBuilder(entries, options).build();
    if (!built.isOk())
      return std::move(built).takeStatus();
    module = *std::move(built);
    return verifyProgram(*module);
  }
  void expectFailure(Error error, std::string_view words) {
    Status status = build();
    EXPECT_EQ(status.error(), error) << status.toString();
    EXPECT_THAT(status.message(), HasSubstr(words));
  }
  std::string print() {
    std::string text;
    llvm::raw_string_ostream out(text);
    module->print(out, mlir::OpPrintingFlags().printGenericOpForm());
    return text;
  }
  /// Begins @main(x: f32 tensor) -> f32 tensor and returns x.
  uint32_t beginMain() { return tables.beginFunction("main", {scalar}, {scalar}); }

  /// Builds @main with a constant and its return.
  Status buildConstant(uint32_t type, uint32_t value) {
    tables.beginFunction("main", {}, {type});
    uint32_t result = tables.op(Op::constant_v1, {}, {type}, {value});
    tables.op(Op::return_v1, {result}, {});
    return build();
  }

  mlir::MLIRContext context;
  ImportOptions options;
  ArtifactFile file{std::string_view("bytes")};
  TestTables tables;
  uint32_t f32 = tables.real(ElementType::f32);
  uint32_t i1 = tables.integer(1);
  uint32_t scalar = tables.tensor({}, f32);
  uint32_t matrix = tables.tensor({2, 3}, f32);
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace

TEST_F(ModuleBuilderTest, BuildsAFunction) {
  uint32_t x = beginMain();
  uint32_t sum = tables.op(Op::add_v1, {x, x}, {scalar});
  tables.op(Op::return_v1, {sum}, {});
  ASSERT_EQ(build().toString(), Status().toString());
  EXPECT_THAT(print(),
              AllOf(HasSubstr("\"stablehlo.add\"(%arg0, %arg0)"), HasSubstr("func.return")));
}

TEST_F(ModuleBuilderTest, ReturnsInsideARegionAreStablehlos) {
  uint32_t x = beginMain();
  uint32_t vector = tables.tensor({4}, f32);
  uint32_t many = tables.op(Op::broadcast_in_dim_v1, {x}, {vector}, {tables.numbers({})});
  uint32_t total = static_cast<uint32_t>(tables.module.valueTypes.size());
  uint32_t a =
      tables.begin(Op::reduce_v1, {many, x}, {scalar}, {tables.numbers({0})}, {scalar, scalar});
  uint32_t sum = tables.op(Op::add_v1, {a, a + 1}, {scalar});
  tables.op(Op::return_v1, {sum}, {});
  tables.end();
  tables.op(Op::return_v1, {total}, {});
  ASSERT_EQ(build().toString(), Status().toString());
  EXPECT_THAT(print(), AllOf(HasSubstr("dimensions = array<i64: 0>"), HasSubstr("stablehlo.return"),
                             HasSubstr("func.return")));
}

//===- Old forms ----------------------------------------------------------===//

TEST_F(ModuleBuilderTest, AnOldGatherHasNoBatchingDimensions) {
  uint32_t indices = tables.tensor({1}, tables.integer(64));
  uint32_t row = tables.tensor({3}, f32);
  uint32_t args = tables.beginFunction("main", {matrix, indices}, {row});
  // collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims slice_sizes
  // start_index_map
  uint32_t result = tables.op(Op::gather_v1, {args, args + 1}, {row},
                              {tables.numbers({0}), tables.number(0), tables.boolean(false),
                               tables.numbers({0}), tables.numbers({1, 3}), tables.numbers({0})});
  tables.op(Op::return_v1, {result}, {});
  ASSERT_EQ(build().toString(), Status().toString());
  EXPECT_THAT(print(), AllOf(HasSubstr("offset_dims = [0]"), HasSubstr("start_index_map = [0]"),
                             HasSubstr("slice_sizes = array<i64: 1, 3>")));
  EXPECT_THAT(print(), Not(HasSubstr("batching")));
}

TEST_F(ModuleBuilderTest, AnOldDotHasNoAlgorithm) {
  uint32_t x = beginMain();
  uint32_t usual = tables.enumeration(AttrKind::vhloPrecision, 0);
  uint32_t high = tables.enumeration(AttrKind::vhloPrecision, 1);
  // lhs_batching lhs_contracting precision_config rhs_batching rhs_contracting
  uint32_t result = tables.op(Op::dot_general_v1, {x, x}, {scalar},
                              {tables.numbers({}), tables.numbers({}), tables.array({usual, high}),
                               tables.numbers({}), tables.numbers({})});
  tables.op(Op::return_v1, {result}, {});
  ASSERT_EQ(build().toString(), Status().toString());
  EXPECT_THAT(print(), AllOf(HasSubstr("#stablehlo<precision HIGH>"), Not(HasSubstr("algorithm"))));
}

//===- Constants ----------------------------------------------------------===//

TEST_F(ModuleBuilderTest, ASplatOfAnySizeIsOneElement) {
  uint32_t huge = tables.tensor({1'000'000'000, 1000}, f32);
  ASSERT_EQ(buildConstant(huge, tables.constant(huge, std::string(4, '\0'), 1'000'000'000'000,
                                                LiteralForm::splat))
                .toString(),
            Status().toString());
  EXPECT_THAT(print(), HasSubstr("dense<0.000000e+00> : tensor<1000000000x1000xf32>"));
}

TEST_F(ModuleBuilderTest, ALargeConstantStaysWhereItIs) {
  constexpr size_t count = 5000;
  uint32_t type = tables.tensor({count}, f32);
  uint32_t value = tables.constant(type, std::string(count * 4, 'x'), count);
  const std::byte *bytes = tables.module.literals.back().bytes.data();
  ASSERT_TRUE(buildConstant(type, value).isOk());

  mlir::DenseResourceElementsAttr attribute;
  module->walk([&](mlir::Operation *op) {
    if (auto found = op->getAttrOfType<mlir::DenseResourceElementsAttr>("value"))
      attribute = found;
  });
  ASSERT_TRUE(attribute);
  mlir::AsmResourceBlob *blob = attribute.getRawHandle().getBlob();
  EXPECT_EQ(static_cast<const void *>(blob->getData().data()), bytes);
  EXPECT_EQ(blob->getData().size(), count * 4);
  // It has the alignment that it claims.
  EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes) % blob->getDataAlignment(), 0u);
}

TEST_F(ModuleBuilderTest, ALargeConstantKeepsTheFileAlive) {
  constexpr size_t count = 5000;
  std::weak_ptr<const void> owner = file.owner();
  {
    mlir::MLIRContext own;
    loadImportDialects(own);
    uint32_t type = tables.tensor({count}, f32);
    tables.beginFunction("main", {}, {type});
    uint32_t result = tables.op(Op::constant_v1, {}, {type},
                                {tables.constant(type, std::string(count * 4, 'x'), count)});
    tables.op(Op::return_v1, {result}, {});
    mlir::OwningOpRef<mlir::ModuleOp> built;
    {
      EntryBuilder entries(own, tables.finish(), file);
      built = *ModuleBuilder(entries, options).build();
    }
    file = ArtifactFile(std::string_view("another"));
    EXPECT_FALSE(owner.expired());
  }
  EXPECT_TRUE(owner.expired()) << "the context is gone and the mapping should be too";
}

TEST_F(ModuleBuilderTest, BitsAndBytesOfI1MeanTheSame) {
  uint32_t type = tables.tensor({10}, i1);
  uint32_t bits = tables.constant(type, "\x05\xff", 10, LiteralForm::bits);
  uint32_t bytes = tables.constant(type, std::string("\x01\0\x02\0\0\0\0\0\x01\x01", 10), 10,
                                   LiteralForm::elements);
  EntryBuilder entries(context, tables.finish(), file);
  EXPECT_EQ(*entries.constant(bits), *entries.constant(bytes));
}

TEST_F(ModuleBuilderTest, OneTrueBitIsASplat) {
  uint32_t type = tables.tensor({1}, i1);
  uint32_t value = tables.constant(type, "\x01", 1, LiteralForm::bits);
  ASSERT_TRUE(buildConstant(type, value).isOk());
  EXPECT_THAT(print(), HasSubstr("dense<true>"));
}

TEST_F(ModuleBuilderTest, BitsAboveASubByteElementAreIgnored) {
  uint32_t type = tables.tensor({2}, tables.integer(4));
  uint32_t value = tables.constant(type, "\xfe\x71", 2);
  ASSERT_TRUE(buildConstant(type, value).isOk());
  EXPECT_THAT(print(), HasSubstr("dense<[-2, 1]> : tensor<2xi4>"));
}

//===- Types and attributes that cannot be --------------------------------===//

TEST_F(ModuleBuilderTest, AComplexOfTuplesIsNoType) {
  bytecode::Type complex = TestTables::ofKind(TypeKind::complex);
  uint32_t tuple = tables.type(TestTables::ofKind(TypeKind::tuple));
  complex.inner = tuple;
  uint32_t type = tables.type(complex);
  tables.beginFunction("main", {type}, {});
  tables.op(Op::return_v1, {}, {});
  expectFailure(Error::entryInvalid, "type " + std::to_string(type));
}

TEST_F(ModuleBuilderTest, AWitnessIsNoTypeOfStablehlo) {
  uint32_t type = tables.type(TestTables::ofKind(TypeKind::witness));
  tables.beginFunction("main", {type}, {});
  tables.op(Op::return_v1, {}, {});
  expectFailure(Error::entryInvalid, "shape witness");
}

TEST_F(ModuleBuilderTest, AQuantizedTypeMustFitItsStorage) {
  bytecode::Quantization quantization;
  quantization.flags = 1;
  quantization.storage = tables.integer(8);
  quantization.expressed = f32;
  quantization.storageMin = -100'000;
  quantization.storageMax = 127;
  tables.module.numbers.insert(tables.module.numbers.end(), {0x3ff0000000000000, 0});
  auto end = static_cast<uint32_t>(tables.module.numbers.size());
  quantization.scales = {end - 2, 1};
  quantization.zeroPoints = {end - 1, 1};
  tables.module.quantizations.push_back(quantization);
  bytecode::Type type = TestTables::ofKind(TypeKind::quantized);
  type.quantization = 0;
  uint32_t tensor = tables.tensor({4}, tables.type(type));
  tables.beginFunction("main", {tensor}, {});
  tables.op(Op::return_v1, {}, {});
  expectFailure(Error::entryInvalid, "storage");
}

TEST_F(ModuleBuilderTest, AnAttributeOfTheWrongKindNamesTheOperationAndTheLine) {
  uint32_t x = tables.beginFunction("main", {matrix}, {matrix});
  uint32_t where = tables.place("train.py", 41, 8, "jit(step)/transpose");
  uint32_t result = tables.op(Op::transpose_v1, {x}, {matrix}, {tables.string("turn it")}, where);
  tables.op(Op::return_v1, {result}, {});
  expectFailure(Error::attributeKind,
                "operation 2 (vhlo.transpose_v1) at train.py:41:8 (jit(step)/transpose): "
                "attribute 'permutation' must be a 1-dimensional tensor of i64");
}

TEST_F(ModuleBuilderTest, ASplatListCannotClaimAnyLength) {
  uint32_t x = tables.beginFunction("main", {matrix}, {matrix});
  uint32_t type = tables.tensor({int64_t(1) << 40}, tables.integer(64));
  uint32_t list = tables.constant(type, std::string(8, '\0'), int64_t(1) << 40, LiteralForm::splat);
  uint32_t result = tables.op(Op::transpose_v1, {x}, {matrix}, {list});
  tables.op(Op::return_v1, {result}, {});
  expectFailure(Error::attributeKind, "'permutation'");
}

TEST_F(ModuleBuilderTest, AnUnknownVisibilityIsRefused) {
  tables.beginFunction("main", {}, {}, "secret");
  tables.op(Op::return_v1, {}, {});
  expectFailure(Error::attributeKind, "'sym_visibility' must be private, public, nested or empty");
}

TEST_F(ModuleBuilderTest, HalfAnAlgorithmIsRefused) {
  uint32_t x = beginMain();
  uint32_t none = tables.typeAttr(tables.type(TestTables::ofKind(TypeKind::none)));
  uint32_t dims = tables.numbers({});
  uint32_t usual = tables.array({});
  // accumulation_type allow_imprecise lhs_batching lhs_component_count lhs_contracting
  // lhs_precision_type num_primitive precision_config rhs_batching rhs_component_count
  // rhs_contracting rhs_precision_type
  uint32_t result = tables.op(
      Op::dot_general_v2, {x, x}, {scalar},
      {tables.typeAttr(f32), none, dims, none, dims, none, none, usual, dims, none, dims, none});
  tables.op(Op::return_v1, {result}, {});
  expectFailure(Error::attributeKind, "if and only if all other fields of the dot algorithm are");
}

//===- Small in the file, huge to visit ------------------------------------===//

TEST_F(ModuleBuilderTest, ATypeThatDoublesFortyTimesIsRefused) {
  uint32_t type = scalar;
  for (int i = 0; i < 40; ++i) {
    bytecode::Type pair = TestTables::ofKind(TypeKind::tuple);
    tables.module.typeLists.insert(tables.module.typeLists.end(), {type, type});
    pair.types = {static_cast<uint32_t>(tables.module.typeLists.size() - 2), 2};
    type = tables.type(pair);
  }
  tables.beginFunction("main", {type}, {});
  tables.op(Op::return_v1, {}, {});
  expectFailure(Error::limitParts, "raise import.max-parts");
}

TEST_F(ModuleBuilderTest, AnAttributeThatDoublesFortyTimesIsRefused) {
  uint32_t value = tables.boolean(true);
  for (int i = 0; i < 40; ++i)
    value = tables.array({value, value});
  tables.beginFunction("main", {}, {});
  tables.op(Op::custom_call_v1, {}, {},
            {tables.enumeration(AttrKind::vhloApiVersion, 1), tables.string(""), tables.string("f"),
             tables.array({}), tables.boolean(false), value, tables.array({}), tables.array({})});
  tables.op(Op::return_v1, {}, {});
  expectFailure(Error::limitParts, "(vhlo.custom_call_v1)");
}

TEST_F(ModuleBuilderTest, ALongListCountsWithEachOperationThatSharesIt) {
  options.maxParts = 100'000;
  uint32_t list = tables.numbers(std::vector<int64_t>(1000, 1));
  uint32_t x = tables.beginFunction("main", {matrix}, {});
  for (int i = 0; i < 200; ++i)
    tables.op(Op::reverse_v1, {x}, {matrix}, {list});
  tables.op(Op::return_v1, {}, {});
  expectFailure(Error::limitParts, "more than 100000 parts");
}

TEST_F(ModuleBuilderTest, AConstantDoesNotCount) {
  options.maxParts = 1000;
  uint32_t type = tables.tensor({5000}, f32);
  EXPECT_TRUE(buildConstant(type, tables.constant(type, std::string(20'000, 'x'), 5000)).isOk());
}

//===- Structure ----------------------------------------------------------===//

TEST_F(ModuleBuilderTest, OnlyFunctionsStandInTheModule) {
  tables.op(Op::create_token_v1, {}, {tables.type(TestTables::ofKind(TypeKind::token))});
  expectFailure(Error::misplacedOperation, "only functions and meshes may be top-level operations");
}

TEST_F(ModuleBuilderTest, FunctionsAreNotNested) {
  beginMain();
  tables.beginFunction("inner", {}, {});
  expectFailure(Error::misplacedOperation, "must be a top-level operation");
}

TEST_F(ModuleBuilderTest, ModulesAreNotNested) {
  tables.begin(Op::builtinModule, {}, {}, {absent, absent});
  expectFailure(Error::misplacedOperation, "a module must not be nested in");
}

TEST_F(ModuleBuilderTest, ABlockEndsWithAReturn) {
  uint32_t x = beginMain();
  tables.op(Op::add_v1, {x, x}, {scalar});
  expectFailure(Error::misplacedOperation, "the last operation of a block must be a return");
}

TEST_F(ModuleBuilderTest, ABlockIsNotEmpty) {
  beginMain();
  expectFailure(Error::misplacedOperation,
                "a block must end with a return, but this block is empty");
}

TEST_F(ModuleBuilderTest, NothingFollowsAReturn) {
  uint32_t x = beginMain();
  tables.op(Op::return_v1, {x}, {});
  tables.op(Op::return_v1, {x}, {});
  expectFailure(Error::misplacedOperation, "a return must be the last operation");
}

TEST_F(ModuleBuilderTest, SdyReturnEndsNoFunction) {
  uint32_t x = beginMain();
  tables.op(Op::sdyReturn, {x}, {});
  expectFailure(Error::misplacedOperation, "a manual computation must end with sdy.return");
}

TEST_F(ModuleBuilderTest, ACastBetweenEqualTypesVanishes) {
  uint32_t x = beginMain();
  uint32_t same = tables.op(Op::builtinUnrealizedConversionCast, {x}, {tables.tensor({}, f32)});
  tables.op(Op::return_v1, {same}, {});
  ASSERT_TRUE(build().isOk());
  EXPECT_THAT(print(), Not(HasSubstr("cast")));
}

TEST_F(ModuleBuilderTest, ACastToAnotherTypeIsRefused) {
  uint32_t x = beginMain();
  uint32_t other = tables.op(Op::builtinUnrealizedConversionCast, {x}, {matrix});
  tables.op(Op::return_v1, {other}, {});
  expectFailure(Error::misplacedOperation, "must not change the type");
}

//===- Programs that break a rule -----------------------------------------===//

TEST_F(ModuleBuilderTest, ABrokenRuleNamesTheLine) {
  uint32_t x = beginMain();
  uint32_t where = tables.place("train.py", 41, 8, "jit(step)/add");
  uint32_t result = tables.op(Op::add_v1, {x, x}, {matrix}, {}, where);
  tables.op(Op::return_v1, {result}, {});
  Status status = build();
  EXPECT_EQ(status.error(), Error::programInvalid);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("'stablehlo.add' op"),
                                      HasSubstr("\n  at train.py:41:8 (jit(step)/add)")));
}

TEST_F(ModuleBuilderTest, ACallToNobodyIsRefused) {
  uint32_t x = beginMain();
  uint32_t result = tables.op(Op::call_v1, {x}, {scalar}, {tables.string("nobody")});
  tables.op(Op::return_v1, {result}, {});
  expectFailure(Error::programInvalid, "nobody");
}

TEST_F(ModuleBuilderTest, TwoFunctionsOfOneNameAreRefused) {
  for (int i = 0; i < 2; ++i) {
    tables.beginFunction("twin", {}, {});
    tables.op(Op::return_v1, {}, {});
    tables.end();
  }
  expectFailure(Error::programInvalid, "twin");
}

TEST_F(ModuleBuilderTest, ACycleOfCallsIsNamed) {
  for (auto [caller, callee] : {std::pair("main", "f"), {"f", "g"}, {"g", "f"}}) {
    uint32_t x = tables.beginFunction(caller, {scalar}, {scalar});
    uint32_t result = tables.op(Op::call_v1, {x}, {scalar}, {tables.string(callee)});
    tables.op(Op::return_v1, {result}, {});
    tables.end();
  }
  expectFailure(Error::callsItself, "@f calls @g calls @f; write the repetition");
}

TEST_F(ModuleBuilderTest, AChainOfManyCallsIsNoCycle) {
  constexpr int length = 20'000;
  for (int i = 0; i < length; ++i) {
    uint32_t x = tables.beginFunction("f" + std::to_string(i), {scalar}, {scalar});
    if (i + 1 < length)
      x = tables.op(Op::call_v1, {x}, {scalar}, {tables.string("f" + std::to_string(i + 1))});
    tables.op(Op::return_v1, {x}, {});
    tables.end();
  }
  EXPECT_TRUE(build().isOk());
}
