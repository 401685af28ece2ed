// The file of a text: its name, whether it is saved, and what to do where somebody else has changed it.

import { save as download } from "../carry";
import { button, element } from "../dom";
import type { Editor } from "./editor";
import { askOnce, Gone } from "./talk";

interface Saved {
  mark: string;
  kept: string;
  text?: string; // of another state of the file, which was left
}

const PAUSE = 300; // milliseconds between two looks at the file

export class FileState {
  name: string;
  private mark: string;
  private text: string; // as the file has it
  private readonly label: HTMLElement;
  private readonly notice: HTMLElement;
  private isGone = false;
  private theirs: { text: string; mark: string } | undefined; // while both have changed

  constructor(
    bar: HTMLElement,
    place: HTMLElement,
    private readonly editor: Editor,
    given: { name: string; text: string; mark: string },
  ) {
    this.name = given.name;
    this.mark = given.mark;
    this.text = given.mark ? given.text : "";
    this.label = element("span", "file", bar);
    button("Save", "Save the file (Ctrl-S)", bar, () => void this.save());
    button("Undo", "Undo (Ctrl-Z)", bar, () => editor.undo());
    button("Redo", "Redo (Ctrl-Shift-Z)", bar, () => editor.redo());
    this.notice = element("div", "notice", place);
    this.notice.hidden = true;
    this.notice.setAttribute("role", "alert");
    addEventListener("beforeunload", (event) => {
      if (this.isDirty) event.preventDefault();
    });
    this.title();
    void this.watch();
  }

  get isDirty(): boolean {
    return this.editor.text !== this.text;
  }

  changed(): void {
    this.title();
  }

  title(): void {
    const name = this.name || "untitled";
    this.label.textContent = this.isDirty ? `${name} •` : name;
    this.label.title = this.isDirty ? "not saved" : "saved";
    document.title = `${this.isDirty ? "• " : ""}${name} – linkwork studio`;
  }

  /** Save, and tell the name; nothing if it has not been saved. */
  async saved(): Promise<string> {
    return !this.isDirty && this.name ? this.name : (await this.save()) ? this.name : "";
  }

  async save(aside = false): Promise<boolean> {
    const name = this.name || (await this.askName());
    if (!name) return false;
    const { text } = this.editor;
    try {
      const found = await askOnce<Saved>("save", { text, name, mark: this.mark, aside });
      if (name !== this.name) {
        this.name = name; // the server takes it
        void this.watch();
      }
      if (found.text !== undefined) {
        this.conflict({ text: found.text, mark: found.mark });
        return false;
      }
      this.mark = found.mark;
      this.text = text;
      this.settle(found.kept ? `The other text is kept in ${found.kept}.` : "");
      return true;
    } catch (error) {
      this.tellError(error);
      return false;
    }
  }

  /** The name that is wanted; nothing if none is. */
  private askName(): Promise<string> {
    const dialog = element("dialog", "", document.body);
    const form = element("form", "", dialog);
    form.method = "dialog";
    element("h2", "", form).textContent = "Save as";
    const field = element("input", "", form);
    const model = /^name:\s*([\w-]+)/m.exec(this.editor.text)?.[1] ?? "sketch";
    Object.assign(field, { type: "text", value: `${model}.yaml`, spellcheck: false });
    field.setAttribute("aria-label", "file name");
    const row = element("div", "chips", form);
    const save = button("Save", "Save", row, () => {});
    Object.assign(save, { type: "submit", value: "save" });
    button("Cancel", "Cancel", row, () => dialog.close());
    dialog.showModal();
    field.select();
    return new Promise((done) =>
      dialog.addEventListener("close", () => {
        const name = dialog.returnValue === "save" ? field.value.trim() : "";
        dialog.remove();
        done(!name || /\.\w+$/.test(name) ? name : `${name}.yaml`);
      }),
    );
  }

  /** Follow what others write into the file. */
  private async watch(): Promise<void> {
    for (const { name } = this; name && name === this.name; ) {
      try {
        const found = await askOnce<{ text?: string; mark: string }>("watch", { name, mark: this.theirs?.mark ?? this.mark });
        if (found.text !== undefined && found.mark !== this.mark) this.take({ text: found.text, mark: found.mark });
        if (this.isGone) this.settle("");
        this.isGone = false;
      } catch (error) {
        // a file that cannot be read may come back, and so may a server
        if (error instanceof Gone && !this.isGone) this.tellError(error);
        this.isGone = error instanceof Gone;
      }
      await new Promise((done) => setTimeout(done, PAUSE));
    }
  }

  /** Another state of the file: shown if nothing has been changed here, else both are kept. */
  private take(found: { text: string; mark: string }): void {
    if (found.text === this.editor.text) {
      Object.assign(this, found);
      this.settle("");
    } else if (this.isDirty) this.conflict(found);
    else {
      Object.assign(this, found);
      this.editor.replace(found.text);
      this.settle("");
    }
  }

  private conflict(found: { text: string; mark: string }): void {
    this.theirs = found;
    this.tell(`${this.name} has been changed on the disk, and here too.`, [
      ["Load the file", () => this.loadTheirs(found)],
      ["Keep mine", () => void this.save(true)],
    ]);
  }

  /** Their text; mine comes back by undo. */
  private loadTheirs(found: { text: string; mark: string }): void {
    Object.assign(this, found);
    this.editor.replace(found.text);
    this.settle("Loaded from the disk; undo brings back what was here.");
  }

  private settle(said: string): void {
    this.theirs = undefined;
    this.title();
    if (said) this.tell(said, [["Close", () => this.settle("")]]);
    else this.notice.hidden = true;
  }

  private tellError(error: unknown): void {
    const aside = (): void => download(new Blob([this.editor.text], { type: "text/yaml" }), this.name || "model.yaml");
    const rescue: [string, () => void][] = error instanceof Gone ? [["Download the text", aside]] : [];
    this.tell(error instanceof Error ? error.message : String(error), [...rescue, ["Close", () => this.settle("")]]);
  }

  private tell(text: string, acts: [string, () => void][]): void {
    this.notice.hidden = false;
    this.notice.replaceChildren();
    element("span", "", this.notice).textContent = text;
    for (const [label, act] of acts) button(label, label, this.notice, act);
  }
}
