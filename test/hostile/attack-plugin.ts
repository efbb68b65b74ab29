import { parse } from "acorn";

/** How long a session stays open after the attack, so that what it left behind has its turn. Milliseconds. */
export const lingerMs = 150;

/**
 * Text of an entry whose adapter runs a one-liner. What the one-liner sends is yielded as events, and the value of its
 * last statement, as text, as output.
 */
export function oneLinerEntry(code: string): string {
  return entry(`    const sent = [];
    const send = (event) => { sent.push(event); };
    const value = await (function () {
${returningLast(code)}
    })();
    for (const event of sent) yield event;
    ${lingering}
    for (const event of sent) yield event;
    yield { type: "output", stream: "stdout", data: String(value) };`);
}

/** Text of an entry whose adapter's generator has this body. */
export function generatorEntry(body: string): string {
  return entry(`    ${body}\n    ${lingering}`);
}

const lingering = `await ctx.sleep(${lingerMs});`;

function entry(body: string): string {
  return `import { defineAdapter } from "bulkhead/plugin-sdk";
export default defineAdapter({
  id: "attack", name: "Attack", version: "1.0.0",
  async *runSession(request, ctx) {
${body}
    yield { type: "completed", success: true, files_changed: [], tokens_used: null, cost: null };
  },
});
`;
}

/** The code with its last statement's value returned; code that does not parse stays as it is. */
function returningLast(code: string): string {
  try {
    const { body } = parse(code, { ecmaVersion: 2024 });
    const last = body.at(-1);
    if (last?.type !== "ExpressionStatement") return code;
    const { start, end } = last.expression;
    return `${code.slice(0, last.start)}return (${code.slice(start, end)});`;
  } catch {
    return code;
  }
}
