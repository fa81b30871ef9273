// The page itself: theme, tables that sort, charts from the data beside them.

const root = document.documentElement;

function themes() {
  const button = document.getElementById("theme");
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const remembered = () => {
    try {
      return window.localStorage.getItem("loynes-theme");
    } catch {
      return null; // some browsers refuse storage to files
    }
  };
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const label = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
  };
  const before = remembered();
  if (before === "dark" || before === "light") root.dataset.theme = before;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try {
      window.localStorage.setItem("loynes-theme", root.dataset.theme);
    } catch {
      // the choice lasts as long as the page
    }
    label();
  });
  system.addEventListener("change", label);
  label();
  button.hidden = false;
}

// Numbers by value, texts by letters and the numbers in them; what has no value comes last both ways.
function order(a, b, direction, numeric) {
  if (!numeric) return direction * a.textContent.localeCompare(b.textContent, "en", { numeric: true });
  const [x, y] = [a, b].map((cell) => (cell.dataset.value === undefined ? NaN : Number(cell.dataset.value)));
  if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y));
  return direction * (x - y);
}

function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      for (const body of table.tBodies) {
        if (body.classList.contains("pinned")) continue;
        const rows = [...body.rows];
        const numeric = head.classList.contains("number");
        rows.sort((a, b) => order(a.cells[column], b.cells[column], up ? 1 : -1, numeric));
        body.append(...rows);
      }
    });
  });
}

// A table that is wider than its place says so: a fade at the edge, and a line of text on narrow screens.
function scrolling(box) {
  const told = () => box.closest(".table").classList.toggle("more", box.scrollWidth - box.clientWidth - box.scrollLeft > 4);
  box.addEventListener("scroll", told, { passive: true });
  new ResizeObserver(told).observe(box);
  told();
}

function printing() {
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const one of closed) one.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const one of closed) one.open = false;
  });
}

themes();
printing();
document.querySelectorAll("table").forEach((table) => {
  sortable(table);
  const place = table.closest(".table");
  tools(place, place.dataset.title, () => cellsOf(table));
});
document.querySelectorAll(".scroll").forEach(scrolling);
document.querySelectorAll("pre").forEach((text) => {
  const bar = document.createElement("div");
  bar.className = "tools";
  text.before(bar);
  tool(bar, "Copy", "Copy this text", async () => {
    await copied(text.textContent);
    return "Copied";
  });
});
const specs = JSON.parse(document.getElementById("charts").textContent);
document.querySelectorAll("figure[data-chart]").forEach((figure) => mount(figure, specs[Number(figure.dataset.chart)]));
root.dataset.ready = "yes";
