// Spatial mechanisms: rods between the points of bodies, solids for joints and shapes, an eye that orbits.

import {
  BoxGeometry,
  BufferAttribute,
  BufferGeometry,
  Color,
  Curve,
  CylinderGeometry,
  DirectionalLight,
  Float32BufferAttribute,
  GridHelper,
  Group,
  HemisphereLight,
  Line,
  LineBasicMaterial,
  Matrix4,
  Mesh,
  MeshLambertMaterial,
  PerspectiveCamera,
  Raycaster,
  Scene as Graph,
  SphereGeometry,
  TubeGeometry,
  Vector2,
  Vector3,
} from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { ConvexGeometry } from "three/addons/geometries/ConvexGeometry.js";
import { Arrows } from "./arrows";
import { Compass } from "./compass";
import { bytes, type Page, place, type Result, type Solid, type Stretch, type Vec } from "./data";
import { element } from "./dom";
import { SLOTS } from "./ribbons";
import { metres, nice } from "./scale";
import { type Shown, Stage } from "./stage";
import { cssColor, palette } from "./theme";

const Y = new Vector3(0, 1, 0);
const COILS = 7;
const SHEER = ["plate", "floor"]; // roles of what is seen through
const THIN = 0.2; // units of half the thickness of the wire of a spring

/** A plate of triangles about its first corner, seen from both sides. */
function fan(corners: Vec[]): BufferGeometry {
  const triangles = corners.slice(2).flatMap((p, k) => [corners[0], corners[k + 1], p, p, corners[k + 1], corners[0]]);
  const geometry = new BufferGeometry().setAttribute("position", new Float32BufferAttribute(triangles.flat(), 3));
  geometry.computeVertexNormals();
  return geometry;
}

function surfaceOf([corners, triangles]: [string, string]): BufferGeometry {
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(new Float32Array(bytes(corners)), 3));
  geometry.setIndex(new BufferAttribute(new Uint32Array(bytes(triangles)), 1));
  const flat = geometry.toNonIndexed(); // edges of machine parts are sharp
  flat.computeVertexNormals();
  return flat;
}

/** A wire about the y axis from 0 to 1 with straight ends, as long as it is wide where it is drawn. */
class Coil extends Curve<Vector3> {
  constructor(
    readonly radius: number,
    readonly first: number,
    readonly last: number,
  ) {
    super();
  }

  override getPoint(t: number, out = new Vector3()): Vector3 {
    const part = (t - this.first) / (this.last - this.first);
    const inside = Math.min(1, Math.min(part, 1 - part) * 2 * COILS);
    const radius = part > 0 && part < 1 ? this.radius * inside : 0;
    const turn = 2 * Math.PI * COILS * part;
    return out.set(radius * Math.cos(turn), t, radius * Math.sin(turn));
  }
}

/** What stretches between two points: tubes and wires, each from one place (a, b) of the line to another. */
interface Piece {
  mesh: Mesh;
  from: [number, Vec];
  to: [number, Vec];
  low: [number, number];
  high: [number, number];
}

export class SpatialStage extends Stage {
  private readonly camera = new PerspectiveCamera(35, 1, 0.01, 1000);
  private readonly graph = new Graph();
  private readonly controls: OrbitControls;
  private readonly bodies: Group[] = [];
  private readonly materials: MeshLambertMaterial[] = []; // of the bodies, the ground first
  private readonly sheer: MeshLambertMaterial[] = [];
  private readonly inks = new Map<string, MeshLambertMaterial>();
  private readonly pieces: Piece[] = [];
  private readonly paths = new Group();
  private readonly arrows = new Arrows();
  private readonly floor: GridHelper;
  private readonly cell: HTMLElement;
  private readonly compass: Compass;
  private readonly places: [Vector3, Vector3] = [new Vector3(), new Vector3()];
  private readonly seenAt = new Vector3();
  private hot = -1;

