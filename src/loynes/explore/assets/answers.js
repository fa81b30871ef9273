// What came back, shown: numbers with their digits, the bar, curves, and lists.

import { lines, short } from "./charts.js";
import { figure } from "./digits.js";
import { readable } from "./readable.js";

const COLOURS = ["c0", "c1", "c2", "c3", "c4", "c5", "c6"];
const STANDING = {
  exact: "exact: every digit is right",
  certified: "certified: intervals (99%) also hold what starting empty leaves out",
  "lower bound": "estimates that may be too low: nothing bounds them from above",
  estimate: "estimates from two starts that agree, without a certificate",
  unsettled: "estimates from two starts that do not agree: neither is to be relied upon",
  "at least": "bounds from a short run that begins with an empty cluster; estimates follow",
  "first look": "a first look: short runs that begin with an empty cluster, to be relied upon in no digit; estimates follow",
};

const words = (kind, text) => Object.assign(document.createElement(kind), { textContent: readable(text) });

export class Answers {
  constructor($, use) {
    Object.assign(this, { $, use, facts: null, answer: null, threshold: null, of: "", points: new Map(), recorded: null });
  }

  stale() {
    for (const name of ["threshold", "known", "waits", "bar", "legend", "tails", "names", "ifs", "orders"]) this.$(name).classList.add("old");
    this.differed = false;
    this.$("ifs").dataset.fresh = this.$("orders").dataset.fresh = "";
  }

  hear(event) {
    const heard = { facts: this.know, threshold: this.bound, waits: this.wait, difference: this.differ,
                    what_if: (e) => this.listed("ifs", e), policy: (e) => this.listed("orders", e), point: this.point }[event.kind];
    heard?.call(this, event);
  }

  know(event) {
    this.facts = event;
    const { $ } = this;
    for (const name of ["threshold", "known"]) $(name).classList.remove("old");
    $("label").textContent = readable(`${event.label}: ${event.size}`);
    const at = $("of").value;
    $("of").replaceChildren(...event.classes.map((c) => new Option(readable(c.name), c.name)));
    if (event.classes.some((c) => c.name === at)) $("of").value = at;
    else $("of").value = event.classes.reduce((most, c) => (c.units > most.units ? c : most)).name;
    $("pooled").hidden = !event.pooled;
    const at_work = event.busy <= event.servers ? event.busy : event.servers;
    $("known").textContent = `Exactly, at once: ${short(at_work)} of ${event.servers} ${event.kinds.length > 1 ? readable(event.bottleneck) : "servers"} at work on average; no more than ${short(event.ideal)} jobs per ${readable(event.time_unit?.replace(/s$/, "") ?? "unit of time")} could be carried without blocking.`;
    // The threshold does not depend on the rate: what is known of this model's stays, that of another one goes.
    if (this.of !== this.model) [this.threshold, this.of] = [null, this.model];
    this.scale();
  }

  // Of brackets of one model the narrowest: after a change of the rate they come again from the widest on.
  bound(event) {
    if (!event.threshold) return;
    const width = ({ low, high }) => (high ?? Infinity) - (low ?? 0);
    if (this.threshold && width(event.threshold) > width(this.threshold)) return;
    this.threshold = event.threshold;
    this.$("threshold").dataset.command = event.command;
    this.scale();
  }

  // The slider's marks and the words below it; before anything is sampled what the work of jobs alone says.
  scale() {
    const { $, threshold } = this;
    const { low, high } = threshold ?? this.facts.bounds;
    const top = this.facts.ideal * 1.05;
    const at = (x) => `${Math.max(0, Math.min((100 * x) / top, 100))}%`;
    $("mark").hidden = !threshold;
    $("bracket").style.left = at(low ?? 0);
    $("bracket").style.width = `calc(${at(high ?? top)} - ${at(low ?? 0)})`;
    if (threshold) $("mark").style.left = at(threshold.estimate);
    const range = low > 0 ? `from ${short(low)} to ${short(high)}` : `at most ${short(high)}`;
    $("threshold").replaceChildren("Threshold ", threshold ? figure(threshold) : `${range}, by the work of jobs alone`,
      ": the largest rate that first come, first served can take. ",
      words("span", threshold ? `Now at ${((100 * this.rate) / threshold.estimate).toFixed(1)}% of it.` : ""));
  }

