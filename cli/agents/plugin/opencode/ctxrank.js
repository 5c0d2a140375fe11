// Written by `ctxrank install`, removed by `ctxrank uninstall`: OpenCode's events for `ctxrank hook`.
import { spawn } from "node:child_process"

const COMMAND = [/* ctxrank */]
const LIMITS_MS = { SessionStart: 5000, UserPromptSubmit: 5000, PreToolUse: 10000, PostToolUse: 30000 }

export const Ctxrank = async ({ client, directory }) => {
  const parents = new Map() // of the session of a spawned agent: its parent's
  const begun = new Set()
  const pending = new Set()

  // What the hook answers to an event of a session; {} for nothing, and where it cannot be asked.
  const ask = (id, name, fields) => {
    const whose = parents.has(id) ? { session_id: parents.get(id), agent_id: id } : { session_id: id }
    const event = JSON.stringify({ hook_event_name: name, cwd: directory, ...whose, ...fields })
    const answer = new Promise((resolve) => {
      let printed = ""
      const options = { cwd: directory, stdio: ["pipe", "pipe", "ignore"], timeout: LIMITS_MS[name] ?? 60000 }
      const child = spawn(COMMAND[0], COMMAND.slice(1), options)
      child.on("error", () => resolve({}))
      child.stdin.on("error", () => {})
      child.stdout.on("data", (part) => (printed += part))
      child.on("close", () => {
        try {
          resolve(JSON.parse(printed).hookSpecificOutput ?? {})
        } catch {
          resolve({})
        }
      })
      child.stdin.end(event)
    }).catch(() => ({}))
    pending.add(answer)
    return answer.finally(() => pending.delete(answer))
  }

  const lastMessage = async (id) => {
    const { data } = await client.session.messages({ path: { id } })
    const last = (data ?? []).filter((one) => one.info.role === "assistant").at(-1)
    const texts = (last?.parts ?? []).filter((part) => part.type === "text").map((part) => part.text)
    return texts.join("\n")
  }

  return {
    event: async ({ event }) => {
      const { info, sessionID } = event.properties ?? {}
      if (event.type === "session.created" && info.parentID) parents.set(info.id, info.parentID)
      if (event.type === "session.deleted") await ask(info.id, "SessionEnd", { reason: "other" })
      if (event.type === "session.idle") {
        const said = lastMessage(sessionID).catch(() => "")
        const name = parents.has(sessionID) ? "SubagentStop" : "Stop"
        await ask(sessionID, name, { last_assistant_message: await said })
      }
    },
    "chat.message": async ({ sessionID }, { message, parts }) => {
      if (parents.has(sessionID)) return // its task has its block
      const prompt = parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text).join("\n")
      const answers = []
      if (!begun.has(sessionID)) answers.push(await ask(sessionID, "SessionStart", { source: "startup" }))
      begun.add(sessionID)
      answers.push(await ask(sessionID, "UserPromptSubmit", { prompt }))
      for (const { additionalContext } of answers)
        if (additionalContext) {
          const id = `prt_${Date.now().toString(16)}${Math.random().toString(16).slice(2)}`
          parts.push({ id, sessionID, messageID: message.id, type: "text", text: additionalContext, synthetic: true })
        }
    },
    "tool.execute.before": async ({ tool, sessionID, callID }, output) => {
      if (tool !== "task") return
      const fields = { tool_name: tool, tool_use_id: callID, tool_input: output.args }
      Object.assign(output.args, (await ask(sessionID, "PreToolUse", fields)).updatedInput)
    },
    "tool.execute.after": async ({ tool, sessionID, callID, args }, output) => {
      const isOurs = tool.startsWith("ctxrank") && tool.endsWith("save_finding")
      if (!["bash", "write", "task"].includes(tool) && !isOurs) return
      const response = { output: output.output, exit_code: output.metadata?.exit ?? 0 }
      const fields = { tool_name: tool, tool_use_id: callID, tool_input: args, tool_response: response }
      const { additionalContext } = await ask(sessionID, "PostToolUse", fields)
      if (additionalContext) output.output += `\n\n${additionalContext}`
    },
    dispose: async () => {
      await Promise.all(pending)
    },
  }
}
