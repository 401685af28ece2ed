// Velocity and acceleration polygons: what points of a planar mechanism have, drawn from one pole.

import { type Page, type Result, shownUnit, type Spot } from "./data";
import { element } from "./dom";
import { corners } from "./kinematics";
import { nice } from "./scale";
import type { Plots } from "./plots";
import type { Spotted } from "./stage";
import { adapted } from "./theme";

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT, ROOM] = [400, 250, 26];

export class Polygons {
  private readonly box: HTMLElement;
  private readonly svg: SVGSVGElement;
  private readonly scale: HTMLElement;
  private on = false;
  private time = 0;

  constructor(
    private readonly kind: "velocity" | "acceleration",
    private readonly result: Result,
    private readonly page: Page,
    private readonly spots: Spotted[],
    plots: Plots,
  ) {
    this.box = element("section", "panel polygon", plots.host);
    this.box.hidden = true;
    element("h2", "", this.box).textContent = `${kind} polygon`;
    this.svg = document.createElementNS(SVG, "svg");
    this.svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
    this.svg.setAttribute("role", "img");
    this.svg.setAttribute("aria-label", `${kind} polygon`);
    this.box.append(this.svg);
    this.scale = element("p", "", this.box);
    plots.extra(`${kind[0].toUpperCase()}${kind.slice(1)} polygon`, `Vectors of all points from one pole, at the time of the picture`, (on) => {
      this.on = on;
      this.box.hidden = !on;
      this.show(this.time);
    });
  }

  show(time: number): void {
    this.time = time;
    if (!this.on) return;
    const found = corners(this.kind, this.result, this.spots, time);
    const all: Spot[] = [[0, 0], ...found.map(({ at }) => at)];
    const [low, high] = [0, 1].map((k) => [Math.min(...all.map((p) => p[k])), Math.max(...all.map((p) => p[k]))]);
    const size = Math.max((low[1] - low[0]) / (WIDTH - 2 * ROOM), (high[1] - high[0]) / (HEIGHT - 2 * ROOM)) || 1;
    const put = ([x, y]: Spot): Spot => [
      WIDTH / 2 + (x - (low[0] + low[1]) / 2) / size,
      HEIGHT / 2 - (y - (high[0] + high[1]) / 2) / size,
    ];
    this.svg.replaceChildren();
    const line = (from: Spot, to: Spot, color: string, kind: string) => {
      const [a, b] = [put(from), put(to)];
      const mark = this.mark("line", { x1: a[0], y1: a[1], x2: b[0], y2: b[1] });
      mark.style.stroke = color;
      mark.setAttribute("class", kind);
    };
    const color = (body: number) => adapted(this.result.data.colors[(body - 1) % this.result.data.colors.length]);
    // the image of a body: lines between the ends that belong to it
    for (const body of new Set(found.map((corner) => corner.body))) {
      const own = found.filter((corner) => corner.body === body);
      own.forEach(({ at }, k) => own.length > 1 && (own.length > 2 || k) && line(at, own[(k + 1) % own.length].at, color(body), "image"));
    }
    const drawn: { at: Spot; names: string[] }[] = [{ at: [0, 0], names: ["o"] }];
    for (const { at, name, body } of found) {
      line([0, 0], at, color(body), "ray");
      const known = drawn.find((other) => Math.hypot(other.at[0] - at[0], other.at[1] - at[1]) <= size);
      if (!known) drawn.push({ at, names: [name] });
      else if (!known.names.includes(name)) known.names.push(name);
    }
    for (const { at, names } of drawn) {
      const [x, y] = put(at);
      this.mark("circle", { cx: x, cy: y, r: 2.6 });
      this.mark("text", { x: x + 6, y: y - 5 }).textContent = names.slice(0, 3).join(", ");
    }
    const [unit, factor] = shownUnit(this.page, this.kind === "velocity" ? "m/s" : "m/s^2");
    const step = nice(60 * size * factor);
    this.scale.textContent = `${Number(step.toPrecision(3))} ${unit}`;
    this.scale.style.setProperty("--part", String(step / factor / size / WIDTH));
  }

  private mark(tag: "line" | "circle" | "text", values: Record<string, number>): SVGElement {
    const mark = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(values)) mark.setAttribute(key, value.toFixed(1));
    this.svg.append(mark);
    return mark;
  }
}
