// Planar mechanisms: all of the drawing in three draws, moved by the graphics card.

import { type BufferGeometry, type Mesh, OrthographicCamera, type RawShaderMaterial, Scene as Graph } from "three";
import { type Page, place, type Result, type Spot, type Vec } from "./data";
import { element } from "./dom";
import { poles } from "./kinematics";
import { Batch, PoseTexture, ribbonMaterial, SLOTS } from "./ribbons";
import { inside, metres, nice } from "./scale";
import { type Shown, Stage } from "./stage";
import { palette } from "./theme";

/** Which part of the plane is seen: its middle and how many metres a pixel is. */
export interface View {
  middle: Spot;
  metres: number;
}

type Drawn = Mesh<BufferGeometry, RawShaderMaterial>;

const BACK = 4; // the highest order of what lies below springs and rods
const ARROW = 0.17; // length of the usual arrow, of the largest extent
const LONGEST = 0.5;

export class PlanarStage extends Stage {
  private readonly camera = new OrthographicCamera(-1, 1, 1, -1, -10, 10);
  private readonly graph = new Graph();
  private readonly texture: PoseTexture;
  private readonly material: RawShaderMaterial;
  private readonly fixed: [Batch, Batch, Batch] = [new Batch(), new Batch(), new Batch()]; // behind, before, mass centres
  private readonly fixedMeshes: Drawn[];
  private readonly grid = new Batch();
  private readonly gridMesh: Drawn;
  private readonly moving = new Batch();
  private readonly movingMesh: Drawn;
  private readonly arrows = new Batch();
  private readonly arrowMesh: Drawn;
  private paths: { mesh: Drawn; whole: Drawn }[] = [];
  private readonly others: Drawn[] = []; // paths of other motions
  private readonly uprights: { body: number; at: Spot }[] = [];
  private readonly scale: HTMLElement;
  private readonly poleNames: HTMLElement[] = [];
  private metres = 1; // per pixel
  private middle: Spot = [0, 0];

  constructor(result: Result, page: Page, host: HTMLElement, shown: Shown, changed: () => void) {
    super(result, page, host, shown, changed);
    const { drawing, scene } = result.data;
    const bodies = scene.bodies.length;
    for (const outline of drawing.outlines) {
      if (outline.upright) this.uprights.push({ body: outline.body, at: outline.at });
    }
    this.texture = new PoseTexture(bodies + this.uprights.length);
    this.material = ribbonMaterial(this.texture);
    this.fixedMeshes = this.fixed.map((batch, k) => batch.mesh(this.material, [2, 4, 5][k]));
    this.reshape();
    this.gridMesh = this.grid.mesh(this.material, 0);
    this.movingMesh = this.moving.mesh(this.material, 3);
    this.arrowMesh = this.arrows.mesh(this.material, 6);
    this.graph.add(this.gridMesh, this.movingMesh, ...this.fixedMeshes, this.arrowMesh);
    this.scale = document.createElement("div");
    this.scale.className = "scale";
    host.append(this.scale);
    this.showGravity();
    this.pathsChanged();
    this.theme();
    this.listen();
  }

  /** All that is fixed in bodies, as the drawing is now. */
  reshape(): void {
    const { drawing, scene } = this.result.data;
    for (const batch of this.fixed) batch.clear();
    let upright = scene.bodies.length;
    for (const outline of drawing.outlines) {
      const style = this.page.styles[outline.role];
      const batch = this.fixed[outline.role === "centre" ? 2 : style.order <= BACK ? 0 : 1];
      const body = outline.upright ? upright++ : outline.body;
      for (const line of outline.lines) {
        if (outline.closed && style.fill) batch.fill(line, body, this.slot(style.fill, outline.body), style.opacity);
        if (style.stroke) {
          const half = 0.5 * style.width * drawing.unit;
          batch.stroke(line, outline.closed, half, body, this.slot(style.stroke, outline.body));
        }
      }
    }
    this.fixed.forEach((batch, k) => batch.refresh(this.fixedMeshes[k]));
    this.changed();
  }

  renew(): void {
    this.forget();
    this.pathsChanged();
  }

  private slot(color: string, body: number): number {
    if (color !== "body") return SLOTS.indexOf(color);
    return body === 0 ? SLOTS.indexOf("ink") : SLOTS.length + ((body - 1) % 8);
  }

  private get extent(): number {
    const [low, high] = this.result.data.drawing.box;
    return Math.max(high[0] - low[0], high[1] - low[1]);
  }

