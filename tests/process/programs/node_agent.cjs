#!/usr/bin/env node
// A small ACP v2 agent in JavaScript. Prompts: "where" tells what runs it and what it was given, "ask" asks for a
// permission and tells the answer; anything else is said back.
"use strict";
const readline = require("node:readline");

const answers = new Map();
let asked = 0;

const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
const update = (body) => write({ method: "session/update", params: { sessionId: "node-1", update: body } });
const say = (text) =>
  update({ sessionUpdate: "agent_message_chunk", messageId: "m", content: { type: "text", text } });

async function work(text) {
  update({ sessionUpdate: "state_update", state: "running" });
  if (text === "where") {
    const told = { program: process.execPath, args: process.argv.slice(2), greeting: process.env.GREETING };
    say(JSON.stringify({ ...told, cwd: process.cwd() }));
  } else if (text === "ask") {
    const options = [{ optionId: "y", name: "Yes", kind: "allow_once" }];
    const params = { sessionId: "node-1", toolCall: { toolCallId: "t", title: "Go?" }, options };
    const id = `q${++asked}`;
    const answer = new Promise((settle) => answers.set(id, settle));
    write({ id, method: "session/request_permission", params });
    say(JSON.stringify((await answer).outcome));
  } else {
    say(text);
  }
  update({ sessionUpdate: "state_update", state: "idle", stopReason: "end_turn" });
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line);
  if (message.method === undefined) {
    answers.get(message.id)(message.result);
    answers.delete(message.id);
  } else if (message.method === "initialize") {
    const info = { name: "node", version: "1" };
    write({ id: message.id, result: { protocolVersion: 2, info, capabilities: { session: {} } } });
  } else if (message.id !== undefined) {
    write({ id: message.id, result: message.method === "session/new" ? { sessionId: "node-1" } : {} });
    if (message.method === "session/prompt") work(message.params.prompt[0].text);
  }
});
