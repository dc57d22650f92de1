// The viewer's entry point: connects its parts.
//
// For tests and scripts, `window.viewer` (see `Viewer` below). Controls can be found by role and name, or by id:
//
//   #robot-select                        which robot, or "Show all"; #show-all (switch) in the tab Robots
//   #connection[data-state=wait|on|off]  the state of the connection, also as text
//   #stage-message                       the message over the picture (loading, no GLB, could not be shown); hidden without one
//   #no-webgl                            a message that nothing can be drawn; hidden where WebGL works
//   #theme-toggle                        aria-pressed: dark colours
//   tabs: #tab-robots, #tab-joints, #tab-frames, #tab-view, #tab-diagnostics, each with its #panel-…
//   joints: li[data-joint=NAME] with a slider named "NAME position" and a field named "NAME value in radians" ("degrees", "metres");
//           with several degrees of freedom "NAME: x position", "NAME: yaw position", …; details[data-limb=NAME] around those of
//           a branch; #joint-search, #joint-count, #angles-rad, #angles-deg, #live-badge (hidden unless live), #follow-live (switch)
//   poses:  button[data-pose=POSE] applies one, "Delete the pose POSE", #reset-joints; #pose-name and #store-pose, #pose-problem (why
//           not), #pose-said (the result), #pose-locked (why none can be stored)
//   frames: trees named "Links" and "TF tree as heard" with treeitem[data-id=FRAME]; #frames-summary; #link-search; #link-details with
//           #link-pose: #pose-reference, fields #pose-x … #pose-yaw, #pose-quaternion, #copy-pose, #pose-note; #hide-link, #isolate-link,
//           #show-all-links
//   view:   switches #option-visual, -collision, -wireframe, -axes, -labels, -grid, -shadows; sliders #option-transparency, -axesSize;
//           #option-follow, #choose-frame (if TF has frames above the robot);
//           selects #choose-meshes, #choose-colliders (if the robot has a choice), #detail-said (triangles, loading, why not)
//   diagnostics: #filter-error, #filter-warning, #filter-info (aria-pressed), li.finding
//   files:  #open-files with #file-input; #said has the result
//   player: #player (hidden unless something plays) with #player-toggle, the slider "Time", #player-speed, #player-loop, #player-plot (the
//           #plot of #plot-quantity, with path[data-joint=NAME] and buttons of the legend), #player-close; #play-poses
//           with #play-from, #play-to
//   camera: #camera-front, -left, -top, -iso, -fit; #tool-move (aria-pressed), #handles-turn; #by-hand with #back-to-live, #at-limit;
//           #screenshot, #record and #fullscreen (hidden where the browser can't); #selected-link shows the selected link over the picture
//   robots: #choose-robot-N, details of files with links

import './main.css';
import { Quaternion, Vector2, Vector3 } from 'three';
import { address } from './address.js';
import * as api from './api.js';
import { byId } from './dom.js';
import { degrees } from './format.js';
import { Fleet } from './fleet.js';
import { connectionStatus, gridSize, handNotes, keys, messages, panelSize, robotChoice, sayings, themeButton } from './page.js';
import type { Positions } from './model.js';
import { DiagnosticsPanel } from './panels/diagnostics-panel.js';
import { FramesPanel } from './panels/frames-panel.js';
import { JointsPanel } from './panels/joints-panel.js';
import type { MoveLink } from './panels/pose-fields.js';
import { RobotsPanel } from './panels/robots-panel.js';
import { Tabs } from './panels/tabs.js';
import { ViewPanel } from './panels/view-panel.js';
import { State } from './state.js';
import { Theme } from './theme.js';
import { toolbar } from './toolbar.js';
import { length } from './units.js';
import { gizmo } from './view/gizmo.js';
import { labels } from './view/labels.js';
import { openFiles } from './open-files.js';
import { playerBar } from './player-bar.js';
import { Player } from './motion/player.js';
import { massMarks } from './view/mass-marks.js';
import { measure } from './view/measure.js';
import { Hand } from './view/hand.js';
import { JointMarks } from './view/joint-mark.js';
import { pick, pickable } from './view/pick.js';
import { Show } from './view/show.js';
import { Stage, type Covered } from './view/stage.js';

