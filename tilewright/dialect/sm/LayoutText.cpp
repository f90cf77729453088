// The text of a layout:
//
//   layout ::= dim* copies? xor? pad?
//   dim    ::= list
//   copies ::= "copies" list
//   xor    ::= "xor" "[" flip ("," flip)* "]"
//   pad    ::= "pad" "[" interval "," amount "]"
//   list   ::= "[" (digit ("," digit)*)? "]"
//   digit  ::= size axis (":" stride)?
//   flip   ::= axis bit (":" count)? "to" axis bit
//
// A flip with a count stands for `count` flips, of consecutive bits upwards from `bit`.
#include "tilewright/dialect/sm/Layout.h"

#include "llvm/ADT/StringExtras.h"

using namespace tilewright::sm;
using llvm::StringRef;

static constexpr StringRef axisNames[axisCount] = {"reg", "lane",   "warp",      "group",
                                                   "cta", "offset", "tmem_lane", "tmem_col"};

StringRef tilewright::sm::nameOf(Axis axis) { return axisNames[static_cast<size_t>(axis)]; }

static std::optional<Axis> parseAxis(LayoutTokens &tokens, std::string &error) {
  std::optional<StringRef> word = tokens.takeWord();
  for (size_t i = 0; word && i < axisCount; ++i)
    if (axisNames[i] == *word)
      return static_cast<Axis>(i);
  error = "expects an axis (" + llvm::join(llvm::ArrayRef(axisNames), ", ") + ")";
  if (word)
    error += ", got '" + word->str() + "'";
  return std::nullopt;
}

static bool expect(LayoutTokens &tokens, char punctuation, std::string &error) {
  if (tokens.take(punctuation))
    return true;
  error = std::string("expects '") + punctuation + "'";
  return false;
}

static std::optional<int64_t> parseNumber(LayoutTokens &tokens, StringRef what, int64_t lowest,
                                          std::string &error) {
  std::optional<int64_t> number = tokens.takeInteger();
  // The bound keeps products of a layout's numbers within 64 bits.
  if (number && *number >= lowest && *number <= (int64_t(1) << 40))
    return number;
  error = ("expects " + what + " from " + llvm::Twine(lowest) + " to 2^40").str();
  if (number)
    error += ", got " + std::to_string(*number);
  return std::nullopt;
}

/// Parses digits after the "[".
static bool parseDigits(LayoutTokens &tokens, Layout::Digits &digits, std::string &error) {
  if (tokens.take(']'))
    return true;
  do {
    std::optional<int64_t> size = parseNumber(tokens, "a digit's size", 1, error);
    if (!size)
      return false;
    std::optional<Axis> axis = parseAxis(tokens, error);
    if (!axis)
      return false;
    std::optional<int64_t> stride = 1;
    if (tokens.take(':') && !(stride = parseNumber(tokens, "a stride", 1, error)))
      return false;
    digits.push_back({*size, *axis, *stride});
  } while (tokens.take(','));
  return expect(tokens, ']', error);
}

static bool parseFlips(LayoutTokens &tokens, llvm::SmallVectorImpl<Flip> &flips,
                       std::string &error) {
  if (!expect(tokens, '[', error))
    return false;
  do {
    std::optional<Axis> from = parseAxis(tokens, error);
    std::optional<int64_t> bit = from ? parseNumber(tokens, "a bit", 0, error) : std::nullopt;
    std::optional<int64_t> count = 1;
    if (!bit || (tokens.take(':') && !(count = parseNumber(tokens, "a count of bits", 1, error))))
      return false;
    if (tokens.takeWord() != StringRef("to")) {
      error = "expects 'to' before the bits that are flipped";
      return false;
    }
    std::optional<Axis> to = parseAxis(tokens, error);
    std::optional<int64_t> target = to ? parseNumber(tokens, "a bit", 0, error) : std::nullopt;
    if (!target)
      return false;
    if (*bit + *count > 62 || *target + *count > 62) {
      error = "expects bits below 62";
      return false;
    }
    for (int64_t i = 0; i < *count; ++i)
      flips.push_back({*from, *bit + i, *to, *target + i});
  } while (tokens.take(','));
  return expect(tokens, ']', error);
}

