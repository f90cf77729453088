// Tests the decisions about listed programs against those made by hand, and computes each program
// in blocks. README.md has the proofs.
#include "tilewright/transform/fuse/cascade/testing/CompareInBlocks.h"
#include "tilewright/transform/fuse/cascade/testing/ProgramText.h"

#include <gmock/gmock.h>

using namespace tilewright::cascade;
using testing::HasSubstr;

namespace {

using Text = std::string;

struct Program {
  const char *name;
  /// The pass of each reduction, with the condition that fails.
  const char *decision;
  void (*write)(ProgramText &p);
  /// Whether an infinite element makes a factor infinite, by which a maximum is divided. Then NaN
  /// may become a number (README.md).
  bool hasInfiniteFactor = false;
};

/// The maximum, the exponentials and their sum.
struct Softmax {
  Softmax(ProgramText &p, const Text &x) : m(p.max(x)), e(p.exp(p.sub(x, m))), l(p.sum(e)) {}
  Text m, e, l;
};

Text mean(ProgramText &p, const Text &x) { return p.div(p.sum(x), p.number("13.0")); }

/// 1 / sqrt(x / 13 + 1e-5)
Text inverseRoot(ProgramText &p, const Text &x) {
  return p.op("rsqrt", {p.add(p.div(x, p.number("13.0")), p.number("1.0e-5"))});
}

const Program programs[] = {
    {"softmax times a matrix", "0, 0, 0",
     [](ProgramText &p) {
       Softmax s(p, "%x");
       p.result(p.dot(p.div(s.e, s.l)));
     }},
    {"softmax times a matrix, from the right", "0, 0, 0",
     [](ProgramText &p) {
       Softmax s(p, "%x");
       p.result(p.dot(p.div(s.e, s.l), /*isTransposed=*/true));
     }},
    {"log-sum-exp", "0, 0",
     [](ProgramText &p) {
       Softmax s(p, "%x");
       p.result(p.add(s.m, p.log(s.l)));
     }},
    {"log-sum-exp of JAX, with an infinite maximum replaced", "0, 0",
     [](ProgramText &p) {
       Text m = p.max("%x"), finite = p.select(p.isFinite(m), m, p.number("0.0"));
       p.result(p.add(finite, p.log(p.sum(p.exp(p.sub("%x", finite))))));
     }},
    {"cross-entropy with soft labels", "0, 0, 0",
     [](ProgramText &p) {
       Softmax s(p, "%x");
       p.result(p.sum(p.mul("%y", p.sub(p.sub("%x", s.m), p.log(s.l)))));
     }},
    {"gather from log-softmax, by comparison with an index", "0, 0, 0",
     [](ProgramText &p) {
       Softmax s(p, "%x");
       Text at = p.compare("EQ", p.positions(), p.number("7.0"));
       Text value = p.sub("%x", p.add(s.m, p.log(s.l)));
       p.result(p.sum(p.select(at, value, p.number("0.0"))));
     }},
    {"softmax", "0, 0",
     [](ProgramText &p) {
       Softmax s(p, "%x");
       p.result(p.div(s.e, s.l));
     }},
    {"exponential of log-softmax, times a matrix", "0, 0, 0",
     [](ProgramText &p) {
       Softmax s(p, "%x");
       p.result(p.dot(p.exp(p.sub("%x", p.add(s.m, p.log(s.l))))));
     }},
    {"softmax with a temperature, times a matrix", "0, 0, 0",
     [](ProgramText &p) {
       Text m = p.max("%x"), e = p.exp(p.mul(p.sub("%x", m), p.number("0.5")));
       p.result(p.dot(p.div(e, p.sum(e))));
     }},
    {"softmax of masked scores, times a matrix", "0, 0, 0",
     [](ProgramText &p) {
       Text isVisible = p.compare("LE", p.positions(), "%b");
       Softmax s(p, p.select(isVisible, "%x", p.number(p.infinity(true))));
       p.result(p.dot(p.div(s.e, s.l)));
     }},
    {"softmax of scores masked with a large number, times a matrix", "0, 0, 0",
     [](ProgramText &p) {
       Text isVisible = p.compare("LE", p.positions(), "%b");
       Softmax s(p, p.select(isVisible, "%x", p.number("-2.38e38")));
       p.result(p.dot(p.div(s.e, s.l)));
     }},
    {"softmax of capped scores, times a matrix", "0, 0, 0",
     [](ProgramText &p) {
       Text cap = p.number("3.0");
       Softmax s(p, p.mul(p.op("tanh", {p.div("%x", cap)}), cap));
       p.result(p.dot(p.div(s.e, s.l)));
     }},
    {"softmax with a sink in the sum, times a matrix", "0, 0, 0",
     [](ProgramText &p) {
       Text m = p.op("maximum", {p.max("%x"), "%b"}), e = p.exp(p.sub("%x", m));
       Text l = p.add(p.sum(e), p.exp(p.sub("%b", m)));
       p.result(p.dot(p.div(e, l)));
     }},
    {"softmin", "0, 0",
     [](ProgramText &p) {
       Text m = p.min("%x");
       p.result(p.sum(p.exp(p.sub(m, "%x"))));
     }},
    {"entropy of softmax", "0, 0, 0",
     [](ProgramText &p) {
       Softmax s(p, "%x");
       Text value = p.sub("%x", p.add(s.m, p.log(s.l)));
       p.result(p.sum(p.mul(p.exp(value), value)));
     }},
    {"variance in two passes becomes Welford's", "0, 0",
     [](ProgramText &p) {
       Text d = p.sub("%x", mean(p, "%x"));
       p.result(p.sum(p.mul(d, d)));
     }},
    {"covariance", "0, 0, 0",
     [](ProgramText &p) {
       Text x = p.sub("%x", mean(p, "%x")), y = p.sub("%y", mean(p, "%y"));
       p.result(p.sum(p.mul(x, y)));
     }},
    {"layer norm times a matrix", "0, 0, 0",
     [](ProgramText &p) {
       Text d = p.sub("%x", mean(p, "%x")), v = p.sum(p.mul(d, d));
       p.result(p.dot(p.mul(d, inverseRoot(p, v))));
     }},
    {"RMS norm times a matrix", "0, 0",
     [](ProgramText &p) {
       Text r = inverseRoot(p, p.sum(p.mul("%x", "%x")));
       p.result(p.dot(p.mul("%x", r)));
     }},
    {"maximum relative to another maximum", "0, 0",
     [](ProgramText &p) { p.result(p.max(p.sub("%y", p.max("%x")))); }},
    {"maximum relative to a largest magnitude", "0, 0",
     [](ProgramText &p) { p.result(p.max(p.div("%y", p.max(p.op("abs", {"%x"}))))); },
     /*hasInfiniteFactor=*/true},
    {"maximum divided by a sum of any sign", "0, 1 distributivity",
     [](ProgramText &p) { p.result(p.max(p.div("%y", p.sum("%x")))); }},
    {"index of the maximum of softmax", "0, 0, 1 distributivity",
     [](ProgramText &p) {
       Softmax s(p, "%x");
       p.result(p.argmax(p.div(s.e, s.l)));
     }},
    {"second largest number", "0, 1 separability",
     [](ProgramText &p) {
       Text m = p.max("%x"), isLargest = p.compare("EQ", "%x", m);
       p.result(p.max(p.select(isLargest, p.number(p.infinity(true)), "%x")));
     }},
    {"product of normalised numbers", "0, 1 distributivity",
     [](ProgramText &p) {
       p.result(p.reduce("multiply", "1.0", p.div("%y", p.max(p.op("abs", {"%x"})))));
     }},
    {"exponentials relative to the maximum of other numbers", "0, 1 range",
     [](ProgramText &p) { p.result(p.sum(p.exp(p.sub("%x", p.max("%y"))))); }},
    {"exponentials relative to a mean", "0, 1 range",
     [](ProgramText &p) { p.result(p.sum(p.exp(p.sub("%x", mean(p, "%x"))))); }},
    {"softmax of normalised numbers", "0, 0, 1 separability",
     [](ProgramText &p) {
       Softmax s(p, p.mul("%x", inverseRoot(p, p.sum(p.mul("%x", "%x")))));
       p.result(s.l);
     }},
    {"sum of numbers rounded relative to the largest", "0, 1 separability",
     [](ProgramText &p) {
       Text scale = p.div(p.max(p.op("abs", {"%x"})), p.number("127.0"));
       p.result(p.sum(p.op("round_nearest_even", {p.div("%x", scale)})));
     }},
    {"mean absolute deviation", "0, 1 separability",
     [](ProgramText &p) { p.result(p.sum(p.op("abs", {p.sub("%x", mean(p, "%x"))}))); }},
    {"exponentials and their maximum in one sum", "0, 1 exponents",
     [](ProgramText &p) {
       Text m = p.max("%x");
       p.result(p.sum(p.add(p.exp(p.sub("%x", m)), m)));
     }},
    {"terms of which some are divided", "0, 1 rank",
     [](ProgramText &p) { p.result(p.sum(p.add(p.div("%x", p.sum("%x")), "%y"))); }},
    {"eighth moment", "0, 1 rank",
     [](ProgramText &p) {
       Text d = p.sub("%x", mean(p, "%x")), d2 = p.mul(d, d), d4 = p.mul(d2, d2);
       p.result(p.sum(p.mul(d4, d4)));
     }},
    {"squares of log-softmax", "0, 0, 1 range",
     [](ProgramText &p) {
       Softmax s(p, "%x");
       Text value = p.sub("%x", p.add(s.m, p.log(s.l)));
       p.result(p.sum(p.mul(value, value)));
     }},
    {"log-probability of a label that is none of the columns", "0, 0, 0",
     [](ProgramText &p) {
       Softmax s(p, "%x");
       Text at = p.compare("EQ", p.positions(), p.number("-1.0"));
       Text value = p.sub("%x", p.add(s.m, p.log(s.l)));
       p.result(p.sum(p.select(at, value, p.number("0.0"))));
     }},
    {"softmax of masked scores, 0 in rows that are masked entirely, times a matrix", "0, 0, 0",
     [](ProgramText &p) {
       Text isVisible = p.compare("LE", p.positions(), "%b");
       Softmax s(p, p.select(isVisible, "%x", p.number(p.infinity(true))));
       p.result(p.dot(p.select(isVisible, p.div(s.e, s.l), p.number("0.0"))));
     }},
    {"layer norm of the elements before a position or after it, times a matrix", "0, 0, 0, 0",
     [](ProgramText &p) {
       Text d = p.sub("%x", mean(p, "%x")), v = p.sum(p.mul(d, d));
       Text normal = p.mul(d, inverseRoot(p, v)), zero = p.number("0.0");
       p.result(p.dot(p.select(p.compare("LE", p.positions(), "%b"), normal, zero)));
       p.result(p.dot(p.select(p.compare("LE", p.positions(), "%b"), zero, normal)));
     }},
    {"differences from a sum, times numbers of which infinite ones are masked", "0, 0",
     [](ProgramText &p) {
       Text d = p.sub("%b", p.sum(p.op("tanh", {"%x"})));
       Text value = p.mul("%y", p.add(p.op("tanh", {"%x"}), d));
       p.result(p.sum(p.select(p.isFinite("%y"), value, p.number("0.0"))));
     }},
    {"differences from two sums under two masks", "0, 0, 1 visibility",
     [](ProgramText &p) {
       Text x = p.sub("%x", p.sum("%x")), y = p.sub("%y", p.sum("%y")), zero = p.number("0.0");
       Text before = p.select(p.compare("LE", p.positions(), "%b"), x, zero);
       Text after = p.select(p.compare("GT", p.positions(), "%b"), y, zero);
       p.result(p.sum(p.add(before, after)));
     }},
    {"a sum that does not start from zero", "0, 1 identity",
     [](ProgramText &p) { p.result(p.reduce("add", "1.0", p.exp(p.sub("%x", p.max("%x"))))); }},
};

} // namespace

