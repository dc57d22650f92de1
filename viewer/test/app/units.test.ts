import { describe, expect, it } from 'vitest';

import { between, length, shown, turned, turnsText, typed } from '../../src/app/units.js';

describe('what is typed', () => {
  it('is in the unit that is shown, unless it says another', () => {
    expect(typed('30', 'rad', 'deg')).toBeCloseTo(Math.PI / 6, 12);
    expect(typed('0.5', 'rad', 'rad')).toBe(0.5);
    expect(typed('30°', 'rad', 'rad')).toBeCloseTo(Math.PI / 6, 12);
    expect(typed('-0,5 rad', 'rad', 'deg')).toBe(-0.5);
    expect(typed('2 turns', 'rad', 'deg')).toBeCloseTo(4 * Math.PI, 12);
    expect(typed('12 mm', 'm', 'deg')).toBeCloseTo(0.012, 12);
    expect(typed('-π/2', 'rad', 'deg')).toBeCloseTo(-Math.PI / 2, 12);
    expect(typed('2pi', 'rad', 'rad')).toBeCloseTo(2 * Math.PI, 12);
  });

  it('is nothing where it is no position', () => {
    for (const text of ['', 'abc', '1 2', '5 kg', '1/0', '30 deg m', '--1']) expect(typed(text, 'rad', 'rad'), text).toBeNull();
    expect(typed('30°', 'm', 'deg')).toBeNull();
  });

  it('reads back as it is shown', () => {
    for (const angles of ['rad', 'deg'] as const)
      for (const value of [0, 1.2345, -3]) expect(typed(shown(value, 'rad', angles), 'rad', angles)).toBeCloseTo(value, 3);
  });
});

describe('turns', () => {
  it('are whole, and the rest is within half of one', () => {
    for (const value of [0, 3, -3, 3.2, -3.2, 602.6519, -1e5]) {
      const { angle, turns } = turned(value);
      expect(Math.abs(angle)).toBeLessThanOrEqual(Math.PI + 1e-9);
      expect(angle + turns * 2 * Math.PI).toBeCloseTo(value, 9);
    }
    expect(turned(602.6519).turns).toBe(96);
  });

  it('are told in words', () => {
    expect([0, 1, -1, 1234].map(turnsText)).toEqual(['', '+ 1 turn', '− 1 turn', '+ 1,234 turns']);
  });
});

it('lengths are in the unit that people use', () => {
  expect([0.01, 0.001, 0.1, 1, 10, 0.0257].map(length)).toEqual(['1 cm', '1 mm', '10 cm', '1 m', '10 m', '2.57 cm']);
});

describe('limits', () => {
  it('are one number where both sides are the same, and have a minus sign', () => {
    const text = (value: number) => shown(value, 'rad', 'deg');
    expect(between(-Math.PI, Math.PI, text)).toBe('±180');
    expect(between(-Math.PI / 2, 0.5, text)).toBe('−90 … 28.65');
    expect(between(0, 0, text)).toBe('0 … 0');
    expect(between(undefined, 1, String)).toBe('−∞ … 1');
    expect(between(-1, undefined, String)).toBe('−1 … ∞');
  });
});
