import { expect, test } from "vitest";
import { connectHost } from "../../../core/doors/client/mod.ts";
import { remoteSessions } from "../../../core/doors/cli/remote-sessions.ts";
import { reportError } from "../../../core/doors/cli/report-error.ts";
import { fakeTerminal } from "./fake-terminal.ts";

test.each([
  ["busy", 6, "error: Too much to do.\n  More: bulkhead help sessions\n"],
  [
    "brand_new",
    8,
    "error: The daemon reports an error of a kind that is not known here (brand_new): Too much to do.\n",
  ],
  [
    "__proto__",
    8,
    "error: The daemon reports an error of a kind that is not known here (__proto__): Too much to do.\n",
  ],
])("remoteSessions: a daemon's error of the code %s is told as an error of the command", async (code, exit, text) => {
  const fetch = async () => Response.json({ code, detail: "Too much to do." }, { status: 503 });
  const error = await remoteSessions(connectHost({ fetch, patienceMs: 0 })).list().catch((thrown: unknown) => thrown);
  const terminal = fakeTerminal();
  expect(await reportError(error, terminal)).toBe(exit);
  expect(terminal.err()).toBe(text);
});
