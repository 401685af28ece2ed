// Time plots beside the stage, with a line at the time the stage shows.

import { choose } from "./choice";
import { type Page, type Quantity, type Result, shownUnit } from "./data";
import { button, element } from "./dom";
import { type Curve, type Over, Panel } from "./panel";
import { largest } from "./range";
import { adapted } from "./theme";

const MOST = 8; // curves in a panel that nobody chose one by one
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

export class Plots {
  private readonly panels: Panel[] = [];
  private readonly wanted = new Set<string>(["positions", "signals", "reactions", "loads", "energy"]);
  private readonly chosen = new Set<string>();
  private difference: boolean;
  private over = ""; // the quantity over which chosen curves are drawn, or time
  private readonly list: HTMLElement;
  private readonly extras: { label: string; chip: HTMLButtonElement; show: (on: boolean) => void; on: boolean }[] = [];
  private readonly bar: HTMLElement;
  private readonly chips = new Map<string, HTMLButtonElement>();
  private readonly units: [HTMLElement, string][] = []; // in the list of all quantities
  private readonly idle: { unit: string; own: Quantity[] }[] = []; // quantities that are zero throughout
  private time = 0;
  private told = 0;

  constructor(
    private readonly results: Result[],
    private readonly page: Page,
    readonly host: HTMLElement,
    private readonly seek: (t: number) => void,
  ) {
    this.difference = results.length > 1;
    const bar = element("div", "chips", host);
    this.bar = bar;
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
    const over = element("label", "over", box);
    element("span", "", over).textContent = "over";
    const abscissa = element("select", "", over);
    for (const name of ["time", ...this.results[0].quantities.keys()]) element("option", "", abscissa).textContent = name;
    abscissa.addEventListener("change", () => {
      this.over = abscissa.selectedIndex ? abscissa.value : "";
      this.build();
    });
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

  /** A panel of another kind, with its chip; it stands below the plots. */
  extra(label: string, title: string, show: (on: boolean) => void): void {
    const own = { label, show, on: false, chip: undefined as unknown as HTMLButtonElement };
    own.chip = button(label, title, this.bar, () => {
      own.on = !own.on;
      own.chip.setAttribute("aria-pressed", String(own.on));
      show(own.on);
    });
    this.extras.push(own);
  }

  end(): void {
    for (const panel of this.panels) panel.destroy();
    this.panels.length = 0;
  }

  /** All panels anew, for what is wanted now. */
  build(): void {
    for (const [key, chip] of this.chips) {
      chip.setAttribute("aria-pressed", String(key === "difference" ? this.difference : this.wanted.has(key)));
    }
    for (const [label, unit] of this.units) label.textContent = shownUnit(this.page, unit)[0];
    this.end();
    this.idle.length = 0;
    this.list.replaceChildren();
    for (const [key, , kinds] of KINDS) {
      if (this.wanted.has(key)) this.addByUnit(this.quantities(kinds), key === "errors", MOST);
    }
    const chosen = [...this.chosen].map((name) => this.results[0].quantities.get(name)).filter((x) => x !== undefined);
    this.addByUnit(chosen, false, 24, this.over);
    if (!this.panels.length) element("p", "none", this.list).textContent = "Choose above what to plot.";
    if (this.idle.length) {
      const what = this.idle.map(({ unit, own }) => `${NOUNS[unit] ?? own[0].name} (${own.length})`);
      element("p", "none", this.list).textContent = `Zero throughout: ${[...new Set(what)].join(", ")}`;
    }
    this.resize();
    this.show(this.time, true);
  }

  private addByUnit(found: Quantity[], log: boolean, most: number, over = ""): void {
    const units = log ? [""] : [...new Set(found.map(({ unit }) => unit))];
    for (const unit of units) {
      const own = log ? found : found.filter((quantity) => quantity.unit === unit);
      const { curves, remark } = most > MOST || log ? { curves: own, remark: "" } : choose(own, most);
      if (!curves.length) {
        this.idle.push({ unit, own });
        continue;
      }
      const names = curves.map(({ name }) => name);
      const rest = remark ? `, ${remark}` : "";
      const title = log ? `errors${rest}` : `${NOUNS[unit] ?? names[0]} [${shownUnit(this.page, unit)[0]}]${rest}`;
      this.add(title, this.curves(names, log), log, over);
      if (this.difference && this.results.length > 1) this.add(this.about(title), this.differences(names), false, over);
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
        const scaled = (values: Float64Array) =>
          log ? Array.from(values, (x) => (x > 0 ? x : null)) : factor === 1 ? values : values.map((x) => factor * x);
        const unit = log ? ` [${quantity.unit}]` : "";
        const label = (this.results.length > 1 ? `${name} · ${result.data.label}` : name) + unit;
        const dash = this.results.length > 1 ? DASHES[r % DASHES.length] : k >= 8 ? DASHES[1] : undefined;
        const of = (other: Result) => scaled(other.quantities.get(name)?.values ?? new Float64Array());
        return [{ label, color: this.color(k), dash, result, read: () => scaled(quantity.values), of }];
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
        const read = () =>
          Array.from(own.values, (x, row) => {
            const t = first.t[row];
            return t < result.start || t > result.end ? null : factor * ((result.value(name, t) ?? Number.NaN) - x);
          });
        const label = this.results.length > 2 ? `${name} · ${result.data.label}` : name;
        return [{ label, color: this.color(k), dash: DASHES[r % DASHES.length], result: first, read, of: () => [] }];
      }),
    );
  }

  private add(title: string, curves: Curve[], log: boolean, over: string): void {
    if (!curves.length) return;
    const abscissa = over && this.results[0].quantities.get(over);
    let along: Over | undefined;
    if (abscissa) {
      const [unit, factor] = shownUnit(this.page, abscissa.unit);
      along = { name: over, factor, label: `${over} [${unit}]` };
    }
    this.panels.push(new Panel(this.list, title, curves, log, along, this.seek));
  }

  /** The curves as the results are now; which they are stays. */
  renew(): void {
    if (this.idle.some(({ own }) => largest(own.map(({ values }) => values)) > 0)) this.build();
    for (const panel of this.panels) panel.renew();
    this.show(this.time, true);
  }

  private resize(): void {
    const width = this.list.clientWidth;
    if (!width) return;
    for (const panel of this.panels) panel.resize(width);
    this.show(this.time, true);
  }

  /** The line at this time in all plots; values in the legends follow ten times a second, or at once. */
  show(time: number, atOnce: boolean): void {
    this.time = time;
    const clock = performance.now();
    const told = atOnce || clock - this.told > 100;
    if (told) this.told = clock;
    for (const panel of this.panels) panel.show(time, told);
  }
}
