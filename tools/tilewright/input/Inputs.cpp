#include "tools/tilewright/input/Inputs.h"

#include "tilewright/numerics/Convert.h"
#include "tilewright/numerics/scalar/Scalar.h"
#include "tilewright/support/Concat.h"
#include "tools/tilewright/input/Files.h"
#include "tools/tilewright/input/Npy.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

using namespace tilewright::numerics;
using namespace tilewright::interpret;

namespace tilewright::tools {
namespace {

bool fits(const Shape &shape, const Parameter &parameter) {
  if (shape.rank() != static_cast<int64_t>(parameter.dims.size()))
    return false;
  for (int64_t dim = 0; dim < shape.rank(); ++dim)
    if (std::optional<int64_t> size = parameter.dims[dim]; size && *size != shape[dim])
      return false;
  return true;
}

Result<Tensor> fromFile(const std::string &path, const Parameter &parameter, Context &context) {
  TILEWRIGHT_ASSIGN(std::string file, readFile(path));
  Result<NpyArray> array = parseNpy(std::as_bytes(std::span(file)));
  if (!array.isOk())
    return std::move(array).takeStatus().during("reading " + path);
  if (!matches(array->descriptor, parameter.type) || !fits(array->shape, parameter))
    return Status(Error::inputMismatch,
                  concat(path, " has shape ", array->shape.toString(), " and type '",
                         array->descriptor, "', but the parameter is ", parameter.toString()));
  if (array->elements.size() != static_cast<size_t>(array->shape.byteCount(parameter.type)))
    return Status(Error::npyMalformed,
                  concat(path, " must contain ", array->shape.byteCount(parameter.type),
                         " bytes of elements, got ", array->elements.size()));
  TILEWRIGHT_ASSIGN(Tensor tensor, Tensor::allocate(parameter.type, array->shape, context));
  std::memcpy(tensor.mutableData(), array->elements.data(), array->elements.size());
  return tensor;
}

/// Parses one number at the start of `text` and removes it. Integers are parsed exactly, as 64
/// bits, and other numbers as f64; both are then converted to `type`. Fails if the text is not a
/// number, or not a value of an integer type: 300 or 1.5 for i8.
bool takeElement(std::string_view &text, ElementType type, std::byte *element) {
  size_t end = std::min(text.find(','), text.size());
  std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  const char *begin = word.data(), *stop = word.data() + word.size();
  if (word == "true" || word == "false") {
    int64_t value = word == "true";
    convert(ElementType::i64, reinterpret_cast<std::byte *>(&value), type, element, 1);
    return true;
  }
  auto reads = [&](auto value, ElementType from) {
    auto [at, error] = std::from_chars(begin, stop, value);
    if (error != std::errc() || at != stop || word.empty())
      return false;
    convert(from, reinterpret_cast<std::byte *>(&value), type, element, 1);
    if (!numerics::isInteger(type) && type != ElementType::pred)
      return true;
    const numerics::Scalar read = numerics::loadScalar(type, element);
    const bool isSigned = numerics::isSigned(type);
    if constexpr (std::is_integral_v<decltype(value)>)
      return isSigned ? std::cmp_equal(read.i, value) : std::cmp_equal(read.u, value);
    else
      // A double cannot represent every larger integer, so these must be written as digits.
      return std::fabs(value) <= 0x1p53 && (isSigned ? double(read.i) : double(read.u)) == value;
  };
  // An integer has no negative zero.
  if (word == "-0")
    return reads(double(), ElementType::f64);
  return reads(int64_t(), ElementType::i64) || reads(uint64_t(), ElementType::ui64) ||
         reads(double(), ElementType::f64);
}

/// Splits "2x3xf32" into its shape and type.
Result<Parameter> parseType(std::string_view text) {
  Parameter parameter;
  while (!text.empty() && (std::isdigit(static_cast<unsigned char>(text.front())))) {
    int64_t size = 0;
    auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc() || at == text.data() + text.size() || *at != 'x')
      return Status(Error::inputMismatch,
                    concat("expected a type such as 2x3xf32, got '", text, "'"));
    parameter.dims.emplace_back(size);
    text.remove_prefix(at - text.data() + 1);
  }
  std::optional<ElementType> type = elementTypeNamed(text);
  if (!type)
    return Status(Error::inputMismatch,
                  concat("unknown element type '", text,
                         "'; expected a type such as f32, i64, ui8, bf16 or i1"));
  parameter.type = *type;
  return parameter;
}

Result<Tensor> fromValues(std::string_view text, const Parameter &parameter, Context &context) {
  size_t equals = text.find('=');
  TILEWRIGHT_ASSIGN(Parameter given, parseType(text.substr(0, equals)));
  std::vector<int64_t> dims;
  for (std::optional<int64_t> size : given.dims)
    dims.push_back(*size);
  TILEWRIGHT_ASSIGN(Shape shape, Shape::create(dims));
  if (given.type != parameter.type || !fits(shape, parameter))
    return Status(Error::inputMismatch,
                  concat("'", text.substr(0, equals), "' does not match the parameter ",
                         parameter.toString()));
  TILEWRIGHT_ASSIGN(Tensor tensor, Tensor::allocate(given.type, shape, context));
  std::string_view values = text.substr(equals + 1);
  std::byte *at = tensor.mutableData();
  size_t step = tensor.elementBytes();
  bool splat = values.find(',') == values.npos;
  for (int64_t i = 0; i < shape.elementCount(); ++i) {
    if (splat && i > 0)
      std::memcpy(at + i * step, at, step);
    else if (!takeElement(values, given.type, at + i * step))
      return Status(Error::inputMismatch,
                    concat("element ", i, " of ", shape.elementCount(), " in '", text,
                           "' is missing or is not a value of ", spelling(given.type)));
  }
  if (!splat && !values.empty())
    return Status(Error::inputMismatch,
                  concat("'", text, "' has more than ", shape.elementCount(), " elements"));
  return tensor;
}

} // namespace

std::string Parameter::toString() const {
  std::string text;
  for (std::optional<int64_t> size : dims)
    text += size ? concat(*size, "x") : "?x";
  return concat(text, spelling(type));
}

Result<Tensor> readInput(std::string_view text, const Parameter &parameter, Context &context) {
  if (text.find('=') != text.npos)
    return fromValues(text, parameter, context);
  return fromFile(std::string(text), parameter, context);
}

Status writeNpy(const std::string &path, const Tensor &tensor) {
  std::string header = npyHeader(tensor.type(), tensor.shape());
  return writeFile(path, {std::as_bytes(std::span(header)),
                          std::span(tensor.data(), static_cast<size_t>(tensor.byteCount()))});
}

} // namespace tilewright::tools
