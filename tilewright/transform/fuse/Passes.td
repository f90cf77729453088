#ifndef TILEWRIGHT_TRANSFORM_FUSE_PASSES_TD
#define TILEWRIGHT_TRANSFORM_FUSE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ScaledProductsPass : Pass<"fuse-scaled-products", "::mlir::func::FuncOp"> {
  let summary = "Replaces a product of dequantised operands by one scaled product";
  let description = [{
    An operand is dequantised if it is convert(elements) * repeated(convert(scales)), with elements and scales of at most
    8 bits and a scale for each block along the contracted dimension, and if only the product reads it. One of the
    operands may be elements without scales, or a bf16.

    Before:
      %a = multiply(convert(%x), reshape(broadcast_in_dim(convert(%sx)))) : tensor<MxKxf32>
      %b = multiply(convert(%y), reshape(broadcast_in_dim(convert(%sy)))) : tensor<NxKxf32>
      %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : … -> tensor<MxNxf32>
    After:
      %d = exec.scaled_dot %x, %y scaled(%sx) scaled_rhs(%sy) block 16 as bf16 … : … -> tensor<MxNxf32>

    Factors of f32 become bf16, for which targets have matrix instructions, if that is exact: the mantissas of element
    and scale have at most 8 bits together, and scales are not f8E8M0FNU, whose least products are not normal numbers of
    bf16. Without `all`, only these products are replaced, those that the target multiplies with their scales
    (`fuse-order-scales`), and those whose factors of bf16 the library of a CPU decodes.

    Input: simplified StableHLO. Output: the same, with exec.scaled_dot.
    Numerics: a product of f32 was computed at the precision that it asks for, and is now exact before its sum.
  }];
  let options = [Option<"all", "all", "bool", "false", "Also replace products whose factors stay as they are">];
  let dependentDialects = ["::tilewright::exec::ExecDialect", "::tilewright::stablehlo::StablehloDialect"];
}

def OrderScalesPass : Pass<"fuse-order-scales", "::mlir::func::FuncOp"> {
  let summary = "Prepares scaled products for a matrix unit that reads scales";
  let description = [{
    On Blackwell, `tcgen05.mma` and `mma.sync` multiply elements of 8 and 4 bits with their scales; on gfx950 MFMA does so with e8m0 scales. They read operands
    along K, and scales in the order of `exec.scaled_matmul`. This pass brings both into that order with StableHLO ops, which become kernels,
    or parts of the kernels that quantise.

    Before:
      %d = exec.scaled_dot %x, %y scaled(%sx) scaled_rhs(%sy) block 32 as bf16 … : tensor<64x256xf8E4M3FN>, … -> tensor<64x48xf32>
    After:
      %a = reshape(transpose(reshape(pad(bitcast_convert(%sx))))) : tensor<1x1x8x128xui8>
      %b = …
      %d = exec.scaled_matmul %x, %y scales %a, %b as f8E4M3FN, f8E4M3FN by f8E8M0FNU block 32 : … -> tensor<1x64x48xf32>

    Elements of 4 bits stay as they are with others of 4 bits, and become e4m3 beside those of 8 bits. The unit reads scales of
    e4m3 without their sign: a negative scale becomes NaN.

    Input: simplified StableHLO and exec.scaled_dot. Output: no exec.scaled_dot with two scales of types that the target
    multiplies; on other targets nothing changes.
    Numerics: products are exact, and sums are f32; the factors are not rounded to `factor_type`.
  }];
  let dependentDialects = ["::tilewright::exec::ExecDialect", "::tilewright::stablehlo::StablehloDialect"];
}

def ExpandScaledProductsPass : Pass<"fuse-expand-scaled-products", "::mlir::func::FuncOp"> {
  let summary = "Replaces each scaled product by a product of dequantised operands";
  let description = [{
    The inverse of `fuse-scaled-products`, with factors of the op's `factor_type`. A product remains if the target is a CPU
    and its library decodes both operands: both have scales, for each row, and rows along the contracted dimension.

    Input: simplified StableHLO and exec.scaled_dot. Output: no exec.scaled_dot, except for a CPU's library.
  }];
  let dependentDialects = ["::tilewright::stablehlo::StablehloDialect"];
}

