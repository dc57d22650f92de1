// The ground: a grid that fades with distance, light on it in the dark, and the robot's shadow.

import { Color, Group, Mesh, PlaneGeometry, ShaderMaterial, ShadowMaterial, Vector2, type Vector3 } from 'three';
import type { Colors } from './colors.js';

const VERTEX = `
  varying vec2 vAt;
  void main() {
    vec4 world = modelMatrix * vec4(position, 1.0);
    vAt = world.xz;
    gl_Position = projectionMatrix * viewMatrix * world;
  }`;

// Lines one pixel wide at any distance; every tenth one is stronger. In the dark, the ground around the robot is lit.
const FRAGMENT = `
  uniform vec3 uLine;
  uniform vec3 uFloor;
  uniform float uLit;
  uniform float uCell;
  uniform float uReach;
  uniform vec2 uCentre;
  varying vec2 vAt;
  float lines(float cell) {
    vec2 at = vAt / cell;
    vec2 width = fwidth(at);
    vec2 near = abs(fract(at - 0.5) - 0.5) / max(width, vec2(1e-6));
    float dense = clamp(1.0 - 1.5 * max(width.x, width.y), 0.0, 1.0);
    return (1.0 - min(min(near.x, near.y), 1.0)) * dense;
  }
  void main() {
    float away = length(vAt - uCentre) / uReach;
    // Fine lines fade out first: in the distance they would be a haze.
    float fine = lines(uCell) * 0.4 * (1.0 - smoothstep(0.1, 0.55, away));
    float strength = max(fine, lines(uCell * 10.0) * 0.85 * (1.0 - smoothstep(0.15, 1.0, away)));
    float lines = strength * 0.75;
    float lit = uLit * (1.0 - smoothstep(0.0, 0.42, away));
    float alpha = lines + lit * (1.0 - lines);
    if (alpha < 0.003) discard;
    gl_FragColor = vec4(mix(uFloor, uLine, lines / alpha), alpha);
    #include <colorspace_fragment>
  }`;

/** Returns the size of a cell for a scene of this radius, in metres: 1, 2 or 5 times a power of ten, about a fifth of the radius. */
export function cellOf(radius: number): number {
  const wanted = radius / 4;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const factor = [5, 2, 1].find((factor) => factor * power <= wanted * (1 + 1e-9)) ?? 1;
  return Number((factor * power).toPrecision(1));
}

/** Grid and shadow. */
export class Ground {
  readonly object = new Group();
  /** The size of a cell in metres. */
  cell = 0.1;
  private readonly grid: Mesh<PlaneGeometry, ShaderMaterial>;
  private readonly shadow: Mesh<PlaneGeometry, ShadowMaterial>;

  constructor() {
    const plane = new PlaneGeometry(1, 1).rotateX(-Math.PI / 2);
    const uniforms = {
      uLine: { value: new Color() },
      uFloor: { value: new Color() },
      uLit: { value: 0 },
      uCell: { value: this.cell },
      uReach: { value: 1 },
      uCentre: { value: new Vector2() },
    };
    this.grid = new Mesh(
      plane,
      new ShaderMaterial({
        uniforms,
        vertexShader: VERTEX,
        fragmentShader: FRAGMENT,
        transparent: true,
        depthWrite: false,
        side: 2,
      }),
    );
    this.shadow = new Mesh(plane, new ShadowMaterial({ opacity: 0.25, depthWrite: false }));
    this.shadow.receiveShadow = true;
    this.grid.renderOrder = -2;
    this.shadow.renderOrder = -1;
    this.object.add(this.grid, this.shadow);
  }

  /** Adapts to a scene of this radius. */
  place(centre: Vector3, radius: number): void {
    const reach = radius * 7;
    this.object.position.copy(centre);
    // Slightly below the robot's feet, which avoids z-fighting.
    this.object.position.y -= radius * 1e-3;
    this.object.scale.setScalar(reach * 2);
    this.cell = cellOf(radius);
    const uniforms = this.grid.material.uniforms;
    uniforms['uCell']!.value = this.cell;
    uniforms['uReach']!.value = reach;
    (uniforms['uCentre']!.value as Vector2).set(centre.x, centre.z);
  }

  paint(colors: Colors): void {
    const uniforms = this.grid.material.uniforms;
    (uniforms['uLine']!.value as Color).set(colors.line);
    (uniforms['uFloor']!.value as Color).set(colors.lit);
    uniforms['uLit']!.value = colors.dark ? 0.85 : 0;
    this.shadow.material.opacity = colors.dark ? 0.5 : 0.2;
  }

  set gridShown(shown: boolean) {
    this.grid.visible = shown;
  }

  set shadowShown(shown: boolean) {
    this.shadow.visible = shown;
  }
}
