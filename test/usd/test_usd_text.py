"""Layers equal the output of OpenUSD itself.

    cargo run --ignore-rust-version --locked -p urdf_usd_usd_author --example usd_layers DIR
    URDF_USD_TORTURE_DIR=DIR pytest test/usd/test_usd_text.py

DIR may be any folder with layers (searched in depth): a converted robot, for example. Text layers equal those of
usd-core 26.11 and newer byte for byte; older versions must still read them, and binary layers, with every value.
"""

import os
import pathlib

import pytest

Sdf = pytest.importorskip("pxr.Sdf")
Usd = pytest.importorskip("pxr.Usd")

FOLDER = os.environ.get("URDF_USD_TORTURE_DIR")


def layers(extension):
    return sorted(pathlib.Path(FOLDER).rglob("*" + extension)) if FOLDER else []


def opened(path):
    layer = Sdf.Layer.FindOrOpen(str(path))
    assert layer, f"OpenUSD cannot open {path}"
    return layer


@pytest.mark.skipif(not layers(".usda"), reason="URDF_USD_TORTURE_DIR is not a folder with .usda layers")
@pytest.mark.parametrize("path", layers(".usda"), ids=lambda path: path.name)
def test_openusd_prints_the_same_text(path):
    theirs = opened(path).ExportToString()
    if Usd.GetVersion() < (0, 26, 11):
        pytest.skip("read, but this OpenUSD prints some values differently")
    # Compare lines first: pytest shows the difference.
    assert path.read_bytes().decode().splitlines(True) == theirs.splitlines(True)
    assert path.read_bytes().decode() == theirs


@pytest.mark.skipif(not layers(".usdc"), reason="URDF_USD_TORTURE_DIR is not a folder with .usdc layers")
@pytest.mark.parametrize("path", layers(".usdc"), ids=lambda path: path.name)
def test_openusd_reads_binary_layers(path):
    layer = opened(path)
    assert path.read_bytes()[8:11] == bytes([0, 8, 0])
    twin = path.with_suffix(".usda")
    if twin.exists():
        assert layer.ExportToString().splitlines(True) == opened(twin).ExportToString().splitlines(True)
