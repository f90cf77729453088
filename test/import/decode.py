"""A second decoder of portable artifacts, written from the format's description
and sharing nothing with tilewright/import/bytecode. It trusts its input; its
only job is to disagree when one of the two has a table wrong.

    decode.py FILE      prints the tables as ArtifactTables prints them
"""

import sys
import zlib

ABSENT = "-"


class Bytes:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        first = self.byte()
        if first == 0:
            value = int.from_bytes(self.data[self.at : self.at + 8], "little")
            self.at += 8
            return value
        extra = (first & -first).bit_length() - 1
        value = int.from_bytes(self.data[self.at - 1 : self.at + extra], "little")
        self.at += extra
        return value >> (extra + 1)

    def signed(self):
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def flagged(self):
        value = self.varint()
        return value >> 1, bool(value & 1)

    def take(self, count):
        self.at += count
        assert self.at <= len(self.data), "truncated"
        return self.data[self.at - count : self.at]

    def rest(self):
        return self.at < len(self.data)

    def section(self):
        tag, length = self.byte(), self.varint()
        if tag & 0x80:
            alignment = self.varint()
            while self.at % alignment:
                assert self.byte() == 0xCB
        return tag & 0x7F, self.take(length)


# The layout of an entry, by dialect and code: a name, then one letter for each field. t type, a attribute, s string, u
# varint, i signed varint, b byte, d f64, o optional attribute, v optional varint, B blob, w integer of the preceding
# type, T A I list of types, attributes, signed varints, U list of varints.
TYPES = {
    ("vhlo", 0): ("integer signless 1", ""), ("vhlo", 1): ("complex", "t"), ("vhlo", 2): ("real bf16", ""),
    ("vhlo", 3): ("real f16", ""), ("vhlo", 4): ("real f32", ""), ("vhlo", 5): ("real f64", ""),
    ("vhlo", 6): ("real f8E4M3FN", ""), ("vhlo", 7): ("real f8E5M2", ""), ("vhlo", 8): ("function", "TT"),
    ("vhlo", 9): ("index", ""), ("vhlo", 20): ("tensor", "It"), ("vhlo", 21): ("tensor", "aIt"),
    ("vhlo", 22): ("token", ""), ("vhlo", 23): ("tuple", "T"), ("vhlo", 24): ("quantized", "uttdiii"),
    ("vhlo", 25): ("unrankedTensor", "t"), ("vhlo", 26): ("witness", ""), ("vhlo", 27): ("real f8E4M3FNUZ", ""),
    ("vhlo", 28): ("real f8E5M2FNUZ", ""), ("vhlo", 29): ("real f8E4M3B11FNUZ", ""),
    ("vhlo", 30): ("quantizedPerAxis", "uttuiiDI"), ("vhlo", 31): ("integer signless 2", ""),
    ("vhlo", 32): ("integer unsigned 2", ""), ("vhlo", 33): ("none", ""), ("vhlo", 34): ("real tf32", ""),
    ("vhlo", 35): ("real f8E4M3", ""), ("vhlo", 36): ("real f8E3M4", ""), ("vhlo", 37): ("real f4E2M1FN", ""),
    ("vhlo", 38): ("real f6E2M3FN", ""), ("vhlo", 39): ("real f6E3M2FN", ""), ("vhlo", 40): ("real f8E8M0FNU", ""),
    ("vhlo", 41): ("buffer", "It"), ("vhlo", 42): ("future", "T"),
    ("builtin", 0): ("integer", "u"), ("builtin", 1): ("index", ""), ("builtin", 2): ("function", "TT"),
    ("builtin", 3): ("real bf16", ""), ("builtin", 4): ("real f16", ""), ("builtin", 5): ("real f32", ""),
    ("builtin", 6): ("real f64", ""), ("builtin", 9): ("complex", "t"), ("builtin", 12): ("none", ""),
    ("builtin", 13): ("tensor", "It"), ("builtin", 14): ("tensor", "aIt"), ("builtin", 15): ("tuple", "T"),
    ("builtin", 18): ("unrankedTensor", "t"),
}
NEW_FLOATS = "tf32 f8E5M2 f8E4M3 f8E4M3FN f8E5M2FNUZ f8E4M3FNUZ f8E4M3B11FNUZ f8E3M4 f4E2M1FN f6E2M3FN f6E3M2FN f8E8M0FNU"
for place, name in enumerate(NEW_FLOATS.split()):
    TYPES["builtin", 21 + place] = (f"real {name}", "")
