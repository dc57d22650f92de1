// Names of links beside their frames, as text over the picture. Hidden from screen readers, since the panel has the same names.

import { Vector3 } from 'three';
import type { Link } from '../../loader/index.js';
import { make } from '../dom.js';
import type { State } from '../state.js';
import type { Show } from './show.js';
import type { Stage } from './stage.js';

interface Label {
  link: Link;
  chosen: boolean;
  element: HTMLElement;
  width: number;
  at: Vector3;
}

/** The height of a label with padding, in CSS pixels. */
const HEIGHT = 17;

/** Keeps labels at their links. Of overlapping labels only the nearest is shown; the selected link's always. */
export function labels(box: HTMLElement, state: State, stage: Stage, show: Show): void {
  let drawn: Label[] = [];
  const rebuild = () => {
    const { selection, options } = state;
    drawn = show.models().flatMap(([key, model]) =>
      model.links
        .map((link) => ({ link, chosen: selection?.key === key && selection.link === link.name }))
        .filter(({ chosen }) => chosen || options.labels)
        .map(({ link, chosen }) => {
          const element = make('span', { textContent: link.name, className: chosen ? 'label chosen' : 'label' });
          return { link, chosen, element, width: 0, at: new Vector3() };
        }),
    );
    box.replaceChildren(...drawn.map(({ element }) => element));
    for (const label of drawn) label.width = label.element.offsetWidth;
    stage.invalidate();
  };
  stage.afterFrame(() => {
    const { clientWidth: width, clientHeight: height } = box;
    for (const { link, at } of drawn) {
      at.setFromMatrixPosition(link.node.matrixWorld).project(stage.eye.camera);
      at.set(((at.x + 1) / 2) * width, ((1 - at.y) / 2) * height, at.z);
    }
    const placed: Label[] = [];
    drawn.sort((a, b) => Number(b.chosen) - Number(a.chosen) || a.at.z - b.at.z);
    for (const label of drawn) {
      const { at, element } = label;
      const fits = Math.abs(at.z) <= 1 && !placed.some((other) => overlap(label, other));
      element.style.visibility = fits ? 'visible' : 'hidden';
      if (!fits) continue;
      placed.push(label);
      element.style.transform = `translate(${at.x.toFixed(1)}px, ${at.y.toFixed(1)}px)`;
    }
  });
  state.onAny(['selection', 'options', 'model', 'current'], rebuild);
}

function overlap(a: Label, b: Label): boolean {
  return Math.abs(a.at.y - b.at.y) < HEIGHT && a.at.x < b.at.x + b.width + 4 && b.at.x < a.at.x + a.width + 4;
}
