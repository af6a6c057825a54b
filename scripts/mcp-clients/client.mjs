// Holds the official TypeScript client of MCP for scripts/mcp-trial, which says what it reads and prints.
//
//     npm install @modelcontextprotocol/sdk
//     node client.mjs SERVER ARGUMENT …

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const folder = import.meta.resolve("@modelcontextprotocol/sdk/client/index.js").replace(/\/dist\/.*/, "/");
const { version } = JSON.parse(readFileSync(new URL("package.json", folder)));
const print = (value) => console.log(JSON.stringify(value));
const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "mcp-trial", version: "1" });
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
const { tools } = await client.listTools();
print({ client: `@modelcontextprotocol/sdk ${version} (TypeScript)`, tools });
for await (const line of createInterface({ input: process.stdin })) {
  const { tool, arguments: given } = JSON.parse(line);
  print(await client.callTool({ name: tool, arguments: given }));
}
await client.close();
