// The live page: what is edited becomes a state, the state is sent, and what comes back is shown as it grows.

import { Answers } from "./answers.js";
import { short } from "./charts.js";
import { Editor } from "./editing.js";
import { Floor } from "./line.js";
import { readable, visible } from "./readable.js";
import { History, fromAddress, toAddress } from "./state.js";

const ALSO = ["what_if", "policies", "sweep"];
// Milliseconds in which further changes are waited for before the latest is sent.
const GATHER = 40;
// After so many without any answer the page says so.
const SILENT = 4000;
// What is only a beginning is not read out.
const FIRST = ["at least", "first look"];

const still = matchMedia("(prefers-reduced-motion: reduce)");

class Explorer {
  constructor(root, link, { address = false } = {}) {
    Object.assign(this, { root, link, address, asked: null, timer: 0, retry: 0, redrawn: "", curveOf: "" });
    this.$ = (id) => root.getElementById(id);
    this.host = root.host ?? document.documentElement;
    this.page = root.querySelector?.(".page") ?? document.body;
    this.tab = crypto.getRandomValues(new Uint32Array(2)).join("-");
    this.floor = new Floor(this.$("floor"));
    this.answers = new Answers(this.$, (given) => this.change((s) => Object.assign(s, structuredClone(given))));
    this.editor = new Editor(this.$, (edit, mark) => this.change(edit, mark), () => this.state, () => this.answers.facts);
  }

  get state() {
    return this.history.now;
  }

  async begin() {
    this.theme();
    this.motion();
    this.$("addressed").hidden = !this.address;
    const told = await this.link.start();
    for (const name of told.policies) this.$("policy").append(new Option(readable(name), name));
    const given = this.address && location.hash.length > 1 ? await fromAddress(location.hash.slice(1)) : null;
    this.history = new History(given ?? told.state);
    this.recorded(told.recorded);
    this.wire();
    this.show();
    this.ask();
    this.link.watch?.((there, why) => this.seen(there, why));
    this.host.dataset.ready = "yes";
  }

  change(edit, mark = "") {
    const next = structuredClone(this.state);
    edit(next);
    this.go(next, mark);
  }

  go(next, mark = "") {
    if (this.about === "file") this.problem("");
    this.history.change(next, mark);
    this.show();
    this.ask();
  }

  step(name) {
    if (this.about === "file") this.problem("");
    this.history[name]();
    this.show();
    this.ask();
  }

  // --- asking: the latest change wins; what was asked before is dropped.

  ask() {
    this.answers.stale();
    if (!this.timer) this.timer = setTimeout(() => this.send(), GATHER);
    if (!this.address) return;
    clearTimeout(this.written);
    this.written = setTimeout(async () => {
      this.own = await toAddress(this.state);
      history.replaceState(null, "", `#${this.own}`);
    }, 250);
  }

  async send() {
    this.timer = 0;
    this.asked?.abort();
    const mine = (this.asked = new AbortController());
    this.status("computing", true);
    this.told = false;
    clearTimeout(this.silence);
    this.silence = setTimeout(() => mine === this.asked && this.status(this.link.silent, true), SILENT);
    const body = { state: this.state, tab: this.tab, also: this.also(), of: this.$("of").value || null };
    try {
      await this.link.answer(body, (event) => mine === this.asked && this.hear(event), mine.signal);
      if (mine === this.asked) this.done();
    } catch (error) {
      if (mine.signal.aborted || mine !== this.asked) return;
      clearTimeout(this.silence);
      if (error.gone) return this.again(error, mine);
      this.problem(error.message);
      this.editor.wrong();
      this.status("");
    }
  }

  // What is computed besides; a curve that is there already is kept, since it does not depend on the rate.
  also() {
    const { model, policy, seed } = this.state;
    const now = JSON.stringify([model, policy, seed]);
    if (now !== this.curveOf) {
      this.curveOf = now;
      this.answers.points.clear();
    }
    const whole = this.answers.points.size >= 7;
    return ALSO.filter((name) => this.$(name).checked && !(name === "sweep" && whole));
  }

  done() {
    this.retry = 0;
    this.status("");
  }