std::optional<Layout> tilewright::sm::parseLayout(LayoutTokens &tokens, std::string &error) {
  llvm::SmallVector<Layout::Digits> dims;
  Layout::Digits copies;
  llvm::SmallVector<Flip> flips;
  Pad pad;
  while (tokens.take('['))
    if (!parseDigits(tokens, dims.emplace_back(), error))
      return std::nullopt;
  // Each part occurs at most once and in this order, so that the text of a layout is unique.
  int next = 0;
  while (std::optional<StringRef> word = tokens.takeWord()) {
    if (*word == "copies" && next < 1) {
      next = 1;
      if (!expect(tokens, '[', error) || !parseDigits(tokens, copies, error))
        return std::nullopt;
    } else if (*word == "xor" && next < 2) {
      next = 2;
      if (!parseFlips(tokens, flips, error))
        return std::nullopt;
    } else if (*word == "pad" && next < 3) {
      next = 3;
      if (!expect(tokens, '[', error))
        return std::nullopt;
      std::optional<int64_t> interval = parseNumber(tokens, "an interval", 1, error);
      if (!interval || !expect(tokens, ',', error))
        return std::nullopt;
      std::optional<int64_t> amount = parseNumber(tokens, "an amount", 1, error);
      if (!amount || !expect(tokens, ']', error))
        return std::nullopt;
      pad = {*interval, *amount};
    } else {
      error =
          "expects dimensions in brackets, then 'copies', 'xor' and 'pad' in this order, got '" +
          word->str() + "'";
      return std::nullopt;
    }
  }
  Layout layout(dims, copies, flips, pad);
  error = layout.problem();
  if (!error.empty())
    return std::nullopt;
  return layout;
}

namespace {
/// Tokens of a string.
class TextTokens : public LayoutTokens {
public:
  explicit TextTokens(StringRef text) : rest(text) {}
  bool take(char punctuation) override {
    skip();
    return rest.consume_front(StringRef(&punctuation, 1));
  }
  std::optional<int64_t> takeInteger() override {
    skip();
    uint64_t value;
    if (rest.consumeInteger(10, value) || value > (uint64_t(1) << 62))
      return std::nullopt;
    return static_cast<int64_t>(value);
  }
  std::optional<StringRef> takeWord() override {
    skip();
    StringRef word = rest.take_while([](char c) { return llvm::isAlpha(c) || c == '_'; });
    rest = rest.drop_front(word.size());
    return word.empty() ? std::nullopt : std::optional(word);
  }
  StringRef remaining() {
    skip();
    return rest;
  }

private:
  void skip() { rest = rest.ltrim(); }
  StringRef rest;
};
} // namespace

std::optional<Layout> Layout::parse(StringRef text, std::string *error) {
  std::string reason;
  TextTokens tokens(text);
  std::optional<Layout> layout = parseLayout(tokens, reason);
  StringRef rest = tokens.remaining();
  if (layout && !rest.empty()) {
    layout.reset();
    reason = "has unexpected text after it";
  }
  if (!layout && error)
    *error = reason + (rest.empty() ? " at the end of '" + text.str() + "'"
                                    : " before '" + rest.str() + "'");
  return layout;
}

static void print(llvm::raw_ostream &out, llvm::ArrayRef<Digit> digits) {
  out << "[";
  llvm::interleaveComma(digits, out, [&](const Digit &digit) {
    out << digit.size << " " << nameOf(digit.axis);
    if (digit.stride != 1)
      out << ":" << digit.stride;
  });
  out << "]";
}

llvm::raw_ostream &tilewright::sm::operator<<(llvm::raw_ostream &out, const Layout &layout) {
  llvm::interleave(
      layout.getDims(), out, [&](const Layout::Digits &digits) { print(out, digits); }, " ");
  StringRef space = layout.rank() == 0 ? "" : " ";
  if (!layout.getCopies().empty()) {
    print(out << space << "copies ", layout.getCopies());
    space = " ";
  }
  llvm::ArrayRef<Flip> flips = layout.getFlips();
  if (!flips.empty()) {
    out << space << "xor [";
    for (size_t i = 0, count; i < flips.size(); i += count) {
      for (count = 1; i + count < flips.size(); ++count) {
        const Flip &next = flips[i + count];
        const auto step = static_cast<int64_t>(count);
        if (next !=
            Flip{flips[i].fromAxis, flips[i].from + step, flips[i].toAxis, flips[i].to + step})
          break;
      }
      out << (i ? ", " : "") << nameOf(flips[i].fromAxis) << " " << flips[i].from;
      if (count != 1)
        out << ":" << count;
      out << " to " << nameOf(flips[i].toAxis) << " " << flips[i].to;
    }
    out << "]";
    space = " ";
  }
  if (layout.getPad().amount != 0)
    out << space << "pad [" << layout.getPad().interval << ", " << layout.getPad().amount << "]";
  return out;
}

std::string Layout::str() const {
  std::string text;
  llvm::raw_string_ostream(text) << *this;
  return text;
}
