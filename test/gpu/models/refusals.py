"""The ops of the models that the GPU target refuses so far, with their number. The goal is an empty table.

The table may only shrink: test_compile.py fails if an op is refused that is not in it, and if it has an op that is not
refused any more. `python test/gpu/models/report.py --steps 0` prints what it must have.
"""


def both(refused):
    return {"cuda": refused, "cpu": refused}


# By model, then by platform of the lowering (lowering.py). Both chips refuse the same ops.
REFUSED = {
    "gpt_unrolled": both({"dot_general": 6, "gather": 1, "scatter": 2}),
    "gpt_scan": both({"dot_general": 3, "dynamic_update_slice": 37, "gather": 1, "scatter": 2}),
    "gpt_checkpoint": both({"dot_general": 4, "dynamic_update_slice": 9, "gather": 1, "scatter": 2}),
    "llama_greedy": both({"dynamic_update_slice": 4}),
    "llama_sampled": both({"chlo.top_k": 1, "dot_general": 1, "dynamic_update_slice": 2, "gather": 1, "scatter": 2}),
    "llama_loop": both({"chlo.top_k": 1, "dot_general": 1, "dynamic_update_slice": 2, "gather": 1, "scatter": 2}),
    "resnet": both({"convolution": 20, "gather": 1, "reduce_window": 1, "scatter": 1, "select_and_scatter": 1}),
    "unet": both({"convolution": 35, "dot_general": 3, "reduce_window": 1, "scatter": 2}),
    "unet_sampler": both({"convolution": 12, "dot_general": 1, "reduce_window": 1}),
    "moe_ragged": {
        "cuda": {"chlo.top_k": 1, "scatter": 4, "sort": 1},
        "cpu": {"chlo.top_k": 1, "reduce_window": 1, "scatter": 4, "sort": 1},
    },
    "moe_einsum": both({"chlo.top_k": 1, "reduce_window": 1, "scatter": 1}),
    "vit": both({"convolution": 2, "dot_general": 6, "gather": 1, "scatter": 1}),
    "linear_algebra": {
        "cuda": {
            "cu_lu_pivots_to_permutation": 1, "cusolver_geqrf_ffi": 1, "cusolver_gesvdj_ffi": 1, "cusolver_getrf_ffi": 1,
            "cusolver_orgqr_ffi": 1, "cusolver_potrf_ffi": 1, "cusolver_syevd_ffi": 1, "fft": 3, "triangular_solve": 3,
        },  # fmt: skip
        "cpu": {
            "fft": 3, "lapack_sgeqrf_ffi": 1, "lapack_sgesdd_ffi": 1, "lapack_sgetrf_ffi": 1, "lapack_sorgqr_ffi": 1,
            "lapack_spotrf_ffi": 1, "lapack_ssyevd_ffi": 1, "lapack_strsm_ffi": 3, "scatter": 2,
        },  # fmt: skip
    },
}


def of(name, platform):
    return REFUSED.get(name, {}).get(platform, {})
