// Rivet's agentos doing the work of bench/agentos.py; prints one JSON line.
// node agentos.mjs NODE_MODULES AGENT_FOLDER DATABASE COUNT SIZE ROUNDS
import { pathToFileURL } from "node:url";

const [modules, agent, database, count, size, rounds] = process.argv.slice(2);
const { AgentOs } = await import(pathToFileURL(`${modules}/@rivet-dev/agentos-core/dist/index.js`));
const vm = await AgentOs.create({
  software: [{ packagePath: agent }],
  defaultSoftware: false,
  database: { type: "sqlite_file", path: database },
});
const timed = async (work) => {
  const start = performance.now();
  await work();
  return performance.now() - start;
};
const prompt = (sessionId, text) => vm.prompt({ sessionId, content: [{ type: "text", text }] });
const opened = [];
for (let i = 0; i < Number(rounds); i++)
  opened.push(await timed(() => vm.openSession({ sessionId: `s${i}`, agent: "bench-agent", cwd: "/tmp" })));
await prompt("s0", "10 10");
const streamed = [];
const answered = [];
for (let i = 0; i < Number(rounds); i++) {
  streamed.push(await timed(() => prompt("s0", `${count} ${size}`)));
  answered.push(await timed(() => prompt("s0", "0 0")));
}
console.log(JSON.stringify({ opened, streamed, answered }));
process.exit(0);
