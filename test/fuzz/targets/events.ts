import { checkRequest } from "../../../core/sessions/host/check-request.ts";
import { checkEvent } from "../../../core/sessions/session/check-event.ts";
import { EventRules } from "../../../core/sessions/session/event-rules.ts";
import { UsageMeter } from "../../../core/sessions/session/spend/usage-meter.ts";
import { adapterEventTypes } from "../../../plugin-sdk/events.ts";
import { mapJsonLine } from "../../../plugin-sdk/jsonl-mapping.ts";
import type { MappingRule } from "../../../plugin-sdk/mapping-rule.ts";
import { promise, type Target } from "../target.ts";

const events = [
  '{"type":"output","stream":"stdout","data":"x"}',
  '{"type":"tool_call","call_id":"a","tool":"t","kind":"other","input":{}}',
  '{"type":"tool_result","call_id":"a","tool":"t","output":1,"success":true,"duration_ms":1}',
  '{"type":"usage","scope":"turn","tokens_in":1,"tokens_out":2,"tokens_cached":null,"cost":0.5}',
  '{"type":"permission_request","request_id":"r","tool":"t","title":"?","options":[{"id":"y","label":"Yes","kind":"allow_once"}]}',
  '{"type":"question","request_id":"r","question":"?"}',
  '{"type":"request_withdrawn","request_id":"r"}',
  '{"type":"message","message_id":"m","state":"taken"}',
  '{"type":"turn_began","message_ids":["m"]}',
  '{"type":"agent_ended","agent_id":"a","outcome":"stopped"}',
  '{"type":"file_change","path":"x","action":"create"}',
  '{"type":"completed","success":true,"files_changed":["x"],"tokens_used":1,"cost":null}',
  '{"type":"error","code":"fatal","message":"x","recoverable":false}',
];
const tokens = [
  '"type":',
  '"call_id":"a"',
  '"request_id":"r"',
  '"cost":',
  "1e308",
  "1e999",
  "-1",
  "9007199254740993",
  "null",
  "[",
  "]",
  "{",
  "}",
  ",",
  "\n",
  '"__proto__":{},',
  '"\\ud800"',
  '"\\u0000"',
];

const rules = [
  { when: { type: "text" }, event: { type: "output", stream: "stdout", data: "$.text" } },
  {
    when: { "a.b": 1 },
    event: { type: "tool_call", call_id: "$.id", tool: "$.tool", kind: "other", input: "$.input" },
  },
] as unknown as MappingRule[];

/** What adapters and their programs say, and what clients ask for. */
export const eventTargets: readonly Target[] = [
  {
    name: "events",
    weight: 12,
    seeds: [events.join("\n"), ...events],
    tokens,
    read(input) {
      const known = new Set<string>(adapterEventTypes);
      const usage = new UsageMeter();
      const log = new EventRules();
      const open = new Set<string>();
      for (const line of input.split("\n").slice(0, 100)) {
        const event = log.accept(checkEvent(parsed(line), 64));
        promise(known.has(event.type), "every event has a known type");
        promise(JSON.stringify(event) !== undefined, "every event can be written");
        if (event.type === "usage") usage.take(event);
        if (event.type === "tool_call") open.add(event.call_id);
        if (event.type === "tool_result") promise(open.delete(event.call_id), "a result has an open call");
      }
      for (const { event } of log.finish()) if (event.type === "tool_result") open.delete(event.call_id);
      promise(open.size === 0, "every call has a result in the end");
      for (const number of Object.values(usage.report(1))) {
        if (typeof number === "number") promise(Number.isFinite(number), "usage is finite");
      }
    },
  },
  {
    name: "mapped-line",
    weight: 6,
    seeds: ['{"type":"text","text":"hello"}', '{"a":{"b":1},"id":"1","tool":"x","input":[1]}', "plain text"],
    tokens: [...tokens, "$.", "a.b"],
    read(input) {
      for (const event of mapJsonLine(input, rules)) {
        promise(JSON.stringify(event) !== undefined, "every event can be written");
      }
    },
  },
  {
    name: "request",
    weight: 6,
    seeds: [
      '{"workdir":"/w","prompt":"go","role":"implementor","allowed_tools":[],"context_files":["a"],"timeout_ms":1000}',
      '{"workdir":"/w","prompt":"go","permissions":{"read":["workdir"]},"budget":{"cost":1},"env":{"A":"b"},"labels":{"a":"b"}}',
    ],
    tokens: [...tokens, '"permissions":', '"workspace":"worktree"', '"params":{"x":1}'],
    read: (input) => checkRequest(parsed(input)),
  },
];

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
