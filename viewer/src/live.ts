// The page that computes: values change, and the motion follows.

import { type Anchors, points, Shape, solve } from "./anchors";
import { turnTowards } from "./crank";
import { fromHash, save, toCsv, toHash, toYaml, type Values } from "./carry";
import { type Page, type Rows, shown, shownUnit, type Vec } from "./data";
import { button, element } from "./dom";
import { Engine, type Failure, type LiveData, type Motion, type Play } from "./engine";
import { Hands } from "./hands";
import { Knobs } from "./knobs";
import type { Stage } from "./stage";
import { Viewer } from "./viewer";

const SLICE = 12; // milliseconds of computing between two pictures
const KEPT = 10; // seconds of the clock that a free run shows
const EVERY = 4; // pictures between two of the plots of a free run

function isFailure(x: object | null): x is Failure {
  return x !== null && "code" in x;
}

function far(p: Vec, q: Vec): number {
  return Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
}

function rowsOf({ t, poses, quantities }: Motion): Rows {
  return { t, poses, column: (k) => quantities[k].values as Float64Array };
}

/** Who holds the values of a live page elsewhere, as the studio does in a text. */
export interface Keeper {
  /** Values have been changed by hand; `done` when the hand has let go. */
  changed(values: Values, done: boolean): void;
}

export class Live {
  readonly viewer: Viewer;
  readonly stage: Stage;
  play: Play | undefined;
  private readonly shape: Shape | undefined;
  private readonly knobs: Knobs;
  private readonly banner: HTMLElement;
  private readonly free: HTMLButtonElement;
  private readonly other: HTMLButtonElement;
  private readonly switches: HTMLElement;
  private readonly pinned: HTMLButtonElement;
  private readonly nominal: string[];
  private rolling: { t: number[]; poses: number[][]; columns: number[][] } | undefined;
  private readonly given = new Set<string>();
  dragged = ""; // the body by which the start has been moved
  private mode = 0; // in which it was put together last
  private pictures = 0;
  private fitted: [Vec, Vec]; // the box that is seen
  private changed = false; // values, since the motion was begun
  private running = false; // a motion that takes longer than a picture
  private milliseconds = 0;

  /** With a keeper the address of the page says nothing, and is told nothing. */
  static async begin(page: Page, data: LiveData, app: HTMLElement, keeper?: Keeper): Promise<Live> {
    const engine = await Engine.from(data);
    const wanted: Values = keeper ? new Map() : fromHash(location.hash, new Set(engine.byName.keys()));
    const first = engine.run();
    if (isFailure(first)) throw new Error(first.text);
    const [result] = page.results;
    result.quantities = first.quantities.map(({ name, unit, kind }) => ({ name, unit, kind }));
    Object.assign(result, { events: first.events, n_events: first.events.length, left_out: [], reason: "" });
    return new Live(page, engine, first, app, wanted, keeper);
  }

  private constructor(
    page: Page,
    readonly engine: Engine,
    first: Motion,
    app: HTMLElement,
    wanted: Values,
    private readonly keeper?: Keeper,
  ) {
    this.nominal = page.results[0].facts;
    this.fitted = page.results[0].drawing.box;
    this.viewer = new Viewer(page, app, rowsOf(first));
    [this.stage] = this.viewer.stages;
    this.shape = page.anchors ? new Shape(page.anchors, page.results[0]) : undefined;
    this.banner = element("p", "banner", this.stage.host);
    this.banner.hidden = true;
    this.banner.setAttribute("role", "status");
    const box = element("section", "panel live");
    this.viewer.right.prepend(box);
    const bar = element("div", "chips", box);
    this.free = button("Play on", "Go on from the start without end; pull bodies with the mouse", bar, () => this.playOn(!this.play));
    this.pinned = button("Pin", "Keep this run in grey to compare with", bar, () => this.pin());
    this.other = button("Other mode", `Put it together in another of ${engine.modes} ways`, bar, () => this.assemble());
    this.other.hidden = engine.modes < 2 || keeper !== undefined; // one start value tells no mode
    button("Reset", "All values as in the model", bar, () => this.reset());
    if (!keeper) button("Link", "Copy a link to this page with its values", bar, () => this.copy(location.href, "the link"));
    if (!keeper) button("YAML", "Copy the values as lines of a model file", bar, () => this.copy(this.lines(), "the lines"));
    button("CSV", "Save all columns of the motion", bar, () => this.saveTable());
    button("PNG", "Save the picture", bar, () => this.savePicture());
    this.switches = element("div", "chips", box);
    this.switches.hidden = true;
    this.addSwitch("Gravity", "gravity");
    this.addSwitch("Damping", "damping");
    const set = (name: string, value: number) => this.set(name, value);
    const changes = { begin: () => this.keepBefore(), set, end: () => this.settle(), refuse: (text: string, unit: string) => this.say(`'${text}' is ${unit ? `not a quantity in ${unit}` : "no number"}`) };
    const shown = keeper ? engine.parameters.filter(({ kind }) => kind === "parameter") : engine.parameters; // the text has all others
    this.knobs = new Knobs(box, shown, page, (name) => engine.get(name), changes);
    new Hands(this.stage, this);
    this.viewer.beforePicture = (passed) => this.picture(passed);
    if (!keeper) addEventListener("hashchange", () => this.follow(fromHash(location.hash, new Set(this.engine.byName.keys()))));
    this.tell(first);
    if (wanted.size) this.follow(wanted);
  }

