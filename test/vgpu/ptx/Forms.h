// Instructions made from the table: some forms of every row, and invalid ones beside them. ptxas
// then judges each.
#ifndef TEST_VGPU_PTX_FORMS_H
#define TEST_VGPU_PTX_FORMS_H

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::vgpu::ptx {

struct Form {
  std::string row;
  unsigned version = 0;
  std::string target; // lowest target: "80", "90a"
  bool mutated = false;
  std::string text; // "add.s32 %r1, %r2, %r3;"
};

/// Up to `perRow` forms of each row, and as many mutants with a modifier replaced, added or
/// removed. If `perRow` is 0, all forms and no mutants.
std::vector<Form> makeForms(unsigned perRow, uint64_t seed);

/// The text before and after the instructions of a kernel that contains forms.
std::string formsProlog(unsigned version, const std::string &target);
std::string formsEpilog();

} // namespace tilewright::vgpu::ptx

#endif // TEST_VGPU_PTX_FORMS_H
