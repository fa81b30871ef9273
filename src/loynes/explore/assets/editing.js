// The cluster and its classes, edited in place. What is edited is the model file as plain data.

import { readable, visible } from "./readable.js";

export const LAWS = ["exponential", "deterministic", "erlang", "gamma", "lognormal", "fit"];

export function serviceOf(law, mean, cv) {
  const spread = cv > 0 ? cv : 1;
  if (law === "deterministic") return { law, value: mean };
  if (law === "erlang") return { law, phases: Math.max(1, Math.round(1 / spread ** 2)), mean };
  if (law === "gamma") return { law, shape: 1 / spread ** 2, mean };
  if (law === "lognormal" || law === "fit") return { law, mean, cv: spread };
  return { law: "exponential", mean };
}

// The other classes share what is left, as they did.
export function share(classes, place, value) {
  const others = classes.filter((_, i) => i !== place);
  const sum = others.reduce((all, one) => all + one.probability, 0);
  if (place >= 0) classes[place].probability = value;
  for (const one of others) one.probability = ((sum ? one.probability / sum : 1 / others.length) * (1 - (place >= 0 ? value : 0)));
}

// An amount of a resource as a person writes it: a number, or a size with its unit.
const amount = (text) => (/^\s*\d+\s*$/.test(text) ? Number(text) : text.trim());
const plainly = (x, digits) => (Number.isFinite(x) ? Number(x.toPrecision(digits)) : "");

export class Editor {
  // `change(edit, mark)` changes the state; `now()` gives it; `facts()` what is known of it.
  constructor($, change, now, facts) {
    Object.assign(this, { $, change, now, facts, fields: [], drawn: "" });
  }

  show() {
    const shape = this.shape();
    if (shape !== this.drawn) {
      const active = this.$("cluster").getRootNode().activeElement;
      const [held, within] = [active?.getAttribute("aria-label"), this.$("classes").contains(active)];
      this.drawn = shape;
      this.fields = [];
      this.size();
      this.classes();
      this.refresh();
      const again = this.fields.find((one) => one.element.getAttribute("aria-label") === held)?.element;
      (again ?? (within ? this.$("add") : null))?.focus(); // a class that was removed takes its button with it
    } else this.refresh();
  }

  // What there is to edit; where it stays the same, values are brought up to date in place.
  shape() {
    const { model } = this.now();
    const of = (one) => [typeof one.need, Object.keys(one.service), one.probability === undefined, LAWS.includes(one.service.law)];
    return JSON.stringify([this.kinds(), model.servers === undefined, model.nodes?.map((one) => Object.keys(one)), model.classes.map(of)]);
  }

  kinds() {
    const { model } = this.now();
    const all = model.nodes ? model.nodes.flatMap((one) => Object.keys(one.has)) : Object.keys(model.resources ?? {});
    return [...new Set(all)];
  }

  // One field: how it is labelled, read, and written back.
  field({ kind = "text", label, read, write, off = () => false, choices }) {
    const made = document.createElement(choices ? "select" : "input");
    if (choices) for (const name of choices) made.append(new Option(readable(name), name));
    else made.type = kind;
    if (kind === "number") Object.assign(made, { step: "any", min: "0" });
    if (kind === "text" && !choices) made.maxLength = 100;
    made.addEventListener("change", () => {
      this.last = made;
      if (kind === "number" && (made.value === "" || !Number.isFinite(Number(made.value)))) return this.wrong(made);
      this.change((s) => write(s, kind === "number" ? Number(made.value) : made.value));
    });
    this.fields.push({ element: made, label, read, off });
    return made;
  }

  refresh() {
    const held = this.$("cluster").getRootNode().activeElement;
    for (const { element, label, read, off } of this.fields) {
      element.setAttribute("aria-label", readable(label()));
      element.disabled = off();
      if (element !== held || element.tagName === "SELECT") element.value = visible(read() ?? "");
    }
  }

  wrong(element = this.last) {
    element?.setAttribute("aria-invalid", "true");
  }

  right() {
    this.$("cluster").getRootNode().querySelectorAll("[aria-invalid]").forEach((one) => one.removeAttribute("aria-invalid"));
  }

  labelled(text, element) {
    const made = document.createElement("label");
    made.append(`${readable(text)} `, element);
    return made;
  }

  size() {
    const { model } = this.now();
    const place = this.$("size");
    if (model.nodes) return place.replaceChildren(this.nodes());
    if (model.resources) {
      return place.replaceChildren(...Object.keys(model.resources).map((kind) => this.labelled(kind, this.field({
        label: () => `${kind} of the cluster`, read: () => this.now().model.resources[kind],
        write: (s, v) => { s.model.resources[kind] = amount(v); } }))));
    }
    const servers = this.field({ kind: "number", label: () => "Servers", read: () => this.now().model.servers, write: (s, v) => { s.model.servers = v; } });
    servers.id = "servers";
    return place.replaceChildren(this.labelled("Servers", servers));
  }

