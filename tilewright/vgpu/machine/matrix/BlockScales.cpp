#include "tilewright/vgpu/machine/matrix/BlockScales.h"

#include "tilewright/numerics/ExactSum.h"
#include "tilewright/numerics/Float.h"

#include <bit>
#include <cmath>

namespace tilewright::vgpu::machine {

float scaleValue(bool isE8, uint8_t bits) {
  if (isE8)
    return bits == 0xff ? NAN : std::ldexp(1.0f, int(bits) - 127);
  return static_cast<float>(numerics::decode(numerics::ElementType::f8E4M3FN, bits & 0x7f));
}

bool ScaledRows::multiplied(std::vector<float> &products) const {
  products.resize(values.size());
  bool isExact = true;
  const unsigned rows = static_cast<unsigned>(values.size() / k);
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned l = 0; l < k; ++l) {
      const double scaled = at(row, l);
      const auto product = static_cast<float>(scaled);
      products[size_t(row) * k + l] = product;
      isExact = isExact && (double(product) == scaled || std::isnan(scaled));
    }
  return isExact;
}

double sumScaled(const ScaledRows &a, unsigned row, const ScaledRows &b, unsigned column,
                 double start, double sign) {
  numerics::ExactSum sum;
  sum.add(start);
  for (unsigned l = 0; l < a.k; ++l)
    sum.addProduct(sign * a.at(row, l), b.at(column, l));
  return std::bit_cast<float>(static_cast<uint32_t>(sum.round(numerics::ElementType::f32)));
}

} // namespace tilewright::vgpu::machine
