// The bar above the picture: what is shown, and lists of paths and events.

import type { Happening } from "./controls";
import { shown } from "./data";
import { button, element } from "./dom";
import type { Spotted } from "./stage";

export class Toolbar {
  /** By the key that presses them. */
  readonly toggles = new Map<string, HTMLButtonElement>();
  private readonly bar: HTMLElement;

  constructor(
    host: HTMLElement,
    private readonly ended: AbortSignal,
  ) {
    this.bar = element("div", "toolbar", host);
  }

  toggle(key: string, label: string, title: string, act: () => void): void {
    this.toggles.set(key, button(label, `${title} (${key})`, this.bar, act));
  }

  press(pressed: Record<string, boolean>): void {
    for (const [key, toggle] of this.toggles) if (key in pressed) toggle.setAttribute("aria-pressed", String(pressed[key]));
  }

  /** A button with a list below it that opens and closes. */
  private menu(label: string, title: string, key: string): HTMLElement {
    const box = element("div", "menu", this.bar);
    const list = element("div", "names", box);
    list.hidden = true;
    const head = button(label, title, box, () => {
      list.hidden = !list.hidden;
    });
    this.toggles.set(key, head);
    box.prepend(head);
    addEventListener("pointerdown", (event) => {
      if (!box.contains(event.target as Node)) list.hidden = true;
    }, { signal: this.ended });
    return list;
  }

  paths(spots: Spotted[], trace: (name: string) => void): (traced: Set<string>) => void {
    const list = this.menu("Paths ▾", "Paths of points (t)", "t");
    const ticks = spots
      .filter(({ body }) => body > 0)
      .map(({ name, centre }) => {
        const row = element("label", "", list);
        const tick = element("input", "", row);
        tick.type = "checkbox";
        tick.addEventListener("change", () => trace(name));
        element("span", "", row).textContent = centre ? `${name} (mass centre)` : name;
        return { name, tick };
      });
    return (traced) => {
      for (const { name, tick } of ticks) tick.checked = traced.has(name);
    };
  }

  /** The list of events; `more` says of which motions how many are left out. */
  events(events: Happening[], more: string[], go: (t: number) => void): void {
    const list = this.menu("Events ▾", "Events (e)", "e");
    for (const { name, t, color, of } of events) {
      const row = button("", `Go to ${shown(t)} s`, list, () => go(t));
      element("i", "", row).style.background = color;
      element("span", "", row).textContent = of ? `${of}: ${name}` : name;
      element("small", "", row).textContent = `${shown(t)} s`;
    }
    for (const text of more) element("small", "", list).textContent = text;
  }
}