  get needed(): number {
    const [low, high] = this.seen;
    const room = Math.min(56, 0.12 * Math.min(this.width, this.height)); // for buttons and scale
    return Math.max(
      (high[0] - low[0]) / Math.max(this.width - room, 1),
      (high[1] - low[1]) / Math.max(this.height - 2 * room, 1),
    );
  }

  fit(needed: number): void {
    this.isFitted = true;
    const [low, high] = this.seen;
    this.middle = [(low[0] + high[0]) / 2, (low[1] + high[1]) / 2];
    this.metres = needed;
    this.look();
  }

  get view(): View {
    return { middle: [...this.middle], metres: this.metres };
  }

  set view({ middle, metres }: View) {
    this.middle = middle;
    this.metres = metres;
    this.isFitted = false; // somebody has chosen it
    this.look();
  }

  protected shift([x, y]: Vec): void {
    if (x === 0 && y === 0) return;
    this.middle = [this.middle[0] + x, this.middle[1] + y];
    this.look();
  }

  private showGravity(): void {
    const { gravity } = this.result.data.scene;
    if (!gravity[0] && !gravity[1]) return;
    const mark = element("div", "gravity", this.host);
    element("span", "", mark).textContent = "g";
    const arrow = element("b", "", mark);
    arrow.textContent = "↓";
    arrow.style.transform = `rotate(${-Math.atan2(gravity[1], gravity[0]) - Math.PI / 2}rad)`;
  }

  protected resized(): void {
    this.look();
  }

  /** The camera as place and scale say. */
  private look(): void {
    const [x, y] = this.middle;
    const [w, h] = [0.5 * this.width * this.metres, 0.5 * this.height * this.metres];
    Object.assign(this.camera, { left: x - w, right: x + w, bottom: y - h, top: y + h });
    this.camera.updateProjectionMatrix();
    this.material.uniforms.pixel.value = this.metres;
    this.drawGrid();
    this.changed();
  }

  private drawGrid(): void {
    const step = nice(70 * this.metres);
    const [x, y] = this.middle;
    const [w, h] = [0.5 * this.width * this.metres, 0.5 * this.height * this.metres];
    this.grid.clear();
    const slot = SLOTS.indexOf("grid");
    const line = (a: Spot, b: Spot, strong: boolean) => this.grid.stroke([a, b], false, strong ? -0.8 : -0.5, 0, slot);
    for (let k = Math.ceil((x - w) / step); k * step <= x + w; k++) line([k * step, y - h], [k * step, y + h], k === 0);
    for (let k = Math.ceil((y - h) / step); k * step <= y + h; k++) line([x - w, k * step], [x + w, k * step], k === 0);
    this.grid.refresh(this.gridMesh);
    this.scale.style.width = `${(step / this.metres).toFixed(1)}px`;
    this.scale.textContent = metres(step);
  }

  project(at: Vec): [number, number] {
    return [
      (at[0] - this.middle[0]) / this.metres + this.width / 2,
      this.height / 2 - (at[1] - this.middle[1]) / this.metres,
    ];
  }

  placeAt(x: number, y: number): Vec {
    return [...this.world(x, y), 0];
  }

  private world(x: number, y: number): Spot {
    return [
      this.middle[0] + (x - this.width / 2) * this.metres,
      this.middle[1] - (y - this.height / 2) * this.metres,
    ];
  }

  theme(): void {
    const colors = palette(this.result.data.colors);
    this.material.uniforms.palette.value = colors;
    this.renderer.setClearColor(colors[SLOTS.indexOf("paper")], 1);
    this.changed();
  }

  highlight(body: number): void {
    if (this.material.uniforms.hot.value === body) return;
    this.material.uniforms.hot.value = body;
    this.changed();
  }

