"""The include graph has the edges of docs/architecture.md and no other."""

import include_graph
import pytest
import tree


def test_repository_keeps_the_rules():
    assert include_graph.breaches(tree.ROOT) == []


@pytest.fixture
def sketch(tmp_path):
    """Writes a small tree, {"numerics/Shape.h": "#include …"}, and returns its breaches."""

    def breaches(contents):
        for name, text in contents.items():
            path = tmp_path / "tilewright" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return include_graph.breaches(tmp_path)

    return breaches


def test_allowed_edges_are_allowed(sketch):
    assert sketch({
        "support/Status.h": "#include <string>\n",
        "numerics/Shape.h": '#include "tilewright/support/Status.h"\n',
        "interpret/kernels/Dot.cpp": '#include "tilewright/interpret/Tensor.h"\n',
        "interpret/Tensor.h": '#include "tilewright/numerics/Shape.h"\n',
        "interpret/Evaluator.cpp": '#include "mlir/IR/Value.h"\n#include "tilewright/dialect/stablehlo/Ops.h"\n',
        "transform/fuse/Fuse.cpp": '#include "tilewright/transform/fuse/Fuse.h"\n',
    }) == []  # fmt: skip


@pytest.mark.parametrize("file, include, words", [
    ("support/Log.h", '"tilewright/numerics/Shape.h"', "'support' must not include 'numerics'"),
    ("import/Import.cpp", '"tilewright/transform/fuse/Fuse.h"', "'import' must not include 'transform'"),
    ("transform/fuse/Fuse.cpp", '"tilewright/target/cpu/Cpu.h"', "'transform' must not include 'target'"),
    ("transform/fuse/Fuse.cpp", '"tilewright/transform/tile/Tile.h"', "stage 'fuse' must not include stage 'tile'"),
    ("driver/Compile.cpp", '"tilewright/target/cpu/Chip.h"', "'driver' knows targets only by"),
    ("target/cpu/Chip.cpp", '"tilewright/target/nvptx/Chip.h"', "target 'cpu' must not include target 'nvptx'"),
    ("runtime/Client.cpp", '"tilewright/driver/Compile.h"', "'runtime' must not include 'driver'"),
    ("vgpu/ptx/Parse.cpp", '"tilewright/runtime/Client.h"', "'vgpu' must not include 'runtime'"),
    ("import/bytecode/Reader.cpp", '"tilewright/interpret/Tensor.h"', "'import/bytecode' must not include 'interpret'"),
    ("helpers/Misc.h", '"tilewright/support/Status.h"', "folder 'helpers' is not on the map"),
    ("numerics/Shape.cpp", '"Shape.h"', "by its path from the root"),
])  # fmt: skip
def test_a_bad_edge_is_caught(sketch, file, include, words):
    (breach,) = sketch({file: f"// first\n#include {include}\n"})
    assert breach.startswith(f"tilewright/{file}:2: ")
    assert words in breach


def test_tests_may_include_what_exists_for_them(sketch):
    assert sketch({
        "plan/testing/Plan.h": '#include "tilewright/plan/CommPlan.h"\n',
        "plan/testing/RandomPlan.cpp": '#include "tilewright/plan/testing/Plan.h"\n',
        "plan/VerifyTest.cpp": '#include "tilewright/plan/testing/Plan.h"\n',
        "collective/tcp/testing/TcpKit.cpp": '#include "tilewright/collective/conformance/Kit.h"\n',
    }) == []  # fmt: skip


@pytest.mark.parametrize("header", ["plan/testing/Plan.h", "plan/conformance/Kit.h"])
@pytest.mark.parametrize("file", ["tilewright/plan/Verify.cpp", "tilewright/plan/Verify.h", "tools/tilewright/VerifyComm.cpp"])
def test_production_code_that_includes_test_support_is_caught(sketch, tmp_path, file, header):
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(f'// first\n#include "tilewright/{header}"\n')
    assert sketch({}) == [f"{file}:2: only tests may include tilewright/{header}"]


@pytest.mark.parametrize("file", ["plan/TestPlan.h", "plan/testing/TestPlan.h"])
def test_a_header_named_test_is_caught(sketch, file):
    (breach,) = sketch({file: "#include <string>\n"})
    assert breach.startswith(f"tilewright/{file}: belongs in a folder testing/")


@pytest.mark.parametrize("include", ['"llvm/ADT/SmallVector.h"', "<mlir/IR/Types.h>"])
def test_llvm_in_the_half_without_it_is_caught(sketch, include):
    (breach,) = sketch({"numerics/Shape.h": f"#include {include}\n"})
    assert "half without LLVM" in breach


def test_llvm_through_a_header_is_caught_with_the_way_to_it(sketch):
    (breach,) = sketch({
        "interpret/Limits.h": '#include "llvm/ADT/APInt.h"\n',
        "interpret/kernels/Dot.cpp": '#include "tilewright/interpret/Limits.h"\n',
    })  # fmt: skip
    assert breach.endswith("includes tilewright/interpret/Limits.h -> llvm/ADT/APInt.h")


def test_a_source_of_a_no_llvm_library_is_checked_wherever_it_is(sketch):
    (breach,) = sketch({
        "interpret/CMakeLists.txt": "tilewright_library(TilewrightTensor NO_LLVM HOT SOURCES Tensor.cpp)\n",
        "interpret/Tensor.cpp": '#include "mlir/IR/Types.h"\n',
        "interpret/Evaluator.cpp": '#include "mlir/IR/Types.h"\n',
    })  # fmt: skip
    assert breach.startswith("tilewright/interpret/Tensor.cpp: ")
