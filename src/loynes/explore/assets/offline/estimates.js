// Means of independent replicas with their intervals, as estimate.py and threshold/controls.py.

// No interval is extended by more than half of its half-width; fewer values say nothing of their skewness.
const MOST_EXTENDED = 0.5, LEAST_FOR_SKEWNESS = 16;

const within = (value, low, high) => value.map((x) => Math.min(Math.max(x, low), high));

// [estimate, low, high] of the mean; factor is Student's for so many values.
function meanOf(values, factor) {
  const count = values.length;
  const mean = values.reduce((sum, x) => sum + x, 0) / count;
  let second = 0, third = 0;
  for (const x of values) {
    second += (x - mean) ** 2;
    third += (x - mean) ** 3;
  }
  const half = factor * Math.sqrt(second / (count - 1) / count);
  const more = half * extension(second / count, third / count, count, factor);
  return [mean, mean - half + Math.min(more, 0), mean + half + Math.max(more, 0)];
}

// By which part an interval is extended on the side of a skewed sample's long tail (Johnson 1978; Hall 1992).
function extension(variance, third, count, t) {
  if (count < LEAST_FOR_SKEWNESS || !(variance > 0)) return 0;
  const skewness = third / variance ** 1.5;
  const part = ((skewness / Math.sqrt(count)) * (2 * t * t + 1)) / (6 * t);
  return Math.min(Math.max(part, -MOST_EXTENDED), MOST_EXTENDED);
}

// A probability from replicas' parts: where the event was never, or always, seen, what so many observations leave open.
function chanceOf(values, factor, confidence) {
  const mean = within(meanOf(values, factor), 0, 1);
  const open = 1 - (0.5 - 0.5 * confidence) ** (1 / values.length);
  if (mean[0] === 0) return [0, 0, open];
  return mean[0] === 1 ? [1, 1 - open, 1] : mean;
}

// The intercept of a linear regression of independent values on controls of expectation 0: [estimate, low, high].
// controls[k] has one value a replica; those that do not vary, or that the others say already, are left out.
function regressed(values, controls, factors) {
  const count = values.length;
  const basis = [new Float64Array(count).fill(1 / Math.sqrt(count))];
  const centres = [];
  for (const control of controls) {
    // Gram and Schmidt, twice over, on the controls without their means; the means are kept beside.
    const mean = control.reduce((sum, x) => sum + x, 0) / count;
    const rest = Float64Array.from(control, (x) => x - mean);
    const size = norm(rest);
    let centre = mean;
    if (!(size > 1e-9 * Math.sqrt(count) * Math.max(...control.map(Math.abs)))) continue;
    for (let pass = 0; pass < 2; pass++) {
      for (let k = 1; k < basis.length; k++) {
        const along = dot(basis[k], rest);
        for (let r = 0; r < count; r++) rest[r] -= along * basis[k][r];
        centre -= along * centres[k - 1];
      }
    }
    const left = norm(rest);
    if (left < 1e-6 * size) continue;
    basis.push(rest.map((x) => x / left));
    centres.push(centre / left);
  }
  const mean = values.reduce((sum, x) => sum + x, 0) / count;
  const residual = Float64Array.from(values, (x) => x - mean);
  let estimate = mean, scale = 1 / count;
  for (let k = 1; k < basis.length; k++) {
    const along = dot(basis[k], residual);
    for (let r = 0; r < count; r++) residual[r] -= along * basis[k][r];
    estimate -= along * centres[k - 1];
    scale += centres[k - 1] ** 2;
  }
  const freedom = count - basis.length;
  const half = factors[freedom + 1] * Math.sqrt((dot(residual, residual) / freedom) * scale);
  return [estimate, estimate - half, estimate + half];
}

const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
const norm = (a) => Math.sqrt(dot(a, a));
