"""The text layers of every converted robot equal OpenUSD's own output byte for byte."""

from stage import assert_printed_as_by_openusd


def test_layers_are_printed_as_by_openusd(converted):
    layers = sorted(converted.directory.glob("*.usda"))
    assert layers
    for layer in layers:
        assert_printed_as_by_openusd(layer)
