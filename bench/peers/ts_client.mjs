// The official TypeScript SDK's client: reads an agent's stream, then asks for its sessions; prints the cost as JSON.
// node ts_client.mjs NODE_MODULES v1|v2 COUNT SIZE KIND TRIPS -- COMMAND ARGUMENTS...
import { pathToFileURL } from "node:url";
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";

const [modules, version, count, size, kind, trips] = process.argv.slice(2);
const command = process.argv.slice(process.argv.indexOf("--") + 1);
const entry = pathToFileURL(`${modules}/@agentclientprotocol/sdk/dist/${version}/stable/acp.js`);
const acp = await import(entry);
const WARM_UP = 1000;
const child = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
let seen = 0;
let wanted = 0;
let arrived = () => {};

const app = acp.client({ name: "bench" }).onNotification(acp.methods.client.session.update, () => {
  if (++seen === wanted) arrived();
});

await app.connectWith(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), async (agent) => {
  const hello =
    version === "v2"
      ? { protocolVersion: 2, info: { name: "bench", version: "1" }, capabilities: {} }
      : { protocolVersion: 1, clientCapabilities: {} };
  await agent.request(acp.methods.agent.initialize, hello);
  const { sessionId } = await agent.request(acp.methods.agent.session.new, { cwd: "/", mcpServers: [] });

  const stream = async (wantedNow) => {
    seen = 0;
    wanted = wantedNow + (version === "v2" ? 2 : 0); // running and idle
    const all = new Promise((resolve) => (arrived = resolve));
    const prompt = [{ type: "text", text: `${wantedNow} ${size} ${kind}` }];
    await agent.request(acp.methods.agent.session.prompt, { sessionId, prompt });
    await all;
  };

  const told = Math.max(+count, 1);
  let cpu = { user: 0, system: 0 };
  let wall = 1;
  if (+count) {
    await stream(Math.min(+count, WARM_UP));
    const [startCpu, start] = [process.cpuUsage(), performance.now()];
    await stream(+count);
    cpu = process.cpuUsage(startCpu);
    wall = performance.now() - start;
  }
  const times = [];
  for (let i = 0; i < +trips; i++) {
    const start = performance.now();
    await agent.request(acp.methods.agent.session.list, {});
    times.push((performance.now() - start) * 1e3);
  }
  times.sort((a, b) => a - b);
  const trip = times[times.length >> 1] ?? 0;
  console.log(JSON.stringify({ cpu: (cpu.user + cpu.system) / told, rate: (told / wall) * 1e3, trip }));
});
child.stdin.end();
child.on("exit", () => process.exit(0));
