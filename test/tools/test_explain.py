"""What the compiler reports on its decisions: remarks on fusion, and which buffers are alive at the peak."""

import os
import pathlib
import re
import subprocess
import xml.etree.ElementTree as xml

import pytest
from conftest import TOOL, tilewright

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "docs/examples"

# The add reads the exponential elementwise, and a transposition reads it in another order.
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


def write(path, text):
    path.write_text(text)
    return path


def chain(length):
    """A chain of products, each kept alive until the sum at the end: many steps and many buffers at the peak."""
    lines = [f"  %p{i} = stablehlo.dot_general %{'x' if i == 0 else f'p{i - 1}'}, %x, contracting_dims = [1] x [0]"
             " : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>" for i in range(length)]  # fmt: skip
    sums = [f"  %s{i} = stablehlo.add %{'p0' if i == 1 else f's{i - 1}'}, %p{i} : tensor<16x16xf32>" for i in range(1, length)]
    body = "\n".join(lines + sums)
    return f"func.func @main(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {{\n{body}\n  return %s{length - 1} : tensor<16x16xf32>\n}}\n"


def test_remarks_name_ops_lines_spaces_and_the_reason(tmp_path):
    program = write(tmp_path / "p.mlir", REFUSED)
    out = tilewright("compile", program, f"--output={tmp_path}/p.twx", "--remarks=fuse")
    assert (
        "missed fuse: stablehlo.negate does not join stablehlo.dot_general\n"
        f"  stablehlo.negate tensor<64x64xf32> over 64x64 at {program}:6:8\n"
        f"  stablehlo.dot_general tensor<64x64xf32> at {program}:5:8\n"
        "  reason: no kernel is generated for the producer\n"
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
        "missed distribute: stablehlo.sort is replicated on each of 4 devices\n"
        f"  at {program}:4:10\n"
        "  reason: its operand is sharded along dimension 0, which it sorts\n"
    )
    assert wanted in tilewright("compile", program, f"--output={tmp_path}/p.twx", "--remarks=distribute")
    # Without flags, the environment variable selects remarks, which go to standard error.
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
    arena, lost = map(int, re.search(r"arena +(\d+) bytes, (\d+) of them lost", out).groups())
    # Three products are alive while the third is computed from the first two, one of them in the memory of the result.
    assert peak == arena == 2 * 128 * 128 * 4 and lost == 0
    assert f"temporaries {arena >> 10} KiB" in report
    assert "step 2 of 4: dot_general" in out
    holders = re.findall(r"^ +(\d+) +50% +(\d) - +(\d)  dot_general at .*m\.mlir:(\d):8$", out, re.MULTILINE)
    assert holders == [("65536", "1", "2", "4"), ("65536", "2", "3", "5")]

    picture = xml.parse(tmp_path / "m.svg").getroot()
    names = {"svg": "http://www.w3.org/2000/svg"}
    rectangles = picture.findall(".//svg:rect[@class='buffer']", names)
    assert len(rectangles) == 2
    assert all("dot_general at" in rectangle.find("svg:title", names).text for rectangle in rectangles)
    words = " ".join(text.text for text in picture.findall(".//svg:text", names))
    assert "peak: 128 KiB" in words and "what is alive at the peak" in words


def test_a_file_that_is_neither_is_refused(tmp_path):
    assert "E0010" in tilewright("explain", "memory", write(tmp_path / "x.mlir", "nothing"), code=3)
    assert "E0005" in tilewright("explain", "E9999", code=2)
    assert "E0005" in tilewright("explain", "memory", "a", "b", code=2)


def test_a_layout_is_shown_element_by_element(tmp_path):
    accumulator = "[2 warp, 2 reg:2, 8 lane:4] [4 lane, 2 reg]"
    picture = tmp_path / "acc.svg"
    out = tilewright("explain", "layout", accumulator, "--tile=30x8", f"--output={picture}")
    rows = [line.split("|")[1].split() for line in out.splitlines() if "|" in line]
    assert len(rows) == 30
    # The first row of lane 4, the second half of the rows, and the second warp.
    assert rows[1][:3] == ["4:0", "4:1", "5:0"]
    assert rows[9][0] == "4:2"
    assert rows[17][:2] == ["w1", "4:0"]
    assert "threads    32 lanes x 2 warps" in out
    assert "vectors    2 elements along dimension 1" in out
    assert "dimension 0 has 32 elements, of which 30 are in the tile" in out
    boxes = [rect for rect in xml.parse(picture).getroot() if rect.tag.endswith("rect")]
    cells, legend = ([box for box in boxes if box.get("class") == kind] for kind in ("cell", "legend"))
    assert len(cells) == 32 * 8 and len(legend) == 32
    fills = [cell.get("fill") for cell in cells]
    # One colour for each lane: row 0 has lanes 0 to 3, two elements each, and the second warp has the same lanes.
    assert fills[:8] == [legend[lane].get("fill") for lane in (0, 0, 1, 1, 2, 2, 3, 3)]
    assert len(set(fills[: 16 * 8])) == 32 and fills[16 * 8] == fills[0] and fills[-1] == "#eeeeee"


