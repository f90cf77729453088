"""Streams, events and graphs of torch.cuda, on top of the driver's.

Kernels run when the driver's stream reaches them. torch's own operations run on the host at once, so they first wait
for the work that was queued on the current stream before. While a stream is captured, nothing may wait: an operation
becomes a node of the graph, which runs it again.
"""

import ctypes
import os
import threading

import torch

from . import libcuda

_chosen = threading.local()  # device -> Stream
# If off, a call that queues work on the default stream returns only when the work is done.
_IS_ASYNCHRONOUS = os.environ.get("TILEWRIGHT_VGPU_ASYNC", "0") == "1"
_NON_BLOCKING, _DISABLE_TIMING, _BLOCKING_SYNC, _RELAXED = 1, 2, 1, 2


def number_of(device):
    """Converts a device in torch's forms to its index."""
    if device is None:
        return libcuda.current_device()
    if isinstance(device, int) and not isinstance(device, bool):
        return libcuda.current_device() if device < 0 else device
    device = torch.device(device)
    if device.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {device}")
    return libcuda.current_device() if device.index is None else device.index


class Stream:
    """torch.cuda.Stream."""

    def __init__(self, device=None, priority=0, *, _handle=None, **_):
        self.device_index = number_of(device)
        self.priority = priority
        self._owned = _handle is None
        if self._owned:
            with libcuda.on_device(self.device_index):
                _handle = libcuda.ask("cuStreamCreateWithPriority", ctypes.c_void_p, _NON_BLOCKING, priority)
        self.cuda_stream = _handle or 0
        self.stream_id = self.cuda_stream

    @property
    def device(self):
        return torch.device("cuda", self.device_index)

    @property
    def _as_parameter_(self):
        return ctypes.c_void_p(self.cuda_stream)

    @classmethod
    def priority_range(cls):
        least, greatest = ctypes.c_int(), ctypes.c_int()
        libcuda.call("cuCtxGetStreamPriorityRange", ctypes.byref(least), ctypes.byref(greatest))
        return least.value, greatest.value

    def synchronize(self):
        with libcuda.on_device(self.device_index):
            libcuda.call("cuStreamSynchronize", self.cuda_stream)

    def query(self):
        with libcuda.on_device(self.device_index):
            return _is_done("cuStreamQuery", self.cuda_stream)

    def wait_event(self, event):
        with libcuda.on_device(self.device_index):
            libcuda.call("cuStreamWaitEvent", self.cuda_stream, event._made(), 0)

    def wait_stream(self, stream):
        self.wait_event(stream.record_event())

    def record_event(self, event=None):
        event = event or Event()
        event.record(self)
        return event

    def __enter__(self):
        self._before = StreamContext(self)
        return self._before.__enter__()

    def __exit__(self, *error):
        return self._before.__exit__(*error)

    def __eq__(self, other):
        return (
            isinstance(other, Stream)
            and self.cuda_stream == other.cuda_stream
            and self.device_index == other.device_index
        )

    def __hash__(self):
        return hash((self.cuda_stream, self.device_index))

    def __repr__(self):
        return f"<torch.cuda.Stream device=cuda:{self.device_index} cuda_stream={self.cuda_stream:#x}>"

    def __del__(self):
        if getattr(self, "_owned", False) and self.cuda_stream and libcuda.is_started():
            # The driver destroys the stream after its work.
            libcuda.library().cuStreamDestroy_v2(self.cuda_stream)


class ExternalStream(Stream):
    """torch.cuda.ExternalStream: a stream that was created elsewhere."""

    def __init__(self, stream_ptr, device=None, **_):
        super().__init__(device, _handle=stream_ptr or 0)


def _is_done(function, *arguments):
    try:
        libcuda.call(function, *arguments)
    except libcuda.CudaError as error:
        if error.result != libcuda.NOT_READY:
            raise
        return False
    return True


class Event:
    """torch.cuda.Event."""

    def __init__(self, enable_timing=False, blocking=False, interprocess=False, **_):
        if interprocess:
            raise NotImplementedError("events between processes are not supported on the virtual GPU")
        self._flags = (0 if enable_timing else _DISABLE_TIMING) | (_BLOCKING_SYNC if blocking else 0)
        self.cuda_event = 0

    def _made(self):
        if not self.cuda_event:
            self.cuda_event = libcuda.ask("cuEventCreate", ctypes.c_void_p, self._flags)
        return self.cuda_event

    def record(self, stream=None):
        stream = stream or current_stream()
        with libcuda.on_device(stream.device_index):
            libcuda.call("cuEventRecord", self._made(), stream.cuda_stream)

    def wait(self, stream=None):
        (stream or current_stream()).wait_event(self)

    def query(self):
        return not self.cuda_event or _is_done("cuEventQuery", self.cuda_event)

    def synchronize(self):
        if self.cuda_event:
            libcuda.call("cuEventSynchronize", self.cuda_event)

    def elapsed_time(self, end):
        """Milliseconds of host time: the virtual GPU has no clock."""
        if not self.cuda_event or not end.cuda_event:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return libcuda.ask("cuEventElapsedTime", ctypes.c_float, self.cuda_event, end.cuda_event)

    def __del__(self):
        if getattr(self, "cuda_event", 0) and libcuda.is_started():
            libcuda.library().cuEventDestroy_v2(self.cuda_event)