TEST(Cascade, DecidesTheListedProgramsAsByHand) {
  Judge judge;
  for (const Program &program : programs) {
    ProgramText text;
    program.write(text);
    EXPECT_EQ(judge.decisionOf(text.text()), program.decision) << program.name << "\n"
                                                               << judge.description(text.text());
  }
}

TEST(Cascade, BlocksGiveTheSameResults) {
  Judge judge;
  for (const Program &program : programs)
    for (const bool hasInfinities : {false, true}) {
      if (hasInfinities && program.hasInfiniteFactor)
        continue;
      ProgramText writer;
      program.write(writer);
      const Text text = writer.text();
      const auto inputs = judge.inputs(text, 1, hasInfinities);
      const auto expected = judge.run(text, inputs);
      for (const int64_t blockSize : {1, 5, 13})
        for (const bool asTree : {false, true})
          EXPECT_LT(difference(expected, judge.run(text, inputs, blockSize, asTree)), 1e-11)
              << program.name << " in " << (asTree ? "a tree" : "a sequence") << " of blocks of "
              << blockSize << (hasInfinities ? ", with infinities" : "");
    }
}

TEST(Cascade, NoLossOfDigitsFarFromZero) {
  // The mean is 1000 times the deviation: squares minus the square of the mean would lose six
  // digits.
  Judge judge;
  for (const char *name : {"variance in two passes becomes Welford's", "covariance", "log-sum-exp",
                           "layer norm times a matrix"}) {
    const auto *program = std::find_if(std::begin(programs), std::end(programs), [&](auto &listed) {
      return std::string_view(listed.name) == name;
    });
    ASSERT_NE(program, std::end(programs)) << name;
    ProgramText narrow(13, "f32"), wide(13, "f64");
    program->write(narrow);
    program->write(wide);
    const auto inputs = judge.inputs(narrow.text(), 3, false, 2000);
    auto exactInputs = judge.inputs(wide.text(), 3, false, 2000);
    for (size_t i = 0; i < inputs.size(); ++i) {
      tilewright::interpret::Tensor exact = exactInputs[i].takeTensor();
      for (int64_t at = 0; at < exact.elementCount(); ++at)
        exact.set(at, inputs[i].tensor().at(at));
      exactInputs[i] = std::move(exact);
    }
    const auto exact = judge.run(wide.text(), exactInputs);
    const double direct = difference(exact, judge.run(narrow.text(), inputs));
    for (const int64_t blockSize : {1, 4, 6})
      for (const bool asTree : {false, true})
        EXPECT_LE(difference(exact, judge.run(narrow.text(), inputs, blockSize, asTree)),
                  2 * direct + 1e-5)
            << name << " in blocks of " << blockSize << ", direct " << direct;
  }
}

