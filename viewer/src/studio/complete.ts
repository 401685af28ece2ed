// What can be written at a place of a model's text, by the schema of model files and by the names in the text.

import { Outline, type Path } from "./tree";

// biome-ignore lint: a schema is what it is
export type Schema = { [key: string]: any };

export interface Place {
  path: Path; // of the mapping
  key: string | undefined; // whose value is written; a key itself if there is none
  from: number; // where the word that is written begins
}

export interface Word {
  label: string;
  detail: string;
  info: string;
}

/** Where in the structure a cursor is; lines of a text that is being written are looked at as they stand. */
export function placeAt(text: string, at: number): Place {
  const from = at - (/[\w.-]*$/.exec(text.slice(0, at))?.[0].length ?? 0);
  const lines = text.slice(0, at).split("\n");
  const path: Path = [];
  let line = lines.pop() ?? "";
  const flow = openFlow([...lines, line].join("\n"));
  if (flow) {
    const before = text.slice(0, flow.at);
    const outer = placeAt(before, before.length);
    const own = text.slice(flow.at + 1, at);
    const last = own.slice(lastComma(own) + 1);
    const key = /^\s*([\w.-]+)\s*:\s/.exec(last)?.[1];
    return { path: [...outer.path, ...(outer.key === undefined ? [] : [outer.key])], key: flow.kind === "[" ? outer.key : key, from };
  }
  let indent = /^ */.exec(line)?.[0].length ?? 0;
  const key = /^\s*([\w.-]+)\s*:(?:\s|$)/.exec(line)?.[1];
  for (line = lines.pop() ?? ""; indent > 0 && (lines.length || line); line = lines.pop() ?? "") {
    const head = /^( *)([\w.-]+)\s*:/.exec(line);
    if (head && head[1].length < indent) {
      path.unshift(head[2]);
      indent = head[1].length;
    }
    if (!lines.length) break;
  }
  return { path, key, from };
}

/** The innermost bracket that is open at the end of a text. */
function openFlow(text: string): { at: number; kind: string } | undefined {
  const open: number[] = [];
  let quote = "";
  for (let k = 0; k < text.length; k++) {
    const c = text[k];
    if (quote) quote = c === quote ? "" : quote;
    else if (c === '"' || (c === "'" && /[\s[{,:]/.test(text[k - 1] ?? " "))) quote = c;
    else if (c === "#" && /\s/.test(text[k - 1] ?? " ")) k = text.indexOf("\n", k) < 0 ? text.length : text.indexOf("\n", k);
    else if (c === "{" || c === "[") open.push(k);
    else if (c === "}" || c === "]") open.pop();
  }
  const at = open.at(-1);
  return at === undefined ? undefined : { at, kind: text[at] };
}

/** The place of the last comma that is in no bracket. */
function lastComma(text: string): number {
  let [depth, found] = [0, -1];
  for (let k = 0; k < text.length; k++) {
    if ("{[(".includes(text[k])) depth += 1;
    else if ("}])".includes(text[k])) depth -= 1;
    else if (text[k] === "," && depth === 0) found = k;
  }
  return found;
}

export class Completion {
  constructor(private readonly schema: Schema) {}

  private resolved(schema: Schema): Schema {
    const name = schema.$ref?.split("/").pop();
    return name ? { ...this.schema.$defs[name], ...schema, $ref: undefined } : schema;
  }

  /** What a schema may be, of several types that which the text has chosen. */
  private choices(schema: Schema, outline: Outline, path: Path): Schema[] {
    const own = this.resolved(schema);
    const kind = own.discriminator && outline.textAt([...path, own.discriminator.propertyName]);
    if (kind && own.discriminator.mapping[kind]) return [this.resolved({ $ref: own.discriminator.mapping[kind] })];
    const several: Schema[] = own.anyOf ?? own.oneOf ?? [];
    return several.length ? several.flatMap((one) => this.choices(one, outline, path)) : [own];
  }

  private at(outline: Outline, path: Path): Schema[] {
    const isSpatial = outline.textAt(["space"]) === "spatial";
    const root = outline.find(["equations"]) ? "StatedModel" : isSpatial ? "SpatialModel" : "PlanarModel";
    let found = [this.resolved({ $ref: `#/$defs/${root}` })];
    path.forEach((step, k) => {
      const inner = found.map((own) => own.properties?.[step] ?? own.additionalProperties).filter((own) => typeof own === "object");
      found = inner.flatMap((own) => this.choices(own, outline, path.slice(0, k + 1)));
    });
    return found;
  }

  words(text: string, { path, key }: Place): Word[] {
    const outline = new Outline(text);
    if (key !== undefined) return [...this.values(outline, path, key)];
    const known = new Set(outline.keys(path));
    const words = this.at(outline, path).flatMap((own) => Object.entries<Schema>(own.properties ?? {}));
    return [...new Map(words)].filter(([name]) => !known.has(name)).map(([name, own]) => ({ label: name, ...told(this.resolved(own)) }));
  }

  private *values(outline: Outline, path: Path, key: string): Generator<Word> {
    const name = (label: string, detail: string): Word => ({ label, detail, info: "" });
    if (["i", "j", "at"].includes(key)) {
      for (const body of ["ground", ...outline.keys(["bodies"])]) {
        const own = body === "ground" ? ["ground"] : ["bodies", body];
        for (const point of outline.keys([...own, "points"])) yield name(`${body}.${point}`, "point");
      }
    }
    if (["i", "j", "on", "carrier"].includes(key)) for (const body of outline.keys(["bodies"])) yield name(body, "body");
    if (["joint", "follower", "release", "engage"].includes(key)) for (const joint of outline.keys(["joints"])) yield name(joint, "joint");
    const found = this.at(outline, path).flatMap((own) => {
      const choices = own.properties?.[key] ? this.choices(own.properties[key], outline, [...path, key]) : [];
      return choices.flatMap((one) => (one.const !== undefined ? [one.const] : (one.enum ?? (one.type === "boolean" ? [true, false] : one.examples ?? []))));
    });
    for (const value of new Set(found)) if (typeof value !== "object") yield name(String(value), "");
  }
}

function told(own: Schema): { detail: string; info: string } {
  const example = Array.isArray(own.examples) ? JSON.stringify(own.examples[0]) : "";
  return { detail: example ? `such as ${example.replaceAll('"', "")}` : "", info: own.description ?? "" };
}
