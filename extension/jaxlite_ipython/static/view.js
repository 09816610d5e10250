// The widget of a view, in a notebook (anywidget) and in a saved page. In: `views`, a list of what
// View.payload() returns (picture, facts, text). Out: the picture with keys, search and details.
// Plain browser code: no library, no request.

const NARROW = 560; // below this many pixels the lanes are shown as a list
const KEYS = [
  ["← → ↑ ↓", "move along the arrows of the graph"],
  ["Enter", "open or close the details"],
  ["/", "find: name, op, shape, or :3 for line 3"],
  ["n  N", "next, previous match"],
  ["p", "pin, to compare with others"],
  ["d", "compare with another view of the same kind"],
  ["c", "copy code or details"],
  ["0  +  -", "fit, larger, smaller (also Ctrl and wheel)"],
  ["e", "export the picture as SVG"],
  ["?", "these keys"],
  ["Esc", "close, then back to the cell"],
];
const ARROWS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

// Make an element: h("button.name", { attributes, onclick }, children or text ...).
function h(kind, attributes = {}, ...children) {
  const [tag, ...classes] = kind.split(".");
  const node = document.createElement(tag || "div");
  if (classes.length) node.className = classes.join(" ");
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.flat(3).filter((c) => c !== null && c !== undefined && c !== ""));
  return node;
}

function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let k = 0;
  while (n >= 1023.95 && k < 4) [n, k] = [n / 1024, k + 1];
  return `${n.toFixed(k ? 1 : 0)} ${units[k]}`;
}

