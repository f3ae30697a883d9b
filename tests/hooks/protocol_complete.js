#!/usr/bin/env node
// Checks its input, times its work, answers in full, and reports an error of its own with exit code 1.
const fs = require('fs');

function check(input) {
  if (!input.event || !input.context) throw new Error('incomplete input');
  if (input.context.args && input.context.args.path === '/etc/shadow') {
    return { ok: false, text: 'not that file' };
  }
  if (input.context.tool === 'explode') throw new RangeError('this tool is not known here');
  return { ok: true, text: 'checked' };
}

const began = Date.now();
try {
  const verdict = check(JSON.parse(fs.readFileSync(0, 'utf-8')));
  console.log(JSON.stringify({
    allow: verdict.ok,
    message: verdict.text,
    metadata: { duration: (Date.now() - began) / 1000, timestamp: new Date().toISOString() },
  }));
} catch (error) {
  console.log(JSON.stringify({
    allow: false,
    message: `Error: ${error.message}`,
    metadata: { error: error.name, stack: error.stack },
  }));
  process.exit(1);
}