  pathsChanged(): void {
    for (const { mesh, whole } of this.paths) {
      this.graph.remove(mesh, whole);
      mesh.geometry.dispose();
      whole.geometry.dispose();
    }
    this.paths = [];
    for (const mesh of this.others.splice(0)) {
      this.graph.remove(mesh);
      mesh.geometry.dispose();
    }
    for (const spot of this.spots) {
      if (!this.shown.paths.has(spot.name)) continue;
      const lineOf = (result: Result) => {
        const flat: Spot[] = [];
        this.path(result, spot, ([x, y]) => flat.push([x, y]));
        return flat;
      };
      const line = lineOf(this.result);
      for (const other of this.result.others) {
        const pale = new Batch();
        pale.stroke(lineOf(other), false, -1, 0, SLOTS.indexOf("trace"), 0.4);
        const mesh = pale.mesh(this.material, 1);
        this.graph.add(mesh);
        this.others.push(mesh);
      }
      const slot = this.slot("body", spot.body);
      const [faint, strong] = [new Batch(), new Batch()];
      faint.stroke(line, false, -0.9, 0, slot, 0.35);
      strong.stroke(line, false, -1.2, 0, slot);
      const pair = { mesh: strong.mesh(this.material, 1), whole: faint.mesh(this.material, 1) };
      this.graph.add(pair.whole, pair.mesh);
      this.paths.push(pair);
    }
    this.changed();
  }

  protected draw(): void {
    const poses = this.poses;
    const to = this.texture.numbers;
    const bodies = this.result.data.scene.bodies.length;
    for (let b = 0; b < bodies; b++) {
      const [c, s] = [poses[7 * b + 3], poses[7 * b + 6]]; // of half the angle
      to[4 * b] = poses[7 * b];
      to[4 * b + 1] = poses[7 * b + 1];
      to[4 * b + 2] = c * c - s * s;
      to[4 * b + 3] = 2 * c * s;
    }
    this.uprights.forEach(({ body, at }, k) => {
      const o = 4 * (bodies + k);
      to[o] = to[4 * body] + to[4 * body + 2] * at[0] - to[4 * body + 3] * at[1];
      to[o + 1] = to[4 * body + 1] + to[4 * body + 3] * at[0] + to[4 * body + 2] * at[1];
      to[o + 2] = 1;
      to[o + 3] = 0;
    });
    this.texture.texture.needsUpdate = true;
    this.drawStretches();
    this.drawArrows();
    this.drawPoles();
    const row = this.result.row(this.time);
    for (const { mesh } of this.paths) mesh.geometry.setDrawRange(0, 6 * row);
    this.gridMesh.visible = this.shown.grid;
    this.fixedMeshes[2].visible = this.shown.centres;
    this.renderer.render(this.graph, this.camera);
  }

  private drawStretches(): void {
    const { stretches, unit } = this.result.data.drawing;
    if (!stretches.length) return;
    const batch = this.moving;
    batch.clear();
    const [p, q]: [Vec, Vec] = [[0, 0, 0], [0, 0, 0]];
    for (const stretch of stretches) {
      const style = this.page.styles[stretch.role];
      place(this.poses, stretch.bodies[0], stretch.points[0], p);
      place(this.poses, stretch.bodies[1], stretch.points[1], q);
      const [dx, dy] = [q[0] - p[0], q[1] - p[1]];
      const length = Math.hypot(dx, dy);
      const [c, s] = length > 0 ? [dx / length, dy / length] : [1, 0];
      for (const local of stretch.lines) {
        const line = local.map(([a, b, w]): Spot => {
          const along = a * length + b;
          return [p[0] + c * along - s * w, p[1] + s * along + c * w];
        });
        if (stretch.closed && style.fill) batch.fill(line, 0, this.slot(style.fill, stretch.bodies[0]), style.opacity);
        const stroke = style.stroke ?? "ink";
        batch.stroke(line, stretch.closed, 0.5 * style.width * unit, 0, this.slot(stroke, stretch.bodies[0]));
      }
    }
    batch.refresh(this.movingMesh);
  }

  private drawArrows(): void {
    const batch = this.arrows;
    batch.clear();
    const [width, head] = [2.6 * this.metres, 11 * this.metres];
    const at: Vec = [0, 0, 0];
    if (this.hand) {
      const [x, y] = place(this.poses, this.hand.body, this.hand.s, at);
      this.arrows.arrow(x, y, this.hand.to[0] - x, this.hand.to[1] - y, width, head, SLOTS.indexOf("drive"));
    }
    if (this.shown.velocities) {
      const factor = (ARROW * this.extent) / this.speed;
      for (const spot of this.spots) {
        if (spot.body === 0 || !(spot.centre || this.shown.paths.has(spot.name))) continue;
        const name = this.result.data.scene.bodies[spot.body].name;
        const [vx, vy, omega] = ["vx", "vy", "omega"].map((part) => this.result.value(`${name}.${part}`, this.time) ?? 0);
        place(this.poses, spot.body, spot.s, at);
        const [rx, ry] = [at[0] - this.poses[7 * spot.body], at[1] - this.poses[7 * spot.body + 1]];
        this.arrow(at, factor * (vx - omega * ry), factor * (vy + omega * rx), width, head, "velocity");
      }
    }
    if (this.shown.reactions) {
      const factor = (ARROW * this.extent) / this.load;
      const f: Vec = [0, 0, 0];
      for (const joint of this.joints) {
        if (joint.points.length < 2 || !this.force(joint, f)) continue;
        place(this.poses, this.bodyOf(joint.bodies[1]), joint.points[1], at);
        this.arrow(at, factor * f[0], factor * f[1], width, head, "reaction");
      }
    }
    if (this.shown.applied) {
      const factor = (ARROW * this.extent) / this.load;
      for (const [where, f] of this.applied()) this.arrow(where, factor * f[0], factor * f[1], width, head, "load");
    }
  }

