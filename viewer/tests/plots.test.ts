import { expect, it } from "vitest";
import { choose } from "../src/choice";
import { largest, limits, spread } from "../src/range";
import { inside, metres, nice } from "../src/scale";

const curve = (name: string, kind: string, values: number[]) => ({ name, unit: "N", kind, values: Float64Array.from(values) });

it("chooses the largest curves in their own order and leaves zero ones out", () => {
  const all = [
    curve("a", "reactions", [0, 1, -3]),
    curve("b", "reactions", [1e-14, 0, 0]),
    curve("c", "reactions", [9, 9, 9]),
    curve("d", "reactions", [0.1, 0, 0]),
  ];
  const { curves, remark } = choose(all, 2);
  expect(curves.map(({ name }) => name)).toEqual(["a", "c"]);
  expect(remark).toBe("largest 2 of 3, 1 zero");
});

it("chooses places by how much they change", () => {
  const all = [curve("far", "q", [100, 100.1]), curve("near", "q", [0, 5])];
  expect(choose(all, 1).curves[0].name).toBe("near");
});

it("chooses none where all are zero", () => {
  expect(choose([curve("a", "loads", [0, 0])], 8)).toMatchObject({ curves: [], remark: "1 zero" });
});

it("measures curves with gaps", () => {
  expect(limits([[1, null, -4], [2, Number.NaN]])).toEqual([-4, 2]);
  expect(largest([[1, null, -4]])).toBe(4);
  expect(spread(3, 3)[0]).toBeLessThan(3);
  expect(spread(0, 1)).toEqual([-0.06, 1.06]);
});

it("rounds and writes lengths", () => {
  expect([0.7, 1.2, 30, 0.0021].map(nice)).toEqual([1, 2, 50, 0.005]);
  expect([2500, 2, 0.05, 0.002, 3e-6].map(metres)).toEqual(["2.5 km", "2 m", "5 cm", "2 mm", "3 µm"]);
});

it("tells what is inside an outline that is not convex", () => {
  const hook: [number, number][] = [[0, 0], [4, 0], [4, 3], [3, 3], [3, 1], [0, 1]];
  expect([[1, 0.5], [3.5, 2], [1, 2], [-1, 0.5]].map((p) => inside(p as [number, number], hook))).toEqual([true, true, false, false]);
});
