// The dialect, the layout attribute, and the decomposition of views into digits.
#include "tilewright/dialect/sm/SmDialect.h"

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright::sm;

#include "tilewright/dialect/sm/SmDialect.cpp.inc"

#include "tilewright/dialect/sm/SmEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "tilewright/dialect/sm/SmAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "tilewright/dialect/sm/SmTypes.cpp.inc"

void SmDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tilewright/dialect/sm/SmAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "tilewright/dialect/sm/SmTypes.cpp.inc"
      >();
  registerOps();
}

//===- The attribute ------------------------------------------------------===//

namespace {
/// Tokens of MLIR's parser.
class AsmTokens : public LayoutTokens {
public:
  explicit AsmTokens(AsmParser &parser) : parser(parser) {}
  bool take(char punctuation) override {
    switch (punctuation) {
    case '[':
      return succeeded(parser.parseOptionalLSquare());
    case ']':
      return succeeded(parser.parseOptionalRSquare());
    case ':':
      return succeeded(parser.parseOptionalColon());
    default:
      return succeeded(parser.parseOptionalComma());
    }
  }
  std::optional<int64_t> takeInteger() override {
    int64_t value;
    OptionalParseResult result = parser.parseOptionalInteger(value);
    return result.has_value() && succeeded(*result) ? std::optional(value) : std::nullopt;
  }
  std::optional<StringRef> takeWord() override {
    StringRef word;
    return succeeded(parser.parseOptionalKeyword(&word)) ? std::optional(word) : std::nullopt;
  }

private:
  AsmParser &parser;
};
} // namespace

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  SMLoc start = parser.getCurrentLocation();
  AsmTokens tokens(parser);
  std::string error;
  std::optional<Layout> layout = parseLayout(tokens, error);
  if (!layout) {
    parser.emitError(start, "layout ") << error;
    return {};
  }
  if (parser.parseGreater())
    return {};
  return LayoutAttr::get(parser.getContext(), *layout);
}

void LayoutAttr::print(AsmPrinter &printer) const { printer << "<" << getValue().str() << ">"; }

LogicalResult LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                         function_ref<InFlightDiagnostic()> emitError) const {
  const Layout &layout = getValue();
  if (layout.rank() != static_cast<int64_t>(shape.size()))
    return emitError() << "a layout must have as many dimensions as its tile, got " << layout.rank()
                       << " for a tile of rank " << shape.size();
  for (auto [dim, size] : llvm::enumerate(shape))
    if (layout.cover(dim) < size)
      return emitError() << "a layout must cover all " << size << " elements of dimension " << dim
                         << ", but this one covers " << layout.cover(dim);
  return success();
}

LayoutAttr tilewright::sm::layoutOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<LayoutAttr>(tensor.getEncoding()) : LayoutAttr();
}

RankedTensorType tilewright::sm::withLayout(Type type, const Layout &layout) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType(),
                               LayoutAttr::get(type.getContext(), layout));
}

int64_t KernelOp::getPointCount() {
  int64_t count = 1;
  for (int64_t size : getGrid())
    count *= size;
  return count;
}

std::array<int64_t, 3> KernelOp::getClusterSizes() {
  std::array<int64_t, 3> sizes = {1, 1, 1};
  if (std::optional<ArrayRef<int64_t>> cluster = getCluster())
    for (size_t i = 0; i < sizes.size() && i < cluster->size(); ++i)
      sizes[i] = (*cluster)[i];
  return sizes;
}

//===- Views --------------------------------------------------------------===//

/// The largest value of the index. No piece may have a negative weight.
static int64_t highestOf(const ViewIndex &form) {
  int64_t highest = form.constant;
  for (const ViewPiece &piece : form.pieces)
    highest += (piece.size - 1) * piece.weight;
  return highest;
}

/// Splits the index into a part below `divisor` and a multiple of `divisor`. Returns false if the
/// lower part could carry into the upper one.
static bool split(const ViewIndex &form, int64_t divisor, ViewIndex &low, ViewIndex &high) {
  low.constant = form.constant % divisor;
  high.constant = form.constant - low.constant;
  if (form.constant < 0)
    return false;
  for (const ViewPiece &piece : form.pieces) {
    if (piece.weight < 0)
      return false;
    if (piece.weight % divisor == 0) {
      high.pieces.push_back(piece);
    } else if ((piece.size - 1) * piece.weight < divisor) {
      low.pieces.push_back(piece);
    } else {
      const int64_t inside = divisor / piece.weight;
      if (divisor % piece.weight != 0)
        return false;
      low.pieces.push_back({piece.dim, piece.stride, inside, piece.weight});
      high.pieces.push_back(
          {piece.dim, piece.stride * inside, (piece.size + inside - 1) / inside, divisor});
    }
  }
  return highestOf(low) < divisor;
}

static std::optional<ViewIndex> formOf(AffineExpr expr, ArrayRef<int64_t> shape) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return ViewIndex{constant.getValue(), {}};
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    const int64_t size = std::max<int64_t>(shape[dim.getPosition()], 1);
    return ViewIndex{0, {{static_cast<int64_t>(dim.getPosition()), 1, size, 1}}};
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  std::optional<ViewIndex> lhs = formOf(binary.getLHS(), shape),
                           rhs = formOf(binary.getRHS(), shape);
  if (!lhs || !rhs)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add) {
    lhs->constant += rhs->constant;
    llvm::append_range(lhs->pieces, rhs->pieces);
    return lhs;
  }
  if (!rhs->pieces.empty())
    return std::nullopt;
  const int64_t number = rhs->constant;
  if (expr.getKind() == AffineExprKind::Mul) {
    lhs->constant *= number;
    for (ViewPiece &piece : lhs->pieces)
      piece.weight *= number;
    return lhs;
  }
  ViewIndex low, high;
  if (number < 1 || expr.getKind() == AffineExprKind::CeilDiv || !split(*lhs, number, low, high))
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Mod)
    return low;
  high.constant /= number;
  for (ViewPiece &piece : high.pieces)
    piece.weight /= number;
  return high;
}

std::optional<ViewMap> tilewright::sm::viewMapOf(AffineMap map, ArrayRef<int64_t> resultShape,
                                                 ArrayRef<int64_t> sourceShape) {
  ViewMap view{SmallVector<int64_t>(resultShape), SmallVector<int64_t>(sourceShape), {}};
  for (AffineExpr expr : map.getResults()) {
    std::optional<ViewIndex> form = formOf(expr, resultShape);
    if (!form)
      return std::nullopt;
    // Drop pieces with a single value, which add nothing.
    llvm::erase_if(form->pieces, [](const ViewPiece &piece) { return piece.size == 1; });
    view.source.push_back(std::move(*form));
  }
  return view;
}
