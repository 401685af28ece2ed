// The points of bodies as formulas of values, and a drawing that follows them.

import type { ResultData, Vec } from "./data";

export type Step = number | [name: string, value: number] | { op: string; of: number[] };

export interface Anchors {
  steps: Step[];
  points: [number, number, number][][]; // of each body, the ground first: places among the steps
}

const OPERATIONS: Record<string, (a: number, b: number) => number> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  neg: (a) => -a,
  pow: (a, b) => a ** b,
  sqrt: (a) => Math.sqrt(a),
  sin: (a) => Math.sin(a),
  cos: (a) => Math.cos(a),
  tan: (a) => Math.tan(a),
  asin: (a) => Math.asin(a),
  acos: (a) => Math.acos(a),
  atan: (a) => Math.atan(a),
  abs: (a) => Math.abs(a),
};

/** The points of all bodies where values are these; a value that nobody knows stays what it was at first. */
export function points({ steps, points }: Anchors, value: (name: string) => number | undefined): Vec[][] {
  const found = new Float64Array(steps.length);
  steps.forEach((step, k) => {
    if (typeof step === "number") found[k] = step;
    else if (Array.isArray(step)) found[k] = value(step[0]) ?? step[1];
    else found[k] = OPERATIONS[step.op](found[step.of[0]], found[step.of[1]]);
  });
  return points.map((own) => own.map((place) => place.map((k) => found[k]) as Vec));
}

/** Names of the values on which a point depends. */
export function namesOf({ steps }: Anchors, place: readonly number[]): string[] {
  const names = new Set<string>();
  const look = (k: number) => {
    const step = steps[k];
    if (Array.isArray(step)) names.add(step[0]);
    else if (typeof step === "object") step.of.forEach(look);
  };
  place.forEach(look);
  return [...names];
}

const NEAR = 1e-9; // of the extent of the points of a body: two that are one
const DIFFERENCE = 1e-6; // of a value: the step of a difference quotient whose formula is nearly linear
const ROUNDS = 4; // of Newton's iteration, on formulas that are nearly linear

/** The least changes of values that bring a point of a body to a place: new values by their names. */
export function solve(
  anchors: Anchors,
  body: number,
  index: number,
  to: Vec,
  value: (name: string) => number | undefined,
): Map<string, number> {
  const place = anchors.points[body][index];
  const names = namesOf(anchors, place).filter((name) => value(name) !== undefined);
  const now = new Map(names.map((name) => [name, value(name) as number]));
  const own = { steps: anchors.steps, points: [[place]] };
  const at = (changed: Map<string, number>) => points(own, (name) => changed.get(name) ?? value(name))[0][0];
  for (let round = 0; round < ROUNDS && names.length; round++) {
    const here = at(now);
    const off = to.map((x, c) => x - here[c]);
    const columns = names.map((name) => {
      const h = DIFFERENCE * (Math.abs(now.get(name) as number) || 1);
      const there = at(new Map(now).set(name, (now.get(name) as number) + h));
      return there.map((x, c) => (x - here[c]) / h);
    });
    // x = J^T (J J^T + soft)^-1 off, three equations
    const A = [0, 1, 2].map((i) => [0, 1, 2].map((j) => columns.reduce((s, own) => s + own[i] * own[j], 0)));
    const soft = 1e-9 * (A[0][0] + A[1][1] + A[2][2]) || 1;
    const lam = solve3(A.map((row, i) => row.map((x, j) => x + (i === j ? soft : 0))), off);
    names.forEach((name, k) => now.set(name, (now.get(name) as number) + columns[k].reduce((s, x, c) => s + x * lam[c], 0)));
  }
  return now;
}