/** The interface for tests and scripts. Everything is in glTF's axes and units. */
export interface Viewer {
  /** Resolves once the list of robots is loaded, and the visible ones are shown or have failed. */
  readonly ready: Promise<void>;
  /** The keys of all robots. */
  robots(): string[];
  /** The joint positions of a robot, by name; empty if it is not loaded. */
  positions(key: string): Positions;
  /** The pose of a link relative to the robot, column-major; null if there is no such link. */
  linkMatrix(key: string, link: string): number[] | null;
  /** The pose of the robot in the fixed frame, 16 numbers, column-major; null if it is not loaded. */
  base(key: string): number[] | null;
  /** Moves a joint. Returns whether it could. */
  setPosition(key: string, joint: string, value: number | number[]): boolean;
  /** The numbers of triangles of a robot's visual and collision shapes; null if it is not loaded. */
  triangles(key: string): { visual: number; collision: number } | null;
  /** The shown revision. */
  revision(key: string): number | null;
  camera(): { position: number[]; target: number[] };
  /** The link at a point of the canvas (CSS pixels from its top left), with the hit point in the link's frame; null: none. */
  pick(x: number, y: number): { key: string; link: string; point: number[] } | null;
  /** A point of a link in CSS pixels on the canvas. */
  project(key: string, link: string, point: number[]): number[] | null;
  /** The joints whose axes are marked. */
  marked(): string[];
  /** The links whose mass and inertia are drawn. */
  weighed(): string[];
  /** The number of drawn frames. */
  frame(): number;
}

declare global {
  interface Window {
    viewer: Viewer;
  }
}

/** Time that the picture waits for the list of robots, in milliseconds. */
const LIST_TIMEOUT = 300;

const still = matchMedia('(prefers-reduced-motion: reduce)');

function start(): void {
  // In a frame of another page, `?chrome=off` leaves the picture only.
  const isBare = new URLSearchParams(location.search).get('chrome') === 'off';
  document.documentElement.classList.toggle('bare', isBare);
  const state = new State();
  const theme = new Theme(state);
  const fleet = new Fleet(state);
  const canvas = byId<HTMLCanvasElement>('canvas');
  const stage = new Stage(canvas, () => still.matches, () => covered(canvas));
  // First, so that camera and marks of the same frame are beside the robot.
  stage.beforeFrame(() => fleet.applyLive());
  const show = new Show(state, fleet, stage, theme);
  const hand = new Hand(canvas, state, fleet, stage, show);
  const marks = new JointMarks(state, stage, show, theme);
  let openDetails = () => {};
  pickable(canvas, state, fleet, stage, show, () => openDetails());
  labels(byId('labels'), state, stage, show);
  gizmo(byId('gizmo'), stage);
  gridSize(stage, state);
  toolbar(byId('toolbar'), state, stage, show, fleet, hand);
  robotChoice(state, fleet);
  connectionStatus(state);
  messages(state, fleet, stage);
  handNotes(state, fleet);
  themeButton(state, theme);
  panelSize();
  keys(state, stage, show);
  const player = new Player(state, fleet, (work) => requestAnimationFrame(work));
  playerBar(state, player, fleet);
  const controls = new ResizeObserver(() => {
    byId('stage').style.setProperty('--player-height', `${byId('player').offsetHeight}px`);
    stage.resize();
  });
  for (const id of ['toolbar', 'player']) controls.observe(byId(id));
  const say = sayings();
  openFiles(fleet, player, say);
  measure(canvas, byId('labels'), state, stage, show, say);
  const masses = massMarks(state, stage, show);
  const { camera, controls: orbit } = stage.eye;
  address(state, fleet, {
    get: () => [...camera.position.toArray(), ...orbit.target.toArray()],
    set: (numbers) => stage.eye.look(new Vector3().fromArray(numbers), new Vector3().fromArray(numbers, 3)),
    moved: (work) => {
      for (const kind of ['end', 'change'] as const) orbit.addEventListener(kind, work);
    },
  });
  const tabs = panels(state, fleet, player, hand);
  openDetails = () => tabs.show('frames');
  talk(state, fleet, stage);
  // The first robot is requested before the light is prepared, so that its file arrives meanwhile.
  const late = new Promise((resolve) => setTimeout(resolve, LIST_TIMEOUT));
  void Promise.race([fleet.refresh(), late]).then(() => stage.begin());
  window.viewer = expose(state, fleet, stage, show, () => [...marks.marked()], masses.drawn);
}

/** The height of the axes and of the rounded panel below the picture on narrow pages, in CSS pixels. */
const FOOT = 28;

/** Measures the margins of the picture behind the toolbar and the timeline. */
function covered(canvas: HTMLElement): Covered {
  const whole = canvas.getBoundingClientRect();
  const [bar, player] = [byId('toolbar').getBoundingClientRect(), byId('player')];
  const bottom = player.hidden ? FOOT : whole.bottom - player.getBoundingClientRect().top;
  return { top: Math.max(0, bar.bottom - whole.top), bottom: Math.max(FOOT, bottom) };
}

