import { describe, expect, it } from "vitest";
import { Clock, usualSpeed } from "../src/clock";

describe("the clock", () => {
  it("goes on by its speed and begins again at the end", () => {
    const clock = new Clock(1, 4);
    clock.speed = 2;
    clock.pass(100);
    expect(clock.time).toBe(1); // it does not play yet
    clock.play(true);
    clock.pass(200);
    expect(clock.time).toBeCloseTo(1.4, 12);
    clock.set(3.9);
    clock.pass(100);
    expect(clock.time).toBeCloseTo(1.1, 12);
  });

  it("ends where it does not repeat, and plays from the start after that", () => {
    const clock = new Clock(0, 0.1);
    clock.repeat = false;
    clock.speed = 1;
    clock.play(true);
    clock.pass(200);
    expect([clock.time, clock.playing]).toEqual([0.1, false]);
    clock.play(true);
    expect(clock.time).toBe(0);
  });

  it("does not jump after a tab has slept", () => {
    const clock = new Clock(0, 1000);
    clock.speed = 1;
    clock.play(true);
    clock.pass(60_000);
    expect(clock.time).toBeLessThan(0.5);
  });

  it("shows motions of any length in some seconds", () => {
    for (const length of [1e-4, 0.03, 1, 10, 60]) {
      const lasts = length / usualSpeed(length);
      expect(lasts, `${length} s`).toBeGreaterThan(0.1);
      expect(lasts, `${length} s`).toBeLessThan(26);
    }
    expect(usualSpeed(10)).toBe(1);
  });
});
