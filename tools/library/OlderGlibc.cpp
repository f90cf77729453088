// Definitions of functions that only glibc 2.35 or 2.36 and later have. LLVM's archives and libgcc
// were compiled on a newer system and call them; with these definitions, the library also loads
// with an older glibc. The symbols are hidden, so other libraries in the process keep their own.
// test/wheel checks which symbol versions the release requires.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <dlfcn.h>
#include <link.h>
#include <sys/random.h>
#include <unistd.h>

// Headers before glibc 2.36 do not declare this function.
extern "C" uint32_t arc4random(void) noexcept;

/// LLVM uses it for the random part of temporary file names.
uint32_t arc4random() noexcept {
  uint32_t value = 0;
  auto *next = reinterpret_cast<unsigned char *>(&value);
  for (size_t have = 0; have < sizeof value;) {
    const ssize_t got = getrandom(next + have, sizeof value - have, 0);
    if (got > 0)
      have += static_cast<size_t>(got);
    else if (errno != EINTR)
      break; // a kernel without getrandom(); LLVM tries another name if the file exists
  }
  return value;
}

#ifdef __x86_64__
/// The original versions of hypot() and hypotf(). The versions of glibc 2.35 differ only in how
/// they set errno.
extern "C" double olderHypot(double x, double y);
extern "C" float olderHypotf(float x, float y);
__asm__(".symver olderHypot, hypot@GLIBC_2.2.5");
__asm__(".symver olderHypotf, hypotf@GLIBC_2.2.5");
extern "C" double hypot(double x, double y) noexcept { return olderHypot(x, y); }
extern "C" float hypotf(float x, float y) noexcept { return olderHypotf(x, y); }
#endif

// libgcc's unwinder calls _dl_find_object if libgcc was compiled against a glibc that has it.
#if __GLIBC_PREREQ(2, 35)
namespace {

struct Search {
  uintptr_t address;
  dl_find_object *found;
};

/// Called for each loaded object; stops at the one that contains the address.
int look(dl_phdr_info *object, size_t, void *opaque) {
  auto *search = static_cast<Search *>(opaque);
  uintptr_t begin = UINTPTR_MAX, end = 0, frames = 0;
  bool holdsIt = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) &part = object->dlpi_phdr[i];
    const uintptr_t at = object->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD) {
      begin = at < begin ? at : begin;
      end = at + part.p_memsz > end ? at + part.p_memsz : end;
      holdsIt |= search->address >= at && search->address < at + part.p_memsz;
    } else if (part.p_type == DLFO_EH_SEGMENT_TYPE) {
      frames = at;
    }
  }
  if (!holdsIt)
    return 0;
  *search->found = {};
  search->found->dlfo_map_start = reinterpret_cast<void *>(begin);
  search->found->dlfo_map_end = reinterpret_cast<void *>(end);
  search->found->dlfo_eh_frame = reinterpret_cast<void *>(frames);
  return 1;
}

} // namespace

/// Finds the object that contains an address, and its table of unwind frames.
extern "C" int _dl_find_object(void *address, dl_find_object *found) noexcept {
  Search search{reinterpret_cast<uintptr_t>(address), found};
  return dl_iterate_phdr(look, &search) && found->dlfo_eh_frame ? 0 : -1;
}
#endif
