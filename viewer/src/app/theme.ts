// Light and dark: the system's setting unless the user chose otherwise. The page's colours are in main.css.

import { Kept } from './kept.js';
import type { State } from './state.js';
import { DARK, LIGHT, type Colors } from './view/colors.js';

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
    return this.dark ? DARK : LIGHT;
  }

  private apply(): void {
    document.documentElement.dataset['theme'] = this.dark ? 'dark' : 'light';
    this.state.emit('theme', undefined);
  }
}