function panels(state: State, fleet: Fleet, player: Player, hand: Hand): Tabs {
  const joints = new JointsPanel(state, fleet, player);
  const frames = new FramesPanel(state, fleet, (joint) => {
    tabs.show('joints');
    joints.reveal(joint);
  }, mover(fleet, hand));
  const all = [joints, new RobotsPanel(state, fleet), frames, new ViewPanel(state, fleet), new DiagnosticsPanel(state, fleet)];
  const tabs = new Tabs(byId('tabs'), byId('panel-body'), all);
  const badges = () => {
    const { current } = fleet;
    const bad = current?.diagnostics.filter((item) => item.severity !== 'info').length ?? 0;
    const kind = current?.diagnostics.some((item) => item.severity === 'error') ? 'error' : 'warning';
    tabs.badge('diagnostics', bad ? String(bad) : '', `${bad} errors and warnings`, kind);
    const { live } = fleet.live(current?.key ?? '');
    tabs.badge('joints', live ? '●' : '', 'joint states are live', 'live');
  };
  state.onAny(['robots', 'current', 'live'], badges);
  return tabs;
}

/** Moves links of the current robot to typed poses. */
function mover(fleet: Fleet, hand: Hand): MoveLink {
  return (link, reference, to, turned) => {
    const [key, node] = [fleet.current?.key ?? '', fleet.currentModel?.link(reference)?.node];
    if (!node) return '';
    node.updateWorldMatrix(true, false);
    const [position, orientation] = [new Vector3(), new Quaternion()];
    to.clone().premultiply(node.matrixWorld).decompose(position, orientation, new Vector3());
    const start = fleet.currentModel?.positions() ?? {};
    let outcome = hand.moveTo(key, link, { position, orientation });
    if (!outcome) return `No joint moves ${link}.`;
    let note = '';
    if (!outcome.reached && !turned) {
      // An arm with few joints reaches the position only with another orientation.
      fleet.setPositions(key, start);
      outcome = hand.moveTo(key, link, { position }) ?? outcome;
      note = 'Reached with another orientation.';
    }
    if (outcome.reached) return note;
    const off = [`${length(outcome.position)}`, ...(turned ? [degrees(outcome.angle)] : [])];
    return `Out of reach: ${off.join(' and ')} away.`;
  };
}

/** Subscribes to the server. */
function talk(state: State, fleet: Fleet, stage: Stage): void {
  const silence = () => {
    fleet.deaf();
    fleet.applyLive();
  };
  const events = api.listen(
    (kind, key) => fleet.happened(kind, key),
    (yes) => {
      state.connected('events', yes);
      if (yes) joints.hurry();
    },
    document.hidden,
  );
  const joints = api.listenToJoints(
    (message) => {
      fleet.hear(message);
      stage.request();
    },
    (yes) => {
      state.connected('joints', yes);
      if (yes) return;
      silence();
    },
    document.hidden,
  );
  // Browsers open at most six connections to one server: hidden pages release theirs, and reload everything
  // when they become visible again.
  document.addEventListener('visibilitychange', () => {
    for (const connection of [events, joints]) {
      if (document.hidden) connection.stop();
      else connection.resume();
    }
    // A publisher may stop meanwhile, which no message would report afterwards.
    if (document.hidden) silence();
  });
}

function expose(state: State, fleet: Fleet, stage: Stage, show: Show, marked: () => string[], weighed: () => string[]): Viewer {
  const settled = async () => {
    await fleet.refresh();
    if (fleet.shown().some((key) => fleet.isLoading(key))) {
      await new Promise<void>((resolve) => {
        const end = state.on('model', () => {
          if (fleet.shown().some((key) => fleet.isLoading(key))) return;
          end();
          resolve();
        });
      });
    }
  };
  return {
    ready: settled(),
    robots: () => fleet.entries.map((entry) => entry.key),
    positions: (key) => fleet.models.get(key)?.positions() ?? {},
    linkMatrix: (key, link) => fleet.models.get(key)?.linkMatrix(link) ?? null,
    base: (key) => fleet.models.get(key)?.base.matrix.toArray() ?? null,
    setPosition: (key, joint, value) => fleet.setPosition(key, joint, value),
    triangles: (key) => fleet.models.get(key)?.triangles() ?? null,
    revision: (key) => fleet.models.get(key)?.edition.revision ?? null,
    camera: () => ({ position: stage.eye.camera.position.toArray(), target: stage.eye.controls.target.toArray() }),
    pick: (x, y) => {
      const { clientWidth: width, clientHeight: height } = byId('canvas');
      const hit = pick(new Vector2((x / width) * 2 - 1, 1 - (y / height) * 2), stage, show.models());
      const node = hit && fleet.models.get(hit.key)?.link(hit.link)?.node;
      return hit && node ? { key: hit.key, link: hit.link, point: node.worldToLocal(hit.point).toArray() } : null;
    },
    project: (key, link, point) => {
      const { clientWidth: width, clientHeight: height } = byId('canvas');
      const node = fleet.models.get(key)?.link(link)?.node;
      if (!node) return null;
      node.updateWorldMatrix(true, false);
      const at = node.localToWorld(new Vector3().fromArray(point)).project(stage.eye.camera);
      return [((at.x + 1) / 2) * width, ((1 - at.y) / 2) * height];
    },
    marked,
    weighed,
    frame: () => stage.frame,
  };
}

start();
