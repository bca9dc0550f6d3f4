// The official TypeScript SDK's v2 client, holding a conversation with an agent; prints one JSON line of what it saw.
// node ts_v2_client.mjs NODE_MODULES CWD PROMPT ALLOW|DENY -- COMMAND ARGUMENTS...
import { pathToFileURL } from "node:url";
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";

const [modules, cwd, prompt, policy] = process.argv.slice(2);
const command = process.argv.slice(process.argv.indexOf("--") + 1);
const acp = await import(pathToFileURL(`${modules}/@agentclientprotocol/sdk/dist/v2/unstable/acp.js`));
const child = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
const seen = { updates: [], text: "", asked: [], stopReason: null };
let ended;
const idle = new Promise((resolve) => (ended = resolve));

const app = acp
  .client({ name: "ts-v2-client" })
  .onNotification(acp.methods.client.session.update, ({ params }) => {
    const { update } = params;
    seen.updates.push(update.sessionUpdate);
    if (update.sessionUpdate === "agent_message_chunk") seen.text += update.content.text ?? "";
    if (update.sessionUpdate === "state_update" && update.state === "idle" && update.stopReason) {
      seen.stopReason = update.stopReason;
      ended();
    }
  })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    seen.asked.push(params.title);
    const kind = policy === "ALLOW" ? "allow_once" : "reject_once";
    const option = params.options.find((each) => each.kind === kind);
    return { outcome: option ? { outcome: "selected", optionId: option.optionId } : { outcome: "cancelled" } };
  });

await app.connectWith(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), async (agent) => {
  seen.initialize = await agent.request(acp.methods.agent.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    info: { name: "ts-v2-client", version: "1" },
    capabilities: {},
  });
  const session = await agent.request(acp.methods.agent.session.new, { cwd });
  await agent.request(acp.methods.agent.session.prompt, {
    sessionId: session.sessionId,
    prompt: [{ type: "text", text: prompt }],
  });
  await idle;
  seen.listed = (await agent.request(acp.methods.agent.session.list, {})).sessions.length;
  await agent.request(acp.methods.agent.session.close, { sessionId: session.sessionId });
});
console.log(JSON.stringify(seen));
child.stdin.end();
child.on("exit", (code) => process.exit(code === 0 ? 0 : 9));