  constructor(result: Result, page: Page, host: HTMLElement, shown: Shown, changed: () => void) {
    super(result, page, host, shown, changed);
    const { scene, drawing } = result.data;
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, this.renderer.domElement);
    this.controls.addEventListener("change", changed);
    this.controls.addEventListener("start", () => {
      this.isFitted = false;
    });
    const light = new DirectionalLight(0xffffff, 2.4);
    light.position.set(-2, -3, 5);
    this.graph.add(new HemisphereLight(0xffffff, 0x9aa6b4, 3.2), light, this.paths, this.arrows);
    const step = nice(0.1 * this.extent);
    const cells = 2 * Math.ceil((2 * this.extent) / step);
    this.floor = new GridHelper(cells * step, cells);
    this.floor.rotation.x = Math.PI / 2;
    const [low, high] = drawing.box;
    const middle = (k: number) => step * Math.round((low[k] + high[k]) / 2 / step);
    this.floor.position.set(middle(0), middle(1), low[2] - 2 * drawing.unit);
    this.graph.add(this.floor);
    this.cell = element("div", "cell", host);
    this.cell.textContent = `squares of ${metres(step)}`;
    this.compass = new Compass(host, scene.gravity);
    scene.bodies.forEach((_, k) => {
      const group = new Group();
      this.materials.push(new MeshLambertMaterial({ side: 2 })); // meshes of users face either way
      this.sheer.push(new MeshLambertMaterial({ transparent: true, opacity: k ? 0.5 : 0.16, side: 2, depthWrite: false }));
      group.userData.body = k;
      this.bodies.push(group);
      this.graph.add(group);
    });
    this.reshape();
    this.theme();
    this.pathsChanged();
  }

  override end(): void {
    this.controls.dispose(); // it listens to the keys of the whole page
    super.end();
  }

  /** All rods, solids and what stretches, as the drawing is now. */
  reshape(): void {
    const { drawing } = this.result.data;
    for (const mesh of [...this.bodies.flatMap(({ children }) => children as Mesh[]), ...this.pieces.map(({ mesh }) => mesh)]) {
      mesh.geometry.dispose();
    }
    for (const group of this.bodies) group.clear();
    for (const { mesh } of this.pieces.splice(0)) this.graph.remove(mesh);
    for (const stretch of drawing.stretches) {
      if (stretch.role === "limb") this.rod(stretch.bodies[0], stretch.points[0], stretch.points[1], drawing.unit);
      else stretch.lines.forEach((_, k) => this.stretch(stretch, k));
    }
    for (const solid of drawing.solids) this.solid(solid);
    this.bodies.forEach((group, k) => {
      if (k === 0 || group.children.length) return;
      const side = 4 * drawing.unit;
      group.add(new Mesh(new BoxGeometry(side, side, side), this.materials[k]));
    });
    this.changed();
  }

  renew(): void {
    this.forget();
    this.pathsChanged();
  }

  /** On the plane through a place that the eye looks at from the front. */
  placeAt(x: number, y: number, as: Vec): Vec {
    const depth = new Vector3(...as).project(this.camera).z;
    const found = new Vector3((2 * x) / this.width - 1, 1 - (2 * y) / this.height, depth).unproject(this.camera);
    return [found.x, found.y, found.z];
  }

  private get extent(): number {
    const [low, high] = this.result.data.drawing.box;
    return Math.max(...low.map((x, k) => high[k] - x));
  }

  private rod(body: number, p: Vec, q: Vec, radius: number): void {
    const [from, to] = [new Vector3(...p), new Vector3(...q)];
    const along = to.clone().sub(from);
    const mesh = new Mesh(new CylinderGeometry(radius, radius, along.length(), 20), this.materials[body]);
    mesh.position.copy(from).addScaledVector(along, 0.5);
    mesh.quaternion.setFromUnitVectors(Y, along.normalize());
    this.bodies[body].add(mesh);
  }

  /** The symbol of a joint, or the shape of a body. */
  private solid({ body, role, form, at, size, z, x, corners, surface }: Solid): void {
    const along = new Vector3(...z);
    const across = new Vector3(...x);
    const forms = {
      cylinder: () => new CylinderGeometry(size[0], size[0], size[1], 28),
      ball: () => new SphereGeometry(size[0], 24, 16),
      box: () => new BoxGeometry(...size),
      plate: () => fan(corners),
      mesh: () => surfaceOf(surface ?? ["", ""]),
      hull: () => new ConvexGeometry(corners.map((corner) => new Vector3(...corner))),
    };
    const look = SHEER.includes(role) ? this.sheer[body] : this.materials[role === "shape" || role === "gear" ? body : 0];
    const mesh = new Mesh(forms[form](), look);
    mesh.position.set(...at);
    if (form === "cylinder") mesh.quaternion.setFromUnitVectors(Y, along);
    if (form === "box") mesh.quaternion.setFromRotationMatrix(new Matrix4().makeBasis(across, along.clone().cross(across), along));
    this.bodies[body].add(mesh);
  }

  /** A closed line is the outline of a tube about the line between the points, an open one a wire that winds about it. */
  private stretch({ role, bodies, points, closed, lines }: Stretch, k: number): void {
    const line = lines[k];
    const radius = Math.max(...line.map(([, , w]) => Math.abs(w)));
    const [p, q] = [place(this.poses, bodies[0], points[0], [0, 0, 0]), place(this.poses, bodies[1], points[1], [0, 0, 0])];
    const length = Math.hypot(q[0] - p[0], q[1] - p[1], q[2] - p[2]) || 1;
    const thin = THIN * this.result.data.drawing.unit;
    const wound = line.filter(([, , w]) => w !== 0).map(([a]) => a);
    // a wire is as thick along the line as across it at the first pose
    const geometry = closed
      ? new CylinderGeometry(radius, radius, 1, 20).translate(0, 0.5, 0)
      : new TubeGeometry(new Coil(radius / length, Math.min(...wound), Math.max(...wound)), 24 * COILS, thin / length, 6);
    if (!closed) geometry.scale(length, 1, length);
    const ink = k < lines.length - 1 ? "trace" : (this.page.styles[role].stroke ?? "ink"); // the rod of a telescope is pale
    if (!this.inks.has(ink)) this.inks.set(ink, new MeshLambertMaterial());
    const mesh = new Mesh(geometry, this.inks.get(ink));
    mesh.frustumCulled = false;
    this.graph.add(mesh);
    const [low, high] = [line[0], line[closed ? 1 : line.length - 1]];
    this.pieces.push({
      mesh, from: [bodies[0], points[0]], to: [bodies[1], points[1]], low: [low[0], low[1]], high: [high[0], high[1]],
    });
  }

  get needed(): number {
    const [low, high] = this.seen;
    const half = 0.5 * Math.hypot(...low.map((x, k) => high[k] - x));
    return (0.9 * half) / Math.tan((this.camera.fov * Math.PI) / 360) / Math.min(1, this.camera.aspect);
  }

  fit(needed: number): void {
    this.isFitted = true;
    const [low, high] = this.seen;
    const middle = new Vector3(...low).add(new Vector3(...high)).multiplyScalar(0.5);
    this.camera.position.copy(middle).add(new Vector3(0.62, -0.68, 0.4).normalize().multiplyScalar(needed));
    this.camera.near = needed / 100;
    this.camera.far = needed * 20 + 4 * this.extent;
    this.camera.updateProjectionMatrix();
    this.controls.target.copy(middle);
    this.controls.update();
    this.changed();
  }

  protected shift(by: Vec): void {
    this.seenAt.set(...by);
    this.camera.position.add(this.seenAt);
    this.controls.target.add(this.seenAt);
    this.camera.updateMatrixWorld();
  }

  protected resized(): void {
    this.camera.aspect = this.width / this.height;
    this.camera.updateProjectionMatrix();
  }

  project(at: Vec): [number, number] {
    const v = this.seenAt.set(...at).project(this.camera);
    return [((v.x + 1) * this.width) / 2, ((1 - v.y) * this.height) / 2];
  }

  theme(): void {
    const colors = palette(this.result.data.colors);
    const named = (name: string) => colors[SLOTS.indexOf(name)];
    this.renderer.setClearColor(named("paper"), 1);
    for (const looks of [this.materials, this.sheer]) {
      looks.forEach((look, k) => {
        if (k) look.color.copy(colors[SLOTS.length + ((k - 1) % 8)]);
        else look.color.copy(named("ink")).lerp(named("paper"), 0.35);
      });
    }
    for (const [name, look] of this.inks) look.color.copy(named(name)).lerp(named("paper"), name === "ink" ? 0.25 : 0);
    const grid = this.floor.material as LineBasicMaterial;
    grid.vertexColors = false;
    grid.color.copy(named("grid"));
    grid.needsUpdate = true;
    this.changed();
  }

  highlight(body: number): void {
    if (this.hot === body) return;
    this.hot = body;
    for (const looks of [this.materials, this.sheer]) {
      looks.forEach((look, k) => look.emissive.setHex(k > 0 && k === body ? 0x333333 : 0));
    }
    this.changed();
  }

  pathsChanged(): void {
    for (const path of this.paths.children as Line<BufferGeometry, LineBasicMaterial>[]) {
      path.geometry.dispose();
      path.material.dispose();
    }
    this.paths.clear();
    const colors = palette(this.result.data.colors);
    for (const spot of this.spots) {
      if (!this.shown.paths.has(spot.name)) continue;
      for (const result of [...this.result.others, this.result]) {
        const line: number[] = [];
        this.path(result, spot, (at) => line.push(...at));
        const geometry = new BufferGeometry().setAttribute("position", new Float32BufferAttribute(line, 3));
        const color = result === this.result ? colors[SLOTS.length + ((spot.body - 1) % 8)] : new Color(cssColor("other"));
        this.paths.add(new Line(geometry, new LineBasicMaterial({ color })));
      }
    }
    this.changed();
  }

  protected draw(): void {
    const poses = this.poses;
    this.bodies.forEach((group, k) => {
      const o = 7 * k;
      group.position.set(poses[o], poses[o + 1], poses[o + 2]);
      group.quaternion.set(poses[o + 4], poses[o + 5], poses[o + 6], poses[o + 3]);
    });
    const [p, u] = this.places;
    for (const { mesh, from, to, low, high } of this.pieces) {
      p.set(...place(poses, ...from, this.here));
      u.set(...place(poses, ...to, this.here)).sub(p);
      const length = u.length() || 1e-12;
      const [first, last] = [low[0] * length + low[1], high[0] * length + high[1]];
      u.divideScalar(length);
      mesh.quaternion.setFromUnitVectors(Y, u);
      mesh.position.copy(p).addScaledVector(u, first);
      mesh.scale.y = Math.max(last - first, 1e-6 * length);
    }
    this.drawArrows();
    this.floor.visible = this.shown.grid;
    this.cell.hidden = !this.shown.grid;
    this.renderer.render(this.graph, this.camera);
    this.compass.show(this.camera);
  }

  private drawArrows(): void {
    this.arrows.hide();
    const { velocities, reactions, applied } = this.shown;
    if (!(velocities || reactions || applied || this.hand)) return;
    const colors = palette(this.result.data.colors);
    const { unit } = this.result.data.drawing;
    const add = (at: Vec, v: Vec, usual: number, slot: string) => {
      const length = Math.min((0.2 * Math.hypot(...v)) / usual, 0.5) * this.extent;
      this.arrows.arrow(at, v, length, 0.35 * unit, colors[SLOTS.indexOf(slot)]);
    };
    if (this.hand) {
      const from = place(this.poses, this.hand.body, this.hand.s, [0, 0, 0]);
      const way = this.hand.to.map((x, k) => x - from[k]) as Vec;
      this.arrows.arrow(from, way, Math.hypot(...way), 0.35 * unit, colors[SLOTS.indexOf("drive")]);
    }
    if (velocities) {
      for (const { body, centre } of this.spots) {
        if (!centre) continue;
        const name = this.result.data.scene.bodies[body].name;
        const v = ["vx", "vy", "vz"].map((part) => this.result.value(`${name}.${part}`, this.time) ?? 0) as Vec;
        add(place(this.poses, body, [0, 0, 0], this.here), v, this.speed, "velocity");
      }
    }
    if (reactions) {
      const f: Vec = [0, 0, 0];
      for (const joint of this.joints) {
        if (joint.points.length < 2 || !this.force(joint, f)) continue;
        add(place(this.poses, this.bodyOf(joint.bodies[1]), joint.points[1], this.here), f, this.load, "reaction");
      }
    }
    if (applied) for (const [at, f] of this.applied()) add(at, f, this.load, "load");
  }

  protected bodyAt(x: number, y: number): number {
    const ray = new Raycaster();
    ray.setFromCamera(new Vector2((2 * x) / this.width - 1, 1 - (2 * y) / this.height), this.camera);
    const hit = ray.intersectObjects(this.bodies, true)[0];
    return hit ? (hit.object.parent?.userData.body ?? -1) : -1;
  }
}
