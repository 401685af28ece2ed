// The time that the page shows, and how it goes on.

export const SPEEDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];
const LASTS = [2.5, 25]; // seconds that showing a motion may take at speed 1
const USUAL = 7; // seconds otherwise
const LONGEST = 250; // milliseconds of a picture that time follows: a tab that slept does not jump

export class Clock {
  time: number;
  playing = false;
  repeat = true;
  speed: number;

  constructor(
    readonly start: number,
    public end: number,
  ) {
    this.time = start;
    this.speed = usualSpeed(end - start);
  }

  get length(): number {
    return this.end - this.start || 1;
  }

  /** How far the time is on its way, 0 to 1. */
  get part(): number {
    return (this.time - this.start) / this.length;
  }

  set part(x: number) {
    this.set(this.start + x * (this.end - this.start));
  }

  set(time: number): void {
    this.time = Math.min(Math.max(time, this.start), this.end);
  }

  play(on: boolean): void {
    if (on && this.time >= this.end) this.time = this.start;
    this.playing = on;
  }

  /** Go on by milliseconds of the clock on the wall. */
  pass(milliseconds: number): void {
    if (!this.playing) return;
    this.time += (Math.min(milliseconds, LONGEST) / 1000) * this.speed;
    if (this.time < this.end) return;
    if (this.repeat) this.time = this.start + ((this.time - this.start) % this.length);
    else {
      this.time = this.end;
      this.playing = false;
    }
  }

  /** The next speed of the list, up or down. */
  faster(by: number): number {
    const k = SPEEDS.indexOf(this.speed) + by;
    return SPEEDS[Math.min(Math.max(k, 0), SPEEDS.length - 1)];
  }
}

/** The speed at which a motion takes some seconds; that of the world if it does so by itself. */
export function usualSpeed(length: number): number {
  const wanted = length >= LASTS[0] && length <= LASTS[1] ? 1 : (length || 1) / USUAL;
  return SPEEDS.reduce((a, b) => (Math.abs(Math.log(b / wanted)) < Math.abs(Math.log(a / wanted)) ? b : a));
}
