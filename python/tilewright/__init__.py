"""Tilewright for JAX: a plugin that compiles and runs JAX programs.

Installing the package is enough: JAX finds it by its entry point and uses it
by default. `JAX_PLATFORMS=cpu` selects JAX's own CPU backend instead.
`JAX_PLATFORMS=tilewright,cpu` enables both, with Tilewright as the default.

Options are those of the command line (docs/reference/options.md), given by
`tilewright.configure(...)` before JAX is first used, by environment variables
`TILEWRIGHT_RUNTIME_DEVICES=4`, or by JAX's own
`JAX_PJRT_CLIENT_CREATE_OPTIONS=runtime.devices:4`.

`tilewright.explain(f, *args)` shows what the compiler does with a function.
"""

from tilewright.explanation import Explanation, explain
from tilewright.options import configure, Options
from tilewright.version import __version__

__all__ = ["Explanation", "Options", "configure", "explain", "__version__"]
