import { describe, expect, it } from "vitest";
import { digits, typed } from "../src/knobs";
import { areAlike } from "../src/numbers";

describe("a number that is typed", () => {
  const units = { m: [1, 0, 1, 0, 0, 0], mm: [1e-3, 0, 1, 0, 0, 0], kg: [1, 1, 0, 0, 0, 0], s: [1, 0, 0, 1, 0, 0], N: [1, 1, 1, -2, 0, 0], rad: [1, 0, 0, 0, 0, 1], deg: [Math.PI / 180, 0, 0, 0, 0, 1] };

  it("is in the unit beside the field, or brings its own", () => {
    expect(typed("2,5", "m", 1, units)).toBe(2.5);
    expect(typed("50", "mm", 1e3, units)).toBeCloseTo(0.05, 15);
    expect(typed(" -90 ", "deg", 180 / Math.PI, units)).toBeCloseTo(-Math.PI / 2, 14);
    expect(typed("12 mm", "m", 1, units)).toBeCloseTo(0.012, 15);
    expect(typed("90 deg", "rad", 1, units)).toBeCloseTo(Math.PI / 2, 14);
    expect(typed("90 deg", "", 1, units)).toBeCloseTo(Math.PI / 2, 14);
  });

  it("is of the kind of what stands there; a radian may be left out, but not added", () => {
    expect(typed("3 kg", "mm", 1e3, units)).toBeUndefined();
    expect(typed("3 N*m", "N", 1, units)).toBeUndefined();
    expect(typed("2 kg*m/s^2", "N", 1, units)).toBe(2);
    expect(areAlike("N*m", "N*m/rad", units)).toBe(true);
    expect(areAlike("N*m/rad", "N*m", units)).toBe(false);
    expect(areAlike("m^0.5*m^0.5", "m", units)).toBe(true);
  });

  it("is nothing where it is no number", () => {
    for (const text of ["", " ", "abc", "1e400", "NaN", "Infinity", "2 furlong", "1 mm mm", "<img src=x>"]) expect(typed(text, "m", 1, units)).toBeUndefined();
  });

  it("is shown with as few digits as tell it apart", () => {
    expect([0, 2.5, 1.0471975512, 1.25e-9].map(digits)).toEqual(["0", "2.5", "1.0472", "1.25e-9"]);
  });
});
