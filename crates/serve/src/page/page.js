"use strict";

// Names come from the network: show everything through textContent, parse nothing as HTML.

const most = 200;

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

function size(bytes) {
  const units = ["B", "kB", "MB", "GB"];
  let unit = 0;
  while (bytes >= 1000 && unit < units.length - 1) {
    bytes /= 1000;
    unit += 1;
  }
  return `${unit ? bytes.toFixed(1) : bytes} ${units[unit]}`;
}

function place(where) {
  const line = where.line ? `:${where.line}${where.column ? `:${where.column}` : ""}` : "";
  return `${where.file ?? (line ? "description" : "")}${line}`;
}

function section(title, open, ...content) {
  return make("details", { open }, make("summary", { textContent: title }), ...content);
}

function link(key, path) {
  const encode = (text) => text.split("/").map(encodeURIComponent).join("/");
  return make("a", { href: `assets/${encode(key)}/${encode(path)}`, textContent: path });
}

function files(robot) {
  const rows = robot.files.map((file) =>
    make("tr", {}, make("td", {}, link(robot.key, file.path)), make("td", { className: "number", textContent: size(file.bytes) })),
  );
  const head = make("tr", {}, make("th", { textContent: "file" }), make("th", { className: "number", textContent: "size" }));
  return section(`${robot.files.length} files`, true, make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
}

function finding(item) {
  const at = place(item.where);
  const entry = make("li", {}, make("span", { className: item.severity, textContent: item.severity }), ` ${item.message}`);
  entry.append(make("span", { className: "dim", textContent: ` ${at ? `${at} · ` : ""}${item.code}${item.help ? ` · ${item.help}` : ""}` }));
  return entry;
}

function list(items, toEntry) {
  const entries = items.slice(0, most).map(toEntry);
  if (items.length > most) entries.push(make("li", { textContent: `… and ${items.length - most} more` }));
  return make("ul", { className: "findings" }, ...entries);
}

function frames(view) {
  const items = list(view.findings, (item) =>
    make("li", {}, make("code", { textContent: item.frame }), ` ${item.verdict}: ${item.detail}`),
  );
  return section(`Frames: ${view.ok} of ${view.total} match the asset`, false, items);
}

function card(robot) {
  const revision = robot.revision === null ? "no asset yet" : `revision ${robot.revision}`;
  const time = new Date(robot.time * 1000).toLocaleString();
  const article = make("article", {},
    make("header", {}, make("h2", { textContent: robot.name }), make("span", { className: "dim", textContent: `${revision} · ${time}` })),
    make("p", {}, make("span", { className: `state ${robot.state}`, textContent: robot.state }), ` ${robot.message}`),
  );
  if (robot.counts) {
    const parts = Object.entries(robot.counts).map(([what, count]) => `${count} ${what}`);
    article.append(make("p", { className: "dim", textContent: parts.join(", ") }));
  }
  if (robot.directory && !robot.message.includes(robot.directory)) article.append(make("p", { className: "dim", textContent: robot.directory }));
  if (robot.files.length) article.append(files(robot));
  if (robot.frames) article.append(frames(robot.frames));
  const count = robot.diagnostics.length;
  if (count) article.append(section(`${count} finding${count === 1 ? "" : "s"}`, robot.state === "error", list(robot.diagnostics, finding)));
  return article;
}

async function show() {
  const response = await fetch("api/robots");
  if (!response.ok) throw new Error(response.statusText);
  const robots = await response.json();
  document.getElementById("empty").hidden = robots.length > 0;
  const box = document.getElementById("robots");
  const open = new Map();
  for (const element of box.querySelectorAll("details")) open.set(element.dataset.place, element.open);
  box.replaceChildren(...robots.map((robot) => {
    const article = card(robot);
    article.querySelectorAll("details").forEach((element) => {
      // Keep what the user has opened or closed when the page is updated.
      element.dataset.place = `${robot.key} ${element.firstChild.textContent.replace(/\d+/g, "")}`;
      if (open.has(element.dataset.place)) element.open = open.get(element.dataset.place);
    });
    return article;
  }));
}

let busy = false;
let again = false;

async function refresh() {
  again = true;
  if (busy) return;
  busy = true;
  const connection = document.getElementById("connection");
  while (again) {
    again = false;
    try {
      await show();
      connection.textContent = "live";
    } catch {
      connection.textContent = "the node does not answer";
    }
  }
  busy = false;
}

const events = new EventSource("events");
for (const kind of ["resync", "revision", "diagnostics", "frames"]) events.addEventListener(kind, refresh);
events.onerror = () => {
  document.getElementById("connection").textContent = "not connected; trying again";
};
