// What Python puts into the page: results with their scenes, drawings, poses and quantities.

import type { Anchors } from "./anchors";
import type { LiveData } from "./engine";
import type { Units } from "./numbers";

export type Vec = [number, number, number];
export type Spot = [number, number];

export interface Mark {
  name: string;
  type: string;
  bodies: string[];
  points: Vec[];
  axis: Vec | null;
  axis_j: Vec | null;
  radii: number[];
  parts: string[];
}

export interface Scene {
  space: "planar" | "spatial";
  gravity: Vec;
  bodies: { name: string; points: Record<string, Vec>; shape: Record<string, unknown> | null; colour: string | null }[];
  joints: Mark[];
  forces: Mark[];
  drivers: Mark[];
  window: [Vec, Vec] | null;
}

export interface Outline {
  body: number;
  role: string;
  lines: Spot[][];
  closed: boolean;
  name: string;
  at: Spot;
  upright: boolean;
}

export interface Stretch {
  role: string;
  name: string;
  bodies: [number, number];
  points: [Vec, Vec];
  lines: Vec[][];
  closed: boolean;
}

/** A cylinder (radius, length), a ball (radius), a box (three sides), a plate, a hull or a mesh (corners), fixed in a body. */
export interface Solid {
  body: number;
  role: string;
  form: "cylinder" | "ball" | "box" | "plate" | "hull" | "mesh";
  at: Vec;
  size: number[];
  z: Vec;
  x: Vec;
  corners: Vec[];
  name: string;
  surface: [string, string] | null; // of a mesh: corners and triangles
}

export interface Style {
  order: number;
  stroke: string | null;
  width: number;
  fill: string | null;
  opacity: number;
}

export interface ResultData {
  name: string;
  label: string;
  facts: string[];
  scene: Scene;
  colors: string[]; // of the bodies
  drawing: { unit: number; box: [Vec, Vec]; outlines: Outline[]; stretches: Stretch[]; solids: Solid[] };
  rows: number;
  t: string;
  poses: string;
  quantities: { name: string; unit: string; kind: string }[];
  values: string;
  left_out: string[];
  events: [string, number][]; // names and times
  n_events: number; // of which the first are here
  reason: string; // why the motion ended before its time
  notes: string[];
}

export interface Page {
  version: string;
  units: { names: string; of: Record<string, [string, number]>; shown: boolean }; // other units, and whether they are shown
  colors: string[];
  styles: Record<string, Style>;
  results: ResultData[];
  live?: LiveData; // of a page that computes
  factors?: Units; // in which values can be typed
  plays?: boolean; // at once: somebody has asked for the motion
  anchors?: Anchors | null;
}

/** How a unit is shown: its text and the factor of numbers. */
export function shownUnit({ units }: Page, unit: string): [string, number] {
  return (units.shown && units.of[unit]) || [unit, 1];
}

export function bytes(text: string): ArrayBuffer {
  const binary = atob(text);
  const found = new Uint8Array(binary.length);
  for (let k = 0; k < binary.length; k++) found[k] = binary.charCodeAt(k);
  return found.buffer;
}

export interface Quantity {
  name: string;
  unit: string;
  kind: string;
  readonly values: Float64Array;
}

/** The rows of a motion: times, seven numbers of each body but the ground per row, and the columns of its quantities. */
export interface Rows {
  t: Float64Array;
  poses: Float32Array;
  column(k: number): Float64Array;
}

function decoded(data: ResultData): Rows {
  const values = new Float64Array(bytes(data.values));
  return {
    t: new Float64Array(bytes(data.t)),
    poses: new Float32Array(bytes(data.poses)),
    column: (k) => values.subarray(k * data.rows, (k + 1) * data.rows),
  };
}

/** A motion: times, poses and named columns, at any time between its rows. */
export class Result {
  readonly quantities = new Map<string, Quantity>();
  readonly bodies: Map<string, number>;
  readonly others: Result[] = []; // motions shown in grey behind this one
  private last = 0;

