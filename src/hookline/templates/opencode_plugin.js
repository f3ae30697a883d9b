// Written by hookline install opencode; hookline uninstall opencode removes it. Changes are lost when it is installed again.
//
// opencode has no hooks that are programs. This plugin asks Hookline at the moments below, one process for each, and does
// with the answer what a plugin can do. Everything else that happens in opencode passes by without a process.

import { spawn } from "node:child_process"

const COMMAND = "@COMMAND@"
const IF_BROKEN = "@IF_BROKEN@"
const EVENTS = new Set("@EVENTS@")
const SECONDS = "@SECONDS@"

// where a Hookline that cannot be asked has to block, if it was installed to
const GUARDED = new Set(["tool.execute.before", "permission.asked", "chat.message"])
// answers are short; whatever prints more than this is not Hookline
const LONGEST = 16 * 1024 * 1024
// calls are remembered until they end, and no longer than it takes this many others to begin
const REMEMBERED = 500
// how an answer ends
const PROVEN = 100

function call(event, payload, cwd) {
  return new Promise((resolve, reject) => {
    const child = spawn(COMMAND[0], [...COMMAND.slice(1), event], {
      cwd,
      stdio: ["pipe", "pipe", "ignore"],
      windowsHide: true,
    })
    const chunks = []
    let size = 0
    const give_up = (problem) => {
      clearTimeout(timer)
      // asked to end, it ends the hooks that it started as well
      child.kill("SIGTERM")
      setTimeout(() => child.kill("SIGKILL"), 5000).unref()
      reject(problem)
    }
    const timer = setTimeout(() => give_up(new Error(`no answer within ${SECONDS} seconds`)), SECONDS * 1000)
    child.on("error", give_up)
    child.stdout.on("data", (chunk) => {
      size += chunk.length
      if (size > LONGEST) give_up(new Error("an answer of more than 16 MB"))
      else chunks.push(chunk)
    })
    child.on("close", (code) => {
      clearTimeout(timer)
      // a program that is damaged may end with 0 by accident, and an answer ends with this
      if (code !== PROVEN) return reject(new Error(`it ended with ${code}`))
      try {
        const text = Buffer.concat(chunks).toString("utf8").trim()
        const answer = text ? JSON.parse(text) : {}
        if (answer === null || typeof answer !== "object" || Array.isArray(answer)) throw new Error("no object")
        resolve(answer)
      } catch (problem) {
        reject(new Error(`its answer cannot be read: ${problem.message}`))
      }
    })
    // a program that ends without reading is judged by how it ends
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(payload))
  })
}

// what the model reads of a tool's result; tools of MCP servers have it in pieces
function resultText(output) {
  if (typeof output.output === "string") return output.output
  if (!Array.isArray(output.content)) return undefined
  return output.content
    .filter((item) => item.type === "text")
    .map((item) => item.text)
    .join("\n")
}

function setResult(output, text) {
  if (Array.isArray(output.content)) output.content = [{ type: "text", text }]
  else output.output = text
}

function addToResult(output, text) {
  if (Array.isArray(output.content)) output.content.push({ type: "text", text })
  else output.output = `${output.output ?? ""}\n\n${text}`
}

// opencode keeps using the object it handed out: it is changed, and not exchanged
function replaceArgs(args, wanted) {
  for (const key of Object.keys(args)) if (!(key in wanted)) delete args[key]
  Object.assign(args, wanted)
}

