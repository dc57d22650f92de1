"use strict";

// Names come from the network: show everything through textContent, parse nothing as HTML.

const MAX_ROWS = 1000;
/** Time between requests, in ms. */
const INTERVAL = 2000;

let index = { bridges: [], unreadable: [], truncated: false };

function cell(...children) {
  const element = document.createElement("td");
  element.append(...children);
  return element;
}

/** Returns a link to the viewer of a bridge, or its name if the address is not one of the web. */
function viewer(bridge) {
  if (!/^https?:\/\//.test(bridge.url ?? "")) return bridge.bridge;
  return Object.assign(document.createElement("a"), { href: bridge.url, textContent: bridge.bridge });
}

/** Returns the state of a robot in one word: while its bridge is lost, its state is unknown. */
function state(bridge, robot) {
  if (!bridge.live) return "lost";
  return robot.presence === "live" ? robot.state : robot.presence;
}

/** The states that come first, since not all robots of a large fleet are shown. */
const URGENT = ["error", "lost", "gone"];
const collator = new Intl.Collator(undefined, { numeric: true });

function compare(a, b) {
  const rank = (row) => (URGENT.includes(row.state) ? URGENT.indexOf(row.state) : URGENT.length);
  return rank(a) - rank(b) || collator.compare(a.bridge.bridge, b.bridge.bridge) || collator.compare(a.robot.key, b.robot.key);
}

function show() {
  const words = document.getElementById("filter").value.toLowerCase().split(/\s+/);
  const all = index.bridges.flatMap((bridge) => bridge.robots.map((robot) => ({ bridge, robot, state: state(bridge, robot) })));
  const found = all.filter(({ bridge, robot, state }) => {
    const text = `${robot.key} ${robot.name} ${bridge.bridge} ${bridge.host} ${state}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  found.sort(compare);
  const rows = found.slice(0, MAX_ROWS).map(({ bridge, robot, state }) => {
    const row = document.createElement("tr");
    row.className = state;
    const links = robot.counts?.links ?? "";
    row.append(cell(robot.key), cell(state), cell(viewer(bridge)), cell(bridge.host), cell(robot.revision ?? ""), cell(links), cell(robot.message));
    return row;
  });
  document.getElementById("robots").replaceChildren(...rows);
  document.getElementById("more").textContent = found.length > MAX_ROWS ? `and ${found.length - MAX_ROWS} more: narrow the filter` : "";
  const lost = index.bridges.filter((bridge) => !bridge.live).length;
  const descriptions = new Set(all.map(({ robot }) => robot.sha256).filter(Boolean)).size;
  const parts = [`${all.length} robots of ${descriptions} descriptions`, `${index.bridges.length} bridges${lost ? `, ${lost} lost` : ""}`];
  if (index.unreadable.length) parts.push(`${index.unreadable.length} unreadable announcements`);
  if (index.truncated) parts.push("truncated: too many bridges");
  document.getElementById("totals").textContent = parts.join(" · ");
}

async function refresh() {
  try {
    const response = await fetch("api/fleet");
    if (!response.ok) throw new Error(await response.text());
    index = await response.json();
    show();
  } catch (error) {
    document.getElementById("totals").textContent = error.message;
  }
  setTimeout(refresh, INTERVAL);
}

document.getElementById("filter").addEventListener("input", show);
refresh();
