"""Random number generators of devices, separate from the CPU's, which they must not advance."""

import torch

_HostGenerator = torch.Generator
_defaults = {}  # device -> Generator


class DeviceGenerator(_HostGenerator):
    """torch.Generator(device="cuda")."""

    @property
    def device(self):
        return torch.device("cuda", self.__dict__.get("number", 0))


class _GeneratorKind(type):
    def __instancecheck__(cls, value):
        return isinstance(value, _HostGenerator)


class Generator(metaclass=_GeneratorKind):
    """Replaces torch.Generator: makes a generator of the host or of a device."""

    def __new__(cls, device="cpu"):
        device = torch.device("cuda", device) if isinstance(device, int) else torch.device(device)
        return made(device.index or 0) if device.type == "cuda" else _HostGenerator(device)


def made(number):
    generator = DeviceGenerator()
    generator.number = number
    return generator


def default(number):
    if number not in _defaults:
        _defaults[number] = made(number)
        _defaults[number].manual_seed(torch.initial_seed())
    return _defaults[number]


def choose(operation, arguments, keywords, device):
    """Passes the device's generator to a random operation, unless the program passed one."""
    for number, parameter in enumerate(operation._schema.arguments):
        if parameter.name == "generator" and number >= len(arguments) and keywords.get("generator") is None:
            keywords["generator"] = default(device)


def manual_seed(seed, devices):
    for number in devices:
        default(number).manual_seed(int(seed))
