// The page: stages, plots and the clock that moves both.

import "./style.css";
import { type Page, Result, shown } from "./data";
import { button, element, icon, signed } from "./dom";
import { PlanarStage } from "./planar";
import { Plots } from "./plots";
import { SpatialStage } from "./spatial";
import { LABELS, type Shown, type Stage, type Told } from "./stage";
import { dark, followSystem, setDark } from "./theme";

const SPEEDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];
const LASTS = [2.5, 25]; // seconds that showing a motion may take at speed 1
const USUAL = 7; // seconds otherwise
const PATHS = 4; // of free points, shown at first
const KEYS: [string, string][] = [
  ["space", "play, pause"],
  ["← →", "one row back, forward (with shift: ten)"],
  ["home, end", "first, last row"],
  ["− +", "slower, faster"],
  ["l", "repeat"],
  ["f", "fit the picture"],
  ["n", "names"],
  ["t", "paths of points"],
  ["e", "events"],
  ["v", "velocities"],
  ["r", "reactions"],
  ["a", "applied forces"],
  ["c", "mass centres"],
  ["g", "grid"],
  ["u", "other units"],
  ["p", "plots"],
  ["d", "light, dark"],
  ["?", "this list"],
];

class Viewer {
  readonly results: Result[];
  readonly stages: (PlanarStage | SpatialStage)[] = [];
  readonly plots: Plots;
  time: number;
  playing = false;
  speed: number;
  repeat = true;
  private readonly shown: Shown;
  private readonly colors: string[];
  private readonly start: number;
  private readonly end: number;
  private last = 0;
  private due = false;
  private readonly toggles = new Map<string, HTMLButtonElement>();
  private readonly play: HTMLButtonElement;
  private readonly slider: HTMLInputElement;
  private readonly clock: HTMLElement;
  private readonly speeds: HTMLSelectElement;
  private readonly tip: HTMLElement;
  private readonly help: HTMLDialogElement;
  private pointed: { stage: Stage; x: number; y: number } | undefined;

