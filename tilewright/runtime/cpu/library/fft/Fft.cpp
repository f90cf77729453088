// fft, implemented here: kissfft is slow for prime lengths, and ducc0 needs a download at configure
// time and throws exceptions.
#include "tilewright/runtime/cpu/library/CallReader.h"
#include "tilewright/runtime/cpu/library/Scratch.h"
#include "tilewright/runtime/cpu/library/fft/Transform.h"

#include <algorithm>
#include <optional>

namespace tilewright::runtime::cpu {

namespace {
using Kind = numerics::FftType;

/// The lines of one dimension: elements [outer][size][inner], transformed along the middle.
struct Lines {
  int64_t outer, size, inner;
};

template <typename Real> class FftKernel final : public LibraryKernel {
public:
  FftKernel(Kind kind, const Dims &sizes, size_t transformed) : kind(kind) {
    // `sizes` are those of the complex tensor; real transforms halve its last dimension.
    int64_t inner = 1, all = 1;
    for (int64_t size : sizes)
      all *= size;
    elements = all;
    for (size_t step = 0; step < transformed; ++step) {
      const int64_t size = sizes[sizes.size() - 1 - step];
      dims.push_back({{all / (size * inner), size, inner}, std::nullopt});
      inner *= size;
    }
  }
  /// Sets the length of the last dimension, which cannot be derived from the sizes of a real
  /// transform.
  void setLast(int64_t length) {
    lastLength = length;
    for (size_t i = 0; i < dims.size(); ++i) {
      const bool isReal = i == 0 && (kind == Kind::rfft || kind == Kind::irfft);
      // A real transform of even length is a complex transform of half the length.
      const int64_t size = !isReal ? dims[i].lines.size : length % 2 == 0 ? length / 2 : length;
      dims[i].transform.emplace(size);
    }
    if (length % 2 == 0)
      for (int64_t k = 0; k <= length / 4 + 1; ++k) {
        double re, im;
        rootOfUnity(k, length, re, im);
        rootRe.push_back(static_cast<Real>(re));
        rootIm.push_back(static_cast<Real>(im));
      }
  }

  Status run(const LibraryRun &run) const override {
    const auto *from = reinterpret_cast<const Real *>(run.operands[0]);
    auto *to = reinterpret_cast<Real *>(run.results[0]);
    switch (kind) {
    case Kind::fft:
    case Kind::ifft:
      for (size_t i = 0; i < dims.size(); ++i)
        transformDim(dims[kind == Kind::fft ? i : dims.size() - 1 - i], i == 0 ? from : to, to,
                     kind == Kind::ifft, run.pool);
      return Status();
    case Kind::rfft:
      transformReal(from, to, run.pool);
      for (size_t i = 1; i < dims.size(); ++i)
        transformDim(dims[i], to, to, false, run.pool);
      return Status();
    case Kind::irfft: {
      const Scratch memory(dims.size() > 1 ? elements * 2 * int64_t(sizeof(Real)) : 0);
      const Real *source = from;
      for (size_t i = dims.size(); i-- > 1;) {
        transformDim(dims[i], source, memory.as<Real>(), true, run.pool);
        source = memory.as<Real>();
      }
      transformHermitian(source, to, run.pool);
      return Status();
    }
    }
    return Status();
  }

private:
  struct Dim {
    Lines lines;
    std::optional<Transform<Real>> transform;
  };
  static constexpr int lanes = 64 / sizeof(Real);
  using V = Vector<Real, lanes>;

  /// Calls body(first, count, re, im) for groups of lines, on threads of the pool. re and im have
  /// room for a sequence and the scratch of its transform. Their elements tell how to process the
  /// group: V if each lane holds one line, Real for a single line.
  template <typename Body>
  static void eachGroup(int64_t lines, const Transform<Real> &transform, ThreadPool &pool,
                        Body &&body) {
    const int64_t length = transform.size(), room = length + transform.scratchSize();
    auto process = [&]<typename W>(int64_t first, int64_t count, W) {
      const Scratch memory(2 * room * int64_t(sizeof(W)));
      W *re = memory.as<W>();
      body(first, count, re, re + room);
    };
    // Put one sequence in each vector lane, unless there are too few sequences or they exceed the
    // caches.
    const bool inLanes = lines >= lanes / 2 && length * int64_t(sizeof(V)) <= int64_t(2) << 20;
    const int64_t groups = inLanes ? (lines + lanes - 1) / lanes : lines;
    pool.parallelFor(groups, std::max<int64_t>(1, 4096 / (length * (inLanes ? lanes : 1))),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t group = begin; group < end; ++group) {
                         if (inLanes)
                           process(group * lanes, std::min<int64_t>(lanes, lines - group * lanes),
                                   V());
                         else
                           process(group, int64_t(1), Real());
                       }
                     });
  }

