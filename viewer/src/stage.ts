// A mechanism on its stage: what planar and spatial ones have in common.

import { LinearSRGBColorSpace, WebGLRenderer } from "three";
import { element } from "./dom";
import { type Mark, type Page, place, type Result, shownUnit, type Vec } from "./data";

export interface Shown {
  names: boolean;
  velocities: boolean;
  reactions: boolean;
  applied: boolean;
  centres: boolean;
  poles: boolean;
  grid: boolean;
  follow: boolean;
  paths: Set<string>;
}

/** A point that can be named, traced and pointed at: "body.point", or the mass centre under the name of its body. */
export interface Spotted {
  name: string;
  body: number;
  s: Vec;
  joints: Mark[];
  loaded: boolean; // a force acts there
  centre: boolean;
}

export interface Told {
  title: string;
  kind: string;
  rows: [string, number | undefined, string][];
}

export const LABELS = 26; // with more joints, names are not shown at first
const LOOKS = 60; // at a motion, to see how far it reaches
const [BESIDE, ABOVE, BELOW, LINE] = [9, 21, 4, 14]; // pixels from a point to its name, and the height of a line
const NEAR = 13; // pixels within which a point is meant

/** What draws; without WebGL, as on some distant screens, nothing, which is said: names move, all else computes. */
type Renderer = Pick<
  WebGLRenderer,
  "domElement" | "setSize" | "setPixelRatio" | "setClearColor" | "outputColorSpace" | "render" | "dispose" | "forceContextLoss"
>;

function rendererFor(host: HTMLElement): Renderer {
  try {
    return new WebGLRenderer({ antialias: true, preserveDrawingBuffer: true });
  } catch {
    element("p", "blank", host).textContent = "This browser has no WebGL, so the bodies are not drawn. Numbers and plots are complete.";
    const domElement = element("canvas", "", host);
    const setSize = (width: number, height: number) => void Object.assign(domElement.style, { width: `${width}px`, height: `${height}px` });
    const nothing = () => undefined;
    const rest = { setPixelRatio: nothing, setClearColor: nothing, render: nothing, dispose: nothing, forceContextLoss: nothing };
    return { domElement, setSize, outputColorSpace: LinearSRGBColorSpace, ...rest };
  }
}

export abstract class Stage {
  readonly renderer: Renderer;
  readonly spots: Spotted[] = [];
  protected readonly poses: Float32Array;
  protected width = 1;
  protected height = 1;
  time: number;
  private readonly labels: { element: HTMLElement; spot: Spotted; width: number; side: number }[] = [];
  private usual: { speed?: number; load?: number } = {}; // of the motion as it is now, once it has been asked for
  private readonly layer: HTMLElement;
  protected readonly here: Vec = [0, 0, 0];

  constructor(
    readonly result: Result,
    readonly page: Page,
    readonly host: HTMLElement,
    readonly shown: Shown,
    readonly changed: () => void,
  ) {
    this.renderer = rendererFor(host);
    this.renderer.outputColorSpace = LinearSRGBColorSpace;
    this.renderer.setPixelRatio(Math.min(Math.max(devicePixelRatio, 2), 3)); // finer than a coarse screen, for smooth edges
    this.renderer.domElement.setAttribute("role", "img");
    this.renderer.domElement.setAttribute("aria-label", `the mechanism ${result.data.name}`);
    this.host.append(this.renderer.domElement);
    this.layer = document.createElement("div");
    this.layer.className = "labels";
    this.host.append(this.layer);
    this.poses = new Float32Array(7 * result.data.scene.bodies.length);
    this.time = result.start;
    result.pose(this.time, this.poses);
    this.findSpots();
    this.makeLabels();
  }

  /** Let go of the graphics card. */
  end(): void {
    this.renderer.dispose();
    this.renderer.forceContextLoss();
  }

  /** Whether no hand has moved the picture since it was fitted. */
  protected isFitted = true;
  /** The joint that cannot be closed. */
  trouble = "";
  /** What is pulled, and where to. */
  hand: { body: number; s: Vec; to: Vec } | undefined;