def SplitProductsPass : Pass<"fuse-split-products", "::mlir::func::FuncOp"> {
  let summary = "Replaces a product of f32 of high precision by one product of the operands' parts";
  let description = [{
    A number x is the sum of parts of a narrow type, for example of three bf16: high = bf16(x), middle = bf16(x - high),
    low = bf16(x - high - middle). A product of f32 is then a sum of products of parts, for which the target has matrix
    instructions. The parts become as many copies of the contracted dimension as the sum has products, so that one product
    of the ordinary kind computes all of them.

    Before:
      %d = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST]
           : (tensor<MxKxf32>, tensor<KxNxf32>) -> tensor<MxNxf32>
    After:
      %a = low, middle, high, middle, high, high of %x   : tensor<Mx6xKxbf16>, reshaped to tensor<M x 6K x bf16>
      %b = high, middle, low, high, middle, high of %y   : tensor<6xKxNxbf16>, reshaped to tensor<6K x N x bf16>
      %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : … -> tensor<MxNxf32>

    HIGH and the algorithm bf16_bf16_f32_X3 have 3 products, HIGHEST and X6 have 6, X9 has 9; the parts of
    tf32_tf32_f32_X3 are of tf32. The product keeps its operands, and computes with f32, if the target has no matrix
    instructions for the parts, or if the product has fewer than 16 rows, columns or terms.

    Input: simplified StableHLO. Output: no dot_general has an algorithm, except those that nothing here computes.
    Numerics: 3 products omit up to 3 * 2^-16 of each term of the sum, 6 products 2^-23, 9 products nothing, in addition
    to the rounding of the sum; docs/design/split-products.md explains the bounds.
  }];
  let dependentDialects = ["::tilewright::stablehlo::StablehloDialect"];
}

def SplitReducePass : Pass<"fuse-split-reduce", "::mlir::func::FuncOp"> {
  let summary = "Splits a large reduction to few elements into two levels, so that threads can share it";
  let description = [{
    Before:
      %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0]
           : (tensor<1048576xf32>, tensor<f32>) -> tensor<f32>
    After:
      %r = stablehlo.reshape %x : (tensor<1048576xf32>) -> tensor<256x4096xf32>
      %p = stablehlo.reduce(%r init: %z) … across dimensions = [1]      (256 rows, independent)
      %s = stablehlo.reduce(%p init: %z) … across dimensions = [0]

    An initial value that changes itself, such as 1 in a sum, is combined by the last reduction only;
    the first one starts from a neutral value.

    On a GPU, results of adjacent columns share a point of the grid, so a reduction of columns is split
    up to 2,048 results if each point would load more than takes as long as two launches.

    Input: simplified StableHLO. Output: no reduction of `min-elements` or more elements has fewer
    than 64 points, unless its size has no suitable divisor or no neutral value is known for its
    body, which is reported as a missed remark. Numerics: the order of the sum changes; the
    specification of `reduce` allows that.
  }];
  let options = [Option<"minElements", "min-elements", "int64_t", "FuseOptions().splitReduceElements",
                        "Minimum number of elements of a reduction that is split; 0 splits none">];
  let dependentDialects = ["::tilewright::stablehlo::StablehloDialect"];
}

def SplitConcatenatePass : Pass<"fuse-split-concatenate", "::mlir::func::FuncOp"> {
  let summary = "On a GPU, builds a concatenation of more than 16 tensors from concatenations of at most 16";
  let description = [{
    A kernel that concatenates tests all its operands for every element. Up to 16 operands this
    takes less time than the memory accesses; beyond, a second kernel is cheaper. Runs of the
    smallest operands are concatenated first, so that large operands are moved once.

    Before:
      %r = stablehlo.concatenate %0, …, %19, dim = 0                    (20 operands)
    After:
      %a = stablehlo.concatenate %3, %4, %5, %6, %7, dim = 0            (the five smallest in a row)
      %r = stablehlo.concatenate %0, %1, %2, %a, %8, …, %19, dim = 0

    Input: simplified StableHLO. Output: the same; unchanged unless `exec.target` is a GPU.
    Numerics: unchanged.
  }];
  let dependentDialects = ["::tilewright::stablehlo::StablehloDialect", "::tilewright::exec::ExecDialect"];
}

