"""Passes handlers of custom calls that are registered with JAX to the library.

jax.ffi.register_ffi_target(platform="cpu") and jaxlib's own linear algebra register
handlers with JAX's CPU client, and register_ffi_target(platform="CUDA" or "ROCM") with JAX's GPU plugin,
if there is one. This module also registers them with this plugin.
"""

import ctypes


class _Extension(ctypes.Structure):
    pass


_Extension._fields_ = [
    ("struct_size", ctypes.c_size_t),
    ("type", ctypes.c_int),
    ("next", ctypes.POINTER(_Extension)),
]


class _RegisterArgs(ctypes.Structure):
    """TILEWRIGHT_Register_Custom_Call_Args of plugin/ffi/CustomCallExtension.h."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("target_name", ctypes.c_char_p),
        ("target_name_size", ctypes.c_size_t),
        ("instantiate", ctypes.c_void_p),
        ("prepare", ctypes.c_void_p),
        ("initialize", ctypes.c_void_p),
        ("execute", ctypes.c_void_p),
        ("platform", ctypes.c_char_p),
        ("platform_size", ctypes.c_size_t),
    ]


class _CustomCallExtension(ctypes.Structure):
    _fields_ = [("base", _Extension), ("register", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_RegisterArgs)))]


class _TypeInfo(ctypes.Structure):
    """XLA_FFI_TypeInfo of XLA's FFI headers."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("extension_start", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _TypeFunctions(ctypes.Structure):
    """PJRT_FFI_Type_Info."""

    _fields_ = [("deleter", ctypes.c_void_p), ("serialize", ctypes.c_void_p), ("deserialize", ctypes.c_void_p)]


class _TypeRegisterArgs(ctypes.Structure):
    """PJRT_FFI_Type_Register_Args."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("type_name", ctypes.c_char_p),
        ("type_name_size", ctypes.c_size_t),
        ("type_id", ctypes.c_int64),
        ("type_info", ctypes.POINTER(_TypeFunctions)),
    ]


class _FfiExtension(ctypes.Structure):
    """The beginning of PJRT_FFI_Extension."""

    _fields_ = [("base", _Extension), ("register_type", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_TypeRegisterArgs)))]


_EXTENSION_TYPE = 0x54574343  # TILEWRIGHT_CUSTOM_CALL_EXTENSION
_FFI_EXTENSION_TYPE = 5  # PJRT_Extension_Type_FFI
_TYPED = 1  # api_version of the typed FFI, as JAX numbers it


class _Api(ctypes.Structure):
    """The beginning of PJRT_Api."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("extension_start", ctypes.POINTER(_Extension))]


class _Errors:
    """Error_Message and Error_Destroy, the first two functions of PJRT_Api."""

    class _Args(ctypes.Structure):
        _fields_ = [
            ("struct_size", ctypes.c_size_t), ("extension_start", ctypes.c_void_p), ("error", ctypes.c_void_p),
            ("message", ctypes.c_void_p), ("message_size", ctypes.c_size_t),
        ]  # fmt: skip

    def __init__(self, address: int):
        functions = ctypes.cast(address + 40, ctypes.POINTER(ctypes.CFUNCTYPE(None, ctypes.POINTER(self._Args))))
        self._destroy, self._message = functions[0], functions[1]

    def take(self, error: int) -> str:
        args = self._Args(ctypes.sizeof(self._Args), None, error, None, 0)
        self._message(args)
        text = ctypes.string_at(args.message, args.message_size).decode()
        self._destroy(args)
        return text


