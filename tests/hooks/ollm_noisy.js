#!/usr/bin/env node
// Prints a line for people before its answer.
let text = '';
process.stdin.on('data', (chunk) => { text += chunk; });
process.stdin.on('end', () => {
  const { data } = JSON.parse(text);
  console.log('intercepted', data.model);
  process.stdout.write(JSON.stringify({
    continue: true,
    systemMessage: `the model is ${data.model}`,
    data: { seen: true },
  }));
});
