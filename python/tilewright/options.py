"""Options of the plugin, with types, kept until JAX makes the client."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Options:
    """What a user is likely to set. Everything else goes into `extra`, by its dotted name.

    None leaves an option to the environment, and then to its default.
    """

    devices: int | None = None
    """CPU devices in this process, for programs that are sharded (runtime.devices)."""
    threads: int | None = None
    """Threads that compute; 0 takes one for each core (runtime.threads)."""
    memory_limit: int | None = None
    """Most bytes of arrays alive at one time; 0 takes nine tenths of the memory (runtime.memory-limit)."""
    asynchronous: bool | None = None
    """Return from a call before the program has run (runtime.asynchronous)."""
    extra: dict[str, str | int | bool] = dataclasses.field(default_factory=dict)
    """Any other option, such as {"import.max-ops": 100}."""

    def as_create_options(self) -> dict[str, str | int | bool]:
        named = {
            "runtime.devices": self.devices,
            "runtime.threads": self.threads,
            "runtime.memory-limit": self.memory_limit,
            "runtime.asynchronous": self.asynchronous,
        }
        return {name: value for name, value in named.items() if value is not None} | self.extra


_current = Options()


def configure(**changes) -> Options:
    """Sets options; takes effect when JAX makes its backends, so call it before that.

    >>> tilewright.configure(devices=4, threads=2)
    """
    from jax._src import xla_bridge

    if xla_bridge.backends_are_initialized():
        raise RuntimeError("tilewright.configure() must be called before JAX is first used")
    global _current
    _current = dataclasses.replace(_current, **changes)
    return _current


def current() -> Options:
    return _current
