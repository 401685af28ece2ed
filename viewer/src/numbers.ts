// Numbers that are typed: read with their units, written with as many digits as a picture can tell.

export type Units = Readonly<Record<string, readonly number[]>>; // by their names the factor to SI, exponents of kg, m, s, A, rad
const ONE = [1, 0, 0, 0, 0, 0];
const NONE = ONE.map(() => Number.NaN);
const ANGLE = 5; // where the exponent of the radian stands, which may be left out

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

/** The factor to SI and the exponents of a unit such as N*s/m, kg*m^2 or 1/(m*s), as units.py reads it; nothing if it is no unit. */
export function measureOf(unit: string, units: Units): readonly number[] | undefined {
  const tokens = unit.replaceAll("**", "^").replaceAll("µ", "u").replaceAll("°", "deg").match(/[A-Za-z]\w*|\d+(?:\.\d+)?|\S/g) ?? [];
  const power = (x: readonly number[], n: number) => x.map((part, k) => (k ? n * part : part ** n));
  const times = (x: readonly number[], y: readonly number[]) => x.map((part, k) => (k ? part + y[k] : part * y[k]));
  const product = (): readonly number[] => {
    let found = factor();
    while (tokens[0] === "*" || tokens[0] === "/") {
      const sign = tokens.shift() === "/" ? -1 : 1;
      found = times(found, power(factor(), sign));
    }
    return found;
  };
  const factor = (): readonly number[] => {
    const token = tokens.shift() ?? "";
    let found = token === "1" ? ONE : Object.hasOwn(units, token) ? units[token] : NONE;
    if (token === "(") {
      found = product();
      if (tokens.shift() !== ")") return NONE;
    }
    if (tokens[0] !== "^") return found;
    const [, next] = tokens.splice(0, 2);
    return power(found, Number(next === "-" ? `-${tokens.shift()}` : next));
  };
  const found = unit ? product() : ONE;
  return tokens.length || found.some(Number.isNaN) ? undefined : found;
}

/** The factor to SI of a unit; nothing if it is no unit. */
export function factorOf(unit: string, units: Units): number | undefined {
  return measureOf(unit, units)?.[0];
}

/** Whether a quantity in a unit can stand where another one is: an angle is a number, too. */
export function areAlike(unit: string, other: string, units: Units): boolean {
  const [own, known] = [measureOf(unit, units), measureOf(other, units)];
  return own !== undefined && known !== undefined && own.every((x, k) => k === 0 || x === known[k] || (k === ANGLE && x === 0));
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
