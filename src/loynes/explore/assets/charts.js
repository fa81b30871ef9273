// Small charts: lines over a linear or logarithmic axis, in the colours of reports.

const SVG = "http://www.w3.org/2000/svg";
const [W, H, L, B, T, R] = [460, 260, 52, 34, 10, 12];

function node(kind, attributes, text) {
  const made = document.createElementNS(SVG, kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

export const short = (x) => (x === 0 ? "0" : Math.abs(x) >= 1e5 || Math.abs(x) < 1e-3 ? x.toExponential(0) : String(Number(x.toPrecision(3))));

// Round numbers from 0 up to the top, four or five of them.
export function ticksTo(top) {
  const least = top / 5;
  const unit = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 2.5, 5, 10].find((one) => one * unit >= least * (1 - 1e-9)) * unit;
  return Array.from({ length: Math.floor((top / step) * (1 + 1e-9)) + 1 }, (_, k) => k * step);
}

// series: [{name, colour, points: [[x, y], ...], dots}], ring: [x, y] or null.
export function lines(place, { label, series, log, xName, yName, ring, limit }) {
  const all = series.flatMap((one) => one.points).concat(ring ? [ring] : []).filter(([, y]) => Number.isFinite(y) && (!log || y > 0));
  if (!all.length) return place.replaceChildren();
  const right = Math.max(...all.map(([x]) => x), limit ?? 0) * 1.02 || 1;
  const top = log ? 1 : Math.max(...all.map(([, y]) => y)) * 1.08 || 1;
  const floor = log ? Math.max(Math.min(...all.map(([, y]) => y)), 1e-6) : 0;
  const sx = (x) => L + ((W - L - R) * x) / right;
  const part = (y) => (log ? Math.log(Math.max(y, floor) / floor) / Math.log(top / floor || 2) : y / top);
  const sy = (y) => H - B - (H - B - T) * Math.min(part(y), 1);
  const svg = node("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": label });
  const ticks = log ? [1, 0.1, 0.01, 1e-3, 1e-4, 1e-5].filter((y) => y >= floor) : ticksTo(top);
  for (const y of ticks) {
    svg.append(node("line", { class: "grid", x1: L, x2: W - R, y1: sy(y), y2: sy(y) }));
    svg.append(node("text", { class: "tick", x: L - 6, y: sy(y) + 4, "text-anchor": "end" }, short(y)));
  }
  for (const x of ticksTo(right)) svg.append(node("text", { class: "tick", x: sx(x), y: H - B + 16, "text-anchor": "middle" }, short(x)));
  svg.append(node("text", { class: "label", x: W - R, y: H - 4, "text-anchor": "end" }, xName));
  // Where the lines are not: what falls is low at the right, what rises at the left.
  if (yName) svg.append(node("text", { class: "label", x: log ? W - R : L + 4, y: T + 10, "text-anchor": log ? "end" : "start" }, yName));
  if (limit) svg.append(node("line", { class: "limit", x1: sx(limit), x2: sx(limit), y1: T, y2: H - B }));
  for (const one of series) {
    const kept = one.points.filter(([, y]) => Number.isFinite(y) && (!log || y > 0));
    const group = node("g", { class: one.colour });
    group.append(node("polyline", { class: "line", points: kept.map(([x, y]) => `${sx(x)},${sy(y)}`).join(" ") }));
    if (one.dots) for (const [x, y] of kept) group.append(node("circle", { class: "mark", cx: sx(x), cy: sy(y), r: 3.5 }));
    group.append(node("title", {}, one.name));
    svg.append(group);
  }
  if (ring) svg.append(node("circle", { class: "ring", cx: sx(ring[0]), cy: sy(ring[1]), r: 6 }));
  return place.replaceChildren(svg);
}
