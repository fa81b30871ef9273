// The page's charts and bars; scales and marks are those of reports (drawing.js).

const HIGH = 300;
const EDGE = { left: 58, right: 14, top: 12, bottom: 48 };
const COLOURS = ["ink", "c0", "c1", "c2", "c3", "c4", "c5", "c6"];
const colourOf = (row) => (row === 0 ? "ink" : COLOURS[1 + ((row - 1) % 7)]);

// As wide as its place, so that texts keep their size.
const rightOf = (place) => Math.min(Math.max(place.clientWidth, 260), 720) - EDGE.right;
const ticksFor = (right) => (right < 400 ? 4 : 6);

function framed(place, label, across, up, names) {
  const right = rightOf(place);
  const svg = draw(document.createDocumentFragment(), "svg", { viewBox: `0 0 ${right + EDGE.right} ${HIGH}`, role: "img", "aria-label": label });
  for (const tick of up.ticks) {
    const y = up.at(tick);
    draw(svg, "line", { class: "grid", x1: EDGE.left, x2: right, y1: y, y2: y });
    draw(svg, "text", { class: "tick", x: EDGE.left - 7, y: y + 4, "text-anchor": "end" }, tickText(tick));
  }
  horizontalAxis(svg, across, EDGE.top, HIGH - EDGE.bottom, names);
  place.replaceChildren(svg);
  return svg;
}

const path = (points) => points.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

// P(wait > x): a line and a band for all jobs and for every class. series: [{ name, points: [[x, P, low, high], ...] }]
function tailsPicture(place, series, name) {
  const all = series.flatMap((one) => one.points);
  if (!all.length) return place.replaceChildren();
  const chances = all.map((point) => point[1]).filter((p) => p > 0);
  const lowest = Math.max(Math.min(...chances, 0.5), 1e-5);
  const shown = all.filter((point) => point[1] >= lowest).map((point) => point[0]);
  const across = linear(0, Math.max(...shown) || 1, EDGE.left, rightOf(place), ticksFor(rightOf(place)));
  const up = logarithmic(lowest, 1, HIGH - EDGE.bottom, EDGE.top, 6);
  const svg = framed(place, "P(wait > x) of all jobs and of every class", across, up, name);
  series.forEach((one, row) => {
    const points = one.points.filter((point) => point[1] >= lowest && point[0] <= across.high);
    if (points.length < 2) return;
    const group = draw(svg, "g", { class: colourOf(row) });
    draw(group, "title", {}, one.name);
    const at = ([x, , ,], y) => [across.at(x), up.at(Math.max(y, lowest))];
    const band = [...points.map((p) => at(p, p[3])), ...points.map((p) => at(p, p[2])).reverse()];
    draw(group, "path", { class: "band", d: `${path(band)}Z` });
    draw(group, "path", { class: row ? "line" : "line thick", d: path(points.map((p) => at(p, p[1]))) });
  });
}

function legend(place, names, colours) {
  place.replaceChildren(...names.map((text, k) => {
    const item = document.createElement("span");
    item.className = `legend-item ${colours[k]}`;
    item.append(document.createElement("i"), text);
    return item;
  }));
}

// Mean wait against the rate. certified: [[rate, mean, low, high, standing]], here: the same, limits: [{ at, name, own }]
function curvePicture(place, certified, here, limits, name, log) {
  const all = [...certified, ...here];
  const tops = all.map((point) => (Number.isFinite(point[3]) ? point[3] : point[1]));
  const across = linear(0, Math.max(...all.map((point) => point[0]), ...limits.map((one) => one.at)) * 1.03, EDGE.left, rightOf(place), ticksFor(rightOf(place)));
  const up = scaleOver([...tops, ...all.map((point) => point[1])], log, HIGH - EDGE.bottom, EDGE.top, 5, true);
  const svg = framed(place, "Mean wait against the arrival rate", across, up, name);
  for (const { at, own } of limits) {
    draw(svg, "line", { class: own ? "limit" : "limit faded", x1: across.at(at), x2: across.at(at), y1: EDGE.top, y2: HIGH - EDGE.bottom });
  }
  const known = draw(svg, "g", { class: "c2" });
  const at = ([x, y]) => [across.at(x), up.at(y)];
  if (certified.length > 1) draw(known, "path", { class: "line", d: path(certified.map(at)) });
  for (const point of certified) pointed(known, across, up, point, "diamond");
  const group = draw(svg, "g", { class: "c1" });
  for (const point of here) pointed(group, across, up, point, "circle");
  const last = here[here.length - 1];
  if (last) draw(svg, "circle", { class: "ring", cx: across.at(last[0]), cy: up.at(last[1]), r: 9 });
}

function pointed(group, across, up, [x, y, low, high], shape) {
  if (Number.isFinite(low) && Number.isFinite(high)) draw(group, "line", { class: "interval", x1: across.at(x), x2: across.at(x), y1: up.at(low), y2: up.at(high) });
  mark(group, shape, across.at(x), up.at(y), 4, "");
}

// Busy, blocked and idle servers of a kind as one bar.
function barOf(name, units, busy, loss) {
  const idle = Math.max(units - busy - (loss ? loss[0] : 0), 0);
  const parts = [["busy", `busy ${plainText(Number(busy.toPrecision(6)))}`, busy]];
  if (loss) parts.push(["lost", `blocked: free, but the head of the line needs more ${estimateText(loss)}`, Math.max(loss[0], 0)]);
  parts.push(["idle", `idle${loss ? ": nobody waits for them" : ", or blocked"} ${short(idle)}`, idle]);
  const box = document.createElement("div");
  const bar = add(box, "div", { class: "share", role: "img", "aria-label": `${name}: ${parts.map(([, text]) => text).join("; ")}` });
  for (const [colour, , size] of parts) add(bar, "i", { class: colour }).style.flexGrow = size;
  const line = add(box, "p", { class: "note" }, `${name}: `);
  const items = add(line, "span", {});
  legend(items, parts.map(([, text]) => text), parts.map(([colour]) => colour));
  return box;
}