export const Hookline = async ({ client, directory, worktree }) => {
  let servers = []
  const calls = new Map()
  const parents = new Map()
  // what was said at the start of a session, for its first prompt
  const starts = new Map()
  // sessions that a hook or the person stopped: what follows is no end of a turn, and nothing to go on from
  const halted = new Set()

  // the tools of MCP servers are called SERVER_TOOL; only the list of servers can tell where the one ends
  function origin(tool) {
    let found
    for (const server of servers) {
      const prefix = `${server.replace(/[^a-zA-Z0-9_-]/g, "_")}_`
      if (tool.startsWith(prefix) && (!found || server.length > found.server.length)) {
        found = { server, tool: tool.slice(prefix.length) }
      }
    }
    return found
  }

  async function ask(event, input, output, more = {}) {
    const parent = input.sessionID ? parents.get(input.sessionID) : undefined
    const payload = { hook: event, input, output, directory, worktree, ...(parent && { parent }), ...more }
    let answer
    try {
      answer = await call(event, payload, directory)
    } catch (problem) {
      if (IF_BROKEN !== "block" || !GUARDED.has(event)) return {}
      return { block: `Hookline could not be asked, and is set up to block then: ${problem.message}` }
    }
    if (answer.message) await toast(answer.message, "info")
    if (typeof answer.stop === "string" && input.sessionID) {
      halted.add(input.sessionID)
      await quietly(() => client.session.abort({ path: { id: input.sessionID } }))
    }
    return answer
  }

  // why something may not go on; undefined where it may
  const refusal = (answer) => answer.block ?? answer.stop

  async function quietly(act) {
    try {
      return await act()
    } catch {
      // nobody is there to be told, and the answer itself does not depend on it
      return undefined
    }
  }

  const toast = (message, variant) => quietly(() => client.tui.showToast({ body: { message, variant } }))

  const hooks = {
    "tool.execute.before": async (input, output) => {
      calls.set(input.callID, { tool: input.tool, args: output.args })
      if (calls.size > REMEMBERED) calls.delete(calls.keys().next().value)
      const mcp = origin(input.tool)
      const answer = await ask("tool.execute.before", input, { args: output.args }, mcp && { mcp })
      if (refusal(answer) !== undefined) throw new Error(refusal(answer))
      if (answer.args) replaceArgs(output.args, answer.args)
    },

    "tool.execute.after": async (input, output) => {
      calls.delete(input.callID)
      const result = output ?? {}
      const mcp = origin(input.tool)
      const seen = { title: result.title, output: resultText(result), metadata: result.metadata }
      const answer = await ask("tool.execute.after", input, seen, mcp && { mcp })
      if (refusal(answer) !== undefined) setResult(result, refusal(answer))
      else if (typeof answer.output === "string") setResult(result, answer.output)
      if (answer.context) addToResult(result, answer.context)
    },

    "chat.message": async (input, output) => {
      halted.delete(input.sessionID)
      const started = await starts.get(input.sessionID)
      starts.delete(input.sessionID)
      const answer = await ask("chat.message", input, { message: output.message, parts: output.parts })
      if (refusal(answer) !== undefined) {
        // opencode says only that something went wrong
        await toast(refusal(answer), "error")
        throw new Error(refusal(answer))
      }
      const context = [started, answer.context].filter(Boolean).join("\n\n")
      if (context) {
        output.parts.push({
          id: `prt_${Date.now().toString(16)}${Math.random().toString(36).slice(2, 14)}`,
          sessionID: input.sessionID,
          messageID: output.message.id,
          type: "text",
          synthetic: true,
          text: context,
        })
      }
    },

    "experimental.session.compacting": async (input, output) => {
      const answer = await ask("experimental.session.compacting", input, {})
      if (answer.context) output.context.push(answer.context)
    },
  }

  // from the bus, which carries hundreds of events a minute: these, and nothing else
  const bus = {
    "session.created": async ({ info }) => {
      if (info.parentID) parents.set(info.id, info.parentID)
      const answer = ask("session.created", { sessionID: info.id, title: info.title }, {})
      const context = answer.then(({ context }) => context)
      starts.set(info.id, context)
      await context
    },

    "session.deleted": async ({ info }) => {
      await ask("session.deleted", { sessionID: info.id, title: info.title }, {})
      parents.delete(info.id)
    },

    "session.idle": async ({ sessionID }) => {
      if (halted.has(sessionID)) return
      const answer = await ask("session.idle", { sessionID }, {})
      const text = [answer.block, answer.prompt].filter(Boolean).join("\n\n")
      if (!text || answer.stop !== undefined) return
      await quietly(() => client.session.promptAsync({ path: { id: sessionID }, body: { parts: [{ type: "text", text }] } }))
    },

    "session.compacted": async ({ sessionID }) => {
      await ask("session.compacted", { sessionID }, {})
    },

    "session.error": async ({ sessionID, error }) => {
      const message = error?.data?.message ?? error?.message ?? ""
      await ask("session.error", { sessionID: sessionID ?? "", error: message, errorName: error?.name ?? "" }, {})
    },

    "permission.asked": async (asked) => {
      const known = calls.get(asked.tool?.callID) ?? {}
      const { id, sessionID, permission, patterns, metadata } = asked
      const input = { sessionID, callID: asked.tool?.callID, permission, patterns, metadata, ...known }
      const answer = await ask("permission.asked", input, {}, known.tool && origin(known.tool) && { mcp: origin(known.tool) })
      const response = refusal(answer) !== undefined ? "reject" : answer.allow === true ? "once" : undefined
      if (response === undefined) return
      const path = { id: sessionID, permissionID: id }
      await quietly(() => client.postSessionIdPermissionsPermissionId({ path, body: { response } }))
    },
  }

  const wanted = Object.fromEntries(Object.entries(hooks).filter(([name]) => EVENTS.has(name)))
  return {
    ...wanted,
    config: async (config) => {
      servers = Object.keys(config.mcp ?? {})
    },
    event: async ({ event }) => {
      const { sessionID, error } = event.properties ?? {}
      if (event.type === "session.error" && error?.name === "MessageAbortedError") halted.add(sessionID)
      if (EVENTS.has(event.type) && Object.hasOwn(bus, event.type)) await bus[event.type](event.properties ?? {})
    },
  }
}