  constructor(
    private readonly page: Page,
    app: HTMLElement,
  ) {
    this.results = page.results.map((data) => new Result(data));
    this.colors = page.colors;
    this.start = Math.min(...this.results.map((result) => result.start));
    this.end = Math.max(...this.results.map((result) => result.end));
    this.time = this.start;
    const length = this.end - this.start || 1;
    const wanted = length >= LASTS[0] && length <= LASTS[1] ? 1 : length / USUAL;
    this.speed = SPEEDS.reduce((a, b) => (Math.abs(Math.log(b / wanted)) < Math.abs(Math.log(a / wanted)) ? b : a));
    const { joints, space, gravity } = this.results[0].data.scene;
    this.shown = {
      names: joints.length <= LABELS && innerWidth > 500,
      velocities: false,
      reactions: false,
      applied: false,
      centres: false,
      grid: true,
      paths: new Set(),
    };
    const names = this.results.map((result) => result.data.label);
    document.title = `${names.join(" and ")} – linkwork`;

    const header = element("header", "", app);
    const head = element("div", "head", header);
    element("h1", "", head).textContent = names.join("  ·  ");
    element("p", "facts", head).textContent = this.results.length > 1 ? "" : this.results[0].data.facts.join("  ·  ");
    const tools = element("div", "tools", header);
    signed("theme", "Light or dark (d)", tools, () => this.setTheme(!dark()));
    button("?", "Keys (?)", tools, () => this.help.showModal()).className = "round";

    const main = element("main", "", app);
    const left = element("div", "left", main);
    const bar = element("div", "toolbar", left);
    const stages = element("div", "stages", left);
    stages.dataset.count = String(this.results.length);
    this.tip = element("div", "tip", app);
    this.tip.hidden = true;
    for (const result of this.results) {
      const figure = element("figure", "stage", stages);
      const host = element("div", "host", figure);
      const caption = element("figcaption", "", figure);
      caption.textContent = this.results.length > 1 ? `${result.data.label}: ${result.data.facts.join(", ")}` : "";
      const Kind = space === "planar" ? PlanarStage : SpatialStage;
      const stage = new Kind(result, page, host, this.shown, () => this.request());
      this.stages.push(stage);
      this.listen(stage);
      if (gravity.some((x) => x !== 0) && space === "planar") {
        const mark = element("div", "gravity", figure);
        element("span", "", mark).textContent = "g";
        const arrow = element("b", "", mark);
        arrow.textContent = "↓";
        arrow.style.transform = `rotate(${-Math.atan2(gravity[1], gravity[0]) - Math.PI / 2}rad)`;
      }
    }
    for (const spot of this.stages[0].spots) {
      const free = spot.body > 0 && !spot.centre && !spot.joints.length && !spot.loaded;
      if (free && this.shown.paths.size < PATHS) this.shown.paths.add(spot.name);
    }

    const toggle = (key: string, label: string, title: string, act: () => void) => {
      this.toggles.set(key, button(label, `${title} (${key})`, bar, act));
    };
    const flip = (name: "names" | "velocities" | "reactions" | "applied" | "centres" | "grid") => () => {
      this.shown[name] = !this.shown[name];
      this.refresh();
    };
    toggle("f", "Fit", "Fit the picture", () => this.stages.forEach((stage) => stage.fit()));
    toggle("n", "Names", "Names of joints and points", flip("names"));
    this.pathMenu(bar);
    toggle("v", "Velocities", "Velocities of mass centres and traced points", flip("velocities"));
    if ([...this.results[0].quantities.keys()].some((name) => name.startsWith("reaction:"))) {
      toggle("r", "Reactions", "Forces of joints on their second body", flip("reactions"));
    }
    if (this.results[0].data.scene.forces.length) {
      toggle("a", "Forces", "Springs, contacts and loads, by the forces on their bodies", flip("applied"));
    }
    if (space === "planar") toggle("c", "Centres", "Mass centres", flip("centres"));
    toggle("g", "Grid", "Grid", flip("grid"));
    if (this.results.some((result) => result.data.events.length)) this.eventMenu(bar);
    toggle("u", page.units.names, `Show values in ${page.units.names}`, () => {
      page.units.shown = !page.units.shown;
      this.plots.build();
      this.refresh();
    });
    toggle("p", "Plots", "Plots beside the picture", () => {
      document.body.classList.toggle("no-plots");
      this.refresh();
    });

    const controls = element("div", "controls", left);
    signed("first", "First row (home)", controls, () => this.setTime(this.start));
    this.play = signed("play", "Play (space)", controls, () => this.setPlaying(!this.playing));
    this.play.classList.add("play");
    const axis = element("div", "axis", controls);
    this.slider = element("input", "time", axis);
    Object.assign(this.slider, { type: "range", min: "0", max: "1", step: "any", value: "0" });
    this.slider.setAttribute("aria-label", "time");
    this.slider.addEventListener("input", () => this.setTime(this.start + Number(this.slider.value) * (this.end - this.start)));
    this.mark(axis);
    this.clock = element("output", "clock", controls);
    this.speeds = element("select", "", controls);
    this.speeds.title = "Seconds of motion per second (− +)";
    this.speeds.setAttribute("aria-label", "speed");
    for (const speed of SPEEDS) {
      const option = element("option", "", this.speeds);
      option.value = String(speed);
      option.textContent = speed >= 1 ? `${speed}×` : `1/${Math.round(1 / speed)}×`;
    }
    this.speeds.addEventListener("change", () => this.setSpeed(Number(this.speeds.value)));
    const repeat = () => {
      this.repeat = !this.repeat;
      this.refresh();
    };
    this.toggles.set("l", signed("repeat", "Begin again at the end (l)", controls, repeat));

    const right = element("aside", "plots", main);
    this.plots = new Plots(this.results, page, right, (t) => this.go(t));
    this.notes(right, page);
    this.help = this.keys(app);
    this.setSpeed(this.speed);
    for (const stage of this.stages) {
      stage.pathsChanged();
      new ResizeObserver(() => stage.resize()).observe(stage.host);
      stage.resize();
    }
    followSystem(() => this.themeChanged());
    addEventListener("keydown", (event) => this.key(event));
    this.refresh();
  }

