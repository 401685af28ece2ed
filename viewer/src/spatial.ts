// Spatial mechanisms: rods between the points of bodies, solids for joints and shapes, an eye that orbits.

import {
  ArrowHelper,
  BoxGeometry,
  BufferGeometry,
  Color,
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
  Quaternion,
  Raycaster,
  Scene as Graph,
  SphereGeometry,
  Vector2,
  Vector3,
} from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { type Page, place, type Result, type Solid, type Vec } from "./data";
import { SLOTS } from "./ribbons";
import { type Shown, Stage } from "./stage";
import { palette } from "./theme";

const Y = new Vector3(0, 1, 0);

/** A plate of triangles about its first corner, seen from both sides. */
function fan(corners: Vec[]): BufferGeometry {
  const triangles = corners.slice(2).flatMap((p, k) => [corners[0], corners[k + 1], p, p, corners[k + 1], corners[0]]);
  const geometry = new BufferGeometry().setAttribute("position", new Float32BufferAttribute(triangles.flat(), 3));
  geometry.computeVertexNormals();
  return geometry;
}

export class SpatialStage extends Stage {
  private readonly camera = new PerspectiveCamera(35, 1, 0.01, 1000);
  private readonly graph = new Graph();
  private readonly controls: OrbitControls;
  private readonly bodies: Group[] = [];
  private readonly materials: MeshLambertMaterial[] = [];
  private readonly neutral = new MeshLambertMaterial();
  private readonly springs: { line: Line; from: [number, Vec]; to: [number, Vec]; pieces: Vec[] }[] = [];
  private readonly paths = new Group();
  private readonly arrows = new Group();
  private readonly speed = this.usualSpeed();
  private readonly load = this.usualLoad();
  private readonly floor: GridHelper;
  private hot = -1;

