// The page: what is edited becomes a state, the state is sent, and what comes back is shown as it grows.

import { lines, short } from "./charts.js";
import { Floor } from "./line.js";
import { History, fromAddress, toAddress } from "./state.js";

const $ = (id) => document.getElementById(id);
const tab = crypto.getRandomValues(new Uint32Array(2)).join("-");
const LAWS = ["exponential", "deterministic", "erlang", "gamma", "lognormal", "fit"];
const COLOURS = ["c0", "c1", "c2", "c3", "c4", "c5", "c6"];
const floor = new Floor($("floor"));
let history, facts, threshold, answer, points, running, written, retry = 0;

const state = () => history.now;
const api = (path, body) =>
  fetch(`api/${path}`, body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

function change(edit, mark = "") {
  const next = structuredClone(state());
  edit(next);
  history.change(next, mark);
  show();
  ask();
}

// --- asking: the latest change wins; what was asked before is dropped.

let asked = null, wanted = false, timer = 0;
function ask() {
  wanted = true;
  if (!timer) timer = setTimeout(send, 40);
  document.querySelectorAll("#waits tbody, #bar, #legend, .list").forEach((one) => one.classList.add("old"));
  clearTimeout(written);
  written = setTimeout(async () => window.history.replaceState(null, "", `#${await toAddress(state())}`), 250);
}

async function send() {
  timer = 0;
  if (!wanted) return;
  wanted = false;
  asked?.abort();
  const mine = (asked = new AbortController());
  const also = ["what_if", "policies", "sweep"].filter((name) => $(name).checked);
  points = [];
  $("ifs").replaceChildren();
  $("orders").replaceChildren();
  status("computing", true);
  try {
    const got = await fetch("api/answer", {
      method: "POST", headers: { "content-type": "application/json" }, signal: mine.signal,
      body: JSON.stringify({ state: state(), tab, also }),
    });
    if (!got.ok) {
      problem((await got.json().catch(() => ({}))).error || "the server did not take that");
      status("");
      return;
    }
    problem("");
    retry = 0;
    await read(got.body, mine);
  } catch (error) {
    if (mine.signal.aborted) return;
    // Gone: try again, ever more slowly, until it is back.
    retry += 1;
    status("The server does not answer; trying again. Numbers are the last ones it gave.", true);
    setTimeout(() => { if (mine === asked) ask(); }, Math.min(500 * 2 ** retry, 5000));
  }
}

async function read(body, mine) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", ended = false;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    rest += value;
    const parts = rest.split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      if (mine !== asked || !part.startsWith("data: ")) continue;
      const event = JSON.parse(part.slice(6));
      ended ||= ["done", "error", "replaced"].includes(event.kind);
      hear(event);
    }
  }
  if (mine !== asked) return;
  if (!ended) throw new Error("cut off");
  status("");
}

function hear(event) {
  if (event.error && event.kind === "waits") return problem(event.error);
  const heard = { facts: hearFacts, threshold: hearThreshold, waits: hearWaits, difference: hearDifference,
                  what_if: (e) => listed("ifs", e), policy: (e) => listed("orders", e), point: hearPoint,
                  error: (e) => problem(e.text), remark: (e) => problem(e.text) }[event.kind];
  heard?.(event);
}

// --- what came back

function hearFacts(event) {
  facts = event;
  $("label").textContent = `${event.label}: ${event.size}`;
  showClasses();
  floor.set(event.servers, state().model.classes.map((c, i) => ({
    need: typeof c.need === "number" ? c.need : 1, share: event.classes[i].probability, mean: event.classes[i].mean })), state().rate);
  scale();
}

function scale() {
  const top = facts.ideal * 1.05;
  $("slide").dataset.top = top;
  $("slide").value = Math.round((1000 * state().rate) / top);
  $("slide").setAttribute("aria-valuetext", `${short(state().rate)} jobs per unit of time`);
}

function hearThreshold(event) {
  if (!event.threshold) return;
  threshold = event.threshold;
  const top = facts.ideal * 1.05;
  const at = (x) => `${Math.min((100 * x) / top, 100)}%`;
  $("mark").style.left = at(threshold.estimate);
  $("bracket").style.left = at(threshold.low);
  $("bracket").style.width = `${Math.max((100 * (threshold.high - threshold.low)) / top, 0)}%`;
  $("threshold").textContent = `Threshold ${threshold.text}: the largest rate that first come, first served can take; ${short(facts.ideal)} without blocking. Now at ${(100 * state().rate / threshold.estimate).toFixed(1)}% of it.`;
}

