// The label of what is pointed at.

import { shown } from "./data";
import { element } from "./dom";
import type { Stage, Told } from "./stage";

export class Tooltip {
  private readonly box: HTMLElement;
  private at: { stage: Stage; x: number; y: number } | undefined;

  constructor(
    app: HTMLElement,
    private readonly changed: () => void,
  ) {
    this.box = element("div", "tip", app);
    this.box.hidden = true;
  }

  /** Point at a place of a stage, or at nothing. */
  point(at?: { stage: Stage; x: number; y: number }): void {
    this.at = at;
    this.changed();
  }

  /** The label as things are now. */
  show(stages: readonly Stage[]): void {
    const { at, box } = this;
    if (!at && box.hidden) return;
    const found = at?.stage.tell(at.x, at.y);
    for (const stage of stages) stage.highlight(found && stage === at?.stage ? found.body : -1);
    box.hidden = !found;
    if (!found || !at) return;
    this.fill(found.told);
    const host = at.stage.host.getBoundingClientRect();
    const [w, h] = [box.offsetWidth, box.offsetHeight];
    const x = Math.min(Math.max(host.left + at.x + 16, 4), innerWidth - w - 4);
    let y = host.top + at.y + 16;
    if (y + h > innerHeight - 4) y = Math.max(4, host.top + at.y - h - 14);
    box.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
  }

  private fill({ title, kind, rows }: Told): void {
    this.box.replaceChildren();
    element("strong", "", this.box).textContent = title;
    element("small", "", this.box).textContent = kind;
    const table = element("table", "", this.box);
    for (const [label, value, unit] of rows) {
      const row = element("tr", "", table);
      element("th", "", row).textContent = label;
      element("td", "", row).textContent = shown(value);
      element("td", "unit", row).textContent = unit;
    }
  }
}
