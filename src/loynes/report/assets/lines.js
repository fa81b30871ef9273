// Lines with bands against what was varied, and steps over time.

const DASHES = ["", "dashed", "dotted"];
const MARGIN = { left: 58, right: 16, top: 30, bottom: 48 };

function seriesStyle(i) {
  if (i === 0) return { colour: "ink", shape: "circle", line: "thick" };
  const n = i - 1;
  return {
    colour: `c${n % PALETTE}`,
    shape: SHAPES[(i + Math.floor(i / PALETTE)) % SHAPES.length],
    line: DASHES[Math.floor(n / PALETTE) % DASHES.length],
  };
}

const same = (a, b) => a === b;
const distinct = (values) => values.filter((v, i) => values.findIndex((w) => same(v, w)) === i);
const valueText = (v) => (finite(v) ? written(v) : String(v));

function verticalAxis(svg, scale, left, right) {
  for (const tick of scale.ticks) {
    const y = scale.at(tick);
    draw(svg, "line", { class: "grid", x1: left, x2: right, y1: y, y2: y });
    draw(svg, "text", { class: "tick", x: left - 8, y: y + 4, "text-anchor": "end" }, tickText(tick));
  }
}

CHARTS.lines = {
  controls(spec, state, parent, redraw, rebuild) {
    const bar = add(parent, "div", { class: "bar" });
    if (spec.measures.length > 1) {
      choice(bar, "show", spec.measures, state.measure, (i) => {
        state.measure = i;
        redraw();
      });
    }
    if (spec.vary.length > 1) {
      choice(bar, "against", spec.vary, state.against, (i) => {
        state.against = i;
        rebuild();
      });
    }
    spec.vary.forEach((name, i) => {
      const values = distinct(spec.points.map((point) => point.config[i]));
      if (i === state.against || values.length < 2) return;
      if (!(i in state.slice)) state.slice[i] = values[0];
      choice(bar, `at ${name}`, values.map(valueText), values.findIndex((v) => same(v, state.slice[i])), (k) => {
        state.slice[i] = values[k];
        redraw();
      });
    });
    logSwitch(bar, state, redraw);
    const names = spec.series.map((series) => series.label);
    if (names.length > 1) chips(parent, spec.names || "Classes", names, seriesStyle, state.hidden, redraw);
  },

  draw(spec, state, svg, width) {
    const [left, right, top] = [MARGIN.left, width - MARGIN.right, MARGIN.top];
    const height = Math.round(Math.min(Math.max(width * 0.5, 260), 420));
    const bottom = height - MARGIN.bottom;
    const axis = state.against;
    const points = spec.points.filter((point) =>
      point.config.every((v, i) => i === axis || !(i in state.slice) || same(v, state.slice[i])),
    );
    const categories = points.every((point) => finite(point.config[axis])) ? null : distinct(points.map((p) => p.config[axis]));
    const place = (point) => (categories ? categories.indexOf(point.config[axis]) : point.config[axis]);
    points.sort((a, b) => place(a) - place(b));
    const shown = spec.series.map((_, i) => i).filter((i) => !state.hidden.has(i));
    const limits = categories ? [] : spec.limits.filter((limit) => holds(limit, state, shown));
    const across = acrossScale(points.map(place), categories, limits, left, right, width);
    const valueOf = (point, i) => point.values[state.measure]?.[i];
    const values = points.flatMap((point) => shown.map((i) => valueOf(point, i)).filter(Boolean));
    const middles = values.map((v) => v[0]);
    const most = Math.max(...middles.filter(finite)) * 3;
    // A low end that is next to nothing would leave all others a strip at the top of a log scale.
    const least = state.log ? Math.min(...middles.filter((v) => v > 0)) / 3 : -Infinity;
    const ends = values.flatMap((v) => [v[1], v[2]]).filter((v) => finite(v) && v <= most && v >= least);
    const bounded = spec.bounds[state.measure] ? [spec.bounds[state.measure].at] : [];
    const up = scaleOver([...middles, ...ends, ...bounded], state.log, bottom, top, 6, true);
    const bound = spec.bounds[state.measure];
    if (bound) shadeAcross(bound, svg, up, left, right, top, bottom);
    for (const span of spec.spans) stretch(span, svg, across, top, bottom);
    verticalAxis(svg, up, left, right);
    const texts = categories ? (tick) => shortened(String(categories[tick]), Math.floor((right - left) / categories.length / 7)) : null;
    horizontalAxis(svg, across, top, bottom, spec.axes[axis] || "", texts);
    draw(svg, "text", { class: "label", x: 0, y: 12 }, spec.measures[state.measure]);
    const hits = [];
    for (const limit of limits) hits.push(...limitLine(spec, limit, limits.length, svg, across, top, bottom, width));
    for (const i of [...shown].reverse()) oneLine(spec, svg, i, points, place, valueOf, across, up);
    if (bound) boundAcross(bound, svg, up, left, right);
    const empty = (point) => point.values.every((row) => row.every((v) => !v));
    for (const point of points) {
      const x = across.at(place(point));
      if (empty(point)) draw(svg, "path", { class: "unanswered", d: `M${x - 4} ${top + 5}l8 8m0 -8l-8 8` });
      const told = shown.filter((i) => valueOf(point, i)).map((i) => oneSeries(spec, state, i, valueOf(point, i)));
      const why = told.length ? [] : [point.why || "no answer"];
      hits.push(column(x, top, bottom, [placeText(spec, point), ...told, ...why, ...spansAt(spec, point.config[axis]), ...sureText(spec, told)]));
    }
    hits.sort((a, b) => a.x0 - b.x0 || a.y0 - b.y0);
    return { height, hits };
  },

  // A row a place, measure and series.
  data(spec) {
    const rows = spec.points.flatMap((point) =>
      spec.measures.flatMap((measure, m) =>
        spec.series.flatMap((series, i) => {
          const value = point.values[m]?.[i];
          return value ? [[...point.config, series.label, measure, ...value]] : [];
        }),
      ),
    );
    return [[...spec.vary, (spec.names || "series").toLowerCase(), "measure", "estimate", "low", "high"], ...rows];
  },
};