const STANDING = { certified: "certified: the interval also holds what starting empty leaves out", "lower bound": "a lower bound, without a certificate", estimate: "an estimate, without a certificate" };

function hearWaits(event) {
  document.querySelectorAll(".old").forEach((one) => one.classList.remove("old"));
  if (event.unstable) {
    answer = null;
    $("trust").textContent = `${event.unstable}. The line grows without end: there is no wait to tell.`;
    $("waits").tBodies[0].replaceChildren();
    $("bar").replaceChildren();
    $("legend").textContent = "";
    $("tails").replaceChildren();
    return;
  }
  answer = event;
  const rows = [["all jobs", "", event.overall], ...facts.classes.map((c) => [c.name, c.need, event.classes[c.name]])];
  $("waits").tBodies[0].replaceChildren(...rows.filter(([, , w]) => w).map(([name, need, w]) => {
    const row = document.createElement("tr");
    row.dataset.name = name;
    for (const text of [name, need, w.mean.text, w.p95.text, w.no_wait.text, ""]) row.insertCell().textContent = text;
    return row;
  }));
  const relative = event.overall.mean.estimate > 0 ? (event.overall.mean.high - event.overall.mean.low) / 2 / event.overall.mean.estimate : 0;
  $("trust").textContent = `Every digit that is shown is supported by its interval (99%). Mean wait known to ${(100 * relative).toFixed(1)}%; ${STANDING[event.standing] || event.standing}. The same on the command line: ${event.command}`;
  $("trust").dataset.precision = event.precision;
  bar(event.system);
  const names = ["all jobs", ...facts.classes.map((c) => c.name)];
  if (event.tails) {
    lines($("tails"), { label: "Probability that a job waits longer than x, by class", log: true, xName: "x", yName: "P(wait > x)",
      series: names.filter((n) => event.tails.classes[n]).map((name, i) => ({ name, colour: i ? COLOURS[(i - 1) % 7] : "ink",
        points: event.tails.x.map((x, k) => [x, event.tails.classes[name][k] ?? NaN]) })) });
  }
  curve();
}

function bar(system) {
  const parts = [["busy", "busy", system.busy_servers], ["lost", "blocked: free, but the head of the line needs more", system.hol_loss]];
  const left = { estimate: Math.max(system.idle_servers.estimate - system.hol_loss.estimate, 0) };
  left.text = short(left.estimate);
  parts.push(["idle", "idle: nobody waits", left]);
  $("bar").replaceChildren(...parts.map(([colour, , value]) => {
    const one = document.createElement("i");
    one.className = colour;
    one.style.flexGrow = Math.max(value.estimate, 0);
    return one;
  }));
  $("legend").replaceChildren(...parts.map(([colour, name, value]) => {
    const item = document.createElement("span");
    item.className = `legend-item ${colour}`;
    item.append(document.createElement("i"), `${name} ${value.text}`);
    return item;
  }));
  $("bar").setAttribute("aria-label", parts.map(([, name, value]) => `${name}: ${value.text} servers`).join("; "));
}

function hearDifference(event) {
  if (!event.overall) return problem(event.unstable || event.error || "");
  for (const row of $("waits").tBodies[0].rows) {
    const value = row.dataset.name === "all jobs" ? event.overall : event.classes[row.dataset.name];
    if (value) row.cells[5].textContent = `${value.estimate > 0 ? "+" : ""}${value.text}`;
  }
}

function listed(place, event) {
  $(place).classList.remove("old");
  const item = document.createElement("li");
  const text = event.unstable ? "unstable at this rate" : event.error || `mean wait ${event.overall.mean.text}, ${event.standing}`;
  item.textContent = `${event.name}: ${text}`;
  $(place).append(item);
}

function hearPoint(event) {
  if (event.overall) points.push([event.load, event.overall.mean.estimate]);
  curve();
}

function curve() {
  const ring = answer ? [answer.load, answer.overall.mean.estimate] : null;
  lines($("curve"), { label: "Mean wait against load", xName: "load (of the threshold)", yName: "mean wait", ring, limit: 1,
    series: [{ name: "all jobs", colour: "c0", dots: true, points: [...points].sort((a, b) => a[0] - b[0]) }] });
}

