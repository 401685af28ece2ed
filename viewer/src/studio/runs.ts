// Commands of linkwork on the file: their options, and what they print.

import { button, element } from "../dom";
import { ask, askOnce } from "./talk";

const BUTTONS: [label: string, command: string, options: string][] = [
  ["Check", "check", ""],
  ["Assemble", "assemble", "--all"],
  ["Equations", "equations", ""],
  ["Run", "run", ""],
  ["Report", "report", ""],
];

export type Commands = Record<string, { name: string; help: string }[]>;

export class Runs {
  private readonly panel: HTMLElement;
  private readonly output: HTMLElement;
  private readonly command: HTMLSelectElement;
  private readonly options: HTMLInputElement;
  private readonly known: HTMLDataListElement;
  private readonly stop: HTMLButtonElement;
  private readonly state: HTMLElement;
  private number = 0;

  /** `saved` saves the text and tells the name of its file, or nothing. */
  constructor(
    bar: HTMLElement,
    host: HTMLElement,
    private readonly commands: Commands,
    private readonly saved: () => Promise<string>,
  ) {
    for (const [label, command, options] of BUTTONS) {
      button(label, `linkwork ${command} ${options}`.trim(), bar, () => this.run(command, options));
    }
    this.panel = element("section", "runs", host);
    this.panel.hidden = true;
    const form = element("form", "line", this.panel);
    element("span", "", form).textContent = "linkwork";
    this.command = element("select", "", form);
    this.command.setAttribute("aria-label", "command");
    for (const name of Object.keys(commands)) element("option", "", this.command).textContent = name;
    this.options = element("input", "", form);
    Object.assign(this.options, { type: "text", spellcheck: false, placeholder: "options, such as --set d=2.4 --t-end 5" });
    this.options.setAttribute("aria-label", "options");
    this.known = element("datalist", "", form);
    this.known.id = "known-options";
    this.options.setAttribute("list", this.known.id);
    const go = button("Go", "Carry out the command", form, () => {});
    go.type = "submit";
    this.stop = button("Stop", "End the command", form, () => void askOnce("stop"));
    this.stop.disabled = true;
    this.state = element("small", "", form);
    const close = button("×", "Close", form, () => {
      this.panel.hidden = true;
    });
    close.className = "close";
    this.output = element("pre", "", this.panel);
    this.output.setAttribute("aria-label", "output");
    this.command.addEventListener("change", () => this.offer());
    this.options.addEventListener("input", () => this.offer());
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.run(this.command.value, this.options.value);
    });
    this.offer();
  }

  open(): void {
    this.panel.hidden = !this.panel.hidden;
    if (!this.panel.hidden) this.options.focus();
  }

  /** The options that the last word may become, behind the words before it. */
  private offer(): void {
    const [, before, word] = /^(.*?)(\S*)$/.exec(this.options.value) ?? ["", "", ""];
    const found = (this.commands[this.command.value] ?? []).filter(({ name }) => name.startsWith(word) && word !== name);
    this.known.replaceChildren();
    for (const { name, help } of found) {
      const option = element("option", "", this.known);
      option.value = `${before}${name}`;
      option.label = help;
    }
  }

  async run(command: string, options: string): Promise<void> {
    const name = await this.saved();
    if (!name) return;
    const number = ++this.number;
    this.panel.hidden = false;
    Object.assign(this.command, { value: command });
    Object.assign(this.options, { value: options });
    this.offer();
    this.output.replaceChildren();
    this.stop.disabled = false;
    this.state.textContent = "…";
    const line = (text: string, link?: unknown) => {
      if (typeof link === "string") {
        const anchor = element("a", "", this.output);
        Object.assign(anchor, { href: link, target: "_blank", rel: "noopener", textContent: text });
      } else this.output.append(text);
    };
    try {
      for await (const said of ask("run", { command, name, options })) {
        if (number !== this.number) return;
        if (typeof said.line === "string") line(said.line, said.link);
        else if (typeof said.error === "string") line(`${said.error}\n`);
        if (typeof said.exit === "number") this.state.textContent = said.exit === 0 ? "done" : `ended with ${said.exit}`;
        else if (typeof said.error === "string") this.state.textContent = "refused";
      }
    } finally {
      if (number === this.number) this.stop.disabled = true;
    }
  }
}