def test_a_layout_of_memory_shows_offsets():
    out = tilewright("explain", "layout", "[4 offset:4] [4 offset] xor [offset 2 to offset 0]")
    rows = [line.split("|")[1].split() for line in out.splitlines() if "|" in line]
    assert rows[0] == ["0", "1", "2", "3"] and rows[1] == ["5", "4", "7", "6"]


def test_what_is_no_layout_is_said():
    assert "expects an axis" in tilewright("explain", "layout", "[4 bank]", code=2)
    assert "covers 4 elements of dimension 0, but the tile has 5" in tilewright(
        "explain", "layout", "[4 lane]", "--tile=5", code=2
    )
    assert "--tile expects sizes" in tilewright("explain", "layout", "[4 lane]", "--tile=ax", code=2)


def test_kernels_are_summed_up_first(tmp_path):
    program = write(tmp_path / "m.mlir", REFUSED)
    out = tilewright("explain", "kernels", program, "--target=sm_80")
    assert re.match(r"\d+ kernels? for sm_80, \d+ launch(es)?", out)
    header, *rows = out.split("\n\n")[1].splitlines()
    assert header.split()[:2] == ["kernel", "launches"] and "from" in header
    assert rows and all("m.mlir:" in row for row in rows)
    assert "lane" not in out and "--details" in out
    details = tilewright("explain", "kernels", program, "--target=sm_80", "--details")
    assert details.startswith(out.split("\n--details")[0]) and "lane" in details and "cycles" in details


def test_a_report_is_one_page_without_a_network(tmp_path):
    program = write(tmp_path / "m.mlir", REFUSED)
    out = tilewright("report", program, "--target=sm_80", "--title=two <kernels>")
    assert f"wrote {tmp_path}/m.html (" in out and "two <kernels> for sm_80" in out
    page = (tmp_path / "m.html").read_text()
    for section in ("Kernels", "Fusions", "Memory", "Communication", "The plan", "Compile time"):
        assert page.count(f"<h2>{section}</h2>") == 1
    assert "<title>two &lt;kernels&gt;" in page
    assert "<script" not in page and "src=" not in page and not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
    # The pictures: layouts by lane with a legend, and the plan. The next test checks the memory picture.
    assert 'class="legend"' in page and "colour: lane" in page
    assert page.count('class="step"') == 2
    for picture in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        xml.fromstring(picture)


def test_a_report_of_an_executable_leaves_out_what_it_does_not_keep(tmp_path):
    program = write(tmp_path / "m.mlir", MATMULS)
    tilewright("compile", program, f"--output={tmp_path}/m.twx")
    tilewright("report", tmp_path / "m.twx", f"--output={tmp_path}/r.html")
    page = (tmp_path / "r.html").read_text()
    assert "compiled elsewhere" in page and "does not record them" in page and "what is alive at the peak" in page


def test_a_report_shows_the_proof_of_communication(tmp_path):
    tilewright("report", EXAMPLES / "sums-over-a-mesh.mlir", f"--output={tmp_path}/r.html")
    page = (tmp_path / "r.html").read_text()
    assert "Proven: the collectives cannot deadlock" in page and "all_reduce.0" in page


def test_labels_of_a_picture_do_not_touch(tmp_path):
    """With few steps and with many, numbers below the arena do not overlap, and the peak's label is inside the picture."""
    for name, text in (("few", MATMULS), ("many", chain(40))):
        program = write(tmp_path / f"{name}.mlir", text)
        tilewright("explain", "memory", program, f"--output={tmp_path}/{name}.svg")
        words = [node for node in xml.parse(tmp_path / f"{name}.svg").getroot() if node.tag.endswith("text")]
        boxes = []
        for word in words:
            x, y, size = (float(word.get(key)) for key in ("x", "y", "font-size"))
            wide = 0.55 * size * len(word.text or "")
            x -= {"start": 0, "middle": wide / 2, "end": wide}[word.get("text-anchor")]
            boxes.append((x, y - 0.75 * size, x + wide, y + 0.2 * size, word.text))
        for i, a in enumerate(boxes):
            assert 0 <= a[0] and a[2] <= 1180, a
            for b in boxes[:i]:
                assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1], (a, b)


def test_communication_names_the_fastest_form():
    out = tilewright("explain", "communication", "h100x8")
    rows = out.split("all_gather")[0].splitlines()
    assert "*one-shot" in next(row for row in rows if " 4 KiB" in row)
    assert "*multicast" in next(row for row in rows if " 2 MiB" in row)
    # Between nodes there are no windows.
    assert "one-shot" not in tilewright("explain", "communication", "h100x16")
    assert "E0030" in tilewright("explain", "communication", "nothing", code=2)
