#include "tilewright/target/gpu/thread/ThreadLayout.h"

using namespace llvm;

namespace tilewright::gpu {

ThreadLayout::ThreadLayout(sm::Layout of) : layout(std::move(of)), forms(layout.indexForms()) {
  for (sm::IndexForm &form : forms)
    for (sm::IndexTerm &term : form.terms)
      term = ofCta(term);
}

sm::IndexTerm ThreadLayout::ofCta(sm::IndexTerm term) const {
  if (term.axis == sm::Axis::group) {
    term.axis = sm::Axis::warp;
    term.stride *= layout.extent(sm::Axis::warp);
  }
  return term;
}

std::vector<int64_t> ThreadLayout::constants(unsigned reg) const {
  std::vector<int64_t> index;
  for (const sm::IndexForm &form : forms)
    index.push_back(form.registers[reg]);
  return index;
}

bool ThreadLayout::isDead(unsigned reg, ArrayRef<int64_t> shape) const {
  for (size_t dim = 0; dim < shape.size(); ++dim)
    if (constant(dim, reg) >= shape[dim])
      return true;
  return false;
}

bool ThreadLayout::isAlive(unsigned reg, ArrayRef<int64_t> shape) const {
  for (size_t dim = 0; dim < shape.size(); ++dim)
    if (constant(dim, reg) + most[dim] >= shape[dim])
      return false;
  return true;
}

SmallVector<sm::IndexTerm> ThreadLayout::digits(size_t dim, sm::Axis axis) const {
  SmallVector<sm::IndexTerm> found;
  for (const sm::IndexTerm &term : forms[dim].terms)
    if (term.axis == axis)
      found.push_back(term);
  return found;
}

SmallVector<sm::IndexTerm> ThreadLayout::copies(sm::Axis axis) const {
  SmallVector<sm::IndexTerm> found;
  for (const sm::Digit &digit : layout.getCopies())
    if (sm::IndexTerm term = ofCta({digit.axis, digit.stride, digit.size, 0});
        term.axis == axis && term.size > 1)
      found.push_back(term);
  return found;
}

std::vector<SmallVector<int64_t>> ThreadLayout::threadIndices() const {
  using sm::Axis;
  std::vector<SmallVector<int64_t>> result;
  for (int64_t group = 0; group < layout.extent(Axis::group); ++group)
    for (int64_t warp = 0; warp < layout.extent(Axis::warp); ++warp)
      for (int64_t lane = 0; lane < layout.extent(Axis::lane); ++lane) {
        auto index = layout.indexOf(0, lane, warp, group);
        result.push_back(index ? *index : SmallVector<int64_t>(forms.size(), 0));
      }
  return result;
}

int64_t clusterDigit(const sm::Layout &layout, size_t dim) {
  int64_t size = 1;
  for (const sm::Digit &digit : layout.getDims()[dim])
    if (digit.axis == sm::Axis::cta)
      size *= digit.size;
  return size;
}

} // namespace tilewright::gpu
