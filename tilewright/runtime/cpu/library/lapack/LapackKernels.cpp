// The custom calls lapack_<letter><routine>_ffi that JAX emits for the CPU. Operands, results and
// attributes are those of jaxlib's handlers. The kernels take row-major matrices and convert them,
// so they ignore the layouts that a call requests for its handler.
#include "tilewright/runtime/cpu/library/lapack/Routines.h"

namespace tilewright::runtime::cpu {

using lapack::Item;
using lapack::MatrixShape;
using lapack::Problem;

namespace {
using One = void (*)(const Item &item);

class LapackKernel final : public LibraryKernel {
public:
  LapackKernel(const Lapack &lapack, Problem problem, One one)
      : lapack(lapack), problem(std::move(problem)), one(one) {}

  Status run(const LibraryRun &run) const override {
    run.pool.parallelFor(problem.batch, 1, [&](int64_t begin, int64_t end) {
      lapack.useOneThread();
      for (int64_t i = begin; i < end; ++i)
        one(Item(problem, run, i));
    });
    return Status();
  }

private:
  const Lapack &lapack;
  Problem problem;
  One one;
};

/// A routine, and for each operand and result whether it is a matrix, a vector or a scalar per item
/// of the batch.
struct Routine {
  std::string_view name; // without the type letter, as for real elements
  size_t operands, results;
  size_t realResults; // the count for real elements, if it differs
  std::string_view operandRanks, resultRanks, realResultRanks; // '2', '1' or '0' for each
  One ones[4][2];                                              // by type letter and integer width
  std::string_view options; // names of the attributes that are single characters
};

#define TILEWRIGHT_ONES(function)                                                                  \
  {                                                                                                \
    {lapack::function<float, int32_t>, lapack::function<float, int64_t>},                          \
        {lapack::function<double, int32_t>, lapack::function<double, int64_t>},                    \
        {lapack::function<std::complex<float>, int32_t>,                                           \
         lapack::function<std::complex<float>, int64_t>},                                          \
    {                                                                                              \
      lapack::function<std::complex<double>, int32_t>,                                             \
          lapack::function<std::complex<double>, int64_t>                                          \
    }                                                                                              \
  }

const Routine routines[] = {
    {"getrf", 1, 3, 3, "2", "210", "210", TILEWRIGHT_ONES(getrf), ""},
    {"potrf", 1, 2, 2, "2", "20", "20", TILEWRIGHT_ONES(potrf), "uplo"},
    {"geqrf", 1, 2, 2, "2", "21", "21", TILEWRIGHT_ONES(geqrf), ""},
    {"geqp3", 2, 3, 3, "21", "211", "211", TILEWRIGHT_ONES(geqp3), ""},
    {"orgqr", 2, 1, 1, "21", "2", "2", TILEWRIGHT_ONES(orgqr), ""},
    {"ormqr", 3, 1, 1, "212", "2", "2", TILEWRIGHT_ONES(ormqr), ""},
    {"gesdd", 1, 5, 5, "2", "21220", "21220", TILEWRIGHT_ONES(gesdd), "mode"},
    {"gesvd", 1, 5, 5, "2", "21220", "21220", TILEWRIGHT_ONES(gesvd), "mode"},
    {"syevd", 1, 3, 3, "2", "210", "210", TILEWRIGHT_ONES(syevd), "mode uplo"},
    {"geev", 1, 4, 5, "2", "1220", "11220", TILEWRIGHT_ONES(geev), "compute_left compute_right"},
    {"gees", 1, 5, 6, "2", "22100", "221100", TILEWRIGHT_ONES(gees), "mode"},
    {"gehrd", 1, 3, 3, "2", "210", "210", TILEWRIGHT_ONES(gehrd), ""},
    {"sytrd", 1, 5, 5, "2", "21110", "21110", TILEWRIGHT_ONES(sytrd), "uplo"},
    {"gtsv", 4, 5, 5, "1112", "11120", "11120", TILEWRIGHT_ONES(gtsv), ""},
    {"trsm", 2, 1, 1, "22", "2", "2", TILEWRIGHT_ONES(trsm), "side uplo trans_x diag"},
};
#undef TILEWRIGHT_ONES
} // namespace

/// "syevd" for "heevd" and the like: routines whose name for complex elements differs.
static std::string_view realName(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> pairs[] = {
      {"heevd", "syevd"}, {"hetrd", "sytrd"}, {"ungqr", "orgqr"}, {"unmqr", "ormqr"}};
  for (auto [complex, real] : pairs)
    if (complex == name)
      return real;
  return name;
}

/// The shapes of the operands or results, which must have the dimensions `batch` followed by as
/// many as `ranks` specifies.
static Result<std::vector<MatrixShape>> matricesOf(const CallReader &reader,
                                                   std::span<const TensorType> types,
                                                   std::string_view ranks,
                                                   std::span<const int64_t> batch) {
  std::vector<MatrixShape> matrices;
  for (size_t i = 0; i < types.size(); ++i) {
    const auto rank = static_cast<size_t>(ranks[i] - '0');
    const Dims &dims = types[i].dims;
    TILEWRIGHT_ASSIGN(Shape shape, Shape::create(dims));
    if (dims.size() != batch.size() + rank || !std::equal(batch.begin(), batch.end(), dims.begin()))
      return reader.failure("operand or result ", i, " must have ", rank,
                            " dimensions after the batch ", listed(batch), ", got ",
                            typeString(types[i]));
    MatrixShape matrix{types[i].element};
    if (rank > 0)
      matrix.rows = dims[batch.size()];
    if (rank > 1)
      matrix.columns = dims[batch.size() + 1];
    matrix.bytes = matrix.rows * matrix.columns *
                   static_cast<int64_t>(numerics::storageBytes(types[i].element));
    matrices.push_back(matrix);
  }
  return matrices;
}

/// - libraryCall: sizes or types differ from those that the routine requires.
static Status checkMatrices(const CallReader &reader, const Routine &routine,
                            const Problem &problem, ElementType element) {
  const bool isComplex = numerics::isComplex(element);
  const ElementType real = numerics::componentOf(element);
  const ElementType complex = real == ElementType::f32 ? ElementType::c64 : ElementType::c128;
  const int64_t m = problem.operands[0].rows, n = problem.operands[0].columns;
  const int64_t k = std::min(m, n);
  constexpr auto i32 = ElementType::i32;
  auto fits = [](const MatrixShape &matrix, ElementType type, int64_t rows, int64_t columns = 1) {
    return matrix.element == type && matrix.rows == rows && matrix.columns == columns;
  };
  const std::vector<MatrixShape> &in = problem.operands, &out = problem.results;
  const std::string_view name = routine.name;
  const int64_t below = std::max<int64_t>(0, n - 1);
  bool good = in[0].element == element && m <= std::numeric_limits<int32_t>::max() &&
              n <= std::numeric_limits<int32_t>::max();
  const bool isSquare = m == n;
  if (name == "getrf")
    good = good && fits(out[0], element, m, n) && fits(out[1], i32, k) && fits(out[2], i32, 1);
  else if (name == "potrf")
    good = good && isSquare && fits(out[0], element, n, n) && fits(out[1], i32, 1);
  else if (name == "geqrf")
    good = good && fits(out[0], element, m, n) && fits(out[1], element, k);
  else if (name == "geqp3")
    good = good && fits(in[1], i32, n) && fits(out[0], element, m, n) && fits(out[1], i32, n) &&
           fits(out[2], element, k);
  else if (name == "orgqr")
    good = good && m >= n && fits(in[1], element, in[1].rows) && in[1].rows <= n &&
           fits(out[0], element, m, n);
  else if (name == "ormqr") {
    const int64_t rows = in[2].rows, columns = in[2].columns;
    good = good && fits(in[1], element, in[1].rows) && in[1].rows <= n &&
           fits(in[2], element, rows, columns) && fits(out[0], element, rows, columns) &&
           m == (problem.first == 'L' ? rows : columns) && in[1].rows <= m;
  } else if (name == "gesdd" || name == "gesvd") {
    const bool isFull = problem.first == 'A';
    good = good && fits(out[0], element, m, n) && fits(out[1], real, k) && fits(out[4], i32, 1);
    // Without vectors the routine does not write these two results; their sizes must still be
    // valid.
    if (problem.first == 'N')
      good = good && fits(out[2], element, m, out[2].columns) &&
             fits(out[3], element, out[3].rows, n) && out[3].rows >= k;
    else
      good = good && fits(out[2], element, m, isFull ? m : k) &&
             fits(out[3], element, isFull ? n : k, n);
  } else if (name == "syevd")
    good = good && isSquare && fits(out[0], element, n, n) && fits(out[1], real, n) &&
           fits(out[2], i32, 1);
  else if (name == "geev") {
    const size_t at = isComplex ? 1 : 2;
    good = good && isSquare && fits(out[0], element, n) &&
           (isComplex || fits(out[1], element, n)) && fits(out[at], complex, n, n) &&
           fits(out[at + 1], complex, n, n) && fits(out[at + 2], i32, 1);
  } else if (name == "gees") {
    const size_t at = isComplex ? 3 : 4;
    good = good && isSquare && fits(out[0], element, n, n) && fits(out[1], element, n, n) &&
           fits(out[2], element, n) && (isComplex || fits(out[3], element, n)) &&
           fits(out[at], i32, 1) && fits(out[at + 1], i32, 1);
  } else if (name == "gehrd")
    good = good && isSquare && fits(out[0], element, n, n) && fits(out[1], element, below) &&
           fits(out[2], i32, 1) &&
           (n == 0 || (problem.low >= 1 && problem.low <= problem.high && problem.high <= n));
  else if (name == "sytrd")
    good = good && isSquare && fits(out[0], element, n, n) && fits(out[1], real, n) &&
           fits(out[2], real, below) && fits(out[3], element, below) && fits(out[4], i32, 1);
  else if (name == "gtsv") {
    const int64_t rows = in[3].rows, columns = in[3].columns;
    for (size_t i = 0; i < 3; ++i)
      good = good && fits(in[i], element, rows) && fits(out[i], element, rows);
    good = good && fits(in[3], element, rows, columns) && fits(out[3], element, rows, columns) &&
           fits(out[4], i32, 1);
  } else if (name == "trsm") {
    const int64_t rows = in[1].rows, columns = in[1].columns;
    good = good && isSquare && fits(in[1], element, rows, columns) &&
           fits(out[0], element, rows, columns) && n == (problem.first == 'L' ? rows : columns);
  }
  if (good)
    return Status();
  return reader.failure("operands and results are not those of LAPACK's ", name);
}

/// Reads the attributes that are single characters; JAX passes them as integers.
static Status readOptions(const CallReader &reader, const Routine &routine, bool isComplex,
                          Problem &problem) {
  char *const options[] = {&problem.first, &problem.second, &problem.third, &problem.fourth};
  std::string_view rest = routine.options;
  for (size_t i = 0; !rest.empty(); ++i) {
    const size_t end = std::min(rest.find(' '), rest.size());
    TILEWRIGHT_ASSIGN(int64_t letter, reader.integer(rest.substr(0, end)));
    static constexpr std::string_view known = "ANSVLURTC";
    if (letter <= 0 || letter > 127 || known.find(static_cast<char>(letter)) == known.npos)
      return reader.failure("attribute '", rest.substr(0, end),
                            "' must be an option letter of LAPACK");
    *options[i] = static_cast<char>(letter);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (routine.name == "ormqr") {
    TILEWRIGHT_ASSIGN(bool left, reader.flagOr("left", true));
    TILEWRIGHT_ASSIGN(bool transpose, reader.flagOr("transpose", false));
    problem.first = left ? 'L' : 'R';
    problem.second = !transpose ? 'N' : isComplex ? 'C' : 'T';
  }
  if (routine.name == "gehrd") {
    TILEWRIGHT_ASSIGN(problem.low, reader.integerOr("low", 1));
    TILEWRIGHT_ASSIGN(problem.high, reader.integerOr("high", problem.operands[0].rows));
  }
  return Status();
}

static KernelResult prepare(const LibraryCall &call, char letter, std::string_view name) {
  CallReader reader(call);
  static constexpr std::string_view letters = "sdcz";
  static constexpr ElementType elements[] = {ElementType::f32, ElementType::f64, ElementType::c64,
                                             ElementType::c128};
  const size_t number = letters.find(letter);
  const bool isComplex = number >= 2;
  const Routine *routine =
      std::find_if(std::begin(routines), std::end(routines),
                   [&](const Routine &each) { return each.name == realName(name); });
  if (number == letters.npos || routine == std::end(routines))
    return reader.failure("is not a known routine");
  TILEWRIGHT_TRY(
      reader.expectCounts(routine->operands, isComplex ? routine->results : routine->realResults));
  // The matrix operand determines the batch dimensions, which precede its rows and columns.
  const size_t matrix = routine->operandRanks.find('2');
  const Dims &dims = call.operands[matrix].dims;
  if (dims.size() < 2)
    return reader.failure("takes matrices, got ", typeString(call.operands[matrix]));
  const Dims batch(dims.begin(), dims.end() - 2);
  Problem problem;
  TILEWRIGHT_ASSIGN(problem.operands,
                    matricesOf(reader, call.operands, routine->operandRanks, batch));
  TILEWRIGHT_ASSIGN(problem.results,
                    matricesOf(reader, call.results,
                               isComplex ? routine->resultRanks : routine->realResultRanks, batch));
  for (int64_t size : batch)
    problem.batch *= size;
  TILEWRIGHT_TRY(readOptions(reader, *routine, isComplex, problem));
  TILEWRIGHT_TRY(checkMatrices(reader, *routine, problem, elements[number]));
  TILEWRIGHT_ASSIGN(const Lapack *found, Lapack::find());
  TILEWRIGHT_ASSIGN(problem.routine, found->routine(letter + std::string(name)));
  problem.wide = found->hasWideIntegers();
  const One one = routine->ones[number][problem.wide];
  return makeKernel<LapackKernel>(*found, std::move(problem), one);
}

KernelResult prepareLapack(const LibraryCall &call) {
  // "lapack_sgetrf_ffi"
  std::string_view name = call.name;
  name.remove_prefix(std::min<size_t>(name.size(), sizeof("lapack_") - 1));
  name.remove_suffix(std::min<size_t>(name.size(), sizeof("_ffi") - 1));
  if (name.size() < 2)
    return CallReader(call).failure("is not a known routine");
  return prepare(call, name[0], name.substr(1));
}

/// For custom calls that JAX emits for platforms without their own LAPACK; the element type
/// determines the letter.
static KernelResult prepareByType(const LibraryCall &call, std::string_view real,
                                  std::string_view complex) {
  CallReader reader(call);
  if (call.operands.empty())
    return reader.failure("takes a matrix");
  switch (call.operands[0].element) {
  case ElementType::f32:
    return prepare(call, 's', real);
  case ElementType::f64:
    return prepare(call, 'd', real);
  case ElementType::c64:
    return prepare(call, 'c', complex);
  case ElementType::c128:
    return prepare(call, 'z', complex);
  default:
    return reader.failure("takes f32, f64 or complex elements, got ", typeString(call.operands[0]));
  }
}
KernelResult prepareQr(const LibraryCall &call) { return prepareByType(call, "geqrf", "geqrf"); }
KernelResult prepareHouseholderProduct(const LibraryCall &call) {
  return prepareByType(call, "orgqr", "ungqr");
}

} // namespace tilewright::runtime::cpu
