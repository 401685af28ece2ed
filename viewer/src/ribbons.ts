// Outlines as triangles: everything planar is drawn by one shader, which moves each vertex with its body.

import {
  BufferAttribute,
  BufferGeometry,
  Color,
  DataTexture,
  DynamicDrawUsage,
  FloatType,
  GLSL3,
  InterleavedBuffer,
  InterleavedBufferAttribute,
  Mesh,
  RawShaderMaterial,
  RGBAFormat,
  ShapeUtils,
  Vector2,
} from "three";
import type { Spot } from "./data";

const STRIDE = 8; // x, y, offset x, offset y, half width, body, color, opacity
export const SLOTS = ["ink", "paper", "drive", "load", "grid", "trace", "velocity", "reaction"];
export const BODY_COLORS = 8;

/** Triangles under way to the graphics card. A half width below zero counts in pixels. */
export class Batch {
  private numbers = new Float32Array(STRIDE * 256);
  private corners = new Uint32Array(768);
  vertices = 0;
  indices = 0;

  clear(): void {
    this.vertices = 0;
    this.indices = 0;
  }

  vertex(x: number, y: number, ox: number, oy: number, half: number, body: number, slot: number, alpha: number): number {
    if ((this.vertices + 1) * STRIDE > this.numbers.length) {
      const larger = new Float32Array(2 * this.numbers.length);
      larger.set(this.numbers);
      this.numbers = larger;
    }
    const o = this.vertices * STRIDE;
    const n = this.numbers;
    n[o] = x;
    n[o + 1] = y;
    n[o + 2] = ox;
    n[o + 3] = oy;
    n[o + 4] = half;
    n[o + 5] = body;
    n[o + 6] = slot;
    n[o + 7] = alpha;
    return this.vertices++;
  }

  triangle(a: number, b: number, c: number): void {
    if (this.indices + 3 > this.corners.length) {
      const larger = new Uint32Array(2 * this.corners.length);
      larger.set(this.corners);
      this.corners = larger;
    }
    this.corners[this.indices++] = a;
    this.corners[this.indices++] = b;
    this.corners[this.indices++] = c;
  }

  fill(line: Spot[], body: number, slot: number, alpha: number): void {
    const first = this.vertices;
    for (const [x, y] of line) this.vertex(x, y, 0, 0, 0, body, slot, alpha);
    const contour = line.map(([x, y]) => new Vector2(x, y));
    for (const [a, b, c] of ShapeUtils.triangulateShape(contour, [])) this.triangle(first + a, first + b, first + c);
  }

  /** A line as a ribbon with mitred corners; two vertices for every corner, six indices for every piece. */
  stroke(line: Spot[], closed: boolean, half: number, body: number, slot: number, alpha = 1): void {
    const n = line.length;
    if (n < 2) return;
    const first = this.vertices;
    const along = (k: number): Spot => {
      const [p, q] = [line[k % n], line[(k + 1) % n]];
      const [dx, dy] = [q[0] - p[0], q[1] - p[1]];
      const length = Math.hypot(dx, dy) || 1;
      return [dx / length, dy / length];
    };
    for (let k = 0; k < n; k++) {
      const after = closed || k < n - 1 ? along(k) : along(k - 1);
      const before = closed || k > 0 ? along(k === 0 ? n - 1 : k - 1) : after;
      let [mx, my] = [-(before[1] + after[1]), before[0] + after[0]];
      const size = Math.hypot(mx, my);
      if (size < 1e-6) [mx, my] = [-after[1], after[0]];
      else {
        const stretch = Math.min(2 / size, 2.4) / size; // 1/cos of half the turn, limited
        [mx, my] = [mx * stretch, my * stretch];
      }
      const [x, y] = line[k];
      this.vertex(x, y, mx, my, half, body, slot, alpha);
      this.vertex(x, y, -mx, -my, half, body, slot, alpha);
    }
    const pieces = closed ? n : n - 1;
    for (let k = 0; k < pieces; k++) {
      const a = first + 2 * k;
      const b = first + 2 * ((k + 1) % n);
      this.triangle(a, a + 1, b);
      this.triangle(b, a + 1, b + 1);
    }
  }

