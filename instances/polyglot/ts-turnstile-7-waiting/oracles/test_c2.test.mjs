import assert from 'node:assert/strict';
import test from 'node:test';
import {Limiter} from './dist/index.js';

test('who only asks is not remembered', () => {
  const limiter = new Limiter({capacity: 5, perSecond: 1}, () => 0);
  for (let number = 0; number < 100; number += 1) {
    assert.equal(limiter.delay(`key ${number}`), 0);
  }
  assert.equal(limiter.size, 0);
});

test('who took is, and asking says the truth', () => {
  const limiter = new Limiter({capacity: 5, perSecond: 2}, () => 0);
  limiter.take('a', 5);
  assert.equal(limiter.delay('a'), 500);
  assert.equal(limiter.delay('b'), 0);
  assert.equal(limiter.delay('a', 2), 1000);
  assert.equal(limiter.take('a'), false);
  assert.equal(limiter.size, 1);
});

test('asking forgets nobody', () => {
  let time = 0;
  const limiter = new Limiter({capacity: 5, perSecond: 1}, () => time);
  limiter.take('a');
  limiter.take('b', 5);
  limiter.delay('c');
  time = 2000;
  limiter.delay('b');
  limiter.delay('d');
  assert.equal(limiter.size, 2);
});
