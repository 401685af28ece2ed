// Time plots beside the stage, with a line at the time the stage shows.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { type Page, type Quantity, type Result, shown, shownUnit } from "./data";
import { button, element } from "./dom";
import { adapted, cssColor } from "./theme";

const MOST = 8; // curves in a panel that nobody chose one by one
const ROUNDING = 1e-14; // of the largest value of a panel
const HEIGHT = 148;
const DASHES: (number[] | undefined)[] = [undefined, [7, 4], [2, 3], [8, 3, 2, 3]]; // by result

const KINDS: [string, string, string[]][] = [
  ["positions", "Positions", ["q"]],
  ["signals", "Signals", ["inputs", "outputs", "states"]],
  ["velocities", "Velocities", ["v"]],
  ["accelerations", "Accelerations", ["a"]],
  ["points", "Points", ["points"]],
  ["joints", "Joints", ["joints"]],
  ["reactions", "Reactions", ["reactions", "driving"]],
  ["loads", "Forces", ["loads"]],
  ["energy", "Energy", ["energy"]],
  ["errors", "Errors", ["error"]],
];
const NOUNS: Record<string, string> = {
  m: "position",
  rad: "angle",
  "m/s": "velocity",
  "rad/s": "angular velocity",
  "m/s^2": "acceleration",
  "rad/s^2": "angular acceleration",
  N: "force",
  "N m": "torque",
  J: "energy",
  W: "power",
  "1": "number",
  "1/s": "rate",
};

interface Curve {
  label: string;
  color: string;
  dash: number[] | undefined;
  values: ArrayLike<number | null>;
  result: Result;
}

interface Panel {
  plot: uPlot;
  curves: Curve[];
  now: HTMLElement;
  texts: HTMLElement[];
  rounding: number; // up to which a value is shown as 0
  element: HTMLElement;
}

export class Plots {
  private readonly panels: Panel[] = [];
  private readonly wanted = new Set<string>(["positions", "signals", "reactions", "loads", "energy"]);
  private readonly chosen = new Set<string>();
  private difference: boolean;
  private readonly list: HTMLElement;
  private readonly chips = new Map<string, HTMLButtonElement>();
  private readonly units: [HTMLElement, string][] = []; // in the list of all quantities
  private time = 0;
  private told = 0;

  constructor(
    private readonly results: Result[],
    private readonly page: Page,
    host: HTMLElement,
    private readonly seek: (t: number) => void,
  ) {
    this.difference = results.length > 1;
    const bar = element("div", "chips", host);
    for (const [key, label, kinds] of KINDS) {
      if (!this.quantities(kinds).length) continue;
      this.chips.set(key, button(label, `Show ${label.toLowerCase()}`, bar, () => this.toggle(this.wanted, key)));
    }
    if (results.length > 1) {
      const chip = button("Difference", "Differences from the first result", bar, () => {
        this.difference = !this.difference;
        this.build();
      });
      this.chips.set("difference", chip);
    }
    this.chooser(bar, host);
    this.list = element("div", "panels", host);
    new ResizeObserver(() => this.resize()).observe(this.list);
    this.build();
  }

  private toggle(set: Set<string>, key: string): void {
    if (!set.delete(key)) set.add(key);
    this.build();
  }

  private quantities(kinds: string[]): Quantity[] {
    return [...this.results[0].quantities.values()].filter(({ kind }) => kinds.includes(kind));
  }

  /** A list of all quantities, with a field to look for names. */
  private chooser(bar: HTMLElement, host: HTMLElement): void {
    const box = element("div", "chooser", host);
    box.hidden = true;
    const chip = button("Curves…", "Choose single curves", bar, () => {
      box.hidden = !box.hidden;
      chip.setAttribute("aria-expanded", String(!box.hidden));
      if (!box.hidden) field.focus();
    });
    const field = element("input", "", box);
    field.type = "search";
    field.placeholder = "name of a quantity";
    field.setAttribute("aria-label", "name of a quantity");
    const list = element("div", "names", box);
    const entries = [...this.results[0].quantities.values()].map(({ name, unit }) => {
      const row = element("label", "", list);
      const tick = element("input", "", row);
      tick.type = "checkbox";
      tick.addEventListener("change", () => this.toggle(this.chosen, name));
      element("span", "", row).textContent = name;
      this.units.push([element("small", "", row), unit]);
      return { row, name: name.toLowerCase() };
    });
    field.addEventListener("input", () => {
      const text = field.value.trim().toLowerCase();
      for (const { row, name } of entries) row.hidden = !name.includes(text);
    });
  }

