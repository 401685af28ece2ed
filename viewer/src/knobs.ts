// Sliders with fields of numbers for values that can be changed.

import { type Page, shown, shownUnit } from "./data";
import { button, element } from "./dom";
import type { Parameter } from "./engine";
import { areAlike, factorOf, inSi, quantity, type Units } from "./numbers";

const KINDS: [Parameter["kind"][], string][] = [
  [["parameter"], "Parameters"],
  [["position", "velocity"], "Start"],
  [["number"], "Other numbers"],
];
const MOST_LETTERS = 18; // of a name beside its slider

export interface Changed {
  /** A hand begins to move a slider, or has typed a number. */
  begin(): void;
  set(name: string, value: number): void;
  end(): void;
  /** What has been typed is no number, or of another kind. */
  refuse(text: string, unit: string): void;
}

interface Knob {
  parameter: Parameter;
  slider: HTMLInputElement;
  field: HTMLInputElement;
  unit: HTMLElement;
  row: HTMLElement;
}

export class Knobs {
  private readonly knobs: Knob[] = [];

  constructor(
    host: HTMLElement,
    parameters: Parameter[],
    private readonly page: Page,
    private readonly value: (name: string) => number,
    private readonly changed: Changed,
  ) {
    let open = true; // the first group that there is
    for (const [kinds, label] of KINDS) {
      const own = parameters.filter(({ kind, moves }) => kinds.includes(kind) && moves !== false);
      if (!own.length) continue;
      const group = element("details", "group", host);
      group.open = open;
      open = false;
      group.classList.toggle("bare", own.every(({ unit }) => !unit));
      group.style.setProperty("--label", `${Math.min(MOST_LETTERS, Math.max(...own.map(({ name }) => name.length)))}ch`);
      element("summary", "", group).textContent = `${label} (${own.length})`;
      const rows = element("div", "knobs", group);
      for (const parameter of own) this.add(rows, parameter);
    }
    this.show();
  }

  private add(host: HTMLElement, parameter: Parameter): void {
    const { name, low, high } = parameter;
    const row = element("div", "knob", host);
    const label = element("span", "", row);
    label.textContent = name;
    label.title = name;
    const slider = element("input", "", row);
    Object.assign(slider, { type: "range", min: String(low), max: String(high), step: "any" });
    slider.setAttribute("aria-label", name);
    const field = element("input", "", row);
    Object.assign(field, { type: "text", inputMode: "decimal", spellcheck: false });
    field.setAttribute("aria-label", `${name}, number`);
    const unit = element("small", "", row);
    const back = button("↺", `${name} as it was`, row, () => {
      this.changed.begin();
      this.changed.set(name, parameter.value);
      this.changed.end();
    });
    back.className = "back";
    slider.addEventListener("pointerdown", () => this.changed.begin());
    slider.addEventListener("keydown", () => this.changed.begin());
    slider.addEventListener("input", () => this.changed.set(name, Number(slider.value)));
    slider.addEventListener("change", () => this.changed.end());
    field.addEventListener("change", () => {
      const [unit, factor] = this.shown(parameter);
      const given = typed(field.value, unit, factor, this.units);
      field.setAttribute("aria-invalid", String(given === undefined));
      if (given === undefined) return this.changed.refuse(field.value, unit);
      this.changed.begin();
      this.changed.set(name, given);
      this.changed.end();
    });
    this.knobs.push({ parameter, slider, field, unit, row });
  }

  private get units(): Units {
    return this.page.factors ?? {};
  }

  /** The unit in which a value is shown and its factor: that in which it was written, or that of the page. */
  private shown({ unit }: Parameter): [string, number] {
    const factor = factorOf(unit, this.units) ?? 1;
    return factor === 1 ? shownUnit(this.page, unit) : [unit, 1 / factor];
  }

  /** All as values are now; a number that is being typed is left alone. */
  show(): void {
    for (const { parameter, slider, field, unit, row } of this.knobs) {
      const value = this.value(parameter.name);
      // a value beyond its range widens it
      if (value < Number(slider.min)) slider.min = String(value);
      if (value > Number(slider.max)) slider.max = String(value);
      slider.value = String(value);
      const [name, factor] = this.shown(parameter);
      if (document.activeElement !== field) {
        field.value = digits(factor * value);
        field.removeAttribute("aria-invalid");
      }
      unit.textContent = name;
      row.classList.toggle("moved", value !== parameter.value);
    }
  }
}

/** The value in SI of what is typed: a number in the unit beside the field, or with a unit of this kind; else nothing. */
export function typed(text: string, unit: string, factor: number, units: Units): number | undefined {
  const number = text.trim().replace(",", ".");
  const own = quantity(number)?.unit;
  if (own && unit && !areAlike(own, unit, units)) return undefined;
  const found = own ? inSi(number, units) : Number(number || Number.NaN) / factor;
  return found !== undefined && Number.isFinite(found) ? found : undefined;
}

/** As few digits as tell the value apart at a glance. */
export function digits(value: number): string {
  if (value === 0) return "0";
  const text = shown(value);
  return text.includes("e") ? text.replace(/\.?0+e/, "e").replace("e+", "e") : String(Number(text));
}
