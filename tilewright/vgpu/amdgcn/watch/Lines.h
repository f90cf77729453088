// The source lines of machine code: the line tables (.debug_line) of a code object.
#ifndef TILEWRIGHT_VGPU_AMDGCN_WATCH_LINES_H
#define TILEWRIGHT_VGPU_AMDGCN_WATCH_LINES_H

#include "tilewright/vgpu/amdgcn/CodeObject.h"
#include "tilewright/vgpu/machine/Program.h"

#include <map>

namespace tilewright::vgpu::amdgcn {

/// Line tables of DWARF 2 to 5 in their 32-bit format. Damaged tables end where the damage is: what
/// was read before stays.
class Lines {
public:
  static Lines read(const CodeObject &object);

  /// The line of the instruction at an address of the code object. The file is empty if it is not
  /// known.
  machine::SourceLine find(uint64_t address) const;

private:
  friend class LineReader;
  struct Row {
    uint32_t file = 0, line = 0; // line 0: no source line belongs to the code
    bool isEnd = false;          // no code of this table follows
  };
  std::vector<std::string> files;
  std::map<uint64_t, Row> rows; // by the first address
};

} // namespace tilewright::vgpu::amdgcn

#endif // TILEWRIGHT_VGPU_AMDGCN_WATCH_LINES_H
