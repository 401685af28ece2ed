// The structure of a model's text: where in it values stand.

import type { SyntaxNode } from "@lezer/common";
import { parser } from "@lezer/yaml";

export type Path = (string | number)[];

const OTHER = new Set(["Key", ":", "Comment", "Anchor", "Tag", "{", "}", "[", "]", ",", "-", "⚠"]);

export interface Pair {
  key: string;
  node: SyntaxNode;
  value: SyntaxNode | undefined;
}

function* children(node: SyntaxNode): Generator<SyntaxNode> {
  for (let at = node.firstChild; at; at = at.nextSibling) yield at;
}

function valueIn(node: SyntaxNode): SyntaxNode | undefined {
  return [...children(node)].find(({ name }) => !OTHER.has(name));
}

/** A text with the places of its values. */
export class Outline {
  readonly root: SyntaxNode | undefined;

  constructor(readonly text: string) {
    const document = parser.parse(text).topNode.getChild("Document");
    this.root = document ? valueIn(document) : undefined;
  }

  slice({ from, to }: { from: number; to: number }): string {
    return this.text.slice(from, to);
  }

  /** A scalar without its quotes. */
  scalar(node: SyntaxNode): string {
    const text = this.slice(node);
    return node.name === "QuotedLiteral" ? text.slice(1, -1) : text;
  }

  pairs(node: SyntaxNode | undefined): Pair[] {
    if (!node || !node.name.endsWith("Mapping")) return [];
    return [...children(node)].flatMap((pair) => {
      const key = pair.name === "Pair" ? pair.getChild("Key") : null;
      return key ? [{ key: this.scalar(valueIn(key) ?? key), node: pair, value: valueIn(pair) }] : [];
    });
  }

  items(node: SyntaxNode | undefined): SyntaxNode[] {
    if (!node || !node.name.endsWith("Sequence")) return [];
    return [...children(node)].flatMap((item) => (item.name === "Item" ? (valueIn(item) ?? []) : []));
  }

  /** The value at a path. */
  find(path: Path, from = this.root): SyntaxNode | undefined {
    return path.reduce<SyntaxNode | undefined>(
      (at, step) => (typeof step === "number" ? this.items(at)[step] : this.pairs(at).find(({ key }) => key === step)?.value),
      from,
    );
  }

  /** The pair at a path, or the nearest around it. */
  nearest(path: Path): { from: number; to: number } | undefined {
    let [at, found]: [SyntaxNode | undefined, SyntaxNode | undefined] = [this.root, undefined];
    for (const step of path) {
      const pair = this.pairs(at).find(({ key }) => key === step);
      const next = typeof step === "number" ? this.items(at)[step] : pair?.value;
      if (!next && !pair) break;
      found = next && !next.name.endsWith("Mapping") ? next : (pair?.node.getChild("Key") ?? found);
      at = next;
    }
    return found;
  }

  keys(path: Path): string[] {
    return this.pairs(this.find(path)).map(({ key }) => key);
  }

  textAt(path: Path): string | undefined {
    const node = this.find(path);
    return node && /Literal$/.test(node.name) ? this.scalar(node) : undefined;
  }
}

/** "bodies.crank.points.A[0]" as the steps of a path. */
export function steps(path: string): Path {
  return path.split(".").flatMap((part) => {
    const [name, ...indices] = part.split("[");
    return [...(name ? [name] : []), ...indices.map((text) => Number.parseInt(text, 10))];
  });
}