  /// Pointer to lane `lane` of element k.
  template <typename W> static TILEWRIGHT_INLINE Real *laneOf(W *values, int64_t k, int64_t lane) {
    return reinterpret_cast<Real *>(values + k) + lane;
  }

  void transformDim(const Dim &dim, const Real *from, Real *to, bool inverse,
                    ThreadPool &pool) const {
    const auto [outer, size, inner] = dim.lines;
    const Real scale = inverse ? Real(1) / static_cast<Real>(size) : Real(1);
    eachGroup(outer * inner, *dim.transform, pool,
              [&]<typename W>(int64_t first, int64_t count, W *re, W *im) {
                auto base = [&, inner = inner, size = size](int64_t line) {
                  return (line / inner * size * inner + line % inner) * 2;
                };
                const bool areNeighbours = first / inner == (first + count - 1) / inner;
                {
                  if (areNeighbours) {
                    for (int64_t k = 0; k < size; ++k) {
                      const Real *source = from + base(first) + 2 * k * inner;
                      for (int64_t lane = 0; lane < count; ++lane) {
                        *laneOf(re, k, lane) = source[2 * lane];
                        *laneOf(im, k, lane) = source[2 * lane + 1];
                      }
                    }
                  } else {
                    for (int64_t lane = 0; lane < count; ++lane) {
                      const Real *source = from + base(first + lane);
                      for (int64_t k = 0; k < size; ++k) {
                        *laneOf(re, k, lane) = source[2 * k * inner];
                        *laneOf(im, k, lane) = source[2 * k * inner + 1];
                      }
                    }
                  }
                  const Sequences<W> data{inverse ? im : re, inverse ? re : im};
                  const Sequences<W> scratch{data.re + size, data.im + size};
                  dim.transform->forward(data, scratch);
                  if (areNeighbours) {
                    for (int64_t k = 0; k < size; ++k) {
                      Real *target = to + base(first) + 2 * k * inner;
                      for (int64_t lane = 0; lane < count; ++lane) {
                        target[2 * lane] = *laneOf(re, k, lane) * scale;
                        target[2 * lane + 1] = *laneOf(im, k, lane) * scale;
                      }
                    }
                  } else {
                    for (int64_t lane = 0; lane < count; ++lane) {
                      Real *target = to + base(first + lane);
                      for (int64_t k = 0; k < size; ++k) {
                        target[2 * k * inner] = *laneOf(re, k, lane) * scale;
                        target[2 * k * inner + 1] = *laneOf(im, k, lane) * scale;
                      }
                    }
                  }
                }
              });
  }

  /// exp(-2πi · k / n) for the even length n and k up to n / 2. The table holds only the first
  /// quarter of the circle; the second quarter is its mirror image.
  TILEWRIGHT_INLINE void root(int64_t k, Real &re, Real &im) const {
    const int64_t mirrored = lastLength / 2 - k;
    const bool isLeft = 4 * k > lastLength;
    const auto at = static_cast<size_t>(isLeft ? mirrored : k);
    re = isLeft ? -rootRe[at] : rootRe[at];
    im = rootIm[at];
  }

