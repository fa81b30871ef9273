// The line and the servers, moving: an illustration by a small simulation in the browser, first come, first served.

const SPAN = 12; // mean services that are seen at once
const PATIENCE = 500; // moments that are looked at for one to begin with

export class Floor {
  constructor(canvas) {
    this.canvas = canvas;
    this.running = false;
  }

  // classes: [{need, share, mean}], servers, rate
  set(servers, classes, rate) {
    Object.assign(this, { servers, classes, rate, now: 0, next: 0, line: [], shown: [] });
    this.free = new Array(servers).fill(0);
    this.mean = classes.reduce((sum, c) => sum + c.share * c.mean, 0) || 1;
    this.forward(SPAN * this.mean * 0.6);
    // Begin where there is something to see: the head of the line waits although servers are free.
    for (let k = 0; k < PATIENCE && !this.blocked; k++) this.forward(this.mean * 0.2);
    this.draw();
  }

  get blocked() {
    return this.line.length > 0 && this.free.some((time) => time <= this.now);
  }

  job(at) {
    let u = Math.random();
    const place = Math.max(this.classes.findIndex((c) => (u -= c.share) < 0), 0);
    const one = this.classes[place];
    return { at, place, need: Math.min(one.need, this.servers), service: -Math.log(1 - Math.random()) * one.mean };
  }

  // Event by event: the head starts when enough servers are free; nobody starts before it.
  forward(by) {
    const until = this.now + by;
    for (;;) {
      const head = this.line[0];
      const order = head ? this.free.map((time, server) => [time, server]).sort((a, b) => a[0] - b[0]) : [];
      // A job may need none of what is shown; it only waits for its turn.
      const start = head ? Math.max(head.need ? order[head.need - 1][0] : 0, head.at, this.now) : Infinity;
      if (Math.min(start, this.next) > until) break;
      if (start <= this.next) {
        this.now = start;
        const taken = order.slice(0, head.need).map(([, server]) => server);
        for (const server of taken) this.free[server] = start + head.service;
        this.shown.push({ ...head, start, end: start + head.service, taken });
        this.line.shift();
      } else {
        this.now = this.next;
        if (this.line.length < 400) this.line.push(this.job(this.next));
        this.next += -Math.log(1 - Math.random()) / this.rate;
      }
    }
    this.now = until;
    this.shown = this.shown.filter((one) => one.end > this.now - SPAN * this.mean);
  }

  draw() {
    const { canvas } = this;
    const pen = canvas.getContext("2d");
    const style = getComputedStyle(canvas);
    const colour = (name) => style.getPropertyValue(name).trim();
    const [wide, high, left] = [canvas.width, canvas.height, 190];
    pen.clearRect(0, 0, wide, high);
    const row = (high - 24) / this.servers;
    const span = SPAN * this.mean;
    const x = (time) => wide - ((this.now - time) / span) * (wide - left) * 0.8 - (wide - left) * 0.2;
    pen.fillStyle = colour("--hair");
    pen.fillRect(left, 0, wide - left, high - 24);
    for (const one of this.shown) {
      pen.fillStyle = colour(`--p${one.place % 7}`);
      for (const server of one.taken) {
        const from = Math.max(x(one.start), left);
        pen.fillRect(from, server * row, Math.max(Math.min(x(one.end), wide) - from - 1, 0), Math.max(row - 1, 0.5));
      }
    }
    pen.fillStyle = colour("--ink");
    pen.fillRect(x(this.now), 0, 2, high - 24);
    pen.font = "13px system-ui, sans-serif";
    const idle = this.free.filter((time) => time <= this.now).length;
    const head = this.line[0];
    const text = head ? `${this.line.length} waiting; the head needs ${head.need}, ${idle} free` : `nobody waits, ${idle} free`;
    pen.fillText(text, 4, high - 7);
    pen.textAlign = "right";
    pen.fillText("now is the dark line", wide - 4, high - 7);
    pen.textAlign = "left";
    // The line at the left, the head nearest to the servers.
    let at = left - 12;
    const unit = Math.min(row, (high - 24) / this.servers);
    this.line.slice(0, 10).forEach((one, place) => {
      const tall = Math.max(one.need * unit, 3);
      at -= 15;
      pen.fillStyle = colour(`--p${one.place % 7}`);
      pen.fillRect(at, 0, 11, tall);
      if (place === 0) {
        pen.strokeStyle = colour("--ink");
        pen.lineWidth = 3;
        pen.strokeRect(at, 1.5, 11, Math.max(tall - 1.5, 2));
      }
    });
  }

  // A fifth of a mean service at once.
  step() {
    this.forward(this.mean * 0.2);
    this.draw();
  }

  play(on) {
    this.running = on;
    let before = performance.now();
    const frame = (now) => {
      if (!this.running) return;
      this.forward((Math.min(now - before, 100) / 1000) * this.mean * 0.8);
      before = now;
      this.draw();
      requestAnimationFrame(frame);
    };
    if (on) requestAnimationFrame(frame);
  }
}
