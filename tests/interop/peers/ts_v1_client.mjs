// The official TypeScript SDK's v1 client, holding a conversation with an agent; prints one JSON line of what it saw.
// node ts_v1_client.mjs ACP_JS CWD PROMPT ALLOW|DENY|CANCEL -- COMMAND ARGUMENTS...
import { pathToFileURL } from "node:url";
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";

const [entry, cwd, prompt, policy] = process.argv.slice(2);
const command = process.argv.slice(process.argv.indexOf("--") + 1);
const acp = await import(pathToFileURL(entry));
const child = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
const exited = new Promise((resolve) => child.on("exit", resolve));
const seen = { updates: [], text: "", asked: [], tools: {} };

const app = acp
  .client({ name: "ts-v1-client" })
  .onNotification(acp.methods.client.session.update, ({ params: { update } }) => {
    seen.updates.push(update.sessionUpdate);
    if (update.sessionUpdate === "agent_message_chunk") seen.text += update.content.text ?? "";
    if (update.toolCallId && update.status) seen.tools[update.toolCallId] = update.status;
  })
  .onRequest(acp.methods.client.session.requestPermission, async ({ params, agent }) => {
    seen.asked.push(params.toolCall.title);
    if (policy === "CANCEL") {
      await agent.notify(acp.methods.agent.session.cancel, { sessionId: params.sessionId });
      return { outcome: { outcome: "cancelled" } };
    }
    const kind = policy === "ALLOW" ? "allow_once" : "reject_once";
    const option = params.options.find((each) => each.kind === kind);
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  });

const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
await app.connectWith(stream, async (agent) => {
  seen.initialize = await agent.request(acp.methods.agent.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientInfo: { name: "ts-v1-client", version: "1" },
    clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
  });
  const session = await agent.request(acp.methods.agent.session.new, { cwd, mcpServers: [] });
  const end = await agent.request(acp.methods.agent.session.prompt, {
    sessionId: session.sessionId,
    prompt: [{ type: "text", text: prompt }],
  });
  seen.stopReason = end.stopReason;
  seen.listed = (await agent.request(acp.methods.agent.session.list, {})).sessions.length;
  await agent.request(acp.methods.agent.session.close, { sessionId: session.sessionId });
});
child.stdin.end();
seen.exitCode = await exited;
console.log(JSON.stringify(seen));
