#include "tilewright/vgpu/check/Report.h"

#include "tilewright/support/Concat.h"
#include "tilewright/support/text/Hex.h"
#include "tilewright/support/text/Json.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace tilewright::vgpu::check {

std::string_view nameOf(FindingKind kind) {
  switch (kind) {
  case FindingKind::race:
    return "race";
  case FindingKind::missingFence:
    return "missing-fence";
  case FindingKind::uninitialised:
    return "uninitialised-read";
  case FindingKind::bounds:
    return "out-of-bounds";
  case FindingKind::barrier:
    return "barrier-misuse";
  case FindingKind::registers:
    return "register-in-flight";
  case FindingKind::unfinished:
    return "unfinished-operation";
  case FindingKind::deadlock:
    return "deadlock";
  case FindingKind::waitStates:
    return "wait-states";
  }
  return "finding";
}

std::string_view describe(FindingKind kind) {
  switch (kind) {
  case FindingKind::race:
    return "Two unordered accesses to the same bytes, at least one of them a write.";
  case FindingKind::missingFence:
    return "Two accesses through different proxies that are ordered, but without the proxy fence "
           "that makes the first visible to the second.";
  case FindingKind::uninitialised:
    return "A read of memory that was never written.";
  case FindingKind::bounds:
    return "An access outside of every allocation.";
  case FindingKind::barrier:
    return "A barrier used in a way that PTX does not define.";
  case FindingKind::registers:
    return "An access to registers of a wgmma without a fence before the wgmma or a wait after it, "
           "or to a register that a load in flight will write.";
  case FindingKind::unfinished:
    return "An asynchronous operation on memory of a block that ended before any thread waited for "
           "it.";
  case FindingKind::deadlock:
    return "Threads that wait for an event that cannot happen.";
  case FindingKind::waitStates:
    return "Two instructions that use the same registers, with fewer wait states between them than "
           "the chip needs.";
  }
  return "";
}

bool Report::countOrReserve(const Key &key, uint8_t weight) {
  std::lock_guard lock(mutex);
  auto found = byKey.find(key);
  if (found == byKey.end())
    return true;
  if (found->second >= all.size())
    return false;
  Counted &there = all[found->second];
  if (weight > there.weight)
    return true;
  ++there.count;
  return false;
}

void Report::add(Finding finding, const Key &key, uint8_t weight) {
  std::lock_guard lock(mutex);
  const auto [at, isNew] = byKey.emplace(key, all.size());
  if (!isNew) {
    if (at->second >= all.size())
      return;
    Counted &there = all[at->second];
    ++there.count;
    if (weight > there.weight) {
      there.finding = std::move(finding);
      there.weight = weight;
      ++changes;
    }
    return;
  }
  if (all.size() < limit) {
    all.push_back({std::move(finding), 1, weight});
    ++changes;
    return;
  }
  at->second = ~size_t(0);
  ++beyond;
}

uint64_t Report::changeCount() const {
  std::lock_guard lock(mutex);
  return changes;
}

size_t Report::size() const {
  std::lock_guard lock(mutex);
  return all.size();
}

bool Report::isEmpty() const {
  std::lock_guard lock(mutex);
  return all.empty() && beyond == 0;
}

uint64_t Report::total() const {
  std::lock_guard lock(mutex);
  uint64_t sum = beyond;
  for (const Counted &one : all)
    sum += one.count;
  return sum;
}

std::vector<Report::Counted> Report::findings() const {
  std::lock_guard lock(mutex);
  return all;
}

std::string Report::text(size_t first) const {
  std::lock_guard lock(mutex);
  std::string out;
  for (size_t i = first; i < all.size(); ++i) {
    const Counted &one = all[i];
    const Finding &finding = one.finding;
    out += concat(nameOf(finding.kind), ": ", finding.message, "\n");
    for (const Party &party : finding.parties) {
      out += concat("  ", party.what, " ", party.actor, "\n    at ",
                    machine::describe(party.location), "\n");
      if (!party.location.instruction.empty())
        out += concat("      ", party.location.instruction, "\n");
    }
    if (!finding.where.empty())
      out += concat("  in ", finding.where,
                    finding.value.empty() ? "" : concat(", which holds ", finding.value), "\n");
    if (one.count > 1)
      out += concat("  ", one.count, " times at this location in kernel ", finding.kernel, "\n");
    else
      out += concat("  in kernel ", finding.kernel, "\n");
    if (!finding.fix.empty())
      out += concat("  note: ", finding.fix, "\n");
  }
  if (beyond != 0)
    out += concat("and findings at ", beyond, " more locations\n");
  return out;
}

static void writeLocation(JsonWriter &json, const SourceLocation &location) {
  json.open('{').key("function").text(location.function);
  if (location.line == 0 && location.address != 0)
    json.key("address").number(location.address);
  else
    json.key("ptxLine").number(location.line);
  if (!location.file.empty())
    json.key("file").text(location.file).key("line").number(location.fileLine);
  if (!location.instruction.empty())
    json.key("instruction").text(location.instruction);
  json.close('}');
}