  /** All panels anew, for what is wanted now. */
  build(): void {
    for (const [key, chip] of this.chips) {
      chip.setAttribute("aria-pressed", String(key === "difference" ? this.difference : this.wanted.has(key)));
    }
    for (const [label, unit] of this.units) label.textContent = shownUnit(this.page, unit)[0];
    for (const { plot } of this.panels) plot.destroy();
    this.panels.length = 0;
    this.list.replaceChildren();
    for (const [key, , kinds] of KINDS) {
      if (this.wanted.has(key)) this.addByUnit(this.quantities(kinds), key === "errors", MOST);
    }
    const chosen = [...this.chosen].map((name) => this.results[0].quantities.get(name)).filter((x) => x !== undefined);
    this.addByUnit(chosen, false, 24);
    if (!this.panels.length) element("p", "none", this.list).textContent = "Choose above what to plot.";
    this.resize();
    this.show(this.time, true);
  }

  private addByUnit(found: Quantity[], log: boolean, most: number): void {
    const units = log ? [""] : [...new Set(found.map(({ unit }) => unit))];
    for (const unit of units) {
      const own = log ? found : found.filter((quantity) => quantity.unit === unit);
      const names = own.slice(0, most).map(({ name }) => name);
      const rest = own.length > most ? `, first ${most} of ${own.length}` : "";
      const title = log ? `errors${rest}` : `${NOUNS[unit] ?? names[0]} [${shownUnit(this.page, unit)[0]}]${rest}`;
      this.add(title, this.curves(names, log), log);
      if (this.difference && this.results.length > 1) this.add(this.about(title), this.differences(names), false);
    }
  }

  private about(title: string): string {
    const [first, second] = this.results.map((result) => result.data.label);
    return `difference of ${title}: ${this.results.length > 2 ? "others" : second} − ${first}`;
  }

  private color(k: number): string {
    return adapted(this.page.colors[k % this.page.colors.length]);
  }

  private curves(names: string[], log: boolean): Curve[] {
    return this.results.flatMap((result, r) =>
      names.flatMap((name, k) => {
        const quantity = result.quantities.get(name);
        if (!quantity) return [];
        const factor = shownUnit(this.page, quantity.unit)[1];
        const values = log ? Array.from(quantity.values, (x) => (x > 0 ? x : null)) : quantity.values.map((x) => factor * x);
        const unit = log ? ` [${quantity.unit}]` : "";
        const label = (this.results.length > 1 ? `${name} · ${result.data.label}` : name) + unit;
        const dash = this.results.length > 1 ? DASHES[r % DASHES.length] : k >= 8 ? DASHES[1] : undefined;
        return [{ label, color: this.color(k), dash, values, result }];
      }),
    );
  }

  /** Every other result less the first one, at the times of the first one that both have. */
  private differences(names: string[]): Curve[] {
    const first = this.results[0];
    return this.results.slice(1).flatMap((result, r) =>
      names.flatMap((name, k) => {
        const own = first.quantities.get(name);
        if (!own || !result.quantities.has(name)) return [];
        const factor = shownUnit(this.page, own.unit)[1];
        const values = Array.from(own.values, (x, row) => {
          const t = first.t[row];
          return t < result.start || t > result.end ? null : factor * ((result.value(name, t) ?? Number.NaN) - x);
        });
        const label = this.results.length > 2 ? `${name} · ${result.data.label}` : name;
        return [{ label, color: this.color(k), dash: DASHES[r % DASHES.length], values, result: first }];
      }),
    );
  }

