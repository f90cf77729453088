// Measurements as rows of text, and as docs/reference/accuracy.md.
#ifndef TEST_ACCURACY_REPORT_H
#define TEST_ACCURACY_REPORT_H

#include "Measure.h"

#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace tilewright::accuracy {

/// All measurements, by type and operation.
using Rows = std::map<std::pair<ElementType, ScalarOp>, Measurement>;

/// One measurement as a tab-separated line. A full run takes an hour, so rows can be collected from
/// several runs.
std::string rowOf(ElementType type, ScalarOp op, const Measurement &found);
/// The rows in a file; a later row for the same type and operation wins.
Rows readRows(std::istream &in);

/// The page.
std::string render(const Rows &rows);

/// The bound that the page promises for one operation on one type.
struct Bound {
  double error;
  std::optional<uint64_t> misrounded; // not promised for samples of wide types
};
std::map<std::pair<ElementType, ScalarOp>, Bound> readBounds(std::istream &page);

/// How a measurement violates its bound; empty if it does not.
std::string violation(ElementType type, ScalarOp op, const Measurement &found, const Bound &bound);

} // namespace tilewright::accuracy

#endif // TEST_ACCURACY_REPORT_H
