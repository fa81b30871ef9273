// Rows of marks with interval bars, and bars made of parts.

const MEASURE_COLOURS = ["c0", "c2", "c4", "c1"];
const LOOSE = 520; // narrower than this, names stand above their rows

CHARTS.rows = {
  controls(spec, state, parent, redraw) {
    if (spec.together && spec.measures.length > 1) {
      const style = (i) => ({ colour: MEASURE_COLOURS[i % 4], shape: SHAPES[i % SHAPES.length] });
      chips(parent, "Measures", spec.measures, style, state.off, redraw);
    }
    const bar = add(parent, "div", { class: "bar" });
    if (!spec.together && spec.measures.length > 1) {
      choice(bar, "show", spec.measures, state.measure, (i) => {
        state.measure = i;
        redraw();
      });
    }
    if (spec.offer_log) logSwitch(bar, state, redraw);
    if (!bar.childElementCount) bar.remove();
    if (spec.rows.length > 2 && spec.rows.length <= 40 && (spec.offer_log || spec.zero)) {
      const names = spec.rows.map((row) => row.label);
      chips(parent, "Classes", names, () => ({ colour: "plain" }), state.hidden, redraw).classList.add("small");
    }
  },

  draw(spec, state, svg, width) {
    const measures = spec.together ? spec.measures.map((_, i) => i).filter((i) => !state.off.has(i)) : [state.measure];
    const rows = spec.rows.filter((_, i) => !state.hidden.has(i));
    const loose = width < LOOSE;
    const longest = Math.max(4, ...rows.map((row) => [...row.label].length));
    const left = loose ? 8 : Math.min(longest * 7.4 + 24, width * 0.34);
    const top = finite(spec.bound) ? 26 : 10;
    const values = rows.flatMap((row) => measures.flatMap((m) => row.values[m] || []));
    if (finite(spec.bound)) values.push(spec.bound);
    const scale = scaleOver(values, state.log, left, width - 16, width < 420 ? 4 : 7, true);
    const pitch = rows.some((row) => crowded(row, measures, scale)) ? 7 : 0;
    const tall = Math.max(measures.length * pitch + 14, 32) + (loose ? 16 : 0);
    const bottom = top + Math.max(rows.length, 1) * tall;
    if (finite(spec.bound)) shade(spec, svg, scale, top, bottom);
    horizontalAxis(svg, scale, top, bottom, spec.axis + (spec.together || !spec.zero ? "" : `: ${spec.measures[state.measure]}`));
    if (spec.zero && !scale.log) draw(svg, "line", { class: "zero", x1: scale.at(0), x2: scale.at(0), y1: top, y2: bottom });
    if (finite(spec.bound)) boundary(spec, svg, scale, top, bottom, width);
    const hits = [];
    rows.forEach((row, n) => {
      const y = top + n * tall;
      const middle = y + (tall + (loose ? 16 : 0)) / 2;
      if (n) draw(svg, "line", { class: "rule", x1: 0, x2: width - 16, y1: y, y2: y });
      const [x, anchor, at] = loose ? [left + 6, "start", y + 15] : [left - 18, "end", middle + 4];
      const room = Math.floor((loose ? width - 30 : left - 18) / 7.2);
      draw(svg, "text", { class: "name", x, y: at, "text-anchor": anchor }, shortened(row.label, room));
      measures.forEach((m, k) => {
        const value = row.values[m];
        const line = middle + (k - (measures.length - 1) / 2) * pitch;
        if (value && finite(value[0])) hits.push(...dot(spec, svg, scale, row, m, value, line));
      });
    });
    return { height: bottom + 44, hits };
  },

  // A row a name and measure.
  data(spec) {
    const rows = spec.rows.flatMap((row) => spec.measures.flatMap((measure, m) => (row.values[m] ? [[row.label, measure, ...row.values[m]]] : [])));
    return [["name", "measure", "estimate", "low", "high"], ...rows];
  },
};

// Whether marks or bars of a row would hide each other on one line.
function crowded(row, measures, scale) {
  const spans = measures.map((m) => row.values[m]).filter((value) => value && finite(value[0]));
  const ends = spans.map(([middle, low, high]) => [finite(low) ? low : middle, finite(high) ? high : middle].map(scale.at));
  ends.sort((a, b) => a[0] - b[0]);
  return ends.some(([from], i) => i > 0 && from - ends[i - 1][1] < 14);
}