def share_handlers(c_api) -> None:
    """Registers the handlers that JAX has for `cpu`, `CUDA` and `ROCM` with the plugin, also those that are added later."""
    from jaxlib import xla_client

    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]

    def address(capsule) -> int | None:
        return None if capsule is None else get(capsule, name(capsule))

    api = address(c_api)
    extension = _find(api, _EXTENSION_TYPE, _CustomCallExtension)
    types = _find(api, _FFI_EXTENSION_TYPE, _FfiExtension)
    errors = _Errors(api)

    def register(target, function, platform="Host", api_version=_TYPED, traits=0):
        if api_version != _TYPED:
            return  # a handler of the untyped API; the plugin rejects a program that calls it, by name
        stages = function if isinstance(function, dict) else {"execute": function}
        text = target if isinstance(target, bytes) else target.encode()
        args = _RegisterArgs(
            ctypes.sizeof(_RegisterArgs), text, len(text),
            *(address(stages.get(stage)) for stage in ("instantiate", "prepare", "initialize", "execute")),
            platform.encode(), len(platform),
        )  # fmt: skip
        if error := extension.register(args):
            raise RuntimeError(errors.take(error))

    def register_type(name, registration):
        """Registers a type under the id that XLA has assigned to it, so that the library destroys the states of that type."""
        info = address(registration.get("type_info"))
        if info is None:
            return
        functions = _TypeFunctions(ctypes.cast(info, ctypes.POINTER(_TypeInfo)).contents.deleter)
        text = name if isinstance(name, bytes) else name.encode()
        assigned = ctypes.cast(address(registration["type_id"]), ctypes.POINTER(ctypes.c_int64)).contents.value
        args = _TypeRegisterArgs(ctypes.sizeof(_TypeRegisterArgs), None, text, len(text), assigned, ctypes.pointer(functions))
        if error := types.register_type(args):
            raise RuntimeError(errors.take(error))

    for target, function in xla_client.custom_call_targets("Host").items():
        # The handler needs its two stages, and jaxlib exports only one; the plugin has its own handler.
        if isinstance(function, dict) and "python_cpu_callback" not in target or target.startswith("xla_buffer"):
            register(target, function)
    _forward(xla_client, register, register_type)
    for platform in ("CUDA", "ROCM"):
        _forward_gpu(xla_client, register, register_type, platform)


def _forward(xla_client, register, register_type) -> None:
    """Wraps JAX's registration of handlers and types for `cpu`."""
    def both(name, function, platform, api_version=0, traits=0):
        xla_client._xla.register_custom_call_target(name, function, platform, api_version, traits)
        register(name, function, platform, api_version, traits)

    def both_types(name, registration):
        xla_client._xla.register_custom_type(name, registration)
        register_type(name, registration)

    with xla_client._custom_callback_lock:
        xla_client._custom_callback_handler.pop("Host", None)
        xla_client._custom_type_id_handler.pop("Host", None)
    xla_client.register_custom_call_handler("cpu", both)
    xla_client.register_custom_type_handler("cpu", both_types)


def _forward_gpu(xla_client, register, register_type, platform) -> None:
    """Receives what is registered for GPUs of a vendor, and passes it on to JAX's plugin for them, whose handlers may come earlier or later."""

    def receive(handlers, name, ours):
        theirs, seen = [], []

        def both(*arguments):
            seen.append(arguments)
            for handler in theirs:
                handler(*arguments)
            ours(bool(theirs), *arguments)

        if (present := handlers.pop(platform, None)) is not None:
            theirs.append(present)
        add = getattr(xla_client, name)
        add(platform, both)

        def add_later(other, handler):
            if xla_client.xla_platform_names.get(other, other) != platform or theirs:
                return add(other, handler)
            theirs.append(handler)
            for arguments in seen:
                handler(*arguments)

        setattr(xla_client, name, add_later)

    def both_types(is_registered, *arguments):
        if not is_registered:  # a type has one id in a process
            xla_client._xla.register_custom_type(*arguments)
        register_type(*arguments)

    receive(xla_client._custom_type_id_handler, "register_custom_type_handler", both_types)
    receive(xla_client._custom_callback_handler, "register_custom_call_handler", lambda _, *arguments: register(*arguments))


def _find(api: int, kind: int, extension):
    node = ctypes.cast(api, ctypes.POINTER(_Api)).contents.extension_start
    while node:
        if node.contents.type == kind:
            return ctypes.cast(node, ctypes.POINTER(extension)).contents
        node = node.contents.next
    raise RuntimeError("the library of tilewright has no extension for custom calls; its version differs from that of the Python package")