  /** The drawing as it is now. */
  abstract reshape(): void;
  /** The motion as it is now. */
  abstract renew(): void;
  /** The place under a pixel, in space as far away as another place. */
  abstract placeAt(x: number, y: number, as: Vec): Vec;
  abstract project(at: Vec): [number, number];
  /** What the whole motion needs: metres per pixel, or the distance of the eye. */
  abstract get needed(): number;
  abstract fit(needed: number): void;
  protected abstract shift(by: Vec): void;
  abstract theme(): void;
  protected abstract draw(): void;
  protected abstract bodyAt(x: number, y: number): number;
  protected abstract resized(): void;
  abstract pathsChanged(): void;
  abstract highlight(body: number): void;

  protected get joints(): Mark[] {
    return this.result.data.scene.joints;
  }

  protected bodyOf(name: string): number {
    return this.result.bodies.get(name) ?? 0;
  }

  private findSpots(): void {
    this.result.data.scene.bodies.forEach((body, k) => {
      const own: Spotted[] = Object.entries(body.points).map(([point, s]) => ({
        name: `${body.name}.${point}`,
        body: k,
        s,
        joints: [],
        loaded: false,
        centre: false,
      }));
      if (k > 0) own.push({ name: body.name, body: k, s: [0, 0, 0], joints: [], loaded: false, centre: true });
      this.spots.push(...own);
    });
    for (const mark of this.joints) {
      mark.points.forEach((s, k) => {
        const body = this.bodyOf(mark.bodies[k]);
        this.spotOn(body, s)?.joints.push(mark);
      });
    }
    for (const mark of this.result.data.scene.forces) {
      mark.points.forEach((s, k) => {
        const spot = this.spotOn(this.bodyOf(mark.bodies[k]), s);
        if (spot) spot.loaded = true;
      });
    }
  }

  private spotOn(body: number, s: Vec): Spotted | undefined {
    return this.spots.find((spot) => spot.body === body && !spot.centre && distance(spot.s, s) < 1e-12);
  }

  /** Names beside points, those at one place together; a joint goes before the points it joins. */
  private makeLabels(): void {
    const unit = this.result.data.drawing.unit;
    const places: { at: Vec; names: string[]; spot: Spotted }[] = [];
    const add = (spot: Spotted, name: string) => {
      const at = place(this.poses, spot.body, spot.s, [0, 0, 0]);
      const known = places.find((other) => distance(other.at, at) < 0.5 * unit);
      if (!known) places.push({ at, names: [name], spot });
      else if (!known.names.includes(name)) known.names.push(name);
    };
    for (const spot of this.spots) {
      if (spot.body === 0 && !spot.joints.length) continue;
      for (const joint of spot.joints) {
        // a guide is not at the point of its first body
        if (spot.body === this.bodyOf(joint.bodies[1]) || !joint.axis) add(spot, joint.name);
      }
    }
    for (const spot of this.spots) {
      if (!spot.joints.length && !spot.centre && spot.body > 0) add(spot, spot.name.slice(spot.name.lastIndexOf(".") + 1));
    }
    for (const { names, spot } of places) {
      const element = document.createElement("span");
      element.textContent = names.length > 3 ? `${names.slice(0, 3).join(", ")}, …` : names.join(", ");
      this.layer.append(element);
      this.labels.push({ element, spot, width: 0, side: 0 });
    }
  }

  /** Take the size of the host: whether the picture is to be fitted to it. */
  resize(): boolean {
    const { clientWidth, clientHeight } = this.host;
    if (clientWidth === 0 || clientHeight === 0) return false;
    this.width = clientWidth;
    this.height = clientHeight;
    this.renderer.setSize(clientWidth, clientHeight);
    this.resized();
    this.changed();
    return this.isFitted;
  }

  /** The middle of the bodies. */
  private centre(poses: Float32Array): Vec {
    const count = poses.length / 7 - 1;
    const sum: Vec = [0, 0, 0];
    for (let b = 1; b <= count; b++) for (let c = 0; c < 3; c++) sum[c] += poses[7 * b + c] / count;
    return sum;
  }

  /** The box of what is to be seen: of all the motion, or, where it is followed, of the pose now. */
  protected get seen(): [Vec, Vec] {
    if (!this.shown.follow) return this.result.data.drawing.box;
    const [x, y, z] = this.centre(this.poses);
    const half = this.reach();
    return [
      [x - half, y - half, z - half],
      [x + half, y + half, z + half],
    ];
  }

