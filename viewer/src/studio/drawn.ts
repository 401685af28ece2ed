// Elements that are drawn, as entries of the text: a person would write them so.

import { follow, pointsOf, type Spot, uniform, written } from "./bars";
import { addEntry, applied, type Change } from "./edits";
import { rounded, type Units } from "../numbers";
import { Outline, type Path } from "./tree";

const LETTERS = [..."ABCDEFGHIJKLMN"];
const FREE_LETTERS = [..."PQRSTUVW"];
const STIFFNESS = 100; // N/m
const DAMPING = 1; // N s/m
const SPEED = "30 rpm";

/** Where something is drawn: at a point that has a name, else on a body or, with none, on the paper. */
export interface End {
  at: Spot; // on the paper
  point?: string; // "body.point"
  body?: string;
  local: Spot; // in the axes of its body
}

/** A text that grows; what is not a number it has from the picture. */
export class Drawn {
  private outline: Outline;

  constructor(
    public text: string,
    private readonly step: number,
    private readonly units: Units,
  ) {
    this.outline = new Outline(text);
  }

  readonly place = ([x, y]: Spot): string => `[${rounded(x, this.step)}, ${rounded(y, this.step)}]`;

  private change(changes: Change[]): void {
    this.text = applied(this.text, changes);
    this.outline = new Outline(this.text);
  }

  private add(path: Path, key: string, text: string): void {
    this.change(addEntry(this.outline, path, key, text));
  }

  private pathOf(body: string): Path {
    return body === "ground" ? ["ground"] : ["bodies", body];
  }

  /** A name that nothing has: the first letter, or the word with the first number, that is free. */
  private letter(letters = LETTERS): string {
    const bodies = ["ground", ...this.outline.keys(["bodies"])];
    const used = new Set([...bodies.flatMap((body) => this.outline.keys([...this.pathOf(body), "points"])), ...this.outline.keys(["joints"])]);
    for (let k = 0; ; k++) {
      const found = letters.map((letter) => letter + (k || "")).find((name) => !used.has(name));
      if (found) return found;
    }
  }

  private numbered(word: string, section: string, first = 1): string {
    const used = new Set(this.outline.keys([section]));
    for (let k = first; ; k = k ? k + 1 : 2) {
      const name = k ? `${word}${k}` : word;
      if (!used.has(name)) return name;
    }
  }

  /** A joint goes by the name of its point, if no other does. */
  private jointName(letter: string): string {
    return this.outline.keys(["joints"]).includes(letter) ? this.numbered(letter, "joints", 2) : letter;
  }

  /** A point of a body, or of the ground; bodies that weigh what their bars do go on to do so. */
  addPoint(body: string, at: Spot, letters?: string[]): string {
    const name = this.letter(letters);
    const points = pointsOf(this.outline, this.pathOf(body), this.units);
    if (body !== "ground" && points?.size) {
      this.change(follow(this.outline, body, new Map([...points, [name, at]]), this.place, this.units));
    }
    this.add([...this.pathOf(body), "points"], name, this.place(at));
    return name;
  }

  private ended(end: End, orGround: boolean): string | undefined {
    if (end.point) return end.point;
    if (end.body) return `${end.body}.${this.addPoint(end.body, end.local)}`;
    return orGround ? `ground.${this.addPoint("ground", end.at)}` : undefined;
  }

  pin(at: End): void {
    if (at.body) this.addPoint(at.body, at.local, FREE_LETTERS);
    else this.addPoint("ground", at.at);
  }

  /** Another point of a body, of a coupler for example. */
  plate(on: End, at: End): void {
    if (on.body && on.body !== "ground") this.addPoint(on.body, at.local, FREE_LETTERS);
  }

  private addBody(name: string, points: Map<string, Spot>): void {
    const { mass, inertia, mass_centre } = written(uniform([...points.values()]), this.place);
    const places = [...points].map(([point, at]) => `${point}: ${this.place(at)}`).join(", ");
    const text = `{mass: ${mass}, inertia: ${inertia}, mass_centre: ${mass_centre},\n${" ".repeat(name.length + 3)}points: {${places}}}`;
    this.add(["bodies"], name, text);
  }

  /** A link from end to end, with a hinge where an end is on something. */
  link(from: End, to: End): void {
    const others = [from, to].map((end) => this.ended(end, false));
    const points = new Map<string, Spot>();
    const own = others.map((other, k) => {
      const known = other?.split(".")[1];
      const name = known && !points.has(known) ? known : this.letterBeside(points);
      points.set(name, [from, to][k].at);
      return name;
    });
    const body = this.numbered("link", "bodies");
    this.addBody(body, points);
    others.forEach((other, k) => other && this.hinge(other, `${body}.${own[k]}`));
  }

  private letterBeside(points: Map<string, Spot>): string {
    const found = this.letter();
    return points.has(found) ? this.letter(LETTERS.slice(LETTERS.indexOf(found) + 1)) : found;
  }

  private hinge(i: string, j: string): void {
    this.add(["joints"], this.jointName(j.split(".")[1]), `{type: revolute, i: ${i}, j: ${j}}`);
  }

  /** A block that slides along the way from its place to another one, hinged to what is there. */
  slider(at: End, towards: Spot): void {
    const other = at.point?.startsWith("ground.") ? undefined : this.ended(at, false);
    const rail = at.point?.startsWith("ground.") ? at.point : `ground.${this.addPoint("ground", at.at)}`;
    const point = other?.split(".")[1] ?? rail.split(".")[1];
    const body = this.numbered("slider", "bodies");
    this.add(["bodies"], body, `{mass: 1, mass_centre: ${this.place(at.at)}, points: {${point}: ${this.place(at.at)}}}`);
    if (other) this.hinge(other, `${body}.${point}`);
    const angle = Math.round(Math.atan2(towards[1] - at.at[1], towards[0] - at.at[0]) / (Math.PI / 12)) * 15;
    const axis = [Math.cos, Math.sin].map((f) => rounded(f((angle * Math.PI) / 180), 1e-4)).join(", ");
    this.add(["joints"], this.numbered("slide", "joints"), `{type: prismatic, i: ${rail}, j: ${body}.${point}, axis: [${axis}]}`);
  }

  /** A driver of a joint that turns at a speed, or goes to and fro; `start` is what the joint has at the start. */
  motor(joint: string, start: number): void {
    const speed = this.numbered("speed", "parameters", this.outline.keys(["parameters"]).includes("speed") ? 2 : 0);
    this.add(["parameters"], speed, SPEED);
    const angle = Number(((start * 180) / Math.PI).toFixed(2));
    const isSlider = this.outline.textAt(["joints", joint, "type"]) === "prismatic";
    const turning = angle ? `{type: polynomial, value: ${angle} deg, rate: ${speed}}` : `${speed}*t`;
    const motion = isSlider ? `${rounded(20 * this.step, this.step)}*sin(${speed}*t)` : turning;
    this.add(["drivers"], this.numbered("motor", "drivers", 0), `{joint: ${joint}, motion: ${motion}}`);
  }

  /** A spring with damper, at rest where it is drawn. */
  spring(from: End, to: End): void {
    const [i, j] = [from, to].map((end) => this.ended(end, true));
    const length = rounded(Math.hypot(to.at[0] - from.at[0], to.at[1] - from.at[1]), this.step);
    const law = `stiffness: ${STIFFNESS}, damping: ${DAMPING}, free_length: ${length}`;
    this.add(["forces"], this.numbered("spring", "forces"), `{type: spring-damper, i: ${i}, j: ${j}, ${law}}`);
  }
}
