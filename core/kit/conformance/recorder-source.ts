/** Most characters of one session that are recorded. */
const recordedMost = 4_000_000;

/** One piece of the talk between a program and its adapter. */
export type HeardStep = { in: string } | { out: string } | { closed: true };

/** A program that the adapter under trial ran. */
export interface HeardRun {
  binary: string;
  args: string[];
  /** Whether it ran while the adapter was asked for its availability. */
  probe: boolean;
  steps: HeardStep[];
  stderr: string;
  /** Null when a signal ended it. */
  exit_code: number | null;
}

/** A server's answer to the adapter under trial. */
export interface HeardAnswer {
  host: string;
  probe: boolean;
  method: string;
  path: string;
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** All that programs and servers said in a session that is recorded. */
export interface Heard {
  runs: HeardRun[];
  answers: HeardAnswer[];
  /** WebSockets that were opened. */
  sockets: number;
  /** Whether it was more than is kept. */
  cut: boolean;
}

/** Source of the context that writes down what programs and servers say, for the kit's own adapter. */
export const recorderSource: string = String.raw`
/** The session's context, with what programs and servers say written down. */
function recorder(ctx, heard, probe) {
  let room = ${recordedMost};
  const keep = (text, add) => {
    room -= text.length;
    if (room >= 0) add(text);
    else heard.cut = true;
  };
  const printed = (run) => (text) => {
    const last = run.steps.at(-1);
    if (last !== undefined && "out" in last) last.out += text;
    else run.steps.push({ out: text });
  };
  return {
    ...ctx,
    run: async (binary, args, options = {}) => {
      const child = await ctx.run(binary, args, options);
      const run = { binary, args: [...args], probe, steps: [], stderr: "", exit_code: null };
      heard.runs.push(run);
      child.exit.then(({ exit_code }) => void (run.exit_code = exit_code), () => {});
      const stdin = {
        ...child.stdin,
        write: async (text) => {
          keep(text, () => run.steps.push({ in: text }));
          await child.stdin.write(text);
        },
        close: async () => {
          run.steps.push({ closed: true });
          await child.stdin.close();
        },
      };
      const stdout = overhear(child.stdout, (text) => keep(text, printed(run)));
      const stderr = overhear(child.stderr, (text) => keep(text, () => void (run.stderr += text)));
      return { ...child, stdin, stdout, stderr };
    },
    fetch: async (address, options = {}) => {
      const { status, headers, body } = await ctx.fetch(address, options);
      const url = new URL(address);
      const host = url.hostname + ":" + (url.port || (url.protocol === "https:" ? "443" : "80"));
      const told = Object.fromEntries(Object.entries(headers).filter(([name]) => /^(content-type|retry-after)$/i.test(name)));
      const answer = { host, probe, method: options.method ?? "GET", path: url.pathname, status, headers: told, body: "" };
      heard.answers.push(answer);
      return made({ status, headers, pieces: overhear(body, (text) => keep(text, () => void (answer.body += text))) });
    },
    connect: async (...args) => {
      heard.sockets += 1;
      return await ctx.connect(...args);
    },
  };
}

async function* overhear(stream, take) {
  for await (const text of stream) {
    take(text);
    yield text;
  }
}
`;