  /** How far the mechanism reaches about the middle of its bodies. */
  private reach(): number {
    const middle = this.centre(this.poses);
    const moving = this.spots.filter(({ body }) => body > 0);
    return 1.3 * Math.max(3 * this.result.data.drawing.unit, ...moving.map((spot) => distance(this.at(spot), middle)));
  }

  /** The box of all points over the motion, with room for what is drawn about them. */
  bounds(): [Vec, Vec] {
    const { start, end } = this.result;
    const poses = new Float32Array(this.poses.length);
    const [low, high]: [Vec, Vec] = [[1, 1, 1].map(() => Number.POSITIVE_INFINITY) as Vec, [-1, -1, -1].map(() => Number.NEGATIVE_INFINITY) as Vec];
    for (let k = 0; k <= LOOKS; k++) {
      this.result.pose(start + (k / LOOKS) * (end - start), poses);
      for (const { body, s } of this.spots) {
        place(poses, body, s, this.here);
        for (let c = 0; c < 3; c++) {
          low[c] = Math.min(low[c], this.here[c]);
          high[c] = Math.max(high[c], this.here[c]);
        }
      }
    }
    const room = 3.2 * this.result.data.drawing.unit;
    return [low.map((x) => x - room) as Vec, high.map((x) => x + room) as Vec];
  }

  /** How far the middle goes over the motion, in sizes of the mechanism. */
  get travel(): number {
    const { start, end } = this.result;
    const poses = new Float32Array(this.poses.length);
    const middles = Array.from({ length: 9 }, (_, k) => {
      this.result.pose(start + (k / 8) * (end - start), poses);
      return this.centre(poses);
    });
    return Math.max(...middles.map((p) => distance(p, middles[0]))) / this.reach();
  }

  /** Draw the mechanism at a time. */
  show(time: number): void {
    const before = this.centre(this.poses);
    this.time = time;
    this.result.pose(time, this.poses);
    if (this.shown.follow) this.shift(this.centre(this.poses).map((x, k) => x - before[k]) as Vec);
    this.drawNow();
  }

  private drawNow(): void {
    this.draw();
    this.layer.hidden = !this.shown.names && !this.trouble;
    if (!this.layer.hidden) this.placeLabels();
  }

  /** Each name on the side of its point where it was, or where no other name is; one for which there is no room is left out. */
  private placeLabels(): void {
    const taken: [number, number, number][] = []; // left ends, heights and widths
    for (const label of this.labels) {
      const { element, spot } = label;
      const isTrouble = spot.joints.some(({ name }) => name === this.trouble);
      element.classList.toggle("trouble", isTrouble);
      label.width ||= element.offsetWidth;
      const { width } = label;
      const [x, y] = this.project(place(this.poses, spot.body, spot.s, this.here));
      const sides = [[x + BESIDE, y - ABOVE], [x - BESIDE - width, y - ABOVE], [x + BESIDE, y + BELOW], [x - BESIDE - width, y + BELOW]];
      const isFree = (side: number) => {
        const [left, top] = sides[side];
        return taken.every(([l, t, w]) => left > l + w || l > left + width || Math.abs(top - t) > LINE);
      };
      const side = isTrouble ? 0 : [label.side, 0, 1, 2, 3].find(isFree);
      element.style.visibility = side === undefined ? "hidden" : "";
      if (side === undefined) continue;
      label.side = side;
      const [left, top] = sides[side];
      taken.push([left, top, width]);
      element.style.transform = `translate(${left.toFixed(1)}px, ${top.toFixed(1)}px)`;
    }
  }

  /** Draw this pose, whatever the time. */
  pose(poses: Float32Array): void {
    this.poses.set(poses);
    this.drawNow();
  }

  /** A place of a body that is seen at a place in space. */
  local(body: number, at: Vec): Vec {
    const o = 7 * body;
    const turned = Float32Array.from([0, 0, 0, this.poses[o + 3], -this.poses[o + 4], -this.poses[o + 5], -this.poses[o + 6]]);
    return place(turned, 0, [at[0] - this.poses[o], at[1] - this.poses[o + 1], at[2] - this.poses[o + 2]], [0, 0, 0]);
  }

  placeIn(poses: Float32Array, body: number, s: Vec): Vec {
    return place(poses, body, s, [0, 0, 0]);
  }

  /** Where a point of a body is in the pose that is drawn. */
  placeOf(body: number, s: Vec): Vec {
    return place(this.poses, body, s, [0, 0, 0]);
  }