for place, width in enumerate((4, 8, 16, 32, 64)):
    TYPES["vhlo", 10 + place] = (f"integer signless {width}", "")
    TYPES["vhlo", 15 + place] = (f"integer unsigned {width}", "")

ATTRIBUTES = {
    ("builtin", 0): ("array", "A"), ("builtin", 1): ("dictionary", "P"), ("builtin", 2): ("string", "s"),
    ("builtin", 3): ("string", "st"), ("builtin", 4): ("symbolRef", "a"), ("builtin", 5): ("symbolRef", "aA"),
    ("builtin", 6): ("type", "t"), ("builtin", 7): ("unit", ""), ("builtin", 8): ("integer", "tw"),
    ("builtin", 9): ("real", "tw"), ("builtin", 10): ("callSiteLocation", "aa"),
    ("builtin", 11): ("fileLocation", "auu"), ("builtin", 12): ("fusedLocation", "A"),
    ("builtin", 13): ("fusedLocation", "Aa"), ("builtin", 14): ("nameLocation", "aa"),
    ("builtin", 15): ("unknownLocation", ""), ("builtin", 17): ("denseArray", "tuB"),
    ("builtin", 18): ("denseElements", "tB"), ("builtin", 22): ("fileLocation", "aU"),
    ("vhlo", 1): ("vhloArray", "A"), ("vhlo", 2): ("vhloBoolean", "u"), ("vhlo", 3): ("vhloComparisonDirection", "u"),
    ("vhlo", 4): ("vhloComparisonType", "u"), ("vhlo", 5): ("vhloApiVersion", "u"), ("vhlo", 6): ("vhloDictionary", "P"),
    ("vhlo", 7): ("vhloFftType", "u"), ("vhlo", 8): ("vhloReal", "tw"), ("vhlo", 9): ("vhloInteger", "tw"),
    ("vhlo", 10): ("vhloOutputOperandAlias", "IiI"), ("vhlo", 11): ("vhloPrecision", "u"),
    ("vhlo", 12): ("vhloRngAlgorithm", "u"), ("vhlo", 13): ("vhloRngDistribution", "u"), ("vhlo", 14): ("vhloString", "s"),
    ("vhlo", 15): ("vhloTensor", "tB"), ("vhlo", 16): ("vhloTranspose", "u"), ("vhlo", 17): ("vhloType", "t"),
    ("vhlo", 18): ("vhloTypeExtensions", "I"), ("vhlo", 19): ("vhloAccuracyMode", "u"),
    ("vhlo", 20): ("vhloResultAccuracy", "ddia"), ("vhlo", 21): ("vhloSubAxisInfo", "ii"),
    ("vhlo", 22): ("vhloAxisRef", "aO"), ("vhlo", 23): ("vhloReplicaGroupMesh", "aa"), ("vhlo", 24): ("vhloMeshAxis", "ai"),
    ("vhlo", 25): ("vhloMesh", "ao"),
    ("sdy", 0): ("sdyManualAxes", "A"), ("sdy", 1): ("sdyMeshAxis", "si"), ("sdy", 2): ("sdyMesh", "AI"),
    ("sdy", 3): ("sdySubAxisInfo", "ii"), ("sdy", 4): ("sdyAxisRef", "so"), ("sdy", 5): ("sdyDimensionSharding", "Abv"),
    ("sdy", 6): ("sdyTensorSharding", "aAA"), ("sdy", 7): ("sdyPerValueSharding", "A"), ("sdy", 8): ("sdyDimMapping", "I"),
    ("sdy", 9): ("sdyTensorMapping", "A"), ("sdy", 10): ("sdyShardingRule", "IAAIIIIb"), ("sdy", 11): ("sdyAxisRefList", "A"),
    ("sdy", 12): ("sdyListOfAxisRefLists", "A"), ("sdy", 13): ("sdyAllToAllParam", "Aii"),
    ("sdy", 14): ("sdyAllToAllParamList", "A"), ("sdy", 15): ("sdyTensorSharding", "aAAA"),
    ("sdy", 16): ("sdyPerValueSharding", "A"), ("sdy", 17): ("sdyTensorSharding", "aAAAi"),
}
WIDTHS = {"bf16": 16, "f16": 16, "f32": 32, "f64": 64, "tf32": 19, "f4E2M1FN": 4, "f6E2M3FN": 6, "f6E3M2FN": 6}


