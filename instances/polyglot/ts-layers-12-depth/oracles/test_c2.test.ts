import {expect, test} from 'vitest';
import {fromEnvironment} from './src/environment';

test('variables of others are left out', () => {
  expect(fromEnvironment('APP', {APPLE_KEY: '1', APPDATA: '/x', APP: 'y', MY_APP_NAME: 'z'})).toEqual({});
});

test('their letters count', () => {
  expect(fromEnvironment('APP', {app_name: 'x'})).toEqual({});
});

test('its own are taken', () => {
  expect(fromEnvironment('APP', {APP_NAME: 'shop', APP_DB__PORT: '1', APPLE_NAME: 'x', APP_GONE: undefined})).toEqual({
    name: 'shop',
    db: {port: '1'},
  });
  expect(fromEnvironment('MY_APP', {MY_APP_NAME: 'shop', MY_NAME: 'x'})).toEqual({name: 'shop'});
});