  get unit(): number {
    return this.result.data.drawing.unit;
  }

  /** The body under a pixel, below 1 if there is none. */
  under(x: number, y: number): number {
    return this.bodyAt(x, y);
  }

  /** The path of a point over a motion, place by place. */
  protected path(result: Result, spot: Spotted, put: (at: Vec) => void): void {
    const poses = new Float32Array(this.poses.length);
    const body = result.data.scene.bodies[spot.body];
    const s = spot.centre ? spot.s : (body.points[spot.name.slice(body.name.length + 1)] ?? spot.s);
    for (const t of result.t) {
      result.pose(t, poses);
      put(place(poses, spot.body, s, this.here));
    }
  }

  at(spot: Spotted): Vec {
    return place(this.poses, spot.body, spot.s, [0, 0, 0]);
  }

  spotAt(x: number, y: number): Spotted | undefined {
    let found: Spotted | undefined;
    let least = NEAR;
    for (const spot of this.spots) {
      if (spot.centre && !this.shown.centres && !this.shown.paths.has(spot.name)) continue;
      if (spot.body === 0 && !spot.joints.length) continue;
      const [px, py] = this.project(place(this.poses, spot.body, spot.s, this.here));
      const far = Math.hypot(px - x, py - y) - (spot.joints.length ? 0.5 : 0) - (spot.body > 0 ? 0.25 : 0);
      if (far < least) {
        least = far;
        found = spot;
      }
    }
    return found;
  }

  /** What is at a place of the screen: a point with its joints, or a body. */
  tell(x: number, y: number): { told: Told; body: number } | undefined {
    const spot = this.spotAt(x, y);
    if (spot) return { told: this.tellSpot(spot), body: spot.body };
    const body = this.bodyAt(x, y);
    return body > 0 ? { told: this.tellBody(body), body } : undefined;
  }

  private rows(names: string[], short: (name: string) => string): Told["rows"] {
    return names
      .filter((name) => this.result.quantities.has(name))
      .map((name) => {
        const [unit, factor] = shownUnit(this.page, this.result.quantities.get(name)?.unit ?? "");
        return [short(name), factor * (this.result.value(name, this.time) ?? Number.NaN), unit];
      });
  }

  private tellSpot(spot: Spotted): Told {
    const axes = this.result.data.scene.space === "planar" ? ["x", "y"] : ["x", "y", "z"];
    const at = place(this.poses, spot.body, spot.s, [0, 0, 0]);
    const columns = [...axes, ...axes.map((axis) => `v${axis}`)].map((part) => `${spot.name}.${part}`);
    let rows = this.rows(columns, (name) => name.slice(name.lastIndexOf(".") + 1));
    const [metre, factor] = shownUnit(this.page, "m");
    if (!rows.length) rows = axes.map((axis, k) => [axis, factor * at[k], metre]);
    // all joints at this place, also those between other bodies
    const unit = this.result.data.drawing.unit;
    const here = this.joints.filter((joint) => {
      const k = joint.points.length - 1;
      if (k < 0) return false;
      return distance(place(this.poses, this.bodyOf(joint.bodies[k]), joint.points[k], [0, 0, 0]), at) < 0.05 * unit;
    });
    for (const joint of here) {
      const mine = [...this.result.quantities.keys()].filter((name) => name.startsWith(`reaction:${joint.name}.`));
      rows.push(...this.rows(mine, (name) => name.slice("reaction:".length)));
    }
    const kinds = here.map((joint) => `${joint.name}: ${joint.type}`).join(", ");
    return { title: spot.name, kind: kinds || (spot.centre ? "mass centre" : "point"), rows };
  }

  private tellBody(body: number): Told {
    const name = this.result.data.scene.bodies[body].name;
    const parts = ["x", "y", "z", "phi", "vx", "vy", "vz", "omega", "wx", "wy", "wz"];
    const columns = parts.map((part) => `${name}.${part}`);
    return { title: name, kind: "body", rows: this.rows(columns, (full) => full.slice(name.length + 1)) };
  }

