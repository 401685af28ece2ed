// The page: stages, plots and the clock that moves both.

import { Clock } from "./clock";
import { Controls, type Happening } from "./controls";
import { type Page, Result, type Rows } from "./data";
import { button, element, signed } from "./dom";
import { keyList, listenForKeys } from "./keys";
import { PlanarStage } from "./planar";
import { Plots } from "./plots";
import { Polygons } from "./polygons";
import { SpatialStage } from "./spatial";
import { LABELS, type Shown } from "./stage";
import { dark, followSystem, setDark } from "./theme";
import { Toolbar } from "./toolbar";
import { Tooltip } from "./tooltip";

const PATHS = 4; // of free points, shown at first
const TRAVELS = 4; // own sizes: a mechanism that goes farther is followed at first

type Kind = { [key in keyof Shown]: Shown[key] extends boolean ? key : never }[keyof Shown];

export class Viewer {
  readonly results: Result[];
  readonly stages: (PlanarStage | SpatialStage)[];
  readonly plots: Plots;
  readonly clock: Clock;
  readonly controls: Controls;
  readonly shown: Shown;
  readonly left: HTMLElement;
  readonly right: HTMLElement;
  readonly tools: HTMLElement;
  private readonly facts: HTMLElement;
  private readonly toolbar: Toolbar;
  private readonly tip: Tooltip;
  private readonly polygons: Polygons[] = [];
  private readonly tick: (traced: Set<string>) => void;
  /** What is done before each picture, given how many milliseconds have passed. */
  beforePicture: ((passed: number) => void) | undefined;
  /** What is done behind each picture. */
  afterPicture: (() => void) | undefined;
  private last = 0;
  private due = false;
  private readonly over = new AbortController();
  readonly ended = this.over.signal; // when the page is taken away

  constructor(
    readonly page: Page,
    app: HTMLElement,
    rows?: Rows, // of the first result, if the page holds none of them
  ) {
    this.results = page.results.map((data, k) => (k === 0 && rows ? new Result(data, rows) : new Result(data)));
    const { results } = this;
    const { joints, space, forces } = results[0].data.scene;
    this.clock = new Clock(Math.min(...results.map(({ start }) => start)), Math.max(...results.map(({ end }) => end)));
    this.shown = {
      names: joints.length <= LABELS && innerWidth > 500,
      velocities: false,
      reactions: false,
      applied: false,
      centres: false,
      poles: false,
      grid: true,
      follow: false,
      paths: new Set(),
    };
    const names = results.map(({ data }) => data.label);
    document.title = `${names.join(" and ")} – linkwork`;

    const header = element("header", "", app);
    const head = element("div", "head", header);
    element("h1", "", head).textContent = names.join("  ·  ");
    this.facts = element("p", "facts", head);
    if (results.length === 1) this.tellFacts(results[0].data.facts);
    this.tools = element("div", "tools", header);
    const help = keyList(app);
    signed("theme", "Light or dark (d)", this.tools, () => this.setTheme(!dark()));
    button("?", "Keys (?)", this.tools, () => help.showModal()).className = "round";

    const main = element("main", "", app);
    this.left = element("div", "left", main);
    this.toolbar = new Toolbar(this.left, this.ended);
    const stages = element("div", "stages", this.left);
    stages.dataset.count = String(results.length);
    this.tip = new Tooltip(app, () => this.request());
    const Kind = space === "planar" ? PlanarStage : SpatialStage;
    this.stages = results.map((result) => {
      const figure = element("figure", "stage", stages);
      const host = element("div", "host", figure);
      const caption = element("figcaption", "", figure);
      caption.textContent = results.length > 1 ? `${result.data.label}: ${result.data.facts.join(", ")}` : "";
      const stage = new Kind(result, page, host, this.shown, () => this.request());
      this.listen(stage);
      return stage;
    });
    this.shown.follow = this.stages.some((stage) => stage.travel > TRAVELS);
    for (const spot of this.stages[0].spots) {
      const free = spot.body > 0 && !spot.centre && !spot.joints.length && !spot.loaded;
      if (free && this.shown.paths.size < PATHS) this.shown.paths.add(spot.name);
    }
    this.tick = this.fillToolbar(space === "planar", forces.length > 0);

    this.controls = new Controls(this.clock, this.left, () => this.request());
    this.controls.mark(this.happenings(), (t) => this.go(t));
    this.toolbar.toggles.set("l", this.controls.repeat);
    this.right = element("aside", "plots", main);
    this.tellNotes(this.right);
    this.plots = new Plots(results, page, this.right, (t) => this.go(t));
    if (space === "planar" && results.length === 1 && this.holds("alpha")) {
      const spots = this.stages[0].spots;
      this.polygons = (["velocity", "acceleration"] as const).map((kind) => new Polygons(kind, results[0], page, spots, this.plots));
    }
    this.tellOrigin(this.right);
    for (const stage of this.stages) {
      stage.pathsChanged();
      new ResizeObserver(() => {
        if (stage.resize()) this.fit();
      }).observe(stage.host);
      if (stage.resize()) this.fit();
    }
    followSystem(() => this.themeChanged(), this.ended);
    listenForKeys(help, (key, shift) => this.actOf(key, shift, help), this.ended);
    this.refresh();
  }

