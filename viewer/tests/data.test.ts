import { expect, it } from "vitest";
import { place, shown, type Vec } from "../src/data";
import { at, motion, P, placeOfP, TIMES } from "./motion";

it("finds the row at or before a time, whatever was asked before", () => {
  const result = motion();
  const rowOf = (time: number) => TIMES.filter((t) => t <= time).length - 1;
  for (const time of [0, 1.99, 0.3, 0.3001, 2, 0.02, 1.2, TIMES[17], TIMES[18], TIMES[17] - 1e-9]) {
    expect(result.row(time), String(time)).toBe(rowOf(time));
  }
});

it("holds values and places between its rows", () => {
  const result = motion();
  const poses = new Float32Array(14);
  const out: Vec = [0, 0, 0];
  for (const time of [0.111, 0.77, 1.93]) {
    expect(result.value("body.phi", time)).toBeCloseTo(at(time).phi, 4);
    result.pose(time, poses);
    const [x, y] = placeOfP(time);
    expect(place(poses, 1, P, out)[0]).toBeCloseTo(x, 4);
    expect(out[1]).toBeCloseTo(y, 4);
    expect(Math.hypot(...poses.subarray(10, 14))).toBeCloseTo(1, 6);
  }
  expect(result.value("body.nothing", 1)).toBeUndefined();
});

it("takes the rows of another motion", () => {
  const result = motion();
  const before = result.held;
  result.take({ t: new Float64Array([0, 5]), poses: new Float32Array(14), column: (k) => new Float64Array([k, k + 10]) });
  expect([result.start, result.end, result.value("body.y", 2.5)]).toEqual([0, 5, 6]);
  const copy = result.copy();
  result.take(before);
  expect([copy.end, result.end]).toEqual([5, 2]);
});

it("turns a point about the axis of the Euler parameters", () => {
  // a third of a turn about (1, 1, 1) takes x to y, y to z, z to x
  const poses = Float32Array.from([0, 0, 0, 1, 0, 0, 0, 1, 2, 3, 0.5, 0.5, 0.5, 0.5]);
  expect(place(poses, 1, [0.1, 0.2, 0.3], [0, 0, 0]).map((x) => Number(x.toFixed(6)))).toEqual([1.3, 2.1, 3.2]);
});

it("writes six digits, and zero for rounding", () => {
  expect([shown(1.23456789), shown(-3.2e-17, 1e-16), shown(1.5e-7), shown(undefined), shown(Number.NaN)]).toEqual([
    "1.23457", "0", "1.500e-7", "–", "–",
  ]);
});
