// OLLM hook in Node.js: prints a line before its answer, as people's hooks do, and hands data to the next hook.
let input = '';
process.stdin.on('data', (chunk) => { input += chunk; });
process.stdin.on('end', () => {
  const { data } = JSON.parse(input);
  console.log('model is', data.model);
  process.stdout.write(JSON.stringify({ continue: true, data: { counted: (data.counted || 0) + 1 } }));
});
