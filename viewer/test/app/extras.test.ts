import { describe, expect, it } from 'vitest';

import { inertialOf } from '../../src/app/extras.js';

describe('mass properties', () => {
  it('are read as the file gives them', () => {
    const inertial = { mass: 2.5, origin: { translation: [1, 2, 3], rotation: [0, 0, 1, 0] }, inertia: [1, 0, 0, 2, 0, 3] };
    expect(inertialOf({ extras: { inertial } })).toEqual({ mass: 2.5, centre: [1, 2, 3], turn: [0, 0, 1, 0], inertia: [1, 0, 0, 2, 0, 3] });
  });

  it('are left out where they are none', () => {
    for (const extras of [{}, { inertial: null }, { inertial: 3 }, { inertial: { mass: 'heavy' } }])
      expect(inertialOf({ extras })).toBeNull();
    const odd = { mass: 1, origin: { translation: [1, 2] }, inertia: [1, 2, 3, 4, 5, null] };
    expect(inertialOf({ extras: { inertial: odd } })).toEqual({ mass: 1, centre: null, turn: null, inertia: null });
  });
});
