import {expect, test} from 'vitest';
import {find, merge} from '../src/settings';

test('the later layer counts', () => {
  expect(merge({port: 1, host: 'a'}, {port: 2})).toEqual({port: 2, host: 'a'});
});

test('a value is found by its path', () => {
  const settings = {db: {port: 5432}};
  expect(find(settings, 'db.port')).toBe(5432);
  expect(find(settings, 'db.host', 'localhost')).toBe('localhost');
});
