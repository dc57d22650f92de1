"""Replacements for other programs' Python interfaces, so that code written for them runs on this package unchanged.

`urdf_usd_converter` is that of the PyPI package urdf-usd-converter, `isaacsim` that of Isaac Sim's URDF importer. docs/guides/drop-in.md lists
the differences.
"""
