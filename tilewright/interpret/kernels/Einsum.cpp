#include "tilewright/interpret/kernels/Einsum.h"

#include "tilewright/support/Concat.h"

#include <algorithm>

namespace tilewright::interpret {

static Status malformed(std::string_view text, std::string_view why) {
  return Status(Error::einsumConfig,
                concat("einsum config '", text, "' ", why,
                       "; expected a form like 'ij,jk->ik' or '...ij,...jk->...ik'"));
}

static bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Parses the letters of one operand; an ellipsis becomes a single '.'.
static Result<std::string> parseTerm(std::string_view term, std::string_view text) {
  std::string labels;
  for (size_t i = 0; i < term.size(); ++i) {
    if (isLetter(term[i])) {
      labels += term[i];
    } else if (term.substr(i, 3) == "...") {
      if (labels.find('.') != std::string::npos)
        return malformed(text, "has two ellipses in one term");
      labels += '.';
      i += 2;
    } else {
      return malformed(text, concat("has '", term[i], "', expected a letter"));
    }
  }
  return labels;
}

Result<EinsumConfig> EinsumConfig::parse(std::string_view text, size_t operandCount) {
  std::string dense;
  std::copy_if(text.begin(), text.end(), std::back_inserter(dense),
               [](char c) { return c != ' '; });
  const size_t arrow = dense.find("->");
  if (arrow == std::string::npos)
    return malformed(text, "has no '->'");

  EinsumConfig config;
  const std::string_view inputs = std::string_view(dense).substr(0, arrow);
  for (size_t begin = 0; begin <= inputs.size();) {
    const size_t end = std::min(inputs.find(',', begin), inputs.size());
    TILEWRIGHT_ASSIGN(std::string labels, parseTerm(inputs.substr(begin, end - begin), text));
    config.operands.push_back(std::move(labels));
    begin = end + 1;
  }
  if (config.operands.size() != operandCount)
    return malformed(
        text, concat("has ", config.operands.size(), " operands, but the op has ", operandCount));
  TILEWRIGHT_ASSIGN(config.result, parseTerm(std::string_view(dense).substr(arrow + 2), text));
  for (char label : config.result) {
    if (std::count(config.result.begin(), config.result.end(), label) > 1)
      return malformed(text, concat("has '", label, "' twice in the result"));
    auto has = [&](const std::string &operand) { return operand.find(label) != std::string::npos; };
    // An ellipsis in the result may stand for zero dimensions, so it need not be in an operand.
    if (label != '.' && std::none_of(config.operands.begin(), config.operands.end(), has))
      return malformed(text, concat("has '", label, "' in the result but in no operand"));
  }
  return config;
}

namespace {
/// A letter, or one dimension of an ellipsis, counted from the last: '.' with number 0 is the last
/// dimension, 1 the one before it.
struct Label {
  char letter;
  int64_t number = 0;
  bool operator==(const Label &) const = default;
};

/// The properties of a label: its size, and its stride in each operand (0 if absent).
struct Axis {
  Label label;
  int64_t size = 1;
  bool present[2] = {false, false};
  int64_t stride[2] = {0, 0};
};
} // namespace

/// The labels of a term, with its ellipsis expanded to `ellipsisRank` labels.
static std::vector<Label> expand(const std::string &term, int64_t ellipsisRank) {
  std::vector<Label> labels;
  for (char c : term) {
    if (c != '.')
      labels.push_back({c});
    for (int64_t n = ellipsisRank; c == '.' && n-- > 0;)
      labels.push_back({'.', n});
  }
  return labels;
}

/// Adds the dimensions of operand `which` to the axes.
static Status addOperand(const Tensor &tensor, const std::string &term, size_t which,
                         int64_t ellipsisRank, std::string_view text, std::vector<Axis> &axes) {
  const std::vector<Label> labels = expand(term, ellipsisRank);
  if (static_cast<int64_t>(labels.size()) != tensor.rank())
    return malformed(text, concat("has ", labels.size(), " labels for operand ", which,
                                  ", which is ", tensor.typeString()));
  const Dims strides = tensor.shape().strides();
  for (size_t dim = 0; dim < labels.size(); ++dim) {
    const int64_t size = tensor.shape()[static_cast<int64_t>(dim)];
    auto axis = std::find_if(axes.begin(), axes.end(),
                             [&](const Axis &axis) { return axis.label == labels[dim]; });
    if (axis == axes.end()) {
      axes.push_back({labels[dim], size});
      axis = axes.end() - 1;
    }
    const bool broadcasts = labels[dim].letter == '.' && (size == 1 || axis->size == 1);
    if (axis->size != size && !broadcasts)
      return Status(Error::interpretShape,
                    concat("einsum '", text,
                           "': dimensions with the same label must have the same size, got ",
                           axis->size, " and ", size, " for '", labels[dim].letter, "'"));
    // If one of the sizes is 1, it broadcasts to the other.
    if (axis->size == 1)
      axis->size = size;
    axis->present[which] = true;
    axis->stride[which] += size == 1 ? 0 : strides[dim];
  }
  return Status();
}

static Result<Tensor> evaluate(const Tensor &lhs, const Tensor &rhs, const EinsumConfig &config,
                               std::string_view text, ElementType resultType, Context &context) {
  const Tensor *tensors[] = {&lhs, &rhs};
  int64_t ellipsisRanks[2] = {0, 0};
  std::vector<Axis> axes;
  for (size_t which = 0; which < 2; ++which) {
    const std::string &term = config.operands[which];
    if (term.find('.') != std::string::npos)
      ellipsisRanks[which] =
          std::max<int64_t>(0, tensors[which]->rank() - static_cast<int64_t>(term.size()) + 1);
    TILEWRIGHT_TRY(addOperand(*tensors[which], term, which, ellipsisRanks[which], text, axes));
  }
  const int64_t ellipsisRank = std::max(ellipsisRanks[0], ellipsisRanks[1]);
  const std::vector<Label> resultLabels = expand(config.result, ellipsisRank);
  auto isKept = [&](const Axis &axis) {
    return std::find(resultLabels.begin(), resultLabels.end(), axis.label) != resultLabels.end();
  };

  // An axis is a batch, free or summed axis. A summed axis that only one operand has gets stride 0
  // in the other operand.
  Contraction contraction;
  Dims lhsBatch, lhsFree, lhsSummed, rhsBatch, rhsFree, rhsSummed;
  std::vector<Label> batchLabels, lhsLabels, rhsLabels;
  for (const Axis &axis : axes) {
    if (!isKept(axis)) {
      contraction.summed.push_back(axis.size);
      lhsSummed.push_back(axis.stride[0]);
      rhsSummed.push_back(axis.stride[1]);
    } else if (axis.present[0] && axis.present[1]) {
      contraction.batch.push_back(axis.size);
      lhsBatch.push_back(axis.stride[0]);
      rhsBatch.push_back(axis.stride[1]);
      batchLabels.push_back(axis.label);
    } else if (axis.present[0]) {
      contraction.lhsFree.push_back(axis.size);
      lhsFree.push_back(axis.stride[0]);
      lhsLabels.push_back(axis.label);
    } else {
      contraction.rhsFree.push_back(axis.size);
      rhsFree.push_back(axis.stride[1]);
      rhsLabels.push_back(axis.label);
    }
  }
  contraction.lhsStrides = joined({lhsBatch, lhsFree, lhsSummed});
  contraction.rhsStrides = joined({rhsBatch, rhsSummed, rhsFree});
  TILEWRIGHT_ASSIGN(Tensor product,
                    contract("einsum", lhs, rhs, contraction, resultType, std::nullopt, context));

  std::vector<Label> order = std::move(batchLabels);
  order.insert(order.end(), lhsLabels.begin(), lhsLabels.end());
  order.insert(order.end(), rhsLabels.begin(), rhsLabels.end());
  Dims permutation;
  for (const Label &label : resultLabels)
    permutation.push_back(std::find(order.begin(), order.end(), label) - order.begin());
  return rearranged(product, pick(product.shape().dims(), permutation),
                    pick(product.shape().strides(), permutation), context);
}

Result<Tensor> einsum(const Tensor &lhs, const Tensor &rhs, std::string_view text,
                      ElementType resultType, Context &context) {
  TILEWRIGHT_ASSIGN(EinsumConfig config, EinsumConfig::parse(text, 2));
  return evaluate(lhs, rhs, config, text, resultType, context);
}

Result<Tensor> unaryEinsum(const Tensor &operand, std::string_view text, ElementType resultType,
                           Context &context) {
  TILEWRIGHT_ASSIGN(EinsumConfig config, EinsumConfig::parse(text, 1));
  // A unary einsum is a binary einsum whose second operand is the scalar 1.
  config.operands.emplace_back();
  TILEWRIGHT_ASSIGN(Tensor one, Tensor::scalar(operand.type(), oneOf(operand.type()), context));
  return evaluate(operand, one, config, text, resultType, context);
}

} // namespace tilewright::interpret
