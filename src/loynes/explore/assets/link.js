// The page's connection to its server: requests over HTTP, answers as a stream of events.

// The server is not there now; it may come back.
export class Gone extends Error {
  gone = true;
}

// What a server that was started again, under another name, says to the old page.
const RENAMED =
  "The server was started again under another address. Open the one that it printed; the part of this address from # on, put behind it, brings the state back.";

async function json(got) {
  const told = await got.json().catch(() => ({}));
  if (got.ok) return told;
  if (got.status === 404 && told.error === undefined) throw new Gone(RENAMED);
  throw new Error(told.error || `the server did not take that (${got.status})`);
}

export class HttpLink {
  silent = "No answer yet: the server is busy. Numbers are the last ones it gave.";

  constructor(base = "") {
    this.base = base;
  }

  async ask(path, body, signal) {
    const more = body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    try {
      return await fetch(`${this.base}api/${path}`, { ...more, signal });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new Gone("The server does not answer. Numbers are the last ones it gave; trying again.");
    }
  }

  start = async () => json(await this.ask("start"));

  import = async (text) => json(await this.ask("import", { text }));

  async export(state, form) {
    const got = await this.ask("export", { state, form });
    return got.ok ? got.text() : json(got);
  }

  // Events go to `hear` until the last one; a connection that ends before it is Gone.
  async answer(body, hear, signal) {
    const got = await this.ask("answer", body, signal);
    if (got.status === 503) throw new Gone((await got.json()).error);
    if (!got.ok) return json(got);
    const reader = got.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "", ended = false;
    for (;;) {
      let piece;
      try {
        piece = await reader.read();
      } catch (error) {
        if (signal.aborted) throw error;
        break;
      }
      if (piece.done) break;
      const parts = (rest + piece.value).split("\n\n");
      rest = parts.pop();
      for (const part of parts) {
        if (!part.startsWith("data: ")) continue;
        const event = JSON.parse(part.slice(6));
        ended ||= event.kind === "done" || event.kind === "replaced";
        hear(event);
      }
    }
    if (!ended) throw new Gone("The connection to the server was lost. Numbers are the last ones it gave; trying again.");
  }

  // Says whether the server is there, every few seconds, also while nothing is asked.
  watch(told) {
    let [there, before] = [true, ""];
    const look = async () => {
      let now = true, why = "";
      try {
        const got = await this.ask("alive");
        if (got.status === 404) [now, why] = [false, RENAMED];
      } catch (error) {
        [now, why] = [false, error.message];
      }
      if (now !== there || why !== before) told(now, why);
      [there, before] = [now, why];
      setTimeout(look, there ? 3000 : 1000);
    };
    setTimeout(look, 3000);
  }
}
