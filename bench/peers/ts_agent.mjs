// An agent on the official TypeScript SDK: streams what a prompt asks for, `COUNT SIZE`, and lists no sessions.
// node ts_agent.mjs NODE_MODULES v1|v2
import { pathToFileURL } from "node:url";
import { Readable, Writable } from "node:stream";

const [modules, version] = process.argv.slice(2);
const acp = await import(pathToFileURL(`${modules}/@agentclientprotocol/sdk/dist/${version}/stable/acp.js`));
const ENVELOPE = 190; // bytes of an update that are not its text
const WORDS = "I will look at the parser first, then fix the failing test. ";
const hello =
  version === "v2"
    ? { protocolVersion: 2, info: { name: "bench", version: "1" }, capabilities: { session: {} } }
    : { protocolVersion: 1, agentCapabilities: {} };

async function stream(client, sessionId, count, size) {
  const room = Math.max(1, size - ENVELOPE);
  const text = WORDS.repeat(Math.ceil(room / WORDS.length)).slice(0, room);
  const update = { sessionUpdate: "agent_message_chunk", messageId: "m1", content: { type: "text", text } };
  for (let i = 0; i < count; i++) await client.notify(acp.methods.client.session.update, { sessionId, update });
}

acp
  .agent({ name: "bench" })
  .onRequest(acp.methods.agent.initialize, () => hello)
  .onRequest(acp.methods.agent.session.new, () => ({ sessionId: "bench" }))
  .onRequest(acp.methods.agent.session.list, () => ({ sessions: [] }))
  .onRequest(acp.methods.agent.session.prompt, async ({ params, client }) => {
    const { sessionId, prompt } = params;
    const [count, size] = prompt[0].text.split(" ").map(Number);
    if (version === "v1") {
      await stream(client, sessionId, count, size);
      return { stopReason: "end_turn" };
    }
    const tell = (update) => client.notify(acp.methods.client.session.update, { sessionId, update });
    setTimeout(async () => {
      await tell({ sessionUpdate: "state_update", state: "running" });
      await stream(client, sessionId, count, size);
      await tell({ sessionUpdate: "state_update", state: "idle", stopReason: "end_turn" });
    }, 0);
    return { messageId: "u1" };
  })
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
