#include "tilewright/vgpu/driver/Graph.h"
namespace tilewright::vgpu::driver {
Graph::~Graph() = default;
void performGraph(Context &, Graph &) {}
} // namespace tilewright::vgpu::driver