const placeText = (spec, point) => spec.vary.map((name, k) => `${name} ${valueText(point.config[k])}`).join(", ");
const spansAt = (spec, at) => spec.spans.filter((span) => span.since <= at && at <= span.until).map((span) => span.label);
const sureText = (spec, told) => (told.length && finite(spec.confidence) ? [`${Number((100 * spec.confidence).toPrecision(7))}% intervals`] : []);

// A series at a place: its value, and where it lies.
function oneSeries(spec, state, i, value) {
  const label = spec.series.length > 1 ? spec.series[i].label : spec.measures[state.measure];
  const [, low, high] = value;
  const exact = low === value[0] && high === value[0];
  const half = halfOf(value);
  const ends = exact ? "" : ` (${finite(low) ? written(low, half) : "?"} to ${finite(high) ? written(high, half) : "?"})`;
  return { text: `${label}: ${written(value[0], half)}${ends}`, colour: seriesStyle(i).colour };
}

function shadeAcross(bound, svg, up, left, right, top, bottom) {
  const y = up.at(bound.at);
  const box = bound.at_least ? { y: top, height: y - top } : { y, height: bottom - y };
  draw(svg, "rect", { class: "allowed", x: left, width: right - left, ...box });
}

function boundAcross(bound, svg, up, left, right) {
  const y = up.at(bound.at);
  draw(svg, "line", { class: "limit", x1: left, x2: right, y1: y, y2: y });
  draw(svg, "text", { class: "limit-name", x: right, y: y - 5, "text-anchor": "end" }, `bound ${written(bound.at)}`);
}

