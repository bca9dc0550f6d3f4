// An ACP v2 agent on the official TypeScript SDK's v2 entry point: one turn with a bit of everything.
// node ts_v2_agent.mjs NODE_MODULES
import { pathToFileURL } from "node:url";
import { Readable, Writable } from "node:stream";

const sdk = pathToFileURL(`${process.argv[2]}/@agentclientprotocol/sdk/dist/v2/unstable/acp.js`);
const acp = await import(sdk);
const sessions = new Map();
const cancelled = new Map();
let next = 1;

const app = acp
  .agent({ name: "ts-v2" })
  .onRequest(acp.methods.agent.initialize, () => ({
    protocolVersion: acp.PROTOCOL_VERSION,
    info: { name: "ts-v2", version: "1.0.0", title: "TypeScript v2" },
    capabilities: { session: { fork: {} } },
  }))
  .onRequest(acp.methods.agent.session.new, ({ params }) => {
    const sessionId = `ts-${next++}`;
    sessions.set(sessionId, { cwd: params.cwd });
    return {
      sessionId,
      configOptions: [
        {
          type: "select",
          configId: "model",
          name: "Model",
          category: "model",
          currentValue: "small",
          options: [
            { value: "small", name: "Small" },
            { value: "large", name: "Large" },
          ],
        },
      ],
    };
  })
  .onRequest(acp.methods.agent.session.list, () => ({
    sessions: [...sessions].map(([sessionId, { cwd }]) => ({ sessionId, cwd })),
  }))
  .onRequest(acp.methods.agent.session.close, () => ({}))
  .onRequest(acp.methods.agent.session.prompt, ({ params, client }) => {
    const messageId = `u-${next++}`;
    setTimeout(() => void turn(params, client, messageId), 0);
    return { messageId };
  })
  .onNotification(acp.methods.agent.session.cancel, ({ params }) => {
    cancelled.get(params.sessionId)?.();
  });

async function turn(params, client, messageId) {
  const { sessionId } = params;
  const tell = (update) => client.notify(acp.methods.client.session.update, { sessionId, update });
  await tell({ sessionUpdate: "user_message", messageId, content: params.prompt });
  await tell({ sessionUpdate: "state_update", state: "running" });
  if (params.prompt[0].text === "wait") {
    await new Promise((resolve) => cancelled.set(sessionId, resolve));
    await tell({ sessionUpdate: "state_update", state: "idle", stopReason: "cancelled" });
    return;
  }
  await tell({ sessionUpdate: "notice", severity: "info", title: "a later draft", description: "kept, not fatal" });
  await tell({
    sessionUpdate: "plan_update",
    plan: { type: "items", planId: "p", entries: [{ content: "look", priority: "high", status: "in_progress" }] },
  });
  await tell({ sessionUpdate: "agent_thought_chunk", messageId: "t", content: { type: "text", text: "hm" } });
  for (const text of ["Grüße ", "aus ", "TypeScript 🦉"])
    await tell({ sessionUpdate: "agent_message_chunk", messageId: "m", content: { type: "text", text } });
  await tell({ sessionUpdate: "tool_call_update", toolCallId: "c", title: "Run ls", kind: "execute", status: "pending" });
  await tell({ sessionUpdate: "state_update", state: "requires_action" });
  const answer = await client.request(acp.methods.client.session.requestPermission, {
    sessionId,
    title: "Run ls?",
    subject: { type: "command", command: "ls -la", cwd: sessions.get(sessionId).cwd, toolCallId: "c" },
    options: [
      { optionId: "y", name: "Yes", kind: "allow_once" },
      { optionId: "n", name: "No", kind: "reject_once" },
    ],
  });
  await tell({ sessionUpdate: "state_update", state: "running" });
  const allowed = answer.outcome.outcome === "selected" && answer.outcome.optionId === "y";
  if (allowed) {
    await tell({ sessionUpdate: "terminal_update", terminalId: "x", command: "ls -la" });
    const bytes = Buffer.from("ünïcode\n");
    for (const part of [bytes.subarray(0, 1), bytes.subarray(1)])
      await tell({ sessionUpdate: "terminal_output_chunk", terminalId: "x", data: part.toString("base64") });
    await tell({ sessionUpdate: "terminal_update", terminalId: "x", exitStatus: { exitCode: 0 } });
  }
  await tell({
    sessionUpdate: "tool_call_update",
    toolCallId: "c",
    status: allowed ? "completed" : "failed",
    content: allowed ? [{ type: "terminal", terminalId: "x" }] : null,
  });
  await tell({ sessionUpdate: "state_update", state: "idle", stopReason: "end_turn" });
}

app.connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
