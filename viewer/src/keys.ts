// What keys do, and the list of them.

import { button, element } from "./dom";

const KEYS: [string, string][] = [
  ["space", "play, pause"],
  ["← →", "one row back, forward (with shift: ten)"],
  ["home, end", "first, last row"],
  ["− +", "slower, faster"],
  ["l", "repeat"],
  ["f", "fit the picture"],
  ["o", "follow the mechanism"],
  ["n", "names"],
  ["t", "paths of points"],
  ["e", "events"],
  ["v", "velocities"],
  ["r", "reactions"],
  ["a", "applied forces"],
  ["i", "instant centres"],
  ["c", "mass centres"],
  ["g", "grid"],
  ["u", "other units"],
  ["p", "plots"],
  ["d", "light, dark"],
  ["?", "this list"],
];

export function keyList(app: HTMLElement): HTMLDialogElement {
  const help = element("dialog", "", app);
  element("h2", "", help).textContent = "Keys";
  const list = element("dl", "", help);
  for (const [key, what] of KEYS) {
    element("dt", "", list).textContent = key;
    element("dd", "", list).textContent = what;
  }
  element("p", "", help).textContent =
    "Drag moves the picture, the wheel or two fingers change its scale. Click a point to trace it. Click or drag in a plot to go to a time.";
  button("Close", "Close", help, () => help.close());
  return help;
}

/** Do what a key stands for, unless it belongs to a field or to the browser. */
export function listenForKeys(help: HTMLDialogElement, act: (key: string, shift: boolean) => (() => void) | undefined, ended: AbortSignal): void {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    if (event.target instanceof HTMLElement && event.target.isContentEditable) return;
    if (event.target instanceof Element && event.target.matches("input:not([type=range]):not([type=checkbox]), .knob input, select, textarea")) return;
    const found = act(event.key, event.shiftKey);
    if (!found) return;
    event.preventDefault();
    found();
  }, { signal: ended });
}
