import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseHostManifest } from "../../../core/ground/config/parse-host-manifest.ts";
import { parseYaml } from "../../../core/ground/config/yaml.ts";
import { readManifest } from "../../../core/packages/manifest/read-manifest.ts";
import { requestedPermissions } from "../../../core/packages/permissions/requested-permissions.ts";
import { promise, type Target } from "../target.ts";

const plugin = `manifest: 1
id: demo
name: Demo
version: 1.0.0
description: A demo.
license: MIT
host: ^1.0.0
adapter_type: cli
cli:
  binary: demo
  command_template: "{binary} --model {model} {params.depth} < {prompt_file}"
  models: [small, large]
  default_model: small
  env_vars: { TOKEN: "\${DEMO_TOKEN}" }
  version: { args: --version, pattern: "v{version}" }
  output: { format: jsonl, rules: [{ when: { type: text }, event: { type: output, data: $.text } }] }
  exit_codes: { 2: rate_limit }
capabilities: { code_generation: true, custom: { x: false } }
access_modes: [{ type: api, priority: 1, enabled: true, model: small, max_tokens: 1, pricing: { input_per_1k_tokens: 0, output_per_1k_tokens: 0, currency: USD } }]
permissions:
  run: [{ binary: demo, args: ["--model {} {...}", ""], env: [TOKEN] }]
  read: [workdir, "config:demo", /etc/demo]
  write: [workdir]
  net: ["example.com:443", "*.example.com:443"]
  env: [TOKEN]
  kv: true
  limits: { children: 2 }
defaults: { timeout_ms: 1000 }
config: { type: object, properties: { depth: { type: integer, minimum: 0, default: 1 } } }
`;

const host = `bulkhead: 1
plugins:
  demo:
    enabled: true
    source: ./plugins/demo
    trusted: false
    grant: { run: [{ binary: demo, args: ["--model {}"] }], read: [workdir], net: ["example.com:443"], kv: true }
    deny: { write: [/etc] }
    limits: { timeout_ms: 60000, heap_mb: 64 }
    config: { depth: 2 }
tools:
  shout: { binary: tr, command_template: "{binary} a-z A-Z < {prompt_file}" }
routing: { agent: [demo, shout] }
limits: { events: 1000 }
`;

const odd = [
  "a: &a [*a]\n",
  "? [a, b]\n: c\n",
  "%YAML 1.1\n---\n- !!binary aGk=\n",
  "a: |+\n  x\n\n\n",
  "a: 1\na: 2\n",
  "- - - - - x",
  '{"a":{"b":[1,2,{"c":null}]}}',
];
const tokens = [
  "permissions:",
  "run:",
  "read:",
  "net:",
  "cli:",
  "limits:",
  "\n  ",
  "\n- ",
  ": ",
  "- ",
  "[",
  "]",
  "{ ",
  " }",
  "~",
  "!!str ",
  "&x ",
  "*x",
  "|\n",
  ">-\n",
  "---\n",
  "...\n",
  "# ",
  "'",
  '"',
  "0x10",
  "1e3",
  ".inf",
  "2020-01-01",
  "enabled: true",
  "{prompt}",
  "{params.x}",
];

let folder: Promise<string> | null = null;

/** Files in YAML that people and strangers write. */
export const manifestTargets: readonly Target[] = [
  {
    name: "plugin-manifest",
    weight: 5,
    seeds: [plugin, ...odd],
    tokens,
    async read(input) {
      const path = await (folder ??= mkdtemp(join(tmpdir(), "bulkhead-fuzz-")));
      await writeFile(join(path, "plugin.yaml"), input);
      const manifest = await readManifest(path);
      promise(JSON.stringify(requestedPermissions(manifest)) !== undefined, "permissions are data");
    },
    async close() {
      if (folder !== null) await rm(await folder, { recursive: true, force: true });
      folder = null;
    },
  },
  {
    name: "host-manifest",
    weight: 5,
    seeds: [host, ...odd],
    tokens,
    read: (input) => parseHostManifest(input, { file: "bulkhead.yaml" }),
  },
  {
    name: "yaml",
    weight: 5,
    seeds: [plugin.slice(0, 300), ...odd],
    tokens,
    read(input) {
      const { value, locate } = parseYaml(input, { file: "x.yaml", maxBytes: 65_536, maxAliases: 32 });
      promise(JSON.stringify(value) !== "x", "what is read is data");
      const { line, column } = locate(["a", 0, "b"]);
      promise(line >= 1 && column >= 1, "every place has a line and a column");
    },
  },
];
