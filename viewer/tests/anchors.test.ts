import { expect, it } from "vitest";
import { type Anchors, namesOf, points, Shape, solve } from "../src/anchors";
import type { ResultData, Vec } from "../src/data";

// P = (-l/2, 0), Q = (l/2, b sin a) of body 1, and G = (d, 0.3) of the ground
const anchors: Anchors = {
  steps: [
    0, ["l", 2], -0.5, { op: "mul", of: [2, 1] }, { op: "neg", of: [3] }, ["b", 0.7], ["a", 0.4], { op: "sin", of: [6] },
    { op: "mul", of: [5, 7] }, ["d", 1.1], 0.3,
  ],
  points: [[[9, 10, 0]], [[3, 0, 0], [4, 8, 0]]],
};
const first = { l: 2, b: 0.7, a: 0.4, d: 1.1 } as Record<string, number>;
const known = (name: string): number | undefined => first[name];

it("puts points where their formulas say", () => {
  const [[G], [P, Q]] = points(anchors, (name) => ({ ...first, l: 3, a: 1.2 })[name]);
  expect(G).toEqual([1.1, 0.3, 0]);
  expect(P).toEqual([-1.5, 0, 0]);
  expect(Q[1]).toBeCloseTo(0.7 * Math.sin(1.2), 14);
  expect(points(anchors, () => undefined)[1][1][0]).toBe(1); // what nobody knows is what it was
});

it("names what a point depends on", () => {
  expect(namesOf(anchors, anchors.points[1][1]).sort()).toEqual(["a", "b", "l"]);
});

it("finds values that bring a point to a place", () => {
  const to: Vec = [1.6, 0.5, 0];
  const found = solve(anchors, 1, 1, to, known);
  const [, [, Q]] = points(anchors, (name) => found.get(name) ?? known(name));
  expect(Q[0]).toBeCloseTo(to[0], 7);
  expect(Q[1]).toBeCloseTo(to[1], 7);
  expect(found.has("d")).toBe(false);
  // the ground point moves along x alone: as near as it comes
  expect(solve(anchors, 0, 0, [2, 5, 0], known).get("d")).toBeCloseTo(2, 7);
});

it("takes the drawing along with the points", () => {
  const data = {
    scene: { bodies: [{ name: "ground", points: { G: [1.1, 0.3, 0] } }, { name: "rod", points: { P: [-1, 0, 0] } }], joints: [
      { name: "J", bodies: ["ground", "rod"], points: [[1.1, 0.3, 0], [-1, 0, 0]] },
    ], forces: [], drivers: [] },
    drawing: {
      unit: 0.1,
      outlines: [
        { body: 1, role: "link", closed: true, upright: false, at: [0, 0], lines: [[[-1.1, 0], [-1, 0.1], [1.1, 0.27], [1, 0.17]]] },
        { body: 0, role: "support", closed: true, upright: false, at: [0, 0], lines: [[[1.1, 0.3], [1.0, 0.1], [1.2, 0.1]]] },
        { body: 1, role: "centre", closed: true, upright: false, at: [0, 0], lines: [[[0.1, 0], [0, 0.1], [-0.1, 0], [0, -0.1]]] },
      ],
      stretches: [], solids: [],
    },
  } as unknown as ResultData;
  const shape = new Shape(anchors, data);
  const value = (name: string) => ({ ...first, l: 3, d: 5 })[name];
  shape.apply(value);
  const { outlines } = data.drawing;
  const near = (line: number[][], expected: number[][]) =>
    line.forEach((p, k) => p.forEach((x, c) => expect(x).toBeCloseTo(expected[k][c], 12)));
  near(outlines[0].lines[0], [[-1.6, 0], [-1.5, 0.1], [1.6, 0.27], [1.5, 0.17]]);
  near(outlines[1].lines[0], [[5, 0.3], [4.9, 0.1], [5.1, 0.1]]);
  near(outlines[2].lines[0], [[0.1, 0], [0, 0.1], [-0.1, 0], [0, -0.1]]); // the mass centre stays
  expect(data.scene.joints[0].points).toEqual([[5, 0.3, 0], [-1.5, 0, 0]]);
  expect(shape.pointsAt(1, [-1.5, 0, 0], value)).toEqual([0]);
});
