// LAPACK's routines on batches of matrices. Operands and results are as in jaxlib's custom calls
// lapack_<letter><routine>_ffi. The kernels take row-major matrices and convert them.
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
  LapackRoutine routine;
  size_t operands, results;
  size_t realResults; // the count for real elements, if it differs
  std::string_view operandRanks, resultRanks, realResultRanks; // '2', '1' or '0' for each
  One ones[4][2];                                              // by type letter and integer width
  size_t options;                                              // the number of option letters
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
    {LapackRoutine::getrf, 1, 3, 3, "2", "210", "210", TILEWRIGHT_ONES(getrf), 0},
    {LapackRoutine::potrf, 1, 2, 2, "2", "20", "20", TILEWRIGHT_ONES(potrf), 1},
    {LapackRoutine::geqrf, 1, 2, 2, "2", "21", "21", TILEWRIGHT_ONES(geqrf), 0},
    {LapackRoutine::geqp3, 2, 3, 3, "21", "211", "211", TILEWRIGHT_ONES(geqp3), 0},
    {LapackRoutine::orgqr, 2, 1, 1, "21", "2", "2", TILEWRIGHT_ONES(orgqr), 0},
    {LapackRoutine::ormqr, 3, 1, 1, "212", "2", "2", TILEWRIGHT_ONES(ormqr), 2},
    {LapackRoutine::gesdd, 1, 5, 5, "2", "21220", "21220", TILEWRIGHT_ONES(gesdd), 1},
    {LapackRoutine::gesvd, 1, 5, 5, "2", "21220", "21220", TILEWRIGHT_ONES(gesvd), 1},
    {LapackRoutine::syevd, 1, 3, 3, "2", "210", "210", TILEWRIGHT_ONES(syevd), 2},
    {LapackRoutine::geev, 1, 4, 5, "2", "1220", "11220", TILEWRIGHT_ONES(geev), 2},
    {LapackRoutine::gees, 1, 5, 6, "2", "22100", "221100", TILEWRIGHT_ONES(gees), 1},
    {LapackRoutine::gehrd, 1, 3, 3, "2", "210", "210", TILEWRIGHT_ONES(gehrd), 0},
    {LapackRoutine::sytrd, 1, 5, 5, "2", "21110", "21110", TILEWRIGHT_ONES(sytrd), 1},
    {LapackRoutine::gtsv, 4, 5, 5, "1112", "11120", "11120", TILEWRIGHT_ONES(gtsv), 0},
    {LapackRoutine::trsm, 2, 1, 1, "22", "2", "2", TILEWRIGHT_ONES(trsm), 4},
};
#undef TILEWRIGHT_ONES
static_assert(std::size(routines) == numerics::enumCount<LapackRoutine>);
} // namespace

/// The routine's name without the letter of its type: "heevd" for syevd of complex elements, for
/// example.
static std::string_view fortranName(LapackRoutine routine, bool isComplex) {
  if (isComplex)
    switch (routine) {
    case LapackRoutine::syevd:
      return "heevd";
    case LapackRoutine::sytrd:
      return "hetrd";
    case LapackRoutine::orgqr:
      return "ungqr";
    case LapackRoutine::ormqr:
      return "unmqr";
    default:
      break;
    }
  return nameOf(routine);
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
  using R = LapackRoutine;
  const int64_t below = std::max<int64_t>(0, n - 1);
  bool good = in[0].element == element && m <= std::numeric_limits<int32_t>::max() &&
              n <= std::numeric_limits<int32_t>::max();
  const bool isSquare = m == n;
  if (routine.routine == R::getrf)
    good = good && fits(out[0], element, m, n) && fits(out[1], i32, k) && fits(out[2], i32, 1);
  else if (routine.routine == R::potrf)
    good = good && isSquare && fits(out[0], element, n, n) && fits(out[1], i32, 1);
  else if (routine.routine == R::geqrf)
    good = good && fits(out[0], element, m, n) && fits(out[1], element, k);
  else if (routine.routine == R::geqp3)
    good = good && fits(in[1], i32, n) && fits(out[0], element, m, n) && fits(out[1], i32, n) &&
           fits(out[2], element, k);
  else if (routine.routine == R::orgqr)
    good = good && m >= n && fits(in[1], element, in[1].rows) && in[1].rows <= n &&
           fits(out[0], element, m, n);
  else if (routine.routine == R::ormqr) {
    const int64_t rows = in[2].rows, columns = in[2].columns;
    good = good && fits(in[1], element, in[1].rows) && in[1].rows <= n &&
           fits(in[2], element, rows, columns) && fits(out[0], element, rows, columns) &&
           m == (problem.first == 'L' ? rows : columns) && in[1].rows <= m;
  } else if (routine.routine == R::gesdd || routine.routine == R::gesvd) {
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
  } else if (routine.routine == R::syevd)
    good = good && isSquare && fits(out[0], element, n, n) && fits(out[1], real, n) &&
           fits(out[2], i32, 1);
  else if (routine.routine == R::geev) {
    const size_t at = isComplex ? 1 : 2;
    good = good && isSquare && fits(out[0], element, n) &&
           (isComplex || fits(out[1], element, n)) && fits(out[at], complex, n, n) &&
           fits(out[at + 1], complex, n, n) && fits(out[at + 2], i32, 1);
  } else if (routine.routine == R::gees) {
    const size_t at = isComplex ? 3 : 4;
    good = good && isSquare && fits(out[0], element, n, n) && fits(out[1], element, n, n) &&
           fits(out[2], element, n) && (isComplex || fits(out[3], element, n)) &&
           fits(out[at], i32, 1) && fits(out[at + 1], i32, 1);
  } else if (routine.routine == R::gehrd)
    good = good && isSquare && fits(out[0], element, n, n) && fits(out[1], element, below) &&
           fits(out[2], i32, 1) &&
           (n == 0 || (problem.low >= 1 && problem.low <= problem.high && problem.high <= n));
  else if (routine.routine == R::sytrd)
    good = good && isSquare && fits(out[0], element, n, n) && fits(out[1], real, n) &&
           fits(out[2], real, below) && fits(out[3], element, below) && fits(out[4], i32, 1);
  else if (routine.routine == R::gtsv) {
    const int64_t rows = in[3].rows, columns = in[3].columns;
    for (size_t i = 0; i < 3; ++i)
      good = good && fits(in[i], element, rows) && fits(out[i], element, rows);
    good = good && fits(in[3], element, rows, columns) && fits(out[3], element, rows, columns) &&
           fits(out[4], i32, 1);
  } else if (routine.routine == R::trsm) {
    const int64_t rows = in[1].rows, columns = in[1].columns;
    good = good && isSquare && fits(in[1], element, rows, columns) &&
           fits(out[0], element, rows, columns) && n == (problem.first == 'L' ? rows : columns);
  }
  if (good)
    return Status();
  return reader.failure("operands and results do not match LAPACK's ", nameOf(routine.routine));
}

