// Light and dark: the system's setting unless the user chose otherwise. The page's colours are in main.css; the 3D side reads its own
// from there.

import { Kept } from './kept.js';
import type { State } from './state.js';

/** Colours of the 3D side. */
export interface Colors {
  dark: boolean;
  /** Top and bottom of the background. */
  sky: string;
  floor: string;
  /** The grid. */
  line: string;
  /** The selected link. */
  accent: string;
}

const chosen = new Kept(() => localStorage, 'urdf_usd viewer theme', ['dark', 'light']);
const system = matchMedia('(prefers-color-scheme: dark)');

/** The active theme. */
export class Theme {
  constructor(private readonly state: State) {
    system.addEventListener('change', () => this.apply());
    this.apply();
  }

  get dark(): boolean {
    const { value } = chosen;
    return value === null ? system.matches : value === 'dark';
  }

  /** Switches the theme; stored only if it differs from the system's. */
  toggle(): void {
    const dark = !this.dark;
    chosen.value = dark === system.matches ? null : dark ? 'dark' : 'light';
    this.apply();
  }

  colors(): Colors {
    const style = getComputedStyle(document.documentElement);
    const color = (name: string) => style.getPropertyValue(name).trim();
    const side = this.dark ? 'dark' : 'light';
    return {
      dark: this.dark,
      sky: color(`--sky-${side}`),
      floor: color(`--floor-${side}`),
      line: color(`--grid-${side}`),
      accent: color(`--glow-${side}`),
    };
  }

  private apply(): void {
    document.documentElement.dataset['theme'] = this.dark ? 'dark' : 'light';
    this.state.emit('theme', undefined);
  }
}
