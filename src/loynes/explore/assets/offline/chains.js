// Waits at a rate: independent chains from empty servers, of which the first jobs are left out.
//
// A job's class does not depend on the workload it meets, so that an arrival that is looked at gives the wait of every
// class. What starting empty leaves behind is downward: F_n(0) grows with n in law.

const CHAINS = 32;
const LOOK_EVERY = 16;
// Jobs that one round of all chains takes at most, each.
const ROUND = 128 * BLOCK;
// Waits are counted by the leading bits of wait / unit: 32 bins to a factor of 2, from 2^-24 to 2^24 units.
const OCTAVES = 24, BINS = 32 * 2 * OCTAVES + 2, FIRST_BIN = (1023 - OCTAVES) << 5;
const PERCENTILE = 0.95;

function binOf(ratio) {
  double[0] = ratio;
  return Math.min(Math.max((halves[UPPER] >> 15) - FIRST_BIN + 1, 1), BINS - 1);
}

// The least ratio of a bin; all that is smaller is in the first, the second has the least that is told from it.
function edgeOf(bin) {
  if (bin <= 1) return 0;
  halves[UPPER] = (bin - 1 + FIRST_BIN) << 15;
  halves[LOWER] = 0;
  return double[0];
}

class Chain {
  constructor(table, seed, replica) {
    this.jobs = new Jobs(table, seed, STREAM_STATIONARY, replica);
    this.cluster = new Cluster(table);
    this.table = table;
    this.unit = table.means.reduce((sum, mean, c) => sum + table.shares[c] * mean, 0);
    this.loss = new Float64Array(table.units.length);
    this.wait = new Float64Array(table.classes.length);
    this.bins = table.classes.map(() => new Uint32Array(BINS)); // the first: no wait
    this.looks = 0;
  }

  clear() {
    this.loss.fill(0);
    this.wait.fill(0);
    for (const row of this.bins) row.fill(0);
    this.looks = 0;
  }

  block(waits) {
    const { cluster, jobs } = this;
    jobs.block();
    let now = 0;
    for (let j = 0; j < BLOCK; j++) {
      const at = j * jobs.picks;
      if (j % LOOK_EVERY === 0) this.look(now, at);
      const start = cluster.serve(jobs.jobClass[j], now, jobs.service[j], jobs.words, at);
      if (waits) waits.push(start - now);
      now += jobs.gap[j];
    }
    cluster.rebase(now);
  }

  // What a job of each class would meet.
  look(now, at) {
    const { cluster, jobs, table } = this;
    for (let c = 0; c < this.wait.length; c++) {
      const start = cluster.start(c, now, jobs.words, at);
      const wait = start - now;
      this.wait[c] += wait;
      this.bins[c][wait > 0 ? binOf(wait / this.unit) : 0] += 1;
      for (let t = 0; t < this.loss.length; t++) this.loss[t] += table.shares[c] * cluster.idled(t, now, start);
    }
    this.looks += 1;
  }
}

class Chains {
  // skip: how many jobs of each chain are to be left out.
  constructor(table, seed, factors, confidence, skip) {
    Object.assign(this, { table, factor: factors[CHAINS], confidence, position: 0, skipped: 0, turn: 0 });
    this.planned = BLOCK * Math.max(1, Math.ceil(skip / BLOCK));
    this.all = Array.from({ length: CHAINS }, (_, replica) => new Chain(table, seed, replica));
    this.until = BLOCK;
  }

  get jobs() {
    return this.position * CHAINS;
  }

  // How many are left out next: ever more, up to as many as are planned, so that there is an answer at once.
  get nextSkipped() {
    return this.skipped < this.planned ? Math.min(this.planned, Math.max(4 * this.skipped, 8 * BLOCK)) : Infinity;
  }

  // Serve jobs until that time; true when all chains are equally far.
  work(until) {
    for (; this.turn < CHAINS; this.turn++) {
      const chain = this.all[this.turn];
      while (chain.jobs.next < this.until) {
        chain.block();
        if (performance.now() > until) return false;
      }
    }
    this.turn = 0;
    this.position = this.until;
    if (this.position >= this.nextSkipped) {
      this.skipped = this.position;
      for (const chain of this.all) chain.clear();
    }
    const round = BLOCK * Math.max(1, Math.floor(this.position / BLOCK / 8));
    this.until = Math.min(this.position + Math.min(round, ROUND), this.nextSkipped);
    return true;
  }

  // Whether there is enough behind what was left out to say something of.
  get ready() {
    return this.skipped > 0 && this.position >= 1.5 * this.skipped;
  }

  answer() {
    const { all, table, factor, confidence } = this;
    const { shares, classes } = table;
    const looks = all[0].looks;
    const overall = (of) => of.reduce((sum, one, c) => sum + shares[c] * one, 0);
    // tails[row][chain][bin], the row of all jobs first
    const tails = classes.map((_, c) => all.map((chain) => tailOf(chain.bins[c], looks)));
    tails.unshift(all.map((_, r) => Float64Array.from({ length: BINS }, (_, k) => overall(classes.map((_, c) => tails[c][r][k])))));
    const waits = [(chain) => overall([...chain.wait]), ...classes.map((_, c) => (chain) => chain.wait[c])];
    return {
      jobs: this.jobs,
      skipped: this.skipped,
      planned: this.planned,
      rows: waits.map((wait, row) => {
        const chances = Array.from({ length: BINS }, (_, k) => within(meanOf(tails[row].map((tail) => tail[k]), factor), 0, 1));
        return {
          mean: meanOf(all.map((chain) => wait(chain) / looks), factor),
          noWait: chanceOf(tails[row].map((tail) => 1 - tail[1]), factor, confidence),
          p95: this.percentile(chances),
          tail: this.curve(chances),
        };
      }),
      loss: table.units.map((_, t) => meanOf(all.map((chain) => (table.rate * chain.loss[t]) / looks), factor)),
    };
  }

  // Where P(wait > x), and where the ends of its interval, pass 5%: between two edges, of which each end takes the outer.
  percentile(chances) {
    const rest = 1 - PERCENTILE;
    const passed = [0, 1, 2].map((end) => chances.findIndex((chance, k) => k > 0 && chance[end] <= rest));
    const edge = (k) => edgeOf(k) * this.all[0].unit;
    const [k, low, high] = passed;
    const span = k > 1 ? chances[k - 1][0] - chances[k][0] : 0;
    const part = span > 0 ? (chances[k - 1][0] - rest) / span : 0;
    const middle = k < 0 ? NaN : k > 1 ? edge(k - 1) + part * (edge(k) - edge(k - 1)) : 0;
    return [middle, low < 0 ? NaN : edge(low - 1), high < 0 ? Infinity : edge(high)];
  }

  // Points of the curve: [x, P, low, high], as far as anything was seen.
  curve(chances) {
    const seen = chances.findIndex((chance, k) => k > 0 && chance[0] === 0);
    const last = seen < 0 ? BINS : seen;
    const points = [];
    for (let k = 1; k < last; k += 4) points.push([edgeOf(k) * this.all[0].unit, ...chances[k]]);
    return points;
  }
}

// The part of looks in each bin and all above it.
function tailOf(bins, looks) {
  const tail = new Float64Array(BINS);
  let sum = 0;
  for (let k = BINS - 1; k >= 0; k--) {
    sum += bins[k];
    tail[k] = sum / looks;
  }
  return tail;
}
