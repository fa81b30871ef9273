// Jobs as a pure function of (seed, stream, replica, index), as inputs/jobs.py.

const BLOCK = 64;
const SMALLEST = 2 ** -53, LARGEST = 1 - 2 ** -53;
const EXPONENTIAL = 0, PARETO = 1, BOUNDED_PARETO = 2, DETERMINISTIC = 3, UNIFORM = 4, WEIBULL = 5, TABLE = 6;
// The log-quantile is tabulated at equidistant logits.
const TABLE_EDGE = 37, TABLE_CELLS = 2048, TABLE_STEP = (2 * TABLE_EDGE) / TABLE_CELLS, CELLS_PER_LOGIT = 1 / TABLE_STEP;

// A service of the law, one of the classes' or of the gaps', from one uniform.
function service(table, law, u) {
  const { first, low } = table;
  let branch = first[law];
  for (const last = first[law + 1] - 1; branch < last && u >= low[branch + 1]; ) branch += 1;
  const within = Math.min(Math.max((u - low[branch]) * table.stretch[branch], SMALLEST), LARGEST);
  return valueOf(table, branch, within) + table.add[branch];
}

function valueOf(table, branch, u) {
  const p = table.p[branch], q = table.q[branch];
  switch (table.recipe[branch]) {
    case EXPONENTIAL: return p * -log(u);
    case PARETO: return p * exp(q * -log(u));
    case BOUNDED_PARETO: return p * exp(q * -log(1 - table.r[branch] * u));
    case DETERMINISTIC: return p;
    case UNIFORM: return p + q * u;
    case WEIBULL: return p * exp(q * log(-log(u)));
    case TABLE: return exp(interpolated(table.grid, 2 * (TABLE_CELLS + 1) * table.r[branch], log(u) - log(1 - u)));
    default: return onPieces(table.pieces, p, p + q, u);
  }
}

// Cubic Hermite interpolation in the tabulated log-quantiles.
function interpolated(grid, begin, logit) {
  const place = (logit + TABLE_EDGE) * CELLS_PER_LOGIT;
  const cell = Math.trunc(place);
  const f = place - cell;
  const at = begin + 2 * cell;
  const y0 = grid[at], d0 = grid[at + 1], d1 = grid[at + 3];
  const rise = grid[at + 2] - y0;
  return y0 + f * (d0 + f * (3 * rise - (2 * d0 + d1) + f * (d0 + d1 - 2 * rise)));
}

// Straight lines between nodes, rows of (u, value, slope).
function onPieces(pieces, begin, end, u) {
  let [low, high] = [begin, end];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (pieces[3 * middle] <= u) low = middle + 1;
    else high = middle;
  }
  const at = 3 * (low - 1);
  return pieces[at + 1] + pieces[at + 2] * (u - pieces[at]);
}

// Draws a replica's jobs, block by block from job 0 on.
class Jobs {
  constructor(table, seed, stream, replica) {
    Object.assign(this, { table, stream, replica, philox: new Philox(seed), next: 0 });
    this.jobClass = new Int32Array(BLOCK);
    this.service = new Float64Array(BLOCK);
    this.gap = new Float64Array(BLOCK);
    this.arrivals = table.gapMean > 0 && table.arrivals.process !== "poisson" ? new Arrivals(table, this.philox, stream, replica) : null;
    this.picks = Math.max(...table.specific.map((row) => row.reduce((sum, one) => sum + one, 0)));
    this.words = new Float64Array(BLOCK * this.picks);
  }

  block() {
    const { table, philox, picks } = this;
    const { word } = philox;
    const poisson = table.gapMean > 0 && !this.arrivals;
    for (let j = 0; j < BLOCK; j++) {
      const index = this.next + j;
      const low = index >>> 0, high = Math.floor(index / 2 ** 32);
      philox.draw(low, high, this.replica, this.stream);
      const law = picked(table.cut, 0, table.cut.length, word[0]);
      this.jobClass[j] = law;
      this.service[j] = service(table, law, longUniform(word[2], word[3])) * table.scales[law];
      this.gap[j] = poisson ? -log(shortUniform(word[1])) * table.gapMean : 0;
      for (let k = 0; k < picks; k++) {
        if (k % 4 === 0) philox.draw(low, high, this.replica, this.stream | ASSIGNMENT | ((k >> 2) << GROUP_SHIFT));
        this.words[j * picks + k] = word[k % 4];
      }
      if (this.arrivals) this.gap[j] = this.arrivals.step(low, high);
    }
    this.next += BLOCK;
  }
}