  /** Whether what is seen is the motion with the values of now. */
  get isSettled(): boolean {
    return !this.changed && !this.running;
  }

  /** Values that have been given; after the start has been dragged all of its positions, as joints move them together. */
  values(): Values {
    const stated = ({ name, kind }: { name: string; kind: string }) => this.given.has(name) || (this.dragged !== "" && kind === "position");
    const moved = this.engine.parameters.filter((own) => stated(own) && this.engine.get(own.name) !== own.value);
    return new Map(moved.map(({ name }) => [name, this.engine.get(name)]));
  }

  /** The values as lines of a model file. */
  lines(): string {
    return toYaml(this.values(), this.engine.parameters, this.viewer.page.factors ?? {});
  }

  private give(name: string, value: number): void {
    this.engine.set(name, value);
    this.given.add(name);
  }

  private forget(): void {
    this.engine.reset();
    this.given.clear();
    this.dragged = "";
    this.mode = 0;
  }

  readonly value = (name: string): number | undefined => (this.engine.byName.has(name) ? this.engine.get(name) : undefined);

  private follow(values: Values): void {
    if (toHash(values) === toHash(this.values())) return;
    this.forget();
    for (const [name, value] of values) this.give(name, value);
    this.compute();
  }

  set(name: string, value: number): void {
    this.give(name, value);
    this.compute();
  }

  /** Take values over that the keeper has now; the model starts as they say. */
  adopt(values: Readonly<Record<string, number>>): void {
    this.forget();
    for (const own of this.engine.parameters) {
      if (values[own.name] === undefined) continue;
      own.value = values[own.name];
      this.engine.set(own.name, own.value);
    }
    this.changed = true;
    this.viewer.request();
  }

  reset(): void {
    this.keepBefore();
    this.forget();
    this.compute();
    this.settle();
  }

  /** The start in the next way to put the mechanism together; one that cannot be reached with the values of now is left out. */
  assemble(): void {
    const { engine } = this;
    this.keepBefore();
    let failure: Failure | null = null;
    for (let k = 1; k < engine.modes; k++) {
      this.mode = (this.mode + 1) % engine.modes;
      failure = engine.assemble(this.mode);
      if (!failure) break;
    }
    this.dragged = engine.live.bodies[1];
    if (failure) this.say(failure.text, failure.joint);
    else this.compute();
    this.settle();
  }

  /** Keep the run of now in grey behind those to come. */
  keepBefore(): void {
    const { others } = this.viewer.results[0];
    if (this.pinned.getAttribute("aria-pressed") !== "true") others.splice(0, others.length, this.viewer.results[0].copy());
  }

  private pin(): void {
    const { others } = this.viewer.results[0];
    const on = this.pinned.getAttribute("aria-pressed") !== "true";
    others.splice(0, others.length, ...(on ? [this.viewer.results[0].copy()] : []));
    this.pinned.setAttribute("aria-pressed", String(on));
    this.viewer.plots.renew();
    this.stage.renew();
  }

  /** A hand has let go: the address says what is set now, and what has left the picture comes back. */
  settle(): void {
    const { box } = this.viewer.results[0].data.drawing;
    if (box.flatMap((at, k) => at.map((x, c) => (k ? x - this.fitted[1][c] : this.fitted[0][c] - x))).some((out) => out > 0)) this.fit();
    if (this.keeper) return this.keeper.changed(this.values(), true);
    try {
      history.replaceState(null, "", `#${toHash(this.values())}`);
    } catch {
      // a page within another one has no address of its own
    }
  }

  private fit(): void {
    this.fitted = this.viewer.results[0].data.drawing.box;
    this.viewer.fit();
  }

