"""What the compiler says about its decisions: remarks on fusion, and who holds the memory."""

import os
import pathlib
import re
import subprocess
import xml.etree.ElementTree as xml

import pytest

TOOL = pathlib.Path(os.environ["TILEWRIGHT_BUILD_DIR"]) / "bin" / "tilewright"

# The exponential is read by the add, element for element, and by a transposition, in another order.
REFUSED = """
func.func @main(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %e = stablehlo.exponential %x : tensor<64x64xf32>
  %a = stablehlo.add %e, %x : tensor<64x64xf32>
  %m = stablehlo.dot_general %a, %x, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %n = stablehlo.negate %m : tensor<64x64xf32>
  return %a, %n : tensor<64x64xf32>, tensor<64x64xf32>
}
"""

MATMULS = """
func.func @main(%x: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %1 = stablehlo.dot_general %0, %x, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %2 = stablehlo.dot_general %1, %0, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %3 = stablehlo.dot_general %2, %x, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  return %3 : tensor<128x128xf32>
}
"""


def tilewright(*arguments, code=0):
    done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def write(path, text):
    path.write_text(text)
    return path


def test_remarks_name_ops_lines_spaces_and_the_reason(tmp_path):
    program = write(tmp_path / "p.mlir", REFUSED)
    out = tilewright("compile", program, f"--output={tmp_path}/p.twx", "--remarks=fuse")
    assert (
        "missed fuse: stablehlo.negate does not join stablehlo.dot_general\n"
        f"  stablehlo.negate tensor<64x64xf32> over 64x64 at {program}:6:8\n"
        f"  stablehlo.dot_general tensor<64x64xf32> at {program}:5:8\n"
        "  reason: it is not an op that a kernel is generated for\n"
    ) in out
    assert (
        "done fuse: stablehlo.add joins stablehlo.exponential\n"
        f"  stablehlo.add tensor<64x64xf32> over 64x64 at {program}:4:8\n"
    ) in out
    assert re.search(r"^\d+ done, \d+ missed$", out, re.MULTILINE)


def test_a_limit_is_named_where_it_stops_a_join(tmp_path):
    program = write(tmp_path / "p.mlir", REFUSED)
    out = tilewright("explain", "fusion", program, "--fuse.max-ops=1")
    assert "stablehlo.add does not join stablehlo.exponential" in out
    assert "reason: the kernel would have more than fuse.max-ops ops" in out


def test_other_stages_and_other_words(tmp_path):
    program = write(tmp_path / "p.mlir", REFUSED)
    assert "fuse:" not in tilewright("compile", program, f"--output={tmp_path}/p.twx", "--remarks=tile")
    assert "E0004" in tilewright("compile", program, "--remarks=fusion", code=2)


SORTED = """module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}]>}) -> tensor<8xf32> {
    %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }) : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
"""


def test_what_every_device_computes_whole_is_said(tmp_path):
    program = write(tmp_path / "p.mlir", SORTED)
    wanted = (
        "missed distribute: stablehlo.sort is computed whole on each of 4 devices\n"
        f"  at {program}:4:10\n"
        "  reason: its operand is divided along dimension 0, which it sorts\n"
    )
    assert wanted in tilewright("compile", program, f"--output={tmp_path}/p.twx", "--remarks=distribute")
    # The option prints where nobody gives flags: to standard error.
    done = subprocess.run(
        [TOOL, "compile", program, f"--output={tmp_path}/p.twx"],
        capture_output=True, text=True, timeout=60, env=os.environ | {"TILEWRIGHT_COMPILE_REMARKS": "distribute"},
    )  # fmt: skip
    assert done.returncode == 0 and done.stderr == wanted, done.stderr


def test_dumps_have_the_remarks_beside_them(tmp_path):
    program = write(tmp_path / "p.mlir", REFUSED)
    for _ in range(2):  # a second compilation begins the file anew
        tilewright("compile", program, f"--output={tmp_path}/p.twx", f"--compile.dump-dir={tmp_path}/dump")
    assert (tmp_path / "dump/remarks.txt").read_text().count("stablehlo.negate does not join") == 1


