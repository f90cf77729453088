#include "tilewright/import/bytecode/OldDictionaries.h"

#include <map>
#include <utility>

namespace tilewright::bytecode {
namespace {

class DictionaryMerger {
public:
  explicit DictionaryMerger(Module &module) : module(module) {}

  void run() {
    for (Operation &op : module.operations)
      if (op.properties.size != 0)
        op.attributes = merged(op);
  }

private:
  AttrId merged(const Operation &op) {
    std::map<std::string_view, AttrId> pairs;
    if (op.attributes != absent) {
      std::span<const AttrId> list = module.attrsIn(module.attrs[op.attributes].list);
      for (size_t i = 0; i < list.size(); i += 2) {
        pairs[module.textOf(list[i])] = list[i + 1];
        keys.emplace(module.textOf(list[i]), list[i]);
      }
    }
    const size_t had = pairs.size();
    const OpRow &row = module.rowOf(op);
    for (size_t i = 0; i < row.attributes.size(); ++i)
      if (AttrId property = module.propertiesOf(op)[i]; property != absent)
        pairs.emplace(row.attributes[i], property);
    if (pairs.size() == had)
      return op.attributes;
    std::vector<AttrId> list;
    for (auto [text, value] : pairs) {
      list.push_back(key(text));
      list.push_back(value);
    }
    return dictionary(std::move(list));
  }

  /// The string attribute for a key.
  AttrId key(std::string_view text) {
    auto [place, isNew] = keys.emplace(text, static_cast<AttrId>(module.attrs.size()));
    if (isNew) {
      Attr attr;
      attr.kind = AttrKind::string;
      attr.a = static_cast<StringId>(module.strings.size());
      module.strings.push_back(text);
      module.attrs.push_back(attr);
    }
    return place->second;
  }

  AttrId dictionary(std::vector<AttrId> list) {
    auto [place, isNew] = known.emplace(list, static_cast<AttrId>(module.attrs.size()));
    if (isNew) {
      Attr attr;
      attr.kind = AttrKind::dictionary;
      attr.list = {static_cast<uint32_t>(module.attrLists.size()),
                   static_cast<uint32_t>(list.size())};
      module.attrLists.insert(module.attrLists.end(), list.begin(), list.end());
      module.attrs.push_back(attr);
    }
    return place->second;
  }

  Module &module;
  std::map<std::string_view, AttrId> keys;
  std::map<std::vector<AttrId>, AttrId> known;
};

} // namespace

void mergePropertiesIntoDictionaries(Module &module) { DictionaryMerger(module).run(); }

void locateArguments(Module &module) {
  AttrId unknown = absent;
  for (const Region &region : module.regions)
    for (uint32_t i = region.argumentLocations.begin; i != region.argumentLocations.end(); ++i) {
      if (module.attrLists[i] != absent)
        continue;
      if (unknown == absent) {
        unknown = static_cast<AttrId>(module.attrs.size());
        Attr attr;
        attr.kind = AttrKind::unknownLocation;
        module.attrs.push_back(attr);
      }
      module.attrLists[i] = unknown;
    }
}

} // namespace tilewright::bytecode
