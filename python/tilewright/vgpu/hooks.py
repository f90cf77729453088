"""Calls our functions right after a module was imported for the first time."""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys


class _AfterImport(importlib.abc.MetaPathFinder):
    def __init__(self):
        self.wanted = {}

    def find_spec(self, name, path, target=None):
        if name not in self.wanted:
            return None
        module, function = self.wanted.pop(name)
        spec = importlib.util.find_spec(name)  # asks the other finders, since `wanted` no longer has the name
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def load_and_tell(loaded):
            load(loaded)
            getattr(importlib.import_module(f"{__package__}.{module}"), function)(loaded)

        spec.loader.exec_module = load_and_tell
        return spec


_finder = _AfterImport()


def after_import(name, module, function):
    """Calls `function` of our `module` with the module `name` after that was imported."""
    if name in sys.modules:
        getattr(importlib.import_module(f"{__package__}.{module}"), function)(sys.modules[name])
        return
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    _finder.wanted[name] = (module, function)
