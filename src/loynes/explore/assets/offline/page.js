// The page itself: what is edited is asked of the workers, and what they answer is shown as it grows.

const $ = (id) => document.getElementById(id);
const root = document.documentElement;
const source = URL.createObjectURL(new Blob([$("kernel").textContent], { type: "text/javascript" }));
const names = ["all jobs", ...table.classes.map((one) => one.name)];
const ofTime = data.timeUnit ? ` (${data.timeUnit})` : "";
let number = 0;
let bracket, waits; // what the workers said last
let fresh = false; // whether waits are those of the present state: older ones are shown pale until there are others
let asked = { threshold: 0, waits: 0 };
let visited = []; // mean waits of the present model, at the rates it was looked at
let checks = {}; // questions for traces that are not answered yet

function workerOf(hear) {
  const worker = new Worker(source);
  worker.onmessage = ({ data: answer }) => hear(answer);
  worker.onerror = (event) => problem(`This browser cannot run the page's workers: ${event.message || "an error"}`);
  worker.postMessage({ kind: "model", table, known: { ...known, check: undefined, points: undefined } });
  return worker;
}
const piling = workerOf(hear);
const serving = workerOf(hear);

function hear(answer) {
  if (answer.kind === "trace") return checks[answer.number]?.(answer);
  if (answer.number !== asked[answer.kind]) return;
  if (answer.kind === "threshold") hearThreshold(answer);
  else hearWaits(answer);
}

// --- asking

let due = false, changed = false;
function ask(modelChanged) {
  changed ||= modelChanged;
  for (const place of ["waits", "bars", "tails"]) $(place).classList.add("old");
  if (due) return;
  due = true;
  requestAnimationFrame(() => {
    due = false;
    send();
  });
}

function send() {
  const text = wrong(state);
  problem(text);
  show();
  if (text) return stop();
  history.replaceState(null, "", toAddress() || location.pathname + location.search);
  if (changed) {
    changed = false;
    visited = [];
    bracket = undefined;
    asked.threshold = number += 1;
    piling.postMessage({ kind: "threshold", number, change: changeOf(state) });
  }
  showThreshold();
  askWaits();
}

// Waits are asked once the rate is known to be below the threshold.
function askWaits() {
  fresh = false;
  asked.waits = number += 1;
  const [middle, low, high] = limit();
  if (!(state.rate < low)) {
    serving.postMessage({ kind: "stop" });
    const told = !Number.isFinite(middle) ? "The threshold is being looked for." :
      state.rate < high ? "The rate lies within the threshold's bracket: whether the line would grow for ever is not known." :
      "The line grows for ever: more jobs come than the cluster can take.";
    waits = undefined;
    standing(state.rate < high ? "" : "unstable", told);
    return showWaits();
  }
  standing("", "computing");
  showWaits();
  serving.postMessage({ kind: "waits", number, change: { ...changeOf(state), rate: state.rate }, skip: skipFor(state.rate / middle) });
}

function stop() {
  asked = { threshold: 0, waits: 0 };
  changed = true;
  for (const worker of [piling, serving]) worker.postMessage({ kind: "stop" });
  standing("", "");
}

// The narrower of the two brackets, where the command line's is of this model.
function limit() {
  const { estimate, low, high } = known.threshold;
  const given = sameModel() ? [estimate, low ?? 0, high ?? Infinity] : [NaN, 0, Infinity];
  return bracket && !(given[2] - given[1] <= bracket[2] - bracket[1]) ? bracket : given;
}

// --- what came back

function hearThreshold(answer) {
  const before = limit()[1];
  bracket = answer.bracket;
  showThreshold(answer);
  if (!fresh && before <= state.rate) askWaits();
  else curve();
}

