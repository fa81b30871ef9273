// The page within a notebook: requests are messages to the kernel. A call has a number, and what comes back has the same.
// `markup` and `styles` are put before it where all modules become one (loynes.explore.pages).

import { explore } from "./explorer.js";

const LOST = "The kernel does not answer any more. Numbers are the last ones it gave; run the cell again.";

class Link {
  silent = "No answer yet: the kernel is busy with another cell, or it is gone. Numbers are the last ones it gave.";

  constructor(model) {
    Object.assign(this, { model, number: 0, calls: new Map() });
    this.listen = (message) => this.calls.get(message.call)?.(message);
    model.on("msg:custom", this.listen);
    this.mine = crypto.getRandomValues(new Uint32Array(2)).join("-");
    // A page that is left or reloaded takes its views with it.
    this.left = () => this.leave();
    window.addEventListener("pagehide", this.left);
  }

  // A kernel that has ended takes no message.
  send(message) {
    try {
      this.model.send(message);
    } catch {
      throw Object.assign(new Error(LOST), { gone: true });
    }
  }

  // Several views of one widget share its messages: calls carry whose they are.
  call(path, body, hear, signal) {
    const call = `${this.mine} ${(this.number += 1)}`;
    return new Promise((done, failed) => {
      const end = () => { this.calls.delete(call); };
      this.calls.set(call, (message) => {
        if (message.event) return hear(message.event);
        end();
        if (message.error !== undefined) failed(new Error(message.error));
        else done(message.value);
      });
      signal?.addEventListener("abort", () => { end(); this.quietly({ call, path: "cancel" }); failed(new Error("aborted")); });
      this.send({ call, path, body });
    });
  }

  quietly(message) {
    try {
      this.model.send(message);
    } catch {
      // Whom it was for has ended.
    }
  }

  leave() {
    this.quietly({ call: `${this.mine} 0`, path: "leave" });
  }

  start = () => this.call("start");
  import = (text) => this.call("import", { text });
  export = (state, form) => this.call("export", { state, form });
  answer = (body, hear, signal) => this.call("answer", body, hear, signal);

  close() {
    this.model.off("msg:custom", this.listen);
    window.removeEventListener("pagehide", this.left);
    this.leave();
  }
}

export function render({ model, el }) {
  const root = el.attachShadow ? (el.shadowRoot ?? el.attachShadow({ mode: "open" })) : el;
  const sheet = document.createElement("style");
  sheet.textContent = styles;
  const page = document.createElement("div");
  page.className = "page";
  page.innerHTML = markup;
  root.replaceChildren(sheet, page);
  // What is typed here is not for the notebook, whose keys cut and delete cells: JupyterLab looks for this attribute
  // before any element hears of a key; others listen behind the element.
  el.dataset.lmSuppressShortcuts = "true";
  for (const kind of ["keydown", "keypress", "keyup"]) el.addEventListener(kind, (event) => event.stopPropagation());
  const link = new Link(model);
  explore(root, link, {});
  return () => link.close();
}
