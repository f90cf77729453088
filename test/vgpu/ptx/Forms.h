// Instructions made from the table: for every row some of its forms, and wrong
// ones beside them. ptxas then says what it thinks of each.
#ifndef TEST_VGPU_PTX_FORMS_H
#define TEST_VGPU_PTX_FORMS_H

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::vgpu::ptx {

struct Form {
  std::string row;
  unsigned version = 0;
  std::string target; // lowest: "80", "90a"
  bool mutated = false;
  std::string text; // "add.s32 %r1, %r2, %r3;"
};

/// Up to `perRow` forms a row, and as many with a word replaced, added or
/// missing. All of them if `perRow` is 0, without mutants.
std::vector<Form> makeForms(unsigned perRow, uint64_t seed);

/// What stands before and after the instructions of a kernel that holds forms.
std::string formsProlog(unsigned version, const std::string &target);
std::string formsEpilog();

} // namespace tilewright::vgpu::ptx

#endif // TEST_VGPU_PTX_FORMS_H
