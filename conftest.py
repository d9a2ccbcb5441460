"""Registers draftgate's pytest plugin, for checkouts where the package is not installed."""

pytest_plugins = ["draftgate.plugin"]
