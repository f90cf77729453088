#include "tilewright/collective/plan/PlanBytes.h"

#include "tilewright/support/Archive.h"

namespace tilewright::collective {
namespace {

/// Raised by every change of fields(); a reader reads its own version only.
constexpr uint64_t planVersion = 1;

class Writer : public ByteWriter {
public:
  void kind(Kind value) { text(std::string(nameOf(value))); }
  template <typename T, typename Each>
  void list(const std::vector<T> &items, const char *, size_t, Each each) {
    number(items.size());
    for (const T &item : items)
      each(*this, item);
  }
};

class Reader : public ByteReader {
public:
  explicit Reader(std::span<const std::byte> bytes)
      : ByteReader(bytes, "the communication plan", Error::commPlanEncoding) {}

  void kind(Kind &value) {
    std::string name;
    text(name);
    if (std::optional<Kind> known = kindNamed(name))
      value = *known;
    else
      cursor.fail(concat("has a collective '", name, "', which is not known"));
  }
  template <typename T, typename Each>
  void list(std::vector<T> &items, const char *things, size_t bytesEach, Each each) {
    const size_t count = cursor.count(things, bytesEach);
    items.reserve(count);
    for (size_t i = 0; i < count && !cursor.failed(); ++i)
      each(*this, items.emplace_back());
  }
};

constexpr auto asNumber = [](auto &archive, auto &value) { archive.number(value); };
constexpr auto asInteger = [](auto &archive, auto &value) { archive.integer(value); };

template <typename A> void fields(A &a, Field<A, RankMesh> &mesh) {
  a.list(mesh.axes, "axes", 2, [](A &a, Field<A, MeshAxis> &axis) {
    a.text(axis.name);
    a.integer(axis.size);
  });
  a.list(mesh.order, "ranks", 1, asInteger);
}
template <typename A> void fields(A &a, Field<A, CliqueSpec> &clique) {
  a.enumeration(clique.form, 3);
  a.list(clique.axes, "axes", 1, asNumber);
  a.list(clique.lists, "lists", 1,
         [](A &a, Field<A, std::vector<int64_t>> &list) { a.list(list, "ranks", 1, asInteger); });
}
template <typename A> void fields(A &a, Field<A, Guard> &guard) {
  a.enumeration(guard.kind, 2);
  a.number(guard.parent);
  a.number(guard.arm);
  a.number(guard.position);
  a.number(guard.arms);
  a.integer(guard.tripCount);
  a.number(guard.varies);
  a.list(guard.choices, "choices", 1, asNumber);
  a.text(guard.location);
}
template <typename A> void fields(A &a, Field<A, Site> &site) {
  a.kind(site.kind);
  a.enumeration(site.element, numerics::elementTypeCount);
  a.text(site.reduction);
  a.integer(site.bytes);
  a.enumeration(site.algorithm, algorithmCount);
  a.number(site.lane);
  a.number(site.meeting);
  a.number(site.clique);
  a.number(site.guard);
  a.number(site.arm);
  a.number(site.start);
  a.number(site.done);
  a.text(site.name);
  a.text(site.location);
}
template <typename A> void fields(A &a, Field<A, Window> &window) {
  a.number(window.clique);
  a.integer(window.bytes);
  a.integer(window.alignment);
}
template <typename A> void fields(A &a, Field<A, CommPlan> &plan) {
  constexpr auto each = [](auto &archive, auto &item) { fields(archive, item); };
  fields(a, plan.mesh);
  a.list(plan.cliques, "cliques", 3, each);
  a.list(plan.guards, "guards", 9, each);
  a.list(plan.sites, "sites", 24, each);
  a.list(plan.windows, "windows", 3, each);
}

/// The first item in which two lists differ, or the length of both.
template <typename T> size_t firstUnequal(const std::vector<T> &a, const std::vector<T> &b) {
  size_t i = 0;
  while (i < a.size() && i < b.size() && a[i] == b[i])
    ++i;
  return i;
}

/// Where a site differs from one that is called the same.
std::string details(const CommPlan &plan, const Site &site) {
  std::string text = concat(describe(plan, site), ", meeting ", site.meeting, ", lane ",
                            int(site.lane), ", steps ", site.start, " to ", site.done);
  if (site.guard != nothing)
    text += concat(", in guard ", site.guard, " arm ", site.arm);
  return text;
}

} // namespace

std::vector<std::byte> writePlan(const CommPlan &plan) {
  Writer writer;
  writer.number(planVersion);
  fields(writer, plan);
  return std::move(writer.out);
}

Result<CommPlan> readPlan(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  if (const uint64_t version = reader.cursor.number(); version != planVersion)
    reader.cursor.fail(concat("has version ", version, ", and this one reads ", planVersion));
  CommPlan plan;
  fields(reader, plan);
  TILEWRIGHT_TRY(reader.finish());
  TILEWRIGHT_TRY(checkPlan(plan));
  return plan;
}

Fingerprint fingerprintOf(const CommPlan &plan) {
  return tilewright::fingerprintOf(std::span<const std::byte>(writePlan(plan)));
}

std::string firstDifference(const CommPlan &a, const CommPlan &b, const std::string &mine,
                            const std::string &theirs) {
  if (a == b)
    return "";
  if (a.mesh != b.mesh)
    return concat(mine, " has the mesh ", describe(a.mesh), ", ", theirs, " has ", describe(b.mesh),
                  a.mesh.axes == b.mesh.axes ? " with the ranks in another order" : "");
  // Sites first: they have names and lines. A clique or guard shows only if all sites are equal.
  const size_t site = firstUnequal(a.sites, b.sites);
  auto siteText = [&](const CommPlan &plan) {
    return site < plan.sites.size() ? details(plan, plan.sites[site]) : "nothing";
  };
  if (site < a.sites.size() || site < b.sites.size())
    return concat("collective ", site, " is ", siteText(a), " for ", mine, " and ", siteText(b),
                  " for ", theirs);
  const size_t guard = firstUnequal(a.guards, b.guards);
  auto guardText = [&](const CommPlan &plan) {
    if (guard >= plan.guards.size())
      return std::string("nothing");
    const Guard &g = plan.guards[guard];
    return concat(g.kind == Guard::Kind::loop ? "a loop" : "a branch",
                  g.location.empty() ? "" : concat(" at ", g.location), " at step ", g.position,
                  ", ", g.tripCount, " turns, ", g.arms, " arms, varies along [",
                  nameOf(plan.mesh, g.varies), "]");
  };
  if (guard < a.guards.size() || guard < b.guards.size())
    return concat("guard ", guard, " is ", guardText(a), " for ", mine, " and ", guardText(b),
                  " for ", theirs);
  const size_t clique = firstUnequal(a.cliques, b.cliques);
  auto cliqueText = [&](const CommPlan &plan) {
    return clique < plan.cliques.size() ? describe(plan.mesh, plan.cliques[clique]) : "nothing";
  };
  if (clique < a.cliques.size() || clique < b.cliques.size())
    return concat("clique ", clique, " is ", cliqueText(a), " for ", mine, " and ", cliqueText(b),
                  " for ", theirs);
  return concat(mine, " and ", theirs, " have different windows");
}

} // namespace tilewright::collective
