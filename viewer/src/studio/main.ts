// The studio: a model's text and its mechanism beside each other.

import "../style.css";
import "./studio.css";
import type { Page } from "../data";
import { button, element, signed } from "../dom";
import { dark, setDark } from "../theme";
import { Editor, type Fault } from "./editor";
import { FileState } from "./file";
import type { Units } from "../numbers";
import { Picture } from "./picture";
import { type Commands, Runs } from "./runs";
import { ask, askOnce } from "./talk";
import { type Frame, Tools } from "./tools";
import type { Schema } from "./complete";
import { written } from "./values";

interface Beginning {
  name: string;
  text: string;
  mark: string;
  commands: Commands;
  schema: Schema;
  units: Units;
}

const IMPATIENT = 400; // milliseconds after which a newer text is sent before the answer to the one before

class Studio {
  readonly editor: Editor;
  readonly picture: Picture;
  readonly file: FileState;
  readonly tools: Tools;
  private readonly faults: HTMLElement;
  private readonly status: HTMLElement;
  private held = 0; // the number of the page that simulates
  private sent = 0;
  private asked = 0; // when the last text was sent
  private waiting = false;
  private changedSince = false;
  private hand = false; // something is dragged

  constructor(
    host: HTMLElement,
    private readonly given: Beginning,
  ) {
    const head = element("header", "studio-head", host);
    element("strong", "brand", head).textContent = "linkwork studio";
    const files = element("div", "chips", head);
    const bar = element("div", "chips commands", head);
    const tools = element("div", "tools", head);
    const drawing = element("nav", "chips drawing-tools", host);
    drawing.setAttribute("aria-label", "drawing tools");
    const main = element("div", "halves", host);
    const left = element("section", "text", main);
    const right = element("section", "picture", main);
    this.status = element("p", "status", right);
    this.status.setAttribute("role", "status");
    this.editor = new Editor(left, given.text, given.schema, () => this.changed(), () => void this.file.save());
    this.faults = element("ul", "faults", left);
    this.file = new FileState(files, left, this.editor, given);
    const runs = new Runs(bar, host, given.commands, () => this.file.saved());
    button("…", "Any command with options", bar, () => runs.open());
    signed("theme", "Light or dark", tools, () => this.setTheme());
    this.picture = new Picture(right, {
      changed: (values, done) => this.written(values, done),
      shown: (viewer) => {
        this.file.title();
        this.tools.attach(viewer, this.picture.stage);
      },
    });
    this.tools = new Tools(drawing, right, this.editor, given.units, this.picture);
    this.changed();
  }

  /** Whether the picture shows the text of now, for tests. */
  get isSettled(): boolean {
    const isDrawn = this.picture.live?.isSettled ?? true;
    return isDrawn && !this.waiting && !this.changedSince && !this.hand && !this.tools.hand;
  }

  private setTheme(): void {
    if (this.picture.viewer) this.picture.viewer.setTheme(!dark());
    else setDark(!dark());
  }

  private changed(): void {
    this.file?.changed();
    this.changedSince = true;
    void this.follow();
  }

  /**
   * Send the text of now; while an answer is awaited, the last of all that come is sent after it. What is dragged moves
   * without the server, and another picture under the hand would take it out of the hand: it comes after the drag.
   */
  private async follow(): Promise<void> {
    if (!this.picture || (this.waiting && performance.now() - this.asked < IMPATIENT)) return;
    while (this.changedSince && !this.hand) {
      this.changedSince = false;
      const number = ++this.sent;
      this.waiting = true;
      this.asked = performance.now();
      this.say("");
      const busy = setTimeout(() => number === this.sent && this.say("compiling …"), 300);
      try {
        for await (const answer of ask("show", { text: this.editor.text, name: this.file.name, held: this.held })) {
          if (number !== this.sent) break;
          await this.take(answer);
        }
      } catch (error) {
        this.say(error instanceof Error ? error.message : String(error));
      } finally {
        clearTimeout(busy);
        if (number === this.sent) this.waiting = false;
      }
      if (number !== this.sent) return;
      if (this.status.textContent === "compiling …") this.say("");
    }
  }

  private async take(answer: Record<string, unknown>): Promise<void> {
    if (this.hand) return; // it is about the text before the drag
    if (answer.frames) this.tools.frames = answer.frames as Record<string, Frame>;
    if (Array.isArray(answer.faults)) this.tellFaults(answer.faults as Fault[]);
    if (answer.values) this.picture.live?.adopt(answer.values as Record<string, number>);
    if (answer.page) {
      const isShown = await this.picture.show(answer.page as Page, () => this.hand);
      if (isShown) this.held = typeof answer.number === "number" && this.picture.live ? answer.number : 0;
    }
    if (typeof answer.trouble === "string" && answer.trouble) this.say(answer.trouble);
    else if (typeof answer.error === "string") this.say(answer.error);
  }

  private tellFaults(faults: Fault[]): void {
    this.editor.mark(faults);
    this.faults.replaceChildren();
    if (faults.length && !this.picture.viewer) this.say("The mechanism is drawn here when its text is a model.");
    for (const { line, path, text } of faults) {
      const row = element("li", "", this.faults);
      const go = button("", `Go to line ${line}`, row, () => this.editor.goTo(line));
      element("small", "", go).textContent = `${line}`;
      element("span", "", go).textContent = path ? `${path}: ${text}` : text;
    }
  }

  private say(text: string): void {
    this.status.textContent = text;
    this.status.hidden = !text;
  }

  /** What a hand has changed in the picture is written into the text. */
  private written(values: Parameters<typeof written>[1], done: boolean): void {
    this.hand = !done;
    const pixel = this.picture.stage?.view.metres ?? 1e-3;
    this.editor.drag(written(this.editor.outline, values, this.picture.live?.dragged ?? "", pixel, this.given.units));
    if (!done) return;
    this.editor.drop();
    this.changed(); // also where nothing new is written: an answer may have been left out meanwhile
  }
}

declare global {
  interface Window {
    studio?: Studio; // for scripts and tests
  }
}

const host = document.getElementById("studio") as HTMLElement;
askOnce<Beginning>("begin").then(
  (given) => {
    window.studio = new Studio(host, given);
  },
  (error: Error) => {
    element("p", "failed", host).textContent = `The studio cannot begin: ${error.message}`;
  },
);
