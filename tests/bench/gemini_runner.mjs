// Gemini CLI's own hook runner, out of its published bundle: for each line on stdin one hook is run, and its
// milliseconds are printed. Usage: node gemini_runner.mjs BUNDLE COMMAND
import fs from "node:fs";
import path from "node:path";
import readline from "node:readline";
import { pathToFileURL } from "node:url";

const [bundle, command] = process.argv.slice(2);
const say = (text) => process.stdout.write(`${text}\n`);
// the program itself prints none of this while it works, so it is not to pay for it here
for (const name of ["debug", "error", "info", "log", "warn"]) console[name] = () => {};

async function findRunner() {
  for (const name of fs.readdirSync(bundle).filter((name) => /^core-.*\.js$/.test(name))) {
    const { HookRunner } = await import(pathToFileURL(path.join(bundle, name)));
    if (HookRunner) return HookRunner;
  }
  throw new Error("this version of the package has no HookRunner");
}

const HookRunner = await findRunner();
const runner = new HookRunner({
  isTrustedFolder: () => true,
  sanitizationConfig: {
    allowedEnvironmentVariables: [],
    blockedEnvironmentVariables: [],
    enableEnvironmentVariableRedaction: false,
  },
  storage: { getPlansDir: () => "." },
});
const hook = { type: "command", command, source: "user" };
const input = {
  session_id: "bench",
  transcript_path: "",
  cwd: process.cwd(),
  hook_event_name: "BeforeTool",
  timestamp: new Date().toISOString(),
  tool_name: "run_shell_command",
  tool_input: { command: "x".repeat(700) },
};

say("ready");
for await (const line of readline.createInterface({ input: process.stdin })) {
  if (!line) break;
  const started = performance.now();
  const result = await runner.executeHook(hook, "BeforeTool", input);
  const elapsed = performance.now() - started;
  say(result.success ? String(elapsed) : `failed: ${JSON.stringify(result)}`);
}
process.exit(0);
