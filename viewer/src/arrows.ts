// Arrows in space that are used again for every picture.

import { type Color, ConeGeometry, CylinderGeometry, Group, Mesh, MeshBasicMaterial, Vector3 } from "three";
import type { Vec } from "./data";

const Y = new Vector3(0, 1, 0);
const SHAFT = new CylinderGeometry(1, 1, 1, 10).translate(0, 0.5, 0);
const HEAD = new ConeGeometry(1, 1, 16).translate(0, -0.5, 0);

export class Arrows extends Group {
  private used = 0;
  private readonly along = new Vector3();

  hide(): void {
    for (const arrow of this.children) arrow.visible = false;
    this.used = 0;
  }

  /** An arrow from a place along v, so long, its shaft so thick. */
  arrow(at: Vec, v: Vec, length: number, radius: number, color: Color): void {
    if (!(length > 0)) return;
    const arrow = this.children[this.used++] ?? this.grow();
    const [shaft, head] = arrow.children as Mesh<CylinderGeometry, MeshBasicMaterial>[];
    const tip = Math.min(7 * radius, length);
    arrow.visible = true;
    arrow.position.set(...at);
    arrow.quaternion.setFromUnitVectors(Y, this.along.set(...v).normalize());
    shaft.scale.set(radius, Math.max(length - tip, 1e-9 * length), radius);
    head.scale.set(2.6 * radius, tip, 2.6 * radius);
    head.position.y = length;
    shaft.material.color.copy(color);
  }

  private grow(): Group {
    const arrow = new Group();
    const material = new MeshBasicMaterial();
    arrow.add(new Mesh(SHAFT, material), new Mesh(HEAD, material));
    this.add(arrow);
    return arrow;
  }
}