// Whether a limit belongs to what is shown: its axis is across, its series is there, what else is varied is as chosen.
function holds(limit, state, shown) {
  if (limit.axis !== state.against || !(limit.series === null || shown.includes(limit.series))) return false;
  return limit.where.every((v, i) => v === null || !(i in state.slice) || i === state.against || same(v, state.slice[i]));
}

function limitLine(spec, limit, count, svg, across, top, bottom, width) {
  if (limit.at > across.high + 1e-12 || limit.at < across.low) return [];
  const x = across.at(limit.at);
  const colour = limit.series === null ? "" : seriesStyle(limit.series).colour;
  draw(svg, "line", { class: `limit ${colour}`, x1: x, x2: x, y1: top - 4, y2: bottom });
  const text = `${limit.label} ${written(limit.at)}`;
  if (count === 1) {
    draw(svg, "text", { class: "limit-name", x, y: 12, "text-anchor": x > width * 0.6 ? "end" : "middle" }, text);
  }
  return [{ x0: x - 2, x1: x + 2, y0: top - 4, y1: top + 6, lines: [text] }];
}

function stretch(span, svg, across, top, bottom) {
  const [x0, x1] = [across.at(span.since), across.at(span.until)];
  if (!(x1 > x0)) return;
  draw(svg, "rect", { class: "allowed", x: x0, width: x1 - x0, y: top, height: bottom - top });
  const room = Math.floor((x1 - x0) / 7);
  if (room > 2) draw(svg, "text", { class: "tick", x: x0 + 4, y: top + 13 }, shortened(span.label, room));
}

function acrossScale(places, categories, limits, left, right, width) {
  const count = width < 480 ? 5 : 8;
  if (categories) {
    const scale = linear(-0.5, Math.max(categories.length - 0.5, 0.5), left, right, 4);
    return { ...scale, ticks: categories.map((_, i) => i) };
  }
  const [low, high] = [Math.min(...places), Math.max(...places)];
  const near = limits.map((limit) => limit.at).filter((at) => at > high && at <= high + 0.35 * (high - low || high));
  const end = Math.max(low === high ? low * 1.1 : high, ...near);
  const scale = linear(low === high ? low * 0.9 : low, end, left, right, count);
  // There is no half of a server.
  return places.every(Number.isInteger) ? { ...scale, ticks: scale.ticks.filter((tick) => Math.abs(tick - Math.round(tick)) < 1e-9) } : scale;
}

function oneLine(spec, svg, i, points, place, valueOf, across, up) {
  const style = seriesStyle(i);
  const group = draw(svg, "g", { class: `series ${style.colour}`, "data-series": i });
  const runs = [[]];
  for (const point of points) {
    const value = valueOf(point, i);
    const drawable = value && finite(value[0]) && (!up.log || value[0] > 0);
    if (!drawable) runs.push([]);
    else runs[runs.length - 1].push({ point, value, x: across.at(place(point)), y: up.at(value[0]) });
  }
  for (const run of runs) {
    if (run.length > 1) {
      const edge = (k, end) => run.map(({ x, value }) => [x, finite(value[k]) ? up.at(value[k]) : up.at(end)]);
      const outlineOf = [...edge(2, up.high), ...edge(1, up.low).reverse()];
      draw(group, "path", { class: "band", d: `M${outlineOf.map((p) => p.join(" ")).join("L")}Z` });
      draw(group, "path", { class: `line ${style.line}`, d: `M${run.map(({ x, y }) => `${x} ${y}`).join("L")}` });
    }
    for (const { value, x, y } of run) {
      if (run.length === 1 && value[1] !== value[2]) {
        const [y1, y2] = [finite(value[1]) ? up.at(value[1]) : up.at(up.low), finite(value[2]) ? up.at(value[2]) : up.at(up.high)];
        draw(group, "line", { class: "interval", x1: x, x2: x, y1, y2 });
      }
      if (spec.marks) mark(group, style.shape, x, y, i ? 3.6 : 4.2, "");
    }
  }
}

