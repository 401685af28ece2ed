import { describe, expect, it } from "vitest";
import { SOFT, solve, spacing, turned } from "../../src/linkwork/web/engine/numbers.js";

describe("a small linear system", () => {
  it("is solved to rounding although it is made soft", () => {
    const A = new Float64Array([4, 1, 0, 1, 3, 1, 0, 1, 2]);
    const x = [1, -2, 3];
    const b = [0, 1, 2].map((i) => x.reduce((s, xk, k) => s + A[3 * i + k] * xk, 0));
    solve(A, b, 3, [1, 1, 1].map(() => 4 * SOFT)).forEach((xi, i) => expect(xi).toBeCloseTo(x[i], 13));
  });

  it("whose rows repeat each other has its least solution", () => {
    // J = (1, 1) twice: J J^T lam = b, of which the least is lam = (b/4, b/4)
    const lam = solve(new Float64Array([2, 2, 2, 2]), [1, 1], 2, [2 * SOFT, 2 * SOFT]);
    expect(lam[0] + lam[1]).toBeCloseTo(0.5, 9);
    expect(lam[0] - lam[1]).toBeCloseTo(0, 3);
  });
});

describe("the spacing of doubles", () => {
  it("is that of the machine", () => {
    for (const t of [1, -1, 1e-3, 12345.678]) {
      expect(Math.abs(t) + spacing(t)).toBeGreaterThan(Math.abs(t));
      expect(Math.abs(t) + spacing(t) / 4).toBe(Math.abs(t));
    }
    expect(spacing(1)).toBe(2 ** -52);
    expect(spacing(0)).toBe(Number.MIN_VALUE);
  });
});

describe("an angle", () => {
  it("goes on over whole turns as its rate has it", () => {
    const t = Float64Array.from({ length: 200 }, (_, k) => 0.05 * k);
    const true_angle = t.map((x) => 7 * x - 3 * Math.sin(x));
    const cut = true_angle.map((x) => Math.atan2(Math.sin(x), Math.cos(x)));
    turned(t, cut, t.map((x) => 7 - 3 * Math.cos(x))).forEach((x, k) => expect(x).toBeCloseTo(true_angle[k], 12));
  });
});
