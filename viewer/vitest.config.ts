import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    environment: 'node',
    // A loaded machine is slow, not wrong.
    testTimeout: 60_000,
  },
});
