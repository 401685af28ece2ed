import { expect, it } from "vitest";
import { fromHash, toCsv, toHash, toYaml } from "../src/carry";
import type { Parameter } from "../src/engine";
import { motion, TIMES } from "./motion";

const parameter = (name: string, kind: Parameter["kind"]): Parameter => ({ name, kind, place: 0, value: 0, low: 0, high: 1, unit: "" });

it("takes values to an address and back, whatever they are called", () => {
  const values = new Map([["l1", 0.1 + 0.2], ["a&b=c d", -1e-9], ["crank.phi", 3]]);
  expect(fromHash(`#${toHash(values)}`, new Set(values.keys()))).toEqual(values);
});

it("passes over what is no value of this mechanism", () => {
  const known = new Set(["l1", "l2"]);
  expect(fromHash("#l1=0.5&other=1&l2=&l2=NaN&l2=Infinity&__proto__=3&%E0%A4%A=1&l1", known)).toEqual(new Map([["l1", 0.5]]));
});

it("writes lines that a model file takes", () => {
  const parameters = [
    parameter("l1", "parameter"), parameter("two words", "parameter"), parameter("crank.phi", "position"),
    parameter("crank.omega", "velocity"), parameter("arm.vx", "velocity"), parameter("arm.mass", "number"),
  ];
  const r = { ...parameter("r", "parameter"), unit: "mm" };
  expect(toYaml(new Map([["r", 0.0507]]), [r], { mm: [1e-3, 0, 1, 0, 0, 0] })).toBe("parameters:\n  r: 50.7 mm\n");
  const values = new Map([["l1", 0.8], ["two words", 2], ["crank.phi", 0.3], ["crank.omega", 5], ["arm.vx", -1], ["arm.mass", 2.5]]);
  expect(toYaml(values, parameters, {})).toBe(
    'parameters:\n  l1: 0.8\n  "two words": 2\nsimulation:\n  start:\n    crank.phi: 0.3\n  rate:\n    crank.phi: 5\n    arm.x: -1\n# arm.mass: 2.5\n',
  );
  expect(toYaml(new Map(), parameters, {})).toMatch(/^#/);
});

it("writes all rows with all digits", () => {
  const lines = toCsv(motion()).trimEnd().split("\n");
  expect(lines.length).toBe(TIMES.length + 1);
  expect(lines[0].startsWith("t [s],body.x [],body.y []")).toBe(true);
  expect(Number(lines[8].split(",")[1])).toBe(Math.sin(TIMES[7]));
});
