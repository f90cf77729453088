"""Tilewright for JAX: a plugin that compiles and runs JAX programs.

Installing the package is all that is needed: JAX finds it by its entry point
and uses it by default. `JAX_PLATFORMS=cpu` goes back to JAX's own CPU backend,
`JAX_PLATFORMS=tilewright,cpu` has both, the first being the default.

Options are those of the command line (docs/reference/options.md), given by
`tilewright.configure(...)` before JAX is first used, by environment variables
`TILEWRIGHT_RUNTIME_DEVICES=4`, or by JAX's own
`JAX_PJRT_CLIENT_CREATE_OPTIONS=runtime.devices:4`.
"""

from tilewright.options import configure, Options
from tilewright.version import __version__

__all__ = ["Options", "configure", "__version__"]