function dot(spec, svg, scale, row, m, value, y) {
  const [middle, low, high] = value;
  const unsure = spec.zero && !(low > 0 || high < 0);
  const kind = `${spec.zero ? (unsure ? "plain" : middle < 0 ? "c0" : "c1") : row.colour || MEASURE_COLOURS[m % 4]} ${unsure ? "hollow" : ""}`;
  const group = draw(svg, "g", { class: `${kind} point` });
  if (scale.log && !(middle > 0)) {
    // A logarithm has no place for zero.
    draw(group, "text", { class: "tick", x: scale.at(scale.low) + 2, y: y + 4 }, "0");
  } else {
    const from = finite(low) ? scale.at(low) : scale.at(scale.low);
    const to = finite(high) ? scale.at(high) : scale.at(scale.high);
    const open = finite(low) && finite(high) ? "" : "open";
    if (spec.bars) {
      const [zero, end] = [scale.at(0), scale.at(middle)];
      draw(group, "rect", { class: "from-zero", x: Math.min(zero, end), width: Math.abs(end - zero), y: y - 8, height: 16 });
    }
    if (low !== middle || high !== middle) draw(group, "line", { class: `interval ${open}`, x1: from, x2: to, y1: y, y2: y });
    mark(group, SHAPES[m % SHAPES.length], scale.at(middle), y, 5.2, "");
  }
  const label = spec.measures.length > 1 ? `${spec.measures[m]}: ` : "";
  const lines = [row.label, `${label}${written(middle, halfOf(value))}`, interval(value, spec.confidence)];
  if (unsure) lines.push("may be no difference");
  return [around(scale.log && !(middle > 0) ? scale.at(scale.low) + 5 : scale.at(middle), y, 5, lines)];
}

function shade(spec, svg, scale, top, bottom) {
  const [edge, end] = [scale.at(spec.bound), spec.at_least ? scale.at(scale.high) : scale.at(scale.low)];
  const box = { x: Math.min(edge, end), width: Math.abs(edge - end), y: top, height: bottom - top };
  draw(svg, "rect", { class: "allowed", ...box });
}

function boundary(spec, svg, scale, top, bottom, width) {
  const x = scale.at(spec.bound);
  draw(svg, "line", { class: "limit", x1: x, x2: x, y1: top - 6, y2: bottom });
  const anchor = x > width * 0.7 ? "end" : x < width * 0.2 ? "start" : "middle";
  draw(svg, "text", { class: "limit-name", x, y: top - 11, "text-anchor": anchor }, `bound ${written(spec.bound)}`);
}

CHARTS.parts = {
  draw(spec, state, svg, width) {
    const hits = [];
    let y = 4;
    for (const bar of spec.bars) {
      const scale = linear(0, bar.total, 0, width, 5);
      const amount = (v, half) => (bar.total === 1 ? `${Number((100 * v).toPrecision(3))}%` : written(v, half)); // parts of 1 are shares
      const many = spec.bars.length > 1;
      if (many) {
        draw(svg, "text", { class: "name", x: 0, y: y + 12 }, shortened(bar.label, Math.floor(width / 8)));
        y += 20;
      }
      let from = 0;
      let key = 0;
      let line = y + 62;
      for (const part of bar.parts) {
        if (!part.value) continue;
        const [value, , high] = part.value;
        const [x0, x1] = [scale.at(from), scale.at(Math.min(from + value, bar.total))];
        const group = draw(svg, "g", { class: `part ${part.colour}` });
        draw(group, "rect", { x: x0, y, width: Math.max(x1 - x0, 0.5), height: 34 });
        const share = bar.total === 1 ? bar.label : `${((100 * value) / bar.total).toPrecision(3)}% of ${written(bar.total)} ${bar.label}`;
        const exact = part.value[1] === value && high === value;
        hits.push({ x0, x1, y0: y, y1: y + 34, lines: [part.label, amount(value), ...(exact ? [] : [interval(part.value)]), share] });
        const text = `${part.label} ${amount(value, exact ? undefined : halfOf(part.value))}`;
        const name = draw(svg, "text", { class: "name" }, text);
        const wide = name.getComputedTextLength() + 18;
        if (key && key + wide > width) [key, line] = [0, line + 22];
        draw(group, "rect", { x: key, y: line - 11, width: 12, height: 12, rx: 3 });
        name.setAttribute("x", key + 18);
        name.setAttribute("y", line);
        key += wide + 22;
        from += value;
      }
      y = line + 26;
    }
    return { height: y - 8, hits };
  },

  // A row a part.
  data(spec) {
    const rows = spec.bars.flatMap((bar) => bar.parts.filter((part) => part.value).map((part) => [bar.label, bar.total, part.label, ...part.value]));
    return [["whole", "of", "part", "estimate", "low", "high"], ...rows];
  },
};