  /** Whether the motion has this part of its bodies: a mode has positions alone. */
  private holds(part: string): boolean {
    return this.results[0].quantities.has(`${this.results[0].data.scene.bodies[1]?.name}.${part}`);
  }

  tellFacts(facts: string[]): void {
    this.facts.textContent = facts.join("  ·  ");
  }

  private fillToolbar(planar: boolean, forces: boolean): (traced: Set<string>) => void {
    const { toolbar, page, results } = this;
    const flip = (key: string, label: string, title: string, kind: Kind) =>
      toolbar.toggle(key, label, title, () => {
        this.shown[kind] = !this.shown[kind];
        this.refresh();
      });
    toolbar.toggle("f", "Fit", "Fit the picture", () => this.fit());
    if (this.shown.follow) flip("o", "Follow", "Follow the mechanism", "follow");
    flip("n", "Names", "Names of joints and points", "names");
    const tick = toolbar.paths(this.stages[0].spots, (name) => this.trace(name));
    if (this.holds("vx")) flip("v", "Velocities", "Velocities of mass centres and traced points", "velocities");
    if ([...results[0].quantities.keys()].some((name) => name.startsWith("reaction:"))) {
      flip("r", "Reactions", "Forces of joints on their second body", "reactions");
    }
    if (forces) flip("a", "Forces", "Springs, contacts and loads, by the forces on their bodies", "applied");
    if (planar && this.holds("omega")) flip("i", "Poles", "Instant centres: points at which two bodies have one velocity", "poles");
    if (planar) flip("c", "Centres", "Mass centres", "centres");
    flip("g", "Grid", "Grid", "grid");
    const events = this.happenings();
    if (events.length) {
      const more = results.map(({ data }) => data.n_events - data.events.length).filter((n) => n > 0);
      toolbar.events(events, more.map((n) => `and ${n} more`), (t) => this.go(t));
    }
    if (page.units.names) {
      toolbar.toggle("u", page.units.names, `Show values in ${page.units.names}`, () => {
        page.units.shown = !page.units.shown;
        this.plots.build();
        this.refresh();
      });
    }
    toolbar.toggle("p", "Plots", "Plots beside the picture", () => {
      document.body.classList.toggle("no-plots");
      this.refresh();
    });
    return tick;
  }

  private happenings(): Happening[] {
    const names = [...new Set(this.results.flatMap(({ data }) => data.events.map(([name]) => name)))];
    return this.results.flatMap(({ data }) =>
      data.events.map(([name, t]) => {
        const color = this.page.colors[names.indexOf(name) % this.page.colors.length];
        return { name, t, color, of: this.results.length > 1 ? data.label : "" };
      }),
    );
  }

  /** What a run says about itself: why it ended early, and what is to be known although it is no error. */
  private tellNotes(host: HTMLElement): void {
    for (const { data } of this.results) {
      const count = data.notes.length + (data.reason ? 1 : 0);
      if (!count) continue;
      const box = element("details", "panel notes", host);
      box.open = data.reason !== "";
      const of = this.results.length > 1 ? ` of ${data.label}` : this.page.live ? " on the run with the values of the model" : "";
      element("summary", "", box).textContent = `${count === 1 ? "Note" : `${count} notes`}${of}`;
      if (data.reason) element("p", "reason", box).textContent = data.reason;
      for (const note of data.notes) element("p", "", box).textContent = note;
    }
  }

  /** What was left out, and what made the page. */
  private tellOrigin(host: HTMLElement): void {
    const foot = element("footer", "", host);
    for (const { data } of this.results) {
      if (!data.left_out.length) continue;
      element("p", "", foot).textContent = `${data.label}: left out to keep the page small: ${data.left_out.join(", ")}`;
    }
    element("p", "", foot).textContent = `linkwork ${this.page.version}`;
  }

  /** Let go of all that outlives the elements of the page. */
  end(): void {
    this.over.abort();
    this.clock.playing = false;
    this.plots.end();
    for (const stage of this.stages) stage.end();
  }

  /** All stages on one scale. */
  fit(): void {
    const needed = Math.max(...this.stages.map((stage) => stage.needed));
    for (const stage of this.stages) stage.fit(needed);
  }

  /** Another motion of the first mechanism: its rows, its events and what is said of it. */
  take(rows: Rows, events: [string, number][], facts: string[], plots: boolean): void {
    const [result] = this.results;
    result.take(rows);
    result.data.events = events;
    this.clock.end = result.end;
    this.clock.set(this.clock.time);
    this.controls.mark(this.happenings(), (t) => this.go(t));
    this.tellFacts(facts);
    for (const stage of this.stages) stage.renew();
    if (plots) this.plots.renew();
    this.request();
  }

