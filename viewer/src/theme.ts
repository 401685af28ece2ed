// Colours of the page in light and dark, read from the style sheet so that they stand in one place.

import { Color, ColorManagement } from "three";
import { BODY_COLORS, SLOTS } from "./ribbons";

ColorManagement.enabled = false; // colours go to the screen as they are given

export function cssColor(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

const wish = matchMedia("(prefers-color-scheme: dark)");

/** Whether the page is dark now. */
export function dark(): boolean {
  return document.documentElement.dataset.theme === "dark";
}

export function setDark(on: boolean): void {
  document.documentElement.dataset.theme = on ? "dark" : "light";
}

/** Dark or light as the system wishes, now and whenever it changes. */
export function followSystem(changed: () => void, ended: AbortSignal): void {
  wish.addEventListener("change", () => {
    setDark(wish.matches);
    changed();
  }, { signal: ended });
}

setDark(wish.matches);

/** A colour of the light page, made light enough for the dark one. */
export function adapted(color: string): string {
  if (!dark()) return color;
  const hsl = { h: 0, s: 0, l: 0 };
  const found = new Color(color);
  found.getHSL(hsl);
  return `#${found.setHSL(hsl.h, Math.min(0.85, hsl.s + 0.06), Math.max(0.62, hsl.l + 0.2)).getHexString()}`;
}

export function palette(colors: string[]): Color[] {
  const fixed = SLOTS.map((name) => new Color(cssColor(name)));
  const bodies = Array.from({ length: BODY_COLORS }, (_, k) => new Color(adapted(colors[k % colors.length])));
  return [...fixed, ...bodies];
}