  private add(title: string, curves: Curve[], log: boolean): void {
    if (!curves.length) return;
    const box = element("section", "panel", this.list);
    element("h2", "", box).textContent = title;
    const host = element("div", "plot", box);
    const first = curves[0].result.t;
    const alike = curves.every(({ result: { t } }) => t.length === first.length && t.every((x, k) => x === first[k]));
    const columns = curves.map(({ values }) => values as (number | null)[]);
    const data = alike
      ? ([first, ...columns] as unknown as uPlot.AlignedData)
      : uPlot.join(curves.map(({ result, values }) => [Array.from(result.t), Array.from(values)] as uPlot.AlignedData));
    const line = () => cssColor("line");
    const ink = () => cssColor("muted");
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1, size: 4 } };
    const font = "11px system-ui, sans-serif";
    const plot = new uPlot(
      {
        width: 300,
        height: HEIGHT,
        pxAlign: 0,
        legend: { show: false },
        cursor: { show: false },
        select: { show: false, left: 0, top: 0, width: 0, height: 0 },
        padding: [6, 20, 0, 0],
        scales: {
          x: { time: false, range: (_u, low, high) => [low, high > low ? high : low + 1] },
          y: log ? { distr: 3 } : { range: (_u, low, high) => spread(low, high) },
        },
        axes: [
          { ...axis, font, size: 26, gap: 3 },
          { ...axis, font, size: 58, gap: 3, values: (_u, ticks) => ticks.map((x) => (log && !decade(x) ? "" : tick(x))) },
        ],
        series: [
          {},
          ...curves.map(({ label, color, dash }) => ({
            label,
            stroke: color,
            width: 1.6,
            dash,
            spanGaps: !alike,
            points: { show: false },
          })),
        ],
      },
      data,
      host,
    );
    const now = element("div", "now", plot.over);
    const legend = element("div", "legend", box);
    const texts = curves.map(({ label, color, dash }, k) => {
      const item = element("button", "", legend);
      item.type = "button";
      item.title = "show or hide";
      item.setAttribute("aria-pressed", "true");
      const swatch = element("i", dash ? "dashed" : "", item);
      swatch.style.color = color;
      element("span", "", item).textContent = label;
      item.addEventListener("click", () => {
        const show = !plot.series[k + 1].show;
        item.setAttribute("aria-pressed", String(show));
        plot.setSeries(k + 1, { show });
      });
      return element("output", "", item);
    });
    const seek = (event: PointerEvent) => {
      const box = plot.over.getBoundingClientRect();
      this.seek(plot.posToVal(event.clientX - box.left, "x"));
    };
    plot.over.addEventListener("pointerdown", (event) => {
      plot.over.setPointerCapture(event.pointerId);
      seek(event);
    });
    plot.over.addEventListener("pointermove", (event) => {
      if (event.buttons) seek(event);
    });
    this.panels.push({ plot, curves, now, texts, rounding: log ? 0 : ROUNDING * largest(curves), element: box });
  }

  private resize(): void {
    const width = this.list.clientWidth;
    if (!width) return;
    for (const { plot } of this.panels) if (plot.width !== width) plot.setSize({ width, height: HEIGHT });
    this.show(this.time, true);
  }

  /** The line at this time in all plots; values in the legends follow ten times a second, or at once. */
  show(time: number, atOnce: boolean): void {
    this.time = time;
    const clock = performance.now();
    const tell = atOnce || clock - this.told > 100;
    if (tell) this.told = clock;
    for (const { plot, curves, now, texts, rounding } of this.panels) {
      now.style.transform = `translateX(${plot.valToPos(time, "x").toFixed(1)}px)`;
      if (!tell) continue;
      curves.forEach(({ values, result }, k) => {
        texts[k].textContent = shown(between(values, result, time), rounding);
      });
    }
  }

  theme(): void {
    this.build();
  }
}

function largest(curves: Curve[]): number {
  let size = 0;
  for (const { values } of curves) for (let k = 0; k < values.length; k++) size = Math.max(size, Math.abs(values[k] ?? 0) || 0);
  return size;
}

function between(values: ArrayLike<number | null>, result: Result, time: number): number | undefined {
  const k = result.row(time);
  const [a, b] = [values[k], values[Math.min(k + 1, values.length - 1)]];
  if (a === null || time <= result.t[k] || b === null) return a ?? undefined;
  return a + ((time - result.t[k]) / (result.t[k + 1] - result.t[k])) * (b - a);
}

/** A range with some room; what does not change is a line in the middle. */
function spread(low: number, high: number): [number, number] {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return [-1, 1];
  const rounding = 1e-12 * Math.max(1, Math.abs(low));
  if (high - low < rounding) return [low - Math.max(rounding, 0.1 * Math.abs(low)), high + Math.max(rounding, 0.1 * Math.abs(high))];
  const room = 0.06 * (high - low);
  return [low - room, high + room];
}

function decade(x: number): boolean {
  return Math.abs(Math.log10(x) - Math.round(Math.log10(x))) < 1e-9;
}

function tick(x: number): string {
  const size = Math.abs(x);
  if (size !== 0 && (size >= 1e5 || size < 1e-3)) return x.toExponential(1).replace(".0e", "e").replace("e+", "e");
  return String(Number(x.toPrecision(6)));
}
