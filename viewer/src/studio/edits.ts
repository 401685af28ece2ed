// Changes of a model's text, as its reader would make them: a number in its place, an entry behind its like.

import type { SyntaxNode } from "@lezer/common";
import { rewritten, type Units } from "../numbers";
import { Outline, type Path } from "./tree";

export interface Change {
  from: number;
  to: number;
  insert: string;
}

const ORDER = [
  ...["linkwork", "name", "about", "space", "gravity", "parameters", "tables", "ground", "bodies", "joints", "drivers", "actuators"],
  ...["forces", "inputs", "outputs", "states", "events", "simulation", "view", "live"],
];
const INDENT = "  ";

/** The text after changes that do not overlap. */
export function applied(text: string, changes: readonly Change[]): string {
  return [...changes].sort((a, b) => b.from - a.from).reduce((s, { from, to, insert }) => s.slice(0, from) + insert + s.slice(to), text);
}

/** Another value in the place of a number, in its unit; nothing if there is a formula, or the same number. */
export function setNumber(outline: Outline, path: Path, value: number, step: number, units: Units): Change[] {
  const node = outline.find(path);
  const before = outline.textAt(path);
  if (!node || before === undefined) return [];
  return replaceScalar(outline, node, rewritten(before, value, step, units));
}

/** Another text in the place of a value. */
export function setText(outline: Outline, path: Path, text: string): Change[] {
  const node = outline.find(path);
  return !node || outline.slice(node) === text ? [] : [{ from: node.from, to: node.to, insert: text }];
}

function replaceScalar(outline: Outline, node: SyntaxNode, text: string): Change[] {
  const quote = node.name === "QuotedLiteral" ? outline.slice(node)[0] : "";
  return outline.scalar(node) === text ? [] : [{ from: node.from, to: node.to, insert: quote + text + quote }];
}

function isFlow(node: SyntaxNode | undefined): boolean {
  return node !== undefined && node.name.startsWith("Flow");
}

/** The end of the last thing in a node that is not blank. */
function endOf(outline: Outline, node: SyntaxNode): number {
  return node.from + outline.slice(node).trimEnd().length;
}

function columnOf(text: string, at: number): number {
  return at - (text.lastIndexOf("\n", at - 1) + 1);
}

/** The end of a line, behind a comment that may stand there. */
function endOfLine(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end;
}

/** A new entry at the end of a mapping, which is made if there is none; flow text in one piece. */
export function addEntry(outline: Outline, path: Path, key: string, text: string): Change[] {
  const { text: all } = outline;
  const mapping = outline.find(path);
  const pairs = outline.pairs(mapping);
  if (mapping && isFlow(mapping)) {
    const close = mapping.to - (all[mapping.to - 1] === "}" ? 1 : 0);
    const last = pairs.at(-1)?.node;
    const at = last ? endOf(outline, last) : close;
    return [{ from: at, to: at, insert: `${last ? ", " : ""}${key}: ${text}` }];
  }
  const last = pairs.at(-1)?.node;
  if (last) {
    const at = endOfLine(all, endOf(outline, last));
    const indent = " ".repeat(columnOf(all, last.from));
    return [{ from: at, to: at, insert: `\n${indent}${key}: ${text.replaceAll("\n", `\n${indent}`)}` }];
  }
  if (path.length === 0) return addSection(outline, key, text);
  const own = outline.pairs(outline.find(path.slice(0, -1))).find((pair) => pair.key === path.at(-1));
  if (own) {
    // a key without a value
    const colon = own.node.getChild(":");
    const at = colon ? colon.to : endOf(outline, own.node);
    const indent = " ".repeat(columnOf(all, own.node.from)) + INDENT;
    const inside = isFlow(own.node.parent ?? undefined);
    return [{ from: at, to: at, insert: inside ? ` {${key}: ${text}}` : `\n${indent}${key}: ${text.replaceAll("\n", `\n${indent}`)}` }];
  }
  if (path.length > 1) return addEntry(outline, path.slice(0, -1), String(path.at(-1)), `{${key}: ${text}}`);
  const isBlock = path[0] !== "ground" && path[0] !== "parameters" && path[0] !== "simulation";
  const inner = isBlock ? `\n${INDENT}${key}: ${text.replaceAll("\n", `\n${INDENT}`)}` : ` {${key}: ${text}}`;
  return addSection(outline, String(path[0]), inner.trimStart() === inner ? inner : inner.replace(/^ /, ""));
}

/** A new section where its readers look for it. */
function addSection(outline: Outline, key: string, text: string): Change[] {
  const { text: all } = outline;
  const later = ORDER.slice(ORDER.indexOf(key) + 1);
  const next = outline.pairs(outline.root).find((pair) => later.includes(pair.key));
  const entry = `${key}:${text.startsWith("\n") ? "" : " "}${text}\n`;
  if (next) return [{ from: next.node.from, to: next.node.from, insert: entry }];
  const gap = all === "" || all.endsWith("\n") ? "" : "\n";
  return [{ from: all.length, to: all.length, insert: gap + entry }];
}