// --- what is edited

function serviceOf(law, mean, cv) {
  if (law === "deterministic") return { law, value: mean };
  if (law === "erlang") return { law, phases: Math.max(1, Math.round(1 / cv ** 2)), mean };
  if (law === "gamma") return { law, shape: 1 / cv ** 2, mean };
  if (law === "lognormal" || law === "fit") return { law, mean, cv };
  return { law: "exponential", mean };
}

function input(type, value, label, done) {
  const made = document.createElement("input");
  made.type = type;
  made.value = value;
  made.setAttribute("aria-label", label);
  if (type === "number") made.step = "any";
  if (type === "text") made.maxLength = 100;
  made.addEventListener("change", () => done(type === "number" ? Number(made.value) : made.value));
  return made;
}

function showClasses() {
  if ($("classes").contains(document.activeElement) && document.activeElement.matches("input, select") &&
      $("classes").tBodies[0].rows.length === state().model.classes.length && !redraw) return;
  redraw = false;
  $("classes").tBodies[0].replaceChildren(...state().model.classes.map((one, i) => {
    const row = document.createElement("tr");
    const known = facts.classes[i] || { name: one.name, probability: one.probability, mean: 1, cv: 1, law: one.service.law };
    const own = LAWS.includes(one.service.law);
    const put = (cell) => row.insertCell().append(cell);
    const service = (law, mean, cv) => change((s) => { s.model.classes[i].service = serviceOf(law, mean, cv || 1); });
    put(input("text", known.name, `Name of class ${i + 1}`, (v) => change((s) => { s.model.classes[i].name = v; })));
    const plain = typeof one.need === "number";
    const need = input(plain ? "number" : "text", plain ? one.need : known.need, `Need of ${known.name}`, (v) => change((s) => { s.model.classes[i].need = v; }));
    need.disabled = !plain;
    put(need);
    put(input("number", Number(known.probability.toPrecision(6)), `Share of ${known.name}`, (v) => change((s) => share(s, i, v))));
    const law = document.createElement("select");
    law.setAttribute("aria-label", `Service law of ${known.name}`);
    for (const name of own ? LAWS : [one.service.law, ...LAWS]) law.append(new Option(name, name, false, name === one.service.law));
    law.addEventListener("change", () => { redraw = true; service(law.value, known.mean, known.cv); });
    put(law);
    const mean = input("number", Number(known.mean.toPrecision(6)), `Mean service of ${known.name}`, (v) => service(one.service.law, v, known.cv));
    const cv = input("number", known.cv === null ? "" : Number(known.cv.toPrecision(4)), `Spread of ${known.name}`, (v) => service(one.service.law === "exponential" ? "fit" : one.service.law, known.mean, v));
    mean.disabled = !own;
    cv.disabled = !own || one.service.law === "deterministic";
    put(mean);
    put(cv);
    const gone = document.createElement("button");
    gone.className = "tool";
    gone.textContent = "Remove";
    gone.setAttribute("aria-label", `Remove ${known.name}`);
    gone.disabled = state().model.classes.length < 2;
    gone.addEventListener("click", () => { redraw = true; change((s) => { s.model.classes.splice(i, 1); share(s, -1, 0); }); });
    put(gone);
    return row;
  }));
}
let redraw = true;

// The other classes share what is left, as they did.
function share(s, place, value) {
  const others = s.model.classes.filter((_, i) => i !== place);
  const sum = others.reduce((all, one) => all + one.probability, 0);
  if (place >= 0) s.model.classes[place].probability = value;
  for (const one of others) one.probability *= (1 - (place >= 0 ? value : 0)) / (sum || 1);
}

function show() {
  const now = state();
  $("servers").value = now.model.servers ?? "";
  $("servers").disabled = now.model.servers === undefined;
  if (document.activeElement !== $("rate")) $("rate").value = Number(now.rate.toPrecision(6));
  $("policy").value = now.policy || "fcfs";
  $("undo").disabled = !history.past.length;
  $("redo").disabled = !history.future.length;
  $("unpin").hidden = !now.pinned;
  $("than").hidden = !now.pinned;
}

function status(text, busy = false) {
  $("status").textContent = text;
  $("status").classList.toggle("busy", busy);
}

