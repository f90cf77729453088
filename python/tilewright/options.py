"""Options of the plugin, with types, kept until JAX makes the client."""

import dataclasses

from tilewright.option_table import NAMES, OptionTable

# Short names of the options that users set most often.
SHORT = {
    "devices": "runtime.devices",
    "threads": "runtime.threads",
    "memory_limit": "runtime.memory-limit",
    "asynchronous": "runtime.asynchronous",
    "quiet": "quiet",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options(OptionTable):
    """Every option of docs/reference/options.md, such as `compile_max_seconds`, and short names of the most common ones.

    None leaves an option to the environment, and then to its default.
    """

    devices: int | None = None
    """CPU devices in this process, for programs that are sharded (runtime.devices)."""
    threads: int | None = None
    """Threads that compute; 0 takes one for each core (runtime.threads)."""
    memory_limit: int | None = None
    """Maximum number of bytes of arrays alive at one time; 0 takes nine tenths of the memory (runtime.memory-limit)."""
    asynchronous: bool | None = None
    """Return from a call before the program has run (runtime.asynchronous)."""
    quiet: bool | None = None
    """Do not print at the start that Tilewright is at work; TILEWRIGHT_QUIET=1 does the same."""
    extra: dict[str, str | int | bool] = dataclasses.field(default_factory=dict)
    """Options by their dotted names, such as {"import.max-ops": 100}. They override the fields."""

    def as_create_options(self) -> dict[str, str | int | bool]:
        given = {}
        for field, name in (NAMES | SHORT).items():
            value = getattr(self, field)
            if value is None:
                continue
            if name in given and given[name] != value:
                raise ValueError(f"{field} is {value!r}, but another field sets {name} to {given[name]!r}; set one of them")
            given[name] = value
        return given | self.extra


_current = Options()


def configure(**changes) -> Options:
    """Sets options. Call it before JAX creates its backends, which is when options take effect.

    >>> tilewright.configure(devices=4, threads=2, compile_max_seconds=60)
    """
    from jax._src import xla_bridge

    if xla_bridge.backends_are_initialized():
        raise RuntimeError("tilewright.configure() must be called before JAX is first used")
    global _current
    _current = dataclasses.replace(_current, **changes)
    return _current


def current() -> Options:
    return _current
