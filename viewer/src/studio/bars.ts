// What bodies weigh that are drawn: bars of one kilogram a metre from point to point, around it if there are three or more.

import { type Change, setText } from "./edits";
import { inSi, type Units } from "../numbers";
import type { Outline, Path } from "./tree";

export type Spot = [number, number];

export interface Mass {
  mass: number;
  centre: Spot;
  inertia: number; // about the centre
}

const DIGITS = 3;
const SAME = 0.006; // of a number with so many digits

/** m = sum l, m c = sum l r, J = sum l^3/12 + l |r - c|^2, of bars of the length l about their middles r. */
export function uniform(points: readonly Spot[]): Mass {
  const ends = points.length > 2 ? [...points, points[0]] : points;
  const bars = ends.slice(1).map((p, k) => {
    const q = ends[k];
    return { l: Math.hypot(p[0] - q[0], p[1] - q[1]), r: [(p[0] + q[0]) / 2, (p[1] + q[1]) / 2] };
  });
  const mass = bars.reduce((s, { l }) => s + l, 0) || 1;
  const centre: Spot = bars.length
    ? [bars.reduce((s, { l, r }) => s + (l * r[0]) / mass, 0), bars.reduce((s, { l, r }) => s + (l * r[1]) / mass, 0)]
    : [...points[0]];
  const inertia = bars.reduce((s, { l, r }) => s + l ** 3 / 12 + l * ((r[0] - centre[0]) ** 2 + (r[1] - centre[1]) ** 2), 0);
  return { mass, centre, inertia };
}

const short = (x: number) => String(Number(x.toPrecision(DIGITS)));

/** The numbers of a body as its text has them. */
export function written({ mass, centre, inertia }: Mass, place: (spot: Spot) => string): Record<"mass" | "inertia" | "mass_centre", string> {
  return { mass: short(mass), inertia: short(inertia), mass_centre: place(centre) };
}

/** Points of a body that are numbers, by their names; nothing if one is a formula. */
export function pointsOf(outline: Outline, path: Path, units: Units): Map<string, Spot> | undefined {
  const found = new Map<string, Spot>();
  for (const name of outline.keys([...path, "points"])) {
    const [x, y] = [0, 1].map((k) => inSi(outline.textAt([...path, "points", name, k]) ?? "", units));
    if (x === undefined || y === undefined) return undefined;
    found.set(name, [x, y]);
  }
  return found;
}

/** Changes by which mass, centre and inertia go with the points, for a body that weighs what its bars do. */
export function follow(outline: Outline, body: string, now: Map<string, Spot>, place: (spot: Spot) => string, units: Units): Change[] {
  const path = ["bodies", body];
  const before = pointsOf(outline, path, units);
  if (!before?.size) return [];
  const [old, next] = [uniform([...before.values()]), uniform([...now.values()])];
  const number = (key: string, ...more: number[]) => inSi(outline.textAt([...path, key, ...more]) ?? "", units);
  const near = (x: number | undefined, y: number) => x !== undefined && Math.abs(x - y) <= SAME * Math.abs(y) + 1e-12;
  const size = Math.sqrt(old.inertia / old.mass) || 1;
  const [x, y] = [number("mass_centre", 0), number("mass_centre", 1)];
  const isCentred = x !== undefined && y !== undefined && Math.hypot(x - old.centre[0], y - old.centre[1]) <= 0.02 * size;
  if (!near(number("mass"), old.mass) || !isCentred) return [];
  if (number("inertia") !== undefined && !near(number("inertia"), old.inertia)) return [];
  const texts = Object.entries(written(next, place));
  return texts.flatMap(([key, text]) => setText(outline, [...path, key], text));
}
