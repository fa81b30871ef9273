// Data and pictures of a chart, and the numbers of a table, as files or in the clipboard. Nothing leaves the page.

const STYLED = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity",
  "font-family", "font-size", "font-weight", "text-anchor", "paint-order",
];
const PNG_SCALE = 2;

const quoted = (cell, mark) => {
  const text = cell === null || cell === undefined ? "" : String(cell);
  return text.includes(mark) || /["\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
const separated = (rows, mark) => rows.map((row) => row.map((cell) => quoted(cell, mark)).join(mark)).join("\n") + "\n";

const fileName = (text, ending) => {
  const plain = text.toLowerCase().normalize("NFKD").replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "");
  return `${plain.slice(0, 80) || "loynes"}.${ending}`;
};

function offer(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// Some browsers keep their clipboard from files; then the text is selected and copied as if by hand.
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = add(document.body, "textarea", { class: "aside", "aria-hidden": "true" });
    area.value = text;
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

// The drawing by itself: colours and fonts that the page's style gives it are written into it.
function standalone(svg, title) {
  const copy = svg.cloneNode(true);
  copy.querySelectorAll(".ring, .crosshair").forEach((node) => node.remove());
  const [from, to] = [svg, copy].map((one) => [...one.querySelectorAll("*")].filter((n) => !n.matches(".ring, .crosshair")));
  to.forEach((node, i) => {
    const style = getComputedStyle(from[i]);
    for (const name of STYLED) {
      const value = style.getPropertyValue(name);
      if (value) node.setAttribute(name, value);
    }
    node.removeAttribute("class");
  });
  const [wide, tall] = [Number(svg.getAttribute("width")), Number(svg.getAttribute("height"))];
  const [edge, head] = [16, 40];
  const whole = document.createElementNS(SVG, "svg");
  const size = { width: wide + 2 * edge, height: tall + head + edge };
  for (const [key, value] of Object.entries({ xmlns: SVG, ...size, viewBox: `0 0 ${size.width} ${size.height}` })) whole.setAttribute(key, value);
  const page = getComputedStyle(svg.closest("figure"));
  draw(whole, "rect", { ...size, fill: page.backgroundColor });
  const words = { x: edge, y: 26, fill: page.color, "font-family": page.fontFamily, "font-size": 16, "font-weight": 600 };
  draw(whole, "text", words, shortened(title, Math.floor(size.width / 9)));
  const inner = draw(whole, "g", { transform: `translate(${edge} ${head})` });
  inner.append(...copy.childNodes);
  return { text: new XMLSerializer().serializeToString(whole), ...size };
}

function png(drawing) {
  return new Promise((done, fail) => {
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [PNG_SCALE * drawing.width, PNG_SCALE * drawing.height];
      const context = canvas.getContext("2d");
      context.scale(PNG_SCALE, PNG_SCALE);
      context.drawImage(image, 0, 0, drawing.width, drawing.height);
      canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("no picture"))), "image/png");
    };
    image.onerror = () => fail(new Error("no picture"));
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawing.text)}`;
  });
}

function tool(parent, label, name, act) {
  const button = add(parent, "button", { type: "button", class: "tool", "aria-label": name, title: name }, label);
  button.addEventListener("click", async () => {
    const said = await act();
    if (!said) return;
    button.textContent = said;
    setTimeout(() => (button.textContent = label), 1500);
  });
}

function tools(parent, title, rows, svg) {
  const bar = add(parent, "div", { class: "tools", role: "group", "aria-label": `${title}: copy and download` });
  const named = `${document.title} ${title}`;
  tool(bar, "Copy", `Copy the numbers of “${title}”`, async () => {
    await copied(separated(rows(), "\t"));
    return "Copied";
  });
  tool(bar, "CSV", `Download the numbers of “${title}” as CSV`, () =>
    offer(new Blob([separated(rows(), ",")], { type: "text/csv;charset=utf-8" }), fileName(named, "csv")),
  );
  if (!svg) return;
  tool(bar, "SVG", `Download “${title}” as SVG`, () =>
    offer(new Blob([standalone(svg, title).text], { type: "image/svg+xml" }), fileName(named, "svg")),
  );
  tool(bar, "PNG", `Download “${title}” as PNG`, async () => offer(await png(standalone(svg, title)), fileName(named, "png")));
}

// A table's cells: the number where there is one, as it is and not as it is shown, else the text.
function cellsOf(table) {
  const cell = (one) => (one.dataset.low === undefined ? [one.dataset.value ?? one.textContent] : [one.dataset.value, one.dataset.low, one.dataset.high]);
  const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
  const wide = [...table.tHead.rows[0].cells].map((_, i) => rows.some((row) => row.cells[i].dataset.low !== undefined));
  const filled = (one, i) => (wide[i] ? [...cell(one), "", ""].slice(0, 3) : cell(one));
  const heads = [...table.tHead.rows[0].cells].flatMap((head, i) => {
    const name = head.textContent;
    return wide[i] ? [name, `${name}, low`, `${name}, high`] : [name];
  });
  return [heads, ...rows.map((row) => [...row.cells].flatMap(filled))];
}
