// Transform: the discrete Fourier transform of one length, for several sequences at once.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_FFT_TRANSFORM_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_FFT_TRANSFORM_H

#include "tilewright/runtime/cpu/library/Isa.h"
#include "tilewright/runtime/cpu/library/rows/Numbers.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <numbers>
#include <vector>

namespace tilewright::runtime::cpu {

/// Real and imaginary parts of several sequences, one per lane: element k of sequence l is lane l
/// of re[k] and im[k]. V is a vector, or a scalar for one sequence.
template <typename V> struct Sequences {
  V *re, *im;
};

/// exp(-2πi · k / n), accurate to the last bit of a double for every k.
inline void rootOfUnity(int64_t k, int64_t n, double &re, double &im) {
  // Reduce to the first eighth of the circle, where sine and cosine are most accurate.
  k %= n;
  const bool isLower = 2 * k > n;
  if (isLower)
    k = n - k;
  const bool isLeft = 4 * k > n;
  const int64_t quarter = isLeft ? n - 2 * k : 2 * k; // on the half circle, in units of 1 / n
  const bool isSteep = 4 * quarter > n;
  const long double pi = std::numbers::pi_v<long double>;
  const long double angle = pi * static_cast<long double>(isSteep ? n - 2 * quarter : 2 * quarter) /
                            static_cast<long double>(2 * n);
  const auto sine = static_cast<double>(std::sin(angle)),
             cosine = static_cast<double>(std::cos(angle));
  re = isSteep ? sine : cosine;
  im = isSteep ? cosine : sine;
  re = isLeft ? -re : re;
  im = isLower ? im : -im;
}

/// A mixed-radix Stockham transform with radices 4, 2, 3, 5 and 7: each step writes to another
/// buffer and keeps the natural order. A length with a larger prime factor is computed as a
/// convolution (Bluestein), through a transform whose length has only small factors.
template <typename Real> class Transform {
public:
  explicit Transform(int64_t length) : length(length) {
    int64_t rest = length;
    for (int64_t radix : {4, 2, 3, 5, 7})
      for (; rest % radix == 0; rest /= radix)
        addPass(radix);
    if (rest != 1)
      prepareConvolution();
  }

  /// Elements of scratch that `forward` needs for each of re and im.
  int64_t scratchSize() const { return inner ? 2 * inner->length : length; }
  int64_t size() const { return length; }

  /// Transforms `data` in place. For the inverse, without the division by the length, exchange real
  /// and imaginary parts.
  template <typename V> void forward(Sequences<V> data, Sequences<V> scratch) const {
    if (inner)
      convolve(data, scratch);
    else
      transform(data, scratch);
  }

private:
  struct Pass {
    int64_t radix, rest, stride;
    std::vector<Real> re, im; // twiddle factors: radix - 1 for each of `rest`
    std::vector<Real> rootRe, rootIm;
  };

  void addPass(int64_t radix) {
    const int64_t stride = passes.empty() ? 1 : passes.back().stride * passes.back().radix;
    Pass pass{radix, length / stride / radix, stride, {}, {}, {}, {}};
    double re, im;
    for (int64_t p = 0; p < pass.rest; ++p)
      for (int64_t k = 1; k < radix; ++k) {
        rootOfUnity(p * k, pass.rest * radix, re, im);
        pass.re.push_back(static_cast<Real>(re));
        pass.im.push_back(static_cast<Real>(im));
      }
    for (int64_t k = 0; k < radix; ++k) {
      rootOfUnity(k, radix, re, im);
      pass.rootRe.push_back(static_cast<Real>(re));
      pass.rootIm.push_back(static_cast<Real>(im));
    }
    passes.push_back(std::move(pass));
  }

  void prepareConvolution() {
    passes.clear();
    int64_t padded = 2 * length - 1;
    for (;; ++padded) {
      int64_t rest = padded;
      for (int64_t radix : {2, 3, 5})
        while (rest % radix == 0)
          rest /= radix;
      if (rest == 1)
        break;
    }
    inner = std::make_unique<Transform>(padded);
    const auto n = static_cast<size_t>(padded);
    chirpRe.resize(static_cast<size_t>(length)), chirpIm.resize(static_cast<size_t>(length));
    filterRe.assign(n, 0), filterIm.assign(n, 0);
    for (int64_t k = 0; k < length; ++k) {
      double re, im;
      const auto square = static_cast<int64_t>(static_cast<unsigned __int128>(k) *
                                               static_cast<unsigned __int128>(k) %
                                               static_cast<unsigned __int128>(2 * length));
      rootOfUnity(square, 2 * length, re, im);
      const auto i = static_cast<size_t>(k);
      chirpRe[i] = static_cast<Real>(re), chirpIm[i] = static_cast<Real>(im);
      filterRe[i] = static_cast<Real>(re), filterIm[i] = static_cast<Real>(-im);
      if (k > 0)
        filterRe[n - i] = filterRe[i], filterIm[n - i] = filterIm[i];
    }
    std::vector<Real> re(n), im(n);
    inner->forward(Sequences<Real>{filterRe.data(), filterIm.data()},
                   Sequences<Real>{re.data(), im.data()});
    for (Real &each : filterRe)
      each /= static_cast<Real>(padded);
    for (Real &each : filterIm)
      each /= static_cast<Real>(padded);
  }

  template <typename V> void convolve(Sequences<V> data, Sequences<V> scratch) const {
    const int64_t padded = inner->length;
    const Sequences<V> work = scratch, rest{scratch.re + padded, scratch.im + padded};
    for (int64_t k = 0; k < length; ++k) {
      const Real re = chirpRe[static_cast<size_t>(k)], im = chirpIm[static_cast<size_t>(k)];
      work.re[k] = data.re[k] * re - data.im[k] * im;
      work.im[k] = data.re[k] * im + data.im[k] * re;
    }
    for (int64_t k = length; k < padded; ++k)
      work.re[k] = work.im[k] = V(Real(0));
    inner->transform(work, rest);
    for (int64_t k = 0; k < padded; ++k) {
      const Real re = filterRe[static_cast<size_t>(k)], im = filterIm[static_cast<size_t>(k)];
      const V x = work.re[k], y = work.im[k];
      work.re[k] = x * re - y * im;
      work.im[k] = x * im + y * re;
    }
    // Exchanging real and imaginary parts gives the inverse.
    inner->transform(Sequences<V>{work.im, work.re}, Sequences<V>{rest.im, rest.re});
    for (int64_t k = 0; k < length; ++k) {
      const Real re = chirpRe[static_cast<size_t>(k)], im = chirpIm[static_cast<size_t>(k)];
      data.re[k] = work.re[k] * re - work.im[k] * im;
      data.im[k] = work.re[k] * im + work.im[k] * re;
    }
  }

  /// The transform without Bluestein. Only this function is compiled for each vector width.
  template <typename V>
  __attribute__((noinline)) void transform(Sequences<V> data, Sequences<V> scratch) const {
    withVectors([&](auto) TILEWRIGHT_LAMBDA { stockham(data, scratch); });
  }

  template <typename V>
  TILEWRIGHT_INLINE void stockham(Sequences<V> data, Sequences<V> scratch) const {
    Sequences<V> from = data, to = scratch;
    for (const Pass &pass : passes) {
      switch (pass.radix) {
      case 2:
        step<2>(pass, from, to);
        break;
      case 3:
        step<3>(pass, from, to);
        break;
      case 4:
        step<4>(pass, from, to);
        break;
      case 5:
        step<5>(pass, from, to);
        break;
      default:
        step<7>(pass, from, to);
      }
      std::swap(from, to);
    }
    if (from.re != data.re)
      for (int64_t k = 0; k < length; ++k)
        data.re[k] = from.re[k], data.im[k] = from.im[k];
  }

  template <int radix, typename V>
  static TILEWRIGHT_INLINE void step(const Pass &pass, Sequences<V> from, Sequences<V> to) {
    for (int64_t p = 0; p < pass.rest; ++p) {
      const Real *twiddleRe = pass.re.data() + p * (radix - 1);
      const Real *twiddleIm = pass.im.data() + p * (radix - 1);
      // The elements that differ only in `q` are adjacent in memory. So even if V is a scalar,
      // several of them can be processed as a vector W.
      auto one = [&]<typename W>(int64_t q, W *) TILEWRIGHT_LAMBDA {
        W re[radix], im[radix];
#pragma clang loop unroll(full)
        for (int j = 0; j < radix; ++j) {
          const int64_t at = q + pass.stride * (p + pass.rest * j);
          re[j] = loadVector<W>(from.re + at);
          im[j] = loadVector<W>(from.im + at);
        }
        butterfly<radix>(pass, re, im);
        const int64_t out = q + pass.stride * radix * p;
        storeVector(to.re + out, re[0]);
        storeVector(to.im + out, im[0]);
#pragma clang loop unroll(full)
        for (int k = 1; k < radix; ++k) {
          const int64_t at = out + pass.stride * k;
          storeVector<W>(to.re + at, re[k] * twiddleRe[k - 1] - im[k] * twiddleIm[k - 1]);
          storeVector<W>(to.im + at, re[k] * twiddleIm[k - 1] + im[k] * twiddleRe[k - 1]);
        }
      };
      int64_t q = 0;
      if constexpr (!LaneOf<V>::isVector) {
        constexpr int lanes = 64 / sizeof(V);
        for (; q + lanes <= pass.stride; q += lanes)
          one(q, static_cast<Vector<V, lanes> *>(nullptr));
      }
      for (; q < pass.stride; ++q)
        one(q, static_cast<V *>(nullptr));
    }
  }

  /// Transforms `radix` numbers in place.
  template <int radix, typename V>
  static TILEWRIGHT_INLINE void butterfly(const Pass &pass, V (&re)[radix], V (&im)[radix]) {
    if constexpr (radix == 2) {
      const V a = re[0] - re[1], b = im[0] - im[1];
      re[0] += re[1], im[0] += im[1];
      re[1] = a, im[1] = b;
    } else if constexpr (radix == 4) {
      const V a = re[0] + re[2], b = im[0] + im[2], c = re[0] - re[2], d = im[0] - im[2];
      const V e = re[1] + re[3], f = im[1] + im[3], g = re[1] - re[3], h = im[1] - im[3];
      re[0] = a + e, im[0] = b + f;
      re[1] = c + h, im[1] = d - g;
      re[2] = a - e, im[2] = b - f;
      re[3] = c - h, im[3] = d + g;
    } else {
      // For an odd prime: sums and differences of opposite elements, each multiplied by real
      // numbers.
      constexpr int half = (radix - 1) / 2;
      V sumRe[half], sumIm[half], differenceRe[half], differenceIm[half];
#pragma clang loop unroll(full)
      for (int j = 0; j < half; ++j) {
        sumRe[j] = re[j + 1] + re[radix - 1 - j];
        sumIm[j] = im[j + 1] + im[radix - 1 - j];
        differenceRe[j] = re[j + 1] - re[radix - 1 - j];
        differenceIm[j] = im[j + 1] - im[radix - 1 - j];
      }
      const V firstRe = re[0], firstIm = im[0];
#pragma clang loop unroll(full)
      for (int j = 0; j < half; ++j)
        re[0] += sumRe[j], im[0] += sumIm[j];
#pragma clang loop unroll(full)
      for (int k = 1; k <= half; ++k) {
        V evenRe = firstRe, evenIm = firstIm, oddRe = V(Real(0)), oddIm = V(Real(0));
#pragma clang loop unroll(full)
        for (int j = 0; j < half; ++j) {
          const auto root = static_cast<size_t>((j + 1) * k % radix);
          evenRe += sumRe[j] * pass.rootRe[root];
          evenIm += sumIm[j] * pass.rootRe[root];
          oddRe += differenceRe[j] * pass.rootIm[root];
          oddIm += differenceIm[j] * pass.rootIm[root];
        }
        re[k] = evenRe - oddIm, im[k] = evenIm + oddRe;
        re[radix - k] = evenRe + oddIm, im[radix - k] = evenIm - oddRe;
      }
    }
  }

  int64_t length;
  std::vector<Pass> passes;
  std::unique_ptr<Transform> inner; // for Bluestein
  std::vector<Real> chirpRe, chirpIm, filterRe, filterIm;
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_FFT_TRANSFORM_H