CHARTS.steps = {
  controls(spec, state, parent, redraw) {
    const all = spec.panels.flatMap((panel) => panel.series);
    if (all.length < 2) return;
    chips(parent, "Series", all.map((one) => one.label), (i) => ({ colour: all[i].colour, line: "" }), state.hidden, redraw);
  },

  draw(spec, state, svg, width) {
    const [left, right] = [MARGIN.left, width - MARGIN.right];
    const across = linear(0, Math.max(...spec.end.filter(finite)), left, right, width < 480 ? 4 : 8);
    const tall = Math.round(Math.min(Math.max(width * 0.3, 170), 260));
    let [top, number, bottom] = [MARGIN.top, 0, 0];
    const there = [];
    spec.panels.forEach((panel, k) => {
      const shown = panel.series.filter((_, i) => !state.hidden.has(number + i));
      number += panel.series.length;
      bottom = top + (k ? tall * 0.7 : tall);
      const stacks = stacked(shown);
      const values = stacks.length ? stacks.at(-1).map(([, high]) => high) : [0];
      const up = scaleOver(panel.top ? [...values, panel.top.value] : values, false, bottom, top, k ? 4 : 5, true);
      verticalAxis(svg, up, left, right);
      horizontalAxis(svg, across, top, bottom, k === spec.panels.length - 1 ? spec.axis : "");
      draw(svg, "text", { class: "label", x: 0, y: top - 16 }, panel.series.length > 1 ? panel.unit : panel.series[0].label);
      if (panel.top) {
        const y = up.at(panel.top.value);
        draw(svg, "line", { class: "limit", x1: left, x2: right, y1: y, y2: y });
        draw(svg, "text", { class: "limit-name", x: right, y: y - 6, "text-anchor": "end" }, panel.top.label);
      }
      shown.forEach((one, i) => oneStaircase(spec, svg, one, stacks[i], across, up));
      there.push(...shown);
      top = bottom + 58;
    });
    const hits = spec.begin.map((from, k) => {
      const when = `${written(from)} to ${written(spec.end[k])} ${spec.axis.split(" ")[0]}`;
      const told = there.map((one) => ({ text: `${one.label}: ${written(one.values[k])}`, colour: one.colour }));
      return column(across.at((from + spec.end[k]) / 2), MARGIN.top, bottom, [when, ...told]);
    });
    return { height: bottom + MARGIN.bottom, hits };
  },

  // A row a window.
  data(spec) {
    const all = spec.panels.flatMap((panel) => panel.series);
    const unit = spec.axis.split(" ")[0];
    const rows = spec.begin.map((from, k) => [from, spec.end[k], ...all.map((one) => one.values[k])]);
    return [[`from (${unit})`, `to (${unit})`, ...all.map((one) => one.label)], ...rows];
  },
};

// From where to where each series reaches in every window, one on top of the other.
function stacked(shown) {
  let floor = [];
  return shown.map((one) => {
    const spans = one.values.map((value, k) => [floor[k] || 0, (floor[k] || 0) + (finite(value) ? value : 0)]);
    floor = spans.map(([, high]) => high);
    return spans;
  });
}

function oneStaircase(spec, svg, one, spans, across, up) {
  const group = draw(svg, "g", { class: `series ${one.colour}` });
  let path = "";
  let area = "";
  one.values.forEach((value, k) => {
    const [from, to] = [spec.begin[k], spec.end[k]];
    if (![value, from, to].every(finite)) return;
    const [x0, x1, y0, y] = [across.at(from), across.at(to), up.at(spans[k][0]), up.at(spans[k][1])];
    path += `${path ? "L" : "M"}${x0} ${y}L${x1} ${y}`;
    area += `M${x0} ${y0}L${x0} ${y}L${x1} ${y}L${x1} ${y0}Z`;
  });
  if (area) draw(group, "path", { class: "band", d: area });
  if (path) draw(group, "path", { class: "line", d: path });
}
