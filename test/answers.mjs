// As answers.py, in Node: a JSON list a line on standard input, the name of a script and the arguments of its `answer`, and a line of
// JSON for each on standard output.
import { createInterface } from 'node:readline';

// Standard output is for the answers alone.
console.log = console.error;

for await (const line of createInterface({ input: process.stdin })) {
  const [script, ...args] = JSON.parse(line);
  let told;
  try {
    told = { answer: await (await import(`./${script}.mjs`)).answer(...args) };
  } catch (error) {
    told = { failed: error.stack ?? String(error) };
  }
  process.stdout.write(JSON.stringify(told) + '\n');
}
