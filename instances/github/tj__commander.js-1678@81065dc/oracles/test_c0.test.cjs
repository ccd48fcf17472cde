// The error of conflicting options has the agreed code, and is the same error otherwise.
const assert = require('node:assert/strict')
const test = require('node:test')

const { Command, Option } = require('./index.js')

function program () {
  let written = ''
  const made = new Command()
    .exitOverride()
    .configureOutput({ writeErr: (text) => { written += text } })
    .addOption(new Option('--silent', 'say nothing').env('CRAB_SILENT').conflicts(['debug']))
    .option('--debug', 'say more')
    .option('--level <name>', 'of what is said', 'low')
    .action(() => {})
  return { made, written: () => written }
}

function failure (...words) {
  const { made, written } = program()
  try {
    made.parse(words, { from: 'user' })
  } catch (error) {
    return { error, written: written() }
  }
  return assert.fail('nothing was thrown')
}

for (const words of [['--silent', '--debug'], ['--debug', '--silent']]) {
  test(`${words.join(' ')} fails with commander.conflictingOption`, () => {
    const { error, written } = failure(...words)
    assert.equal(error.code, 'commander.conflictingOption')
    assert.equal(error.exitCode, 1)
    assert.match(error.message, /--silent/)
    assert.match(error.message, /--debug/)
    assert.match(written, /--silent/)
    assert.match(written, /--debug/)
  })
}

test('so it does when one of them comes from the environment', () => {
  process.env.CRAB_SILENT = '1'
  try {
    const { error } = failure('--debug')
    assert.equal(error.code, 'commander.conflictingOption')
    assert.match(error.message, /CRAB_SILENT/)
  } finally {
    delete process.env.CRAB_SILENT
  }
})

test('without a conflict nothing fails, and other errors have their own code', () => {
  const { made } = program()
  made.parse(['--silent', '--level', 'high'], { from: 'user' })
  assert.deepEqual(made.opts(), { silent: true, level: 'high' })
  assert.equal(failure('--unknown').error.code, 'commander.unknownOption')
})

test('a conflict in a subcommand, and one between two values of the environment, have the code too', () => {
  const { made } = program()
  const sub = made.command('sub').exitOverride().configureOutput({ writeErr: () => {} }).action(() => {})
  sub.addOption(new Option('--fast').env('CRAB_FAST').conflicts(['slow'])).addOption(new Option('--slow').env('CRAB_SLOW'))
  assert.throws(() => made.parse(['sub', '--fast', '--slow'], { from: 'user' }), { code: 'commander.conflictingOption' })
  process.env.CRAB_FAST = process.env.CRAB_SLOW = '1'
  try {
    assert.throws(() => made.parse(['sub'], { from: 'user' }), { code: 'commander.conflictingOption', exitCode: 1 })
  } finally {
    delete process.env.CRAB_FAST
    delete process.env.CRAB_SLOW
  }
})