  /// Transforms real rows to the first half of their spectra.
  void transformReal(const Real *from, Real *to, ThreadPool &pool) const {
    const int64_t n = lastLength, columns = n / 2 + 1, rows = elements / columns;
    const Transform<Real> &transform = *dims[0].transform;
    const int64_t size = transform.size();
    const bool isHalved = n % 2 == 0;
    eachGroup(rows, transform, pool, [&]<typename W>(int64_t first, int64_t count, W *re, W *im) {
      {
        for (int64_t lane = 0; lane < count; ++lane) {
          const Real *source = from + (first + lane) * n;
          for (int64_t k = 0; k < size; ++k) {
            *laneOf(re, k, lane) = isHalved ? source[2 * k] : source[k];
            *laneOf(im, k, lane) = isHalved ? source[2 * k + 1] : Real(0);
          }
        }
        transform.forward(Sequences<W>{re, im}, Sequences<W>{re + size, im + size});
        for (int64_t lane = 0; lane < count; ++lane) {
          Real *target = to + (first + lane) * columns * 2;
          if (!isHalved) {
            for (int64_t k = 0; k < columns; ++k) {
              target[2 * k] = *laneOf(re, k, lane);
              target[2 * k + 1] = k == 0 ? Real(0) : *laneOf(im, k, lane);
            }
            continue;
          }
          // The even and odd elements were transformed as one complex sequence Z; their own
          // transforms are its symmetric and antisymmetric parts.
          for (int64_t k = 0; k < columns; ++k) {
            const int64_t a = k == size ? 0 : k, b = k == 0 ? 0 : size - k;
            const Real ar = *laneOf(re, a, lane), ai = *laneOf(im, a, lane);
            const Real br = *laneOf(re, b, lane), bi = *laneOf(im, b, lane);
            const Real evenRe = (ar + br) / 2, evenIm = (ai - bi) / 2;
            const Real oddRe = (ai + bi) / 2, oddIm = (br - ar) / 2;
            Real wr, wi;
            root(k, wr, wi);
            target[2 * k] = evenRe + oddRe * wr - oddIm * wi;
            target[2 * k + 1] = evenIm + oddRe * wi + oddIm * wr;
          }
          target[1] = target[2 * columns - 1] = 0;
        }
      }
    });
  }

  /// The inverse: transforms the first half of spectra to real rows.
  void transformHermitian(const Real *from, Real *to, ThreadPool &pool) const {
    const int64_t n = lastLength, columns = n / 2 + 1, rows = elements / columns;
    const Transform<Real> &transform = *dims[0].transform;
    const int64_t size = transform.size();
    const bool isHalved = n % 2 == 0;
    const Real scale = Real(1) / static_cast<Real>(size);
    eachGroup(rows, transform, pool, [&]<typename W>(int64_t first, int64_t count, W *re, W *im) {
      {
        for (int64_t lane = 0; lane < count; ++lane) {
          const Real *source = from + (first + lane) * columns * 2;
          for (int64_t k = 0; k < size; ++k) {
            if (!isHalved) {
              const bool isMirrored = k >= columns;
              const int64_t at = isMirrored ? n - k : k;
              *laneOf(re, k, lane) = source[2 * at];
              *laneOf(im, k, lane) = k == 0       ? Real(0)
                                     : isMirrored ? -source[2 * at + 1]
                                                  : source[2 * at + 1];
              continue;
            }
            // The imaginary parts of the first and the middle element are treated as zero.
            const int64_t b = size - k;
            const Real ar = source[2 * k], ai = k == 0 ? Real(0) : source[2 * k + 1];
            const Real br = source[2 * b], bi = k == 0 ? Real(0) : -source[2 * b + 1];
            Real wr, wi;
            root(k, wr, wi);
            const Real evenRe = (ar + br) / 2, evenIm = (ai + bi) / 2;
            const Real dr = (ar - br) / 2, di = (ai - bi) / 2;
            // Dividing by the root of unity is multiplying by its conjugate.
            const Real oddRe = dr * wr + di * wi, oddIm = di * wr - dr * wi;
            *laneOf(re, k, lane) = evenRe - oddIm;
            *laneOf(im, k, lane) = evenIm + oddRe;
          }
        }
        // Exchanging real and imaginary parts gives the inverse.
        transform.forward(Sequences<W>{im, re}, Sequences<W>{im + size, re + size});
        for (int64_t lane = 0; lane < count; ++lane) {
          Real *target = to + (first + lane) * n;
          for (int64_t k = 0; k < size; ++k) {
            if (isHalved) {
              target[2 * k] = *laneOf(re, k, lane) * scale;
              target[2 * k + 1] = *laneOf(im, k, lane) * scale;
            } else {
              target[k] = *laneOf(re, k, lane) * scale;
            }
          }
        }
      }
    });
  }

