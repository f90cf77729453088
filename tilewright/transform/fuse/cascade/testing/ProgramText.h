// ProgramText: writes small programs of reductions, for tests.
#ifndef TILEWRIGHT_TRANSFORM_FUSE_CASCADE_TESTING_PROGRAMTEXT_H
#define TILEWRIGHT_TRANSFORM_FUSE_CASCADE_TESTING_PROGRAMTEXT_H

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace tilewright::cascade {

/// A function of x and y (rows x length), w (length x columns) and b (rows), all of one type.
/// Values are names; a value has an element for each point ("full"), or one for each row.
///
///   ProgramText p;
///   std::string m = p.max("%x"), e = p.exp(p.sub("%x", m)), l = p.sum(e);
///   p.result(p.dot(p.div(e, l)));
///   parse(p.text());
class ProgramText {
public:
  explicit ProgramText(int64_t length = 13, std::string element = "f64")
      : length(length), element(std::move(element)) {}

  /// An elementwise op. If some operands are full, the others are broadcast.
  std::string op(const std::string &name, std::vector<std::string> operands);
  std::string add(std::string a, std::string b) { return op("add", {a, b}); }
  std::string sub(std::string a, std::string b) { return op("subtract", {a, b}); }
  std::string mul(std::string a, std::string b) { return op("multiply", {a, b}); }
  std::string div(std::string a, std::string b) { return op("divide", {a, b}); }
  std::string exp(std::string a) { return op("exponential", {a}); }
  std::string log(std::string a) { return op("log", {a}); }
  std::string number(const std::string &value);
  /// select(condition, a, b), where the condition is `a DIRECTION b` or is_finite(a).
  std::string select(std::string condition, std::string a, std::string b);
  std::string compare(const std::string &direction, std::string a, std::string b);
  std::string isFinite(std::string a);

  /// Reductions along the length.
  std::string reduce(const std::string &name, const std::string &init, std::string a);
  std::string sum(std::string a) { return reduce("add", "0.0", a); }
  std::string max(std::string a) { return reduce("maximum", infinity(true), a); }
  std::string min(std::string a) { return reduce("minimum", infinity(false), a); }
  /// The first index of the maximum, as a number; a reduction of two tensors.
  std::string argmax(std::string a);
  /// a times w, or if `isTransposed` the transposed w times the transposed a.
  std::string dot(std::string a, bool isTransposed = false);
  /// The positions along the length, as numbers.
  std::string positions();

  void result(std::string value) { results.push_back(std::move(value)); }
  std::string text() const;
  bool isFull(const std::string &value) const;
  /// The hexadecimal form of an infinity.
  std::string infinity(bool isNegative) const;

  static constexpr int64_t rows = 3, columns = 2;

private:
  std::string type(const std::string &value) const;
  std::string full(const std::string &of) const;
  std::string row(const std::string &of) const;
  std::string atElements(const std::string &value);
  std::string name(const std::string &itsType);

  int64_t length;
  std::string element, body;
  std::vector<std::pair<std::string, std::string>> types; // of values
  std::vector<std::string> results;
};

} // namespace tilewright::cascade

#endif // TILEWRIGHT_TRANSFORM_FUSE_CASCADE_TESTING_PROGRAMTEXT_H