def SplitKPass : Pass<"fuse-split-k", "::mlir::func::FuncOp"> {
  let summary = "On a GPU, splits a matmul with few tiles and a long contraction along K";
  let description = [{
    Before:
      %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1]
           : (tensor<128x16384xbf16>, tensor<128x16384xbf16>) -> tensor<128x128xbf16>
    After:
      %x = stablehlo.reshape %a : (tensor<128x16384xbf16>) -> tensor<128x32x512xbf16>
      %y = stablehlo.reshape %b : (tensor<128x16384xbf16>) -> tensor<128x32x512xbf16>
      %p = stablehlo.dot_general %x, %y, batching_dims = [1] x [1], contracting_dims = [2] x [2]
           : (…) -> tensor<32x128x128xf32>
      %s = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0]
      %d = stablehlo.convert %s : (tensor<128x128xf32>) -> tensor<128x128xbf16>

    The pieces are a batch, so they are more points of one kernel's grid. The sum is a kernel of its
    own and takes the ops that read the product. The split pays if the cost model (ProductCost.h) says
    that it takes at most 80 % of the cycles; README.md has the rule. A matmul that would gain but whose K
    has no suitable divisor, or whose operands are computed in its kernel in a way that a split
    would spoil, is reported as a missed remark.

    Input: simplified StableHLO. Output: the same; unchanged unless `exec.target` is a GPU with `rates`.
    Numerics: the order of the sum changes. Partial sums are f32 (or i32, exact), and are added in a
    fixed order: two runs give the same bits.
  }];
  let dependentDialects = ["::tilewright::stablehlo::StablehloDialect"];
}

def SplitKeysPass : Pass<"fuse-split-keys", "::mlir::func::FuncOp"> {
  let summary = "On a GPU, divides attention with few queries and many keys along the keys";
  let description = [{
    Before:
      %r = exec.softmax_dot(%q, %k, %v) sizes [8, 1, 4096, 64, 64] … -> tensor<8x1x64xf32>
    After:
      %x = stablehlo.reshape %k : (tensor<8x4096x64xf32>) -> tensor<8x8x512x64xf32>
      %y = stablehlo.reshape %v : (tensor<8x4096x64xf32>) -> tensor<8x8x512x64xf32>
      %p:3 = exec.softmax_dot(%q, %x, %y) sizes [8, 8, 1, 512, 64, 64] … -> (tensor<8x8x1x64xf32>, tensor<8x8x1xf32>, tensor<8x8x1xf32>)
      the weight of a part is its sum, times the exponential of its maximum less the greatest maximum;
      %r is the mean of the parts' results

    Decoding has one query for each head, so whole heads would leave most multiprocessors idle. The parts are heads of one kernel; elementwise
    ops and sums combine them. A part has a multiple of 64 keys. The division pays if the longest part, plus 512 keys for the second kernel,
    is at most three quarters of all keys. Masks see the same numbers of keys as before.

    Input: simplified StableHLO with `exec.softmax_dot`. Output: the same; unchanged unless `exec.target` is a GPU.
    Numerics: sums have another order, which is fixed: two runs give the same bits. Parts are f32, so a result of bf16 is rounded once.
  }];
  let dependentDialects = ["::tilewright::stablehlo::StablehloDialect", "::tilewright::exec::ExecDialect",
                           "::mlir::arith::ArithDialect"];
}

