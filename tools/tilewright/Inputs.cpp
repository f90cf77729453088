#include "tools/tilewright/Inputs.h"

#include "tilewright/numerics/Convert.h"
#include "tilewright/support/Concat.h"
#include "tools/tilewright/Files.h"
#include "tools/tilewright/Npy.h"

#include <charconv>
#include <cstring>

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
                         array->descriptor, "', the parameter is ", parameter.toString()));
  if (array->elements.size() != static_cast<size_t>(array->shape.byteCount(parameter.type)))
    return Status(Error::npyMalformed,
                  concat(path, " should hold ", array->shape.byteCount(parameter.type),
                         " bytes of elements, holds ", array->elements.size()));
  TILEWRIGHT_ASSIGN(Tensor tensor, Tensor::allocate(parameter.type, array->shape, context));
  std::memcpy(tensor.mutableData(), array->elements.data(), array->elements.size());
  return tensor;
}

/// Reads one number at the front of `text` and drops it. Whole numbers stay
/// exact to 64 bits; a program's own type decides what becomes of the rest.
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
    return true;
  };
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
      return Status(Error::inputMismatch, concat("'", text, "' is not a size and an x"));
    parameter.dims.emplace_back(size);
    text.remove_prefix(at - text.data() + 1);
  }
  std::optional<ElementType> type = elementTypeNamed(text);
  if (!type)
    return Status(Error::inputMismatch,
                  concat("'", text, "' is not an element type; f32, i64, ui8, bf16, i1 are"));
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
    return Status(
        Error::inputMismatch,
        concat("'", text.substr(0, equals), "' does not fit the parameter ", parameter.toString()));
  TILEWRIGHT_ASSIGN(Tensor tensor, Tensor::allocate(given.type, shape, context));
  std::string_view values = text.substr(equals + 1);
  std::byte *at = tensor.mutableData();
  size_t step = tensor.elementBytes();
  bool splat = values.find(',') == values.npos;
  for (int64_t i = 0; i < shape.elementCount(); ++i) {
    if (splat && i > 0)
      std::memcpy(at + i * step, at, step);
    else if (!takeElement(values, given.type, at + i * step))
      return Status(Error::inputMismatch, concat("element ", i, " of ", shape.elementCount(),
                                                 " in '", text, "' is missing or is not a number"));
  }
  if (!splat && !values.empty())
    return Status(Error::inputMismatch,
                  concat("'", text, "' gives more than ", shape.elementCount(), " elements"));
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