function hearWaits(answer) {
  waits = answer;
  fresh = true;
  for (const place of ["waits", "bars", "tails"]) $(place).classList.remove("old");
  const [mean, low, high] = answer.rows[0].mean;
  visited = [...visited.filter(([rate]) => rate !== state.rate), [state.rate, mean, low, high]];
  const few = answer.skipped < answer.planned;
  const left = !few ? "" : answer.ended ? `; fewer than the ${count(answer.planned)} planned: these waits are too small` : ` so far, of ${count(answer.planned)}: waits are still too small`;
  const heavy = table.heavy ? " Services have no third moment, so that the wait has no variance: the interval is too short." : "";
  const reached = { precise: " Done.", late: " Ended after half a minute.", "": "" }[answer.ended];
  standing("estimate", `started empty, the first ${count(answer.skipped)} jobs of each of 32 chains left out${left}; ${count(answer.jobs)} jobs served; mean wait ±${general((50 * (high - low)) / mean, 2)}%.${reached}${heavy}`);
  showWaits();
}

function standing(word, text) {
  const here = pointHere();
  $("standing").textContent = word;
  $("how").textContent = text + (here && word === "estimate" ? ` Beside it: what the command line answered here, ${here.standing}.` : "");
}

function showThreshold(answer) {
  const rows = [];
  const top = topOf();
  const place = (x) => `${Math.min((100 * x) / top, 100)}%`;
  const say = ([middle, low, high]) => estimateText([middle, low, high]);
  if (sameModel()) rows.push(`Threshold ${known.threshold.text}, from the command line.`);
  if (bracket) rows.push(`${sameModel() ? "Here" : "Threshold"} ${say(bracket)}: a bracket${answer || piled ? `, from ${count((piled = answer ? answer.jobs : piled))} jobs piled up here` : ""}.`);
  else if (!sameModel()) rows.push("The threshold is being looked for.");
  rows.push(`Without blocking ${short(idealOf(state))}.`);
  const [middle, low, high] = limit();
  if (Number.isFinite(middle)) rows.push(`Now at ${((100 * state.rate) / middle).toFixed(1)}%.`);
  $("threshold").textContent = rows.join(" ");
  const marks = $("marks");
  marks.replaceChildren();
  if (sameModel()) for (const point of known.points) if (point.rate) add(marks, "i", {}).style.left = place(point.rate);
  if (!Number.isFinite(middle)) return;
  const band = add(marks, "i", { class: "bracket" });
  band.style.left = place(low);
  band.style.width = `${Math.max((100 * (Math.min(high, top) - low)) / top, 0)}%`;
  add(marks, "i", { class: "limit" }).style.left = place(middle);
}
let piled = 0;

function cells(row, texts, from) {
  texts.forEach((text, k) => add(row, k === 0 && from === "th" ? "th" : "td", k === 0 && from === "th" ? { scope: "row" } : {}, text));
}

function showWaits() {
  const here = pointHere();
  const kind = here && here.standing !== "certified" ? "certified bound" : "certified";
  $("waits").tHead.querySelectorAll(".certified").forEach((head, k) => {
    head.hidden = !here;
    head.className = kind;
    head.textContent = `${["mean wait", "95th percentile"][k]}, ${here?.standing ?? "certified"}`;
  });
  const needs = ["", ...table.classes.map((one, c) => (plain ? String(state.needs[c][0]) : one.need))];
  $("waits").tBodies[0].replaceChildren(...names.map((name, k) => {
    const row = document.createElement("tr");
    const own = waits?.rows[k];
    cells(row, [name, needs[k], ...(own ? [own.mean, own.p95, own.noWait].map(estimateText) : ["", "", ""])], "th");
    if (here) for (const text of [here.rows[k].mean.text, here.rows[k].p95.text]) add(row, "td", { class: kind }, text);
    return row;
  }));
  const busy = workOf(state).map((work, t) => Math.min(work * state.rate, state.units[t]));
  $("bars").replaceChildren(...table.kinds.map((name, t) => barOf(name, state.units[t], busy[t], waits?.loss[t])));
  legend($("tails-legend"), names, names.map((_, k) => colourOf(k)));
  pictures();
}

function pictures() {
  tailsPicture($("tails"), waits ? waits.rows.map((row, k) => ({ name: names[k], points: row.tail })) : [], `x${ofTime}`);
  curve();
}