TEST(Cascade, RowsWithoutElementsAreNotSplit) {
  Judge judge;
  ProgramText p(0);
  Softmax s(p, "%x");
  p.result(p.div(s.e, s.l));
  EXPECT_EQ(judge.decisionOf(p.text()), "0, 1 nonempty");
}

TEST(Cascade, NotANumberStaysOne) {
  Judge judge;
  ProgramText p;
  Softmax s(p, "%x");
  p.result(p.dot(p.div(s.e, s.l)));
  auto inputs = judge.inputs(p.text(), 1, false);
  tilewright::interpret::Tensor x = inputs[0].takeTensor();
  x.set(2, tilewright::numerics::Scalar::ofReal(std::numeric_limits<double>::quiet_NaN()));
  x.set(20, tilewright::numerics::Scalar::ofReal(std::numeric_limits<double>::infinity()));
  inputs[0] = std::move(x);
  const auto expected = judge.run(p.text(), inputs);
  EXPECT_TRUE(std::isnan(expected[0].tensor().at(0).r));
  EXPECT_TRUE(std::isnan(expected[0].tensor().at(2).r));
  EXPECT_TRUE(std::isfinite(expected[0].tensor().at(4).r));
  for (const int64_t blockSize : {1, 4})
    EXPECT_LT(difference(expected, judge.run(p.text(), inputs, blockSize, true)), 1e-11);
}