  /** The motion anew, before the next picture. */
  compute(): void {
    this.keeper?.changed(this.values(), false);
    this.changed = true;
    this.viewer.request();
  }

  /** Before each picture: compute the motion that values ask for, or play on. */
  private picture(passed: number): void {
    if (this.changed) this.begin();
    else if (this.running) this.goOn();
    if (this.running) this.viewer.request();
    if (this.play) this.step(this.play, passed);
  }

  private begin(): void {
    this.changed = false;
    if (this.play) this.stop();
    if (this.shape?.apply(this.value)) this.stage.reshape();
    const failure = this.engine.begin();
    this.knobs.show();
    this.running = !failure;
    this.milliseconds = 0;
    if (failure) this.say(failure.text, failure.joint);
    else this.goOn();
  }

  /** The motion as far as it comes before the next picture. */
  private goOn(): void {
    const began = performance.now();
    this.running = !this.engine.advance(SLICE);
    this.milliseconds += performance.now() - began;
    if (this.running) return;
    const motion = this.engine.motion();
    this.tell(motion);
    this.viewer.results[0].take(rowsOf(motion));
    this.viewer.results[0].data.drawing.box = this.stage.bounds();
    this.viewer.take(rowsOf(motion), motion.events, this.facts(motion), true);
  }

  private facts(motion: Motion): string[] {
    const [joule, factor] = shownUnit(this.viewer.page, "J");
    return [
      motion.status,
      ...this.nominal.slice(1, -1),
      `|Psi| ≤ ${motion.error.position.toExponential(1)}`,
      `energy to ${(factor * motion.drift).toExponential(1)} ${joule}`,
      `${motion.steps} steps in ${this.engine.milliseconds.toFixed(1)} ms`,
    ];
  }

  /** What a run says about itself: why it stopped, or that its energy does not balance. */
  private tell(motion: Motion): void {
    if (motion.status === "stopped") this.say(motion.reason);
    else if (motion.doubtful) {
      this.say(`doubtful: the energy balance is off by ${shown((100 * motion.drift) / motion.turnedOver)} %; run it with linkwork`);
    } else this.say("");
  }

  private say(text: string, joint = ""): void {
    this.banner.textContent = text;
    this.banner.hidden = !text;
    this.stage.trouble = joint;
    this.viewer.request();
  }

  // dragging

  /** Whether what drivers prescribe leaves nothing to be pulled. */
  get isDriven(): boolean {
    return this.engine.live.analysis === "kinematics";
  }

  get anchors(): Anchors | undefined {
    return this.shape?.anchors;
  }

  /** Whether a point of a body can be moved by values. */
  canMove(body: number, s: Vec): boolean {
    if (!this.shape) return false;
    const { anchors } = this.shape;
    return this.shape.pointsAt(body, s, this.value).some((k) => solve(anchors, body, k, s, this.value).size > 0);
  }

  /** Values that move the points of a body at s to another place of it. */
  movePoint(body: number, s: Vec, to: Vec): void {
    if (!this.shape) return;
    for (const k of this.shape.pointsAt(body, s, this.value)) {
      for (const [name, value] of solve(this.shape.anchors, body, k, to, this.value)) this.give(name, value);
    }
    this.compute();
  }

  /** Where the points of a body at s are when values were to bring them to a place. */
  placeAfter(body: number, s: Vec, to: Vec): Vec {
    if (!this.shape) return s;
    const own = points(this.shape.anchors, this.value)[body];
    const nearest = own.reduce((a, b) => (far(a, to) <= far(b, to) ? a : b), own[0]);
    return [...nearest];
  }

  /** Where a point of a body is at the start. */
  placeAtStart(body: number, s: Vec): Vec {
    const [result] = this.viewer.results;
    const poses = new Float32Array(7 * result.data.scene.bodies.length);
    result.pose(result.start, poses);
    return this.stage.placeIn(poses, body, s);
  }

  /** The start moved so that a point comes near a place; the loops stay closed. */
  moveStart(body: number, s: Vec, to: Vec): void {
    const found = this.engine.drag(body, s, to);
    this.dragged = this.engine.live.bodies[body];
    if (isFailure(found)) this.say(found.text, found.joint);
    else this.compute();
  }

  // playing on

  playOn(on: boolean): void {
    if (!on) {
      this.stop();
      this.compute();
      return;
    }
    const play = this.engine.play();
    if (isFailure(play)) {
      this.say(play.text, play.joint);
      return;
    }
    if (this.pinned.getAttribute("aria-pressed") !== "true") this.viewer.results[0].others.length = 0;
    this.play = play;
    this.rolling = { t: [], poses: [], columns: [] };
    this.free.setAttribute("aria-pressed", "true");
    this.switches.hidden = false;
    this.showSwitches();
    this.say("");
    this.viewer.clock.playing = true;
    this.viewer.request();
  }

