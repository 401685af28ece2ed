// Values and motions that leave the page: as a link, as lines of a model file, as tables and pictures.

import type { Result } from "./data";
import type { Parameter } from "./engine";
import { factorOf, type Units } from "./numbers";

export type Values = Map<string, number>;

/** Names and values as the end of an address. */
export function toHash(values: Values): string {
  return [...values].map(([name, value]) => `${encodeURIComponent(name)}=${value}`).join("&");
}

/** What an address says, as far as it names known values; anything else is passed over. */
export function fromHash(hash: string, known: ReadonlySet<string>): Values {
  const found: Values = new Map();
  for (const part of hash.replace(/^#/, "").split("&")) {
    const at = part.lastIndexOf("=");
    let name = "";
    try {
      name = decodeURIComponent(part.slice(0, Math.max(at, 0)));
    } catch {
      continue; // it is no name
    }
    const text = part.slice(at + 1);
    if (known.has(name) && text !== "" && Number.isFinite(Number(text))) found.set(name, Number(text));
  }
  return found;
}

const RATES: Record<string, string> = { vx: "x", vy: "y", vz: "z", omega: "phi" }; // of which coordinate a velocity is

/** Lines of a model file that state these values, in the units of the parameters; numbers that no key names are comments. */
export function toYaml(values: Values, parameters: Parameter[], units: Units): string {
  const kinds = new Map(parameters.map(({ name, kind }) => [name, kind]));
  const unitOf = new Map(parameters.map(({ name, unit }) => [name, unit]));
  const of = (kind: Parameter["kind"]) => [...values].filter(([name]) => kinds.get(name) === kind);
  const key = (name: string) => (/^[\w.]+$/.test(name) ? name : JSON.stringify(name));
  const quantityOf = (name: string, value: number) => {
    const unit = unitOf.get(name) ?? "";
    const factor = factorOf(unit, units) ?? 1;
    return factor === 1 ? `${value}` : `${Number((value / factor).toPrecision(15))} ${unit}`;
  };
  const section = (entries: [string, number][], indent: string) => entries.map(([name, value]) => `${indent}${key(name)}: ${quantityOf(name, value)}\n`).join("");
  const rateOf = (name: string) => name.replace(/[^.]+$/, (part) => RATES[part] ?? part);
  let text = "";
  if (of("parameter").length) text += `parameters:\n${section(of("parameter"), "  ")}`;
  const rates = of("velocity").map(([name, value]): [string, number] => [rateOf(name), value]);
  if (of("position").length || rates.length) text += "simulation:\n";
  if (of("position").length) text += `  start:\n${section(of("position"), "    ")}`;
  if (rates.length) text += `  rate:\n${section(rates, "    ")}`;
  for (const [name, value] of of("number")) text += `# ${name}: ${value}\n`;
  return text || "# all values are those of the model\n";
}

/** All columns of a motion, with units in their heads. */
export function toCsv(result: Result): string {
  const columns = [...result.quantities.values()];
  const quoted = (text: string) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const lines = [["t [s]", ...columns.map(({ name, unit }) => `${name} [${unit}]`)].map(quoted).join(",")];
  for (let k = 0; k < result.t.length; k++) lines.push([result.t[k], ...columns.map(({ values }) => values[k])].join(","));
  return `${lines.join("\n")}\n`;
}

export function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
