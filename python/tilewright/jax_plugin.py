"""What JAX calls when it looks for plugins: the entry point `jax_plugins`.

The plugin registers as `tilewright` and reports the platform `cpu`, because
JAX's lowerings, donation, compile cache and callbacks go by the reported name.
docs/design/platform-name.md has the reasons.
"""

import dataclasses
import os
import pathlib
import re

from tilewright import ffi, options

_NAME = "tilewright"
_PRIORITY = 400  # above JAX's own cpu (0), as every plugin


def library_path() -> pathlib.Path:
    """The plugin's library: TILEWRIGHT_LIBRARY if set, else the one in the wheel."""
    given = os.environ.get("TILEWRIGHT_LIBRARY")
    path = pathlib.Path(given) if given else pathlib.Path(__file__).parent / "libtilewright_pjrt.so"
    if not path.exists():
        raise FileNotFoundError(
            f"{path} is not there; install the wheel, or set TILEWRIGHT_LIBRARY to libtilewright_pjrt.so"
        )
    return path


def initialize() -> None:
    """Registers the plugin with JAX. Called once, by JAX."""
    from jax._src import xla_bridge

    # JAX warns about every plugin that it does not know by name.
    nonexperimental = getattr(xla_bridge, "_nonexperimental_plugins", None)
    if isinstance(nonexperimental, set):
        nonexperimental.add(_NAME)
    c_api = xla_bridge.register_plugin(
        _NAME,
        priority=_PRIORITY,
        library_path=str(library_path()),
        # A dictionary, even an empty one: JAX drops its own options without (jax.distributed).
        options=_create_options,
    )
    ffi.share_handlers(c_api)
    _answer_to_cpu(xla_bridge)


def _create_options() -> dict:
    """The options of the client: JAX's wish for CPU devices, then the user's own."""
    chosen = options.current().as_create_options()
    if "runtime.devices" not in chosen and "TILEWRIGHT_RUNTIME_DEVICES" not in os.environ:
        if (count := _wanted_cpu_devices()) is not None:
            chosen["runtime.devices"] = count
    return chosen


def _wanted_cpu_devices() -> int | None:
    """How many CPU devices a script asks JAX for, in either of the two ways there are."""
    from jax._src import xla_bridge

    count = xla_bridge.num_cpu_devices.value
    if count > 0:
        return count
    flag = re.search(r"--xla_force_host_platform_device_count=(\d+)", os.environ.get("XLA_FLAGS", ""))
    return int(flag[1]) if flag else None


def _answer_to_cpu(xla_bridge) -> None:
    """Makes the name `cpu` mean this plugin, unless the user has listed JAX's own cpu.

    JAX asks for the backend `cpu` by name in many places (callbacks, DLPack,
    jax.devices("cpu")). With two clients that report `cpu`, those arrays would
    be on the other one.
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

    # JAX would make its own cpu client first. Behind ours in the order, it can be the same one.
    own = xla_bridge._backend_factories.pop("cpu")
    xla_bridge._backend_factories["cpu"] = dataclasses.replace(
        own, factory=lambda: xla_bridge._backends.get(_NAME) or own.factory()
    )
