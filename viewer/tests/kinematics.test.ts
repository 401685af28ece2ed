import { expect, it } from "vitest";
import { corners, pole, poles } from "../src/kinematics";
import type { Spotted } from "../src/stage";
import { at, motion, P, placeOfP, TIMES } from "./motion";

it("finds the points at which two bodies have one velocity", () => {
  const i: [number, number, number, number, number] = [0.3, -1.2, 2.1, 0.4, 1.7];
  const j: [number, number, number, number, number] = [-2.2, 0.6, -0.9, 1.3, -0.8];
  const found = pole(i, j) ?? [0, 0];
  const velocity = ([x, y, vx, vy, w]: typeof i) => [vx - w * (found[1] - y), vy + w * (found[0] - x)];
  expect(velocity(i)[0]).toBeCloseTo(velocity(j)[0], 12);
  expect(velocity(i)[1]).toBeCloseTo(velocity(j)[1], 12);
  expect(pole([0, 0, 1, 0, 2], [5, 5, 0, 3, 2])).toBeUndefined(); // they turn alike
});

it("finds no velocity at the pole of a body against the ground", () => {
  const t = TIMES[150];
  const [{ at: [x, y], name }] = poles(motion(), t);
  const { x: rx, y: ry, vx, vy, omega } = at(t);
  expect(name).toBe("01");
  expect(vx - omega * (y - ry)).toBeCloseTo(0, 9);
  expect(vy + omega * (x - rx)).toBeCloseTo(0, 9);
});

it("gives points the velocities and accelerations that differences of their places give", () => {
  const t = TIMES[220];
  const h = 1e-4;
  const spots: Spotted[] = [{ name: "body.P", body: 1, s: P, joints: [], loaded: false, centre: false }];
  const [before, now, after] = [t - h, t, t + h].map(placeOfP);
  const of = (kind: "velocity" | "acceleration") => corners(kind, motion(), spots, t)[0].at;
  for (const k of [0, 1]) {
    expect(of("velocity")[k]).toBeCloseTo((after[k] - before[k]) / (2 * h), 5);
    expect(of("acceleration")[k]).toBeCloseTo((after[k] - 2 * now[k] + before[k]) / (h * h), 5);
  }
});