  /** What was left out, and what made the page. */
  private notes(host: HTMLElement, page: Page): void {
    const foot = element("footer", "", host);
    for (const { data } of this.results) {
      if (data.left_out.length) {
        element("p", "", foot).textContent = `${data.label}: left out to keep the page small: ${data.left_out.join(", ")}`;
      }
    }
    element("p", "", foot).textContent = `linkwork ${page.version}`;
  }

  /** Marks of events on the time axis; their colour is that of the name. */
  private mark(axis: HTMLElement): void {
    const length = this.end - this.start || 1;
    for (const { data } of this.results) {
      for (const [name, t] of data.events) {
        const mark = element("i", "", axis);
        mark.title = `${name}, ${shown(t)} s`;
        mark.style.setProperty("--at", String((t - this.start) / length));
        mark.style.background = this.colorOf(name);
        mark.addEventListener("click", () => this.go(t));
      }
    }
  }

  private colorOf(name: string): string {
    const names = [...new Set(this.results.flatMap(({ data }) => data.events.map(([own]) => own)))];
    return this.colors[names.indexOf(name) % this.colors.length];
  }

  private eventMenu(bar: HTMLElement): void {
    const list = this.menu(bar, "Events ▾", "Events (e)", "e");
    for (const { data } of this.results) {
      for (const [name, t] of data.events) {
        const row = button("", `Go to ${shown(t)} s`, list, () => this.go(t));
        element("i", "", row).style.background = this.colorOf(name);
        element("span", "", row).textContent = this.results.length > 1 ? `${data.label}: ${name}` : name;
        element("small", "", row).textContent = `${shown(t)} s`;
      }
      const more = data.n_events - data.events.length;
      if (more > 0) element("small", "", list).textContent = `and ${more} more`;
    }
  }

  /** A button with a list below it that opens and closes. */
  private menu(bar: HTMLElement, label: string, title: string, key: string): HTMLElement {
    const box = element("div", "menu", bar);
    const list = element("div", "names", box);
    list.hidden = true;
    const head = button(label, title, box, () => {
      list.hidden = !list.hidden;
    });
    this.toggles.set(key, head);
    box.prepend(head);
    addEventListener("pointerdown", (event) => {
      if (!box.contains(event.target as Node)) list.hidden = true;
    });
    return list;
  }

  private pathMenu(bar: HTMLElement): void {
    const list = this.menu(bar, "Paths ▾", "Paths of points (t)", "t");
    for (const spot of this.stages[0].spots) {
      if (spot.body === 0) continue;
      const row = element("label", "", list);
      const tick = element("input", "", row);
      tick.type = "checkbox";
      tick.dataset.spot = spot.name;
      tick.addEventListener("change", () => this.trace(spot.name));
      element("span", "", row).textContent = spot.centre ? `${spot.name} (mass centre)` : spot.name;
    }
  }

  private trace(name: string): void {
    if (!this.shown.paths.delete(name)) this.shown.paths.add(name);
    for (const stage of this.stages) stage.pathsChanged();
    this.refresh();
  }

  private keys(app: HTMLElement): HTMLDialogElement {
    const help = element("dialog", "", app);
    element("h2", "", help).textContent = "Keys";
    const list = element("dl", "", help);
    for (const [key, what] of KEYS) {
      element("dt", "", list).textContent = key;
      element("dd", "", list).textContent = what;
    }
    element("p", "", help).textContent =
      "Drag moves the picture, the wheel or two fingers change its scale. Click a point to trace it. Click or drag in a plot to go to a time.";
    button("Close", "Close", help, () => help.close());
    return help;
  }