/// - libraryCall: the options are not as many letters as the routine takes.
static Status readOptions(const CallReader &reader, const artifact::LapackCall &call,
                          const Routine &routine, bool isComplex, Problem &problem) {
  char *const options[] = {&problem.first, &problem.second, &problem.third, &problem.fourth};
  if (call.options.size() != routine.options ||
      call.options.find_first_not_of("ANSVLURTC") != std::string::npos)
    return reader.failure("'options' must have ", routine.options, " option letters of LAPACK's ",
                          nameOf(call.routine), ", got '", call.options, "'");
  for (size_t i = 0; i < call.options.size(); ++i)
    *options[i] = call.options[i];
  if (call.routine == LapackRoutine::ormqr &&
      ((problem.first != 'L' && problem.first != 'R') ||
       (problem.second != 'N' && problem.second != (isComplex ? 'C' : 'T'))))
    return reader.failure("'options' must be a side, L or R, followed by N or ",
                          isComplex ? "C (adjoint)" : "T (transposed)", ", got '", call.options,
                          "'");
  problem.low = call.low;
  problem.high = call.high == 0 ? problem.operands[0].rows : call.high;
  return Status();
}

/// The element type of the first operand determines the letter of the routine's name.
KernelResult prepareLapack(const artifact::LapackCall &call, const LibrarySignature &types) {
  CallReader reader(call.name, types);
  static constexpr std::string_view letters = "sdcz";
  static constexpr ElementType elements[] = {ElementType::f32, ElementType::f64, ElementType::c64,
                                             ElementType::c128};
  const Routine *routine =
      std::find_if(std::begin(routines), std::end(routines),
                   [&](const Routine &each) { return each.routine == call.routine; });
  if (types.operands.empty())
    return reader.failure("must have a matrix operand, got none");
  const auto number = static_cast<size_t>(
      std::find(std::begin(elements), std::end(elements), types.operands[0].element) -
      std::begin(elements));
  if (number == std::size(elements))
    return reader.failure("takes f32, f64 or complex elements, got ",
                          typeString(types.operands[0]));
  const bool isComplex = number >= 2;
  TILEWRIGHT_TRY(
      reader.expectCounts(routine->operands, isComplex ? routine->results : routine->realResults));
  // The matrix operand determines the batch dimensions, which precede its rows and columns.
  const size_t matrix = routine->operandRanks.find('2');
  const Dims &dims = types.operands[matrix].dims;
  if (dims.size() < 2)
    return reader.failure("takes matrices, got ", typeString(types.operands[matrix]));
  const Dims batch(dims.begin(), dims.end() - 2);
  Problem problem;
  TILEWRIGHT_ASSIGN(problem.operands,
                    matricesOf(reader, types.operands, routine->operandRanks, batch));
  TILEWRIGHT_ASSIGN(problem.results,
                    matricesOf(reader, types.results,
                               isComplex ? routine->resultRanks : routine->realResultRanks, batch));
  for (int64_t size : batch)
    problem.batch *= size;
  TILEWRIGHT_TRY(readOptions(reader, call, *routine, isComplex, problem));
  TILEWRIGHT_TRY(checkMatrices(reader, *routine, problem, elements[number]));
  TILEWRIGHT_ASSIGN(const Lapack *found, Lapack::find());
  TILEWRIGHT_ASSIGN(problem.routine,
                    found->routine(concat(letters[number], fortranName(call.routine, isComplex))));
  problem.wide = found->hasWideIntegers();
  const One one = routine->ones[number][problem.wide];
  return makeKernel<LapackKernel>(*found, std::move(problem), one);
}

} // namespace tilewright::runtime::cpu
