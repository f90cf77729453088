#include "tilewright/runtime/cpu/attention/BlockProduct.h"

#include <algorithm>

namespace tilewright::runtime::cpu {

static const PanelKernel *kernelFor(const CpuFeatures &features, ElementType lhs, ElementType rhs) {
  constexpr int64_t large = 256;
  Matmul::Choice choice;
  choice.allowVector = choice.allowDirect = false;
  return Matmul(MatmulProblem::dense(lhs, rhs, ElementType::f32, large, large, large), features,
                choice)
      .panelKernel();
}

BlockProduct::BlockProduct(const CpuFeatures &features, ElementType lhs, ElementType rhs)
    : panels(kernelFor(features, lhs, rhs)), lhsToPanel(features, lhs, panels->lhsPacked),
      rhsToPanel(features, rhs, panels->rhsPacked) {}

int64_t BlockProduct::lhsBytes(int64_t lines, int64_t summed) const {
  return roundUp(lines, panels->rows) * roundUp(summed, panels->depth) * bytesOf(panels->lhsPacked);
}

int64_t BlockProduct::rhsBytes(int64_t lines, int64_t summed) const {
  return roundUp(lines, panels->columns) * roundUp(summed, panels->depth) *
         bytesOf(panels->rhsPacked);
}

static void packInto(std::byte *packed, const OperandView &view, const Conversion &conversion,
                     PackPanel pack, int64_t width, int64_t depth, int64_t line, int64_t lines,
                     int64_t from, int64_t count) {
  const int64_t bytes = bytesOf(conversion.to());
  const LoadedBlock loaded = loadBlock(view, conversion, line, lines, from, count);
  for (int64_t done = 0; done < lines; done += width)
    pack(loaded.data + done * loaded.lineStride * bytes, loaded.lineStride, loaded.summedStride,
         std::min(width, lines - done), count, packed + done * roundUp(count, depth) * bytes);
}

void BlockProduct::packLhs(std::byte *packed, const OperandView &view, int64_t line, int64_t lines,
                           int64_t from, int64_t count) const {
  packInto(packed, view, lhsToPanel, panels->packLhs, panels->rows, panels->depth, line, lines,
           from, count);
}

void BlockProduct::packRhs(std::byte *packed, const OperandView &view, int64_t line, int64_t lines,
                           int64_t from, int64_t count) const {
  packInto(packed, view, rhsToPanel, panels->packRhs, panels->columns, panels->depth, line, lines,
           from, count);
}

void BlockProduct::multiply(const std::byte *lhs, const std::byte *rhs, int64_t rows,
                            int64_t columns, int64_t summed, float *sums, int64_t stride,
                            bool add) const {
  const int64_t depth = roundUp(summed, panels->depth);
  const int64_t lhsLine = depth * bytesOf(panels->lhsPacked);
  const int64_t rhsLine = depth * bytesOf(panels->rhsPacked);
  if (panels->enter)
    panels->enter();
  for (int64_t i = 0; i < rows; i += panels->rows)
    for (int64_t j = 0; j < columns; j += panels->columns)
      panels->multiply(depth, lhs + i * lhsLine, rhs + j * rhsLine, sums + i * stride + j, stride,
                       std::min(panels->rows, rows - i), std::min(panels->columns, columns - j),
                       add);
  if (panels->leave)
    panels->leave();
}

} // namespace tilewright::runtime::cpu