  nodes() {
    const table = document.createElement("table");
    table.id = "nodes";
    table.createCaption().textContent = "Nodes";
    const kinds = this.kinds();
    const head = table.createTHead().insertRow();
    for (const text of ["name", "count", ...kinds.map((kind) => `${kind} of each`), ""]) {
      const th = document.createElement(text ? "th" : "td");
      th.textContent = readable(text);
      head.append(th);
    }
    const body = table.createTBody();
    const name = (i) => this.now().model.nodes[i]?.name ?? `entry ${i + 1}`;
    this.now().model.nodes.forEach((_, i) => {
      const row = body.insertRow();
      row.insertCell().textContent = readable(name(i));
      row.insertCell().append(this.field({ kind: "number", label: () => `Count of ${name(i)} nodes`, read: () => this.now().model.nodes[i].count ?? 1, write: (s, v) => { s.model.nodes[i].count = v; } }));
      for (const kind of kinds) {
        row.insertCell().append(this.field({ label: () => `${kind} of each ${name(i)} node`, read: () => this.now().model.nodes[i].has[kind] ?? "",
          write: (s, v) => { if (v.trim()) s.model.nodes[i].has[kind] = amount(v); else delete s.model.nodes[i].has[kind]; } }));
      }
      row.insertCell().append(this.button("Remove", `Remove ${name(i)} nodes`, this.now().model.nodes.length < 2, (s) => s.model.nodes.splice(i, 1)));
    });
    const frame = document.createElement("div");
    frame.className = "scroll";
    frame.append(table);
    return frame;
  }

  button(text, label, off, edit) {
    const made = document.createElement("button");
    made.className = "tool";
    made.textContent = text;
    made.setAttribute("aria-label", readable(label));
    made.disabled = off;
    made.addEventListener("click", () => this.change(edit));
    return made;
  }

  classes() {
    const rows = this.now().model.classes.map((one, i) => this.row(one, i));
    this.$("classes").tBodies[0].replaceChildren(...rows);
  }

  // What is known of a class: what the server said, or, of one that is new, what stands in the model.
  known(i) {
    const one = this.now().model.classes[i];
    const told = this.facts().classes[i];
    const name = one.name ?? told?.name ?? `class ${i + 1}`;
    const same = told && told.name === name;
    const { mean, cv } = same ? told : { mean: one.service.mean ?? one.service.value ?? 1, cv: one.service.cv ?? 1 };
    return { name, mean, cv, probability: one.probability ?? told?.probability ?? 0 };
  }

  row(one, i) {
    const row = document.createElement("tr");
    const kinds = this.kinds();
    const known = () => this.known(i);
    const service = () => this.now().model.classes[i].service;
    const own = () => LAWS.includes(service().law);
    const put = (...fields) => row.insertCell().append(...fields);
    put(this.field({ label: () => `Name of class ${i + 1}`, read: () => known().name, write: (s, v) => { s.model.classes[i].name = v; } }));
    if (typeof one.need === "number") {
      put(this.field({ kind: "number", label: () => `Need of ${known().name}`, read: () => this.now().model.classes[i].need, write: (s, v) => { s.model.classes[i].need = v; } }));
    } else {
      put(...kinds.map((kind) => this.labelled(kind, this.field({ label: () => `Need of ${known().name}: ${kind}`, read: () => this.now().model.classes[i].need?.[kind] ?? "",
        write: (s, v) => {
          const need = s.model.classes[i].need;
          if (v.trim() && v.trim() !== "0") need[kind] = amount(v);
          else delete need[kind];
        } }))));
      if (this.now().model.nodes) {
        row.cells[1].append(this.labelled("tasks", this.field({ kind: "number", label: () => `Tasks of ${known().name}`, read: () => this.now().model.classes[i].tasks ?? 1, write: (s, v) => { s.model.classes[i].tasks = v; } })));
      }
    }
    put(this.field({ kind: "number", label: () => `Share of ${known().name}`, read: () => plainly(known().probability, 6), off: () => one.probability === undefined,
      write: (s, v) => share(s.model.classes, i, v) }));
    put(this.field({ choices: LAWS.includes(one.service.law) ? LAWS : [one.service.law, ...LAWS], label: () => `Service law of ${known().name}`, read: () => service().law,
      write: (s, v) => { s.model.classes[i].service = serviceOf(v, known().mean, known().cv); } }));
    put(this.field({ kind: "number", label: () => `Mean service of ${known().name}`, read: () => plainly(known().mean, 6), off: () => !own(),
      write: (s, v) => { s.model.classes[i].service = serviceOf(service().law, v, known().cv); } }));
    put(this.field({ kind: "number", label: () => `Spread of ${known().name}`, read: () => plainly(known().cv ?? NaN, 4), off: () => !own() || service().law === "deterministic",
      write: (s, v) => { s.model.classes[i].service = serviceOf(service().law === "exponential" ? "fit" : service().law, known().mean, v); } }));
    ["", "need", "share", "service law", "mean", "spread (cv)"].forEach((text, k) => { row.cells[k].dataset.label = text; });
    put(this.button("Remove", `Remove ${known().name}`, this.now().model.classes.length < 2, (s) => {
      s.model.classes.splice(i, 1);
      if (s.model.classes.every((c) => c.probability !== undefined)) share(s.model.classes, -1, 0);
    }));
    return row;
  }

  add() {
    this.change((s) => {
      const { classes } = s.model;
      const names = new Set(classes.map((c) => c.name));
      let n = classes.length + 1;
      while (names.has(`class-${n}`)) n += 1;
      const need = typeof classes[0].need === "number" ? 1 : structuredClone(classes[0].need);
      classes.push({ name: `class-${n}`, need, probability: 0, service: { law: "exponential", mean: 1 } });
      share(classes, classes.length - 1, 0.1);
    });
  }
}