function curve() {
  const log = $("log").getAttribute("aria-pressed") === "true";
  const certified = known.points.filter((point) => point.rate).map(({ rate, rows: [{ mean }] }) => [rate, mean.estimate, mean.low ?? NaN, mean.high ?? Infinity]);
  const here = [...visited].sort((a, b) => Number(a[0] === state.rate) - Number(b[0] === state.rate));
  const [middle] = limit();
  const limits = [{ at: known.threshold.estimate, own: sameModel() }];
  if (!sameModel() && Number.isFinite(middle)) limits.push({ at: middle, own: true });
  curvePicture($("curve"), certified, here, limits, `arrival rate${ofTime && ` (per unit of ${data.timeUnit})`}`, log);
  $("curve-note").textContent = `Diamonds: from the command line, ${sameModel() ? "" : "of the model as it was, "}with 99% intervals. Circles: estimates of this browser${sameModel() ? "" : ", of the model as it is now"}. Dashed: the threshold.`;
}

// --- what is edited

// The slider ends a little beyond what the cluster could take without blocking.
const topOf = () => Math.max(idealOf(state) * 1.02, state.rate);

function show() {
  if (document.activeElement !== $("rate")) $("rate").value = Number(state.rate.toPrecision(7));
  if (document.activeElement !== $("rate-slide")) $("rate-slide").value = Math.round((1000 * state.rate) / topOf());
  $("rate-slide").setAttribute("aria-valuetext", `${short(state.rate)} jobs per unit of time`);
  document.querySelectorAll("[data-at]").forEach((input) => {
    if (document.activeElement === input) return;
    const [list, c] = input.dataset.at.split(".");
    const value = list === "needs" ? state.needs[c][0] : state[list][c];
    input.value = input.type === "range" ? value : Number(value.toPrecision(6));
  });
  const here = pointHere();
  $("back").disabled = toAddress() === "";
  document.querySelectorAll("#points button").forEach((button) => button.setAttribute("aria-pressed", String(here?.rate === Number(button.dataset.rate))));
  $("command").textContent = commandHere() || "(edit the model file: a law has no single mean to set)";
  $("again-note").textContent = `The command line certifies what this page estimates. Save the model below as model.toml, then:`;
}

function change(edit, modelChanged) {
  edit();
  ask(modelChanged);
}

function inputOf(at, label, attributes, edit) {
  const made = document.createElement("input");
  for (const [key, value] of Object.entries({ type: "number", step: "any", "aria-label": label, ...attributes })) made.setAttribute(key, value);
  made.dataset.at = at;
  made.addEventListener("input", () => {
    const value = made.value === "" ? NaN : Number(made.value);
    change(() => edit(value), true);
    made.setAttribute("aria-invalid", String(wrong(state) !== ""));
  });
  // What is shown becomes what is kept once the field is left.
  made.addEventListener("blur", () => show());
  return made;
}

function makeKinds() {
  for (const [t, name] of table.kinds.entries()) {
    const box = add($("kinds"), "div", { class: "slider" });
    add(box, "label", { for: `units-${t}` }, name);
    const edit = (value) => (state.units[t] = value);
    box.append(inputOf(`units.${t}`, name, { id: `units-${t}`, min: 1, step: 1 }, edit));
    const track = add(box, "div", { class: "track" });
    track.append(inputOf(`units.${t}`, `${name}, slider`, { type: "range", min: 1, max: 2 * table.units[t], step: 1 }, edit));
  }
}

function makeClasses() {
  for (const [c, one] of table.classes.entries()) {
    const row = $("classes").tBodies[0].insertRow();
    add(row, "th", { scope: "row" }, one.name);
    const need = row.insertCell();
    if (plain) need.append(inputOf(`needs.${c}`, `Need of ${one.name}`, { min: 1, step: 1 }, (value) => (state.needs[c] = [value])));
    else need.textContent = one.need;
    const share = inputOf(`shares.${c}`, `Share of ${one.name}`, { min: 0, max: 1 }, (value) => (state.shares = reshared(state.shares, c, value)));
    share.disabled = table.classes.length === 1;
    row.insertCell().append(share);
    row.insertCell().append(inputOf(`means.${c}`, `Mean service of ${one.name}`, { min: 0 }, (value) => (state.means[c] = value)));
    row.insertCell().textContent = one.law;
  }
}

