#include "tilewright/import/bytecode/testing/RawArtifact.h"

namespace tilewright::bytecode {

Bytes RawOp::encode() const {
  unsigned mask = extraMask;
  mask |= attributes >= 0 ? 0x01 : 0;
  mask |= !results.empty() ? 0x02 : 0;
  mask |= !operands.empty() ? 0x04 : 0;
  mask |= regionCount ? 0x10 : 0;
  mask |= !useListOrder.data.empty() ? 0x20 : 0;
  mask |= properties >= 0 ? 0x40 : 0;
  Bytes out;
  out.varint(name).byte(mask).varint(location);
  if (attributes >= 0)
    out.varint(static_cast<uint64_t>(attributes));
  if (properties >= 0)
    out.varint(static_cast<uint64_t>(properties));
  for (const std::vector<uint64_t> *list : {&results, &operands}) {
    if (list->empty())
      continue;
    out.varint(list->size());
    for (uint64_t value : *list)
      out.varint(value);
  }
  out.append(useListOrder);
  if (!regionCount)
    return out;
  out.flagged(regionCount, isolated);
  return isolated ? out.section(4, regions) : out.append(regions);
}

Bytes rawRegion(uint64_t values, std::vector<uint64_t> arguments, std::vector<Bytes> ops) {
  Bytes out;
  out.varint(1).varint(values).flagged(ops.size(), !arguments.empty());
  if (!arguments.empty()) {
    out.varint(arguments.size());
    for (uint64_t type : arguments)
      out.flagged(type, false);
    out.byte(0); // no use-list orders
  }
  for (const Bytes &op : ops)
    out.append(op);
  return out;
}

uint64_t RawArtifact::string(std::string text) {
  strings.push_back(std::move(text));
  return strings.size() - 1;
}
uint64_t RawArtifact::attr(uint64_t dialect, Bytes bytes) {
  attrs.push_back({dialect, std::move(bytes)});
  return attrs.size() - 1;
}
uint64_t RawArtifact::type(uint64_t dialect, Bytes bytes) {
  types.push_back({dialect, std::move(bytes)});
  return types.size() - 1;
}
uint64_t RawArtifact::name(uint64_t dialect, std::string text) {
  names.push_back({dialect, string(std::move(text))});
  return names.size() - 1;
}
uint64_t RawArtifact::propertyList(std::initializer_list<uint64_t> attrs) {
  Bytes bytes;
  for (uint64_t attr : attrs)
    bytes.varint(attr);
  properties.push_back(std::move(bytes));
  return properties.size() - 1;
}

Bytes RawArtifact::header() const {
  return Bytes().raw("ML\xEFR").varint(version).raw(producer).byte(0);
}

Bytes RawArtifact::dialectSection() const {
  Bytes out;
  out.varint(dialects.size());
  for (uint64_t dialect : dialects)
    version < 1 ? out.varint(dialect) : out.flagged(dialect, false);
  if (version >= 4)
    out.varint(names.size());
  for (const Name &name : names) {
    out.varint(name.dialect).varint(1);
    version < 5 ? out.varint(name.string) : out.flagged(name.string, name.registered);
  }
  return out;
}

Bytes RawArtifact::entrySizeSection() const {
  Bytes out;
  out.varint(attrs.size()).varint(types.size());
  for (const std::vector<Entry> *entries : {&attrs, &types})
    for (const Entry &entry : *entries)
      out.varint(entry.dialect).varint(1).flagged(entry.bytes.data.size(), entry.custom);
  return out;
}

Bytes RawArtifact::entrySection() const {
  Bytes out;
  for (const std::vector<Entry> *entries : {&attrs, &types})
    for (const Entry &entry : *entries)
      out.append(entry.bytes);
  return out;
}

Bytes RawArtifact::stringSection() const {
  Bytes out;
  out.varint(strings.size());
  for (size_t i = strings.size(); i-- > 0;)
    out.varint(strings[i].size() + 1);
  for (const std::string &text : strings)
    out.raw(text).byte(0);
  return out;
}

Bytes RawArtifact::propertySection() const {
  Bytes out;
  out.varint(properties.size());
  for (const Bytes &list : properties)
    out.blob(list.data);
  return out;
}

std::string RawArtifact::encode() const {
  Bytes out = header();
  out.section(1, dialectSection()).section(3, entrySizeSection()).section(2, entrySection());
  out.section(4, ir).section(0, stringSection());
  if (version >= 5)
    out.section(8, propertySection());
  return std::move(out.data);
}

void RawArtifact::setBody(uint64_t values, std::vector<Bytes> ops) {
  Bytes func = RawOp{.name = funcOp,
                     .properties = 0,
                     .regionCount = 1,
                     .isolated = true,
                     .regions = rawRegion(values, {tensor}, std::move(ops))}
                   .encode();
  ir = Bytes().flagged(1, false).append(RawOp{
      .name = moduleOp, .regionCount = 1, .isolated = true, .regions = rawRegion(0, {}, {func})}
                                            .encode());
}

RawArtifact RawArtifact::sample() {
  RawArtifact a;
  a.dialects = {a.string("builtin"), a.string("vhlo"), a.string("sdy")};
  a.name(builtin, "module");
  a.name(vhlo, "func_v1");
  a.name(vhlo, "add_v1");
  a.name(vhlo, "constant_v1");
  a.name(vhlo, "return_v1");

  a.type(vhlo, Bytes().varint(4));
  a.type(vhlo, Bytes().varint(20).signedList({2}).varint(f32));
  a.type(vhlo, Bytes().varint(8).list({tensor}).list({tensor}));
  a.type(vhlo, Bytes().varint(14));

  a.attr(builtin, Bytes().varint(15));
  a.attr(vhlo, Bytes().varint(1).varint(0));
  a.attr(vhlo, Bytes().varint(17).varint(functionType));
  a.attr(vhlo, Bytes().varint(14).varint(a.string("main")));
  a.attr(vhlo, Bytes().varint(14).varint(a.string("")));
  a.attr(vhlo, Bytes().varint(15).varint(tensor).blob("\1\2\3\4\5\6\7\10"));

  a.propertyList({emptyArray, functionTypeAttr, emptyArray, mainName, emptyString});
  a.propertyList({constantValue});
  a.setBody(3, {constant(), add(0, 1), ret(2)});
  return a;
}

} // namespace tilewright::bytecode