  /** Instant centres as crosses with the numbers of their two bodies. */
  private drawPoles(): void {
    const found = this.shown.poles ? poles(this.result, this.time) : [];
    for (const name of this.poleNames.splice(found.length)) name.remove();
    const [cross, slot] = [5 * this.metres, SLOTS.indexOf("reaction")];
    found.forEach(({ at: [x, y], name }, k) => {
      this.arrows.stroke([[x - cross, y - cross], [x + cross, y + cross]], false, -0.9, 0, slot);
      this.arrows.stroke([[x - cross, y + cross], [x + cross, y - cross]], false, -0.9, 0, slot);
      this.poleNames[k] ??= element("span", "pole", this.host);
      const [px, py] = this.project([x, y, 0]);
      this.poleNames[k].textContent = name;
      this.poleNames[k].style.transform = `translate(${px.toFixed(1)}px, ${py.toFixed(1)}px)`;
    });
    this.arrows.refresh(this.arrowMesh);
  }

  private arrow(at: Vec, dx: number, dy: number, width: number, head: number, slot: string): void {
    const most = LONGEST * this.extent;
    const length = Math.hypot(dx, dy);
    const cut = length > most ? most / length : 1;
    this.arrows.arrow(at[0], at[1], cut * dx, cut * dy, width, head, SLOTS.indexOf(slot));
  }

  protected bodyAt(x: number, y: number): number {
    const [wx, wy] = this.world(x, y);
    const outlines = this.result.data.drawing.outlines;
    for (let k = outlines.length - 1; k >= 0; k--) {
      const { body, closed, name, lines, upright } = outlines[k];
      if (!closed || !name || body === 0 || upright) continue;
      const o = 4 * body;
      const pose = this.texture.numbers;
      const [dx, dy] = [wx - pose[o], wy - pose[o + 1]];
      const local: Spot = [pose[o + 2] * dx + pose[o + 3] * dy, -pose[o + 3] * dx + pose[o + 2] * dy];
      if (lines.some((line) => inside(local, line))) return body;
    }
    return -1;
  }

  /** Dragging moves the picture, the wheel and two fingers change its scale about where they are. */
  private listen(): void {
    const canvas = this.renderer.domElement;
    const held = new Map<number, Spot>();
    const zoom = (factor: number, x: number, y: number) => {
      const [wx, wy] = this.world(x, y);
      this.isFitted = false;
      this.metres = Math.min(Math.max(this.metres / factor, 1e-9), 1e9);
      this.middle = [
        wx - (x - this.width / 2) * this.metres,
        wy + (y - this.height / 2) * this.metres,
      ];
      this.look();
    };
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      zoom(Math.exp(-0.0016 * event.deltaY), event.offsetX, event.offsetY);
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      held.set(event.pointerId, [event.offsetX, event.offsetY]);
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = held.get(event.pointerId);
      if (!before) return;
      const now: Spot = [event.offsetX, event.offsetY];
      if (held.size === 1) {
        this.isFitted = false;
        this.middle = [
          this.middle[0] - (now[0] - before[0]) * this.metres,
          this.middle[1] + (now[1] - before[1]) * this.metres,
        ];
        this.look();
      } else if (held.size === 2) {
        const other = [...held].find(([id]) => id !== event.pointerId)?.[1] ?? before;
        const ratio = Math.hypot(now[0] - other[0], now[1] - other[1]) / Math.hypot(before[0] - other[0], before[1] - other[1]);
        zoom(ratio, (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
      }
      held.set(event.pointerId, now);
    });
    for (const end of ["pointerup", "pointercancel"] as const) {
      canvas.addEventListener(end, (event) => held.delete(event.pointerId));
    }
  }
}