function makeKnown() {
  for (const point of known.points) {
    const row = $("known").tBodies[0].insertRow();
    const texts = point.rate ? [point.rows[0].mean, point.rows[0].p95, point.rows[0].noWait].map((value) => value.text) : [point.why, "", ""];
    cells(row, [`${(100 * point.load).toFixed(1)}%`, point.rate ? short(point.rate) : "", ...texts], "th");
    const cell = row.insertCell();
    if (!point.rate) continue;
    add(cell, "b", { class: `badge ${point.standing === "certified" ? "certified" : ""}` }, point.standing);
    const button = add($("points"), "button", { type: "button", class: "tool", "data-rate": point.rate, "aria-pressed": "false" }, `load ${(100 * point.load).toFixed(0)}%`);
    button.addEventListener("click", () => change(() => (state = { ...first(), rate: point.rate }), !sameModel()));
  }
  const missing = known.points.filter((point) => !point.rate).length;
  $("missing").hidden = !missing;
  $("missing").textContent = `${missing} of ${known.points.length} points ${missing === 1 ? "is" : "are"} missing; the table says why. All had ${known.written} together: loynes explore MODEL -o page.html --time takes more.`;
  const told = new Set(known.points.flatMap((point) => [...(point.warnings ?? []), ...(point.why && point.rate ? [point.why] : [])]));
  for (const text of told) add($("warnings"), "li", {}, text);
  $("asked").textContent = [known.threshold.command, ...known.points.map((point) => point.command).filter(Boolean)].join("\n");
}

function wire() {
  $("rate").addEventListener("input", () => change(() => (state.rate = Number($("rate").value)), false));
  $("rate-slide").addEventListener("input", () => change(() => {
    state.rate = Number(((Math.max(Number($("rate-slide").value), 1) / 1000) * topOf()).toPrecision(4));
  }, false));
  $("back").addEventListener("click", () => change(() => (state = first()), !sameModel()));
  $("log").addEventListener("click", () => {
    $("log").setAttribute("aria-pressed", String($("log").getAttribute("aria-pressed") !== "true"));
    curve();
  });
  window.addEventListener("resize", pictures);
  window.addEventListener("hashchange", () => {
    if (location.hash !== toAddress()) change(() => (state = fromAddress(location.hash)), true);
  });
}

function theme() {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  const label = () => ($("theme").textContent = isDark() ? "Light" : "Dark");
  $("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    label();
  });
  dark.addEventListener("change", label);
  label();
  $("theme").hidden = false;
}

function problem(text) {
  $("problem").textContent = text;
  $("problem").hidden = !text;
}

// The first jobs of a replica, from a worker: compared with the reference's, bit for bit.
function trace(question) {
  return new Promise((done) => {
    number += 1;
    checks[number] = done;
    piling.postMessage({ kind: "trace", number, change: {}, ...question });
  });
}

const bytesOf = (values) => {
  const view = new DataView(new ArrayBuffer(8 * values.length));
  values.forEach((value, k) => view.setFloat64(8 * k, value, true));
  return btoa(Array.from(new Uint8Array(view.buffer), (byte) => String.fromCharCode(byte)).join(""));
};

async function compare() {
  const { rate, seed, replica, blocks, waits: expected, workload } = known.check;
  const got = await trace({ change: { rate }, seed, replica, blocks });
  const same = bytesOf(got.waits) === expected && bytesOf(got.workload) === workload;
  $("checked").textContent = same
    ? `Compared in this browser: the waits of the first ${64 * blocks} jobs, and the workload after them, are those of the reference, bit for bit.`
    : "In this browser they are NOT: do not use its numbers, and report this.";
  if (!same) problem("This browser does not compute the same jobs as the command line: do not use its numbers, and report this.");
}

state = fromAddress(location.hash);
theme();
$("toml").textContent = data.toml;
$("rate-unit").textContent = data.timeUnit ? `(jobs per unit of ${data.timeUnit})` : "(jobs per unit of time)";
makeKinds();
makeClasses();
makeKnown();
wire();
showWaits();
ask(true);
compare().then(() => (root.dataset.ready = "yes"));