def CascadesPass : Pass<"fuse-cascades", "::mlir::func::FuncOp"> {
  let summary = "Joins attention into one op, and explains which reductions can share a pass over their rows";
  let description = [{
    Emits a remark of category "fuse" for each reduction, or product along the reduced dimension, that reads results of reductions of
    the same rows: an analysis remark if one pass can compute both, with the way in which partial results follow
    a change of the earlier result; otherwise a missed remark with the condition that fails. `cascade/README.md` has the rule.

    With `attention`, and unless the target is a GPU without matrix instructions, a maximum, a sum and a product that are the softmax of another product's results times values
    become `exec.softmax_dot`, if nothing else reads the scores; a remark "attention" says so, or why not. Products of its gradients may read them: they
    become `exec.softmax_dot_backward`, one op on CPUs, and on GPUs one op that sums over keys and one that sums over queries.

    With `block-size`, the reductions of the function's largest cascade are computed in blocks of elements, in sequence: this shows
    what a kernel would compute, and the evaluator judges it.

    Input: simplified StableHLO. Output: the same, with `exec.softmax_dot` and `exec.softmax_dot_backward`. Explains only if remarks are wanted (`tilewright explain fusion`).
    Numerics: as README.md of `cascade/` states; docs/design/cascades.md has those of `exec.softmax_dot`.
  }];
  let dependentDialects = ["::tilewright::exec::ExecDialect", "::tilewright::stablehlo::StablehloDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let options = [Option<"blockSize", "block-size", "int64_t", "0", "Elements of a block; 0 changes nothing">,
                 Option<"attention", "attention", "bool", "FuseOptions().attention", "Join softmax and its products into exec.softmax_dot">];
}

def FusePass : Pass<"fuse-group", "::mlir::func::FuncOp"> {
  let summary = "Groups ops into `exec.fusion`, each of which becomes one kernel";
  let description = [{
    Before:
      %0 = stablehlo.exponential %x
      %1 = stablehlo.broadcast_in_dim %s, dims = []
      %2 = stablehlo.multiply %0, %1
    After:
      %2 = exec.fusion "exponential_multiply"(%x, %s) {
      ^bb0(%a, %b):  the three ops  }

    Ops are fused if they compute the same elements, or the same rows around a reduction. Ops that
    are free to recompute (broadcast, iota, reshape, slice, convert) are cloned into each fusion that
    reads them. Elementwise values that other fusions read are stored, or cloned there with what they
    are computed from: whatever takes fewer cycles (KernelCost). Each join is reported as a passed
    remark of category "fuse", each refusal as a missed remark with the reason, and each value that
    other fusions read as a remark "recompute" with both costs. The regions of while, if and case are fused separately.

    Input: simplified StableHLO of static shapes. Output: each op is an exec.fusion, a StableHLO op
    for the library, a reshape or bitcast_convert (a view of the same memory), a constant, or control
    flow. Numerics: unchanged.
  }];
  let options = [
    Option<"maxOps", "max-ops", "int64_t", "FuseOptions().maxOps", "Maximum number of ops in one fusion">,
    Option<"maxOperands", "max-operands", "int64_t", "FuseOptions().maxOperands",
           "Maximum total number of inputs and outputs of one fusion">];
  let dependentDialects = ["::tilewright::exec::ExecDialect"];
}

def FuseRowsPass : Pass<"fuse-rows", "::mlir::func::FuncOp"> {
  let summary = "On a GPU, turns each sort into a fusion, with the slices that keep its first elements";
  let description = [{
    A sort has kernels of its own. They need not read indices along the sorted dimension, nor write results
    without readers. If all readers keep only the first elements (a top-k), the kernels write no others.

    Before:
      %i = stablehlo.iota dim = 0
      %s:2 = "stablehlo.sort"(%x, %i) …
      %k = stablehlo.slice %s#1 [0:8]
    After:
      %k = exec.fusion "sort"(%x) {
      ^bb0(%a):  the iota, the sort, the slice  }

    A long sort along another dimension than the last gets transposes around it.

    Input: simplified StableHLO. Output: the same, with fusions; unchanged unless `exec.target` is a GPU. Must
    come before `fuse-group`, which copies slices into their readers. Numerics: unchanged.
  }];
  let dependentDialects = ["::tilewright::exec::ExecDialect"];
}

