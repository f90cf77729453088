// Cluster launch control: a running cluster cancels the launch of one that has not started, and
// does its work.
#ifndef TILEWRIGHT_VGPU_MACHINE_LAUNCHCONTROL_H
#define TILEWRIGHT_VGPU_MACHINE_LAUNCHCONTROL_H

#include "tilewright/vgpu/machine/External.h"

namespace tilewright::vgpu::machine {

/// clusterlaunchcontrol.try_cancel; its form is a CopyForm.
After runTryCancel(Warp &, const Op *, std::byte *, uint32_t, uint32_t);

/// clusterlaunchcontrol.query_cancel.
struct LaunchQueryForm {
  ExternalForm head;
  uint32_t response = 0; // slot of 128 bits
  bool isTest = false;   // is_canceled
  uint32_t predicate = 0;
  unsigned first = 0, count = 0; // coordinates, and how many
  uint32_t slots[4] = {};
};
After runQueryCancel(Warp &, const Op *, std::byte *, uint32_t, uint32_t);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_LAUNCHCONTROL_H
