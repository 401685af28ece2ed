// A crank that is turned by hand: on or back, until one of its points is as near to a place as its way leads.

import type { Vec } from "./data";

const ROUNDS = 5; // of Newton's iteration, each time the hand moves
const DIFFERENCE = 1e-4; // of the time that the motion lasts: the step of difference quotients, of places in single precision
const MOST = 0.05; // of it, by which one round may turn: a point near a dead centre is no lever

export interface Crank<Failure> {
  /** Turn by dt seconds of its driver; why that is not possible, if it locks. */
  turn(dt: number): Failure | null;
  place(): Vec;
}

function dot(a: Vec, b: Vec): number {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

function less(a: Vec, b: Vec): Vec {
  return [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
}

/** Find a zero of g = (to - P) . P_dot by secants, from where the crank is; why it ends before, if it locks. */
export function turnTowards<Failure>(crank: Crank<Failure>, to: Vec, length: number): Failure | null {
  let [t, before]: [number, { t: number; g: number } | undefined] = [0, undefined];
  for (let round = 0; round < ROUNDS; round++) {
    let step = DIFFERENCE * length;
    let from = crank.place();
    if (crank.turn(step)) {
      // it locks here: the way that led to it
      [step, from] = [-step, crank.place()];
      crank.turn(step);
    }
    const there = crank.place();
    const P_dot = less(there, from).map((x) => x / step) as Vec;
    const P = there.map((x, k) => 0.5 * (x + from[k])) as Vec; // half a step before
    const now = { t: t + 0.5 * step, g: dot(less(to, P), P_dot) };
    const usual = -dot(P_dot, P_dot); // that of a straight way
    const secant = before ? (now.g - before.g) / (now.t - before.t) : usual;
    const way = -now.g / (secant < 0 ? secant : usual);
    if (!Number.isFinite(way)) return null;
    const turned = Math.min(Math.max(way, -MOST * length), MOST * length);
    const failure = crank.turn(turned - 0.5 * step);
    if (failure || Math.abs(way) < DIFFERENCE * length) return failure;
    [t, before] = [now.t + turned, now];
  }
  return null;
}
