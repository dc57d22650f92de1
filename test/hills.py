"""Meshes of any number of triangles."""


def flat(path, triangles):
    """Writes a binary STL whose triangles are all degenerate to one point: a large sparse file."""
    with path.open("wb") as stl:
        stl.write(bytes(80) + triangles.to_bytes(4, "little"))
        stl.truncate(84 + 50 * triangles)


def hills(path, size, phase=0.0):
    """Writes a binary STL of size × size squares over hills, which depend on the phase."""
    import numpy as np

    x, y = np.meshgrid(np.arange(size + 1.0), np.arange(size + 1.0))
    points = np.stack([x, y, np.sin(x * 0.7 + phase) * np.cos(y * 0.3) + 0.3 * np.sin(x * y)], axis=-1).astype("<f4") / 100
    a, b, c, d = points[:-1, :-1], points[:-1, 1:], points[1:, 1:], points[1:, :-1]
    corners = np.concatenate([np.stack([a, b, c], axis=2), np.stack([a, c, d], axis=2)]).reshape(-1, 3, 3)
    facets = np.zeros(len(corners), dtype=[("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
    facets["corners"] = corners
    path.write_bytes(bytes(80) + len(facets).to_bytes(4, "little") + facets.tobytes())
