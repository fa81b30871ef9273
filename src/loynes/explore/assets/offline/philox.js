// Philox4x32-10, as inputs/philox.py: four words of 32 bits, a pure function of key and counter.

const ROUNDS = 10;
const [MULTIPLIER_0, MULTIPLIER_1] = [0xd2511f53, 0xcd9e8d57];
const [WEYL_0, WEYL_1] = [0x9e3779b9, 0xbb67ae85];
const STREAM_STATIONARY = 0, STREAM_PILE = 1;
// Added to a stream's number: words that move the phase of arrivals, and words that pick a job's specific servers; of
// either there are groups, whose numbers stand above.
const MOVES = 0x40000000, ASSIGNMENT = 0x80, GROUP_SHIFT = 8;
const SHORT = 2 ** -32, LONG = 2 ** -52, HIGH = 2 ** 20;

class Philox {
  // A seed is a whole number below 2^53.
  constructor(seed) {
    this.word = new Uint32Array(4);
    this.key = new Int32Array(2 * ROUNDS);
    const [low, high] = [seed % 2 ** 32, Math.floor(seed / 2 ** 32)];
    for (let k = 0; k < ROUNDS; k++) {
      this.key[2 * k] = low + k * WEYL_0;
      this.key[2 * k + 1] = high + k * WEYL_1;
    }
  }

  // The words of the job at an index, whose low and high 32 bits are given, left in `word`.
  //
  // A product's low half is Math.imul. The product of doubles is within 2^10 of the true one, so that with the low half
  // taken off it is within a millionth of a multiple of 2^32: the high half is the nearest whole number.
  draw(low, high, replica, stream) {
    const { key, word } = this;
    let [c0, c1, c2, c3] = [low >>> 0, high >>> 0, replica >>> 0, stream >>> 0];
    for (let k = 0; k < 2 * ROUNDS; k += 2) {
      const low0 = Math.imul(c0, MULTIPLIER_0) >>> 0;
      const low1 = Math.imul(c2, MULTIPLIER_1) >>> 0;
      const high0 = ((c0 * MULTIPLIER_0 - low0) * SHORT + 0.5) >>> 0;
      const high1 = ((c2 * MULTIPLIER_1 - low1) * SHORT + 0.5) >>> 0;
      c0 = (high1 ^ c1 ^ key[k]) >>> 0;
      c2 = (high0 ^ c3 ^ key[k + 1]) >>> 0;
      c1 = low1;
      c3 = low0;
    }
    word[0] = c0;
    word[1] = c1;
    word[2] = c2;
    word[3] = c3;
  }
}

// (x + 1/2) 2^-32, and (x + 1/2) 2^-52 with x the first 52 bits of two words: never 0 and never 1.
const shortUniform = (word) => (word + 0.5) * SHORT;
const longUniform = (high, low) => (high * HIGH + (low >>> 12) + 0.5) * LONG;