def listed(items):
    return "[" + ",".join(str(item) for item in items) + "]"


def f64bits(reader):
    return reader.signed()  # an f64 is written as an APFloat: its bits as a signed varint


class Artifact:
    def __init__(self, data):
        reader = Bytes(data)
        assert reader.take(4) == b"ML\xefR", "magic"
        self.version = reader.varint()
        end = data.index(0, reader.at)
        self.producer = data[reader.at : end].decode()
        reader.at = end + 1
        self.sections = {}
        self.order = []
        while reader.rest():
            kind, content = reader.section()
            assert kind not in self.sections
            self.sections[kind] = content
            self.order.append(kind)
        self.read_strings(Bytes(self.sections[0]))
        self.read_dialects(Bytes(self.sections[1]))
        self.read_entries(Bytes(self.sections[3]), Bytes(self.sections[2]))
        self.read_properties()
        self.lines = []
        self.ops, self.next_value, self.operands_seen, self.properties_seen = 0, 0, 0, 0

    def read_strings(self, reader):
        sizes = [reader.varint() for _ in range(reader.varint())]
        at = len(reader.data)
        self.strings = []
        for size in sizes:  # the last string comes first
            at -= size
            self.strings.append(reader.data[at : at + size - 1])
        assert at == reader.at
        self.strings.reverse()

    def groups(self, reader, one, count=None):
        result = []
        while reader.rest() if count is None else len(result) < count:
            dialect = self.dialects[reader.varint()]
            for _ in range(reader.varint()):
                result.append(one(dialect))
        return result

    def read_dialects(self, reader):
        self.dialects = []
        for _ in range(reader.varint()):
            if self.version < 1:
                name, versioned = reader.varint(), False
            else:
                name, versioned = reader.flagged()
            if versioned:
                reader.section()
            self.dialects.append(self.strings[name].decode())
        if self.version >= 4:
            reader.varint()

        def op_name(dialect):
            name = reader.varint() if self.version < 5 else reader.flagged()[0]
            return dialect, self.strings[name].decode()

        self.op_names = self.groups(reader, op_name)

    def read_entries(self, offsets, data):
        counts = offsets.varint(), offsets.varint()

        def entry(dialect):
            size, custom = offsets.flagged()
            return dialect, custom, data.take(size)

        self.attrs = self.groups(offsets, entry, counts[0])
        self.types = self.groups(offsets, entry, counts[1])
        assert not offsets.rest() and not data.rest()

    def read_properties(self):
        self.properties = []
        if 8 in self.sections:
            reader = Bytes(self.sections[8])
            for _ in range(reader.varint()):
                self.properties.append(reader.take(reader.varint()))
            assert not reader.rest()

    # Types and attributes.

    def type_name(self, index):
        dialect, custom, data = self.types[index]
        if not custom:
            return "real " + data[:-1].decode()
        reader = Bytes(data)
        name, _ = TYPES[dialect, reader.varint()]
        if name == "integer":
            code = reader.varint()
            return f"integer {('signless', 'signed', 'unsigned')[code & 3]} {code >> 2}"
        return name

    def width(self, index):
        name = self.type_name(index).split()
        if name[0] == "integer":
            return int(name[2])
        if name[0] == "index":
            return 64
        return WIDTHS.get(name[1], 8)

    def number(self, reader, width):
        if width <= 8:
            return [reader.byte()]
        if width <= 64:
            return [reader.signed()]
        return [reader.signed() for _ in range(reader.varint())]

    def fields(self, reader, letters):
        result = []
        for letter in letters:
            if letter in "tasu":
                result.append(reader.varint())
            elif letter == "i":
                result.append(reader.signed())
            elif letter == "b":
                result.append(reader.byte())
            elif letter == "d":
                result.append(f64bits(reader))
            elif letter in "ov":
                value, present = reader.flagged()
                result.append(value if present else ABSENT)
            elif letter == "O":
                result.append(reader.varint() if reader.varint() else ABSENT)
            elif letter in "TAU":
                result.append([reader.varint() for _ in range(reader.varint())])
            elif letter == "P":
                result.append([reader.varint() for _ in range(2 * reader.varint())])
            elif letter == "I":
                result.append([reader.signed() for _ in range(reader.varint())])
            elif letter == "D":
                result.append([f64bits(reader) for _ in range(reader.varint())])
            elif letter == "B":
                data = reader.take(reader.varint())
                result.append(f"{len(data)}:{zlib.crc32(data):08x}")
            elif letter == "w":
                result.append(self.number(reader, self.width(result[0])))
        assert not reader.rest(), "trailing bytes"
        return result

    def show_type(self, index):
        dialect, custom, data = self.types[index]
        name = self.type_name(index)
        if not custom:
            return f"{dialect} {name}"
        reader = Bytes(data)
        _, letters = TYPES[dialect, reader.varint()]
        f = self.fields(reader, letters)
        if name == "tensor":
            encoding = f.pop(0) if letters == "aIt" else ABSENT
            f = [listed(f[0]), f[1], encoding]
        elif name == "buffer":
            f = [listed(f[0]), f[1]]
        elif name in ("tuple", "future"):
            f = [listed(f[0])]
        elif name == "function":
            f = [listed(f[0]), listed(f[1])]
        elif name == "quantized":
            flags, storage, expressed, scale, zero, low, high = f
            f = [flags, storage, expressed, low, high, 0, listed([scale]), listed([zero])]
        elif name == "quantizedPerAxis":
            flags, storage, expressed, axis, low, high, scales, zeros = f
            f = [flags, storage, expressed, low, high, axis, listed(scales), listed(zeros)]
        elif name.startswith("integer"):
            f = []
        return " ".join([dialect, name] + [str(x) for x in f])

    def show_attr(self, index):
        dialect, custom, data = self.attrs[index]
        assert custom, data
        reader = Bytes(data)
        name, letters = ATTRIBUTES[dialect, reader.varint()]
        f = self.fields(reader, letters)
        if name == "fileLocation":
            n = f[1] if letters == "aU" else [f[1], f[2]]
            n = {0: [0, 0, 0, 0], 1: n * 1 + [0] + n + [0], 2: n + n, 3: n[:2] + n[:1] + n[2:], 4: n}[len(n)]
            f = [f[0], n]
        elif name == "string" and letters == "s":
            f.append(ABSENT)
        elif name == "symbolRef" and letters == "a":
            f.append([])
        elif name == "fusedLocation":
            f = [f[1] if len(f) > 1 else ABSENT, f[0]]
        elif name == "denseArray":
            f = [f[0], f[2]]
        elif name == "vhloOutputOperandAlias":
            f = [f[0], [f[1]], f[2]]
        elif name == "vhloResultAccuracy":
            f = [f[3], f[:3]]
        elif name in ("vhloSubAxisInfo", "sdySubAxisInfo"):
            f = [f]
        elif name in ("vhloMeshAxis", "sdyMeshAxis"):
            f = [f[0], [f[1]]]
        elif name == "sdyDimensionSharding":
            f = [f[1], f[2], f[0]]
        elif name == "sdyTensorSharding":
            axes = f[1:4] if len(f) >= 4 else f[1:3] + [[]]
            f = [f[0], f[4] if len(f) > 4 else 0] + axes
        elif name == "sdyShardingRule":
            f = [f[7]] + f[:7]
        elif name == "sdyAllToAllParam":
            f = [f[0], [f[1], f[2]]]
        return " ".join([name] + [listed(x) if isinstance(x, list) else str(x) for x in f])

    # Operations.

    def print_tables(self):
        out = self.lines.append
        major, minor = self.producer.removeprefix("StableHLO_v").split(".")[:2]
        out(f"producer {major}.{minor} bytecode {self.version}")
        for index, text in enumerate(self.strings):
            out(f"string {index} {len(text)}:{zlib.crc32(text):08x}")
        for index in range(len(self.types)):
            out(f"type {index} {self.show_type(index)}")
        for index in range(len(self.attrs)):
            out(f"attr {index} {self.show_attr(index)}")
        reader = Bytes(self.sections[4])
        operations, has_arguments = reader.flagged()
        assert not has_arguments
        self.read_ops(reader, operations, [], 0)
        assert not reader.rest()
        return self.lines

    def read_ops(self, reader, count, scope, depth):
        """`scope` has for each enclosing region [first number in scope, first number in file, next number, size]."""
        for _ in range(count):
            self.read_op(reader, scope, depth)

    def use_list_orders(self, reader, values):
        for _ in range(reader.varint() if values > 1 else 1):
            if values > 1:
                reader.varint()
            length, _ = reader.flagged()
            for _ in range(length):
                reader.varint()

    def read_op(self, reader, scope, depth):
        dialect, name = self.op_names[reader.varint()]
        mask = reader.byte()
        location = reader.varint()
        attributes = reader.varint() if mask & 1 else ABSENT
        properties = []
        if mask & 0x40:
            content = Bytes(self.properties[reader.varint()])
            while content.rest():
                if (dialect, name) == ("builtin", "module"):
                    index, present = content.flagged()
                    properties.append(index if present else ABSENT)
                else:
                    properties.append(content.varint())
        types = [reader.varint() for _ in range(reader.varint())] if mask & 2 else []
        operands = [reader.varint() for _ in range(reader.varint())] if mask & 4 else []
        assert not mask & 8, "successors"
        if mask & 0x20:
            self.use_list_orders(reader, len(types))
        regions, isolated = reader.flagged() if mask & 0x10 else (0, False)

        def number(operand):
            for first, base, _, _ in reversed(scope):
                if operand >= first:
                    return base + operand - first
            raise AssertionError("operand outside its scope")

        results = []
        for _ in types:
            results.append(scope[-1][2])
            scope[-1][2] += 1
        self.ops += 1
        self.operands_seen += len(operands)
        self.properties_seen += len(properties)
        self.lines.append(
            f"{'  ' * depth}{dialect}.{name} loc {location} attributes {attributes} properties {listed(properties)} operands "
            f"{listed(map(number, operands))} results {listed(f'{value}:{kind}' for value, kind in zip(results, types))}"
        )
        if not regions:
            return
        inner = reader
        if isolated:
            scope = []
            if self.version >= 2:
                kind, content = reader.section()
                assert kind == 4
                inner = Bytes(content)
        for _ in range(regions):
            self.read_region(inner, scope, depth + 1)
        if inner is not reader:
            assert not inner.rest()

    def read_region(self, reader, scope, depth):
        blocks = reader.varint()
        if blocks == 0:
            self.lines.append("  " * depth + "region without block")
            return
        assert blocks == 1, "several blocks"
        values = reader.varint()
        first = scope[-1][0] + scope[-1][3] if scope else 0
        frame = [first, self.next_value, self.next_value, values]
        self.next_value += values
        scope = scope + [frame]
        operations, has_arguments = reader.flagged()
        arguments = []
        if has_arguments:
            for _ in range(reader.varint()):
                if self.version >= 4:
                    kind, located = reader.flagged()
                    location = reader.varint() if located else ABSENT
                else:
                    kind, location = reader.varint(), reader.varint()
                arguments.append(f"{frame[2]}:{kind}@{location}")
                frame[2] += 1
            if self.version >= 3 and reader.byte():
                self.use_list_orders(reader, len(arguments))
        self.lines.append("  " * depth + f"region {listed(arguments)}")
        self.read_ops(reader, operations, scope, depth)
        assert frame[2] == frame[1] + values, "a region announces another number of values than it defines"




def tables(data):
    return Artifact(data).print_tables()


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        print("\n".join(tables(file.read())))