  constructor(
    readonly data: ResultData,
    private rows: Rows = decoded(data),
  ) {
    this.bodies = new Map(data.scene.bodies.map((body, k) => [body.name, k]));
    const column = (k: number) => this.rows.column(k);
    data.quantities.forEach(({ name, unit, kind }, k) => {
      this.quantities.set(name, {
        name,
        unit,
        kind,
        get values() {
          return column(k);
        },
      });
    });
  }

  /** Hold these rows from now on. */
  take(rows: Rows): void {
    this.rows = rows;
    this.last = 0;
  }

  get held(): Rows {
    return this.rows;
  }

  /** The same motion, which stays as it is when this one takes other rows and its mechanism another shape. */
  copy(): Result {
    return new Result({ ...this.data, scene: structuredClone(this.data.scene) }, this.rows);
  }

  get t(): Float64Array {
    return this.rows.t;
  }

  private get poses(): Float32Array {
    return this.rows.poses;
  }

  get start(): number {
    return this.t[0];
  }

  get end(): number {
    return this.t[this.t.length - 1];
  }

  /** The row at or before a time. */
  row(time: number): number {
    const t = this.t;
    const n = t.length;
    let k = this.last;
    if (!(t[k] <= time && (k + 1 >= n || time < t[k + 1]))) {
      let low = 0;
      let high = n - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (t[middle] <= time) low = middle;
        else high = middle - 1;
      }
      k = low;
    }
    this.last = k;
    return k;
  }

  /** How far a time is from its row to the next, 0 to 1. */
  private part(time: number, k: number): number {
    if (k + 1 >= this.t.length) return 0;
    return Math.min(1, Math.max(0, (time - this.t[k]) / (this.t[k + 1] - this.t[k])));
  }

  value(name: string, time: number): number | undefined {
    const values = this.quantities.get(name)?.values;
    if (!values) return undefined;
    const k = this.row(time);
    const f = this.part(time, k);
    return f > 0 ? values[k] + f * (values[k + 1] - values[k]) : values[k];
  }

  /** Seven numbers for every body, the ground first: x, y, z and Euler parameters of length one. */
  pose(time: number, out: Float32Array): void {
    const count = this.data.scene.bodies.length - 1;
    const k = this.row(time);
    const f = this.part(time, k);
    const now = k * count * 7;
    const next = f > 0 ? now + count * 7 : now;
    out.fill(0, 0, 7);
    out[3] = 1;
    for (let b = 0; b < count; b++) {
      const to = 7 * (b + 1);
      let length = 0;
      for (let c = 0; c < 7; c++) {
        const from = this.poses[now + 7 * b + c];
        const x = from + f * (this.poses[next + 7 * b + c] - from);
        out[to + c] = x;
        if (c > 2) length += x * x;
      }
      length = Math.sqrt(length) || 1;
      for (let c = 3; c < 7; c++) out[to + c] /= length;
    }
  }
}

/** The place of a point of a body in a pose table. */
export function place(poses: Float32Array, body: number, s: ArrayLike<number>, out: Vec): Vec {
  const o = 7 * body;
  const [a, x, y, z] = [poses[o + 3], poses[o + 4], poses[o + 5], poses[o + 6]];
  const [sx, sy, sz] = [s[0], s[1], s.length > 2 ? s[2] : 0];
  // s + 2 e_v x (e_v x s + e0 s)
  const cx = y * sz - z * sy + a * sx;
  const cy = z * sx - x * sz + a * sy;
  const cz = x * sy - y * sx + a * sz;
  out[0] = poses[o] + sx + 2 * (y * cz - z * cy);
  out[1] = poses[o + 1] + sy + 2 * (z * cx - x * cz);
  out[2] = poses[o + 2] + sz + 2 * (x * cy - y * cx);
  return out;
}

/** The digits of a value; what is not above `rounding` is 0. */
export function shown(value: number | undefined, rounding = 0): string {
  if (value === undefined || !Number.isFinite(value)) return "–";
  if (Math.abs(value) <= rounding) return "0";
  const size = Math.abs(value);
  return size >= 1e5 || size < 1e-3 ? value.toExponential(3) : value.toPrecision(6);
}