@pytest.mark.parametrize("source", ["program", "executable"])
def test_memory_shows_who_holds_the_arena(tmp_path, source):
    program = write(tmp_path / "m.mlir", MATMULS)
    report = tilewright("compile", program, f"--output={tmp_path}/m.twx", "--report")
    file = program if source == "program" else tmp_path / "m.twx"
    out = tilewright("explain", "memory", file, f"--output={tmp_path}/m.svg")
    peak = int(re.search(r"temporaries +(\d+) bytes at the peak", out)[1])
    arena, lost = map(int, re.search(r"arena +(\d+) bytes, of which (\d+) are lost", out).groups())
    # Three products are alive while the third is computed from the first two.
    assert peak == arena == 3 * 128 * 128 * 4 and lost == 0
    assert f"temporaries {arena >> 10} KiB" in report
    assert "step 2 of 4: dot_general" in out
    holders = re.findall(r"^ +(\d+) +33% +(\d) - +(\d)  dot_general at .*m\.mlir:(\d):8$", out, re.MULTILINE)
    assert holders == [("65536", "0", "2", "3"), ("65536", "1", "2", "4"), ("65536", "2", "3", "5")]

    picture = xml.parse(tmp_path / "m.svg").getroot()
    names = {"svg": "http://www.w3.org/2000/svg"}
    rectangles = picture.findall(".//svg:rect[@class='buffer']", names)
    assert len(rectangles) == 3
    assert all("dot_general at" in rectangle.find("svg:title", names).text for rectangle in rectangles)
    words = " ".join(text.text for text in picture.findall(".//svg:text", names))
    assert "peak: 192 KiB" in words and "who holds it at the peak" in words


def test_a_file_that_is_neither_is_refused(tmp_path):
    assert "E0010" in tilewright("explain", "memory", write(tmp_path / "x.mlir", "nothing"), code=2)
    assert "E0005" in tilewright("explain", "E9999", code=2)
    assert "E0005" in tilewright("explain", "memory", "a", "b", code=2)


def test_a_layout_is_shown_element_by_element(tmp_path):
    accumulator = "[2 warp, 2 reg:2, 8 lane:4] [4 lane, 2 reg]"
    picture = tmp_path / "acc.svg"
    out = tilewright("explain", "layout", accumulator, "--tile=30x8", f"--output={picture}")
    rows = [line.split("|")[1].split() for line in out.splitlines() if "|" in line]
    assert len(rows) == 30
    # The row of lane 4, its second half of rows, and the second warp.
    assert rows[1][:3] == ["4:0", "4:1", "5:0"]
    assert rows[9][0] == "4:2"
    assert rows[17][:2] == ["w1", "4:0"]
    assert "threads    32 lanes x 2 warps" in out
    assert "vectors    2 elements along dimension 1" in out
    assert "dimension 0 is held as 32, of which 30 count" in out
    cells = [rect for rect in xml.parse(picture).getroot() if rect.tag.endswith("rect")][1:]
    assert len(cells) == 32 * 8
    fills = [cell.get("fill") for cell in cells]
    assert len(set(fills[: 16 * 8])) == 1 and fills[0] != fills[16 * 8] and fills[-1] == "#eeeeee"


def test_a_layout_of_memory_shows_offsets():
    out = tilewright("explain", "layout", "[4 offset:4] [4 offset] xor [offset 2 to offset 0]")
    rows = [line.split("|")[1].split() for line in out.splitlines() if "|" in line]
    assert rows[0] == ["0", "1", "2", "3"] and rows[1] == ["5", "4", "7", "6"]


def test_what_is_no_layout_is_said():
    assert "needs an axis" in tilewright("explain", "layout", "[4 bank]", code=2)
    assert "covers 4 elements of dimension 0, and the tile has 5" in tilewright(
        "explain", "layout", "[4 lane]", "--tile=5", code=2
    )
    assert "--tile takes sizes" in tilewright("explain", "layout", "[4 lane]", "--tile=ax", code=2)
