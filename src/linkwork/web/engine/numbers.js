// Numbers: what the parts of the engine share, a small linear system, the spacing of doubles, angles that go on.

export const SOFT = 1e-12; // of the largest diagonal entry of a linear system, whose rows may depend on each other
// How a piece of a motion ends, as in memory.py.
export const REACHED = 0, SPENT = 1, EVENT = 2, UNSUITED = 3, TOO_SMALL = 4, NOT_PROJECTED = 6, STOPPED = 10;
export const AROUND = 2; // units of the last digit of a time at which a step is to end: where it ends, and goes on
export const MOST_TICKS = 1000; // of a clock, in a picture

/** x with (A + soft) x = b, A symmetric and not indefinite, rows one behind the other; the softness is corrected for.
 * @param {Float64Array} A @param {ArrayLike<number>} b @param {number} n @param {ArrayLike<number>} soft */
export function solve(A, b, n, soft) {
  const L = A.slice();
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let s = A[i * n + j];
      if (i === j) s += soft[i];
      for (let k = 0; k < j; k++) s -= L[i * n + k] * L[j * n + k];
      L[i * n + j] = i === j ? Math.sqrt(Math.max(s, 1e-300)) : s / L[j * n + j];
    }
  }
  const x = new Float64Array(n);
  for (let round = 0; round < 3; round++) {
    const y = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      let s = b[i];
      for (let k = 0; k < n; k++) s -= A[i * n + k] * x[k];
      for (let k = 0; k < i; k++) s -= L[i * n + k] * y[k];
      y[i] = s / L[i * n + i];
    }
    for (let i = n - 1; i >= 0; i--) {
      for (let k = i + 1; k < n; k++) y[i] -= L[k * n + i] * y[k];
      y[i] /= L[i * n + i];
    }
    for (let i = 0; i < n; i++) x[i] += y[i];
    if (soft[0] > SOFT * 1e3) break; // damped on purpose
  }
  return x;
}

/** The distance to the next double. @param {number} t */
export function spacing(t) {
  const bits = new BigInt64Array(Float64Array.of(Math.abs(t)).buffer);
  return new Float64Array(BigInt64Array.of(bits[0] + 1n).buffer)[0] - Math.abs(t);
}

/** An angle with whole turns added: from row to row it changes as its rate has it.
 * @param {Float64Array} t @param {Float64Array} angle @param {Float64Array} rate */
export function turned(t, angle, rate) {
  let [turns, before] = [0, angle[0]];
  for (let k = 1; k < angle.length; k++) {
    const way = 0.5 * (t[k] - t[k - 1]) * (rate[k] + rate[k - 1]);
    const more = Math.round((way - (angle[k] - before)) / (2 * Math.PI));
    before = angle[k];
    if (Number.isFinite(more)) turns += more;
    angle[k] += 2 * Math.PI * turns;
  }
  return angle;
}
