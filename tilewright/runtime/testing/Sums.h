// For tests with several processes: a program that sums over its devices.
#ifndef TILEWRIGHT_RUNTIME_TESTING_SUMS_H
#define TILEWRIGHT_RUNTIME_TESTING_SUMS_H

#include "tilewright/plan/PlanBytes.h"
#include "tilewright/runtime/testing/Backend.h"

namespace tilewright::runtime {

class SumFixture : public RuntimeFixture {
protected:
  /// A program for this many devices, with one collective of 64 bytes in its steps and in its plan.
  static std::shared_ptr<artifact::Executable>
  sumOf(int64_t devices, collective::ReductionKind reduction = collective::ReductionKind::add) {
    auto executable = std::make_shared<artifact::Executable>();
    executable->name = "sum";
    executable->partitions = devices;
    executable->parameters.resize(1);
    executable->parameters[0].type = floats();
    executable->results.resize(1);
    executable->results[0].type = floats();
    executable->blocks.resize(1);
    artifact::CollectiveStartStep step;
    step.kind = artifact::CollectiveKind::allReduce;
    step.reduction = reduction;
    step.groups.resize(1);
    for (int64_t rank = 0; rank < devices; ++rank)
      step.groups[0].push_back(rank);
    step.operands = {{{0, 0, 64}, 0}};
    executable->blocks[0].steps = {{step, "", ""}, {artifact::CollectiveDoneStep{0}, "", ""}};
    collective::CommPlan plan;
    plan.mesh.axes = {{"x", devices}};
    plan.cliques = {{collective::CliqueSpec::Form::axes, {0}, {}}};
    plan.sites.resize(1);
    plan.sites[0].bytes = 64;
    plan.sites[0].reduction = reduction;
    plan.sites[0].done = 1;
    executable->communication = collective::writePlan(plan);
    return executable;
  }
  /// Runs the plan's collective through the communicator of the run.
  static Status addUp(const ProgramRun &run) {
    static const std::vector<std::vector<int64_t>> everybody;
    collective::Call call;
    call.groups = &everybody;
    call.tensors = {{ElementType::f32, {length}, {length}, run.parameters[0], run.results[0]}};
    call.reduction.operation = collective::ReductionKind::add;
    call.name = "all_reduce.3";
    call.place = "train.py:41";
    return run.communicator->run(call);
  }
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_TESTING_SUMS_H
