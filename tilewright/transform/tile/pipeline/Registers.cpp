#include "tilewright/transform/tile/pipeline/PlanParts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

namespace tilewright::pipeline {
namespace {

// The granularity and range of setmaxnreg; a kernel's registers have the same granularity.
constexpr int64_t step = 8, fewest = 24, most = 256;

/// The registers per thread that a role with this number of groups needs.
int64_t needOf(const RoleRule &rule, int64_t groups, int64_t held, int64_t warpSize) {
  int64_t threads = groups * rule.warps * warpSize;
  int64_t own = rule.dividedRegisters ? held : 0;
  return rule.registers + own + llvm::divideCeil(rule.dividedRegisters, threads);
}

} // namespace

bool giveRegisters(const PipelineProblem &problem, int64_t held, PipelinePlan &plan,
                   std::string &reason) {
  const Limits &limits = problem.limits;
  llvm::SmallVector<int64_t> needs;
  plan.threads = 0;
  for (auto [rule, role] : llvm::zip(problem.roles, plan.roles)) {
    role.groups = std::min(rule.leastGroups, rule.maxGroups);
    while (needOf(rule, role.groups, held, limits.warpSize) > limits.maxRegisters &&
           role.groups < rule.maxGroups)
      ++role.groups;
    int64_t need = needOf(rule, role.groups, held, limits.warpSize);
    if (need > limits.maxRegisters) {
      reason = llvm::formatv(
                   "{0} needs {1} registers per thread in {2} group{3}, but the limit is {4}",
                   rule.name, need, role.groups, role.groups == 1 ? "" : "s", limits.maxRegisters)
                   .str();
      return false;
    }
    if (role.groups > rule.leastGroups)
      plan.reasons.push_back(llvm::formatv("{0} has {1} groups of {2} warps: with one group "
                                           "fewer a thread would need {3} registers, "
                                           "but the limit is {4}",
                                           rule.name, role.groups, rule.warps,
                                           needOf(rule, role.groups - 1, held, limits.warpSize),
                                           limits.maxRegisters)
                                 .str());
    role.warps = role.groups * rule.warps;
    needs.push_back(std::max(fewest, int64_t(llvm::alignTo(need, step))));
    plan.threads += role.warps * limits.warpSize;
  }
  if (plan.threads > limits.maxThreads) {
    reason = llvm::formatv("the roles have {0} threads, but a CTA has at most {1}", plan.threads,
                           limits.maxThreads)
                 .str();
    return false;
  }
  plan.launchRegisters =
      std::min(limits.registers / plan.threads / step * step, limits.maxRegisters / step * step);
  if (!limits.movesRegisters || plan.roles.size() == 1) {
    for (auto [index, role] : llvm::enumerate(plan.roles)) {
      role.registers = plan.launchRegisters;
      // `needs` is rounded up to a multiple of `step`, so it may be 256, one more than the maximum
      // of 255.
      if (std::min(needs[index], limits.maxRegisters) >
          std::max(plan.launchRegisters,
                   std::min(limits.registers / plan.threads, limits.maxRegisters))) {
        reason = llvm::formatv(
                     "{0} needs {1} registers per thread, but {2} threads have only {3} each",
                     problem.roles[index].name, needs[index], plan.threads, plan.launchRegisters)
                     .str();
        return false;
      }
    }
    return true;
  }
  // Roles without divided values release the registers that they do not need; the other roles share
  // them.
  int64_t pool = plan.launchRegisters * plan.threads, given = 0, takers = 0;
  for (auto [index, role] : llvm::enumerate(plan.roles)) {
    if (problem.roles[index].dividedRegisters) {
      takers += role.warps * limits.warpSize;
      continue;
    }
    role.registers = needs[index];
    given += role.registers * role.warps * limits.warpSize;
  }
  for (auto [index, role] : llvm::enumerate(plan.roles)) {
    if (!problem.roles[index].dividedRegisters)
      continue;
    role.registers = std::min(most, (pool - given) / takers / step * step);
    if (role.registers < needs[index]) {
      reason = llvm::formatv("{0} needs {1} registers per thread, but the other roles leave only "
                             "{2}",
                             problem.roles[index].name, needs[index], role.registers)
                   .str();
      return false;
    }
    plan.reasons.push_back(
        llvm::formatv(
            "a thread of {0} gets {1} registers and needs {2}; the kernel starts with {3}",
            problem.roles[index].name, role.registers, needs[index], plan.launchRegisters)
            .str());
  }
  return true;
}

} // namespace tilewright::pipeline
