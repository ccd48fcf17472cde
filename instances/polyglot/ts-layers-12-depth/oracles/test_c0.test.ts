import {afterEach, expect, test} from 'vitest';
import {merge, type Settings} from './src/settings';

const read = (text: string): Settings => JSON.parse(text);

afterEach(() => {
  delete (Object.prototype as Record<string, unknown>).admin;
});

test.each(['{"__proto__": {"admin": true}}', '{"user": {"__proto__": {"admin": true}}}'])('%s reaches nobody else', text => {
  for (const layers of [[read(text)], [{}, read(text)], [{user: {name: 'ann'}}, read(text)]]) {
    merge(...layers);
    expect(({} as Record<string, unknown>).admin).toBeUndefined();
  }
});

test('what else a layer says still counts', () => {
  const merged = merge({user: {name: 'ann'}}, read('{"__proto__": {"admin": true}, "user": {"age": 3}, "port": 1}'));
  expect([merged.user, merged.port]).toEqual([{name: 'ann', age: 3}, 1]);
  expect(merged.admin).toBeUndefined();
});
