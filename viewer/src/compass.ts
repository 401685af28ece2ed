// The directions of space in a corner of the picture: axes and gravity.

import { type PerspectiveCamera, Vector3 } from "three";
import type { Vec } from "./data";
import { element } from "./dom";

const SIZE = 34; // pixels of an axis that is seen from the side
const MIDDLE = 46;
const SVG = "http://www.w3.org/2000/svg";

export class Compass {
  private readonly marks: { axis: Vector3; line: SVGLineElement; text: SVGTextElement }[];
  private readonly seen = new Vector3();

  constructor(host: HTMLElement, gravity: Vec) {
    const box = element("div", "compass", host);
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", `0 0 ${2 * MIDDLE} ${2 * MIDDLE}`);
    box.append(svg);
    const axes: [string, Vec][] = [["x", [1, 0, 0]], ["y", [0, 1, 0]], ["z", [0, 0, 1]]];
    if (gravity.some((g) => g !== 0)) axes.push(["g", gravity]);
    this.marks = axes.map(([name, axis]) => {
      const line = document.createElementNS(SVG, "line");
      const text = document.createElementNS(SVG, "text");
      line.classList.add(name);
      text.classList.add(name);
      text.textContent = name;
      svg.append(line, text);
      return { axis: new Vector3(...axis).normalize().multiplyScalar(name === "g" ? 0.62 : 1), line, text };
    });
  }

  show(camera: PerspectiveCamera): void {
    for (const { axis, line, text } of this.marks) {
      const { x, y } = this.seen.copy(axis).transformDirection(camera.matrixWorldInverse).multiplyScalar(SIZE * axis.length());
      const put = (mark: Element, values: Record<string, number>) => {
        for (const [key, value] of Object.entries(values)) mark.setAttribute(key, value.toFixed(1));
      };
      put(line, { x1: MIDDLE, y1: MIDDLE, x2: MIDDLE + x, y2: MIDDLE - y });
      put(text, { x: MIDDLE + 1.24 * x, y: MIDDLE - 1.24 * y });
    }
  }
}
