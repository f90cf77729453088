// The source lines of machine code: the line tables (.debug_line) of a code object.
#ifndef TILEWRIGHT_VGPU_AMDGCN_WATCH_LINES_H
#define TILEWRIGHT_VGPU_AMDGCN_WATCH_LINES_H

#include "tilewright/vgpu/amdgcn/CodeObject.h"
#include "tilewright/vgpu/machine/Program.h"

#include <map>

namespace tilewright::vgpu::amdgcn {

/// DWARF line tables, versions 2 to 5, in the 32-bit format. A damaged table ends at the damage:
/// what was read before is kept.
class Lines {
public:
  static Lines read(const CodeObject &object);

  /// The line of the instruction at an address of the code object. The file is empty if the line is
  /// unknown.
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