/** Cramer's rule. */
function solve3(A: number[][], b: number[]): number[] {
  const det = (M: number[][]) =>
    M[0][0] * (M[1][1] * M[2][2] - M[1][2] * M[2][1]) -
    M[0][1] * (M[1][0] * M[2][2] - M[1][2] * M[2][0]) +
    M[0][2] * (M[1][0] * M[2][1] - M[1][1] * M[2][0]);
  const whole = det(A);
  return [0, 1, 2].map((k) => det(A.map((row, i) => row.map((x, j) => (j === k ? b[i] : x)))) / whole);
}

interface Follower {
  target: number[];
  body: number;
  anchor: number;
  offset: number[];
}

const ALONG = ["link", "limb", "rail", "slot", "plate", "mark"]; // outlines of which each corner follows its own point

/** A drawing and a scene whose places follow the points of their bodies. */
export class Shape {
  private readonly followers: Follower[] = [];
  private readonly first: Vec[][];

  constructor(
    readonly anchors: Anchors,
    private readonly data: ResultData,
  ) {
    this.first = points(anchors, () => undefined);
    const { scene, drawing } = data;
    const index = new Map(scene.bodies.map(({ name }, k) => [name, k]));
    scene.bodies.forEach((body, k) => Object.values(body.points).forEach((s) => this.follow(k, s)));
    for (const mark of [...scene.joints, ...scene.forces, ...scene.drivers]) {
      mark.points.forEach((s, k) => this.follow(index.get(mark.bodies[k]) ?? 0, s));
    }
    for (const outline of drawing.outlines) {
      if (outline.upright) this.follow(outline.body, outline.at);
      else for (const line of outline.lines) this.followLine(outline.body, line, ALONG.includes(outline.role) && outline.closed);
    }
    for (const stretch of drawing.stretches) stretch.points.forEach((s, k) => this.follow(stretch.bodies[k], s));
    for (const solid of drawing.solids) {
      if (solid.form === "hull") this.followLine(solid.body, solid.corners, true);
      else if (solid.form !== "mesh") this.follow(solid.body, solid.at);
    }
  }

  private nearest(body: number, at: readonly number[]): number {
    let [found, least] = [-1, Number.POSITIVE_INFINITY];
    this.first[body].forEach((point, k) => {
      const far = Math.hypot(point[0] - at[0], point[1] - at[1], point[2] - (at[2] ?? 0));
      if (far < least) [found, least] = [k, far];
    });
    return found;
  }

  /** A place keeps its distance from the point that is nearest to it, or to another place. */
  private follow(body: number, target: number[], nearTo: readonly number[] = target): void {
    const anchor = this.nearest(body, nearTo);
    if (anchor < 0) return;
    // the mass centre stays where it is
    if (Math.hypot(...nearTo) < 0.5 * Math.hypot(...nearTo.map((x, c) => x - this.first[body][anchor][c])) && body > 0) return;
    this.followers.push({ target, body, anchor, offset: target.map((x, c) => x - this.first[body][anchor][c]) });
  }

  private followLine(body: number, line: number[][], apart: boolean): void {
    const middle = line[0].map((_, c) => line.reduce((s, p) => s + p[c], 0) / line.length);
    for (const corner of line) this.follow(body, corner, apart ? corner : middle);
  }

  /** Move all that follows to where points are for these values: whether anything has moved. */
  apply(value: (name: string) => number | undefined): boolean {
    const now = points(this.anchors, value);
    let moved = false;
    for (const { target, body, anchor, offset } of this.followers) {
      for (let c = 0; c < target.length; c++) {
        const at = now[body][anchor][c] + offset[c];
        moved ||= target[c] !== at;
        target[c] = at;
      }
    }
    return moved;
  }

  /** The points of a body that are at the place s now. */
  pointsAt(body: number, s: ArrayLike<number>, value: (name: string) => number | undefined): number[] {
    const own = points(this.anchors, value)[body];
    const size = Math.max(...own.map((p) => Math.hypot(...p)), this.data.drawing.unit);
    return own.flatMap((p, k) => (Math.hypot(p[0] - s[0], p[1] - s[1], p[2] - (s[2] ?? 0)) < NEAR * size ? [k] : []));
  }
}
