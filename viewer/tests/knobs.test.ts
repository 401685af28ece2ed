import { describe, expect, it } from "vitest";
import { digits, typed } from "../src/knobs";

describe("a number that is typed", () => {
  const units = { m: 1, mm: 1e-3, deg: Math.PI / 180 };

  it("is in the unit beside the field, or brings its own", () => {
    expect(typed("2,5", 1, units)).toBe(2.5);
    expect(typed(" -90 ", 180 / Math.PI, units)).toBeCloseTo(-Math.PI / 2, 14);
    expect(typed("12 mm", 1, units)).toBeCloseTo(0.012, 15);
    expect(typed("90 deg", 1000, units)).toBeCloseTo(Math.PI / 2, 14);
  });

  it("is nothing where it is no number", () => {
    for (const text of ["", " ", "abc", "1e400", "NaN", "Infinity", "2 furlong", "1 mm mm", "<img src=x>"]) expect(typed(text, 1, units)).toBeUndefined();
  });

  it("is shown with as few digits as tell it apart", () => {
    expect([0, 2.5, 1.0471975512, 1.25e-9].map(digits)).toEqual(["0", "2.5", "1.0472", "1.25e-9"]);
  });
});
