import { describe, expect, it } from "vitest";
import { turnTowards } from "../src/crank";
import type { Vec } from "../src/data";

/** A crank of length 2 that a driver turns by 3 rad/s, as far as it goes. */
function crank(low = Number.NEGATIVE_INFINITY, high = Number.POSITIVE_INFINITY) {
  let t = 0;
  return {
    get t() {
      return t;
    },
    turn(dt: number) {
      t = Math.min(Math.max(t + dt, low), high);
      return t === low || t === high ? "locks" : null;
    },
    place: (): Vec => [2 * Math.cos(3 * t), 2 * Math.sin(3 * t), 0],
  };
}

// to 1e-4 of a radian, which is far below a pixel
describe("a crank", () => {
  it("follows a hand on and back, beyond its beginning too", () => {
    for (const angle of [0.4, -0.9]) {
      const own = crank();
      for (const r of [1, 2, 5]) turnTowards(own, [r * Math.cos(angle), r * Math.sin(angle), 0], 6);
      expect(3 * own.t).toBeCloseTo(angle, 4);
    }
  });

  it("goes round with a hand that goes round", () => {
    const own = crank();
    for (let k = 1; k <= 100; k++) turnTowards(own, [3 * Math.cos(-0.2 * k), 3 * Math.sin(-0.2 * k), 0], 6);
    expect(3 * own.t).toBeCloseTo(-20, 4);
  });

  it("says that it locks, and comes back", () => {
    const own = crank(-1, 0.2);
    expect(turnTowards(own, [0, 2, 0], 6)).toBe("locks");
    expect(own.t).toBe(0.2);
    expect(turnTowards(own, [0, 2, 0], 6)).toBe("locks");
    for (let k = 0; k < 3; k++) expect(turnTowards(own, [2, 0, 0], 6)).toBeNull();
    expect(own.t).toBeCloseTo(0, 6);
  });

  it("stays where its point does not move", () => {
    const still = { turn: () => null, place: (): Vec => [1, 2, 3] };
    expect(turnTowards(still, [4, 5, 6], 6)).toBeNull();
  });
});
