// Numbers that are typed: read with their units, written with as many digits as a picture can tell.

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

/** The factor to SI of a unit such as N*s/m, kg*m^2 or 1/(m*s), as units.py reads it; nothing if it is no unit. */
export function factorOf(unit: string, units: Units): number | undefined {
  const tokens = unit.replaceAll("**", "^").replaceAll("µ", "u").replaceAll("°", "deg").match(/[A-Za-z]\w*|\d+(?:\.\d+)?|\S/g) ?? [];
  const product = (): number => {
    let found = factor();
    while (tokens[0] === "*" || tokens[0] === "/") found *= tokens.shift() === "/" ? 1 / factor() : factor();
    return found;
  };
  const factor = (): number => {
    const token = tokens.shift() ?? "";
    let found = token === "1" ? 1 : Object.hasOwn(units, token) ? units[token] : Number.NaN;
    if (token === "(") {
      found = product();
      if (tokens.shift() !== ")") return Number.NaN;
    }
    if (tokens[0] !== "^") return found;
    const [, next] = tokens.splice(0, 2);
    return found ** Number(next === "-" ? `-${tokens.shift()}` : next);
  };
  const found = unit ? product() : 1;
  return tokens.length || Number.isNaN(found) ? undefined : found;
}

export function inSi(text: string, units: Units): number | undefined {
  const found = quantity(text);
  const factor = found && factorOf(found.unit, units);
  return found && factor !== undefined ? found.number * factor : undefined;
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
  const factor = factorOf(unit, units);
  if (factor === undefined) return before;
  const text = rounded(value / factor, 10 ** Math.floor(Math.log10(step / factor) + 1e-9));
  return unit ? `${text} ${unit}` : text;
}

/** The power of ten at or below a length. */
export function powerBelow(length: number): number {
  return 10 ** Math.floor(Math.log10(length) + 1e-9);
}
