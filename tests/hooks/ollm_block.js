#!/usr/bin/env node
// Ends the operation when a shell command is on its list.
let text = '';
process.stdin.on('data', (chunk) => { text += chunk; });
process.stdin.on('end', () => {
  const { event, data } = JSON.parse(text);
  if (event === 'before_tool' && data.tool_name === 'shell') {
    for (const bad of ['rm -rf /', 'mkfs', 'dd if=']) {
      if (data.args.command.includes(bad)) {
        process.stdout.write(JSON.stringify({ continue: false, systemMessage: `stopped: ${bad}` }));
        return;
      }
    }
  }
  process.stdout.write(JSON.stringify({ continue: true }));
});
