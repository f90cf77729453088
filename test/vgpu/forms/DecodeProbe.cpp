// Prints which forms of the instruction table the virtual GPU accepts: a line for each row with how
// many forms were tried, how many load on sm_90a, and why the others do not.
//
//   DecodeProbe [PER_ROW]      0, the default, tries all (rows with more than 600 are sampled)
//
// The exit status is 1 if a form does not load.
#include "test/vgpu/ptx/Forms.h"
#include "tilewright/vgpu/machine/LoadedModule.h"
#include "tilewright/vgpu/ptx/InstructionTable.h"
#include "tilewright/vgpu/ptx/Parser.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <string>

using namespace tilewright;
using namespace tilewright::vgpu;

int main(int argc, char **argv) {
  const unsigned perRow = argc > 1 ? static_cast<unsigned>(std::stoul(argv[1])) : 0;
  struct Count {
    size_t tried = 0, taken = 0;
    std::map<std::string, size_t> refused;
  };
  std::map<std::string, Count> rows;
  for (const ptx::Form &form : ptx::makeForms(perRow, 1)) {
    if (form.mutated)
      continue;
    // sm_90a, or the lowest later target, with its suffix.
    const bool isLater = form.target.size() > 2 && form.target.starts_with('1');
    const std::string target = !isLater                     ? "90a"
                               : form.target.ends_with('a') ? form.target
                                                            : form.target + "a";
    const std::string text = ptx::formsProlog(std::max(90u, form.version), target) + form.text +
                             "\n" + ptx::formsEpilog();
    if (!ptx::parse(text).isOk())
      continue;
    Count &count = rows[form.row];
    ++count.tried;
    Result<std::unique_ptr<machine::LoadedModule>> module =
        machine::LoadedModule::create(text, "sm_" + target);
    if (module.isOk())
      ++count.taken;
    else
      ++count.refused[std::move(module).takeStatus().toString() + " <- " + form.text];
  }
  size_t all = 0;
  for (const ptx::InstructionRow &row : ptx::instructionTable()) {
    const Count &count = rows[std::string(row.name)];
    std::cout << row.name << '\t' << count.tried << '\t' << count.taken;
    for (const auto &[reason, times] : count.refused) {
      std::cout << '\t' << reason;
      break;
    }
    std::cout << '\n';
    all += count.taken == count.tried && count.tried > 0;
  }
  const size_t total = ptx::instructionTable().size();
  std::cout << "rows: " << total << ", taken in all forms: " << all << '\n';
  return all != total;
}
