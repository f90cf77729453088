"""Determines why a test of Triton's failed, from its message."""

import re

LARGE = "larger than a virtual GPU runs in minutes"

# Causes that are not ours, by a pattern of the message. The first match counts.
KNOWN = [
    ("torch 1.13 has no such type", r"MissingType|torch\.(float8|float4|uint16|uint32|uint64)\w*|'(Float8_\w+|UInt16|UInt32|UInt64)'"
     r"|can't convert np\.ndarray of type numpy\.(uint16|uint32|uint64)"),
    ("torch 1.13 has no such function", r"module 'torch(\.\w+)*' has no attribute|'Tensor' object has no attribute"
     r"|No module named 'torch\.|unexpected keyword argument '(device_type|enable_gqa|dim|weights_only|sparse)'"),
    ("NumPy 1.24 of the distribution", r"module 'numpy' has no attribute"),
    ("a package that is not installed", r"No module named '(?!torch)|ModuleNotFoundError"),
    ("cuBLAS is machine code", r"cublas|CublasLt"),
    ("proton needs CUPTI", r"proton|CUPTI|cupti"),
    ("compares the text of machine code", r"cuobjdump|nvdisasm|SASS|\bsass\b"),
    ("expects the ptxas of Triton's wheel; the command puts its own before it", r"vgpu/bin/ptxas'\) == PosixPath"),
    ("counts instructions in Triton's own PTX, which its wheel writes otherwise than the checkout",
     r"assert \w+\.count\([^\n]*\n?[^\n]*\n?E\s+AssertionError: assert \d+ == \d+[^\n]*\n[^\n]*built-in method count of str"),
    ("compares the text of Triton's own IR, which its wheel writes otherwise than the checkout", r"search range end \(exclusive\)"),
    ("Triton's wheel is newer than the checkout", r"has no attribute '\w+'.*triton|cannot import name|unexpected keyword argument"),
]  # fmt: skip


OTHER_VERSION = "the checkout is newer than Triton's wheel and wants what that does not do"
# Prefixes of test names, with what the wheel (3.9.0) does differently.
OF_OTHER_VERSION = {
    "test_atomic_poll_rejects_tensor_pointer": "the wheel compiles tl.atomic_poll of a tensor of pointers",
    "test_cat[True-": "tl.cat(can_reorder=True) may reorder until 3.10; the sum, which is compared first, is right",
}

OUTSIDE = "the test's own kernel leaves its tensor; torch's allocator has room behind it on a card"
# Prefixes of test names, with what the tests do.
OF_OUTSIDE = {
    "test_if_call[attribute_jit]": "a race: warp 0 stores Out[0], warp 1 may load it after that, and then Out[1] of one element",
    "test_int_annotation[": "stores element 3 of a tensor of one element",
}

# Tests that launch more work than a virtual GPU does in the time limit of a test: they may count as hung.
TOO_LARGE = {
    "test_load_store_same_ptr": "1,000 launches of 65,536 programs of 32 warps",
}


def of_test(name, outcome, message):
    """The cause of a test that did not pass."""
    if outcome == "hung" and name.partition("[")[0] in TOO_LARGE:
        return LARGE
    if outcome == "failed" and name.startswith(tuple(OF_OTHER_VERSION)):
        return OTHER_VERSION
    if outcome == "failed" and name.startswith(tuple(OF_OUTSIDE)) and "illegal memory access" in message:
        return OUTSIDE
    return of(message) if outcome == "failed" else outcome


def of(message):
    """The cause from the table above, else the message without numbers."""
    for name, pattern in KNOWN:
        if re.search(pattern, message):
            return name
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    said = [line for line in lines if re.match(r"E\s+\w|[\w.]*(Error|Exception|Exit|Failed)\b", line)]
    line = said[-1] if said else lines[-1] if lines else "no message"
    return re.sub(r"0x[0-9a-f]+|\d+(\.\d+)?(e[-+]?\d+)?", "N", line)[:160]


def is_known(cause):
    return cause in (LARGE, OTHER_VERSION, OUTSIDE) or cause in {name for name, _ in KNOWN}
