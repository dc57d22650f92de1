// The colours of the picture in both themes.

/** Colours of the 3D side. */
export interface Colors {
  dark: boolean;
  /** Top and bottom of the background. */
  sky: string;
  floor: string;
  /** The lit ground around the robot. */
  lit: string;
  /** The grid. */
  line: string;
  /** The selected link. */
  accent: string;
}

export const LIGHT: Colors = { dark: false, sky: '#fbfcfe', floor: '#dfe5ed', lit: '#ffffff', line: '#7f8da1', accent: '#0a6fe0' };
export const DARK: Colors = { dark: true, sky: '#364152', floor: '#161c26', lit: '#3d4a5d', line: '#8090a8', accent: '#4ea0ff' };
