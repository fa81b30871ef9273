// Scales, numbers and shapes: what every chart is drawn with. Text goes in as text nodes only.

const SVG = "http://www.w3.org/2000/svg";
const PALETTE = 7;
const SHAPES = ["circle", "square", "diamond", "triangle", "down"];

function put(parent, namespace, name, attributes, text) {
  const node = namespace ? document.createElementNS(namespace, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

const draw = (parent, name, attributes, text) => put(parent, SVG, name, attributes, text);
const add = (parent, name, attributes, text) => put(parent, null, name, attributes, text);

const finite = (x) => typeof x === "number" && Number.isFinite(x);

// As many digits as the interval supports, between three and six.
function written(value, half) {
  if (!finite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const digits = finite(half) && half > 0 ? Math.ceil(Math.log10(size / half)) + 2 : 4;
  const kept = Math.min(Math.max(digits, 3), 6);
  if (size < 1e-4 || size >= 1e9) return value.toPrecision(kept).replace("-", "−");
  return value.toLocaleString("en", { maximumSignificantDigits: kept }).replace("-", "−");
}

function interval(value, confidence) {
  const [middle, low, high] = value;
  if (low === middle && high === middle) return "exact";
  const sure = finite(confidence) ? `${Number((100 * confidence).toPrecision(7))}% ` : "";
  const half = finite(low) && finite(high) ? (high - low) / 2 : undefined;
  if (finite(low) && finite(high)) return `${sure}interval ${written(low, half)} to ${written(high, half)}`;
  if (finite(low)) return `${sure}at least ${written(low)}`;
  return finite(high) ? `${sure}at most ${written(high)}` : "no interval";
}

const halfOf = (value) => (finite(value[1]) && finite(value[2]) ? (value[2] - value[1]) / 2 : undefined);

// Ticks at 1, 2 or 5 times a power of ten.
function stepOf(span, count) {
  const raw = span / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  return power * ([1, 2, 5, 10].find((m) => m * power >= raw * 0.999) || 10);
}

function linear(low, high, from, to, count) {
  if (!(high > low)) [low, high] = low > 0 ? [0, low * 1.2] : low < 0 ? [low * 1.2, 0] : [0, 1];
  const step = stepOf(high - low, count);
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) ticks.push(k * step);
  const at = (v) => from + ((Math.min(Math.max(v, low), high) - low) / (high - low)) * (to - from);
  return { at, ticks, low, high, log: false };
}

function logarithmic(low, high, from, to, count) {
  let [bottom, top] = [Math.log10(low), Math.log10(high)];
  if (top - bottom < 0.3) [bottom, top] = [bottom - 0.15, top + 0.15];
  const decades = [];
  for (let k = Math.floor(bottom); k <= Math.ceil(top); k++) {
    for (const m of top - bottom > count * 0.7 ? [1] : top - bottom > 1.2 ? [1, 3] : [1, 2, 3, 5]) decades.push(m * 10 ** k);
  }
  let ticks = decades.filter((t) => Math.log10(t) >= bottom - 1e-9 && Math.log10(t) <= top + 1e-9);
  if (ticks.length > count + 2) ticks = ticks.filter((_, i) => i % Math.ceil(ticks.length / count) === 0);
  const at = (v) => {
    const where = v > 0 ? Math.min(Math.max(Math.log10(v), bottom), top) : bottom;
    return from + ((where - bottom) / (top - bottom)) * (to - from);
  };
  return { at, ticks, low: 10 ** bottom, high: 10 ** top, log: true };
}

function tickText(value) {
  const size = Math.abs(value);
  if (size < 1e-12) return "0";
  if (size >= 1e6 || size < 1e-4) return value.toExponential(0).replace("e+", "e").replace("-", "−");
  return value.toLocaleString("en", { maximumSignificantDigits: 4 }).replace("-", "−");
}

// A scale over values, some of which a logarithm cannot show.
function scaleOver(values, log, from, to, count, startAtZero) {
  const all = values.filter(finite);
  const positive = all.filter((v) => v > 0);
  if (log && positive.length) {
    return logarithmic(Math.min(...positive) / 1.15, Math.max(...positive) * 1.15, from, to, count);
  }
  let [low, high] = all.length ? [Math.min(...all), Math.max(...all)] : [0, 1];
  if (startAtZero) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
  const room = (high - low) * 0.04;
  return linear(low < 0 ? low - room : low, high > 0 ? high + room : high, from, to, count);
}

function outline(shape, x, y, r) {
  const at = (dx, dy) => `${(x + dx * r).toFixed(2)} ${(y + dy * r).toFixed(2)}`;
  const polygon = (points) => `M${points.map(([dx, dy]) => at(dx, dy)).join("L")}Z`;
  if (shape === "square") return polygon([[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]]);
  if (shape === "diamond") return polygon([[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]]);
  if (shape === "triangle") return polygon([[0, -1.2], [1.15, 0.85], [-1.15, 0.85]]);
  if (shape === "down") return polygon([[0, 1.2], [1.15, -0.85], [-1.15, -0.85]]);
  return `M${at(-1, 0)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
}

function mark(parent, shape, x, y, r, kind) {
  return draw(parent, "path", { d: outline(shape, x, y, r), class: `mark ${kind}` });
}

function shortened(text, most) {
  const letters = [...text];
  return letters.length <= most ? text : `${letters.slice(0, Math.max(most - 1, 1)).join("")}…`;
}

function horizontalAxis(svg, scale, top, bottom, label, texts) {
  for (const tick of scale.ticks) {
    const x = scale.at(tick);
    draw(svg, "line", { class: "grid", x1: x, x2: x, y1: top, y2: bottom });
    draw(svg, "text", { class: "tick", x, y: bottom + 17, "text-anchor": "middle" }, texts ? texts(tick) : tickText(tick));
  }
  const [from, to] = [scale.at(scale.low), scale.at(scale.high)];
  draw(svg, "line", { class: "axis", x1: from, x2: to, y1: bottom, y2: bottom });
  if (label) draw(svg, "text", { class: "label", x: to, y: bottom + 36, "text-anchor": "end" }, label);
}