def default_stream(device=None):
    return Stream(number_of(device), _handle=0)


def current_stream(device=None):
    number = number_of(device)
    return getattr(_chosen, "streams", {}).get(number) or default_stream(number)


def set_stream(stream):
    if stream is None:
        return
    libcuda.use_device(stream.device_index)
    _chosen.streams = {**getattr(_chosen, "streams", {}), stream.device_index: stream}


class StreamContext:
    """torch.cuda.stream(): selects a stream and its device inside the block."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        if self.stream is not None:
            self.device = libcuda.current_device()
            self.before = current_stream(self.stream.device_index)
            set_stream(self.stream)
        return self.stream

    def __exit__(self, *_):
        if self.stream is not None:
            set_stream(self.before)
            libcuda.use_device(self.device)


def raw_current_stream(device):
    """The stream handle that Triton queries before each launch."""
    return current_stream(device).cuda_stream


def wait_for_current():
    """Waits for the work on the current stream before the host accesses device memory."""
    streams = getattr(_chosen, "streams", None)
    if not _IS_ASYNCHRONOUS and not streams:
        return
    stream = current_stream()
    if stream.cuda_stream or _IS_ASYNCHRONOUS:
        libcuda.call("cuStreamSynchronize", stream.cuda_stream)


def synchronize(device=None):
    with libcuda.on_device(number_of(device)):
        libcuda.call("cuCtxSynchronize")


# ---- graphs

_capture = threading.local()


def is_capturing():
    return getattr(_capture, "graph", None) is not None


_HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def record(again, kept):
    """Adds a node to the captured graph that calls `again`; `kept` lives as long as the graph.

    The node runs on a driver thread, where it must not call the driver."""
    graph = _capture.graph

    def node(_):
        try:
            with torch.no_grad():
                again()
        except BaseException as error:  # an exception must not propagate into the driver
            graph.failure = graph.failure or error

    function = _HOST_FUNCTION(node)
    graph.kept.append((function, kept))
    libcuda.call("cuLaunchHostFunc", current_stream().cuda_stream, ctypes.cast(function, ctypes.c_void_p), None)


class CUDAGraph:
    """torch.cuda.CUDAGraph."""

    def __init__(self, keep_graph=False):
        self.executable = None
        self.kept = []  # callbacks and memory that the nodes use
        self.failure = None

    def capture_begin(self, pool=None, capture_error_mode="global"):
        if not current_stream().cuda_stream:
            raise RuntimeError(
                "CUDA graphs must be captured on a non-default stream. (However, after capture, it's ok to replay them "
                "on the default stream.)"
            )
        # Always relaxed mode: tensors that are created during the capture need memory.
        libcuda.call("cuStreamBeginCapture_v2", current_stream().cuda_stream, _RELAXED)
        _capture.graph = self

    def capture_end(self):
        _capture.graph = None
        graph = ctypes.c_void_p()
        libcuda.call("cuStreamEndCapture", current_stream().cuda_stream, ctypes.byref(graph))
        try:
            self.executable = libcuda.ask("cuGraphInstantiateWithFlags", ctypes.c_void_p, graph, 0)
        finally:
            libcuda.call("cuGraphDestroy", graph)

    def instantiate(self):
        """Does nothing: capture_end() has instantiated the graph."""

    def replay(self):
        if self.executable is None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        stream = current_stream()
        libcuda.call("cuGraphLaunch", self.executable, stream.cuda_stream)
        # Report the failure of a torch node here, and not at some later call.
        libcuda.call("cuStreamSynchronize", stream.cuda_stream)
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure

    def reset(self):
        if self.executable is not None:
            libcuda.call("cuGraphExecDestroy", self.executable)
        self.executable = None
        self.kept.clear()

    def pool(self):
        return (0, 0)

    def enable_debug_mode(self):
        pass

    def debug_dump(self, path):
        raise NotImplementedError("graphs cannot be dumped on the virtual GPU")

    def __del__(self):
        if getattr(self, "executable", None) is not None and libcuda.is_started():
            libcuda.library().cuGraphExecDestroy(self.executable)


class graph:
    """torch.cuda.graph: captures the work inside the block."""

    def __init__(self, cuda_graph, pool=None, stream=None, capture_error_mode="global", **_):
        self.graph, self.pool, self.mode = cuda_graph, pool, capture_error_mode
        self.context = StreamContext(stream or Stream())

    def __enter__(self):
        synchronize()
        self.context.__enter__()
        self.graph.capture_begin(self.pool, self.mode)

    def __exit__(self, *error):
        self.graph.capture_end()
        self.context.__exit__(*error)
