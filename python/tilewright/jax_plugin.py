"""The entry point `jax_plugins`, which JAX calls when it discovers plugins.

The plugin registers as `tilewright` and reports the platform `cpu`, because
JAX's lowerings, donation, compile cache and callbacks depend on the reported name.
docs/design/platform-name.md has the reasons.
"""

import atexit
import ctypes
import dataclasses
import os
import re
import signal
import sys
import time

from tilewright import callbacks, ffi, jax_rules, native, options

_NAME = "tilewright"
_PRIORITY = 400  # above JAX's own cpu (0), as for every plugin


def initialize() -> None:
    """Registers the plugin with JAX, which calls this once."""
    from jax._src import xla_bridge

    # JAX warns about every plugin that it does not know by name.
    nonexperimental = getattr(xla_bridge, "_nonexperimental_plugins", None)
    if isinstance(nonexperimental, set):
        nonexperimental.add(_NAME)
    c_api = xla_bridge.register_plugin(
        _NAME,
        priority=_PRIORITY,
        library_path=str(native.library()),
        # Pass a dictionary, even an empty one: without it JAX drops its own options (jax.distributed).
        options=_create_options,
    )
    ffi.share_handlers(c_api)
    jax_rules.install()
    _answer_to_cpu(xla_bridge)
    # Exit functions run in reverse order of registration: this one runs before JAX's own, which JAX registered at
    # import.
    atexit.register(_finish_runs)
    os.register_at_fork(after_in_child=_after_fork)


def _finish_runs() -> None:
    """Waits for programs with callbacks; prints one line for each failure.

    JAX also waits for them at exit, twice, and prints the whole error each time, even if the script has caught it. With
    jaxlib a program with a callback ends before the call returns; with this plugin it may still run.
    """
    from jax._src import dispatch

    try:
        if getattr(sys, "last_type", None) is KeyboardInterrupt:  # Ctrl-C ended the script
            raise KeyboardInterrupt
        while callbacks.running:
            time.sleep(0.01)  # unlike the wait of a client's destructor, Ctrl-C ends this one
    except KeyboardInterrupt:
        _end_interrupted()
        return
    tokens = dispatch.runtime_tokens
    for token in [*tokens.current_tokens.values(), *tokens.output_runtime_tokens.values()]:
        try:
            token.block_until_ready()
        except Exception as error:  # JAX's error, or that of a backend that is already destroyed
            print(f"tilewright: a program failed, and the script may not have asked for its result: {str(error).splitlines()[0]}", file=sys.stderr)
    tokens.clear()


def _end_interrupted() -> None:
    """Ends the process about a second after Ctrl-C, although a program or a callback runs: destroying a client waits for both.

    jaxlib runs callbacks in the main thread, where Ctrl-C interrupts them. Python interrupts other threads only between two instructions, so a long
    call of a C function, such as sleep(), is abandoned.
    """
    from jax._src import dispatch

    for thread in [*callbacks.running]:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt))
    deadline = time.monotonic() + 1
    while callbacks.running and time.monotonic() < deadline:
        time.sleep(0.01)
    if callbacks.running:
        print("tilewright: interrupted while a callback runs; its program is abandoned", file=sys.stderr)
    clients = _keep_clients()
    dispatch.runtime_tokens.clear()  # JAX's own exit function waits for them
    atexit.unregister(_finish_runs)
    atexit._run_exitfuncs()
    sys.stdout.flush()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if callbacks.running:
        os.kill(os.getpid(), signal.SIGINT)  # as Python ends a script that does not catch KeyboardInterrupt
    _interrupt_in(seconds=1)
    for client in clients:
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(client))


def _interrupt_in(seconds: int) -> None:
    """Sends this process SIGINT later. A thread could not: Python's threads stop when the interpreter begins to end."""

    class Event(ctypes.Structure):  # struct sigevent
        _fields_ = [("value", ctypes.c_void_p), ("signal", ctypes.c_int), ("notify", ctypes.c_int), ("rest", ctypes.c_byte * 48)]

    class Times(ctypes.Structure):  # struct itimerspec
        _fields_ = [(name, ctypes.c_long) for name in ("every_s", "every_ns", "first_s", "first_ns")]

    libc = ctypes.CDLL(None)
    timer = ctypes.c_void_p()
    event = Event(signal=signal.SIGINT)  # notify: 0 is SIGEV_SIGNAL
    if libc.timer_create(time.CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(timer)) == 0:
        libc.timer_settime(timer, 0, ctypes.byref(Times(first_s=seconds)), None)


def _keep_clients() -> list:
    """Lets the clients live until the process ends, because destroying one waits for its threads. Returns them."""
    from jax._src import xla_bridge

    clients = list({id(client): client for client in xla_bridge._backends.values()}.values())
    for client in clients:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(client))
    return clients


def _after_fork() -> None:
    """Lets a process that was forked after JAX was used fail instead of hang: the threads of its clients exist only in the other process.

    The library refuses to run programs and to copy arrays. Compiling and destroying a client wait for threads of jaxlib before they call the library.
    """
    from jax._src import compiler, xla_bridge

    if _NAME not in xla_bridge._backends:
        return  # the first client of this process can be created here
    atexit.unregister(_finish_runs)
    compiler.backend_compile_and_load = _refuse_to_compile
    _keep_clients()


def _refuse_to_compile(*_args, **_named):
    from jax.errors import JaxRuntimeError

    raise JaxRuntimeError(
        "FAILED_PRECONDITION: this process was forked from one that already used JAX with Tilewright, whose threads exist only there; "
        "start processes with multiprocessing.get_context('spawn'), or fork before JAX is first used"
    )


def _create_options() -> dict:
    """The client's options: the number of CPU devices that the script asks JAX for, then the user's own."""
    chosen = options.current().as_create_options()
    if "runtime.devices" not in chosen and "TILEWRIGHT_RUNTIME_DEVICES" not in os.environ:
        if (count := _wanted_cpu_devices()) is not None:
            chosen["runtime.devices"] = count
    return chosen


def _wanted_cpu_devices() -> int | None:
    """How many CPU devices a script asks JAX for, in either of JAX's two ways."""
    from jax._src import xla_bridge

    count = xla_bridge.num_cpu_devices.value
    if count > 0:
        return count
    flag = re.search(r"--xla_force_host_platform_device_count=(\d+)", os.environ.get("XLA_FLAGS", ""))
    return int(flag[1]) if flag else None


def _answer_to_cpu(xla_bridge) -> None:
    """Makes the name `cpu` mean this plugin, unless the user has listed JAX's own cpu.

    JAX looks up the backend `cpu` by name in many places (callbacks, DLPack,
    jax.devices("cpu")). With two clients that report `cpu`, those arrays would
    be on the other client.
    """
    from jax._src import config

    listed = (config.jax_platforms.value or "").split(",")
    if "cpu" in listed:
        return
    if listed != [""] and _NAME not in listed:
        return

    if listed != [""]:

        def also_as_cpu(backend) -> None:
            if _NAME in backend.platform_version:
                xla_bridge._backends["cpu"] = backend

        xla_bridge._backend_initialization_hooks.append(also_as_cpu)
        return

    # JAX would create its own cpu client first. If its factory comes after ours, it can return our client.
    own = xla_bridge._backend_factories.pop("cpu")
    xla_bridge._backend_factories["cpu"] = dataclasses.replace(
        own, factory=lambda: xla_bridge._backends.get(_NAME) or own.factory()
    )