  // Gone: try again, ever more slowly, until it is back.
  again(error, mine) {
    this.retry += 1;
    this.status(error.message, true);
    setTimeout(() => mine === this.asked && this.send(), Math.min(400 * 2 ** this.retry, 5000));
  }

  // What the link saw while nothing was asked.
  seen(there, why) {
    if (!there) return this.status(why, true);
    this.status("The server is back.");
    this.ask();
  }

  hear(event) {
    if (this.silence) {
      clearTimeout(this.silence);
      this.silence = 0;
      this.status("computing", true);
    }
    if (event.kind === "error") return this.problem(event.text);
    if (event.kind === "waits" && event.error) this.problem(event.error);
    if (event.kind === "facts") {
      if (this.about === "state") this.problem("");
      this.editor.right();
      this.retry = 0;
    }
    this.answers.rate = this.state.rate;
    this.answers.model = JSON.stringify([this.state.model, this.state.seed]);
    this.answers.hear(event);
    if (event.kind === "waits" && !this.told && !FIRST.includes(event.standing)) this.tell(event);
    if (event.kind === "facts") this.known();
  }

  known() {
    const { facts } = this.answers;
    this.editor.show();
    const shape = JSON.stringify([facts.servers, facts.classes, this.state.rate]);
    if (shape !== this.redrawn) {
      this.redrawn = shape;
      this.floor.set(facts.servers, facts.classes.map((c) => ({ need: c.units, share: c.probability, mean: c.mean })), this.state.rate);
    }
    this.scale();
  }

  scale() {
    const top = this.answers.facts.ideal * 1.05;
    const slide = this.$("slide");
    slide.dataset.top = top;
    if (this.root.activeElement !== slide) slide.value = Math.round((1000 * this.state.rate) / top);
    slide.setAttribute("aria-valuetext", `${short(this.state.rate)} jobs per ${readable(this.answers.facts.time_unit?.replace(/s$/, "") ?? "unit of time")}`);
  }

  // --- what the page says of itself

  recorded(told) {
    this.answers.recorded = told ?? null;
    this.$("log").hidden = !told;
    this.$("logged").hidden = !told;
    this.root.querySelector("#waits").classList.toggle("of-log", Boolean(told));
    if (told) {
      this.$("log").textContent = `A model fitted to ${told.jobs} jobs of ${readable(told.source)}${told.skipped ? ` (${told.skipped} lines were skipped)` : ""}, with ${told.process} arrivals. The last column has the mean waits of the log's own jobs, run again one by one under ${told.policy} on the servers that it had; it does not follow changes.`;
    }
  }

  show() {
    const now = this.state;
    if (this.root.activeElement !== this.$("rate")) this.$("rate").value = Number(now.rate.toPrecision(6));
    this.$("policy").value = now.policy || "fcfs";
    this.$("undo").disabled = !this.history.past.length;
    this.$("redo").disabled = !this.history.future.length;
    this.$("unpin").hidden = !now.pinned;
    this.$("waits").classList.toggle("with-pin", Boolean(now.pinned));
    this.$("how").textContent = now.pinned ? `Pinned: rate ${short(now.pinned.rate)}, ${now.pinned.policy ?? "fcfs"}.` : "";
    if (this.answers.facts) this.editor.show();
  }

  // Messages are read out; that something is being computed is only seen.
  status(text, busy = false) {
    const made = document.createElement("span");
    made.textContent = readable(text);
    if (text === "computing") made.setAttribute("aria-hidden", "true");
    this.$("status").replaceChildren(...(text ? [made] : []));
    this.$("status").classList.toggle("busy", busy);
  }

  // One sentence for screen readers, once a state; a slider that is dragged is read out where it stops.
  tell(event) {
    this.told = true;
    const { mean } = event.overall ?? {};
    this.$("spoken").textContent = mean ? `Mean wait ${mean.text}, ${event.standing}.` : readable(event.unstable ?? event.error ?? "");
  }

  // What is wrong with the state goes when the state is answered; what is wrong with a file stays until the next change.
  problem(text, about = "state") {
    this.about = about;
    this.$("problem").textContent = readable(text);
    this.$("problem").hidden = !text;
  }

  // --- taken along

