"""Registers pytester, for the tests of the plugin."""

pytest_plugins = ["pytester"]
