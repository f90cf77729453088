"""`tilewright.explain(f, *args)`: what the compiler does with a JAX function, as a page in a notebook."""

import dataclasses
import pathlib

from tilewright import native


@dataclasses.dataclass(frozen=True)
class Explanation:
    """The report of one compiled function. A notebook displays the page; `print` shows the summary."""

    summary: str
    html: str

    def save(self, path) -> pathlib.Path:
        """Writes the page, which needs no other file and no network."""
        path = pathlib.Path(path)
        path.write_text(self.html, encoding="utf-8")
        return path

    def __str__(self) -> str:
        return self.summary

    __repr__ = __str__

    def _repr_html_(self) -> str:
        import html

        # In an iframe: the page's styles must not affect the notebook, nor the notebook's the page.
        return (
            f'<iframe srcdoc="{html.escape(self.html, quote=True)}" title="tilewright report" '
            'style="width: 100%; height: 720px; border: 1px solid #ddd; border-radius: 6px"></iframe>'
        )


def explain(function, *args, target: str = "", **kwargs) -> Explanation:
    """Compiles `function` for these arguments, without running it, and returns a report of the compilation.

    The report has fusions with reasons, kernels, memory, communication and the plan of the
    program. `target` is a chip, as "sm_90a"; by default this machine's CPU. Arguments may
    be arrays or `jax.ShapeDtypeStruct`s.

    >>> tilewright.explain(jnp.sin, jnp.ones(8)).save("sin.html")
    """
    # Imported here and not above: every script that uses JAX imports this package.
    import subprocess
    import tempfile

    import jax

    jitted = function if hasattr(function, "lower") else jax.jit(function)
    program = jax.export.export(jitted, platforms=["cpu"])(*args, **kwargs)
    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
        name = getattr(function, "__name__", "").strip("<>") or "function"
        source, page = pathlib.Path(folder) / f"{name}.mlirbc", pathlib.Path(folder) / "report.html"
        source.write_bytes(program.mlir_module_serialized)
        command = [native.program(), "report", source, f"--output={page}", f"--title={name}"]
        done = subprocess.run(
            [*map(str, command), *([f"--target={target}"] if target else [])], capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(done.stderr.strip() or f"tilewright report ended with code {done.returncode}")
        # The last line names the file, which is about to be deleted.
        return Explanation("\n".join(done.stdout.splitlines()[:-1]), page.read_text(encoding="utf-8"))
