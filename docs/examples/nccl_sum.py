"""Sums a vector over two GPUs with NCCL: one thread drives both. Runs wherever libcuda.so.1 and libnccl.so.2 are."""

import ctypes
import sys

cuda = ctypes.CDLL("libcuda.so.1")
nccl = ctypes.CDLL("libnccl.so.2")
nccl.ncclGetLastError.restype = ctypes.c_char_p
RANKS, COUNT, FLOAT, SUM = 2, 1000, 7, 0


def check(result):
    if result != 0:
        sys.exit(f"error {result}: {nccl.ncclGetLastError(None).decode()}")


class Rank:
    def __init__(self, device):
        self.context, self.stream, self.data = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
        check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(self.context), device))
        check(cuda.cuCtxSetCurrent(self.context))
        check(cuda.cuStreamCreate(ctypes.byref(self.stream), 1))
        check(cuda.cuMemAlloc_v2(ctypes.byref(self.data), COUNT * 4))
        self.values = (ctypes.c_float * COUNT)(*[device + 1] * COUNT)
        check(cuda.cuMemcpyHtoD_v2(self.data, self.values, COUNT * 4))

    def finish(self):
        check(cuda.cuCtxSetCurrent(self.context))
        check(cuda.cuStreamSynchronize(self.stream))
        check(cuda.cuMemcpyDtoH_v2(self.values, self.data, COUNT * 4))
        return set(self.values)


check(cuda.cuInit(0))
comms = (ctypes.c_void_p * RANKS)()
check(nccl.ncclCommInitAll(comms, RANKS, None))
ranks = [Rank(device) for device in range(RANKS)]
# A mistake on demand: rank 1 sums fewer elements.
counts = [COUNT, COUNT - 1 if "mistake" in sys.argv else COUNT]
check(nccl.ncclGroupStart())
for rank, comm, count in zip(ranks, comms, counts):
    where = ctypes.c_void_p(rank.data.value)
    check(nccl.ncclAllReduce(where, where, ctypes.c_size_t(count), FLOAT, SUM, ctypes.c_void_p(comm), rank.stream))
check(nccl.ncclGroupEnd())
sums = [rank.finish() for rank in ranks]
for comm in comms:
    check(nccl.ncclCommDestroy(ctypes.c_void_p(comm)))
print(f"the sums are {sums}")
sys.exit(0 if sums == [{3.0}, {3.0}] else 1)
