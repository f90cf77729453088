"""Programs that attack the virtual GPU, by scenario: `tilewright vgpu run -- python hostile.py SCENARIO`.

Prints the driver's answers, and "alive" at the end if the process survives.
"""

import ctypes
import os
import random
import sys
import threading
import time

cu = ctypes.CDLL("libcuda.so.1")
cu.cuMemFree_v2.argtypes = [ctypes.c_uint64]
HEAD = ".version 8.0\n.target sm_90a\n.address_size 64\n"
KERNEL = HEAD + """.visible .entry k(.param .u64 p)
{{
  .reg .b64 %a, %o; .reg .b32 %t, %b, %n; .reg .pred %q;
  ld.param.u64 %a, [p];
{body}
  ret;
}}
"""
STORE = KERNEL.format(body="  mov.u32 %t, 7;\n  st.global.u32 [%a], %t;")
FILL = KERNEL.format(body="""  mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x;
  mad.lo.u32 %t, %b, %n, %t; mul.wide.u32 %o, %t, 4; add.u64 %a, %a, %o;
  mov.u32 %t, 0xffffffff;
  st.global.u32 [%a], %t;""")
SPINS = {
    "global": "again:\n  ld.volatile.global.u32 %t, [%a];\n  setp.eq.u32 %q, %t, 0;\n  @%q bra again;",
    "shared": "  .shared .align 4 .b32 flag;\n  mov.u32 %t, 0;\n  st.shared.u32 [flag], %t;\n"
              "again:\n  ld.volatile.shared.u32 %t, [flag];\n  setp.eq.u32 %q, %t, 0;\n  @%q bra again;",
    "empty": "again:\n  bra again;",
    "counting": "  mov.u32 %t, 0;\nagain:\n  add.u32 %t, %t, 1;\n  setp.ne.u32 %q, %t, 0;\n  @%q bra again;\n  bra again;",
    "atomic": "again:\n  atom.global.add.u32 %t, [%a], 0;\n  setp.eq.u32 %q, %t, 0;\n  @%q bra again;",
}  # fmt: skip


def init():
    context = ctypes.c_void_p()
    assert cu.cuInit(0) == 0
    assert cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cu.cuCtxSetCurrent(context) == 0
    return context


def load(text):
    """(result, kernel k or None)"""
    module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    image = text if isinstance(text, bytes) else text.encode()
    result = cu.cuModuleLoadData(ctypes.byref(module), image + b"\0")
    if result == 0:
        result = cu.cuModuleGetFunction(ctypes.byref(kernel), module, b"k")
    return result, kernel if result == 0 else None


def alloc(size):
    address = ctypes.c_uint64()
    result = cu.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size))
    return address.value if result == 0 else None


def launch(kernel, pointer, grid=1, block=32, shared=0):
    value = ctypes.c_uint64(pointer)
    values = (ctypes.c_void_p * 1)(ctypes.addressof(value))
    return cu.cuLaunchKernel(kernel, grid, 1, 1, block, 1, 1, shared, None, values, None) or cu.cuCtxSynchronize()


def smash():
    """128 KiB into an allocation of 1000 bytes, with objects of the host all around."""
    init()
    around = [bytearray(1000) for _ in range(1000)]
    address = alloc(1000)
    more = [bytearray(1000) for _ in range(1000)]
    print("launch", launch(load(FILL)[1], address, grid=256, block=128))
    assert not any(map(any, around + more)), "memory of the host was written"


def wild():
    """Pointers that are not device memory; under --sticky=0, so that each launch runs."""
    init()
    kernel = load(STORE)[1]
    host = (ctypes.c_uint32 * 16)()
    printf = ctypes.cast(ctypes.CDLL(None).printf, ctypes.c_void_p).value
    inside = alloc(4096)
    places = [0, 16, 4096, 1 << 20, 1 << 40, (1 << 47) - 4096, 1 << 47, (1 << 64) - 4, ctypes.addressof(host), id(host) & ~3,
              printf & ~3, inside + 4096, inside - 4, inside + 4095 & ~3, inside + (1 << 30)]  # fmt: skip
    print("launches", *[launch(kernel, place) for place in places])
    assert not any(host)


def freed():
    init()
    address = alloc(4096)
    kernel = load(STORE)[1]
    print("first", launch(kernel, address))
    print("free", cu.cuMemFree_v2(address), cu.cuMemFree_v2(address), cu.cuMemFree_v2(12345))
    more = [alloc(4096) for _ in range(100)]
    assert address not in more
    print("launch", launch(kernel, address))


