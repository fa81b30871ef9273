// The workload of each kind of server, and the step from job to job, as kernels/reference.py (kinds_block, advance_block).
//
// Times count from a block's start. An entry is when a server becomes free; only start + service is ever computed, all
// else moves, so that a list of runs and a plain vector hold the same numbers.

// Runs of equal entries, the most loaded first. A job takes servers off the end, however many in one go.
class Runs {
  constructor(servers) {
    this.servers = servers;
    this.values = new Float64Array(servers + 1);
    this.counts = new Int32Array(servers + 1);
    this.counts[0] = servers;
    this.size = 1;
  }

  // When the a-th least loaded server becomes free.
  free(a) {
    const { counts, values } = this;
    let place = this.size - 1;
    for (let passed = counts[place]; passed < a; passed += counts[place]) place -= 1;
    return values[place];
  }

  // The least loaded a servers become free at v.
  take(a, v) {
    const { counts, values } = this;
    let { size } = this;
    let short = a;
    do {
      size -= 1;
      short -= counts[size];
    } while (short > 0);
    if (short < 0) {
      counts[size] = -short;
      size += 1;
    }
    let place = size;
    while (place > 0 && values[place - 1] < v) {
      values[place] = values[place - 1];
      counts[place] = counts[place - 1];
      place -= 1;
    }
    values[place] = v;
    counts[place] = a;
    this.size = size + 1;
  }

  // Server time idled until `start` from `since` on, by all servers that are free before.
  idled(since, start) {
    let lost = 0;
    for (let place = this.size - 1; place >= 0 && this.values[place] < start; place--) {
      lost += this.counts[place] * (start - Math.max(since, this.values[place]));
    }
    return lost;
  }

  // The same by the least loaded a alone.
  idledBy(a, since, start) {
    let lost = 0;
    for (let place = this.size - 1, short = a; short > 0; place--) {
      const units = Math.min(short, this.counts[place]);
      lost += units * (start - Math.max(since, this.values[place]));
      short -= units;
    }
    return lost;
  }

  // Seen from `by`, none below `floor`; runs that become equal are one.
  shift(floor, by, least) {
    const { counts, values, size } = this;
    let kept = 0;
    for (let i = 0; i < size; i++) {
      const left = Math.max(least, Math.max(floor, values[i]) - by);
      if (kept > 0 && values[kept - 1] === left) {
        counts[kept - 1] += counts[i];
      } else {
        values[kept] = left;
        counts[kept] = counts[i];
        kept += 1;
      }
    }
    this.size = kept;
  }

  get top() {
    return this.values[0];
  }

  get bottom() {
    return this.values[this.size - 1];
  }

  // Ascending.
  get entries() {
    const all = new Float64Array(this.servers);
    let end = this.servers;
    for (let i = 0; i < this.size; i++) {
      all.fill(this.values[i], end - this.counts[i], end);
      end -= this.counts[i];
    }
    return all;
  }
}

// A plain ascending vector, where jobs insist on particular servers: b of them at places that are drawn, and the least
// loaded a others.
class Vector {
  constructor(servers) {
    this.servers = servers;
    this.values = new Float64Array(servers);
  }

  // The places that a job takes, ascending, from its words.
  taken(a, b, words, at) {
    const chosen = [];
    for (let i = 0; i < b; i++) {
      let place = Math.floor((words[at + i] * (this.servers - i)) / 2 ** 32);
      for (const one of chosen) if (place >= one) place += 1; // ascending
      chosen.push(place);
      chosen.sort((x, y) => x - y);
    }
    const all = [];
    for (let i = 0, passed = 0, others = 0; others < a || passed < b; i++) {
      if (chosen[passed] === i) passed += 1;
      else if (others < a) others += 1;
      else continue;
      all.push(i);
    }
    return all;
  }

  free(places) {
    return this.values[places[places.length - 1]];
  }

  take(places, v) {
    const { values, servers } = this;
    let kept = 0, passed = 0;
    for (let i = 0; i < servers; i++) {
      if (places[passed] === i) passed += 1;
      else values[kept++] = values[i];
    }
    while (kept > 0 && values[kept - 1] > v) {
      values[kept - 1 + places.length] = values[kept - 1];
      kept -= 1;
    }
    values.fill(v, kept, kept + places.length);
  }

  idled(since, start) {
    let lost = 0;
    for (let i = 0; i < this.servers && this.values[i] < start; i++) lost += start - Math.max(since, this.values[i]);
    return lost;
  }

  idledBy(places, since, start) {
    return places.reduce((lost, place) => lost + (start - Math.max(since, this.values[place])), 0);
  }

  shift(floor, by, least) {
    for (let i = 0; i < this.servers; i++) this.values[i] = Math.max(least, Math.max(floor, this.values[i]) - by);
  }

  get top() {
    return this.values[this.servers - 1];
  }

  get bottom() {
    return this.values[0];
  }

  get entries() {
    return this.values.slice();
  }
}

class Cluster {
  constructor(table) {
    const { units, demand, specific, strict } = table;
    Object.assign(this, { demand, specific, strict, floor: 0, count: units.length });
    // A run list cannot part with particular servers.
    this.chosen = units.map((_, t) => specific.some((row) => row[t] > 0));
    this.kinds = units.map((servers, t) => (this.chosen[t] ? new Vector(servers) : new Runs(servers)));
    this.its = units.map(() => 0); // what a job takes of each kind: how many, or which places
  }

  // When a job of a class would start that arrives `now`; leaves in `its` what it would take.
  start(job, now, words, at) {
    const { count, kinds, chosen, its } = this;
    const demand = this.demand[job], specific = this.specific[job];
    let start = Math.max(now, this.floor);
    for (let t = 0; t < count; t++) {
      const a = demand[t];
      if (chosen[t]) {
        its[t] = kinds[t].taken(a, specific[t], words, at);
        at += specific[t];
        if (its[t].length) start = Math.max(start, kinds[t].free(its[t]));
      } else {
        its[t] = a;
        if (a > 0) start = Math.max(start, kinds[t].free(a));
      }
    }
    return start;
  }

  // What servers of a kind idle for the sake of that job: those it takes, or, in strict order, all.
  idled(t, now, start) {
    const since = Math.max(now, this.floor);
    if (this.strict) return start > since ? this.kinds[t].idled(since, start) : 0;
    return this.kinds[t].idledBy(this.its[t], since, start);
  }

  // Serve a job; returns when it starts.
  serve(job, now, service, words, at) {
    const start = this.start(job, now, words, at);
    for (let t = 0; t < this.count; t++) {
      const its = this.its[t];
      if (this.chosen[t] ? its.length : its > 0) this.kinds[t].take(its, start + service);
    }
    if (this.strict) this.floor = start;
    return start;
  }

  // The end of a block: workloads seen from `now`, idle servers' are 0.
  rebase(now) {
    for (const kind of this.kinds) kind.shift(this.floor, now, 0);
    this.floor = 0;
  }

  // The end of a block of a pile: count from its bottom, which is returned.
  lower() {
    let bottom = Infinity;
    for (const kind of this.kinds) bottom = Math.min(bottom, Math.max(this.floor, kind.bottom));
    for (const kind of this.kinds) kind.shift(this.floor, bottom, -Infinity);
    this.floor = 0;
    return bottom;
  }

  // Of a block that has ended.
  get top() {
    return Math.max(...this.kinds.map((kind) => kind.top));
  }

  get bottom() {
    return Math.min(...this.kinds.map((kind) => kind.bottom));
  }

  get workload() {
    return Float64Array.from(this.kinds.flatMap((kind) => [...kind.entries]));
  }
}
