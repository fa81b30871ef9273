// Jobs over time: bars that are as dense as it is sure that a job runs then.

CHARTS.timeline = {
  draw(spec, state, svg, width) {
    const loose = width < LOOSE;
    const longest = Math.max(4, ...spec.rows.map((row) => [...row.label].length));
    const left = loose ? 8 : Math.min(longest * 7.4 + 24, width * 0.34);
    const tall = loose ? 34 : 20;
    const top = 34;
    const bottom = top + spec.rows.length * tall;
    const scale = linear(spec.begin, spec.end, left, width - 16, width < 420 ? 4 : 7);
    let key = 0;
    for (const [colour, label] of spec.colours) {
      const group = draw(svg, "g", { class: colour });
      draw(group, "rect", { class: "fading", x: key, y: 4, width: 12, height: 12, rx: 3 });
      key += 30 + draw(svg, "text", { class: "name", x: key + 18, y: 14 }, label).getComputedTextLength();
    }
    horizontalAxis(svg, scale, top, bottom, spec.axis);
    const hits = [];
    spec.rows.forEach((row, n) => {
      const y = top + n * tall + (loose ? 17 : 4);
      const height = 13;
      const group = draw(svg, "g", { class: row.colour });
      for (const [from, to, sure] of row.stretches) {
        const [x0, x1] = [scale.at(from), scale.at(to)];
        draw(group, "rect", { class: "fading", x: x0, width: Math.max(x1 - x0, 0), y, height, opacity: sure });
      }
      if (finite(row.at)) draw(group, "line", { class: "median", x1: scale.at(row.at), x2: scale.at(row.at), y1: y - 1, y2: y + height + 1 });
      if (finite(row.limit) && row.limit <= spec.end) {
        draw(svg, "line", { class: "limit plain", x1: scale.at(row.limit), x2: scale.at(row.limit), y1: y - 1, y2: y + height + 1 });
      }
      const [x, anchor, at] = loose ? [left, "start", y - 5] : [left - 12, "end", y + 11];
      draw(svg, "text", { class: "name", x, y: at, "text-anchor": anchor }, shortened(row.label, Math.floor((loose ? width - 30 : left - 18) / 7.2)));
      hits.push({ x0: scale.at(spec.begin), x1: scale.at(spec.end), y0: y, y1: y + height, lines: row.told });
    });
    draw(svg, "line", { class: "zero", x1: scale.at(0), x2: scale.at(0), y1: top - 4, y2: bottom });
    draw(svg, "text", { class: "tick", x: scale.at(0), y: top - 8, "text-anchor": "middle" }, "now");
    return { height: bottom + 44, hits };
  },

  // A row a stretch.
  data(spec) {
    return [["job", "from", "to", "probability"], ...spec.rows.flatMap((row) => row.stretches.map((stretch) => [row.label, ...stretch]))];
  },
};
