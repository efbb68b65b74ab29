/** Source that runs a session of the adapter under trial, and says which calls are open at its end, and which events are late. */
export const endsSource: string = String.raw`
const kindsOfCalls = ["fs", "kv", "env", "secrets", "temp"];
const singleCalls = ["run", "which", "fetch", "connect"];

/** The session's context, which notes each call until it is settled. */
function noted(ctx, open) {
  const watched = (name, call) => (...args) => {
    const answer = call(...args);
    const about = typeof args[0] === "string" ? JSON.stringify(args[0].slice(0, 100)) : "";
    const key = {};
    const settled = () => void open.delete(key);
    open.set(key, { name: name + "(" + about + ")", settled: Promise.resolve(answer).then(settled, settled) });
    return answer;
  };
  const whole = (kind) =>
    Object.fromEntries(Object.entries(ctx[kind] ?? {}).map(([name, call]) => {
      return [name, typeof call === "function" ? watched("ctx." + kind + "." + name, call) : call];
    }));
  return {
    ...ctx,
    ...Object.fromEntries(kindsOfCalls.map((kind) => [kind, whole(kind)])),
    ...Object.fromEntries(singleCalls.map((name) => [name, watched("ctx." + name, ctx[name])])),
  };
}

async function* openCalls(ctx, run) {
  const open = new Map();
  await returned(async () => {
    for await (const _event of await run(noted(ctx, open)));
  });
  // Of calls that fail in this very moment the adapter hears a moment later.
  await ctx.sleep(0);
  const left = [...open.values()];
  // What they are decided to be belongs to this session.
  await Promise.race([Promise.all(left.map(({ settled }) => settled)), ctx.sleep(500)]);
  yield say("calls", left.map(({ name }) => name));
  yield done;
}

async function* toldLate(ctx, run) {
  const inner = ctx.turns[Symbol.asyncIterator]();
  let given = 0;
  let asks = false;
  const turns = {
    [Symbol.asyncIterator]: () => turns,
    async next() {
      asks = given > 0;
      const next = await inner.next();
      asks = false;
      given++;
      return next;
    },
  };
  for await (const yielded of await run({ ...ctx, turns })) {
    for (const event of [yielded].flat()) {
      // The agent goes on by itself.
      if (event?.type === "turn_began") asks = false;
      if (asks) ctx.log.info("kit:" + JSON.stringify({ late: String(event?.type) }));
    }
    yield yielded;
  }
}
`;
