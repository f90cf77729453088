// CollectivePrice: how long a collective takes, for decisions that compare it with other work.
#ifndef TILEWRIGHT_TRANSFORM_COLLECTIVEPRICE_H
#define TILEWRIGHT_TRANSFORM_COLLECTIVEPRICE_H

#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/numerics/Collective.h"

#include <cstdint>

namespace tilewright::transform {

/// A latency and a rate. The program does not name the links between its ranks, so these are
/// typical values: decisions must stay good if a real link is a few times slower or faster.
struct Link {
  double latency;      // ns of one message
  double bytesPerNano; // of one rank

  static Link of(exec::TargetAttr target) {
    // Between GPUs, NCCL over a network card; between CPUs, sockets or shared memory with a busy
    // core at each end.
    return target.isGpu() ? Link{20e3, 50} : Link{30e3, 1.5};
  }

  /// The bytes of a message for which the latency is a twentieth of its time.
  int64_t amortizedBytes() const { return static_cast<int64_t>(19 * latency * bytesPerNano); }
};

/// The bytes that each of `ranks` ranks sends if its operands have `bytes` bytes.
inline double wireBytes(numerics::CollectiveKind kind, int64_t ranks, double bytes) {
  using enum numerics::CollectiveKind;
  const double others = static_cast<double>(ranks - 1), all = static_cast<double>(ranks);
  if (ranks <= 1)
    return 0;
  switch (kind) {
  case allReduce:
    return 2 * bytes * others / all;
  case allGather:
    return bytes * others;
  case reduceScatter:
  case allToAll:
  case raggedAllToAll:
    return bytes * others / all;
  case permute:
  case broadcast:
    return bytes;
  case barrier:
    return 0;
  }
  return bytes;
}

/// The nanoseconds of a collective among `ranks` ranks.
inline double collectiveTime(const Link &link, numerics::CollectiveKind kind, int64_t ranks,
                             double bytes) {
  if (ranks <= 1)
    return 0;
  const double steps = kind == numerics::CollectiveKind::allReduce ? 2 : 1;
  return steps * link.latency + wireBytes(kind, ranks, bytes) / link.bytesPerNano;
}

} // namespace tilewright::transform

#endif // TILEWRIGHT_TRANSFORM_COLLECTIVEPRICE_H
