import {expect, test} from 'vitest';
import {merge} from './src/settings';

test('a shorter list takes the place of a longer one', () => {
  expect(merge({hosts: ['a', 'b', 'c']}, {hosts: ['d']})).toEqual({hosts: ['d']});
  expect(merge({db: {hosts: ['a', 'b']}}, {db: {hosts: []}})).toEqual({db: {hosts: []}});
});

test('a longer list takes the place of a shorter one', () => {
  expect(merge({hosts: ['a']}, {hosts: ['b', 'c']})).toEqual({hosts: ['b', 'c']});
});

test('what a list holds is not merged', () => {
  expect(merge({users: [{name: 'ann', age: 3}]}, {users: [{name: 'bob'}]})).toEqual({users: [{name: 'bob'}]});
});

test('a list is a list', () => {
  expect(Array.isArray(merge({hosts: ['a']}).hosts)).toBe(true);
  expect(merge({hosts: {a: 1}}, {hosts: ['b']})).toEqual({hosts: ['b']});
  expect(merge({hosts: ['b']}, {hosts: {a: 1}})).toEqual({hosts: {a: 1}});
});

test('settings are merged in depth', () => {
  expect(merge({db: {port: 1, host: 'a'}}, {db: {port: 2}})).toEqual({db: {port: 2, host: 'a'}});
});
