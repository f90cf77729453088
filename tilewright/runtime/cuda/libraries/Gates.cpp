#include "tilewright/runtime/cuda/libraries/Gates.h"

#include "tilewright/numerics/PackedElements.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <set>

namespace tilewright::runtime::cuda::libraries {

using artifact::ScaledProduct;
using numerics::ElementType;

namespace {

struct VersionsRow {
  Library library;
  int since, until;
};
struct FormatRow {
  Library library;
  ElementType lhs, rhs, scale;
  int64_t block;
  int since;
};
struct ResultRow {
  Library library;
  ElementType type;
  int since;
};
struct ChipRow {
  Library library;
  int capability, since;
};
struct FactorRow {
  Library library;
  int since;
};
struct AlignmentRow {
  Library library;
  int64_t bytes;
};

constexpr VersionsRow versionRows[] = {
#define TILEWRIGHT_LIBRARY_VERSIONS(library, since, until) {Library::library, since, until},
#include "tilewright/runtime/cuda/libraries/Gates.def"
};
constexpr FormatRow formatRows[] = {
#define TILEWRIGHT_LIBRARY_FORMAT(library, lhs, rhs, scale, block, since)                          \
  {Library::library, ElementType::lhs, ElementType::rhs, ElementType::scale, block, since},
#include "tilewright/runtime/cuda/libraries/Gates.def"
};
constexpr ResultRow resultRows[] = {
#define TILEWRIGHT_LIBRARY_RESULT(library, type, since)                                            \
  {Library::library, ElementType::type, since},
#include "tilewright/runtime/cuda/libraries/Gates.def"
};
constexpr ChipRow chipRows[] = {
#define TILEWRIGHT_LIBRARY_CHIP(library, capability, since) {Library::library, capability, since},
#include "tilewright/runtime/cuda/libraries/Gates.def"
};
constexpr FactorRow factorRows[] = {
#define TILEWRIGHT_LIBRARY_FACTOR(library, since) {Library::library, since},
#include "tilewright/runtime/cuda/libraries/Gates.def"
};
constexpr AlignmentRow alignmentRows[] = {
#define TILEWRIGHT_LIBRARY_ALIGNMENT(library, bytes) {Library::library, bytes},
#include "tilewright/runtime/cuda/libraries/Gates.def"
};

/// The row of the library for which `matches` holds; null if there is none.
template <typename Row, size_t count>
const Row *find(const Row (&rows)[count], Library library, auto matches) {
  const Row *found = std::find_if(std::begin(rows), std::end(rows), [&](const Row &row) {
    return row.library == library && matches(row);
  });
  return found == std::end(rows) ? nullptr : found;
}
template <typename Row, size_t count> const Row *find(const Row (&rows)[count], Library library) {
  return find(rows, library, [](const Row &) { return true; });
}

} // namespace

std::string_view nameOf(Library library) {
  return library == Library::cublasLt ? "cuBLASLt" : "cuDNN";
}

std::string versionText(int version) {
  return concat(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

int oldestVersion(Library library) { return find(versionRows, library)->since; }
int newestVersion(Library library) { return find(versionRows, library)->until - 1; }

/// Reasons that hold for every version: the layout that the program chose for the product.
static std::string whyNotThisShape(Library library, const ScaledProduct &product) {
  const int64_t unit = find(alignmentRows, library)->bytes;
  auto rowOf = [&](ElementType type, int64_t count) { return numerics::arrayBytes(type, count); };
  if (product.depth % product.block != 0)
    return concat("needs a depth that is a multiple of the block of ", product.block, ", got ",
                  product.depth);
  if (rowOf(product.lhsType, product.depth) % unit != 0 ||
      rowOf(product.rhsType, product.depth) % unit != 0)
    return concat("needs rows of operands of a multiple of ", unit, " bytes, got ",
                  rowOf(product.lhsType, product.depth));
  if (rowOf(product.resultType, product.columns) % unit != 0)
    return concat("needs rows of the result of a multiple of ", unit, " bytes, got ",
                  rowOf(product.resultType, product.columns));
  // Scales are in groups of 128 rows and 4 blocks, which follow one another along the depth. If the
  // program has padded the depth by more blocks, a second group of rows is not where a library
  // expects it. The same holds for a second matrix, except that cuBLASLt is called once per matrix.
  const int64_t blocks = (product.depth / product.block + 3) / 4 * 4;
  if (product.paddedBlocks() != blocks && (std::max(product.rows, product.columns) > 128 ||
                                           (product.batch > 1 && library != Library::cublasLt)))
    return concat("needs scales for ", blocks, " blocks in a row, got room for ",
                  product.paddedBlocks(), " in more than one group of 128 rows");
  return "";
}

std::string whyNot(Library library, int version, int capability, const ScaledProduct &product) {
  auto tooOld = [&](int since, const auto &...what) {
    return concat("needs version ", versionText(since), " for ", what..., ", got ",
                  versionText(version));
  };
  const VersionsRow &versions = *find(versionRows, library);
  if (version < versions.since)
    return tooOld(versions.since, "block-scaled products");
  if (version >= versions.until)
    return concat("is known up to ", versionText(newestVersion(library)), ", got ",
                  versionText(version));
  const ChipRow *chip =
      find(chipRows, library, [&](const ChipRow &row) { return row.capability == capability; });
  if (!chip)
    return concat("has no block-scaled products for sm_", capability);
  if (version < chip->since)
    return tooOld(chip->since, "sm_", capability);
  const FormatRow *format = find(formatRows, library, [&](const FormatRow &row) {
    return row.lhs == product.lhsType && row.rhs == product.rhsType &&
           row.scale == product.scaleType && row.block == product.block;
  });
  auto textOf = [](ElementType type) { return numerics::spelling(type); };
  if (!format)
    return concat("has no product of ", textOf(product.lhsType), " and ", textOf(product.rhsType),
                  " with scales of ", textOf(product.scaleType), " for ", product.block,
                  " elements");
  if (version < format->since)
    return tooOld(format->since, textOf(product.lhsType), " and ", textOf(product.rhsType));
  const ResultRow *result = find(
      resultRows, library, [&](const ResultRow &row) { return row.type == product.resultType; });
  if (!result)
    return concat("has no results of ", textOf(product.resultType));
  if (version < result->since)
    return tooOld(result->since, "results of ", textOf(product.resultType));
  if (const FactorRow *factor = find(factorRows, library);
      product.factor != artifact::none && (!factor || version < factor->since))
    return factor ? tooOld(factor->since, "a global scale") : "has no global scale";
  return whyNotThisShape(library, product);
}

int firstVersionFor(Library library, int capability, const ScaledProduct &product) {
  std::set<int> versions{oldestVersion(library)};
  auto add = [&](const auto &rows) {
    for (const auto &row : rows)
      if (row.library == library)
        versions.insert(row.since);
  };
  add(formatRows), add(resultRows), add(chipRows), add(factorRows);
  for (int version : versions)
    if (whyNot(library, version, capability, product).empty())
      return version;
  return 0;
}

} // namespace tilewright::runtime::cuda::libraries