TEST(Cascade, ARowReadsOnlyItsOwnResults) {
  // The maximum of column i, as if it were that of row i.
  Judge judge;
  EXPECT_EQ(judge.decisionOf(R"(
    func.func @main(%x: tensor<4x4xf64>) -> tensor<4xf64> {
      %z = stablehlo.constant dense<0.0> : tensor<f64>
      %i = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
      %m = stablehlo.reduce(%x init: %i) applies stablehlo.maximum across dimensions = [1]
          : (tensor<4x4xf64>, tensor<f64>) -> tensor<4xf64>
      %r = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<4xf64>) -> tensor<4x4xf64>
      %c = stablehlo.broadcast_in_dim %m, dims = [1] : (tensor<4xf64>) -> tensor<4x4xf64>
      %a = stablehlo.subtract %x, %r : tensor<4x4xf64>
      %b = stablehlo.subtract %a, %c : tensor<4x4xf64>
      %s = stablehlo.reduce(%b init: %z) applies stablehlo.add across dimensions = [1]
          : (tensor<4x4xf64>, tensor<f64>) -> tensor<4xf64>
      return %s : tensor<4xf64>
    })"),
            "0, 1 alignment");
}

TEST(Cascade, TheDescriptionNamesWhatFails) {
  Judge judge;
  ProgramText p;
  p.result(p.sum(p.op("abs", {p.sub("%x", mean(p, "%x"))})));
  EXPECT_THAT(judge.description(p.text()), HasSubstr("pass 1, separability: abs("));
}
