// What velocities and accelerations of planar bodies say: instant centres, and what the points of the bodies have.

import { place, type Result, type Spot } from "./data";
import type { Spotted } from "./stage";

const MOST = 6; // bodies of which all pairs are shown; of more, each against the ground
const NAMED = 24; // points of a polygon that can be told apart
const PARALLEL = 1e-9; // of the largest angular velocity: two bodies that turn alike have their pole at infinity

export interface Pole {
  at: Spot;
  name: string; // numbers of the two bodies, 0 is the ground
}

/** Place and velocity of a body: x, y, vx, vy, omega. */
type Moving = [number, number, number, number, number];

/** v_i + omega_i x (P - r_i) = v_j + omega_j x (P - r_j) solved for P; nothing where both turn alike. */
export function pole(i: Moving, j: Moving): Spot | undefined {
  const [xi, yi, vxi, vyi, wi] = i;
  const [xj, yj, vxj, vyj, wj] = j;
  const w = wi - wj;
  if (!(Math.abs(w) > PARALLEL * Math.max(Math.abs(wi), Math.abs(wj)))) return undefined;
  return [(wi * xi - wj * xj - (vyi - vyj)) / w, (wi * yi - wj * yj + (vxi - vxj)) / w];
}

export function poles(result: Result, time: number): Pole[] {
  const bodies = result.data.scene.bodies.map(({ name }, k): Moving => {
    const parts = ["x", "y", "vx", "vy", "omega"].map((part) => (k ? (result.value(`${name}.${part}`, time) ?? Number.NaN) : 0));
    return parts as Moving;
  });
  const found: Pole[] = [];
  bodies.forEach((own, j) => {
    for (let i = 0; i < (bodies.length - 1 <= MOST ? j : Math.min(1, j)); i++) {
      const at = pole(bodies[i], own);
      if (at?.every(Number.isFinite)) found.push({ at, name: bodies.length > 10 ? `${i},${j}` : `${i}${j}` });
    }
  });
  return found;
}

export interface Corner {
  name: string;
  body: number;
  at: Spot;
}

/** v + omega x s of a point, or a + alpha x s - omega^2 s; nothing if the motion does not hold it. */
function rate(kind: "velocity" | "acceleration", result: Result, name: string, time: number, [sx, sy]: Spot): Spot | undefined {
  const value = (part: string) => result.value(`${name}.${part}`, time);
  const [x, y, turn, omega] = kind === "velocity" ? [value("vx"), value("vy"), value("omega"), 0] : [value("ax"), value("ay"), value("alpha"), value("omega")];
  if (x === undefined || y === undefined || turn === undefined || omega === undefined) return undefined;
  return [x - turn * sy - omega * omega * sx, y + turn * sx - omega * omega * sy];
}

/** The ends of the vectors of all joints and named points of moving bodies. */
export function corners(kind: "velocity" | "acceleration", result: Result, spots: Spotted[], time: number): Corner[] {
  const poses = new Float32Array(7 * result.data.scene.bodies.length);
  result.pose(time, poses);
  return spots
    .filter(({ body, centre }) => body > 0 && !centre)
    .slice(0, NAMED)
    .flatMap(({ name, body, s }) => {
      const [x, y] = place(poses, body, s, [0, 0, 0]);
      const own = result.data.scene.bodies[body].name;
      const at = rate(kind, result, own, time, [x - poses[7 * body], y - poses[7 * body + 1]]);
      return at ? [{ name: name.slice(name.lastIndexOf(".") + 1), body, at }] : [];
    });
}
