// Tools that draw on the stage and drag what is drawn: clicks become entries of the text.

import { button, element } from "../dom";
import type { PlanarStage } from "../planar";
import type { Spotted } from "../stage";
import type { Viewer } from "../viewer";
import { follow, pointsOf, type Spot } from "./bars";
import { Drawn, type End } from "./drawn";
import type { Editor } from "./editor";
import { type Change, setNumber } from "./edits";
import { inSi, powerBelow, rounded, type Units } from "../numbers";
import type { Picture } from "./picture";
import type { Path } from "./tree";

const NEAR = 14; // pixels within which a point is meant
const FAR = 10; // pixels of a press that is a way from here to there
const SNAP = 6; // pixels between the places to which clicks go, about
const SAME = 1e-6; // of a unit of the drawing: points that lie on each other

interface Tool {
  label: string;
  title: string;
  hints: string[]; // one for each click
  /** What is drawn when all clicks are there; false if they do not fit. */
  draw(drawn: Drawn, ends: End[], tools: Tools): void | false;
}

const TOOLS: Record<string, Tool> = {
  pin: { label: "Ground pin", title: "A point of the ground", hints: ["Click where a pin is fixed to the ground."], draw: (drawn, [at]) => drawn.pin(at) },
  link: {
    label: "Link",
    title: "A link from end to end, hinged to what is there",
    hints: ["Click the first end of the link: a pin, a body, or free space.", "Click its other end."],
    draw: (drawn, [from, to]) => drawn.link(from, to),
  },
  plate: {
    label: "Point",
    title: "Another point of a body, such as that of a coupler curve",
    hints: ["Click the body that gets another point.", "Click where the point is."],
    draw: (drawn, [on, at], tools) => (on.body && on.body !== "ground" ? drawn.plate(on, { ...at, local: tools.localOf(on.body, at.at) }) : false),
  },
  slider: {
    label: "Slider",
    title: "A block that slides on the ground",
    hints: ["Click the point that the block carries.", "Click in the direction in which it slides."],
    draw: (drawn, [at, to]) => drawn.slider(at, to.at),
  },
  motor: {
    label: "Motor",
    title: "A driver of a joint",
    hints: ["Click the pin or slider that is driven."],
    draw: (drawn, [at], tools) => {
      const joint = tools.jointAt(at.at);
      return joint ? drawn.motor(joint.name, joint.start) : false;
    },
  },
  spring: {
    label: "Spring",
    title: "A spring with a damper",
    hints: ["Click one end of the spring.", "Click its other end."],
    draw: (drawn, [from, to]) => drawn.spring(from, to),
  },
};

export type Frame = [x: number, y: number, angle: number];

export class Tools {
  private chosen = "";
  private ends: End[] = [];
  private stage: PlanarStage | undefined;
  private viewer: Viewer | undefined;
  private over: SVGSVGElement | undefined;
  private pointer: Spot | undefined; // in pixels
  frames: Record<string, Frame> = {}; // of bodies, as the text states them
  private readonly buttons = new Map<string, HTMLButtonElement>();
  private readonly hint: HTMLElement;
  hand = false; // points are dragged

