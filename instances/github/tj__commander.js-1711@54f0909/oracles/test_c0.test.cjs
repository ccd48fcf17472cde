// The check for conflicting options takes nothing, and still walks up to the program.
const assert = require('node:assert/strict')
const test = require('node:test')

const { Command, Option } = require('./index.js')

// What stands between the brackets behind a method's name, without comments.
function parameters (method) {
  const source = method.toString().replace(/\/\*[^]*?\*\/|\/\/[^\n]*/g, '')
  const start = source.indexOf('(')
  let depth = 0
  for (let end = start; end < source.length; end++) {
    if (source[end] === '(') depth++
    if (source[end] === ')') depth--
    if (depth === 0) return source.slice(start + 1, end).trim()
  }
  return assert.fail('a method without brackets')
}

test('the check for conflicts takes no argument', () => {
  const check = Command.prototype._checkForConflictingOptions
  assert.equal(parameters(check), '')
  assert.doesNotMatch(check.toString(), /\barguments\b/)
})

function run (...words) {
  const conflicting = () => new Option('--silent').conflicts(['debug'])
  const program = new Command('top').enablePositionalOptions().exitOverride().configureOutput({ writeErr: () => {} })
  program.addOption(conflicting()).option('--debug').option('--level <name>')
  const middle = program.command('middle').enablePositionalOptions().exitOverride().addOption(conflicting()).option('--debug')
  middle.command('leaf').exitOverride().addOption(conflicting()).option('--debug').action(() => {})
  try {
    program.parse(words, { from: 'user' })
  } catch (error) {
    return error.code
  }
  return 'done'
}

for (const words of [
  '--silent --debug middle leaf',
  'middle --silent --debug leaf',
  'middle leaf --silent --debug'
]) {
  test(`the conflict in ${words} is found`, () => {
    assert.equal(run(...words.split(' ')), 'commander.conflictingOption')
  })
}

test('options of different commands do not conflict', () => {
  assert.equal(run('--silent', 'middle', '--debug', 'leaf', '--silent'), 'done')
})

test('the conflict is found before a program of its own is started', () => {
  const program = new Command('top').exitOverride().configureOutput({ writeErr: () => {} })
  program.addOption(new Option('--silent').conflicts(['debug'])).option('--debug')
  program.command('other', 'is a program of its own', { executableFile: './no-such-program.js' })
  assert.throws(() => program.parse(['--silent', '--debug', 'other'], { from: 'user' }), { code: 'commander.conflictingOption' })
})

test('what a command is asked to check does not depend on an argument', () => {
  const other = new Command('other').exitOverride().configureOutput({ writeErr: () => {} })
  other.addOption(new Option('--silent').conflicts(['debug'])).option('--debug')
  other.setOptionValueWithSource('silent', true, 'cli')
  other.setOptionValueWithSource('debug', true, 'cli')
  new Command('quiet')._checkForConflictingOptions(other)
  assert.throws(() => other._checkForConflictingOptions(), { code: 'commander.conflictingOption' })
})
