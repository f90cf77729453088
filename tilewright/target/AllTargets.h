// Every target of this build: add a new one to AllTargets.cpp.
#ifndef TILEWRIGHT_TARGET_ALLTARGETS_H
#define TILEWRIGHT_TARGET_ALLTARGETS_H

namespace tilewright::target {

/// Registers the backend of each target. Later calls do nothing.
void registerAllTargets();

/// Registers the passes of each target and those that they share, for tilewright-opt.
void registerAllTargetPasses();

} // namespace tilewright::target

#endif // TILEWRIGHT_TARGET_ALLTARGETS_H
