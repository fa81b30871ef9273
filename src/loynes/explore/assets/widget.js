// The page within a notebook: requests are messages to the kernel. A call has a number, and what comes back has the same.
// `markup` and `styles` are put before it where all modules become one (loynes.explore.pages).

import { explore } from "./explorer.js";

class Link {
  constructor(model) {
    Object.assign(this, { model, number: 0, calls: new Map() });
    this.listen = (message) => this.calls.get(message.call)?.(message);
    model.on("msg:custom", this.listen);
    this.mine = crypto.getRandomValues(new Uint32Array(2)).join("-");
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
      signal?.addEventListener("abort", () => { end(); this.model.send({ call, path: "cancel" }); failed(new Error("aborted")); });
      this.model.send({ call, path, body });
    });
  }

  start = () => this.call("start");
  import = (text) => this.call("import", { text });
  export = (state, form) => this.call("export", { state, form });
  answer = (body, hear, signal) => this.call("answer", body, hear, signal);

  close() {
    this.model.off("msg:custom", this.listen);
    this.model.send({ call: `${this.mine} 0`, path: "leave" });
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
  const link = new Link(model);
  explore(root, link, {});
  return () => link.close();
}
