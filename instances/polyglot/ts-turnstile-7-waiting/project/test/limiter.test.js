import assert from 'node:assert/strict';
import test from 'node:test';
import {Limiter} from '../dist/index.js';

test('a key has its own bucket', () => {
  let time = 0;
  const limiter = new Limiter({capacity: 2, perSecond: 1}, () => time);
  assert.deepEqual([1, 1, 1].map(() => limiter.take('a')), [true, true, false]);
  assert.equal(limiter.take('b'), true);
  time = 1000;
  assert.equal(limiter.take('a'), true);
});

test('full buckets are forgotten', () => {
  let time = 0;
  const limiter = new Limiter({capacity: 2, perSecond: 1}, () => time);
  limiter.take('a');
  limiter.sweep();
  assert.equal(limiter.size, 1);
  time = 1000;
  limiter.sweep();
  assert.equal(limiter.size, 0);
});