  constructor(result: Result, page: Page, host: HTMLElement, shown: Shown, changed: () => void) {
    super(result, page, host, shown, changed);
    const { scene, drawing } = result.data;
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, this.renderer.domElement);
    this.controls.addEventListener("change", changed);
    const light = new DirectionalLight(0xffffff, 2.4);
    light.position.set(-2, -3, 5);
    this.graph.add(new HemisphereLight(0xffffff, 0x9aa6b4, 3.2), light, this.paths, this.arrows);
    this.floor = new GridHelper(4 * this.extent, 40);
    this.floor.rotation.x = Math.PI / 2;
    this.floor.position.z = drawing.box[0][2] - 2 * drawing.unit;
    this.graph.add(this.floor);
    scene.bodies.forEach((_, k) => {
      const group = new Group();
      const material = k === 0 ? this.neutral : new MeshLambertMaterial();
      if (k > 0) this.materials.push(material);
      group.userData.body = k;
      this.bodies.push(group);
      this.graph.add(group);
    });
    for (const limb of drawing.stretches) {
      if (limb.role === "limb") this.rod(limb.bodies[0], limb.points[0], limb.points[1], drawing.unit);
      else this.spring(limb.bodies, limb.points, limb.lines[0]);
    }
    for (const solid of drawing.solids) this.solid(solid);
    scene.bodies.forEach((_, k) => {
      if (k > 0 && !this.bodies[k].children.length) this.add(k, new BoxGeometry(4 * drawing.unit, 4 * drawing.unit, 4 * drawing.unit));
    });
    this.theme();
    this.pathsChanged();
  }

  private get extent(): number {
    const [low, high] = this.result.data.drawing.box;
    return Math.max(...low.map((x, k) => high[k] - x));
  }

  private add(body: number, geometry: BufferGeometry): Mesh {
    const mesh = new Mesh(geometry, body === 0 ? this.neutral : this.materials[body - 1]);
    this.bodies[body].add(mesh);
    return mesh;
  }

  private rod(body: number, p: Vec, q: Vec, radius: number): void {
    const [from, to] = [new Vector3(...p), new Vector3(...q)];
    const along = to.clone().sub(from);
    const mesh = this.add(body, new CylinderGeometry(radius, radius, along.length(), 20));
    mesh.position.copy(from).addScaledVector(along, 0.5);
    mesh.quaternion.setFromUnitVectors(Y, along.normalize());
  }

  /** The symbol of a joint, or the shape of a body. */
  private solid({ body, role, form, at, size, z, x, corners }: Solid): void {
    const along = new Vector3(...z);
    const across = new Vector3(...x);
    const forms = {
      cylinder: () => new CylinderGeometry(size[0], size[0], size[1], 28),
      ball: () => new SphereGeometry(size[0], 24, 16),
      box: () => new BoxGeometry(...size),
      plate: () => fan(corners),
    };
    const mesh = this.add(role === "shape" || role === "gear" ? body : 0, forms[form]());
    mesh.position.set(...at);
    if (form === "cylinder") mesh.quaternion.setFromUnitVectors(Y, along);
    if (form === "box") mesh.quaternion.setFromRotationMatrix(new Matrix4().makeBasis(across, along.clone().cross(across), along));
    this.bodies[body].add(mesh);
  }

  private spring(bodies: [number, number], points: [Vec, Vec], pieces: Vec[]): void {
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", new Float32BufferAttribute(new Float32Array(3 * pieces.length), 3));
    const line = new Line(geometry, new LineBasicMaterial());
    line.frustumCulled = false;
    this.graph.add(line);
    this.springs.push({ line, from: [bodies[0], points[0]], to: [bodies[1], points[1]], pieces });
  }

  fit(): void {
    const [low, high] = this.result.data.drawing.box;
    const middle = new Vector3(...low).add(new Vector3(...high)).multiplyScalar(0.5);
    const half = 0.5 * new Vector3(...low).distanceTo(new Vector3(...high));
    const distance = (0.9 * half) / Math.tan((this.camera.fov * Math.PI) / 360) / Math.min(1, this.camera.aspect);
    this.camera.position.copy(middle).add(new Vector3(0.62, -0.68, 0.4).normalize().multiplyScalar(distance));
    this.camera.near = distance / 100;
    this.camera.far = distance * 20;
    this.camera.updateProjectionMatrix();
    this.controls.target.copy(middle);
    this.controls.update();
    this.changed();
  }

  protected resized(): void {
    this.camera.aspect = this.width / this.height;
    this.camera.updateProjectionMatrix();
  }

  project(at: Vec): [number, number] {
    const v = new Vector3(...at).project(this.camera);
    return [((v.x + 1) * this.width) / 2, ((1 - v.y) * this.height) / 2];
  }

  theme(): void {
    const colors = palette(this.result.data.colors);
    const named = (name: string) => colors[SLOTS.indexOf(name)];
    this.renderer.setClearColor(named("paper"), 1);
    this.neutral.color.copy(named("ink")).lerp(named("paper"), 0.35);
    this.materials.forEach((material, k) => material.color.copy(colors[SLOTS.length + (k % 8)]));
    for (const { line } of this.springs) (line.material as LineBasicMaterial).color.copy(named("ink"));
    const grid = this.floor.material as LineBasicMaterial;
    grid.vertexColors = false;
    grid.color.copy(named("grid"));
    grid.needsUpdate = true;
    this.changed();
  }

  highlight(body: number): void {
    if (this.hot === body) return;
    this.hot = body;
    this.materials.forEach((material, k) => material.emissive.copy(new Color(k + 1 === body ? 0x333333 : 0)));
    this.changed();
  }

  pathsChanged(): void {
    this.paths.clear();
    const poses = new Float32Array(this.poses.length);
    const colors = palette(this.result.data.colors);
    for (const spot of this.spots) {
      if (!this.shown.paths.has(spot.name)) continue;
      const line: number[] = [];
      for (const t of this.result.t) {
        this.result.pose(t, poses);
        line.push(...place(poses, spot.body, spot.s, [0, 0, 0]));
      }
      const geometry = new BufferGeometry().setAttribute("position", new Float32BufferAttribute(line, 3));
      const color = colors[SLOTS.length + ((spot.body - 1) % 8)];
      this.paths.add(new Line(geometry, new LineBasicMaterial({ color })));
    }
    this.changed();
  }

  protected draw(): void {
    this.bodies.forEach((group, k) => {
      const o = 7 * k;
      group.position.set(this.poses[o], this.poses[o + 1], this.poses[o + 2]);
      group.quaternion.copy(new Quaternion(this.poses[o + 4], this.poses[o + 5], this.poses[o + 6], this.poses[o + 3]));
    });
    for (const { line, from, to, pieces } of this.springs) {
      const p = new Vector3(...place(this.poses, ...from, [0, 0, 0]));
      const d = new Vector3(...place(this.poses, ...to, [0, 0, 0])).sub(p);
      const u = d.clone().normalize();
      const n = new Vector3(0, 0, 1).cross(u);
      if (n.lengthSq() < 1e-9) n.set(1, 0, 0);
      n.normalize();
      const at = line.geometry.getAttribute("position");
      pieces.forEach(([a, b, w], k) => {
        const spot = p.clone().addScaledVector(d, a).addScaledVector(u, b).addScaledVector(n, w);
        at.setXYZ(k, spot.x, spot.y, spot.z);
      });
      at.needsUpdate = true;
    }
    this.drawArrows();
    this.floor.visible = this.shown.grid;
    this.renderer.render(this.graph, this.camera);
  }

  private drawArrows(): void {
    for (const arrow of this.arrows.children as ArrowHelper[]) arrow.dispose();
    this.arrows.clear();
    const colors = palette(this.result.data.colors);
    const add = (at: Vec, v: Vec, usual: number, slot: string) => {
      const size = Math.hypot(...v);
      const length = Math.min((0.2 * size) / usual, 0.5) * this.extent;
      if (!(length > 0)) return;
      const head = Math.min(0.05 * this.extent, length);
      const color = colors[SLOTS.indexOf(slot)];
      this.arrows.add(new ArrowHelper(new Vector3(...v).normalize(), new Vector3(...at), length, color, head, 0.5 * head));
    };
    if (this.shown.velocities) {
      for (const { body, centre } of this.spots) {
        if (!centre) continue;
        const name = this.result.data.scene.bodies[body].name;
        const v = ["vx", "vy", "vz"].map((part) => this.result.value(`${name}.${part}`, this.time) ?? 0) as Vec;
        add(place(this.poses, body, [0, 0, 0], [0, 0, 0]), v, this.speed, "velocity");
      }
    }
    if (this.shown.reactions) {
      const f: Vec = [0, 0, 0];
      for (const joint of this.joints) {
        if (joint.points.length < 2 || !this.force(joint, f)) continue;
        add(place(this.poses, this.bodyOf(joint.bodies[1]), joint.points[1], [0, 0, 0]), f, this.load, "reaction");
      }
    }
    if (this.shown.applied) for (const [at, f] of this.applied()) add(at, f, this.load, "load");
  }

  protected bodyAt(x: number, y: number): number {
    const ray = new Raycaster();
    ray.setFromCamera(new Vector2((2 * x) / this.width - 1, 1 - (2 * y) / this.height), this.camera);
    const hit = ray.intersectObjects(this.bodies, true)[0];
    return hit ? (hit.object.parent?.userData.body ?? -1) : -1;
  }
}
