// Gaps that are not those of Poisson arrivals, and where the process stands from job to job, as inputs/arrivals.py.

// Recorded gaps; what the law of a renewal's gaps is times; mean stays in each phase: at a rate.
function timesOf({ process, gaps, gapMean, meanSize, leaving, stretch }, rate) {
  if (process === "recorded") return gaps.map((gap) => gap / (gapMean * rate));
  if (process === "renewal") return [meanSize / (rate * gapMean)];
  return process === "modulated" ? leaving.map((one) => stretch / rate / one) : [];
}

class Arrivals {
  constructor(table, philox, stream, replica) {
    const { arrivals, times } = table;
    Object.assign(this, { table, arrivals, philox, replica, stream: stream | MOVES, process: arrivals.process, time: times });
    this.law = table.classes.length; // of a renewal's gaps: it stands after those of the classes
    this.start();
  }

  // At job 0, by the words of the largest index, which is nobody's.
  start() {
    const { arrivals, philox, process } = this;
    const { word } = philox;
    philox.draw(0xffffffff, 0x7fffffff, this.replica, this.stream);
    this.phase = this.more = 0;
    if (process === "recorded") this.phase = Math.floor((word[0] * arrivals.phases) / 2 ** 32);
    if (process === "modulated") this.phase = picked(arrivals.cuts.start, 0, arrivals.phases, word[0]);
    if (arrivals.sizes) this.more = picked(arrivals.cuts.start_more, 0, arrivals.sizes, word[1]);
  }

  // The gap after the job at an index, given by its halves; the place is then that of the next one.
  step(low, high) {
    const { arrivals, philox, process, time } = this;
    const { word } = philox;
    if (process === "recorded") {
      const gap = time[this.phase];
      this.phase = (this.phase + 1) % arrivals.phases;
      return gap;
    }
    if (this.more > 0) {
      this.more -= 1;
      return 0;
    }
    philox.draw(low, high, this.replica, this.stream);
    const size = arrivals.sizes ? picked(arrivals.cuts.size, 0, arrivals.sizes, word[2]) : 0;
    this.more = size;
    if (process === "renewal") return service(this.table, this.law, longUniform(word[0], word[1])) * time[0];
    let gap = 0;
    for (let move = 0; ; move++) {
      if (move > 0) philox.draw(low, high, this.replica, this.stream | (move << GROUP_SHIFT));
      gap += -log(shortUniform(word[1])) * time[this.phase];
      const place = picked(arrivals.cuts.move, arrivals.first[this.phase], arrivals.first[this.phase + 1], word[0]);
      const to = arrivals.to[place];
      this.phase = to >> 1;
      if (to & 1) return gap;
    }
  }
}
