// log and exp, operation by operation as inputs/elementary.py: browsers' own differ in their last bits.

const LN2_HIGH = 6.93147180369123816490e-1, LN2_LOW = 1.90821492927058770002e-10, INVERSE_LN2 = 1.442695040888963387;
// Bits of 1 and of sqrt(1/2), to 20 bits, in the high word: mantissas are taken from [sqrt(1/2), sqrt(2)).
const ONE = 0x3ff00000, ROOT = 0x3fe6a09e, MANTISSA = 0x000fffff;
const EXP_LIMIT = 700;

const double = new Float64Array(1);
const halves = new Int32Array(double.buffer);
// Which of the two halves is the high one.
const UPPER = new Uint8Array(new Uint16Array([1]).buffer)[0], LOWER = 1 - UPPER;

// Natural logarithm of positive normal numbers.
function log(x) {
  double[0] = x;
  const bits = halves[UPPER] + (ONE - ROOT);
  const k = (bits >> 20) - 1023;
  halves[UPPER] = (bits & MANTISSA) + ROOT;
  const f = double[0] - 1;
  const s = f / (2 + f);
  const z = s * s;
  const w = z * z;
  const even = w * (3.999999999940941908e-1 + w * (2.222219843214978396e-1 + w * 1.531383769920937332e-1));
  const odd = z * (6.666666666666735130e-1 + w * (2.857142874366239149e-1 + w * (1.818357216161805012e-1 + w * 1.479819860511658591e-1)));
  const half = 0.5 * f * f;
  return k * LN2_HIGH - (half - (s * (half + (even + odd)) + k * LN2_LOW) - f);
}

// Exponential, for arguments cut to [-700, 700].
function exp(given) {
  const x = Math.min(Math.max(given, -EXP_LIMIT), EXP_LIMIT);
  const k = Math.floor(x * INVERSE_LN2 + 0.5);
  const high = x - k * LN2_HIGH;
  const low = k * LN2_LOW;
  const r = high - low;
  const t = r * r;
  const c = r - t * (1.66666666666666019037e-1 + t * (-2.77777777770155933842e-3 + t * (6.61375632143793436117e-5 + t * (-1.65339022054652515390e-6 + t * 4.13813679705723846039e-8))));
  const y = 1 - (low - (r * c) / (2 - c) - high);
  halves[UPPER] = (k + 1023) << 20;
  halves[LOWER] = 0;
  return y * double[0];
}
