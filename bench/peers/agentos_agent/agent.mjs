#!/usr/bin/env node
import { createInterface } from "node:readline";
const send = (m) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...m }) + "\n");
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize") return send({ id, result: { protocolVersion: params.protocolVersion, agentCapabilities: {} } });
  if (method === "session/new") return send({ id, result: { sessionId: "bench-1" } });
  if (method === "session/prompt") {
    const [count, size] = params.prompt.map((b) => b.text ?? "").join(" ").trim().split(/\s+/).slice(-2).map(Number);
    for (let i = 0; i < (count || 0); i++)
      send({ method: "session/update", params: { sessionId: params.sessionId, update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "x".repeat(size) } } } });
    return send({ id, result: { stopReason: "end_turn" } });
  }
  if (id !== undefined) send({ id, result: {} });
});
