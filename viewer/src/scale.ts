// Lengths of the picture: round ones, how they are written, what is inside an outline.

import type { Spot } from "./data";

/** The next of 1, 2, 5 times a power of ten. */
export function nice(x: number): number {
  const power = 10 ** Math.floor(Math.log10(x));
  const lead = x / power;
  return power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
}

export function metres(length: number): string {
  if (length >= 1000) return `${length / 1000} km`;
  if (length >= 1) return `${Number(length.toPrecision(3))} m`;
  if (length >= 0.01) return `${Number((100 * length).toPrecision(3))} cm`;
  if (length >= 0.0001) return `${Number((1000 * length).toPrecision(3))} mm`;
  return `${Number((1e6 * length).toPrecision(3))} µm`;
}

/** Whether a place is inside a closed line. */
export function inside([x, y]: Spot, line: Spot[]): boolean {
  let found = false;
  for (let k = 0, j = line.length - 1; k < line.length; j = k++) {
    const [a, b] = [line[k], line[j]];
    if (a[1] > y !== b[1] > y && x < ((b[0] - a[0]) * (y - a[1])) / (b[1] - a[1]) + a[0]) found = !found;
  }
  return found;
}