  wait(event) {
    const { $ } = this;
    if (event.error) return;
    for (const name of ["waits", "bar", "legend"]) $(name).classList.remove("old");
    const body = $("waits").tBodies[0];
    if (event.unstable) {
      this.answer = null;
      $("trust").textContent = `${readable(event.unstable)}. The line grows without end: there is no wait to tell.`;
      $("same").textContent = "";
      body.replaceChildren();
      for (const name of ["bar", "legend", "tails", "names"]) $(name).replaceChildren();
      return;
    }
    this.answer = event;
    // A difference stays while only the waits become more exact; one of another state goes.
    const kept = new Map(this.differed ? [...body.rows].map((row) => [row.dataset.name, row.cells[5]]) : []);
    const rows = [["all jobs", "", event.overall], ...this.facts.classes.map((c) => [c.name, c.need, event.classes[c.name]])];
    body.replaceChildren(...rows.filter(([, , w]) => w).map(([name, need, w]) => {
      const row = document.createElement("tr");
      row.dataset.name = name;
      row.append(Object.assign(words("th", name), { scope: "row" }));
      row.insertCell().textContent = readable(need);
      for (const one of [w.mean, w.p95, w.no_wait]) row.insertCell().append(figure(one));
      row.append(kept.get(name) ?? document.createElement("td"));
      row.insertCell().append(this.recorded ? figure(this.recorded.waits[name]) : "");
      return row;
    }));
    const { mean } = event.overall;
    const half = mean.high !== null && mean.estimate > 0 ? (mean.high - mean.low) / 2 / mean.estimate : null;
    const how = `${half ? `Mean wait known to ${Number((100 * half).toPrecision(2))}%; ` : ""}${STANDING[event.standing] ?? event.standing}.`;
    $("trust").textContent = how[0].toUpperCase() + how.slice(1);
    $("trust").dataset.standing = event.standing;
    $("trust").dataset.precision = event.precision ?? "";
    $("same").textContent = event.command ? readable(event.command) : "The estimates that follow have a command.";
    $("remarks").replaceChildren(...event.warnings.map((text) => words("li", text)));
    this.bar(event.system);
    this.tails(event.tails);
    this.curve();
  }

  bar(system) {
    const { $ } = this;
    const parts = [["busy", "busy", system.busy]];
    if (system.blocked) {
      parts.push(["lost", "blocked: free, but the head of the line needs more", system.blocked]);
      parts.push(["idle", "idle: nobody waits", system.idle]);
    } else {
      const rest = Math.max(this.facts.servers - system.busy.estimate, 0);
      parts.push(["idle", "blocked or idle", { estimate: rest, low: rest, high: rest, text: String(Number(rest.toPrecision(6))) }]);
    }
    $("bar").replaceChildren(...parts.map(([colour, , value]) => {
      const one = Object.assign(document.createElement("i"), { className: colour });
      one.style.flexGrow = Math.max(value.estimate, 0);
      return one;
    }));
    $("legend").replaceChildren(...parts.map(([colour, name, value]) => {
      const item = Object.assign(document.createElement("span"), { className: `legend-item ${colour}` });
      item.append(document.createElement("i"), `${name} `, figure(value));
      return item;
    }));
    const unit = this.facts.kinds.length > 1 ? readable(this.facts.bottleneck) : "servers";
    $("bar").setAttribute("aria-label", parts.map(([, name, value]) => `${name}: ${value.text} ${unit}`).join("; "));
  }

  tails(tails) {
    if (!tails) return;
    for (const name of ["tails", "names"]) this.$(name).classList.remove("old");
    const names = ["all jobs", ...this.facts.classes.map((c) => c.name)].filter((name) => tails.classes[name]);
    lines(this.$("tails"), { label: "Probability that a job waits longer than x, by class", log: true, xName: "x", yName: "P(wait > x)",
      series: names.map((name, i) => ({ name: readable(name), colour: i ? COLOURS[(i - 1) % 7] : "ink", points: tails.x.map((x, k) => [x, tails.classes[name][k] ?? NaN]) })) });
    this.$("names").replaceChildren(...names.map((name, i) => {
      const item = Object.assign(document.createElement("span"), { className: `legend-item ${i ? COLOURS[(i - 1) % 7] : "ink"}` });
      item.append(document.createElement("i"), readable(name));
      return item;
    }));
  }

  differ(event) {
    const { $ } = this;
    this.differed = true;
    $("how").textContent = event.overall ? `Against the pinned state: ${event.how}.` : `Against the pinned state: ${readable(event.unstable ?? event.error)}.`;
    for (const row of $("waits").tBodies[0].rows) {
      const value = row.dataset.name === "all jobs" ? event.overall : event.classes?.[row.dataset.name];
      row.cells[5].replaceChildren(value ? figure(value, { signed: true }) : "");
    }
  }

  listed(place, event) {
    const list = this.$(place);
    const held = list.getRootNode().activeElement;
    if (list.contains(held)) this.held = held.getAttribute("aria-label");
    if (!list.dataset.fresh) list.replaceChildren();
    list.dataset.fresh = "yes";
    list.classList.remove("old");
    const item = document.createElement("li");
    item.append(words("b", event.name), ": ");
    if (event.overall) item.append("mean wait ", figure(event.overall.mean), `, 95% below `, figure(event.overall.p95));
    else item.append(event.unstable ? "unstable: the line grows without end" : readable(event.error));
    const button = Object.assign(words("button", "Use"), { className: "tool" });
    button.setAttribute("aria-label", readable(`Use: ${event.name}`));
    button.addEventListener("click", () => this.use(place === "ifs" ? event.state : { policy: event.name }));
    item.append(" ", button);
    list.append(item);
    if (this.held && this.held === button.getAttribute("aria-label")) {
      button.focus(); // it was pressed, and its list came anew
      this.held = "";
    }
  }

  point(event) {
    if (event.overall) this.points.set(event.load, event.overall.mean.estimate);
    this.curve();
  }

  curve() {
    const ring = this.answer?.load !== undefined ? [this.answer.load, this.answer.overall.mean.estimate] : null;
    lines(this.$("curve"), { label: "Mean wait against load", xName: "load (of the threshold)", yName: "mean wait", ring, limit: 1,
      series: [{ name: "all jobs", colour: "c0", dots: true, points: [...this.points].sort((a, b) => a[0] - b[0]) }] });
  }
}