  /** An arrow from a tail to a tip, its head at most as long as itself; sizes are in metres. */
  arrow(x: number, y: number, dx: number, dy: number, width: number, head: number, slot: number): void {
    const length = Math.hypot(dx, dy);
    if (!(length > 0.3 * width)) return;
    const [c, s] = [dx / length, dy / length];
    const h = Math.min(head, length);
    const [bx, by] = [x + c * (length - h), y + s * (length - h)];
    if (length > h) this.stroke([[x, y], [bx, by]], false, width / 2, 0, slot);
    const a = this.vertex(x + dx, y + dy, 0, 0, 0, 0, slot, 1);
    const b = this.vertex(bx - s * h * 0.42, by + c * h * 0.42, 0, 0, 0, 0, slot, 1);
    const d = this.vertex(bx + s * h * 0.42, by - c * h * 0.42, 0, 0, 0, 0, slot, 1);
    this.triangle(a, b, d);
  }

  /** The batch as a mesh; what changes every frame is brought up to date by `refresh`. */
  mesh(material: RawShaderMaterial, order: number): Mesh<BufferGeometry, RawShaderMaterial> {
    const mesh = new Mesh(new BufferGeometry(), material);
    mesh.frustumCulled = false;
    mesh.renderOrder = order;
    this.refresh(mesh);
    return mesh;
  }

  refresh(mesh: Mesh<BufferGeometry, RawShaderMaterial>): void {
    const geometry = mesh.geometry;
    const old = geometry.getAttribute("position") as InterleavedBufferAttribute | undefined;
    const index = geometry.getIndex();
    if (!old || old.data.array !== this.numbers || !index || index.array !== this.corners) {
      geometry.dispose();
      mesh.geometry = new BufferGeometry();
      const buffer = new InterleavedBuffer(this.numbers, STRIDE).setUsage(DynamicDrawUsage);
      const part = (size: number, at: number) => new InterleavedBufferAttribute(buffer, size, at);
      mesh.geometry.setAttribute("position", part(2, 0));
      mesh.geometry.setAttribute("offset", part(2, 2));
      mesh.geometry.setAttribute("half_width", part(1, 4));
      mesh.geometry.setAttribute("body", part(1, 5));
      mesh.geometry.setAttribute("slot", part(1, 6));
      mesh.geometry.setAttribute("alpha", part(1, 7));
      mesh.geometry.setIndex(new BufferAttribute(this.corners, 1).setUsage(DynamicDrawUsage));
    } else {
      // only what is in use goes to the card
      old.data.clearUpdateRanges();
      old.data.addUpdateRange(0, this.vertices * STRIDE);
      old.data.needsUpdate = true;
      index.clearUpdateRanges();
      index.addUpdateRange(0, this.indices);
      index.needsUpdate = true;
    }
    mesh.geometry.setDrawRange(0, this.indices);
  }
}

/** Places of bodies for the shader: x, y, cos phi, sin phi of every body. */
export class PoseTexture {
  readonly numbers: Float32Array;
  readonly texture: DataTexture;

  constructor(count: number) {
    this.numbers = new Float32Array(4 * count);
    this.texture = new DataTexture(this.numbers, count, 1, RGBAFormat, FloatType);
  }
}

const VERTEX = `
precision highp float;
uniform mat4 projectionMatrix;
uniform mat4 viewMatrix;
uniform sampler2D poses;
uniform vec3 palette[${SLOTS.length + BODY_COLORS}];
uniform float pixel;
uniform float hot;
in vec2 position;
in vec2 offset;
in float half_width;
in float body;
in float slot;
in float alpha;
out vec4 shade;
void main() {
  vec4 pose = texelFetch(poses, ivec2(int(body + 0.5), 0), 0);
  float half_drawn = half_width < 0.0 ? -half_width * pixel : max(half_width, 0.55 * pixel);
  vec2 s = position + offset * half_drawn;
  vec2 at = pose.xy + vec2(pose.z * s.x - pose.w * s.y, pose.w * s.x + pose.z * s.y);
  float strong = hot > 0.5 && abs(body - hot) < 0.5 && alpha < 0.99 ? min(1.0, alpha + 0.28) : alpha;
  shade = vec4(palette[int(slot + 0.5)], strong);
  gl_Position = projectionMatrix * viewMatrix * vec4(at, 0.0, 1.0);
}`;

const FRAGMENT = `
precision highp float;
in vec4 shade;
out vec4 color;
void main() { color = shade; }`;

export function ribbonMaterial(poses: PoseTexture): RawShaderMaterial {
  return new RawShaderMaterial({
    glslVersion: GLSL3,
    vertexShader: VERTEX,
    fragmentShader: FRAGMENT,
    uniforms: {
      poses: { value: poses.texture },
      palette: { value: Array.from({ length: SLOTS.length + BODY_COLORS }, () => new Color()) },
      pixel: { value: 1 },
      hot: { value: -1 },
    },
    transparent: true,
    depthTest: false,
    depthWrite: false,
    side: 2,
  });
}
