// How large curves are.

export type Values = ArrayLike<number | null>;

export function limits(all: Values[]): [number, number] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const values of all) {
    for (let k = 0; k < values.length; k++) {
      const x = values[k];
      if (x === null || !Number.isFinite(x)) continue;
      if (x < low) low = x;
      if (x > high) high = x;
    }
  }
  return [low, high];
}

export function largest(all: Values[]): number {
  const [low, high] = limits(all);
  return low <= high ? Math.max(Math.abs(low), Math.abs(high)) : 0;
}

/** A range with some room; what does not change is a line in the middle. */
export function spread(low: number, high: number): [number, number] {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return [-1, 1];
  const rounding = 1e-12 * Math.max(1, Math.abs(low));
  if (high - low < rounding) return [low - Math.max(rounding, 0.1 * Math.abs(low)), high + Math.max(rounding, 0.1 * Math.abs(high))];
  const room = 0.06 * (high - low);
  return [low - room, high + room];
}