function problem(text) {
  $("problem").textContent = text;
  $("problem").hidden = !text;
}

async function take(file) {
  if (file.size > 200000) return problem(`${file.name}: is larger than the page takes`);
  const got = await api("import", { text: await file.text() });
  const told = await got.json();
  if (!got.ok) return problem(told.error);
  redraw = true;
  history.change(told);
  show();
  ask();
}

async function bring(form) {
  status("writing", true);
  const got = await api("export", { state: state(), form });
  const text = await got.text();
  status("");
  if (!got.ok) return problem(JSON.parse(text).error);
  if (form === "report") {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/html" }));
    link.download = "loynes.html";
    link.click();
    return;
  }
  $("out").textContent = text;
  $("out").hidden = false;
  $("out").focus();
}

function theme() {
  const root = document.documentElement;
  const isDark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const label = () => { $("theme").textContent = isDark() ? "Light" : "Dark"; };
  $("theme").addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; label(); floor.servers && floor.draw(); });
  label();
}

function wire() {
  $("servers").addEventListener("change", () => change((s) => { s.model.servers = Number($("servers").value); }));
  $("rate").addEventListener("change", () => change((s) => { s.rate = Number($("rate").value); }));
  $("policy").addEventListener("change", () => change((s) => { s.policy = $("policy").value; }));
  $("slide").addEventListener("input", () => change((s) => { s.rate = Number(((Number($("slide").value) / 1000) * Number($("slide").dataset.top)).toPrecision(4)); }, "slide"));
  $("add").addEventListener("click", () => { redraw = true; change((s) => {
    const names = new Set(s.model.classes.map((c) => c.name));
    let n = s.model.classes.length + 1;
    while (names.has(`class-${n}`)) n += 1;
    const need = typeof s.model.classes[0].need === "number" ? 1 : structuredClone(s.model.classes[0].need);
    s.model.classes.push({ name: `class-${n}`, need, probability: 0, service: { law: "exponential", mean: 1 } });
    share(s, s.model.classes.length - 1, 0.1);
  }); });
  $("pin").addEventListener("click", () => change((s) => { s.pinned = { model: structuredClone(s.model), rate: s.rate }; }));
  $("unpin").addEventListener("click", () => change((s) => { delete s.pinned; }));
  const step = (name) => () => { history[name](); redraw = true; show(); ask(); };
  $("undo").addEventListener("click", step("undo"));
  $("redo").addEventListener("click", step("redo"));
  document.addEventListener("keydown", (e) => {
    if (!(e.ctrlKey || e.metaKey) || e.target.matches("input[type=text]")) return;
    const key = e.key.toLowerCase();
    if (key === "z" || key === "y") { e.preventDefault(); step(key === "y" || e.shiftKey ? "redo" : "undo")(); }
  });
  for (const name of ["what_if", "policies", "sweep"]) $(name).addEventListener("change", ask);
  document.querySelectorAll("[data-form]").forEach((b) => b.addEventListener("click", () => bring(b.dataset.form)));
  $("open").addEventListener("change", () => $("open").files[0] && take($("open").files[0]));
  $("play").addEventListener("click", () => {
    const on = $("play").getAttribute("aria-pressed") !== "true";
    $("play").setAttribute("aria-pressed", on);
    $("play").textContent = on ? "Pause" : "Play";
    floor.play(on);
  });
  document.addEventListener("dragover", (e) => { e.preventDefault(); document.body.classList.add("over"); });
  document.addEventListener("dragleave", () => document.body.classList.remove("over"));
  document.addEventListener("drop", (e) => { e.preventDefault(); document.body.classList.remove("over"); if (e.dataTransfer.files[0]) take(e.dataTransfer.files[0]); });
  window.addEventListener("hashchange", async () => {
    const given = await fromAddress(location.hash.slice(1));
    if (given && JSON.stringify(given) !== JSON.stringify(state())) { redraw = true; history.change(given); show(); ask(); }
  });
}

async function begin() {
  theme();
  const told = await (await api("start")).json();
  for (const name of told.policies) $("policy").append(new Option(name, name));
  history = new History((location.hash.length > 1 && (await fromAddress(location.hash.slice(1)))) || told.state);
  wire();
  show();
  ask();
  document.documentElement.dataset.ready = "yes";
}

begin();