  async take(file) {
    if (file.size > 200000) return this.problem(`${file.name}: is larger than the page takes`, "file");
    try {
      const state = await this.link.import(await file.text());
      this.recorded(null);
      this.go(state);
    } catch (error) {
      this.problem(`${file.name}: ${error.message}`, "file");
    }
  }

  async bring(form) {
    this.status("writing", true);
    try {
      const text = await this.link.export(this.state, form);
      this.problem("");
      if (form === "report") this.save(text, "loynes.html", "text/html");
      else {
        this.$("out").textContent = visible(text, { lines: true });
        this.$("taken").hidden = false;
        this.$("out").focus();
        this.$("save").onclick = () => this.save(text, { toml: "model.toml", command: "command.txt", python: "cell.py" }[form], "text/plain");
      }
    } catch (error) {
      this.problem(error.message);
    }
    this.status("");
  }

  save(text, name, type) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  theme() {
    const button = this.$("theme");
    const isDark = () => (this.host.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
    const label = () => { button.textContent = isDark() ? "Light" : "Dark"; };
    const changed = () => {
      label();
      if (this.floor.servers) this.floor.draw();
    };
    button.addEventListener("click", () => {
      this.host.dataset.theme = isDark() ? "light" : "dark";
      changed();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
    label();
  }

  wire() {
    const { $ } = this;
    const on = (id, kind, done) => $(id).addEventListener(kind, done);
    on("rate", "change", () => this.change((s) => { s.rate = Number($("rate").value); }));
    on("policy", "change", () => this.change((s) => { s.policy = $("policy").value; }));
    on("slide", "input", () => this.change((s) => { s.rate = Number(((Number($("slide").value) / 1000) * Number($("slide").dataset.top)).toPrecision(4)); }, "slide"));
    on("add", "click", () => this.editor.add());
    on("pin", "click", () => this.change((s) => { s.pinned = { model: structuredClone(s.model), rate: s.rate, policy: s.policy ?? "fcfs" }; }));
    on("unpin", "click", () => this.change((s) => { delete s.pinned; }));
    on("undo", "click", () => this.step("undo"));
    on("redo", "click", () => this.step("redo"));
    for (const name of [...ALSO, "of"]) on(name, "change", () => this.ask());
    this.root.querySelectorAll("[data-form]").forEach((b) => b.addEventListener("click", () => this.bring(b.dataset.form)));
    on("open", "change", async () => {
      if ($("open").files[0]) await this.take($("open").files[0]);
      $("open").value = "";
    });
    on("play", "click", () => this.play());
    this.keys();
    this.drops();
    if (this.address) {
      window.addEventListener("hashchange", async () => {
        const text = location.hash.slice(1);
        const given = text === this.own ? null : await fromAddress(text);
        if (given) this.go(given);
      });
    }
  }

  // Whoever wants no motion moves the picture step by step.
  motion() {
    const set = () => {
      this.floor.play(false);
      this.$("play").textContent = still.matches ? "Step" : "Play";
      if (still.matches) this.$("play").removeAttribute("aria-pressed");
      else this.$("play").setAttribute("aria-pressed", "false");
    };
    still.addEventListener("change", set);
    set();
  }

  play() {
    const button = this.$("play");
    if (still.matches) return this.floor.step();
    const running = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", running);
    button.textContent = running ? "Pause" : "Play";
    this.floor.play(running);
  }

  // Undo and redo by keys, but where a text is being edited, which has its own.
  keys() {
    this.root.addEventListener("keydown", (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.target.matches?.("input[type=text], input[type=number]")) return;
      const key = event.key.toLowerCase();
      if (key !== "z" && key !== "y") return;
      event.preventDefault();
      this.step(key === "y" || event.shiftKey ? "redo" : "undo");
    });
  }

  drops() {
    const over = (is) => this.page.classList.toggle("over", is);
    this.root.addEventListener("dragover", (event) => {
      event.preventDefault();
      over(true);
    });
    this.root.addEventListener("dragleave", () => over(false));
    this.root.addEventListener("drop", (event) => {
      event.preventDefault();
      over(false);
      if (event.dataTransfer.files[0]) this.take(event.dataTransfer.files[0]);
    });
  }
}

export async function explore(root, link, options) {
  const made = new Explorer(root, link, options);
  try {
    await made.begin();
  } catch (error) {
    made.problem(error.message);
  }
  return made;
}
