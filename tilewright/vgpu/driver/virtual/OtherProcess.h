// Other processes of the machine, and the unnamed files that they share.
#ifndef TILEWRIGHT_VGPU_DRIVER_VIRTUAL_OTHERPROCESS_H
#define TILEWRIGHT_VGPU_DRIVER_VIRTUAL_OTHERPROCESS_H

#include <cstdint>

namespace tilewright::vgpu::driver {

bool isAlive(int process);

/// The inode of an open file, which tells two files apart; 0 if it is not open.
uint64_t inodeOf(int file);

/// Opens the file that is descriptor `file` of another process; -1 if that process has ended, or
/// has closed the file with this inode and perhaps reused its descriptor.
int openFileOf(int process, int file, uint64_t inode);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_VIRTUAL_OTHERPROCESS_H