  /** Leave the motion as it was computed, and turn a driven mechanism by hand from a time on. */
  turnOnFrom(t: number): void {
    this.playOn(true);
    this.viewer.clock.playing = false;
    this.play?.turn(t - this.play.t);
  }

  /** Turn a driven mechanism until a point of a body is as near to a place as its way leads, on or back, or until it locks. */
  turn(body: number, s: Vec, to: Vec): void {
    const { play, viewer, engine, stage } = this;
    if (!play) return;
    viewer.clock.playing = false;
    const crank = { turn: (dt: number) => play.turn(dt), place: () => stage.placeIn(play.poses as Float32Array, body, s) };
    this.say(turnTowards(crank, to, engine.at("times").at(-1) ?? 1)?.text ?? "");
    this.record(play);
    viewer.request();
  }

  /** The hand has let go of what it held. */
  release(): void {
    this.play?.release();
    this.stage.hand = undefined;
  }

  private stop(): void {
    this.play?.end();
    this.play = undefined;
    this.stage.hand = undefined;
    this.free.setAttribute("aria-pressed", "false");
    this.switches.hidden = true;
    this.viewer.clock.playing = false;
  }

  private step(play: Play, passed: number): void {
    const { clock } = this.viewer;
    if (!clock.playing) return;
    const failure = play.step((Math.max(1, Math.min(passed, 50)) / 1000) * clock.speed);
    if (failure) {
      this.say(`${failure.text} (at t = ${shown(failure.t)} s)`);
      clock.playing = false;
    }
    this.record(play);
  }

  /** The last seconds of a motion that plays on, as rows that picture and plots show. */
  private record(play: Play): void {
    const rows = this.rolling;
    if (!rows) return;
    const [first, last] = [rows.t[0] ?? Number.POSITIVE_INFINITY, rows.t.at(-1) ?? Number.NEGATIVE_INFINITY];
    const isBack = play.t < first && rows.t.length > 0; // turned by hand to before all that was seen
    const kept = KEPT * this.viewer.clock.speed;
    const lists = [rows.t, rows.poses, rows.columns];
    if (isBack || play.t > last) {
      const row = [play.t, [...(play.poses ?? []).slice(7)], (play.quantities ?? []).map(({ values }) => values[0])];
      lists.forEach((list: unknown[], k) => (isBack ? list.unshift(row[k]) : list.push(row[k])));
      while (rows.t.length > 2 && (rows.t.at(-1) as number) - rows.t[0] > kept) for (const list of lists) isBack ? list.pop() : list.shift();
    }
    if (rows.t.length < 2) return;
    const columns = this.viewer.results[0].data.quantities.map((_, k) => Float64Array.from(rows.columns, (row) => row[k]));
    const taken = { t: Float64Array.from(rows.t), poses: Float32Array.from(rows.poses.flat()), column: (k: number) => columns[k] };
    const { clock } = this.viewer;
    const { playing } = clock;
    clock.time = clock.start; // so that taking over does not wrap it
    this.viewer.take(taken, [], ["plays on", ...this.nominal.slice(1, -1)], this.pictures++ % EVERY === 0);
    clock.time = play.t;
    clock.playing = playing;
  }

  private addSwitch(label: string, what: "gravity" | "damping"): void {
    const chip = button(label, `${label} on or off`, this.switches, () => {
      if (this.play) this.play[what] = !this.play[what];
      this.showSwitches();
    });
    chip.dataset.switch = what;
  }

  private showSwitches(): void {
    for (const chip of this.switches.querySelectorAll<HTMLButtonElement>("button[data-switch]")) {
      const what = chip.dataset.switch as "gravity" | "damping";
      chip.setAttribute("aria-pressed", String(this.play?.[what] ?? false));
    }
  }

  // what leaves the page

  private copy(text: string, what: string): void {
    this.settle();
    const done = () => this.say(`${what} copied`);
    const shownInstead = () => prompt(`Copy ${what}:`, text);
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, shownInstead);
    else shownInstead();
  }

  private saveTable(): void {
    const [result] = this.viewer.results;
    save(new Blob([toCsv(result)], { type: "text/csv" }), `${result.data.name.replaceAll("/", "_")}.csv`);
  }

  private savePicture(): void {
    const name = `${this.viewer.results[0].data.name.replaceAll("/", "_")}.png`;
    this.stage.renderer.domElement.toBlob((blob) => blob && save(blob, name));
  }
}
