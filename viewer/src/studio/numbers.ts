// Numbers of a text: read with their units, written with as many digits as a picture can tell.

export type Units = Readonly<Record<string, number>>; // by their names the factors to those of SI

const QUANTITY = /^([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?:\s*([^\s\d].*))?$/;

export interface Quantity {
  number: number;
  unit: string; // nothing if it is a number of SI
}

/** A number, with or without a unit; nothing if the text is a formula. */
export function quantity(text: string): Quantity | undefined {
  const found = QUANTITY.exec(text.trim());
  const unit = found?.[2]?.trim() ?? "";
  if (!found || (unit && !/^[A-Za-zµ°%][\w*/^.µ°()-]*$/.test(unit))) return undefined;
  return { number: Number(found[1]), unit };
}

export function inSi(text: string, units: Units): number | undefined {
  const found = quantity(text);
  if (!found) return undefined;
  return found.unit ? (units[found.unit] === undefined ? undefined : found.number * units[found.unit]) : found.number;
}

/** A number without more digits than the step, a power of ten. */
export function rounded(value: number, step: number): string {
  const places = Math.max(0, Math.min(15, -Math.floor(Math.log10(step) + 1e-9)));
  const text = Number(value.toFixed(places)).toString();
  return text === "-0" ? "0" : text;
}

/** The text of a value in the unit of the text before, to a step in SI. */
export function rewritten(before: string, value: number, step: number, units: Units): string {
  const unit = quantity(before)?.unit ?? "";
  const factor = unit ? units[unit] : 1;
  if (factor === undefined) return before;
  const text = rounded(value / factor, 10 ** Math.floor(Math.log10(step / factor) + 1e-9));
  return unit ? `${text} ${unit}` : text;
}

/** The power of ten at or below a length. */
export function powerBelow(length: number): number {
  return 10 ** Math.floor(Math.log10(length) + 1e-9);
}
