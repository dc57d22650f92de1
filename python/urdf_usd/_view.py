"""A robot as a page: the viewer's web component, in which links can be dragged, with a slider for each joint, in one file that loads
nothing."""

from __future__ import annotations

import base64
import html
from typing import Literal

from . import _native
from ._errors import failures

Theme = Literal["light", "dark"]

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="{scheme}">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
  body {{ margin: 0; height: 100vh; display: flex; font: 0.875rem/1.4 system-ui, sans-serif; }}
  urdf-usd-viewer {{ flex: 1; min-width: 0; min-height: 0; }}
  form {{ width: 16rem; max-width: 45%; overflow-y: auto; padding: 0.75rem; box-sizing: border-box; }}
  h1 {{ font-size: 1rem; margin: 0 0 0.5rem; overflow-wrap: anywhere; }}
  label {{ display: block; margin-top: 0.5rem; overflow-wrap: anywhere; }}
  input, select {{ width: 100%; box-sizing: border-box; }}
  output {{ float: right; font-variant-numeric: tabular-nums; }}
</style>
</head>
<body>
<urdf-usd-viewer grab {attributes}></urdf-usd-viewer>
<form aria-label="Joints"><h1>{title}</h1></form>
<script type="module">{element}</script>
<script type="application/octet-stream" id="robot">{robot}</script>
<script type="module">
  const [viewer, form] = [document.querySelector('urdf-usd-viewer'), document.querySelector('form')];
  const add = (parent, kind, properties) => parent.appendChild(Object.assign(document.createElement(kind), properties));
  const sliders = [];
  const show = () => {{
    for (const {{ joint, index, slider, output, unit }} of sliders) {{
      slider.value = joint.positions[index];
      output.value = `${{joint.positions[index].toFixed(2)}} ${{unit}}`;
    }}
  }};
  viewer.addEventListener('load', () => {{
    const robot = viewer.robot;
    if (!robot) return;
    if (robot.configurations.length > 0) {{
      const select = add(add(form, 'label', {{ textContent: 'Pose' }}), 'select', {{}});
      for (const name of ['', ...robot.configurations]) add(select, 'option', {{ value: name, textContent: name || '…' }});
      select.addEventListener('change', () => {{
        if (select.value) robot.applyConfiguration(select.value);
        viewer.update();
        show();
      }});
    }}
    for (const joint of robot.joints.filter((joint) => !joint.mimic)) {{
      joint.dofs.forEach((dof, index) => {{
        const turns = dof.motion !== 'translation';
        const reach = turns ? Math.PI : 1;
        const number = joint.dofs.length > 1 ? ` [${{index}}]` : '';
        const label = add(form, 'label', {{ textContent: joint.name + number }});
        const output = add(label, 'output', {{}});
        const slider = add(label, 'input', {{ type: 'range', step: 'any', min: dof.limit?.lower ?? -reach, max: dof.limit?.upper ?? reach }});
        sliders.push({{ joint, index, slider, output, unit: turns ? 'rad' : 'm' }});
        slider.addEventListener('input', () => {{
          const positions = joint.positions.map((position, at) => (at === index ? Number(slider.value) : position));
          robot.setPosition(joint.name, positions.length > 1 ? positions : positions[0]);
          viewer.update();
          show();
        }});
      }});
    }}
    viewer.addEventListener('move', show);
    show();
    document.documentElement.dataset.ready = '';
  }});
  const bytes = Uint8Array.from(atob(document.getElementById('robot').textContent), (character) => character.charCodeAt(0));
  viewer.setAttribute('src', URL.createObjectURL(new Blob([bytes], {{ type: 'model/gltf-binary' }})));
</script>
</body>
</html>
"""


def page(title: str, robot: bytes, *, pose: str | None, camera: str | None, theme: Theme | None) -> str:
    """Returns a page that shows a robot in binary glTF."""
    with failures():
        # The end of a script within a script would end it.
        element = _native.viewer_element().decode().replace("</script", "<\\/script")
    given = {"pose": pose, "camera": camera, "theme": theme}
    attributes = " ".join(f'{name}="{html.escape(value)}"' for name, value in given.items() if value is not None)
    return _PAGE.format(
        title=html.escape(title),
        scheme=theme or "light dark",
        attributes=attributes,
        element=element,
        robot=base64.b64encode(robot).decode(),
    )


class View:
    """A robot in a cell of a notebook."""

    def __init__(self, page: str, height: int) -> None:
        self.page = page
        """The page, as of `Robot.to_html`."""
        self.height = height
        """Height in pixels."""

    def _repr_html_(self) -> str:
        # A frame keeps the page's styles and scripts apart from those of the notebook.
        style = f"width: 100%; height: {self.height}px; border: 0"
        return f'<iframe srcdoc="{html.escape(self.page)}" style="{style}" title="Robot"></iframe>'