  /** The force of a joint on its second body, seen from the ground. */
  protected force(joint: Mark, out: Vec): boolean {
    const value = (part: string) => this.result.value(`reaction:${joint.name}.${part}`, this.time);
    const [along, normal] = [value("along"), value("normal")];
    if (along !== undefined && normal !== undefined && joint.axis) {
      const i = this.bodyOf(joint.bodies[0]);
      const origin = place(this.poses, i, [0, 0, 0], [0, 0, 0]);
      const tip = place(this.poses, i, joint.axis, [0, 0, 0]);
      const length = distance(tip, origin) || 1;
      const [c, s] = [(tip[0] - origin[0]) / length, (tip[1] - origin[1]) / length];
      out[0] = along * c - normal * s;
      out[1] = along * s + normal * c;
      out[2] = 0;
      return true;
    }
    const parts = ["x", "y", "z"].map(value);
    if (parts[0] === undefined) return false;
    for (let k = 0; k < 3; k++) out[k] = parts[k] ?? 0;
    return true;
  }

  /** Where springs, contacts, loads and drag act, and with what force. */
  protected applied(): [Vec, Vec][] {
    const found: [Vec, Vec][] = [];
    for (const mark of this.result.data.scene.forces) {
      const value = (part: string) => this.result.value(`force:${mark.name}${part}`, this.time);
      const points = mark.points.map((s, k) => place(this.poses, this.bodyOf(mark.bodies[k]), s, [0, 0, 0]));
      const [tension, normal, x] = [value(""), value(".normal"), value(".x")];
      if (points.length === 1 && x !== undefined) {
        found.push([points[0], [x, value(".y") ?? 0, value(".z") ?? 0]]);
      } else if (points.length === 2 && (tension !== undefined || normal !== undefined)) {
        const [i, j] = points;
        const from = mark.axis ? place(this.poses, this.bodyOf(mark.bodies[0]), [0, 0, 0], [0, 0, 0]) : i;
        const to = mark.axis ? place(this.poses, this.bodyOf(mark.bodies[0]), mark.axis, [0, 0, 0]) : j;
        const length = distance(from, to) || 1;
        const n = [0, 1, 2].map((k) => (to[k] - from[k]) / length); // of a spring along it, of a contact its normal
        if (tension !== undefined) {
          found.push([i, n.map((c) => tension * c) as Vec], [j, n.map((c) => -tension * c) as Vec]);
        } else if (normal !== undefined) {
          const radius = mark.radii.length ? mark.radii[mark.radii.length - 1] : 0;
          const across = this.result.data.scene.space === "planar" ? (value(".tangential") ?? 0) : 0;
          const force: Vec = [normal * n[0] - across * n[1], normal * n[1] + across * n[0], normal * n[2]];
          found.push([j.map((c, k) => c - radius * n[k]) as Vec, force]);
        }
      }
    }
    return found;
  }

  protected get speed(): number {
    return (this.usual.speed ??= this.usualSpeed());
  }

  private usualSpeed(): number {
    const bodies = this.result.data.scene.bodies.slice(1);
    return this.seldom(bodies.map(({ name }) => ["vx", "vy", "vz"].map((part) => `${name}.${part}`)));
  }

  protected get load(): number {
    return (this.usual.load ??= this.usualLoad());
  }

  /** Another motion: what is usual of it is looked for when it is asked for. */
  protected forget(): void {
    this.usual = {};
  }

  private usualLoad(): number {
    const parts = ["x", "y", "z", "along", "normal"];
    const forces = this.result.data.scene.forces;
    return this.seldom([
      ...this.joints.map(({ name }) => parts.map((part) => `reaction:${name}.${part}`)),
      ...forces.map(({ name }) => ["", ".x", ".y", ".z", ".normal"].map((part) => `force:${name}${part}`)),
    ]);
  }

  /** The size a quantity seldom exceeds, over all rows, from columns of its components. */
  private seldom(vectors: string[][]): number {
    const sizes: number[] = [];
    for (const names of vectors) {
      const columns = names.map((name) => this.result.quantities.get(name)?.values).filter((x) => x !== undefined);
      if (!columns.length) continue;
      const step = Math.max(1, Math.floor(columns[0].length / 200));
      for (let k = 0; k < columns[0].length; k += step) sizes.push(Math.hypot(...columns.map((column) => column[k])));
    }
    sizes.sort((a, b) => a - b);
    return sizes[Math.floor(0.85 * (sizes.length - 1))] || 1;
  }
}

export function distance(a: ArrayLike<number>, b: ArrayLike<number>): number {
  return Math.hypot(a[0] - b[0], a[1] - b[1], (a[2] ?? 0) - (b[2] ?? 0));
}