def copies():
    """The host's own calls with sizes that are too large."""
    init()
    address = alloc(1000)
    data = ctypes.create_string_buffer(1 << 20)
    print("copies", cu.cuMemcpyHtoD_v2(ctypes.c_uint64(address), data, ctypes.c_size_t(1 << 20)),
          cu.cuMemcpyDtoH_v2(data, ctypes.c_uint64(address), ctypes.c_size_t(1001)),
          cu.cuMemsetD8_v2(ctypes.c_uint64(address), ctypes.c_ubyte(1), ctypes.c_size_t(1 << 30)),
          cu.cuMemsetD32_v2(ctypes.c_uint64(address + 1000), 1, ctypes.c_size_t(1)),
          cu.cuMemcpyHtoD_v2(ctypes.c_uint64(address), data, ctypes.c_size_t(1000)))  # fmt: skip
    cu.cuMemFree_v2(address)
    print("freed", cu.cuMemcpyHtoD_v2(ctypes.c_uint64(address), data, ctypes.c_size_t(4)))


def spin(kind):
    init()
    address = alloc(4)
    cu.cuMemsetD32_v2(ctypes.c_uint64(address), 0, ctypes.c_size_t(1))
    kernel = load(KERNEL.format(body=SPINS[kind]))[1]
    begin = time.monotonic()
    print("launching", flush=True)
    result = launch(kernel, address, grid=2, block=64)
    print("launch", result, f"after {time.monotonic() - begin:.2f} s", flush=True)


def fork():
    init()
    address = alloc(4096)
    kernel = load(STORE)[1]
    print("parent", launch(kernel, address), flush=True)
    child = os.fork()
    if child == 0:
        print("child", launch(kernel, address, grid=1000), cu.cuInit(0), alloc(16), cu.cuCtxSynchronize(), flush=True)
        sys.exit(0)  # runs the exit handlers
    for _ in range(200):
        done, state = os.waitpid(child, os.WNOHANG)
        if done:
            print("child ended with", os.waitstatus_to_exitcode(state))
            break
        time.sleep(0.05)
    else:
        os.kill(child, 9)
        print("child hangs")
    print("parent", launch(kernel, address), flush=True)


def garbage():
    """Invalid modules. Each must be rejected."""
    init()
    entry = HEAD + ".visible .entry k() { %s ret; }\n"
    random.seed(1)
    noise = bytes(random.randrange(1, 256) for _ in range(500))
    modules = {
        "empty": "", "words": "hello", "elf": "\x7fELF", "noise": noise, "header and noise": HEAD.encode() + noise,
        "unknown": entry % "foo.bar %r1;", "undeclared": entry % "ld.param.u64 %a, [zz];", "braces": HEAD + "{" * 100000,
        "parentheses": entry % ("mov.b32 %r, " + "(" * 100000), "chip": entry.replace("sm_90a", "sm_100a") % "",
        "version": entry.replace("8.0", "99.0") % "", "registers": entry % ".reg .b32 %r<2000000000>;",
        "shared": entry % ".shared .b8 s[999999999999];", "a little shared": entry % ".shared .b8 s[232449];",
        "global": HEAD + ".global .b8 big[99999999999999];\n.visible .entry k() { ret; }",
        "cut": STORE[:150], "array": HEAD + ".global .b32 a[4] = {1, 2, 3, 4, 5};\n.visible .entry k() { ret; }",
    }  # fmt: skip
    for name, text in modules.items():
        print(name, load(text)[0])


def sizes():
    init()
    address, kernel = alloc(4), load(STORE)[1]
    print("sizes", launch(kernel, address, block=2048), launch(kernel, address, grid=0), launch(kernel, address, grid=1 << 31),
          launch(kernel, address, shared=10**6), launch(kernel, address, block=0))  # fmt: skip
    print("allocations", *[alloc(n) is None for n in (0, 1 << 40, 1 << 62, (1 << 64) - 1)])


def threads():
    context = init()
    address, kernel = alloc(4096), load(STORE)[1]
    results = []

    def work():
        cu.cuCtxSetCurrent(context)
        for _ in range(50):
            mine = alloc(5000)
            results.append(launch(kernel, address, grid=8))
            results.append(cu.cuMemFree_v2(mine))

    all_threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in all_threads:
        thread.start()
    for thread in all_threads:
        thread.join()
    print("threads", len(results), sum(results))


globals()[sys.argv[1]](*sys.argv[2:])
print("alive", flush=True)