function isDark() {
  const { body, documentElement: html } = document;
  if (body.dataset.jpThemeLight) return body.dataset.jpThemeLight === "false";
  const code = /vscode-(high-contrast-light|high-contrast|dark|light)/.exec(body.className);
  if (code) return code[1] === "dark" || code[1] === "high-contrast";
  if (html.hasAttribute("theme")) return html.getAttribute("theme") === "dark"; // Colab
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // No permission, or a page that is not secure: the old way.
    const area = h("textarea", { style: "position:fixed;opacity:0" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

// All nodes that can be reached from `start`, itself included.
function reach(start, next) {
  const seen = new Set([start]);
  const todo = [start];
  while (todo.length) {
    for (const id of next.get(todo.pop()) || []) if (!seen.has(id)) seen.add(id) && todo.push(id);
  }
  return seen;
}

// One view: the picture, what is selected in it, and the details.
class Pane {
  constructor(app, view) {
    this.app = app;
    this.view = view;
    this.data = view.data;
    this.nodes = new Map((this.data.nodes || []).map((n) => [n.id, { ...n, el: null }]));
    this.order = [...this.nodes.keys()];
    this.reads = new Map();
    this.feeds = new Map();
    for (const e of this.data.edges || []) {
      this.feeds.set(e.from, [...(this.feeds.get(e.from) || []), e.to]);
      this.reads.set(e.to, [...(this.reads.get(e.to) || []), e.from]);
    }
    this.pins = new Set();
    this.hidden = new Set();
    this.added = new Set();
    this.removed = [];
    this.other = null;
    this.matches = [];
    this.form = 0;
    this.selected = null;
    this.isOpen = false;
    this.build();
  }

  // --- the picture ---

  build() {
    const holder = document.createElement("template");
    holder.innerHTML = this.view.svg;
    const svg = (this.svg = holder.content.querySelector("svg"));
    const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    let [top, bottom, right] = [0, height, width];
    this.bands = [];
    const parts = {};
    for (const part of svg.querySelectorAll(".jxl-part")) {
      const kind = [...part.classList].find((c) => c !== "jxl-part").slice(4);
      const [y, size] = [Number(part.dataset.y), Number(part.dataset.h)];
      part.remove();
      if (kind === "aside") right = Number(part.dataset.x);
      else if (kind === "header" || kind === "figures") top = Math.max(top, y + size);
      else bottom = Math.min(bottom, y);
      if (kind !== "header" && kind !== "aside") parts[kind] = this.band(svg, part, y, size, width);
    }
    this.size = { width: right - 2, height: bottom - top };
    this.home = [1, top, right - 2, bottom - top];
    this.box = [...this.home];
    svg.setAttribute("viewBox", this.box.join(" "));
    for (const name of ["role", "aria-labelledby", "width", "height"]) svg.removeAttribute(name);
    svg.setAttribute("aria-hidden", "true");
    for (const node of this.nodes.values()) {
      const id = CSS.escape(`${this.view.prefix}-${node.id}`);
      node.el = svg.querySelector(`#${id}`);
      node.side = svg.querySelector(`#${id}-side`);
      if (node.el) node.el.classList.add("jxl-node");
    }
    this.edges = [...svg.querySelectorAll(".jxl-edge")].map((el) => ({
      el,
      a: el.dataset.a.slice(this.view.prefix.length + 1),
      b: el.dataset.b.slice(this.view.prefix.length + 1),
    }));
    this.canvas = h("div.jxl-canvas", {}, svg);
    this.list = this.stacked();
    this.strip = h("div.jxl-strip");
    this.side = h("div.jxl-aside");
    const split = right < width ? ".jxl-split" : "";
    this.below = parts.strip || null;
    this.main = h(`div.jxl-main${split}`, {}, h("div.jxl-left", {}, this.canvas, this.list), this.side);
    const rows = [parts.figures, this.main, this.strip, parts.plot, this.tables(), parts.legend];
    this.el = h("div.jxl-pane", {}, rows);
    this.listen();
    this.show();
    const first = this.data.selected || (split && this.data.sources?.[0]?.node);
    if (first && this.nodes.has(first)) {
      this.isOpen = true;
      this.select(first, false);
    }
  }

  // A part of the picture as a picture of its own.
  band(svg, part, y, size, width) {
    const own = svg.cloneNode(false);
    this.bands.push(own);
    for (const name of ["id", "aria-labelledby", "width", "height"]) own.removeAttribute(name);
    own.setAttribute("viewBox", `1 ${y} ${width - 2} ${size}`);
    own.setAttribute("aria-hidden", "true");
    own.append(part);
    return h("div.jxl-band", {}, own);
  }

  // The lanes as a list, for narrow places.
  stacked() {
    const lanes = this.data.lanes;
    if (!lanes) return null;
    const chip = (n) =>
      h("button.jxl-chip", { type: "button", "data-node": n.id, onclick: () => this.pick(n.id) },
        h("b", {}, n.label), h("code", {}, n.type || ""));
    const all = [...this.nodes.values()];
    const row = (number, text, nodes) =>
      nodes.length || text
        ? h("li", {}, h("span.jxl-no", {}, `${number ?? ""}`), h("code.jxl-code", {}, text),
            h("div.jxl-chips", {}, nodes.map(chip)))
        : null;
    const free = all.filter((n) => n.lane === null || n.lane === undefined);
    const isEnd = (n) => n.kind === "output";
    return h("ol.jxl-list", {},
      row("", "inputs", free.filter((n) => !isEnd(n))),
      lanes.map((lane, k) => row(lane.line, lane.text, all.filter((n) => n.lane === k))),
      row("", "outputs", free.filter(isEnd)));
  }

  tables() {
    return (this.data.tables || []).map((t) =>
      h("details.jxl-table", { open: t.open }, h("summary", {}, t.title),
        h("table", {}, h("thead", {}, h("tr", {}, (t.head || []).map((c) => h("th", {}, `${c}`)))),
          h("tbody", {}, t.rows.map((r) => h("tr", {}, r.map((c) => h("td", {}, `${c ?? ""}`))))))));
  }

  nodeAt(target) {
    const el = target.closest?.(".jxl-node");
    return el ? [...this.nodes.values()].find((n) => n.el === el) : null;
  }

  listen() {
    const { canvas, svg } = this;
    let drag = null;
    canvas.addEventListener("pointerover", (e) => this.hover(this.nodeAt(e.target)?.id));
    canvas.addEventListener("pointerleave", () => this.hover(null));
    canvas.addEventListener("pointerdown", (e) => {
      if (e.button === 0 && this.box[2] < this.home[2]) drag = { x: e.clientX, y: e.clientY, box: this.box };
    });
    canvas.addEventListener("pointermove", (e) => {
      if (!drag) return;
      const scale = this.box[2] / svg.clientWidth;
      const [x, y, w, hh] = drag.box;
      this.zoomTo([x - (e.clientX - drag.x) * scale, y - (e.clientY - drag.y) * scale, w, hh]);
    });
    canvas.addEventListener("pointerup", () => (drag = null));
    canvas.addEventListener("click", (e) => {
      this.app.wheels = true;
      const node = this.nodeAt(e.target);
      if (node) this.pick(node.id);
    });
    canvas.addEventListener("wheel", (e) => {
      if (!(e.ctrlKey || e.metaKey || (this.app.wheels && this.app.hasFocus()))) return;
      e.preventDefault();
      const r = svg.getBoundingClientRect();
      this.zoom(e.deltaY > 0 ? 1.15 : 1 / 1.15, (e.clientX - r.left) / r.width, (e.clientY - r.top) / r.height);
    }, { passive: false });
  }

  zoom(k, fx = 0.5, fy = 0.5) {
    const [x, y, w, hh] = this.box;
    const size = Math.min(Math.max(w * k, this.home[2] / 12), this.home[2]);
    const ratio = size / w;
    this.zoomTo([x + w * fx * (1 - ratio), y + hh * fy * (1 - ratio), size, hh * ratio]);
  }

  zoomTo([x, y, w, hh]) {
    const [x0, y0, w0, h0] = this.home;
    this.box = [Math.min(Math.max(x, x0), x0 + w0 - w), Math.min(Math.max(y, y0), y0 + h0 - hh), w, hh];
    this.svg.setAttribute("viewBox", this.box.map((v) => v.toFixed(2)).join(" "));
    this.canvas.classList.toggle("jxl-zoomed", w < w0);
  }

  // Scale with the room, but keep letters readable: then the picture scrolls sideways.
  fit(room, all) {
    const clamp = (scale) => Math.min(Math.max(scale, 0.72), 1.2);
    const scale = clamp(room / this.size.width);
    this.svg.style.width = `${Math.floor(this.size.width * scale)}px`;
    this.svg.style.height = `${Math.ceil(this.size.height * scale)}px`;
    for (const band of this.bands) {
      const width = Number(band.getAttribute("viewBox").split(" ")[2]);
      band.style.width = `${Math.floor(width * clamp(all / width))}px`;
    }
  }

  // --- selection ---

  pick(id) {
    this.isOpen = !(this.isOpen && this.selected === id);
    this.select(id);
  }

  select(id, aloud = true) {
    if (this.selected !== id) this.form = 0;
    this.selected = id;
    this.show();
    if (id === null) return;
    const node = this.nodes.get(id);
    this.reveal(node);
    if (aloud) this.app.say(this.spoken(node));
  }

  spoken(node) {
    const names = (ids) => (ids || []).map((i) => this.nodes.get(i)?.label).filter(Boolean).join(", ");
    const [from, to] = [names(this.reads.get(node.id)), names(this.feeds.get(node.id))];
    return [node.label, node.type, node.line ? `line ${node.line}` : "",
      `${this.order.indexOf(node.id) + 1} of ${this.order.length}`,
      from && `reads ${from}`, to && `feeds ${to}`].filter(Boolean).join(", ");
  }

  // Bring a node into the part of the picture that is seen.
  reveal(node) {
    if (!node.el?.isConnected) return;
    const b = node.el.getBBox();
    const [x, y, w, hh] = this.box; // what is seen of the picture when it is enlarged
    const out = b.x < x || b.y < y || b.x + b.width > x + w || b.y + b.height > y + hh;
    if (out) this.zoomTo([b.x + b.width / 2 - w / 2, b.y + b.height / 2 - hh / 2, w, hh]);
    const c = this.canvas;
    const [a, r] = [node.el.getBoundingClientRect(), c.getBoundingClientRect()];
    if (a.left < r.left || a.right > r.right) c.scrollLeft += a.left - r.left - 24;
    if (a.top < r.top || a.bottom > r.bottom) c.scrollTop += a.top - r.top - r.height / 2;
  }

  hover(id) {
    const lit = id ? new Set([id, ...(this.reads.get(id) || []), ...(this.feeds.get(id) || [])]) : null;
    const pair = id && this.nodes.get(id).pair;
    if (pair) for (const n of this.nodes.values()) if (n.pair === pair) lit.add(n.id);
    this.light(lit, (e) => e.a === id || e.b === id);
  }

  // Dim what is not in `lit`; null lights everything.
  light(lit, isLitEdge) {
    for (const n of this.nodes.values()) {
      for (const el of [n.el, n.side]) el?.classList.toggle("jxl-dim", lit !== null && !lit.has(n.id));
    }
    for (const e of this.edges) e.el.classList.toggle("jxl-dim", lit !== null && !isLitEdge(e));
  }

  // Show selection, pins, ancestors and descendants, and the strip.
  show() {
    const hot = new Set();
    for (const id of [this.selected, ...this.pins].filter(Boolean)) {
      const [up, down] = [reach(id, this.reads), reach(id, this.feeds)];
      for (const e of this.edges) if ((up.has(e.a) && up.has(e.b)) || (down.has(e.a) && down.has(e.b))) hot.add(e);
    }
    for (const e of this.edges) e.el.classList.toggle("jxl-hot", hot.has(e));
    this.svg.querySelectorAll(".jxl-ring").forEach((r) => r.remove());
    for (const n of this.nodes.values()) {
      const isSelected = n.id === this.selected;
      n.el?.classList.toggle("jxl-pinned", this.pins.has(n.id));
      if (this.added.has(n.id)) this.ring(n, ".jxl-new");
      if (n.el && (isSelected || this.pins.has(n.id))) this.ring(n, isSelected ? "" : ".jxl-pin");
      const chip = this.list?.querySelector(`[data-node="${CSS.escape(n.id)}"]`);
      chip?.setAttribute("aria-pressed", `${isSelected}`);
    }
    this.showStrip();
  }

  ring(node, kind) {
    const make = (tag) => document.createElementNS(this.svg.namespaceURI, tag);
    const [ring, plus] = [make("rect"), make("text")];
    ring.setAttribute("class", `jxl-ring ${kind.slice(1)}`);
    plus.setAttribute("class", "jxl-ring jxl-new");
    plus.textContent = "+";
    const place = () => {
      const b = (node.el.querySelector("rect,path") || node.el).getBBox();
      const sizes = { x: b.x - 4, y: b.y - 4, width: b.width + 8, height: b.height + 8, rx: 10 };
      for (const [k, v] of Object.entries(sizes)) ring.setAttribute(k, v);
      plus.setAttribute("x", b.x - 16);
      plus.setAttribute("y", b.y + 8);
    };
    this.svg.append(ring, ...(kind === ".jxl-new" ? [plus] : []));
    if (this.svg.isConnected) place();
    else requestAnimationFrame(place);
  }

  // The neighbour along an edge that lies best in the direction of the arrow key.
  move(dx, dy) {
    if (this.selected === null) return this.select(this.order[0] ?? null);
    const at = this.centre(this.selected);
    const forward = dx + dy > 0;
    const along = [...((forward ? this.feeds : this.reads).get(this.selected) || [])];
    const other = [...((forward ? this.reads : this.feeds).get(this.selected) || [])];
    const score = (id) => {
      const c = this.centre(id);
      const [x, y] = [c[0] - at[0], c[1] - at[1]];
      return (x * dx + y * dy) / (Math.hypot(x, y) || 1);
    };
    const best = (ids, least) => ids.filter((i) => score(i) > least).sort((a, b) => score(b) - score(a))[0];
    let next = best([...along, ...other], 0.5) ?? best(along, -2);
    if (next === undefined && !this.edges.length) {
      next = this.order[this.order.indexOf(this.selected) + (forward ? 1 : -1)];
    }
    if (next === undefined) return this.app.say(forward ? "nothing reads this" : "this reads nothing");
    return this.select(next);
  }

  // Hide the nodes that filters name, and the edges at them.
  hide() {
    const isHidden = (id) => {
      const el = this.nodes.get(id)?.el;
      return Boolean(el) && [...this.hidden].some((css) => el.classList.contains(css));
    };
    for (const [id, n] of this.nodes) if (n.el) n.el.style.display = isHidden(id) ? "none" : "";
    for (const e of this.edges) e.el.style.display = isHidden(e.a) || isHidden(e.b) ? "none" : "";
  }

  centre(id) {
    const el = this.nodes.get(id).el;
    const b = el?.isConnected ? el.getBBox() : { x: 0, y: this.order.indexOf(id), width: 0, height: 0 };
    return [b.x + b.width / 2, b.y + b.height / 2];
  }

  pin() {
    if (this.selected === null) return;
    const id = this.selected;
    if (!this.pins.delete(id)) this.pins.add(id);
    this.isOpen = true;
    this.show();
    this.app.say(`${this.nodes.get(id).label} ${this.pins.has(id) ? "pinned" : "no longer pinned"}`);
  }

  // --- comparing ---

  // Mark what `other` (a pane of the same kind) has not; tell what only `other` has. Null ends it.
  compare(other) {
    const keys = (pane) => pane.order.map((id) => {
      const n = pane.nodes.get(id);
      return [id, [pane.data.lanes?.[n.lane]?.text ?? n.kind, n.label, n.type].join("  ")];
    });
    const without = (mine, theirs) => {
      const left = theirs.map(([, key]) => key);
      return mine.filter(([, key]) => !left.includes(key) || !left.splice(left.indexOf(key), 1));
    };
    this.other = other;
    const [own, others] = other ? [keys(this), keys(other)] : [[], []];
    this.added = new Set(without(own, others).map(([id]) => id));
    this.removed = without(others, own).map(([, key]) => `\u2212 ${key}`);
    this.show();
    this.app.say(other ? `${this.added.size} added, ${this.removed.length} removed` : "no comparison");
  }

  differences() {
    const names = [...this.added].map((id) => `+ ${this.nodes.get(id).label}  ${this.nodes.get(id).type}`);
    return h("div.jxl-fields", { role: "group", "aria-label": "differences" },
      this.field({ title: "added, only here", code: names.length ? names : ["nothing"] }),
      this.field({ title: "removed, only in the other view", code: this.removed.length ? this.removed : ["nothing"] }));
  }

  // --- finding ---

  find(query) {
    const text = query.trim().toLowerCase();
    const line = /^:(\d+)$/.exec(text);
    const lanes = this.data.lanes || [];
    const hay = (n) => [n.label, n.type, n.words, lanes[n.lane]?.text].join(" ").toLowerCase();
    const isMatch = line ? (n) => `${n.line}` === line[1] : (n) => hay(n).includes(text);
    this.matches = text ? this.order.filter((id) => isMatch(this.nodes.get(id))) : [];
    this.light(text ? new Set(this.matches) : null, () => false);
    return this.matches.length;
  }

  nextMatch(step) {
    const n = this.matches.length;
    if (!n) return;
    const at = this.matches.indexOf(this.selected);
    const place = at < 0 ? (step > 0 ? 0 : n - 1) : (at + step + n) % n;
    this.select(this.matches[place]);
    this.app.count(`${place + 1} of ${n}`);
  }

  // --- the strip ---

  showStrip() {
    const pins = [...this.pins].filter((id) => id !== this.selected);
    const isOpen = this.isOpen && this.selected !== null;
    const { panel } = this.data;
    const rows = isOpen ? [this.fields(this.selected)] : [];
    if (panel) {
      const beside = h("div.jxl-fields", { role: "group", "aria-label": "fixes" }, panel.map((f) => this.field(f)));
      rows.splice(0, 1, h("div.jxl-report", {}, rows, beside));
    }
    const source = this.source(isOpen ? this.selected : null);
    const isSplit = this.main.classList.contains("jxl-split");
    if (isSplit) this.side.replaceChildren(...(source ? [source] : []));
    for (const id of pins) rows.push(this.pinned(id));
    if (this.other) rows.push(this.differences());
    const quiet = rows.length || !this.below ? [] : [this.below];
    this.strip.replaceChildren(...rows, ...(source && !isSplit ? [source] : []), ...quiet);
  }

  fields(id) {
    const given = this.data.details?.[id] || this.usual(id);
    const path = this.path(id);
    const all = path ? [...given, { title: "path to here", code: [path] }] : given;
    return h("div.jxl-fields", { role: "group", "aria-label": `details of ${this.nodes.get(id).label}` },
      all.map((f) => this.field(f)));
  }

  field(f) {
    const bar = ([label, value, share]) =>
      h("div.jxl-bar", {}, h("span", {}, label), h("i", {}, h("u", { style: `width:${100 * share}%` })), h("code", {}, value));
    const cell = (c) => (c.map ? c.map((p, k) => (k % 2 ? h("mark", {}, p) : p)) : c);
    const line = (c) => h(`code.jxl-line${(f.tone === "diff" && { "+": ".jxl-add", "-": ".jxl-del" }[c[0]]) || ""}`, {}, c);
    return h(`div.jxl-field${f.tone ? `.jxl-${f.tone}` : ""}`, {},
      h("div.jxl-lab", {}, f.title || "", f.badge ? h("span.jxl-save", {}, f.badge) : null, f.copy ? this.app.copyButton(f.copy) : null,
        f.cell ? h("button.jxl-btn", { type: "button", onclick: () => this.app.toCell(f.cell) }, `Cell ${f.cell}`) : null),
      f.big ? h("div.jxl-big", {}, f.big) : null,
      f.histogram ? h("div.jxl-hist", { "aria-hidden": "true" },
        f.histogram.map((v) => h("i", { style: `height:${Math.max(100 * v, 2)}%` }))) : null,
      f.rows ? h("table.jxl-rows", {}, f.rows.map((r, k) => h("tr", {}, r.map((c) => h(k ? "td" : "th", {}, cell(c)))))) : null,
      (f.code || []).map(line),
      (f.bars || []).map(bar),
      (f.lines || []).filter(Boolean).map((l) => h("div.jxl-note", {}, l)),
      f.warn ? h("div.jxl-warn", {}, "◢ ", f.warn) : null);
  }

  // What is known of every node, where the view says nothing of its own.
  usual(id) {
    const n = this.nodes.get(id);
    const ops = this.order.filter((i) => this.nodes.get(i).kind === n.kind);
    const names = (ids) => [...new Set((ids || []).map((i) => this.where(i)))].join(", ");
    const [from, to] = [names(this.reads.get(id)), names(this.feeds.get(id))];
    const place = `${n.kind || "node"} ${ops.indexOf(id) + 1} of ${ops.length}`;
    const title = ["selected", n.line ? `line ${n.line}` : "", place].filter(Boolean).join(" · ");
    const size = n.bytes === undefined ? "" : ` · ${bytes(n.bytes)}`;
    return [
      { title, big: n.label, code: [`${n.type || ""}${size}`], lines: [n.lane === null || n.lane === undefined ? "" : this.data.lanes?.[n.lane]?.text] },
      { title: "reads and feeds", lines: [from && `reads ${from}`, to && `feeds ${to}`] },
      ...(n.detail || n.notes?.length ? [{ title: "notes", lines: [...(n.notes || []), n.detail] }] : []),
    ];
  }

  where(id) {
    const n = this.nodes.get(id);
    return n.line ? `${n.label} (line ${n.line})` : n.label;
  }

  path(id) {
    const steps = [];
    for (let at = id; at && steps.length < 9; at = (this.reads.get(at) || [])[0]) steps.unshift(this.nodes.get(at).label);
    if (steps.length === 9) steps[0] = "…";
    return steps.length > 1 ? steps.join(" → ") : "";
  }

  pinned(id) {
    const first = (this.data.details?.[id] || this.usual(id)).slice(0, 3);
    const drop = () => (this.pins.delete(id), this.show(), this.app.root.focus());
    return h("div.jxl-fields.jxl-pins", {}, h("div.jxl-field", {}, h("span.jxl-pill", {}, "pinned"),
      h("button.jxl-btn", { type: "button", onclick: drop, "aria-label": `unpin ${this.nodes.get(id).label}` }, "Unpin")),
      first.map((f) => this.field(f)));
  }

  source(id) {
    const source = (this.data.sources || []).find((s) => s.node === id);
    if (!source) return null;
    const form = source.forms[Math.min(this.form, source.forms.length - 1)];
    const of = form.of || [];
    const used = [...new Set(of.filter((k) => k !== null))];
    const keys = source.user.map((u) => u.key);
    const row = (key, number, mark, text) => {
      const style = used.length && used.includes(key) || number === null ? keys.indexOf(key) % 4 : -1;
      return h(`div.jxl-src${style >= 0 ? `.jxl-s${style}` : ""}`, { "data-key": key ?? "" },
        h("span", {}, `${number ?? ""}`), h("i", {}, `${mark ?? ""}`), h("code", {}, text));
    };
    const line = (key) => source.user.find((u) => u.key === key)?.line;
    const box = h("div.jxl-source", { tabindex: 0, role: "region", "aria-label": `source of ${this.nodes.get(id).label}` },
      h("div.jxl-user", {}, source.user.map((u) => {
        const el = row(u.key, u.line, "", u.text);
        if (used.includes(u.key) || !used.length) el.classList.add(`jxl-s${keys.indexOf(u.key) % 4}`);
        return el;
      })),
      form.lines.map((text, k) => row(of[k] ?? null, k + 1, form.marks?.[k] || line(of[k]), text)));
    const link = (e) => {
      const key = e.target.closest?.(".jxl-src")?.dataset.key ?? "";
      for (const el of box.querySelectorAll(".jxl-src")) el.classList.toggle("jxl-lit", key !== "" && el.dataset.key === key);
    };
    box.addEventListener("pointerover", link);
    box.addEventListener("pointerleave", () => link({ target: {} }));
    const tabs = source.forms.map((f, k) =>
      h("button.jxl-tab", { type: "button", role: "tab", "aria-selected": `${f === form}`, onclick: () => this.toForm(k) }, f.title));
    return h("div.jxl-code-panel", {},
      h("div.jxl-code-head", {}, h("b", {}, `${id} source`),
        h("span.jxl-sum", {}, used.length ? "stripe and number: your line it comes from" : ""), h("span.jxl-grow"),
        tabs.length > 1 ? h("div.jxl-tabs", { role: "tablist", "aria-label": "form of the code", onkeydown: (e) => this.app.onTabKey(e, e.currentTarget) }, tabs) : null,
        this.app.copyButton(form.lines.join("\n"), "c")),
      box);
  }

  toForm(k) {
    this.form = k;
    this.showStrip();
    const tab = this.el.querySelectorAll(".jxl-code-head .jxl-tab")[k];
    tab?.focus();
  }

  // What the key c copies: code if it is shown, else the details as text.
  copied() {
    const fix = (this.data.panel || []).find((f) => f.copy);
    if (fix) return fix.copy;
    const source = (this.data.sources || []).find((s) => s.node === this.selected);
    if (source && this.isOpen) return source.forms[Math.min(this.form, source.forms.length - 1)].lines.join("\n");
    if (this.selected === null) return this.view.text;
    return [...this.fields(this.selected).querySelectorAll(".jxl-lab,.jxl-big,.jxl-line,.jxl-note,.jxl-warn")]
      .map((e) => e.textContent).join("\n");
  }
}

class App {
  constructor(model, el) {
    this.model = model;
    this.wheels = false;
    this.at = 0;
    this.isText = false;
    this.root = h("div.jxl", { tabindex: 0, role: "application", "data-lm-suppress-shortcuts": "true" });
    this.live = h("div.jxl-live", { "aria-live": "polite", role: "status" });
    el.append(this.root);
    this.stops = [this.followTheme(), this.followWidth()];
    this.root.addEventListener("keydown", (e) => this.onKey(e));
    this.root.addEventListener("focusout", (e) => {
      if (!this.root.contains(e.relatedTarget)) this.wheels = false;
    });
    this.load = () => this.open(this.model.get("views"));
    model.on("change:views", this.load);
    this.load();
    this.hideStatic(el);
  }

  remove() {
    this.model.off("change:views", this.load);
    for (const stop of this.stops) stop();
    for (const output of this.hidden) output.style.display = "";
    this.root.remove();
  }

  // Show views, also those that come back from Python: what was selected stays so.
  open(views) {
    const hadFocus = this.hasFocus();
    const { selected, isOpen } = this.panes?.[this.at] || {};
    this.views = views;
    this.panes = views.map(() => null);
    this.at = Math.min(this.at, views.length - 1);
    this.draw();
    if (!this.isText && this.pane.nodes.has(selected)) {
      this.pane.isOpen = isOpen;
      this.pane.select(selected, false);
    }
    if (hadFocus) this.root.focus();
    this.root.dataset.views = `${(this.shown = (this.shown || 0) + 1)}`; // how often they came
  }

  get pane() {
    return (this.panes[this.at] ||= new Pane(this, this.views[this.at]));
  }

  // --- what surrounds the picture ---

  draw() {
    const view = this.views[this.at];
    const [name, ...rest] = view.title.split(": ");
    this.root.setAttribute("aria-label", `${view.title}. Arrow keys move, question mark lists the keys.`);
    const button = (text, key, act, more = {}) =>
      h("button.jxl-btn", { type: "button", onclick: act, ...more }, text, h("kbd", { "aria-hidden": "true" }, key));
    const tab = (text, isOn, act) =>
      h("button.jxl-tab", { type: "button", role: "tab", "aria-selected": `${isOn}`, tabindex: isOn ? 0 : -1, onclick: act }, text);
    this.tabs = h("div.jxl-tabs", { role: "tablist", "aria-label": "views" },
      this.views.map((v, k) => tab(this.tabName(v), k === this.at && !this.isText, () => this.toTab(k, false))),
      tab("Text", this.isText, () => this.toTab(this.at, true)));
    this.tabs.addEventListener("keydown", (e) => this.onTabKey(e, e.currentTarget));
    this.input = h("input.jxl-find", { type: "search", placeholder: "name, op, shape, :line", "aria-label": "find in the picture", "data-lm-suppress-shortcuts": "true", spellcheck: "false" });
    this.input.addEventListener("input", () => this.onFind());
    this.counter = h("span.jxl-count");
    this.finder = h("span.jxl-finder", { hidden: "" }, this.input, this.counter);
    const { filters = [], actions = [] } = view.data;
    const own = [
      ...filters.map((f) => button(f.title, f.key, () => this.filter(f), { "aria-pressed": `${this.pane.hidden.has(f.css)}`, "data-filter": f.css })),
      ...(this.model.send ? actions.map((a) => button(a.title, a.key, () => this.act(a.key), { "aria-pressed": a.on === undefined ? null : `${a.on}` })) : []),
    ];
    const head = h("div.jxl-head", {},
      h("b", {}, view.data.function || name), h("span.jxl-sum", {}, rest.join(": ")), h("span.jxl-grow"), this.tabs,
      h("div.jxl-tools", {}, own, this.isText
        ? [this.copyButton(view.text, "c")]
        : [button("Find", "/", () => this.startFind()), this.finder, button("Fit", "0", () => this.pane.zoomTo(this.pane.home))],
        button("Keys", "?", () => this.toggleHelp(), { "aria-haspopup": "dialog" })));
    this.help = h("div.jxl-help", { hidden: "", role: "dialog", "aria-label": "keys" },
      h("b", {}, "Keys"),
      h("dl", {}, [...KEYS, ...[...filters, ...actions].map((k) => [k.key, k.title])].map(([k, t]) => [h("dt", {}, h("kbd", {}, k)), h("dd", {}, t)])),
      h("button.jxl-btn", { type: "button", onclick: () => this.toggleHelp() }, "Close"));
    const body = this.isText ? h("pre.jxl-text", { tabindex: 0, "aria-label": "the view as text" }, view.text) : this.pane.el;
    this.root.replaceChildren(head, body, this.help, this.live);
    this.layOut();
    if (!this.isText) this.pane.show();
  }

  tabName(view) {
    const same = this.views.filter((v) => v.tab === view.tab);
    return same.length > 1 ? `${view.tab} ${view.data.function ?? ""} ${same.indexOf(view) + 1}` : view.tab;
  }

  toTab(k, isText) {
    [this.at, this.isText] = [k, isText];
    this.draw();
    this.tabs.querySelector("[aria-selected=true]").focus();
    this.say(isText ? "text" : this.views[k].title);
  }

  onTabKey(e, tabs) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!step) return;
    e.preventDefault();
    e.stopPropagation();
    const all = [...tabs.children];
    all[(all.indexOf(e.target) + step + all.length) % all.length].click();
  }

  copyButton(text, key) {
    const label = key ? [h("span", {}, "Copy"), h("kbd", { "aria-hidden": "true" }, key)] : [h("span", {}, "Copy")];
    return h("button.jxl-btn", { type: "button", onclick: (e) => this.copy(text, e.currentTarget.firstChild) }, label);
  }

  async copy(text, label) {
    await copyText(text);
    this.say("copied");
    if (!label) return;
    label.textContent = "Copied";
    setTimeout(() => (label.textContent = "Copy"), 1200);
  }

  say(text) {
    this.live.textContent = text;
  }

  count(text) {
    this.counter.textContent = text;
  }

  // --- finding ---

  startFind() {
    this.finder.hidden = false;
    this.input.focus();
    this.input.select();
  }

  onFind() {
    const n = this.pane.find(this.input.value);
    this.count(this.input.value ? `${n} found` : "");
    this.say(this.input.value ? `${n} found` : "");
  }

  stopFind() {
    this.input.value = "";
    this.finder.hidden = true;
    this.count("");
    this.pane.find("");
    this.root.focus();
  }

  // --- keys ---

  onKey(e) {
    const inField = e.target === this.input;
    if (e.key === "Escape") return this.stop(e, () => this.escape());
    if (inField && e.key === "Enter") return this.stop(e, () => this.pane.nextMatch(e.shiftKey ? -1 : 1));
    if (inField || e.ctrlKey || e.metaKey || e.altKey) return undefined;
    const isButton = e.target !== this.root && e.target.closest("button,summary,a");
    if (isButton && (e.key === "Enter" || e.key === " ")) return undefined;
    if (this.isText || e.target.closest(".jxl-source")) {
      if (e.key in ARROWS) return undefined; // scrolls
    }
    const act = this.command(e.key);
    return act ? this.stop(e, act) : undefined;
  }

  stop(e, act) {
    e.preventDefault();
    e.stopPropagation();
    act();
  }

  command(key) {
    const view = this.views[this.at];
    const filter = (view.data.filters || []).find((f) => f.key === key);
    const action = this.model.send && (view.data.actions || []).find((a) => a.key === key);
    if (filter) return () => this.filter(filter);
    if (action) return () => this.act(key);
    if (key === "?") return () => this.toggleHelp();
    if (key === "c") return () => this.copy(this.isText ? view.text : this.pane.copied());
    if (this.isText) return null;
    const { pane } = this;
    if (key in ARROWS) return () => pane.move(...ARROWS[key]);
    return {
      "/": () => this.startFind(),
      Enter: () => (pane.selected === null ? pane.move(1, 0) : ((pane.isOpen = !pane.isOpen), pane.select(pane.selected))),
      p: () => pane.pin(),
      d: () => this.compare(),
      n: () => pane.nextMatch(1),
      N: () => pane.nextMatch(-1),
      0: () => pane.zoomTo(pane.home),
      "+": () => pane.zoom(1 / 1.25),
      "-": () => pane.zoom(1.25),
      e: () => this.exportSvg(),
      Home: () => pane.select(pane.order[0] ?? null),
      End: () => pane.select(pane.order.at(-1) ?? null),
    }[key];
  }

  // Compare with the next view of the same kind, or stop.
  compare() {
    const { views, at, pane } = this;
    const turned = views.map((_, k) => (at + 1 + k) % views.length);
    const next = turned.find((k) => k !== at && views[k].tab === views[at].tab);
    if (next === undefined) return this.say("no other view of this kind");
    this.panes[next] ||= new Pane(this, views[next]);
    return pane.compare(pane.other ? null : this.panes[next]);
  }

  escape() {
    if (!this.help.hidden) return this.toggleHelp();
    if (!this.finder.hidden) return this.stopFind();
    if (!this.isText && this.pane.selected !== null) {
      this.pane.isOpen = false;
      this.pane.select(null);
      this.root.focus();
      return this.say("nothing selected");
    }
    return this.leave();
  }

  // Give the focus back to the cell.
  leave() {
    const cell = this.root.closest(".jp-Cell");
    const notebook = this.root.closest(".jp-Notebook");
    document.activeElement.blur();
    if (cell?.tabIndex >= 0) cell.focus();
    else notebook?.focus();
  }

  // Go to the cell that ran with this number.
  toCell(number) {
    const prompts = [...document.querySelectorAll(".jp-InputPrompt")];
    const cell = prompts.find((p) => p.textContent.includes(`[${number}]`))?.closest(".jp-Cell");
    if (!cell) return this.say(`cell ${number} is not in this page`);
    cell.scrollIntoView({ block: "center" });
    document.activeElement.blur();
    if (cell.tabIndex >= 0) cell.focus();
    return this.say(`cell ${number}`);
  }

  toggleHelp() {
    this.help.hidden = !this.help.hidden;
    (this.help.hidden ? this.root : this.help.querySelector("button")).focus();
  }

  filter(f) {
    const { pane } = this;
    if (!pane.hidden.delete(f.css)) pane.hidden.add(f.css);
    const isHidden = pane.hidden.has(f.css);
    pane.hide();
    this.root.querySelector(`[data-filter="${CSS.escape(f.css)}"]`)?.setAttribute("aria-pressed", `${isHidden}`);
    this.say(`${f.title} ${isHidden ? "on" : "off"}`);
  }

  act(key) {
    this.model.send({ act: key, view: this.at });
    this.say("asked Python");
  }

  exportSvg() {
    const holder = document.createElement("template");
    holder.innerHTML = this.views[this.at].svg;
    const text = new XMLSerializer().serializeToString(holder.content.querySelector("svg"));
    const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    const link = h("a", { href: url, download: `${this.views[this.at].tab.toLowerCase()}.svg` });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
    this.say("picture exported");
  }

  // --- the place ---

  hasFocus() {
    return this.root.contains(document.activeElement);
  }

  followTheme() {
    const set = () => this.root.classList.toggle("jxl-dark", isDark());
    const watch = new MutationObserver(set);
    const attributeFilter = ["class", "theme", "data-jp-theme-light", "data-vscode-theme-kind"];
    for (const el of [document.body, document.documentElement]) watch.observe(el, { attributes: true, attributeFilter });
    const media = matchMedia("(prefers-color-scheme: dark)");
    media.addEventListener("change", set);
    set();
    return () => (watch.disconnect(), media.removeEventListener("change", set));
  }

  followWidth() {
    const watch = new ResizeObserver(() => this.layOut());
    watch.observe(this.root);
    return () => watch.disconnect();
  }

  layOut() {
    const width = this.root.clientWidth;
    if (!width || this.isText || !this.panes) return;
    const isNarrow = width < NARROW;
    this.root.classList.toggle("jxl-narrow", isNarrow);
    const { pane } = this;
    const hasList = isNarrow && pane.list !== null;
    pane.el.classList.toggle("jxl-stacked", hasList);
    const isSplit = pane.main.classList.contains("jxl-split") && !isNarrow;
    pane.fit(isSplit ? Math.min(width * 0.45, pane.size.width) : width, width);
  }

  // The static pictures are the outputs just in front of this one.
  hideStatic(el) {
    this.hidden = [];
    requestAnimationFrame(() => {
      let at = el.closest(".jp-OutputArea-child")?.previousElementSibling;
      for (let k = this.views.length - 1; k >= 0 && at; k--) {
        const image = at.querySelector("img");
        const mark = `${this.views[k].prefix}-title`;
        // A picture carries its name; fold-outs of text (steps) have lost theirs on the way here.
        const isOurs = image ? image.src.includes(mark) : at.querySelector(`#${CSS.escape(mark)}, details`);
        if (!isOurs) break;
        at.style.display = "none";
        this.hidden.push(at);
        at = at.previousElementSibling;
      }
    });
  }
}

function render({ model, el }) {
  const start = performance.now();
  const app = new App(model, el);
  requestAnimationFrame(() => setTimeout(() => (app.root.dataset.paintMs = (performance.now() - start).toFixed(1))));
  return () => app.remove();
}

export default { render };
