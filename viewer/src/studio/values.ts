// Values that a hand has changed in the picture, back into the text.

import type { Values } from "../carry";
import { addEntry, type Change, setNumber } from "./edits";
import { inSi, powerBelow, quantity, type Units } from "../numbers";
import type { Outline, Path } from "./tree";

const SECTIONS = ["bodies", "joints", "drivers", "forces"];
const DEGREE = Math.PI / 180;
const ANGLES = /(^|\.)(phi|angle)$/;

/** Where the text has the number that the engine calls so; see equations/parameters.py. */
export function placeOf(outline: Outline, name: string): Path | undefined {
  if (outline.find(["parameters", name])) return ["parameters", name];
  const [own, field, ...rest] = name.split(".");
  const indices = rest.map((text) => (/^\d+$/.test(text) ? Number(text) : text));
  if (own === "gravity") return ["gravity", Number(field)];
  if (own === "ground") return ["ground", field, ...indices];
  const section = SECTIONS.find((one) => outline.find([one, own]));
  if (!section) return undefined;
  const end = /^s(?:_([ij]))?$/.exec(field);
  if (!end) return [section, own, field, ...indices];
  // the point of a joint or force is that of the body it names
  const [body, point] = (outline.textAt([section, own, end[1] ?? "at"]) ?? "").split(".");
  return [...(body === "ground" ? ["ground"] : ["bodies", body]), "points", point, ...indices];
}

/** Changes of the text that say what these values say: numbers in their places, or else where the motion starts. */
export function written(outline: Outline, values: Values, dragged: string, pixel: number, units: Units): Change[] {
  const changes: Change[] = [];
  const starts: [string, number][] = [];
  for (const [name, value] of values) {
    const path = placeOf(outline, name);
    const before = path && outline.textAt(path);
    if (path && before !== undefined && quantity(before)) changes.push(...setNumber(outline, path, value, stepOf(before, value, pixel, units), units));
    else if (/\.(x|y|phi)$/.test(name)) starts.push([name, value]);
  }
  const start = starts.find(([name]) => name === `${dragged}.phi`) ?? starts.find(([name]) => name.startsWith(`${dragged}.`));
  if (start) changes.push(...setStart(outline, start[0], start[1], pixel, units));
  const places = new Map(changes.map((change) => [change.from, change])); // two names of one number
  return [...places.values()];
}

function setStart(outline: Outline, name: string, value: number, pixel: number, units: Units): Change[] {
  const path = ["simulation", "start", name];
  const before = outline.textAt(path);
  const isAngle = ANGLES.test(name);
  if (before !== undefined) return setNumber(outline, path, value, isAngle ? 0.1 * DEGREE : powerBelow(pixel), units);
  const text = isAngle ? `${Number((value / DEGREE).toFixed(1))} deg` : String(Number(value.toFixed(Math.max(0, -Math.log10(powerBelow(pixel))))));
  return addEntry(outline, ["simulation", "start"], name, text);
}

/** How fine a number is written: a length to a pixel, an angle to a tenth of a degree, others to four digits. */
function stepOf(before: string, value: number, pixel: number, units: Units): number {
  const unit = quantity(before)?.unit ?? "";
  if (unit === "deg") return 0.1 * DEGREE;
  const size = Math.max(Math.abs(value), Math.abs(inSi(before, units) ?? value), 1e-12);
  const four = powerBelow(size) * 1e-3;
  return unit === "" || ["m", "mm", "cm"].includes(unit) ? Math.min(four, powerBelow(pixel)) : four;
}
