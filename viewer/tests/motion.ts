// A body of the plane that moves by formulas, as the page holds it.

import { Result, type Vec } from "../src/data";

/** x = sin t, y = t^2, phi = 0.7 t + 0.3 t^2, with point P at (0.4, -0.2), at times that are not even. */
export const TIMES = Float64Array.from({ length: 401 }, (_, k) => 2 * (k / 400) ** 1.3);
export const P: Vec = [0.4, -0.2, 0];
export const NAMES = ["x", "y", "phi", "vx", "vy", "omega", "ax", "ay", "alpha"];

export function at(t: number): Record<string, number> {
  const [x, y, phi] = [Math.sin(t), t * t, 0.7 * t + 0.3 * t * t];
  return { x, y, phi, vx: Math.cos(t), vy: 2 * t, omega: 0.7 + 0.6 * t, ax: -Math.sin(t), ay: 2, alpha: 0.6 };
}

export function placeOfP(t: number): [number, number] {
  const { x, y, phi } = at(t);
  const [c, s] = [Math.cos(phi), Math.sin(phi)];
  return [x + c * P[0] - s * P[1], y + s * P[0] + c * P[1]];
}

export function motion(): Result {
  const scene = {
    space: "planar" as const,
    gravity: [0, 0, 0] as Vec,
    bodies: ["ground", "body"].map((name) => ({ name, points: name === "body" ? { P } : {}, shape: null, colour: null })),
    joints: [],
    forces: [],
    drivers: [],
    window: null,
  };
  const poses = Float32Array.from(Array.from(TIMES).flatMap((t) => {
    const { x, y, phi } = at(t);
    return [x, y, 0, Math.cos(phi / 2), 0, 0, Math.sin(phi / 2)];
  }));
  const quantities = NAMES.map((part) => ({ name: `body.${part}`, unit: "", kind: "q" }));
  const data = {
    name: "body", label: "body", facts: [], scene, colors: ["#000000"], rows: TIMES.length, t: "", poses: "", quantities, values: "",
    drawing: { unit: 1, box: [[0, 0, 0], [1, 1, 1]] as [Vec, Vec], outlines: [], stretches: [], solids: [] },
    left_out: [], events: [], n_events: 0,
  };
  return new Result(data, { t: TIMES, poses, column: (k) => TIMES.map((t) => at(t)[NAMES[k]]) });
}