std::string Report::json() const {
  std::lock_guard lock(mutex);
  JsonWriter json;
  json.open('{').key("version").number(1).key("findings").open('[');
  for (const Counted &one : all) {
    const Finding &finding = one.finding;
    json.line().open('{').key("kind").text(nameOf(finding.kind));
    json.key("kernel").text(finding.kernel).key("count").number(one.count);
    json.key("message").text(finding.message).key("where").text(finding.where);
    json.key("value").text(finding.value).key("fix").text(finding.fix);
    json.key("accesses").open('[');
    for (const Party &party : finding.parties) {
      json.open('{').key("what").text(party.what).key("who").text(party.actor).key("place");
      writeLocation(json, party.location);
      json.close('}');
    }
    json.close(']').close('}');
  }
  json.line().close(']').key("notListed").number(beyond).close('}').line();
  return std::move(json).take();
}

/// A path as a URI reference: characters that a URI does not allow are percent-encoded.
static std::string uriOf(std::string_view path) {
  std::string out;
  for (const char c : path) {
    if (std::isalnum(static_cast<unsigned char>(c)) ||
        std::string_view("-._~/:@!$&'()*+,;=").find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += concat('%', hexDigits(static_cast<unsigned char>(c), 2, HexCase::upper));
    }
  }
  return out;
}

/// A source location as a SARIF location: the source line if it is known, otherwise the PTX line in
/// its kernel, or the kernel's code object.
static void writeSarifLocation(JsonWriter &json, const Finding &finding, const Party &party) {
  const SourceLocation &location = party.location;
  const bool hasSource = !location.file.empty();
  json.open('{').key("physicalLocation").open('{').key("artifactLocation").open('{');
  json.key("uri").text(uriOf(
      hasSource ? location.file : concat(finding.kernel, location.address != 0 ? ".co" : ".ptx")));
  json.close('}').key("region").open('{').key("startLine");
  json.number(std::max(hasSource ? location.fileLine : location.line, 1u)).close('}').close('}');
  json.key("logicalLocations").open('[').open('{');
  json.key("fullyQualifiedName").text(location.function).key("kind").text("function");
  json.close('}').close(']').key("message").open('{').key("text");
  json.text(concat(party.what, " ", party.actor,
                   location.line == 0 && location.address != 0
                       ? concat(" at ", hexNumber(location.address))
                       : concat(", PTX line ", location.line)));
  json.close('}').close('}');
}

std::string Report::sarif() const {
  std::lock_guard lock(mutex);
  JsonWriter json;
  json.open('{').key("$schema").text("https://json.schemastore.org/sarif-2.1.0.json");
  json.key("version").text("2.1.0").key("runs").open('[').open('{');
  json.key("tool").open('{').key("driver").open('{').key("name").text("tilewright-vgpu");
  json.key("rules").open('[');
  std::vector<FindingKind> rules;
  for (const Counted &one : all)
    if (std::find(rules.begin(), rules.end(), one.finding.kind) == rules.end())
      rules.push_back(one.finding.kind);
  for (FindingKind rule : rules) {
    json.open('{').key("id").text(nameOf(rule)).key("shortDescription").open('{');
    json.key("text").text(describe(rule)).close('}').close('}');
  }
  json.close(']').close('}').close('}').key("results").open('[');
  for (const Counted &one : all) {
    const Finding &finding = one.finding;
    const auto rule = std::find(rules.begin(), rules.end(), finding.kind) - rules.begin();
    std::string message = finding.message;
    if (!finding.where.empty())
      message += concat("; in ", finding.where);
    if (!finding.fix.empty())
      message += concat(". ", finding.fix);
    json.line().open('{').key("ruleId").text(nameOf(finding.kind)).key("ruleIndex").number(rule);
    json.key("level").text("error").key("message").open('{').key("text").text(message).close('}');
    json.key("occurrenceCount").number(one.count).key("locations").open('[');
    if (!finding.parties.empty())
      writeSarifLocation(json, finding, finding.parties[0]);
    json.close(']');
    if (finding.parties.size() > 1) {
      json.key("relatedLocations").open('[');
      for (size_t i = 1; i < finding.parties.size(); ++i)
        writeSarifLocation(json, finding, finding.parties[i]);
      json.close(']');
    }
    json.close('}');
  }
  json.line().close(']').close('}').close(']').close('}').line();
  return std::move(json).take();
}

Status write(const Report &report, ReportFormat format, const std::string &path) {
  const std::string text = format == ReportFormat::text   ? report.text()
                           : format == ReportFormat::json ? report.json()
                                                          : report.sarif();
  if (path.empty()) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    return Status();
  }
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  if (!out)
    return Status(Error::checkReport, concat("cannot write the report of the checks to '", path,
                                             "': ", std::strerror(errno)));
  return Status();
}

} // namespace tilewright::vgpu::check
