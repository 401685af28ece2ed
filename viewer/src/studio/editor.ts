// The editor of a model's text.

import { autocompletion, closeBrackets, closeBracketsKeymap, type CompletionContext, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab, redo, undo } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { type ChangeSet, EditorState, Transaction } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { Completion, placeAt, type Schema } from "./complete";
import type { Change } from "./edits";
import { Outline, steps } from "./tree";

export interface Fault {
  line: number;
  path: string;
  code: string;
  text: string;
}

const COLORS = HighlightStyle.define([
  { tag: tags.definition(tags.propertyName), class: "y-key" },
  { tag: tags.propertyName, class: "y-key" },
  { tag: tags.comment, class: "y-comment" },
  { tag: tags.string, class: "y-string" },
  { tag: [tags.punctuation, tags.separator, tags.brace, tags.squareBracket], class: "y-mark" },
]);

export class Editor {
  readonly view: EditorView;
  private dragged: { start: EditorState["doc"]; changes: ChangeSet | undefined } | undefined;

  /** `changed` is called with every change of the text, `save` when that is asked for. */
  constructor(host: HTMLElement, text: string, schema: Schema, changed: () => void, save: () => void) {
    const completion = new Completion(schema);
    const complete = (context: CompletionContext) => {
      const all = context.state.doc.toString();
      const place = placeAt(all, context.pos);
      if (!context.explicit && place.from === context.pos && place.key === undefined) return null;
      const options = completion.words(all, place).map(({ label, detail, info }) => ({
        label,
        detail,
        info: info || undefined,
        apply: place.key === undefined ? `${label}: ` : label,
        type: place.key === undefined ? "property" : "constant",
      }));
      return options.length ? { from: place.from, options, validFor: /^[\w.-]*$/ } : null;
    };
    this.view = new EditorView({
      parent: host,
      doc: text,
      extensions: [
        ...[lineNumbers(), highlightActiveLineGutter(), highlightActiveLine(), drawSelection(), history(), indentOnInput()],
        ...[bracketMatching(), closeBrackets(), highlightSelectionMatches(), lintGutter(), indentUnit.of("  ")],
        ...[yaml(), syntaxHighlighting(COLORS), autocompletion({ override: [complete], icons: false })],
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": "model file", spellcheck: "false" }),
        keymap.of([
          { key: "Mod-s", preventDefault: true, run: () => (save(), true) },
          ...[...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap],
          indentWithTab,
        ]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) changed();
        }),
      ],
    });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  get outline(): Outline {
    return new Outline(this.text);
  }

  /** Changes as one step that can be undone. */
  apply(changes: readonly Change[]): void {
    if (changes.length) this.view.dispatch({ changes: [...changes], userEvent: "input.draw", annotations: Transaction.addToHistory.of(true) });
  }

  /** Another text, as few places changed as a common beginning and end leave. */
  replace(text: string): void {
    const now = this.text;
    let [from, end] = [0, 0];
    while (from < Math.min(now.length, text.length) && now[from] === text[from]) from++;
    while (end < Math.min(now.length, text.length) - from && now.at(-1 - end) === text.at(-1 - end)) end++;
    this.apply([{ from, to: now.length - end, insert: text.slice(from, text.length - end) }]);
  }

  /** Changes while something is dragged, which together are one step. */
  drag(changes: readonly Change[]): void {
    this.dragged ??= { start: this.view.state.doc, changes: undefined };
    if (!changes.length) return;
    const made = this.view.state.update({ changes: [...changes], annotations: Transaction.addToHistory.of(false) });
    this.dragged.changes = this.dragged.changes?.compose(made.changes) ?? made.changes;
    this.view.dispatch(made);
  }

  /** The end of a drag: taken back without a trace and done again in one step. */
  drop(): void {
    const { dragged } = this;
    this.dragged = undefined;
    if (!dragged?.changes) return;
    this.view.dispatch({ changes: dragged.changes.invert(dragged.start), annotations: Transaction.addToHistory.of(false) });
    this.view.dispatch({ changes: dragged.changes, userEvent: "move.drag" });
  }

  undo(): void {
    undo(this.view);
  }

  redo(): void {
    redo(this.view);
  }

  /** Faults at their lines, at the value where the text has it. */
  mark(faults: readonly Fault[]): void {
    const { doc } = this.view.state;
    const { outline } = this;
    const found = faults.map(({ line, path, code, text }): Diagnostic => {
      const own = doc.line(Math.min(Math.max(line, 1), doc.lines));
      const at = path ? outline.nearest(steps(path)) : undefined;
      const whole = { from: own.from + (own.text.length - own.text.trimStart().length), to: own.to };
      const { from, to } = at && doc.lineAt(at.from).number === own.number ? at : whole;
      return { from, to, severity: "error", message: `${text} [${code}]`, source: path };
    });
    this.view.dispatch(setDiagnostics(this.view.state, found));
  }

  goTo(line: number): void {
    const { doc } = this.view.state;
    const at = doc.line(Math.min(Math.max(line, 1), doc.lines)).from;
    this.view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
    this.view.focus();
  }
}
