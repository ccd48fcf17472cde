import {readFileSync} from 'node:fs';
import {expect, test} from 'vitest';

const said = readFileSync('README.md', 'utf-8');

test('the README shows a variable that leads one level down', () => {
  const shown = /\b[A-Z]+_([A-Z]+)__([A-Z]+)\b/.exec(said);
  expect(shown).not.toBeNull();
  expect(said).toContain(`${shown?.[1]}.${shown?.[2]}`.toLowerCase());
});

test('it still says how to read them', () => {
  expect(said).toContain('fromEnvironment');
});
