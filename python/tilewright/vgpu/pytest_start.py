"""Makes pytest load pytest_plugin.py."""


def install(config):
    """Adds it to pytest's default plugins. PYTEST_PLUGINS would be inherited by child processes that cannot find it."""
    config.default_plugins = (*config.default_plugins, f"{__package__}.pytest_plugin")
