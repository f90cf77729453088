#include "tilewright/vgpu/driver/virtual/OtherProcess.h"

#include "tilewright/support/Concat.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tilewright::vgpu::driver {

bool isAlive(int process) { return kill(process, 0) == 0 || errno != ESRCH; }

uint64_t inodeOf(int file) {
  struct stat status{};
  return fstat(file, &status) == 0 ? status.st_ino : 0;
}

int openFileOf(int process, int file, uint64_t inode) {
  const int opened = open(concat("/proc/", process, "/fd/", file).c_str(), O_RDWR | O_CLOEXEC);
  if (opened < 0 || inodeOf(opened) == inode)
    return opened;
  close(opened);
  return -1;
}

} // namespace tilewright::vgpu::driver