  Kind kind;
  int64_t elements = 0, lastLength = 0;
  std::vector<Dim> dims; // the last dimension first
  std::vector<Real> rootRe, rootIm;
};

/// For empty tensors.
class EmptyKernel final : public LibraryKernel {
public:
  Status run(const LibraryRun &) const override { return Status(); }
};
} // namespace

template <typename Real>
static KernelResult make(Kind kind, const Dims &sizes, size_t transformed, int64_t last) {
  auto kernel = std::make_unique<FftKernel<Real>>(kind, sizes, transformed);
  kernel->setLast(last);
  return std::unique_ptr<LibraryKernel>(std::move(kernel));
}

KernelResult prepareFft(const artifact::FftCall &call, const LibrarySignature &types) {
  CallReader reader(call.name, types);
  TILEWRIGHT_TRY(reader.expectCounts(1, 1));
  TILEWRIGHT_ASSIGN(Shape operand, reader.operandShape(0));
  const Dims &lengths = call.fftLength;
  const Kind kind = call.fftType;
  const auto count = static_cast<int64_t>(lengths.size());
  if (count < 1 || count > 3 || count > operand.rank())
    return reader.failure(
        "fft_length must have 1 to 3 entries, at most one for each dimension of the operand, got ",
        count, " entries for ", typeString(types.operands[0]));
  const ElementType type = types.operands[0].element;
  const ElementType component = numerics::componentOf(type);
  if ((component != ElementType::f32 && component != ElementType::f64) ||
      numerics::isComplex(type) == (kind == Kind::rfft))
    return reader.failure("an ", nameOf(kind), " takes elements of ",
                          kind == Kind::rfft ? "f32 or f64" : "complex<f32> or complex<f64>",
                          ", got ", numerics::spelling(type));
  Dims sizes(operand.dims().begin(), operand.dims().end());
  for (int64_t i = 0; i < count; ++i) {
    const int64_t length = lengths[static_cast<size_t>(i)], dim = operand.rank() - count + i;
    const bool isHalved = i == count - 1 && kind == Kind::irfft && length > 0;
    if (length < 0 || operand[dim] != (isHalved ? length / 2 + 1 : length))
      return reader.failure("for length ", length, ", dimension ", dim, " of the operand must be ",
                            isHalved ? length / 2 + 1 : length, ", got ", operand[dim]);
  }
  const bool isWide = component == ElementType::f64;
  const ElementType complex = isWide ? ElementType::c128 : ElementType::c64;
  const int64_t last = lengths.back();
  Dims complexSizes = sizes;
  if (kind == Kind::irfft)
    sizes.back() = last;
  else if (kind == Kind::rfft && last > 0)
    sizes.back() = complexSizes.back() = last / 2 + 1;
  TILEWRIGHT_TRY(reader.expectResult(0, kind == Kind::irfft ? component : complex, sizes));
  TILEWRIGHT_ASSIGN(Shape result, reader.resultShape(0));
  if (result.elementCount() == 0)
    return makeKernel<EmptyKernel>();
  return isWide ? make<double>(kind, complexSizes, lengths.size(), last)
                : make<float>(kind, complexSizes, lengths.size(), last);
}

} // namespace tilewright::runtime::cpu
