// The page's state: what is changed, undo and redo, and its place in the address.

const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));

async function through(data, stream) {
  return new Uint8Array(await new Response(new Blob([data]).stream().pipeThrough(stream)).arrayBuffer());
}

export async function toAddress(state) {
  const packed = await through(new TextEncoder().encode(JSON.stringify(state)), new CompressionStream("deflate-raw"));
  return btoa(String.fromCharCode(...packed)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

export async function fromAddress(text) {
  try {
    const plain = await through(bytes(text), new DecompressionStream("deflate-raw"));
    const state = JSON.parse(new TextDecoder().decode(plain));
    return state && state.model && state.rate > 0 ? state : null;
  } catch {
    return null;
  }
}

// Changes within a moment of each other, as a slider makes them, are one step of undo.
export class History {
  constructor(state) {
    this.now = state;
    this.past = [];
    this.future = [];
    this.last = 0;
  }

  change(state, mark) {
    const soon = mark && mark === this.mark && Date.now() - this.last < 800;
    if (!soon) this.past.push(this.now);
    if (this.past.length > 200) this.past.shift();
    [this.now, this.future, this.mark, this.last] = [state, [], mark, Date.now()];
  }

  undo() {
    if (this.past.length) [this.now, this.future] = [this.past.pop(), [...this.future, this.now]];
  }

  redo() {
    if (this.future.length) [this.now, this.past] = [this.future.pop(), [...this.past, this.now]];
  }
}