  trace(name: string): void {
    if (!this.shown.paths.delete(name)) this.shown.paths.add(name);
    for (const stage of this.stages) stage.pathsChanged();
    this.refresh();
  }

  private listen(stage: PlanarStage | SpatialStage): void {
    const canvas = stage.renderer.domElement;
    let pressed: [number, number] | undefined;
    canvas.addEventListener("pointermove", (event) => {
      if (event.buttons && event.pointerType === "mouse") this.tip.point();
      else this.tip.point({ stage, x: event.offsetX, y: event.offsetY });
    });
    canvas.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse") this.tip.point();
    });
    canvas.addEventListener("pointerdown", (event) => {
      pressed = [event.offsetX, event.offsetY];
    });
    canvas.addEventListener("pointerup", (event) => {
      if (!pressed || Math.hypot(event.offsetX - pressed[0], event.offsetY - pressed[1]) > 4) return;
      this.tip.point({ stage, x: event.offsetX, y: event.offsetY });
      const spot = event.pointerType === "mouse" ? stage.spotAt(event.offsetX, event.offsetY) : undefined;
      if (spot && spot.body > 0) this.trace(spot.name);
    });
  }

  // for keys, scripts and tests

  get toggles(): Map<string, HTMLButtonElement> {
    return this.toolbar.toggles;
  }

  get time(): number {
    return this.clock.time;
  }

  get playing(): boolean {
    return this.clock.playing;
  }

  setTime(time: number): void {
    this.clock.set(time);
    this.request();
  }

  setPlaying(on: boolean): void {
    this.clock.play(on);
    this.request();
  }

  setSpeed(speed: number): void {
    this.controls.setSpeed(speed);
  }

  /** Stop at a time. */
  private go(time: number): void {
    this.setPlaying(false);
    this.setTime(time);
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
    this.plots.build();
    this.request();
  }

  /** Buttons and pictures as what is shown says. */
  refresh(): void {
    const { shown } = this;
    this.toolbar.press({
      o: shown.follow,
      n: shown.names,
      t: shown.paths.size > 0,
      v: shown.velocities,
      r: shown.reactions,
      a: shown.applied,
      i: shown.poles,
      c: shown.centres,
      g: shown.grid,
      u: this.page.units.shown,
      p: !document.body.classList.contains("no-plots"),
    });
    this.tick(shown.paths);
    this.request();
  }

  /** Draw before the next picture of the screen. */
  request(): void {
    if (this.due) return;
    this.due = true;
    requestAnimationFrame((now) => {
      this.due = false;
      if (this.ended.aborted) return;
      const passed = now - this.last;
      this.clock.pass(passed);
      this.last = now;
      this.beforePicture?.(passed);
      this.update();
      this.afterPicture?.();
      if (this.clock.playing) this.request();
    });
  }

  /** Everything as it is at the time of the clock. */
  update(): void {
    const { time, playing } = this.clock;
    for (const stage of this.stages) stage.show(Math.min(Math.max(time, stage.result.start), stage.result.end));
    this.plots.show(time, !playing);
    for (const polygons of this.polygons) polygons.show(time);
    this.controls.show();
    this.tip.show(this.stages);
  }

  private step(rows: number): void {
    const result = this.results[0];
    this.setPlaying(false);
    let k = result.row(Math.min(Math.max(this.time, result.start), result.end));
    if (rows < 0 && result.t[k] < this.time - 1e-12) k += 1; // between rows, back to the one just passed
    this.setTime(result.t[Math.min(Math.max(k + rows, 0), result.t.length - 1)]);
  }

  private actOf(key: string, shift: boolean, help: HTMLDialogElement): (() => void) | undefined {
    const ten = shift ? 10 : 1;
    const faster = (by: number) => () => this.setSpeed(this.clock.faster(by));
    const acts: Record<string, () => void> = {
      " ": () => this.setPlaying(!this.playing),
      ArrowLeft: () => this.step(-ten),
      ArrowRight: () => this.step(ten),
      Home: () => this.setTime(this.clock.start),
      End: () => this.setTime(this.clock.end),
      "-": faster(-1),
      "+": faster(1),
      "=": faster(1),
      d: () => this.setTheme(!dark()),
      "?": () => help.showModal(),
    };
    const toggle = this.toggles.get(key);
    return acts[key] ?? (toggle && (() => toggle.click()));
  }

  /** Milliseconds that bringing everything up to date takes, for each of n times over the motion. */
  cost(n: number): number[] {
    const gl = this.stages[0].renderer.domElement.getContext("webgl2");
    this.clock.playing = true; // as while it plays: legends follow ten times a second
    const found: number[] = [];
    for (let k = 0; k < n; k++) {
      this.clock.part = k / n;
      const began = performance.now();
      this.update();
      found.push(performance.now() - began);
      gl?.finish(); // so that frames do not pile up
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
