#include "tilewright/runtime/cpu/CpuCollectives.h"
#include "tilewright/support/Concat.h"

#include <cstring>

namespace tilewright::runtime::cpu {

static const Attribute *find(const artifact::CollectiveStartStep &step, std::string_view name) {
  for (const Attribute &attribute : step.attributes)
    if (attribute.name == name)
      return &attribute;
  return nullptr;
}

/// A whole number of any width, under the first of these names that is there.
static Result<int64_t> integer(const artifact::CollectiveStartStep &step,
                               std::initializer_list<std::string_view> names) {
  for (std::string_view name : names) {
    const Attribute *attribute = find(step, name);
    const auto *elements = attribute ? std::get_if<artifact::Elements>(&attribute->value) : nullptr;
    if (!elements)
      continue;
    const size_t bytes = numerics::storageBytes(elements->type);
    if (!numerics::isInteger(elements->type) || elements->bytes.size() != bytes)
      continue;
    uint64_t bits = 0;
    std::memcpy(&bits, elements->bytes.data(), bytes);
    const unsigned unused = 64 - 8 * static_cast<unsigned>(bytes);
    return numerics::isSigned(elements->type) ? static_cast<int64_t>(bits << unused) >> unused
                                              : static_cast<int64_t>(bits);
  }
  return Status(Error::collectiveGroups,
                concat("a ", step.kind, " has no whole number '", *names.begin(), "'"));
}

static Status addDimensions(const artifact::CollectiveStartStep &step, collective::Call &call) {
  using collective::Kind;
  if (call.kind == Kind::allGather) {
    TILEWRIGHT_ASSIGN(call.dimension, integer(step, {"all_gather_dim", "dimension"}));
  } else if (call.kind == Kind::reduceScatter) {
    TILEWRIGHT_ASSIGN(call.dimension, integer(step, {"scatter_dimension", "dimension"}));
  } else if (call.kind == Kind::allToAll) {
    TILEWRIGHT_ASSIGN(call.splitDimension, integer(step, {"split_dimension"}));
    TILEWRIGHT_ASSIGN(call.dimension, integer(step, {"concat_dimension"}));
  }
  return Status();
}

static Result<collective::Call> callOf(const Collective &collective,
                                       std::span<const std::byte *const> operands,
                                       std::span<std::byte *const> results) {
  const artifact::CollectiveStartStep &step = *collective.step;
  collective::Call call;
  std::optional<collective::Kind> kind = collective::kindNamed(step.kind);
  if (!kind || operands.size() != results.size())
    return Status(Error::collectiveGroups,
                  concat("a collective '", step.kind, "' of ", operands.size(), " operands and ",
                         results.size(), " results is not known"));
  call.kind = *kind;
  call.order = step.order;
  call.name = collective.name;
  call.place = collective.place;
  call.identity = collective.identity;
  TILEWRIGHT_TRY(addDimensions(step, call));
  if (const Attribute *body = find(step, "body"))
    if (const auto *operation = std::get_if<std::string>(&body->value))
      call.reduction.operation = *operation;
  if (!collective.bodies.empty())
    call.reduction.body = collective.bodies.front();
  for (size_t i = 0; i < operands.size(); ++i)
    call.tensors.push_back({collective.operands[i].element, collective.operands[i].dims,
                            collective.results[i].dims, operands[i], results[i]});
  return call;
}

Status CpuCollectives::start(const Collective &collective,
                             std::span<const std::byte *const> operands,
                             std::span<std::byte *const> results) {
  TILEWRIGHT_ASSIGN(collective::Call call, callOf(collective, operands, results));
  auto one = std::make_unique<Begun>();
  one->groups = collective.step->groups;
  call.groups = &one->groups;
  TILEWRIGHT_ASSIGN(one->ticket, communicator.start(call));
  begun[&collective] = std::move(one);
  return Status();
}

Status CpuCollectives::finish(const Collective &collective) {
  auto found = begun.find(&collective);
  if (found == begun.end())
    return Status(Code::internal, "a collective is finished that was not started");
  std::unique_ptr<Begun> one = std::move(found->second);
  begun.erase(found);
  return communicator.finish(one->ticket);
}

Status CpuCollectives::run(const Collective &collective, std::span<const std::byte *const> operands,
                           std::span<std::byte *const> results) {
  TILEWRIGHT_ASSIGN(collective::Call call, callOf(collective, operands, results));
  call.groups = &collective.step->groups;
  return communicator.run(call);
}

void CpuCollectives::abandon() {
  communicator.abandon(Status(Code::aborted, "its program ended with collectives under way"));
  begun.clear();
}

} // namespace tilewright::runtime::cpu
