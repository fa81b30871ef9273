// What a reader can do with a chart: point at marks, walk them with arrow keys, hide, select and switch.

function chip(parent, label, style, pressed, change) {
  const button = add(parent, "button", { type: "button", class: `chip ${style.colour}`, "aria-pressed": String(pressed) });
  const swatch = draw(button, "svg", { class: "swatch", viewBox: "0 0 18 12", "aria-hidden": "true" });
  if (style.line !== undefined) draw(swatch, "line", { class: `line ${style.line}`, x1: 0, x2: 18, y1: 6, y2: 6 });
  if (style.shape) mark(swatch, style.shape, 9, 6, 4, "");
  add(button, "span", {}, label);
  button.title = label;
  button.addEventListener("click", () => {
    const now = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(now));
    change(now);
  });
  return button;
}

function chips(parent, name, labels, styles, hidden, redraw) {
  const group = add(parent, "div", { class: "chips", role: "group", "aria-label": name });
  labels.forEach((label, i) => {
    chip(group, label, styles(i), !hidden.has(i), (shown) => {
      if (shown) hidden.delete(i);
      else hidden.add(i);
      redraw();
    });
  });
  return group;
}

function choice(parent, name, labels, chosen, change) {
  const label = add(parent, "label", { class: "choice" });
  add(label, "span", {}, name);
  const select = add(label, "select", {});
  labels.forEach((text, i) => {
    const option = add(select, "option", { value: String(i) }, text);
    option.selected = i === chosen;
  });
  select.addEventListener("change", () => change(Number(select.value)));
  return select;
}

function logSwitch(parent, state, redraw) {
  const button = add(parent, "button", { type: "button", class: "switch", "aria-pressed": String(state.log) }, "log scale");
  button.addEventListener("click", () => {
    state.log = !state.log;
    button.setAttribute("aria-pressed", String(state.log));
    redraw();
  });
}

// How far a point is from a mark's box.
function away(hit, x, y) {
  const dx = Math.max(hit.x0 - x, 0, x - hit.x1);
  const dy = Math.max(hit.y0 - y, 0, y - hit.y1);
  return Math.hypot(dx, dy);
}

const around = (x, y, r, lines) => ({ x0: x - r, x1: x + r, y0: y - r, y1: y + r, lines });

// All series at one place of the axis: a crosshair, and a line of text for each.
const column = (x, top, bottom, lines) => ({ across: true, x0: x, x1: x, y0: top, y1: bottom, lines });

// A line of a tooltip: a text, or a series' colour and its text.
function tipLine(tip, line, first) {
  const { text, colour } = typeof line === "string" ? { text: line } : line;
  const row = add(tip, first ? "strong" : "p", colour ? { class: colour } : {});
  if (colour) add(row, "i", { "aria-hidden": "true" });
  row.append(text);
}

// A tooltip for the nearest mark, or for all series at the nearest place; arrow keys go from one to the next, and a
// screen reader hears each.
function tooltips(canvas, svg, hits) {
  const tip = add(canvas, "div", { class: "tip", role: "status", "aria-live": "polite" });
  tip.hidden = true;
  let current = -1;
  const hide = () => {
    tip.hidden = true;
    svg.querySelector(".ring, .crosshair")?.remove();
    current = -1;
  };
  const show = (index) => {
    const hit = hits()[index];
    if (!hit) return hide();
    if (index === current && !tip.hidden) return undefined;
    current = index;
    tip.replaceChildren();
    hit.lines.forEach((line, i) => tipLine(tip, line, !i));
    tip.hidden = false;
    svg.querySelector(".ring, .crosshair")?.remove();
    if (hit.across) {
      draw(svg, "line", { class: "crosshair", x1: hit.x0, x2: hit.x0, y1: hit.y0, y2: hit.y1 });
      const room = canvas.clientWidth - tip.offsetWidth;
      const right = hit.x0 + 14 <= room ? hit.x0 + 14 : hit.x0 - 14 - tip.offsetWidth;
      tip.style.left = `${right >= 0 ? right : Math.max(room / 2, 0)}px`;
      tip.style.top = `${right >= 0 ? hit.y0 : hit.y1 + 24}px`;
      return undefined;
    }
    const box = { x: hit.x0 - 3, y: hit.y0 - 3, width: hit.x1 - hit.x0 + 6, height: hit.y1 - hit.y0 + 6, rx: 9 };
    draw(svg, "rect", { class: "ring", ...box });
    const middle = (hit.x0 + hit.x1) / 2;
    const left = Math.min(Math.max(middle - tip.offsetWidth / 2, 0), Math.max(canvas.clientWidth - tip.offsetWidth, 0));
    const above = hit.y0 - tip.offsetHeight - 10;
    tip.style.left = `${left}px`;
    tip.style.top = `${above >= 0 ? above : hit.y1 + 10}px`;
    return undefined;
  };
  const nearest = (event) => {
    const frame = svg.getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
    let [best, least] = [-1, 32];
    hits().forEach((hit, i) => {
      // A place is near from anywhere above the axis; a mark of its own there comes first.
      const inside = hit.across && y >= hit.y0 - 12 && y <= hit.y1 + 12;
      const distance = inside ? 10 + Math.abs(x - hit.x0) / 1000 : hit.across ? Infinity : away(hit, x, y);
      if (distance < least) [best, least] = [i, distance];
    });
    return best;
  };
  const follow = (event) => {
    const best = nearest(event);
    if (best < 0) hide();
    else show(best);
  };
  canvas.addEventListener("pointermove", follow);
  canvas.addEventListener("pointerdown", follow);
  canvas.addEventListener("pointerleave", hide);
  svg.addEventListener("blur", hide);
  svg.addEventListener("keydown", (event) => {
    const count = hits().length;
    const moves = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    if (event.key === "Escape") hide();
    else if (event.key in moves && count) {
      event.preventDefault();
      show(current < 0 ? (moves[event.key] > 0 ? 0 : count - 1) : (current + moves[event.key] + count) % count);
    }
  });
  return hide;
}

const CHARTS = {};

function mount(figure, spec) {
  const chart = CHARTS[spec.kind];
  const state = { hidden: new Set(), off: new Set(), measure: spec.first || 0, log: Boolean(spec.log), against: spec.against || 0, slice: {} };
  (spec.series || []).forEach((series, i) => series.shown === false && state.hidden.add(i));
  const controls = add(figure, "div", { class: "controls" });
  const canvas = add(figure, "div", { class: "canvas" });
  const text = `Chart: ${spec.title}. The arrow keys go from value to value; the tables below have all numbers.`;
  const svg = draw(canvas, "svg", { role: "img", tabindex: "0", "aria-label": text });
  tools(figure, spec.title, () => chart.data(spec), svg);
  let [hits, width] = [[], 0];
  const hide = tooltips(canvas, svg, () => hits);
  const redraw = () => {
    hide();
    svg.replaceChildren();
    const drawing = chart.draw(spec, state, svg, width);
    hits = drawing.hits;
    svg.setAttribute("viewBox", `0 0 ${width} ${drawing.height}`);
    svg.setAttribute("width", width);
    svg.setAttribute("height", drawing.height);
  };
  const rebuild = () => {
    controls.replaceChildren();
    chart.controls?.(spec, state, controls, redraw, () => {
      rebuild();
      redraw();
    });
  };
  rebuild();
  const fit = () => {
    const now = Math.floor(canvas.clientWidth);
    if (now > 0 && now !== width) {
      width = now;
      redraw();
    }
  };
  fit();
  new ResizeObserver(fit).observe(canvas);
}
