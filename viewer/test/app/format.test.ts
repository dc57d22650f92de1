import { describe, expect, it } from 'vitest';

import {
  age,
  bytes,
  counted,
  decimal,
  degrees,
  place,
  position,
  rosVector,
  significant,
  vector,
  verdict,
} from '../../src/app/format.js';

describe('numbers', () => {
  it('have no digits that say nothing', () => {
    expect([0, 1, 1.5, -0.25, 1.23456, 100].map((value) => decimal(value))).toEqual(['0', '1', '1.5', '-0.25', '1.235', '100']);
    expect(decimal(100, 0)).toBe('100');
  });

  it('are never minus nothing', () => {
    expect([-0, -1e-9, -0.0004].map((value) => decimal(value))).toEqual(['0', '0', '0']);
  });

  it('may be without bounds or no number', () => {
    expect([Infinity, -Infinity, NaN].map((value) => decimal(value))).toEqual(['∞', '-∞', '–']);
  });

  it('keep four digits that count, whatever their size', () => {
    expect([0.123456, 12.3456, 0.0012345, -0.00017, 123456, -2.5e-9].map(significant)).toEqual([
      '0.1235',
      '12.35',
      '0.001234',
      '-1.700e-4',
      '1.235e+5',
      '-2.500e-9',
    ]);
    expect(vector([0, -1, 0.5])).toBe('0, -1, 0.5');
  });
});

describe('positions', () => {
  it('of angles are in both units', () => {
    expect(degrees(Math.PI / 2)).toBe('90°');
    expect(position(-Math.PI / 3, 'rad')).toBe('-1.047 rad, -60°');
    expect(position(0.03125, 'm')).toBe('0.0313 m');
  });
});

describe('words', () => {
  it('count', () => {
    expect([counted(0, 'joint'), counted(1, 'joint'), counted(12380, 'triangle')]).toEqual([
      '0 joints',
      '1 joint',
      '12,380 triangles',
    ]);
  });

  it('measure files', () => {
    expect([999, 1000, 1234567, 5e12].map(bytes)).toEqual(['999 B', '1.0 kB', '1.2 MB', '5000.0 GB']);
  });

  it('tell ages', () => {
    expect([0.0312, 4.26, 90, 7200, -1, NaN].map(age)).toEqual(['31 ms', '4.3 s', '2 min', '2 h', '', '']);
  });

  it('tell places as far as they are known', () => {
    expect(place({ file: 'a.urdf', line: 3, column: 7 })).toBe('a.urdf:3:7');
    expect(place({ file: 'a.urdf', line: null })).toBe('a.urdf');
    expect(place({ line: 12 })).toBe('description:12');
    expect([place(null), place(undefined), place({})]).toEqual(['', '', '']);
  });

  it('tell verdicts', () => {
    expect([verdict('wrong_parent'), verdict('ok'), verdict(null)]).toEqual(['wrong parent', 'ok', 'not heard']);
  });
});

describe('axes', () => {
  it("are ROS's: x of glTF is left, y up, z forward", () => {
    expect(rosVector([1, 0, 0])).toEqual([0, 1, 0]);
    expect(rosVector([0, 1, 0])).toEqual([0, 0, 1]);
    expect(rosVector([0, 0, 1])).toEqual([1, 0, 0]);
  });
});
