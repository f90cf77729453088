#include "tilewright/support/BuildId.h"

#include "tilewright/support/text/Hex.h"

#include <cstdint>
#include <cstring>
#include <link.h>

namespace tilewright {

namespace {
struct Search {
  uintptr_t address; // of code in the module that is looked for
  std::string found;
};
} // namespace

/// The build id among the notes of a segment.
static std::string buildIdIn(const char *notes, size_t bytes) {
  const auto padded = [](size_t size) { return (size + 3) / 4 * 4; };
  for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= bytes;) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + at, sizeof note);
    const size_t name = at + sizeof note, value = name + padded(note.n_namesz);
    if (value + note.n_descsz > bytes)
      break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        std::memcmp(notes + name, "GNU", 4) == 0)
      return hexOf(std::as_bytes(std::span(notes + value, note.n_descsz)));
    at = value + padded(note.n_descsz);
  }
  return {};
}

/// Called for each loaded module until it returns something other than 0.
static int visit(dl_phdr_info *module, size_t, void *data) {
  auto &search = *static_cast<Search *>(data);
  bool holdsAddress = false;
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = module->dlpi_phdr[i];
    const uintptr_t begin = module->dlpi_addr + segment.p_vaddr;
    holdsAddress |= segment.p_type == PT_LOAD && search.address >= begin &&
                    search.address < begin + segment.p_memsz;
  }
  if (!holdsAddress)
    return 0;
  for (int i = 0; i < module->dlpi_phnum && search.found.empty(); ++i) {
    const ElfW(Phdr) &segment = module->dlpi_phdr[i];
    if (segment.p_type == PT_NOTE)
      search.found = buildIdIn(reinterpret_cast<const char *>(module->dlpi_addr + segment.p_vaddr),
                               segment.p_memsz);
  }
  return 1;
}

std::string buildIdOf(const void *address) {
  Search search{reinterpret_cast<uintptr_t>(address), {}};
  dl_iterate_phdr(visit, &search);
  return search.found;
}

std::string buildId() { return buildIdOf(reinterpret_cast<const void *>(&buildId)); }

} // namespace tilewright