  constructor(
    private readonly bar: HTMLElement,
    place: HTMLElement,
    private readonly editor: Editor,
    private readonly units: Units,
    private readonly picture: Picture,
  ) {
    this.buttons.set("", button("Move", "Drag points and bodies (Esc)", bar, () => this.choose("")));
    for (const [name, { label, title }] of Object.entries(TOOLS)) this.buttons.set(name, button(label, title, bar, () => this.choose(name)));
    this.hint = element("p", "hint", place);
    addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.chosen) this.choose("");
    });
    this.choose("");
  }

  choose(name: string): void {
    this.chosen = name;
    this.picture.keepView = name !== "";
    this.ends = [];
    for (const [own, chip] of this.buttons) chip.setAttribute("aria-pressed", String(own === name));
    this.toStart();
    this.show();
  }

  private get tool(): Tool | undefined {
    return TOOLS[this.chosen];
  }

  /** What is drawn and dragged is the mechanism where it starts. */
  private toStart(): void {
    const { viewer } = this;
    if (!viewer || !this.chosen) return;
    viewer.setPlaying(false);
    viewer.setTime(viewer.clock.start);
  }

  private show(): void {
    this.hint.textContent = this.tool?.hints[this.ends.length] ?? "";
    this.hint.hidden = !this.tool || !this.stage;
    this.stage?.host.classList.toggle("drawing", Boolean(this.tool));
    this.draw();
  }

  /** Work on another picture. */
  attach(viewer: Viewer, stage: PlanarStage | undefined): void {
    [this.viewer, this.stage] = [viewer, stage];
    for (const chip of this.buttons.values()) chip.disabled = !stage;
    this.bar.title = stage ? "" : "Drawing is for mechanisms in the plane; points in space are written, or dragged in the picture.";
    if (!stage) return this.show();
    const figure = stage.host.parentElement as HTMLElement;
    this.over = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    this.over.classList.add("over-stage");
    figure.append(this.over, this.hint);
    viewer.afterPicture = () => this.draw();
    figure.addEventListener("pointerdown", (event) => this.press(event, figure), true);
    figure.addEventListener("pointermove", (event) => {
      this.pointer = [event.offsetX, event.offsetY];
      if (this.tool) this.draw();
    });
    this.toStart();
    this.show();
  }

  private press(event: PointerEvent, figure: HTMLElement): void {
    const box = figure.getBoundingClientRect();
    const here = (e: PointerEvent): Spot => [e.clientX - box.left, e.clientY - box.top];
    if (event.button !== 0 || !(event.target instanceof HTMLCanvasElement)) return;
    if (!this.tool) return this.grab(event, here);
    event.stopPropagation();
    event.preventDefault();
    const [x, y] = here(event);
    this.click(x, y);
    addEventListener(
      "pointerup",
      (up) => {
        const [a, b] = here(up);
        if (this.ends.length && Math.hypot(a - x, b - y) > FAR) this.click(a, b);
      },
      { once: true },
    );
  }

  private click(x: number, y: number): void {
    const { tool } = this;
    if (!tool) return;
    this.ends.push(this.endAt(x, y));
    if (this.ends.length === tool.hints.length) {
      const drawn = new Drawn(this.editor.text, this.step, this.units);
      const { ends } = this;
      this.ends = [];
      if (tool.draw(drawn, ends, this) !== false) this.editor.replace(drawn.text);
    }
    this.show();
  }

  /** How fine places are written: the power of ten below some pixels. */
  private get step(): number {
    return powerBelow(SNAP * (this.stage?.view.metres ?? 1e-3));
  }

  private snapped([x, y]: Spot): Spot {
    return [Number(rounded(x, this.step)), Number(rounded(y, this.step))];
  }

  private spots(): Spotted[] {
    return this.stage?.spots.filter(({ centre }) => !centre) ?? [];
  }

  private near(x: number, y: number): Spotted | undefined {
    const { stage } = this;
    let [found, least]: [Spotted | undefined, number] = [undefined, NEAR];
    for (const spot of this.spots()) {
      const [px, py] = stage?.project(stage.at(spot)) ?? [0, 0];
      const far = Math.hypot(px - x, py - y);
      if (far < least - 1e-6) [found, least] = [spot, far];
    }
    return found;
  }

  /** Coordinates in the axes of a body, as its text has them. */
  localOf(body: string, at: Spot): Spot {
    return this.snapped(this.within(body, at));
  }

  private endAt(x: number, y: number): End {
    const stage = this.stage as PlanarStage;
    const bodies = stage.result.data.scene.bodies;
    const spot = this.near(x, y);
    if (spot) {
      const [px, py] = stage.at(spot);
      const at: Spot = [Number(rounded(px, this.step / 100)), Number(rounded(py, this.step / 100))];
      return { at, point: spot.name, body: bodies[spot.body].name, local: at };
    }
    const [wx, wy] = stage.placeAt(x, y);
    const at = this.snapped([wx, wy]);
    const body = stage.under(x, y);
    const name = body > 0 ? bodies[body].name : undefined;
    return { at, body: name, local: name ? this.localOf(name, at) : at };
  }

  /** The joint at a place, one of the ground if there is one, and the angle that it has. */
  jointAt(at: Spot): { name: string; start: number } | undefined {
    const { stage } = this;
    if (!stage) return undefined;
    const { scene, drawing } = stage.result.data;
    const turn = (body: number) => {
      const [x, y] = stage.placeOf(body, [1, 0, 0]);
      const [ox, oy] = stage.placeOf(body, [0, 0, 0]);
      return Math.atan2(y - oy, x - ox);
    };
    const here = scene.joints.filter(({ type, bodies, points }) => {
      if (!["revolute", "prismatic"].includes(type) || points.length < 2) return false;
      const [x, y] = stage.placeOf(stage.result.bodies.get(bodies[1]) ?? 0, points[1]);
      return Math.hypot(x - at[0], y - at[1]) < drawing.unit;
    });
    const found = here.find(({ type }) => type === "prismatic") ?? here.find(({ bodies }) => bodies.includes("ground")) ?? here[0];
    if (!found) return undefined;
    const [i, j] = found.bodies.map((name) => turn(stage.result.bodies.get(name) ?? 0));
    return { name: found.name, start: found.type === "prismatic" ? 0 : j - i };
  }

  // points that are dragged

  /** Drag the points at a place where all of them are numbers in the text; of formulas the live page takes care. */
  private grab(event: PointerEvent, here: (e: PointerEvent) => Spot): void {
    const { stage, viewer } = this;
    const spot = stage && this.near(...here(event));
    if (!stage || !viewer || !spot) return;
    const pressed = here(event);
    const first = viewer.clock.start;
    const together = this.atStart(spot);
    if (!together) return;
    event.stopPropagation();
    const pointer = event.pointerId;
    let moved = false;
    const move = (e: PointerEvent) => {
      if (e.pointerId !== pointer) return;
      const [x, y] = here(e);
      if (!moved && Math.hypot(x - pressed[0], y - pressed[1]) < 3) return;
      if (!moved) {
        viewer.setPlaying(false);
        viewer.setTime(first);
      }
      moved = true;
      this.hand = true;
      const pixel = stage.view.metres;
      const to: Spot = [together.at[0] + (x - pressed[0]) * pixel, together.at[1] - (y - pressed[1]) * pixel];
      this.editor.drag(this.moves(together.names, to));
    };
    const up = (e: PointerEvent) => {
      if (e.pointerId !== pointer) return;
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", up);
      this.hand = false;
      if (moved) this.editor.drop();
      else if (spot.body > 0) viewer.trace(spot.name);
      viewer.request();
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", up);
  }

  /** The points that lie on this one where the motion starts, if the text has numbers for them. */
  private atStart(spot: Spotted): { names: [body: string, point: string][]; at: Spot } | undefined {
    const stage = this.stage as PlanarStage;
    const { bodies } = stage.result.data.scene;
    const poses = new Float32Array(7 * bodies.length);
    stage.result.pose(stage.result.start, poses);
    const where = (own: Spotted) => stage.placeIn(poses, own.body, own.s);
    const at = where(spot);
    const { outline } = this.editor;
    const names: [string, string][] = [];
    for (const own of this.spots()) {
      const [x, y] = where(own);
      if (own !== spot && Math.hypot(x - at[0], y - at[1]) > Math.max(SAME, 0.05) * stage.unit) continue;
      const body = bodies[own.body].name;
      const point = own.name.slice(body.length + 1);
      const path: Path = [...(own.body ? ["bodies", body] : ["ground"]), "points", point];
      if ([0, 1].some((k) => inSi(outline.textAt([...path, k]) ?? "", this.units) === undefined)) return undefined;
      names.push([body, point]);
    }
    return { names, at: [at[0], at[1]] };
  }

  /** Changes that bring points to a place, and what their bodies weigh with them. */
  private moves(names: [string, string][], to: Spot): Change[] {
    const { outline } = this.editor;
    const step = powerBelow(this.stage?.view.metres ?? 1e-3);
    const place = ([x, y]: Spot) => `[${rounded(x, step)}, ${rounded(y, step)}]`;
    return names.flatMap(([body, point]) => {
      const path: Path = body === "ground" ? ["ground"] : ["bodies", body];
      const local = this.within(body, to);
      const points = pointsOf(outline, path, this.units);
      const own = [0, 1].flatMap((k) => setNumber(outline, [...path, "points", point, k], local[k], step, this.units));
      const weights = body !== "ground" && points ? follow(outline, body, new Map([...points, [point, local]]), place, this.units) : [];
      return [...own, ...weights];
    });
  }

  private within(body: string, [x, y]: Spot): Spot {
    const [ox, oy, angle] = this.frames[body] ?? [0, 0, 0];
    const [c, s] = [Math.cos(angle), Math.sin(angle)];
    return [c * (x - ox) + s * (y - oy), c * (y - oy) - s * (x - ox)];
  }

  // what is drawn over the picture

  private draw(): void {
    const { over, stage } = this;
    if (!over || !stage) return;
    over.replaceChildren();
    const shape = (tag: string, attributes: Record<string, string | number>) => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
      over.append(made);
    };
    for (const spot of this.spots()) {
      if (spot.body !== 0 || spot.joints.length) continue; // a pin that holds nothing yet
      const [x, y] = stage.project(stage.at(spot));
      shape("path", { d: `M${x} ${y}l-9 15h18z M${x - 13} ${y + 15}h26`, class: "pin" });
      shape("circle", { cx: x, cy: y, r: 4, class: "pin" });
    }
    if (!this.tool || !this.pointer) return;
    const [x, y] = this.pointer;
    const from = this.ends[0];
    const end = this.endAt(x, y);
    const [px, py] = stage.project([...end.at, 0]);
    if (from) {
      const [ax, ay] = stage.project([...from.at, 0]);
      shape("line", { x1: ax, y1: ay, x2: px, y2: py, class: "band" });
    }
    shape("circle", { cx: px, cy: py, r: end.point ? 11 : 4, class: end.point ? "target" : "dot-here" });
  }
}