  private listen(stage: PlanarStage | SpatialStage): void {
    const canvas = stage.renderer.domElement;
    let pressed: [number, number] | undefined;
    canvas.addEventListener("pointermove", (event) => {
      if (event.buttons && event.pointerType === "mouse") this.point(undefined);
      else this.point({ stage, x: event.offsetX, y: event.offsetY });
    });
    canvas.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse") this.point(undefined);
    });
    canvas.addEventListener("pointerdown", (event) => {
      pressed = [event.offsetX, event.offsetY];
    });
    canvas.addEventListener("pointerup", (event) => {
      if (!pressed || Math.hypot(event.offsetX - pressed[0], event.offsetY - pressed[1]) > 4) return;
      this.point({ stage, x: event.offsetX, y: event.offsetY });
      const spot = event.pointerType === "mouse" ? stage.spotAt(event.offsetX, event.offsetY) : undefined;
      if (spot && spot.body > 0) this.trace(spot.name);
    });
  }

  private point(at: { stage: Stage; x: number; y: number } | undefined): void {
    this.pointed = at;
    this.request();
  }

  /** The label of what is pointed at. */
  private tell(): void {
    const at = this.pointed;
    const found = at?.stage.tell(at.x, at.y);
    for (const stage of this.stages) stage.highlight(found && stage === at?.stage ? found.body : -1);
    this.tip.hidden = !found;
    if (!found || !at) return;
    this.fill(found.told);
    const box = at.stage.host.getBoundingClientRect();
    const [w, h] = [this.tip.offsetWidth, this.tip.offsetHeight];
    const x = Math.min(Math.max(box.left + at.x + 16, 4), innerWidth - w - 4);
    let y = box.top + at.y + 16;
    if (y + h > innerHeight - 4) y = Math.max(4, box.top + at.y - h - 14);
    this.tip.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
  }

  private fill({ title, kind, rows }: Told): void {
    this.tip.replaceChildren();
    element("strong", "", this.tip).textContent = title;
    element("small", "", this.tip).textContent = kind;
    const table = element("table", "", this.tip);
    for (const [label, value, unit] of rows) {
      const row = element("tr", "", table);
      element("th", "", row).textContent = label;
      element("td", "", row).textContent = shown(value);
      element("td", "unit", row).textContent = unit;
    }
  }

  setTime(time: number): void {
    this.time = Math.min(Math.max(time, this.start), this.end);
    this.request();
  }

  /** Stop at a time. */
  private go(time: number): void {
    this.setPlaying(false);
    this.setTime(time);
  }

  setPlaying(playing: boolean): void {
    if (playing && this.time >= this.end) this.time = this.start;
    this.playing = playing;
    this.last = performance.now();
    this.request();
  }

  setSpeed(speed: number): void {
    this.speed = speed;
    this.speeds.value = String(speed);
  }

  setTheme(on: boolean): void {
    setDark(on);
    this.themeChanged();
  }

  private themeChanged(): void {
    for (const stage of this.stages) {
      stage.theme();
      stage.pathsChanged();
    }
    this.plots.theme();
    this.request();
  }

  private refresh(): void {
    const pressed: Record<string, boolean> = {
      n: this.shown.names,
      t: this.shown.paths.size > 0,
      v: this.shown.velocities,
      r: this.shown.reactions,
      a: this.shown.applied,
      c: this.shown.centres,
      g: this.shown.grid,
      u: this.page.units.shown,
      l: this.repeat,
      p: !document.body.classList.contains("no-plots"),
    };
    for (const [key, toggle] of this.toggles) if (key in pressed) toggle.setAttribute("aria-pressed", String(pressed[key]));
    for (const tick of document.querySelectorAll<HTMLInputElement>("input[data-spot]")) {
      tick.checked = this.shown.paths.has(tick.dataset.spot ?? "");
    }
    this.request();
  }

  private request(): void {
    if (this.due) return;
    this.due = true;
    requestAnimationFrame((now) => this.frame(now));
  }

  private frame(now: number): void {
    this.due = false;
    if (this.playing) {
      this.time += (Math.min(now - this.last, 250) / 1000) * this.speed;
      if (this.time >= this.end) {
        if (this.repeat) this.time = this.start + ((this.time - this.start) % (this.end - this.start || 1));
        else {
          this.time = this.end;
          this.playing = false;
        }
      }
    }
    this.last = now;
    this.update();
    if (this.playing) this.request();
  }

  /** Everything as it is at the time of the clock. */
  update(): void {
    for (const stage of this.stages) stage.show(Math.min(Math.max(this.time, stage.result.start), stage.result.end));
    this.plots.show(this.time, !this.playing);
    this.slider.value = String((this.time - this.start) / (this.end - this.start || 1));
    const digits = Math.min(6, Math.max(2, 3 - Math.floor(Math.log10(this.end - this.start || 1))));
    this.clock.textContent = `${this.time.toFixed(digits)} s`;
    const [sign, title] = this.playing ? ["pause", "Pause (space)"] : ["play", "Play (space)"];
    if (this.play.title !== title) {
      this.play.title = title;
      this.play.setAttribute("aria-label", title);
      this.play.replaceChildren(icon(sign));
    }
    if (this.pointed || !this.tip.hidden) this.tell();
  }

  private step(rows: number): void {
    const result = this.results[0];
    this.setPlaying(false);
    let k = result.row(Math.min(Math.max(this.time, result.start), result.end));
    if (rows < 0 && result.t[k] < this.time - 1e-12) k += 1; // between rows, back to the one just passed
    this.setTime(result.t[Math.min(Math.max(k + rows, 0), result.t.length - 1)]);
  }

  private key(event: KeyboardEvent): void {
    const target = event.target;
    if (event.ctrlKey || event.metaKey || event.altKey || this.help.open) return;
    if (target instanceof Element && target.matches("input[type=search], select")) return;
    const ten = event.shiftKey ? 10 : 1;
    const faster = (by: number) => {
      const k = SPEEDS.indexOf(this.speed);
      this.setSpeed(SPEEDS[Math.min(Math.max(k + by, 0), SPEEDS.length - 1)]);
    };
    const acts: Record<string, () => void> = {
      " ": () => this.setPlaying(!this.playing),
      ArrowLeft: () => this.step(-ten),
      ArrowRight: () => this.step(ten),
      Home: () => this.setTime(this.start),
      End: () => this.setTime(this.end),
      "-": () => faster(-1),
      "+": () => faster(1),
      "=": () => faster(1),
      d: () => this.setTheme(!dark()),
      "?": () => this.help.showModal(),
    };
    const act = acts[event.key] ?? (this.toggles.has(event.key) ? () => this.toggles.get(event.key)?.click() : undefined);
    if (!act) return;
    event.preventDefault();
    act();
  }

  /** Milliseconds that bringing everything up to date takes, for each of n times over the motion. */
  cost(n: number): number[] {
    const gl = this.stages[0].renderer.getContext();
    this.playing = true; // as while it plays: legends follow ten times a second
    const found: number[] = [];
    for (let k = 0; k < n; k++) {
      this.time = this.start + (k / n) * (this.end - this.start);
      const began = performance.now();
      this.update();
      found.push(performance.now() - began);
      gl.finish(); // so that frames do not pile up
    }
    this.setPlaying(false);
    return found;
  }

  /** Where a point of the first result is, in pixels of the page. */
  where(name: string): [number, number] | undefined {
    const stage = this.stages[0];
    const spot = stage.spots.find((other) => other.name === name);
    if (!spot) return undefined;
    const box = stage.host.getBoundingClientRect();
    const [x, y] = stage.project(stage.at(spot));
    return [box.left + x, box.top + y];
  }
}

declare global {
  interface Window {
    linkwork?: Viewer; // for scripts and tests
  }
}

const app = document.getElementById("app") as HTMLElement;
try {
  const page = JSON.parse(document.getElementById("data")?.textContent ?? "") as Page;
  window.linkwork = new Viewer(page, app);
} catch (error) {
  app.replaceChildren();
  element("p", "failed", app).textContent = `The motion cannot be shown: ${error instanceof Error ? error.message : error}`;
  throw error;
}
