"""Makes torch use the virtual GPU as `cuda`, which is also what torch calls a GPU of AMD; called right after a program has imported torch."""

import contextlib
import functools
import sys
import types

import torch

from . import libcuda, libhip


def install(_):
    """Replaces the contents of torch.cuda and the functions that take a device."""
    from . import cuda_api, factories, generators, modules

    factories.install()
    modules.install()
    cuda_api.install()
    torch.Generator = generators.Generator
    torch.manual_seed = _seed_all(torch.manual_seed)
    torch.random.manual_seed = torch.manual_seed
    torch.random.fork_rng = _fork_rng(torch.random.fork_rng)
    is_amd = libhip.is_chosen()
    torch.version.cuda = None if is_amd else torch.version.cuda or "12.8"
    torch.version.hip = "7.1" if is_amd else None
    if not hasattr(torch, "accelerator"):
        torch.accelerator = types.SimpleNamespace()
    for name, value in dict(
        is_available=lambda: True,
        current_accelerator=lambda check_available=False: torch.device("cuda"),
        device_count=libcuda.device_count,
        current_device_index=libcuda.current_device,
        current_device_idx=libcuda.current_device,
        set_device_index=torch.cuda.set_device,
        set_device_idx=torch.cuda.set_device,
        current_stream=torch.cuda.current_stream,
        set_stream=torch.cuda.set_stream,
        synchronize=torch.cuda.synchronize,
    ).items():
        setattr(torch.accelerator, name, value)
    _install_device_contexts()


def _seed_all(original):
    @functools.wraps(original)
    def manual_seed(seed):
        torch.cuda.manual_seed_all(seed)
        return original(seed)

    return manual_seed


def _fork_rng(original):
    @functools.wraps(original)
    def fork_rng(devices=None, enabled=True, **keywords):
        @contextlib.contextmanager
        def forked():
            numbers = range(libcuda.device_count()) if devices is None else [torch.cuda._number(d) for d in devices]
            states = [torch.cuda.get_rng_state(number) for number in numbers] if enabled else []
            try:
                with original(devices=[], enabled=enabled):
                    yield
            finally:
                for number, state in zip(numbers, states):
                    torch.cuda.set_rng_state(state, number)

        return forked()

    return fork_rng


def _install_device_contexts():
    """Hides from C++ the device that `with torch.device("cuda")` or torch.set_default_device() (torch 2) sets."""
    if "torch.utils._device" not in sys.modules:
        try:
            import torch.utils._device  # noqa: F401
        except ImportError:
            return  # torch 1.13 has neither
    context = sys.modules["torch.utils._device"].DeviceContext
    original = context.__torch_function__

    def replaced(self, function, kinds, arguments=(), keywords=None):
        keywords = keywords or {}
        from . import factories

        if factories.device_number(self.device) is None:
            return original(self, function, kinds, arguments, keywords)
        name = getattr(function, "__name__", "")
        if name in factories._MAKERS and keywords.get("device") is None:
            with torch._C.DisableTorchFunction():
                return getattr(torch, name)(*arguments, **{**keywords, "device": self.device})
        return function(*arguments, **keywords)

    context.__torch_function__ = replaced