def FuseProductsPass : Pass<"fuse-products", "::mlir::func::FuncOp"> {
  let summary = "On a GPU, turns every op into a fusion and fuses matmuls and gathers with their prologues and epilogues";
  let description = [{
    GPU targets have no kernel library yet, so every op outside of a fusion becomes a fusion of its
    own. A matmul is fused with its prologue, which consists of cheap elementwise ops and data movement
    that only the matmul reads (a dequantization, possibly with group scales, which involve reshapes; a
    transpose), and with its epilogue, which consists of elementwise ops and is the only reader of the
    matmul (bias, activation, residual, conversion). On a chip with `wgmma` or `tcgen05`, the epilogue may also
    reduce rows and use the results (a softmax), if the copy engine can load both operands and a row
    has at most 256 columns, the width of a tile. A gather is fused with the cheap ops that compute its
    indices, and with an epilogue of elementwise ops.

    Before:
      %w = exec.fusion "convert"(%q) …
      %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      %r = exec.fusion "add_tanh"(%d, %bias) …
    After:
      %r = exec.fusion "convert_dot_general_add_tanh"(%q, %x, %bias) …

    Input: the output of fuse-group. Output: the same form; unchanged unless `exec.target` is a GPU.
    Numerics: unchanged.
  }];
  let dependentDialects = ["::tilewright::exec::ExecDialect"];
}

def PackElementsPass : Pass<"fuse-pack-elements", "::mlir::func::FuncOp"> {
  let summary = "Stores arrays of elements of 2, 4 and 6 bits packed, as bytes";
  let description = [{
    Parameters, results, constants, values that control flow carries, and results of fusions become tensors of ui8 with
    several elements in a byte (docs/design/packed-elements.md). Kernels unpack what they load and pack what they store, by
    elementwise ops in the fusion. A byte is one element of what a kernel writes, so one thread owns it.

    Before:
      func.func @main(%x: tensor<4x8xi4>) -> tensor<4x8xi4>
      %y = exec.fusion "negate"(%x) …
    After:
      func.func @main(%x: tensor<16xui8> {exec.array_type = tensor<4x8xi4>}) -> (tensor<16xui8> {exec.array_type = tensor<4x8xi4>})
      %y = exec.fusion "negate"(%x) : (tensor<16xui8>) -> tensor<16xui8>    (shift and mask, negate, shift and or)

    An op that is not in a fusion (a sort, a scatter, a collective, a custom call, a product of the CPU library) has no
    form for packed elements: it reads and writes temporaries with one element in each byte, which are still narrow tensors
    after this pass. A kernel unpacks before the op, and a result that leaves through a boundary is packed after it; a
    missed remark names the op. An op that moves rows of whole bytes (dynamic_update_slice, gather, all_gather, all_to_all,
    collective_permute, collective_broadcast) moves the bytes.

    Input: fused StableHLO. Output: the same; a narrow tensor outside of a fusion is a temporary of one byte for each element.
    Numerics: unchanged.
  }];
  let dependentDialects = ["::tilewright::exec::ExecDialect"];
}

def VerifyFusedPass : Pass<"fuse-verify", "::mlir::func::FuncOp"> {
  let summary = "Fails with E2010 if a fusion contains an op that no kernel can, or an elementwise op is not fused";
  let description = [{
    Checks the output of the stage, in one walk:
    - Each op in a fusion is one that a kernel can compute: elementwise, a reduction, or a movement of elements; for a GPU, any op
      that can be tiled.
    - No elementwise op and no reduction is outside of a fusion.
  }];
}

def PrintFusionsPass : Pass<"fuse-print", "::mlir::func::FuncOp"> {
  let summary = "Prints a table of all fusions: name, count, iteration space, ops and reason";
  let description = [{ For debugging; `tilewright explain` shows the same table. }];
}

#endif // TILEWRIGHT_TRANSFORM_FUSE_PASSES_TD
