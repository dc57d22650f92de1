// Names of links beside their frames, as text over the picture. Sighted people's help only: the same names are in the panel.

import { Vector3 } from "three";
import { make } from "../dom.js";
import type { State } from "../state.js";
import type { Show } from "./show.js";
import type { Stage } from "./stage.js";

/** Keeps labels where the links are. */
export function labels(box: HTMLElement, state: State, stage: Stage, show: Show): void {
  let drawn: { element: HTMLElement; place: (at: Vector3) => Vector3 }[] = [];
  const rebuild = () => {
    const all = state.options.labels;
    const wanted = show.models().flatMap(([key, model]) =>
      model.links
        .filter((link) => all || (state.selection?.key === key && state.selection.link === link.name))
        .map((link) => ({ link, chosen: state.selection?.key === key && state.selection.link === link.name })),
    );
    drawn = wanted.map(({ link, chosen }) => ({
      element: make("span", { textContent: link.name, className: chosen ? "label chosen" : "label" }),
      place: (at) => at.setFromMatrixPosition(link.node.matrixWorld),
    }));
    box.replaceChildren(...drawn.map(({ element }) => element));
    stage.invalidate();
  };
  const at = new Vector3();
  stage.afterFrame(() => {
    const { clientWidth: width, clientHeight: height } = box;
    for (const { element, place } of drawn) {
      place(at).project(stage.eye.camera);
      element.hidden = at.z > 1 || at.z < -1;
      element.style.transform = `translate(${(((at.x + 1) / 2) * width).toFixed(1)}px, ${(((1 - at.y) / 2) * height).toFixed(1)}px)`;
    }
  });
  state.onAny(["selection", "options", "model", "current"], rebuild);
}
