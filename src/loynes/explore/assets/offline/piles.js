// The threshold from piles, as threshold/: K / E[top] <= threshold <= K / E[bottom] for every length K of a pile that is
// started flat, each end widened by its interval over independent replicas.

const PILES = 48;
// Controls of each kind, and jobs of a class, expected in all replicas together, from which on it has any.
const MOST_CONTROLLED = 8, OFTEN = 64;

// One replica: counts and services by class beside the heights.
class Pile {
  constructor(table, seed, replica) {
    this.jobs = new Jobs(table, seed, STREAM_PILE, replica);
    this.cluster = new Cluster(table);
    this.base = 0;
    this.count = new Float64Array(table.classes.length);
    this.service = new Float64Array(table.classes.length);
  }

  block() {
    const { cluster, jobs } = this;
    jobs.block();
    for (let j = 0; j < BLOCK; j++) {
      const c = jobs.jobClass[j];
      cluster.serve(c, 0, jobs.service[j], jobs.words, j * jobs.picks);
      this.count[c] += 1;
      this.service[c] += jobs.service[j];
    }
    this.base += cluster.lower();
  }
}

class Piles {
  constructor(table, seed, factors) {
    Object.assign(this, { table, factors, length: 0, mark: null });
    this.all = Array.from({ length: PILES }, (_, replica) => new Pile(table, seed, replica));
    this.turn = 0; // the replica that goes on next
    this.until = 16 * BLOCK;
    this.chosen = chosenControls(table);
  }

  get jobs() {
    return this.length * PILES;
  }

  // Pile on until that time; true when all replicas are as long as they are to be next.
  work(until) {
    for (; this.turn < PILES; this.turn++) {
      const pile = this.all[this.turn];
      while (pile.jobs.next < this.until) {
        pile.block();
        if (performance.now() > until) return false;
      }
    }
    return true;
  }

  // The bracket at this length; then twice as far.
  bracket() {
    const before = this.mark;
    this.length = this.until;
    const now = this.snapshot();
    const controls = this.controls(now, this.length);
    const [, , top] = regressed(now.top.map((x) => x / this.length), controls, this.factors);
    const [, bottom] = regressed(now.bottom.map((x) => x / this.length), controls, this.factors);
    const [low, high] = [1 / top, bottom > 0 ? 1 / bottom : Infinity];
    let centre = 1 / regressed(now.top.map((x) => x / this.length), controls, this.factors)[0];
    if (before) {
      // The growth over the second half is far less biased than height over length.
      const gained = this.length - before.length;
      const since = (a, b) => a.map((x, i) => x - b[i]);
      const counts = now.count.map((row, r) => since(row, before.count[r]));
      const services = now.service.map((row, r) => since(row, before.service[r]));
      const later = this.controls({ count: counts, service: services }, gained);
      const growths = ["top", "bottom"].map((end) => regressed(since(now[end], before[end]).map((x) => x / gained), later, this.factors));
      const [best] = growths.sort((a, b) => a[2] - a[1] - (b[2] - b[1]));
      centre = best[0] > 0 ? 1 / best[0] : high;
    }
    this.mark = { ...now, length: this.length };
    this.until = 2 * this.length;
    this.turn = 0;
    return [Math.min(Math.max(centre, low), high), low, high];
  }

  snapshot() {
    return {
      top: this.all.map((pile) => pile.base + pile.cluster.top),
      bottom: this.all.map((pile) => pile.base + pile.cluster.bottom),
      count: this.all.map((pile) => pile.count.slice()),
      service: this.all.map((pile) => pile.service.slice()),
    };
  }

  // Deviations a job, of expectation 0, one row a control.
  controls({ count, service }, length) {
    const { shares, means } = this.table;
    const often = (c) => shares[c] * length * PILES >= OFTEN;
    const counts = this.chosen.counted.filter(often).map((c) => count.map((row) => (row[c] - length * shares[c]) / length));
    const services = this.chosen.weighed.filter(often).map((c) => service.map((row, r) => (row[c] - count[r][c] * means[c]) / length));
    return [...counts, ...services];
  }
}

// The classes whose numbers, and whose services, matter most; chosen by what the model says, never by what was drawn.
function chosenControls({ classes, shares, means, scales, demand, specific }) {
  const need = demand.map((row, c) => row.reduce((sum, a, t) => sum + a + specific[c][t], 0));
  const variance = classes.map((one, c) => (one.variance === null ? 0 : one.variance * scales[c] ** 2));
  const by = (weight) => classes.map((_, c) => c).sort((a, b) => weight[b] - weight[a]);
  const counted = by(classes.map((_, c) => shares[c] * need[c] ** 2 * (variance[c] + means[c] ** 2)));
  const spread = classes.map((_, c) => shares[c] * need[c] ** 2 * variance[c]);
  return {
    counted: counted.slice(0, Math.min(MOST_CONTROLLED, classes.length - 1)),
    weighed: by(spread).slice(0, MOST_CONTROLLED).filter((c) => spread[c] > 0),
  };
}
