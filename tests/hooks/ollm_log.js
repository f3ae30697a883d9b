#!/usr/bin/env node
// Appends a line for every model call to a log in the person's home.
const fs = require('fs');
const path = require('path');

let text = '';
process.stdin.on('data', (chunk) => { text += chunk; });
process.stdin.on('end', () => {
  try {
    const { event, data } = JSON.parse(text);
    if (event === 'before_model') {
      fs.appendFileSync(path.join(process.env.HOME, 'model-calls.log'), `${data.model}\n`);
    }
    process.stdout.write(JSON.stringify({ continue: true }));
  } catch (error) {
    process.stdout.write(JSON.stringify({ continue: true, error: error.message }));
  }
});
