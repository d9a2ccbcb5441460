"""Registers pytester, for the tests of the plugin; no test is judged by how long it takes."""

from hypothesis import settings

pytest_plugins = ["pytester"]

settings.register_profile("any-machine", deadline=None)
settings.load_profile("any-machine")
